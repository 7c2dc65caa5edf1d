# SPDX-License-Identifier: Apache-2.0
"""
ZooKeeper speaks nothing but TLS and asks for certificates, by itself or through stunnel: the controller by itself,
the mux through stunnel, with the configurations of distribution/examples. Tunnel and ZooKeeper go away and come back,
and all certificates and their authority are replaced while everything runs.
"""

import contextlib
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from controller_process import ControllerProcess
from deadline import stays, until
from free_port import free_port
from mux_process import MuxProcess
from pki import Authority
from tunnel_process import Identity, TlsZooKeeper, Tunnel, ZooKeeperBehindTunnel


def trust(path: Path, *authorities: Authority) -> Path:
    """All programs read this file; it is replaced at once."""
    beside = path.with_suffix(".next")
    beside.write_text("".join(each.certificate.read_text() for each in authorities))
    beside.rename(path)
    return path


@pytest.mark.parametrize("kind", [TlsZooKeeper, ZooKeeperBehindTunnel])
def test_all_of_it_by_tls(kind: type[TlsZooKeeper], tmp_path: Path) -> None:
    old = Authority(tmp_path, "old")
    trusted = trust(tmp_path / "trusted.pem", old)
    server = Identity(tmp_path, "server").become(*old.sign("server1"))
    host = Identity(tmp_path, "host").become(*old.sign("host1", "DNS:mux1"))
    manager = Identity(tmp_path, "controller").become(*old.sign("controller1", "DNS:controller1"))
    folder = tmp_path / "zookeeper"
    folder.mkdir()
    zookeeper = kind(folder, trusted, server, host)
    tunnel = Tunnel(tmp_path, zookeeper.address, trusted, host, "checkIP = 127.0.0.1")
    options = ["--zookeeper-tls-ca", str(trusted), "--zookeeper-tls-identity", str(manager.both)]
    controller = ControllerProcess(zookeeper.address, tmp_path, *options)
    mux = MuxProcess(tunnel.address, tmp_path, login=controller.login("mux1"))
    weights = iter(range(1, 100))

    def follows(what: str) -> None:
        """The mux applies what the controller commits now."""
        wanted = controller.write("PATCH", "services/web/backends/1", {"weight": next(weights)})
        until(lambda: mux.generation() == wanted, 60, f"{what}\n{mux.log()}\n{tunnel.log()}")

    try:
        zookeeper.start()
        tunnel.start()
        controller.start()
        controller.add_mux("mux1")
        mux.start()
        controller.write("PUT", "cluster", {"vipRanges": ["10.99.0.0/16"], "neverVips": []})
        service = {"vips": ["10.99.0.1"], "ports": [{"protocol": "tcp", "port": 80}], "buckets": 256}
        controller.write("PUT", "services/web", service)
        for number in (1, 2):
            controller.write("PUT", f"services/web/backends/{number}", {"address": f"10.1.0.2{number}"})
        follows("the first generations")

        tunnel.stop()
        until(lambda: mux.metric("zookeeper_connected") == 0, 60, "the loss of the tunnel to be seen")
        stays(lambda: mux.state() == "serving", 1, "the ring")
        tunnel.start()
        follows("the way through a new tunnel")

        # Another authority: first everyone trusts both, then certificates are replaced, then it alone is trusted.
        new = Authority(tmp_path, "new")
        lost = mux.logged(event="zookeeper_lost")
        trust(trusted, old, new)
        tunnel.reload()
        zookeeper.reload()
        server.become(*new.sign("server2"))
        host.become(*new.sign("host2", "DNS:mux1"))
        manager.become(*new.sign("controller2", "DNS:controller1"))
        tunnel.reload()
        zookeeper.reload()
        follows("changes while certificates are replaced")
        trust(trusted, new)
        tunnel.reload()
        zookeeper.reload()
        until(zookeeper.answers, 60, "the server with its new certificate")
        assert mux.logged(event="zookeeper_lost") == lost, "connections that are open stay"
        tunnel.stop()
        tunnel.start()
        follows("a mux by the new certificates")
        zookeeper.stop()
        until(lambda: mux.metric("zookeeper_connected") == 0, 60, "the loss of ZooKeeper to be seen")
        stays(lambda: mux.state() == "serving", 1, "the ring")
        zookeeper.start()
        until(lambda: controller.health().get("leader"), 60, f"the controller by its new one\n{controller.log()}")
        follows("ZooKeeper's return")
        assert not mux.logged(event="refused"), mux.log()
    finally:
        for each in (mux, controller, tunnel, zookeeper):
            each.stop()


ALERT_SECONDS = 0.3


class Server:
    """Ends the handshake as a server that asks for certificates of the authority."""

    def __init__(self, authority: Authority, certificate: Path, key: Path):
        self.port = free_port()
        words = ["-accept", f"127.0.0.1:{self.port}", "-cert", str(certificate), "-key", str(key)]
        words += ["-CAfile", str(authority.certificate), "-Verify", "1", "-verify_return_error", "-quiet"]
        quiet = subprocess.DEVNULL
        self.process = subprocess.Popen(
            ["openssl", "s_server", *words], stdin=subprocess.PIPE, stdout=quiet, stderr=quiet
        )
        until(lambda: socket.create_connection(("127.0.0.1", self.port)).close() is None, 20, "openssl to listen")

    def stop(self) -> None:
        self.process.stdin.close()
        self.process.kill()
        self.process.wait()


def connect(port: int) -> bool:
    """Stays for long enough to be told that the certificate is refused."""
    with socket.create_connection(("127.0.0.1", port), 5) as client:
        client.sendall(b"hello\n")
        client.settimeout(ALERT_SECONDS)
        with contextlib.suppress(OSError):
            client.recv(1)
    return True


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority(tmp_path_factory.mktemp("faults"))


@pytest.fixture(scope="module")
def server(authority: Authority) -> Iterator[Server]:
    running = Server(authority, *authority.sign("server"))
    yield running
    running.stop()


FAULTS = {
    "all is well": ("Certificate accepted at depth=0: CN=server",),
    "another authority": ("certificate in certificate chain", "Rejected by CERT at depth=1"),
    "another name": ("CERT: Subject checks failed", "Rejected by CERT at depth=0: CN=server"),
    "expired": ("certificate has expired", "Rejected by CERT at depth=0: CN=expired"),
    "refused": ("alert unknown ca",),
    "away": ("s_connect: connect 127.0.0.1:", "Connection refused"),
    "open key": ("Insecure file permissions on",),
    "no key": ("host-own.key: No such file or directory", "Configuration failed"),
    "no authority": ("No trusted certificates found", "Configuration failed"),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_the_tunnel_says_what_is_wrong(fault: str, authority: Authority, server: Server, tmp_path: Path) -> None:
    """The words of docs/zookeeper-tls.md."""
    host = Identity(tmp_path, "host").become(*authority.sign("host", "DNS:mux1"))
    port, trusted, check, other = server.port, authority.certificate, "checkIP = 127.0.0.1", None
    stranger = Authority(tmp_path, "stranger")
    match fault:
        case "another authority":
            trusted = stranger.certificate
        case "another name":
            check = "checkHost = zk1.example"
        case "expired":
            other = Server(authority, *authority.sign("expired", days=-1))
            port = other.port
        case "refused":
            host.become(*stranger.sign("unknown", "DNS:mux1"))
        case "away":
            port = free_port()
        case "open key":
            host.key.chmod(0o644)
        case "no key":
            host.key.unlink()
        case "no authority":
            trusted = tmp_path / "absent.pem"
    tunnel = Tunnel(tmp_path, f"127.0.0.1:{port}", trusted, host, check)
    try:
        tunnel.launch()
        if "Configuration failed" not in FAULTS[fault]:
            until(lambda: tunnel.logged("Configuration successful"), 20, tunnel.log())
            connect(tunnel.port)
        for words in FAULTS[fault]:
            until(lambda words=words: tunnel.logged(words), 20, f"'{words}'\n{tunnel.log()}")
    finally:
        tunnel.stop()
        if other:
            other.stop()
