# SPDX-License-Identifier: Apache-2.0
"""
ZooKeeper servers that speak nothing but TLS, by themselves or through stunnel, and the tunnel of a mux before them, by
the configurations that operators get.
"""

import re
import shutil
import signal
import subprocess
from pathlib import Path

from deadline import until
from free_port import free_port
from kazoo.client import KazooClient
from kazoo.handlers.threading import KazooTimeoutError
from zookeeper_process import ROOT, ZooKeeperProcess

EXAMPLES = ROOT / "distribution" / "examples"
READY = "Configuration successful"


class Identity:
    """A certificate, its key, and both in one file; replacing it is atomic for each file."""

    def __init__(self, folder: Path, name: str):
        self.certificate, self.key = folder / f"{name}-own.pem", folder / f"{name}-own.key"
        self.both = folder / f"{name}-both.pem"

    def become(self, certificate: Path, key: Path) -> "Identity":
        self._replace(self.certificate, certificate.read_text())
        self._replace(self.key, key.read_text())
        self._replace(self.both, key.read_text() + certificate.read_text())
        return self

    @staticmethod
    def _replace(path: Path, text: str) -> None:
        beside = path.with_suffix(".next")
        beside.touch(mode=0o600)
        beside.write_text(text)
        beside.rename(path)


class TlsZooKeeper(ZooKeeperProcess):
    """Asks every client for a certificate of the authority."""

    def __init__(self, folder: Path, authority: Path, own: Identity, client: Identity):
        super().__init__(folder)
        self.authority, self.client = authority, client
        config = folder / "zoo.cfg"
        config.write_text(
            re.sub(r"clientPort.*\n", "", config.read_text())
            + f"secureClientPort={self.port}\nsecureClientPortAddress=127.0.0.1\n"
            + "serverCnxnFactory=org.apache.zookeeper.server.NettyServerCnxnFactory\n"
            + f"ssl.keyStore.location={own.both}\nssl.keyStore.type=PEM\n"
            + f"ssl.trustStore.location={authority}\nssl.trustStore.type=PEM\n"
            + "ssl.clientAuth=need\nclient.certReload=true\n"
        )

    def reload(self) -> None:
        """It reads new certificates by itself."""

    def kazoo(self) -> KazooClient:
        files = {"certfile": str(self.client.certificate), "keyfile": str(self.client.key), "ca": str(self.authority)}
        return KazooClient(hosts=self.address, timeout=5, use_ssl=True, check_hostname=True, **files)

    def answers(self) -> bool:
        assert self.process.poll() is None, (self.folder / "log").read_text(errors="replace")[-2000:]
        client = self.kazoo()
        try:
            client.start(timeout=2)
            client.stop()
        except KazooTimeoutError:
            return False
        finally:
            client.close()
        return True


class Tunnel:
    """The example with other files and one server, whose name is checked as `check` says."""

    example, section = EXAMPLES / "fairlead-zookeeper.conf", "[zk1]"

    def __init__(self, folder: Path, server: str, authority: Path, own: Identity, check: str = ""):
        self.port = free_port()
        self.address = f"127.0.0.1:{self.port}"
        self.log_path = folder / f"tunnel-{self.port}.log"
        self.config = folder / f"tunnel-{self.port}.conf"
        head = self.example.read_text().split(self.section)[0]
        for key, path in (("CAfile", authority), ("cert", own.certificate), ("key", own.key)):
            head, count = re.subn(rf"(?m)^{key} = .*$", f"{key} = {path}", head)
            assert count == 1, f"{self.example} has {count} lines of {key}"
        self.config.write_text(f"{head}{self.section}\naccept = {self.address}\nconnect = {server}\n{check}\n")
        self.process: subprocess.Popen | None = None

    def start(self) -> None:
        before = self.logged(READY)
        self.launch()
        until(lambda: self.logged(READY) > before, 20, f"the tunnel\n{self.log()}")

    def launch(self) -> None:
        """Without waiting for anything."""
        program = shutil.which("stunnel4")
        assert program, "stunnel4 is not installed: run scripts/install-deps"
        with self.log_path.open("ab") as log:
            self.process = subprocess.Popen([program, str(self.config)], stdout=log, stderr=log)

    def reload(self) -> None:
        """It reads configuration and certificates again; open connections stay."""
        before = self.logged(READY)
        self.process.send_signal(signal.SIGHUP)
        until(lambda: self.logged(READY) > before, 20, f"the tunnel's reload\n{self.log()}")

    def stop(self) -> None:
        if self.process:
            self.process.terminate()
            self.process.wait(20)
            self.process = None

    def log(self) -> str:
        return self.log_path.read_text(errors="replace") if self.log_path.exists() else ""

    def logged(self, words: str) -> int:
        return self.log().count(words)


class ServerTunnel(Tunnel):
    """The example for a server's host."""

    example, section = EXAMPLES / "fairlead-zookeeper-server.conf", "[zookeeper]"


class ZooKeeperBehindTunnel(TlsZooKeeper):
    """Without TLS of its own: it listens on loopback, and stunnel takes TLS for it."""

    def __init__(self, folder: Path, authority: Path, own: Identity, client: Identity):
        ZooKeeperProcess.__init__(self, folder)
        self.authority, self.client = authority, client
        self.tunnel = ServerTunnel(folder, self.address, authority, own)
        self.address = self.tunnel.address

    def launch(self) -> None:
        super().launch()
        self.tunnel.start()

    def stop(self) -> None:
        self.tunnel.stop()
        super().stop()

    def reload(self) -> None:
        self.tunnel.reload()
