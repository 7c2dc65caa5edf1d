# SPDX-License-Identifier: Apache-2.0
"""ZooKeeper as a process of its own on a controller's machine, to be stopped without the controller.

Its tree is protected: controllers and muxes log in.
"""

import shutil
from pathlib import Path

from lab import topology
from lab.deadline import until
from lab.node import Node
from lab.variant import USUAL, Variant

CONFIG = """\
tickTime=1000
initLimit=10
syncLimit=5
dataDir={data}
clientPort={port}
clientPortAddress={address}
maxClientCnxns=0
admin.enableServer=false
4lw.commands.whitelist=srvr
"""
SMALL_DISK = """\
autopurge.snapRetainCount=3
autopurge.purgeInterval=1
snapCount=10000
"""
CONTROLLERS_LOGIN = "controllers:lab-controllers-password"
READERS_LOGIN = "readers:lab-readers-password"
# Of a KazooClient that may do what controllers may; nodes of muxes and probes are for readers.
AUTH_DATA = [("digest", CONTROLLERS_LOGIN), ("digest", READERS_LOGIN)]


def connect_string(count: int, variant: Variant = USUAL) -> str:
    addresses = [variant.rack_address(topology.controller_address(number)) for number in range(1, count + 1)]
    return ",".join(topology.endpoint(address, topology.ZOOKEEPER_PORT) for address in addresses)


def login_file(path: Path, *lines: str) -> Path:
    """A file of logins as the controller and the mux require it: no other user can read it."""
    path.touch(mode=0o600)
    path.write_text("".join(f"{line}\n" for line in lines))
    return path


class ZooKeeper:
    def __init__(self, node: Node, number: int, count: int, variant: Variant = USUAL) -> None:
        """`number`: which one of `count`, from 1."""
        megabytes = variant.zookeeper_megabytes  # the size of a disk of its own
        self.node = node
        self.data = node.directory / "zookeeper-data"
        self.member = f"{number}\n" if count > 1 else ""
        self.data.mkdir()
        if megabytes:
            node.instance.mount(self.data, megabytes)
        self.forget()
        config = CONFIG.format(data=self.data, port=topology.ZOOKEEPER_PORT, address=node.address)
        if megabytes:  # room for the logs of a long run
            config += SMALL_DISK
        if count > 1:
            for other in range(1, count + 1):
                address = variant.rack_address(topology.controller_address(other))
                config += f"server.{other}={topology.endpoint(address, 2888)}:3888\n"
        file = node.directory / "zookeeper.cfg"
        file.write_text(config)
        jvm = ["-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Dzookeeper.jmx.log4j.disable=true"]
        main = "org.apache.zookeeper.server.quorum.QuorumPeerMain"
        self.process = node.program("zookeeper", ["java", *jvm, "-cp", str(variant.zookeeper), main, str(file)])

    def start(self) -> None:
        self.node.instance.start(self.process)

    def wait(self, seconds: float = 60) -> None:
        until(f"{self.process.name} serves", self._serves, seconds)

    def stop(self) -> None:
        self.process.stop()

    def forget(self) -> None:
        """Empties its disk; only while it does not run."""
        for entry in self.data.iterdir():  # a mounted disk can't be removed, only its contents
            if entry.is_dir():
                shutil.rmtree(entry)
            else:
                entry.unlink()
        if self.member:
            (self.data / "myid").write_text(self.member)

    def version(self) -> str:
        """As the server itself says."""
        return self._answer().decode().partition("version: ")[2].partition("-")[0]

    def _serves(self) -> bool:
        """Alone or as one of a quorum; without one it answers that it does not serve."""
        self.process.expect_alive()
        return b"Mode: " in self._answer()

    def _answer(self) -> bytes:
        """Of `srvr`; empty if there is none."""
        try:
            with self.node.namespace.connect(self.node.address, topology.ZOOKEEPER_PORT, 2) as connection:
                connection.sendall(b"srvr")
                answer = b""
                while part := connection.recv(4096):
                    answer += part
                return answer
        except OSError:
            return b""
