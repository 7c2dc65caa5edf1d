# SPDX-License-Identifier: Apache-2.0
"""A namespace with VIPs and clients in which the tests run an agent, and what its controller has counted."""

import contextlib
import os
import re
import shutil
import signal
import socket
import ssl
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from fake_controller import FakeController

from lab.deadline import LabError, until
from lab.namespace import Namespace

VIP, VIP2, VIP6, OWN = "10.99.0.1", "10.99.0.2", "fd99::1", "10.2.0.7"
BUCKETS = 4096
KEY = "000102030405060708090a0b0c0d0e0f"
SECONDS = 60  # deadline for anything on a busy machine, where reports are seconds apart; usually one or two
UNREACHED = "198.51.100.9"  # never answers


def unit_capabilities(*units: str) -> list[str]:
    """What these files of scripts/systemd give the agent."""
    folder = Path(__file__).resolve().parents[3] / "scripts" / "systemd"
    found = [re.search(r"^AmbientCapabilities=(.*)$", (folder / unit).read_text(), re.MULTILINE) for unit in units]
    return [word for one in found for word in one[1].split()]


def service(name: str = "web", number: int = 1, vips: tuple[str, ...] = (VIP, VIP6), port: int = 80) -> dict:
    made = {"name": name, "id": number, "vips": vips, "ports": [{"protocol": "tcp", "port": port}]}
    made |= {"buckets": BUCKETS, "hash": "siphash", "hashKey": KEY, "affinity": "connection"}
    made |= {"mptcpPorts": {"first": 20000, "last": 20999}}
    return made | {"backends": [{"id": 7, "address": OWN}]}


class World:
    """A namespace with VIPs and clients, in which the agent runs."""

    def __init__(self, build: Path) -> None:
        self.command = build.resolve() / "server" / "fairlead-server"
        self.own = OWN
        self.namespace = Namespace(f"flagent{os.getpid()}")
        self.open = contextlib.ExitStack()
        # Not below pytest's directory, of which each other pytest that starts takes away the access of other users.
        self.directory = Path(self.open.enter_context(tempfile.TemporaryDirectory(prefix="flagent-")))
        self.token = self.directory / "token"
        self.token.write_text("secret\n")
        self.token.chmod(0o600)
        self.said = self.directory / "agent.log"
        self.said.touch()
        self.agent: subprocess.Popen | None = None

    def create(self) -> None:
        self.namespace.create()
        self.open.callback(self.namespace.delete)
        self.namespace.ip(
            "link set lo up",
            f"addr add {VIP}/32 dev lo",
            f"addr add {VIP2}/32 dev lo",
            f"addr add {OWN}/32 dev lo",
            f"addr add {VIP6}/128 dev lo nodad",
            "link add void type bridge",
            "link set void up",
            f"route add {UNREACHED} dev void",
            # else the kernel drops half-open connections when it cannot resolve the neighbour
            f"neigh add {UNREACHED} lladdr 02:00:00:00:00:09 dev void nud permanent",
        )
        self.namespace.sysctl(ipv4__conf__all__rp_filter=0, ipv4__conf__lo__rp_filter=0, ipv4__tcp_syncookies=0)

    def controller(
        self, *services: dict, port: int = 8080, tls: ssl.SSLContext | None = None, address: str = "127.0.0.1"
    ) -> FakeController:
        made = FakeController(self.namespace, port, list(services) or [service()], tls, address)
        self.open.callback(made.close)
        return made

    def words(self, *controllers: FakeController, token: bool = True) -> list[str]:
        urls = ",".join(controller.url for controller in controllers)
        file = ["--token-file", str(self.token)] if token else []
        return [str(self.command), "agent", "--controller", urls, "--address", self.own, *file]

    def start(
        self,
        *controllers: FakeController,
        words: tuple[str, ...] = (),
        token: bool = True,
        user: tuple[str, ...] = (),
    ) -> subprocess.Popen:
        """`user`: words that run the agent as another user."""
        argv = self.namespace.enter([*user, *self.words(*controllers, token=token), *words])
        self.agent = self.open.enter_context(subprocess.Popen(argv, stderr=self.said.open("a")))
        self.open.callback(self.agent.kill)
        return self.agent

    def as_nobody(self, capabilities: list[str]) -> tuple[str, ...]:
        """Words to run the agent as another user with nothing but these."""
        copy = self.directory / "fairlead-server"
        if self.command != copy:
            shutil.copy(self.command, copy)
            self.command = copy
        self.directory.chmod(0o755)
        shutil.chown(self.token, "nobody")
        kept = ",".join(["-all", *(f"+{word.removeprefix('CAP_').lower()}" for word in capabilities)])
        who = ("setpriv", "--reuid", "nobody", "--regid", "nogroup", "--clear-groups", "--no-new-privs")
        return (*who, "--inh-caps", kept, "--ambient-caps", kept, "--bounding-set", kept)

    def stop(self) -> None:
        self.agent.send_signal(signal.SIGTERM)
        assert self.agent.wait(SECONDS) == 0, self.said.read_text()

    def listen(self, address: str, port: int = 80, backlog: int = 128) -> socket.socket:
        with self.namespace.inside():
            made = socket.socket(socket.AF_INET6 if ":" in address else socket.AF_INET)
            if address == "::":
                made.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
            made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
            made.bind((address, port))
        made.listen(backlog)
        return self.open.enter_context(made)

    def connect(self, listener: socket.socket, address: str, port: int = 80) -> tuple[socket.socket, socket.socket]:
        """Both ends."""
        client = self.open.enter_context(self.namespace.connect(address, port, SECONDS))
        return client, self.open.enter_context(listener.accept()[0])

    def half_open(self, *source_ports: int) -> None:
        code = "from scapy.all import IP, TCP, conf, send, L3RawSocket; conf.L3socket = L3RawSocket\n"
        code += (
            f"send([IP(src='{UNREACHED}', dst='{VIP}') / TCP(sport=p, dport=80, flags='S') for p in {source_ports}])"
        )
        self.namespace.run(sys.executable, "-c", code)


@pytest.fixture
def world(request: pytest.FixtureRequest) -> Iterator[World]:
    made = World(request.config.getoption("--build"))
    with made.open:
        made.create()
        yield made


def is_counted(controller: FakeController, established: int, name: str = "web", **others: int) -> bool:
    found = controller.of(name)
    return bool(found) and all(found[key] == value for key, value in ({"established": established} | others).items())


def until_counted(controller: FakeController, established: int, name: str = "web", **others: int) -> None:
    what = f"{established} connections of {name}, {others}"
    try:
        until(what, lambda: is_counted(controller, established, name, **others), SECONDS)
    except LabError as error:
        raise LabError(f"{error}; last report: {controller.reports[-1:]}") from None
