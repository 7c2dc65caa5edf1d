# SPDX-License-Identifier: Apache-2.0
"""
Real ZooKeeper servers, from the controller's jar, that can be stopped, restarted, and wiped.

Environment: FAIRLEAD_ZOOKEEPER, the class path of another ZooKeeper, such as Debian's /usr/share/java/zookeeper.jar.
"""

import fcntl
import os
import shutil
import subprocess
from pathlib import Path

from deadline import until
from free_port import free_port
from kazoo.client import KazooClient
from kazoo.handlers.threading import KazooTimeoutError

ROOT = Path(__file__).resolve().parents[3]
JAR = ROOT / "controller" / "target" / "fairlead-controller.jar"
CLASS_PATH = os.environ.get("FAIRLEAD_ZOOKEEPER", str(JAR))
SESSION_SECONDS = 3


def build_jar() -> None:
    """Builds the jar if it is missing; one of several test runs builds it while the others wait."""
    with (ROOT / "build" / "jar.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not JAR.exists():
            subprocess.run(["mvn", "-q", "-B", "-pl", "controller", "package", "-DskipTests"], cwd=ROOT, check=True)
    assert JAR.exists(), f"{JAR} is not built: mvn -q -pl controller package"


class ZooKeeperProcess:
    """One server; members and number make it one of an ensemble, which is read-only without a quorum."""

    def __init__(self, folder: Path, members: str = "", number: int = 0, session_seconds: int = SESSION_SECONDS):
        self.folder, self.port = folder, free_port()
        self.options = ["-Dreadonlymode.enabled=true"] if members else []
        self.address = f"127.0.0.1:{self.port}"
        self.process: subprocess.Popen | None = None
        build_jar()
        # Sessions are short, regardless of the client's request: the tests cover their expiry.
        (folder / "zoo.cfg").write_text(
            f"dataDir={folder}/data\nclientPort={self.port}\nclientPortAddress=0.0.0.0\ntickTime=500\n"
            f"maxSessionTimeout={session_seconds * 1000}\nadmin.enableServer=false\nmaxClientCnxns=0\n{members}"
        )
        if members:
            (folder / "data").mkdir()
            (folder / "data" / "myid").write_text(str(number))

    def start(self) -> None:
        if not self.process:
            self.launch()
            until(self.answers, 120, "ZooKeeper to answer")

    def launch(self) -> None:
        """Starts it without waiting until it answers."""
        command = ["java", "-Xmx192m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-cp", CLASS_PATH]
        command += [*self.options, "-Dzookeeper.admin.enableServer=false"]
        command += ["-Dzookeeper.forceSync=no"]  # a slow disk would break the short sessions
        command += ["org.apache.zookeeper.server.quorum.QuorumPeerMain"]
        with (self.folder / "log").open("ab") as log:
            self.process = subprocess.Popen(
                [*command, str(self.folder / "zoo.cfg")], stdout=log, stderr=log, env=os.environ
            )

    def answers(self) -> bool:
        assert self.process.poll() is None, (self.folder / "log").read_text(errors="replace")[-2000:]
        client = KazooClient(hosts=self.address, timeout=5)
        try:
            client.start(timeout=2)
            client.stop()
        except KazooTimeoutError:
            return False
        finally:
            client.close()
        return True

    def stop(self) -> None:
        if self.process:
            self.process.kill()
            self.process.wait()
            self.process = None

    def set_aside(self) -> None:
        """Only while stopped: removes all data and sessions, until bring_back()."""
        assert not self.process
        (self.folder / "data").rename(self.folder / "aside")

    def bring_back(self) -> None:
        """Only while stopped: restores what was set aside."""
        self.forget()
        (self.folder / "aside").rename(self.folder / "data")

    def forget(self) -> None:
        """Only while stopped: deletes all data and sessions."""
        assert not self.process
        shutil.rmtree(self.folder / "data")


class ZooKeeperEnsemble:
    """Two servers: one alone has no quorum."""

    def __init__(self, folder: Path):
        ports = [(free_port(), free_port()) for _ in range(2)]
        members = "initLimit=20\nsyncLimit=10\n"
        members += "".join(f"server.{n + 1}=127.0.0.1:{peer}:{vote}\n" for n, (peer, vote) in enumerate(ports))
        self.servers: list[ZooKeeperProcess] = []
        for number in (1, 2):
            own = folder / f"zookeeper{number}"
            own.mkdir()
            self.servers.append(ZooKeeperProcess(own, members, number, session_seconds=10))
        self.address = ",".join(server.address for server in self.servers)

    def start(self) -> None:
        for server in self.servers:
            server.launch()
        for server in self.servers:
            until(server.answers, 120, "the ensemble to answer")

    def stop(self) -> None:
        for server in self.servers:
            server.stop()
