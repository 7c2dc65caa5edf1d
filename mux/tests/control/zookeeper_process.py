# SPDX-License-Identifier: Apache-2.0
"""A real ZooKeeper server, from the controller's jar, that can be stopped, started again, and made to forget."""

import os
import shutil
import subprocess
from pathlib import Path

from deadline import free_port, until
from kazoo.client import KazooClient
from kazoo.handlers.threading import KazooTimeoutError

ROOT = Path(__file__).resolve().parents[3]
JAR = ROOT / "controller" / "target" / "fairlead-controller.jar"
SESSION_SECONDS = 3


class ZooKeeperProcess:
    def __init__(self, folder: Path):
        self.folder, self.port = folder, free_port()
        self.address = f"127.0.0.1:{self.port}"
        self.process: subprocess.Popen | None = None
        if not JAR.exists():
            subprocess.run(["mvn", "-q", "-B", "-pl", "controller", "package", "-DskipTests"], cwd=ROOT, check=True)
        assert JAR.exists(), f"{JAR} is not built: mvn -q -pl controller package"
        # Sessions are short, whatever a client asks for: their expiry is part of the tests.
        (folder / "zoo.cfg").write_text(
            f"dataDir={folder}/data\nclientPort={self.port}\nclientPortAddress=0.0.0.0\ntickTime=500\n"
            f"maxSessionTimeout={SESSION_SECONDS * 1000}\nadmin.enableServer=false\nmaxClientCnxns=0\n"
        )

    def start(self) -> None:
        if self.process:
            return
        command = ["java", "-Xmx192m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-cp", str(JAR)]
        command += ["-Dzookeeper.admin.enableServer=false", "org.apache.zookeeper.server.quorum.QuorumPeerMain"]
        with (self.folder / "log").open("ab") as log:
            self.process = subprocess.Popen(
                [*command, str(self.folder / "zoo.cfg")], stdout=log, stderr=log, env=os.environ
            )
        until(self.answers, 60, "ZooKeeper to answer")

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
        """Only while stopped: all data and all sessions, until bring_back()."""
        assert not self.process
        (self.folder / "data").rename(self.folder / "aside")

    def bring_back(self) -> None:
        """Only while stopped."""
        self.forget()
        (self.folder / "aside").rename(self.folder / "data")

    def forget(self) -> None:
        """Only while stopped: all data and all sessions."""
        assert not self.process
        shutil.rmtree(self.folder / "data")
