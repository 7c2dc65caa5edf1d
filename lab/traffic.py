# SPDX-License-Identifier: Apache-2.0
"""Traffic: test clients in the clients' namespaces, controlled from the lab's side."""

import json
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterable
from typing import Any

from lab import build, topology
from lab.client.counts import Totals
from lab.client_node import ClientNode
from lab.deadline import LabError, until
from lab.interrupt import held

ANSWER_SECONDS = 10.0  # without an answer count as broken
MACHINE_ANSWER_SECONDS = 40.0  # if virtual machines answer, whose processors are emulated
SLACK_SECONDS = 30  # for a client on a busy host


class Second(Totals):
    """What all clients counted in a second."""

    open: int


class Line(Totals, total=False):
    """What a client prints, with who and when; which fields it has depends on the event."""

    at: float
    client: str
    event: str
    open: int
    held: dict[str, int]
    idle: dict[str, int]
    waiting_since: float
    kind: str
    local: str
    server: str
    age: float
    silent: float
    packets: int
    seconds: float
    source: str
    port: int
    error: str


class TestClient:
    """One test client's process: takes orders; a thread keeps its output."""

    __test__ = False  # not a test case, despite its name

    def __init__(
        self, node: ClientNode, *arguments: str, timeout: float = ANSWER_SECONDS, vip: str = topology.VIP
    ) -> None:
        self.node = node
        self.lines: list[Line] = []
        self.log = node.directory / f"test-client-{arguments[0]}.log"
        command = [sys.executable, "-m", "lab.client", "--host", vip, "--timeout", str(timeout), *arguments]
        with open(self.log, "ab") as log, held():
            self._process = subprocess.Popen(
                node.namespace.enter(command),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                cwd=build.ROOT,
                text=True,
            )
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            printed: Line = json.loads(line)
            printed |= {"at": time.monotonic(), "client": self.node.name}
            self.lines.append(printed)

    def say(self, text: str) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(text)
        self._process.stdin.flush()

    def order(self, **order: str) -> None:
        self.say(json.dumps(order) + "\n")

    def finish(self, seconds: float) -> list[Line]:
        """Closes its input, waits for its end and returns all of its lines."""
        assert self._process.stdin is not None
        try:
            self._process.stdin.close()
            code = self._process.wait(seconds)
        except (subprocess.TimeoutExpired, BrokenPipeError) as error:
            self._process.kill()
            self._process.wait()
            raise LabError(f"the test client on {self.node.name} did not end in order within {seconds} s") from error
        self._reader.join()
        if code != 0:
            raise LabError(f"the test client on {self.node.name} failed with {code}:\n{self.log.read_text()[-2000:]}")
        return self.lines

    def expect_alive(self) -> None:
        if self._process.poll() is not None:
            raise LabError(
                f"the test client on {self.node.name} has ended with {self._process.returncode}:\n"
                f"{self.log.read_text()[-2000:]}"
            )

    def kill(self) -> None:
        self._process.kill()
        self._process.wait()


def merge(documents: Iterable[Totals]) -> Totals:
    """Counts of several clients, or of several seconds, as one."""
    every = list(documents)
    return {
        "connections": sum(each["connections"] for each in every),
        "requests": sum(each["requests"] for each in every),
        "broken": sum(each["broken"] for each in every),
        "by_kind": _sums(each["by_kind"] for each in every),
        "servers": _sums(each["servers"] for each in every),
        "new": _sums(each["new"] for each in every),
        "slowest_ms": max((each["slowest_ms"] for each in every), default=0.0),
        "stall_ms": max((each["stall_ms"] for each in every), default=0.0),
    }


def _sums(counts: Iterable[dict[str, int]]) -> dict[str, int]:
    total: Counter[str] = Counter()
    for each in counts:
        total.update(each)
    return dict(total)


class Traffic:
    """Load from every client at once. Use as `with Traffic(...) as traffic`; then `traffic.total` holds the counts."""

    def __init__(
        self,
        nodes: list[ClientNode],
        long: int,
        interval: float,
        short_rate: float,
        mptcp_port: int | None = None,
        answer_seconds: float = ANSWER_SECONDS,
        vip: str = topology.VIP,
        idle: int = 0,
        silences: Iterable[float] = (30.0,),
        life: float = 0.0,
    ) -> None:
        """`idle` connections, besides the `long` ones, are silent for one of `silences` seconds after each answer.

        `life`: mean seconds after which a long one is closed and another opened; 0: none is.
        """
        self.answer_seconds = answer_seconds
        each, each_idle = long // len(nodes), idle // len(nodes)
        self.long = (each + each_idle) * len(nodes)  # of both kinds
        self.total: Totals | None = None
        rate = short_rate / len(nodes)
        options = ["--long", str(each), "--interval", str(interval), "--short-rate", str(rate)]
        options += ["--idle", str(each_idle), "--silences", ",".join(map(str, silences))] if idle else []
        options += ["--mptcp-port", str(mptcp_port)] if mptcp_port else []
        options += ["--life", str(life)] if life else []
        self.clients = [TestClient(node, "load", *options, timeout=answer_seconds, vip=vip) for node in nodes]

    def __enter__(self) -> "Traffic":
        return self

    def __exit__(self, kind: Any, *_: Any) -> None:
        if kind is None:
            self.stop()
        else:
            for client in self.clients:
                client.kill()

    def lines(self, event: str) -> list[Line]:
        return [line for client in self.clients for line in list(client.lines) if line.get("event") == event]

    def seconds(self) -> list[Second]:
        """The seconds that every client has reported so far, oldest first, each merged into one."""
        reported = [[line for line in list(client.lines) if line["event"] == "second"] for client in self.clients]
        both = zip(*reported, strict=False)
        return [{**merge(lines), "open": sum(line["open"] for line in lines)} for lines in both]

    def latest(self) -> list[Line]:
        """Each client's last second; LabError if a client has ended, so that no caller waits for it."""
        self._expect_clients()
        latest = [[line for line in list(client.lines) if line["event"] == "second"][-1:] for client in self.clients]
        return [line for lines in latest for line in lines]

    def _expect_clients(self) -> None:
        for client in self.clients if self.total is None else []:
            client.expect_alive()

    def wait_open(self) -> None:
        """Until all long-lived connections are open and answered."""
        until(
            f"{self.long} connections are open and answered",
            lambda: self.held() >= self.long,
            2 * self.answer_seconds + SLACK_SECONDS,
            pause=0.1,
        )

    def held(self) -> int:
        """Long-lived connections that some server has answered, as of the last second."""
        return sum(count for line in self.latest() for name, count in line["held"].items() if name != "none")

    def held_by(self, server: str) -> int:
        return sum(line["held"].get(server, 0) for line in self.latest())

    def idle_by(self, server: str) -> int:
        """Idle connections that the server has answered, as of the last second."""
        return sum(line["idle"].get(server, 0) for line in self.latest())

    def wait_seconds(self, count: int) -> None:
        """Until every client has reported `count` more seconds of traffic."""
        wanted = [self._reported(client) + count for client in self.clients]

        def reported() -> bool:
            self._expect_clients()
            return all(self._reported(c) >= n for c, n in zip(self.clients, wanted, strict=True))

        until(f"{count} s of traffic", reported, count * 3 + SLACK_SECONDS, pause=0.05)

    @staticmethod
    def _reported(client: TestClient) -> int:
        return sum(line["event"] == "second" for line in list(client.lines))

    def wait_quiet(self) -> None:
        """Until every request so far is answered or counted as broken: all that an event may break has then broken.

        Only the client's own time-out bounds the duration: a processor that is emulated, or shared with others, takes
        its time.
        """
        now = time.monotonic()  # of one clock for all processes of the machine
        until(
            "every request so far is answered or broken",
            lambda: sum(line["waiting_since"] > now for line in self.latest()) == len(self.clients),
            self.answer_seconds + SLACK_SECONDS,
            pause=0.2,
        )

    def broken(self) -> list[Line]:
        """Every broken connection so far: kind, server, local address, age."""
        return self.lines("broken")

    def renew(self, server: str) -> None:
        """Has the clients close their connections to `server` in order, and open new ones."""
        for client in self.clients:
            client.order(do="renew", server=server)

    def talk(self) -> None:
        """Has all idle connections send a request now."""
        for client in self.clients:
            client.order(do="talk")

    def stop(self) -> Totals:
        """Closes all connections in order and returns the totals; every request was answered or counted as broken."""
        if self.total is None:
            finished = [client.finish(self.answer_seconds + SLACK_SECONDS) for client in self.clients]
            self.total = merge(lines[-1] for lines in finished)
        return self.total


def flows(
    nodes: list[ClientNode], wanted: dict[str, list[tuple[str, int]]], seconds: float
) -> dict[tuple[str, int], str]:
    """Makes a real connection for each (address, port) of each client's name; returns {(address, port): server}."""
    clients = []
    for node in nodes:
        client = TestClient(node, "flows")
        client.say("".join(f"{address} {port}\n" for address, port in wanted[node.name]))
        clients.append(client)
    answers: dict[tuple[str, int], str] = {}
    failed = []
    for client in clients:
        for line in client.finish(seconds):
            if "error" in line:
                failed.append(f"{line['source']}:{line['port']}: {line['error']}")
            else:
                answers[line["source"], line["port"]] = line["server"]
    if failed:
        raise LabError(f"{len(failed)} connections failed, for instance {'; '.join(failed[:5])}")
    return answers


def syn_flood(node: ClientNode, gateway: str, rate: int, seconds: float) -> TestClient:
    """Starts a bounded SYN flood against the VIP; finish() it."""
    options = ["--gateway", gateway, "--rate", str(rate), "--seconds", str(seconds)]
    return TestClient(node, "flood", *options)
