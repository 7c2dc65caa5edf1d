# SPDX-License-Identifier: Apache-2.0
"""
Who may read the mux's HTTP: TLS, tokens, Unix sockets, and what the mux does with clients that are slow or send
rubbish. The clients are curl and openssl s_client. The probe has the same listener.
"""

import contextlib
import os
import random
import re
import shutil
import socket
import ssl
import stat
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from deadline import until
from mux_process import MuxProcess
from pki import Authority
from tree import Tree
from zookeeper_process import ZooKeeperProcess

TOKEN, OTHER = "a" * 40, "b" * 40


@pytest.fixture
def authority(tmp_path: Path) -> Authority:
    return Authority(tmp_path)


class Guarded(MuxProcess):
    """A mux with certificate and tokens, in files that a test may replace."""

    def __init__(self, zookeeper: str, folder: Path, authority: Authority):
        super().__init__(zookeeper, folder)
        self.authority, self.folder_of_files = authority, folder
        self.files = {"HTTP_CERT": folder / "cert", "HTTP_KEY": folder / "key", "HTTP_TOKENS": folder / "tokens"}
        self.replace(*authority.sign("first"))
        self.write_tokens(f"# for the scraper\n{TOKEN}\n")

    def replace(self, certificate: Path, key: Path) -> None:
        shutil.copy(certificate, self.files["HTTP_CERT"])
        shutil.copy(key, self.files["HTTP_KEY"])

    def write_tokens(self, text: str) -> None:
        self.files["HTTP_TOKENS"].write_text(text)
        self.files["HTTP_TOKENS"].chmod(0o600)

    def curl(self, *words: str, token: str | None = TOKEN, path: str = "/metrics", ca: Path | None = None) -> tuple:
        """The exit code, the status and the body."""
        command = ["curl", "-sS", "-m", "20", "--cacert", str(ca or self.authority.certificate)]
        command += ["-w", "\n%{http_code}", *words, f"https://{self.http}{path}"]
        command += ["-H", f"Authorization: Bearer {token}"] if token else []
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        body, _, status = done.stdout.rpartition("\n")
        return done.returncode, int(status or 0), body

    def guarded_metric(self, name: str) -> float:
        return float(re.search(rf"^fairlead_mux_{re.escape(name)} (\S+)$", self.curl()[2], re.M)[1])

    def subject(self) -> str:
        """Of the certificate that it shows."""
        command = ["openssl", "s_client", "-connect", self.http, "-CAfile", str(self.authority.certificate), "-brief"]
        done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
        assert "Verification: OK" in done.stderr, done.stderr
        return re.search(r"^Peer certificate: CN = (\S+)", done.stderr, re.M)[1]


@pytest.fixture
def guarded(
    zookeeper: ZooKeeperProcess, tree: Tree, tmp_path: Path, authority: Authority, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Guarded]:
    process = Guarded(zookeeper.address, tmp_path, authority)
    for name, path in process.files.items():
        monkeypatch.setenv(name, str(path))
    process.start()
    yield process
    process.stop()


def test_who_may_read(guarded: Guarded):
    assert guarded.curl()[:2] == (0, 200)
    status, body = guarded.curl(token=None)[1:]
    assert status == 401 and '"no token is given; allowed: Authorization: Bearer TOKEN"' in body
    for wrong in (TOKEN[:-1], TOKEN + "a", OTHER, "x"):
        assert guarded.curl(token=wrong)[1] == 401, wrong
    assert guarded.curl("-u", f"user:{TOKEN}", token=None)[1] == 401
    assert guarded.curl("-X", "POST", token=None)[1] == 401
    assert guarded.curl("-X", "POST", "-d", "x" * 1000, token=None)[1] == 400
    assert guarded.curl(token=None, path="/nowhere")[1] == 401
    assert guarded.curl(path="/healthz")[1] in (200, 503)
    assert guarded.guarded_metric('http_refused_total{reason="token_wrong"}') == 4
    assert guarded.guarded_metric('http_refused_total{reason="token_missing"}') == 4
    assert guarded.guarded_metric("http_certificate_expiry_seconds") == pytest.approx(
        time.time() + 30 * 86400, abs=3600
    )
    plain = subprocess.run(["curl", "-sS", f"http://{guarded.http}/metrics"], capture_output=True, check=False)
    assert plain.returncode != 0


def test_clients_verify_the_mux(guarded: Guarded, tmp_path: Path):
    stranger = Authority(tmp_path, "stranger")
    assert guarded.curl(ca=stranger.certificate)[0] == 60
    name = f"localhost:{guarded.http.split(':')[1]}"
    done = subprocess.run(
        ["curl", "-sS", "--cacert", str(guarded.authority.certificate), f"https://{name}/"],
        capture_output=True,
        check=False,
    )
    assert done.returncode == 60


@pytest.mark.parametrize("version", ["tls1_2", "tls1_3", "tls1_1"])
def test_versions_of_tls(guarded: Guarded, version: str):
    command = ["openssl", "s_client", "-connect", guarded.http, f"-{version}", "-brief", "-cipher", "ALL:@SECLEVEL=0"]
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    assert ("CONNECTION ESTABLISHED" in done.stderr) == (version != "tls1_1"), done.stderr


def test_explain_asks_by_tls(guarded: Guarded):
    words = ["--http", guarded.http, "--ca-file", str(guarded.authority.certificate)]
    flow = ["web", "tcp", "10.2.1.2:4000", "10.99.0.1:80"]
    rows = [
        (["--token-file", str(guarded.files["HTTP_TOKENS"])], 1, "service 'web' is refused"),
        ([], 1, "no token is given"),
        (["--token-file", "/nowhere"], 2, "--token-file: '/nowhere' is not allowed"),
    ]
    for more, code, text in rows:
        command = [os.environ["FAIRLEAD_MUX"], "explain", *words, *more, *flow]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == code and text in done.stdout + done.stderr, done


def test_files_are_read_again(guarded: Guarded):
    """A connection that was there before goes on; what can't be used is reported, and the old one stays."""
    assert guarded.subject() == "first"
    guarded.replace(*guarded.authority.sign("second"))
    until(lambda: guarded.subject() == "second", 20, "the second certificate")
    third, key = guarded.authority.sign("third")
    shutil.copy(third, guarded.files["HTTP_CERT"])  # its key is not there yet
    until(lambda: guarded.guarded_metric("http_file_errors_total") == 1, 20, "the mismatch to be counted")
    assert guarded.subject() == "second" and "allowed: the key of --http-cert" in guarded.log()
    shutil.copy(key, guarded.files["HTTP_KEY"])
    until(lambda: guarded.subject() == "third", 20, "the third certificate")

    guarded.write_tokens(f"{TOKEN}\n{OTHER}\n")
    until(lambda: guarded.curl(token=OTHER)[1] == 200, 20, "the second token")
    guarded.write_tokens(f"{OTHER}\n")
    until(lambda: guarded.curl()[1] == 401, 20, "the first token to be gone")
    guarded.write_tokens("short\n")

    def is_reported() -> bool:
        assert guarded.curl(token=OTHER)[1] == 200
        return guarded.logged(event="http_file_refused", option="--http-tokens") == 1

    until(is_reported, 20, "the bad file")
    assert "short" not in guarded.log()


def test_a_handshake_outlasts_its_certificate(guarded: Guarded):
    """A client whose handshake began with a certificate that is replaced meanwhile."""
    host, port = guarded.http.split(":")
    context = ssl.create_default_context(cafile=guarded.authority.certificate)
    incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
    client = context.wrap_bio(incoming, outgoing, server_hostname=host)
    with socket.create_connection((host, int(port)), timeout=20) as raw:
        with pytest.raises(ssl.SSLWantReadError):
            client.do_handshake()
        raw.sendall(outgoing.read())
        incoming.write(raw.recv(65536))
        guarded.replace(*guarded.authority.sign("second"))
        until(lambda: guarded.subject() == "second", 20, "the second certificate")
        for _ in range(10):
            with contextlib.suppress(ssl.SSLWantReadError):
                client.do_handshake()
                break
            incoming.write(raw.recv(65536))
        client.write(b"GET /healthz HTTP/1.1\r\nHost: mux\r\nAuthorization: Bearer " + TOKEN.encode() + b"\r\n\r\n")
        raw.sendall(outgoing.read())
        assert raw.recv(65536)
    assert guarded.curl()[1] == 200


def hello() -> bytes:
    """A client's first flight, as OpenSSL writes it."""
    incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
    with contextlib.suppress(ssl.SSLWantReadError):
        ssl.create_default_context().wrap_bio(incoming, outgoing, server_hostname="mux").do_handshake()
    return outgoing.read()


def test_rubbish_in_place_of_handshakes(guarded: Guarded):
    host, port = guarded.http.split(":")
    seed = int.from_bytes(os.urandom(4))
    print(f"# seed {seed}")
    draw, first = random.Random(seed), hello()
    rows = [b"", b"GET /metrics HTTP/1.1\r\n\r\n", b"\x16\x03\x01\xff\xff" + bytes(200), first[:60], first + first]
    for _ in range(40):
        damaged = bytearray(first)
        for _ in range(draw.randrange(1, 8)):
            damaged[draw.randrange(len(damaged))] = draw.randrange(256)
        rows.append(bytes(damaged[: draw.randrange(1, len(damaged) + 1)]))
    for row in rows:
        with socket.create_connection((host, int(port)), timeout=20) as client:
            client.sendall(row)
            with contextlib.suppress(OSError):  # the mux may have reset it by now
                client.shutdown(socket.SHUT_WR)
                while client.recv(4096):
                    pass
    counter = 'http_refused_total{reason="no_request"}'
    until(lambda: guarded.guarded_metric(counter) >= len(rows), 20, "connections without a request to be counted")


def test_slow_clients_keep_nobody_out(guarded: Guarded):
    """All connections taken by clients that drip: one that asks is answered at once (test_listener.c: their times)."""
    host, port = guarded.http.split(":")
    first = hello()
    with contextlib.ExitStack() as undo:
        clients = [undo.enter_context(socket.create_connection((host, int(port)), timeout=60)) for _ in range(64)]
        for byte in first[:3]:
            for client in clients:
                with contextlib.suppress(OSError):  # it may have given way
                    client.send(bytes([byte]))
            assert guarded.curl()[1] == 200
        assert guarded.guarded_metric('http_refused_total{reason="gave_way"}') >= 1


def test_a_unix_socket(zookeeper: ZooKeeperProcess, tree: Tree, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """It is made over one that was left behind; a second process takes it over, and the first leaves it alone."""
    path = tmp_path / "http.sock"
    with socket.socket(socket.AF_UNIX) as left:
        left.bind(str(path))
    monkeypatch.setenv("HTTP", f"unix:{path}")
    first, second = (MuxProcess(zookeeper.address, tmp_path, name) for name in ("mux1", "mux2"))

    def asked() -> str:
        command = ["curl", "-sS", "--unix-socket", str(path), "http://mux/rings"]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout

    first.start()
    assert '"mux1"' in asked() and stat.S_IMODE(path.stat().st_mode) == 0o660
    command = [
        os.environ["FAIRLEAD_MUX"],
        "explain",
        "--http",
        f"unix:{path}",
        "a",
        "tcp",
        "10.2.1.2:1",
        "10.99.0.1:80",
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 1 and "service 'a' is refused" in done.stdout + done.stderr
    second.start()
    assert '"mux2"' in asked()
    first.stop()
    assert '"mux2"' in asked()
    second.stop()
    assert not path.exists()


ROWS = {
    "HTTP=10.1.0.11:9108": "neither TLS nor tokens protect it; allowed: with --http-cert",
    "HTTP_CERT={at}/good.pem HTTP_KEY={at}/nowhere": "--http-key: '{at}/nowhere' is not allowed: No such file",
    "HTTP_CERT={at}/good.pem HTTP_KEY={at}/other.key": "allowed: the key of --http-cert",
    "HTTP_CERT={at}/good.key HTTP_KEY={at}/good.key": "--http-cert: '{at}/good.key' is not allowed",
    "HTTP_CERT={at}/good.pem HTTP_KEY={at}/good.pem": "--http-key: '{at}/good.pem' has mode 0644",
    "HTTP_CERT={at}/good.pem HTTP_KEY={at}/tokens": "allowed: a key in PEM, not encrypted",
    "HTTP_TOKENS={at}/empty": "allowed: a file of 1..8192 bytes",
    "HTTP_TOKENS={at}/short": "each a token of 16..256 visible characters",
    "HTTP_TOKENS={at}/many": "1..16 lines",
    "HTTP=unix:{at}/nowhere/s": "allowed: a path in a folder that this process may write to",
}


def test_what_is_refused_at_the_start(tmp_path: Path, authority: Authority):
    authority.sign("good")
    authority.sign("other")
    texts = {"tokens": TOKEN, "empty": "", "short": "a" * 15, "many": f"{TOKEN}\n" * 17}
    for name, text in texts.items():
        (tmp_path / name).write_text(text)
        (tmp_path / name).chmod(0o600)
    started = {}
    for row in ROWS:
        command = MuxProcess("127.0.0.1:1", tmp_path).arguments(os.environ["FAIRLEAD_CONTROL_MUX"])
        environment = os.environ | dict(pair.split("=", 1) for pair in row.format(at=tmp_path).split())
        started[row] = subprocess.Popen(command, env=environment, stderr=subprocess.PIPE, text=True)
    for row, process in started.items():
        errors = process.communicate(timeout=120)[1]
        assert process.returncode == 1 and ROWS[row].format(at=tmp_path) in errors, (row, errors)
