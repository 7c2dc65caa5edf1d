# SPDX-License-Identifier: Apache-2.0
"""ZooKeeper as a process of its own on the controller's machine, to be stopped apart from the controller."""

from lab import build, topology
from lab.deadline import until
from lab.node import Node

CONFIG = """\
tickTime=1000
dataDir={data}
clientPort={port}
clientPortAddress={address}
maxClientCnxns=0
admin.enableServer=false
4lw.commands.whitelist=ruok
"""


class ZooKeeper:
    def __init__(self, node: Node) -> None:
        self.node = node
        data = node.directory / "zookeeper-data"
        config = node.directory / "zookeeper.cfg"
        config.write_text(CONFIG.format(data=data, port=topology.ZOOKEEPER_PORT, address=node.address))
        jvm = ["-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Dzookeeper.jmx.log4j.disable=true"]
        main = "org.apache.zookeeper.server.ZooKeeperServerMain"
        self.process = node.program("zookeeper", ["java", *jvm, "-cp", str(build.JAR), main, str(config)])

    @property
    def connect_string(self) -> str:
        return f"{self.node.address}:{topology.ZOOKEEPER_PORT}"

    def start(self) -> None:
        self.node.instance.start(self.process)

    def wait(self, seconds: float = 30) -> None:
        until("ZooKeeper answers", self._answers, seconds)

    def stop(self) -> None:
        self.process.stop()

    def _answers(self) -> bool:
        self.process.expect_alive()
        try:
            with self.node.namespace.connect(self.node.address, topology.ZOOKEEPER_PORT, 2) as connection:
                connection.sendall(b"ruok")
                return connection.recv(16) == b"imok"
        except OSError:
            return False
