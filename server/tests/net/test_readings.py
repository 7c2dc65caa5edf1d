# SPDX-License-Identifier: Apache-2.0
"""How busy an agent finds its server, by each source, and what an attached server makes of it."""

import contextlib
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from agent_world import OWN, SECONDS, VIP, VIP6, World, service, unit_capabilities, until_counted, world
from fake_controller import FakeController
from rack import Rack

from lab.deadline import until

__all__ = ["world"]

TWO = {"twoBuckets": True}
SLOW = ("--busy-interval-ms", "500")  # a reading may take a second, and counts for two: even on a busy machine
SLOWEST, COUNTS_FOR = ("--busy-interval-ms", "1000"), 4  # seconds from a reading's begin, by which it counts
PAGES = 8081  # of nginx's stub_status, and of Apache's server-status
HELD = 12  # requests in work
SYS_ADMIN = 21  # CAP_SYS_ADMIN, a bit of a thread's capabilities


def hunt(policy: str = "static", threshold: int = 4) -> dict:
    return TWO | {"hunt": {"policy": policy, "threshold": threshold, "window": 50, "epsilonThousandths": 100}}


def busy(controller: FakeController) -> int | None:
    """By the last report; None: it has none."""
    found = controller.of("web")
    return found["load"].get("busy") if found else None


def until_busy(world: World, controller: FakeController, expected: int | None) -> None:
    """And stays so for two reports: in a quiet moment a reading is exact. On a busy machine some reports have none."""
    until(f"{expected} is reported", lambda: busy(controller) == expected, SECONDS)
    count = len(controller.reports)

    def further() -> list[int | None]:
        found = [one["services"][0]["load"].get("busy") for one in controller.reports[count:]]
        return [one for one in found if one is not None or expected is None]

    until("two more reports", lambda: len(further()) >= 2, SECONDS)
    assert set(further()) == {expected}, world.said.read_text()


class Upstream:
    """Answers each request when it is told to, or at once if its path is /now."""

    def __init__(self, world: World, address: str, port: int) -> None:
        self.waiting: list[socket.socket] = []
        self.listener = world.listen(address, port)
        self.open = world.open
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                threading.Thread(target=self._serve, args=(self.listener.accept()[0],), daemon=True).start()

    def _serve(self, end: socket.socket) -> None:
        self.open.callback(end.close)
        with contextlib.suppress(OSError):
            while request := end.recv(65536):
                if b" /now " in request:
                    self.answer(end)
                else:
                    self.waiting.append(end)

    @staticmethod
    def answer(end: socket.socket) -> None:
        end.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")


class Client:
    """A client's connection, which is kept."""

    def __init__(self, world: World) -> None:
        self.end = world.open.enter_context(world.namespace.connect(VIP, 80, SECONDS))

    def ask(self, path: str = "/held") -> None:
        self.end.sendall(f"GET {path} HTTP/1.1\r\nHost: web\r\n\r\n".encode())

    def hear(self) -> None:
        read = b""
        while not read.endswith(b"ok"):
            got = self.end.recv(65536)
            assert got, read
            read += got


def start_nginx(folder: Path) -> list[str]:
    (folder / "conf").write_text(
        f"daemon off; worker_processes 1; pid {folder}/pid; error_log {folder}/error.log;\n"
        "events { worker_connections 200; }\n"
        f"http {{ access_log off; proxy_temp_path {folder}/proxy; client_body_temp_path {folder}/body;\n"
        f"fastcgi_temp_path {folder}/f; uwsgi_temp_path {folder}/u; scgi_temp_path {folder}/s; keepalive_timeout 600;\n"
        f"server {{ listen {VIP}:80; location / {{ proxy_pass http://{OWN}:8000; }} }}\n"
        f"server {{ listen 127.0.0.1:{PAGES}; location = /status {{ stub_status; }} }} }}\n"
    )
    return ["nginx", "-e", f"{folder}/error.log", "-c", f"{folder}/conf"]


def start_apache(folder: Path) -> list[str]:
    modules = "".join(
        f"LoadModule {name}_module /usr/lib/apache2/modules/mod_{name}.so\n"
        for name in ("mpm_event", "authz_core", "status", "proxy", "proxy_http")
    )
    (folder / "conf").write_text(
        f"{modules}ServerRoot {folder}\nDefaultRuntimeDir {folder}\nPidFile {folder}/pid\nErrorLog {folder}/error.log\n"
        f"ServerName web\nUser nobody\nGroup nogroup\nListen {VIP}:80\nListen 127.0.0.1:{PAGES}\n"
        "StartServers 1\nThreadsPerChild 64\nMaxRequestWorkers 128\nMinSpareThreads 8\nMaxSpareThreads 128\n"
        "KeepAliveTimeout 600\nMaxKeepAliveRequests 0\nProxyTimeout 600\n<Location /status>\nSetHandler server-status\n"
        f"</Location>\nProxyPass /status !\nProxyPass / http://{OWN}:8000/\n"
    )
    return ["apache2", "-DFOREGROUND", "-f", f"{folder}/conf"]


STARTS = {"nginx": start_nginx, "apache": start_apache}


@pytest.fixture
def upstream(world: World, request: pytest.FixtureRequest) -> Upstream:
    """A Python server at the VIP, or nginx or Apache there in front of one."""
    if request.param == "python":
        return Upstream(world, VIP, 80)
    made = Upstream(world, OWN, 8000)
    folder = world.directory / request.param
    folder.mkdir()
    argv = STARTS[request.param](folder)
    running = world.open.enter_context(subprocess.Popen(world.namespace.enter(argv)))
    world.open.callback(running.terminate)

    def listens() -> bool:
        with contextlib.suppress(OSError), world.namespace.connect(VIP, 80, SECONDS):
            return True
        return False

    until(f"{request.param} listens", listens, SECONDS)
    return made


@pytest.mark.parametrize(
    ("upstream", "source"),
    [
        ("python", "connections"),
        ("nginx", "connections"),
        ("apache", "connections"),
        ("nginx", f"nginx=http://127.0.0.1:{PAGES}/status"),
        ("apache", f"apache=http://127.0.0.1:{PAGES}/status?auto"),
    ],
    indirect=["upstream"],
    ids=[
        "Python, connections",
        "nginx, connections",
        "Apache, connections",
        "nginx, stub_status",
        "Apache, scoreboard",
    ],
)
def test_requests_in_work(world: World, upstream: Upstream, source: str) -> None:
    """
    A known number of requests in work, among connections that are idle, have just been answered, or ask again within
    the tick of the kernel's clock in which they were answered.
    """
    controller = world.controller(service() | TWO)
    world.start(controller, words=("--busy", source))
    idle = [Client(world) for _ in range(5)]
    clients = [Client(world) for _ in range(HELD)]
    until_busy(world, controller, 0)
    for client in (*idle, *clients):
        for _ in range(3):
            client.ask("/now")
            client.hear()
    until_busy(world, controller, 0)
    for client in clients:
        client.ask("/now")
        client.hear()
        client.ask()
    until("they are in work", lambda: len(upstream.waiting) == HELD, SECONDS)
    until_busy(world, controller, HELD)
    for _ in range(HELD - 3):
        upstream.answer(upstream.waiting.pop())
    until_busy(world, controller, 3)
    while upstream.waiting:
        upstream.answer(upstream.waiting.pop())
    for client in clients:
        client.hear()
    until_busy(world, controller, 0)
    assert "not exact" not in world.said.read_text()
    world.stop()


def test_services_are_told_apart(world: World) -> None:
    """Only services with two buckets have a load, and each its own; nothing is read while there is none."""
    marker = world.directory / "started"
    script = executable(world, f"touch {marker}; while echo 5; do sleep 0.02; done")
    controller = world.controller(service(), service("api", 2, (OWN,)))
    world.start(controller, words=("--busy", f"command={script}"))
    until_counted(controller, 0)
    assert "load" not in controller.of("web") and not marker.exists()
    controller.services = [service(), service("api", 2, (OWN,)) | TWO]
    controller.version = "v2"
    expected = {"busy": 5, "offered": 0, "taken": 0, "passed": 0}
    until("a load", lambda: (controller.of("api") or {}).get("load") == expected, SECONDS)
    assert "load" not in controller.of("web")
    world.stop()


def test_accept_queue(world: World) -> None:
    controller = world.controller(service() | TWO)
    world.listen("::")
    world.start(controller, words=("--busy", "accept-queue"))
    until_busy(world, controller, 0)
    for address in (VIP, VIP, VIP6):
        world.open.enter_context(world.namespace.connect(address, 80, SECONDS))
    until_busy(world, controller, 3)
    world.stop()


def test_pressure(world: World) -> None:
    """Processes that wait for every processor: the kernel's average is over all that are not idle."""
    controller = world.controller(service() | TWO)
    spin = [sys.executable, "-c", "while True: pass"]
    world.start(controller, words=("--busy", "psi", "--busy-interval-ms", "1000"))
    until_counted(controller, 0)
    with contextlib.ExitStack() as stack:
        for _ in range(3 * len(os.sched_getaffinity(0))):
            stack.callback(stack.enter_context(subprocess.Popen(spin)).kill)
        until("the processors are contended", lambda: (busy(controller) or 0) > 80, SECONDS)
    assert all((one["services"][0]["load"].get("busy", 0)) <= 100 for one in controller.reports if one["services"])
    world.stop()


def executable(world: World, text: str) -> Path:
    path = world.directory / "busy.sh"
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return path


def page(world: World, answer: bytes | None) -> str:
    """A server that gives the answer to each connection, or none at all; its URL."""
    listener = world.listen(OWN, 8000)

    def serve() -> None:
        with contextlib.suppress(OSError):
            while True:
                end = listener.accept()[0]
                world.open.callback(end.close)
                if answer is not None:
                    end.recv(65536)
                    end.sendall(answer)
                    end.close()

    threading.Thread(target=serve, daemon=True).start()
    return f"http://{OWN}:8000/status"


OK, MISSING = b"HTTP/1.0 200 OK\r\n\r\n", b"HTTP/1.0 404 Not Found\r\n\r\n"
FAILURES: dict[str, tuple[Callable[[World], str], str]] = {
    "nobody listens": (lambda world: f"nginx=http://{OWN}:9/", "Couldn't connect to server"),
    "nobody answers": (lambda world: f"nginx={page(world, None)}", "no answer within 1000 ms"),
    "another page": (lambda world: f"nginx={page(world, OK + b'hello')}", "stub_status: 'hello' is not allowed"),
    "another status": (lambda world: f"nginx={page(world, MISSING)}", "status 404"),
    "a long page": (lambda world: f"apache={page(world, OK + b'x' * (2 << 20))}", "longer than 1 MiB"),
    "a scoreboard of other letters": (
        lambda world: f"apache={page(world, OK + b'Scoreboard: __x_')}",
        "Scoreboard: 'x' is not allowed; allowed: _SRWKDCLGI and .",
    ),
    "no such command": (lambda world: "command=/missing/busy", "cannot be started: No such file or directory"),
    "a command that ends": (lambda world: f"command={executable(world, 'exit 3')}", "has ended with 3"),
    "a command that says nothing": (
        lambda world: f"command={executable(world, 'exec sleep 600')}",
        "has printed no line within 1000 ms",
    ),
    "a command that says nonsense": (
        lambda world: f"command={executable(world, 'while echo 1.5; do sleep 0.02; done')}",
        "the command's line: '1.5' is not allowed; allowed: a whole number",
    ),
    "a command without an end of line": (
        lambda world: f"command={executable(world, 'exec tr x y </dev/zero')}",
        "has printed no line within 1000 ms",
    ),
}


@pytest.mark.parametrize(("source", "sentence"), FAILURES.values(), ids=FAILURES.keys())
def test_failures(world: World, source: Callable[[World], str], sentence: str) -> None:
    """It is said once, there is no reading, and reports go on."""
    controller = world.controller(service() | TWO)
    world.start(controller, words=("--busy", source(world), *SLOW))
    until("it is said", lambda: sentence in world.said.read_text(), SECONDS)
    count = len(controller.reports)
    until("reports go on", lambda: len(controller.reports) > count + 1, SECONDS)
    assert controller.of("web")["load"] == {"offered": 0, "taken": 0, "passed": 0}
    said = world.said.read_text()
    assert said.count(sentence) == 1, said
    world.stop()


def test_a_source_comes_back(world: World) -> None:
    controller = world.controller(service() | TWO)
    number = world.directory / "number"
    number.write_text("7\n")
    script = executable(world, f"while cat {number}; do sleep 0.02; done")
    world.start(controller, words=("--busy", f"command={script}"))
    until_busy(world, controller, 7)
    number.write_text("seven\n")
    until_busy(world, controller, None)
    number.write_text("8\n")
    until_busy(world, controller, 8)
    assert "is read again" in world.said.read_text()
    world.stop()


def test_a_command_that_prints_rarely(world: World) -> None:
    """Its last number counts until it prints another one, but not for long."""
    controller = world.controller(service() | TWO)
    script = executable(world, "for i in $(seq 15); do echo 6; sleep 1; done; exec sleep 600")
    world.start(controller, words=("--busy", f"command={script}"))
    until("a reading is reported", lambda: busy(controller) == 6, SECONDS)
    begun = len(controller.reports)
    until("five more reports", lambda: len(controller.reports) >= begun + 5, SECONDS)
    found = [one["services"][0]["load"].get("busy") for one in controller.reports[begun:]]
    assert found.count(6) >= 3, (found, world.said.read_text())
    until("it is too old", lambda: busy(controller) is None, SECONDS)
    until("which is said", lambda: "has printed no line within" in world.said.read_text(), SECONDS)
    world.stop()


def test_trouble_of_many_kinds_is_said_now_and_then(world: World) -> None:
    controller = world.controller(service() | TWO)
    script = executable(world, "i=0; while echo x$i; do i=$((i + 1)); sleep 0.02; done")
    begun = time.monotonic()
    world.start(controller, words=("--busy", f"command={script}"))
    until("it is said", lambda: "is not allowed" in world.said.read_text(), SECONDS)
    count = len(controller.reports)
    until("three more reports", lambda: len(controller.reports) >= count + 3, SECONDS)
    said = world.said.read_text().count("--busy command=")
    assert said <= 1 + (time.monotonic() - begun) / 10, world.said.read_text()
    world.stop()


def test_a_command_ends_with_what_it_has_started(world: World) -> None:
    controller = world.controller(service() | TWO)
    file = world.directory / "pid"
    script = executable(world, f"sleep 600 & echo $! >{file}; while echo 5; do sleep 0.02; done")
    world.start(controller, words=("--busy", f"command={script}"))
    until("a reading is reported", lambda: busy(controller) == 5, SECONDS)
    started = Path("/proc", file.read_text().strip(), "stat")
    assert " (sleep) S " in started.read_text()
    world.stop()
    until("it has ended", lambda: not started.exists() or ") Z " in started.read_text(), SECONDS)


@pytest.fixture
def server_b(rack: Rack, request: pytest.FixtureRequest) -> Iterator[World]:
    """Where server b's agent runs; a is the second choice of all connections."""
    made = World(request.config.getoption("--build"))
    made.namespace, made.own = rack["b"].namespace, rack["b"].address
    rack.mux.owner, rack.mux.second = "b", "a"
    with made.open:
        yield made


def held(process: Path) -> int:
    """All capabilities that a process, or a thread, has or may take."""
    words = dict(line.split(":") for line in (process / "status").read_text().splitlines())
    return int(words["CapEff"], 16) | int(words["CapPrm"], 16) | int(words["CapAmb"], 16)


def test_no_process_outlives_an_agent(rack: Rack, server_b: World) -> None:
    """Killed, it leaves none that keeps a capability."""
    world = server_b
    world.start(world.controller(service() | hunt()), words=("--interface", "eth0"))
    children = Path(f"/proc/{world.agent.pid}/task/{world.agent.pid}/children")
    opener = Path("/proc", until("it has a second process", lambda: children.read_text().split(), SECONDS)[0])
    world.agent.kill()
    world.agent.wait()
    until("that has ended", lambda: not opener.exists() or ") Z " in (opener / "stat").read_text(), SECONDS)


def test_a_busy_server_passes_connections_on(rack: Rack, server_b: World) -> None:
    """
    By readings of an agent with its unit's capabilities, and only while they come: a killed one's last ends. So does
    the last one of an agent that is not scheduled: ten connections count only if no reading can have ended meanwhile.
    """
    world, number = server_b, server_b.directory / "number"
    number.write_text("0\n")
    script = executable(world, f"while cat {number}; do sleep 0.02; done")
    controller = world.controller(service() | hunt() | {"backends": [{"id": 2, "address": world.own}]})
    capabilities = unit_capabilities("fairlead-agent.service", "fairlead-agent.service.d/hunt.conf")
    words = ("--busy", f"command={script}", "--interface", "eth0", *SLOWEST)
    world.start(controller, words=words, user=world.as_nobody(capabilities))
    until("nothing is attached, which is said", lambda: "no server is attached" in world.said.read_text(), SECONDS)
    rack.attach()
    until("the form is told", lambda: "is told again" in world.said.read_text(), SECONDS)
    until_busy(world, controller, 0)
    assert "CAP_SYS_ADMIN" in capabilities
    threads = list(Path(f"/proc/{world.agent.pid}/task").iterdir())
    assert not any(held(path) >> SYS_ADMIN & 1 for path in threads)
    children = [Path("/proc", pid) for path in threads for pid in (path / "children").read_text().split()]
    openers = [path for path in children if held(path) >> SYS_ADMIN & 1]
    assert len(openers) == 1

    def taken_by() -> str:
        with contextlib.closing(rack.connect()) as client:
            return client.ask()

    def takes(name: str) -> bool:
        return taken_by() == name

    def told(busy: int) -> bool:
        return rack["b"].show()["services"]["1"]["load"]["busy"] == busy

    def ten_by_a_reading() -> list[str] | None:
        """Who took them; None: it took so long that the reading may have ended. The second one begins after `begun`."""
        begun = time.monotonic()
        for busy in (10, 11):
            number.write_text(f"{busy}\n")
            until(f"{busy} is told", lambda busy=busy: told(busy), SECONDS)
        takers = [taken_by() for _ in range(10)]
        return takers if time.monotonic() - begun < COUNTS_FOR else None

    assert takes("b")
    number.write_text("9\n")
    until("b passes on", lambda: takes("a"), SECONDS)
    assert until("ten connections while a reading counts", ten_by_a_reading, SECONDS) == ["a"] * 10
    number.write_text("3\n")
    until("b takes", lambda: takes("b"), SECONDS)
    begun = len(controller.reports)  # one may be under way
    until("it is reported", lambda: len(controller.reports) > begun + 1, SECONDS)
    loads = [one["services"][0]["load"] for one in controller.reports[1:] if one["services"]]
    offered, taken, passed = (sum(load[key] for load in loads) for key in ("offered", "taken", "passed"))
    assert offered == taken + passed and passed >= 10 and taken >= 2
    number.write_text("9\n")
    until("b passes on again", lambda: takes("a"), SECONDS)
    os.kill(int(openers[0].name), signal.SIGKILL)
    rack["b"].invoke("detach")
    rack["b"].attach()
    until("it is said that the agent cannot go on", lambda: "start the agent again" in world.said.read_text(), SECONDS)
    world.agent.kill()
    world.agent.wait()
    until("b takes everything", lambda: takes("b"), SECONDS)
    assert all(takes("b") for _ in range(10))


def test_without_a_form(world: World) -> None:
    """Readings are reported all the same."""
    controller = world.controller(service() | hunt())
    world.start(controller)
    until_busy(world, controller, 0)
    assert "there is neither --interface nor --form module" in world.said.read_text()
    world.stop()
