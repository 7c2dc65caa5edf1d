# SPDX-License-Identifier: Apache-2.0
"""A cluster as faults see it: nodes with addresses and programs, commands on them, and cuts between them.

LabCluster (lab_cluster.py) has its nodes in network namespaces, SshCluster (ssh_cluster.py) on existing machines.
"""

import json
import socket
from abc import ABC, abstractmethod
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from typing import Any

from jepsen.faults.listing import About, AgentState, Described, Health, Listing
from lab import topology
from lab.deadline import LabError, until

RUNNING, PAUSED, DEAD = "running", "paused", "dead"
KINDS = ("mux", "controller", "zookeeper", "server")
MAIN = {"mux": "mux", "server": "nginx", "controller": "controller"}  # the program that a node's name alone means
HEARD = ("reporting", "counting")  # states of an agent that the controllers hear
ANSWER_SECONDS = 120  # until a program that was started answers at all
SERVING_SECONDS = 120  # until the cluster serves with it
PROBE_SECONDS = 2


@dataclass(frozen=True)
class Node:
    name: str
    address: str
    kind: str  # mux, controller (with or without ZooKeeper), server, client, router, runner
    programs: tuple[str, ...]


class Cluster(ABC):
    name: str  # of the instance
    over: str
    directory: Path  # where the state of faults is kept
    nodes: dict[str, Node]

    def node(self, name: str) -> Node:
        if name not in self.nodes:
            raise LabError(f"node '{name}' is not in the cluster; allowed: {', '.join(self.nodes)}")
        return self.nodes[name]

    def of_kind(self, kind: str) -> list[Node]:
        """All nodes of a kind that have its program; `zookeeper` means controllers' machines with a ZooKeeper."""
        machines = "controller" if kind == "zookeeper" else kind
        program = MAIN.get(kind, kind) if kind in KINDS else None
        of_kind = [node for node in self.nodes.values() if node.kind == machines]
        return [node for node in of_kind if program is None or program in node.programs]

    def split(self, text: str) -> tuple[Node, str]:
        """NODE[/PROGRAM] as a node and the name of one of its programs."""
        name, _, program = text.partition("/")
        node = self.node(name)
        program = program or MAIN.get(node.kind, "")
        if program not in node.programs:
            allowed = ", ".join(f"{name}/{each}" for each in node.programs) or f"none, {name} has no programs"
            raise LabError(f"unknown program '{text}'; allowed: {allowed}")
        return node, program

    # Programs.

    @abstractmethod
    def state(self, node: Node, program: str) -> str:
        """RUNNING, PAUSED or DEAD."""

    @abstractmethod
    def show(self, node: Node) -> str | None:
        """The command that prints the counters of a server, as JSON, on its node; None if there is none."""

    @abstractmethod
    def check_start(self, node: Node, program: str) -> None:
        """LabError if there is no way to start it."""

    @abstractmethod
    def launch(self, node: Node, program: str) -> None:
        """Starts a dead program."""

    @abstractmethod
    def signal(self, node: Node, program: str, name: str) -> None:
        """Sends STOP, CONT, TERM or KILL to a program that is not dead; after the last two it stays dead."""

    def start(self, node: Node, program: str) -> None:
        """Returns once the program runs and answers, whatever the answer; resumes a paused one."""
        state = self.state(node, program)
        if state == PAUSED:
            self.resume(node, program)
        elif state == DEAD:
            self.launch(node, program)
            until(f"{node.name}/{program} answers", lambda: self._answers(node, program), ANSWER_SECONDS, pause=0.1)

    def stop(self, node: Node, program: str) -> None:
        """Stops it in order; kills it if that takes longer than ANSWER_SECONDS."""
        self._end(node, program, "TERM")

    def kill(self, node: Node, program: str) -> None:
        self._end(node, program, "KILL")

    def restart(self, node: Node, program: str) -> None:
        self.check_start(node, program)
        self.stop(node, program)
        self.start(node, program)

    def _end(self, node: Node, program: str, how: str) -> None:
        if self.state(node, program) == DEAD:
            return
        self.signal(node, program, how)
        if how == "TERM":
            self.signal_if_alive(node, program, "CONT")  # a paused one handles TERM only then
        what = f"{node.name}/{program} ends"
        try:
            until(what, lambda: self.state(node, program) == DEAD, ANSWER_SECONDS, pause=0.02)
        except LabError:
            self.signal_if_alive(node, program, "KILL")
            until(what, lambda: self.state(node, program) == DEAD, ANSWER_SECONDS, pause=0.02)

    def signal_if_alive(self, node: Node, program: str, name: str) -> None:
        if self.state(node, program) != DEAD:
            self.signal(node, program, name)

    def pause(self, node: Node, program: str) -> None:
        if self.state(node, program) == DEAD:
            raise LabError(f"{node.name}/{program} is dead and cannot be paused")
        self.signal(node, program, "STOP")
        until(f"{node.name}/{program} is paused", lambda: self.state(node, program) == PAUSED, 10, pause=0.01)

    def resume(self, node: Node, program: str) -> None:
        if self.state(node, program) != PAUSED:
            return
        self.signal(node, program, "CONT")
        until(f"{node.name}/{program} runs again", lambda: self.state(node, program) != PAUSED, 10, pause=0.01)

    # What programs answer.

    @abstractmethod
    def connect(self, node: Node, host: str, port: int, seconds: float) -> socket.socket:
        """A TCP connection from the node, or from a place with the same view."""

    @abstractmethod
    def port(self, node: Node, program: str) -> tuple[str, int]:
        """Where the program listens: HTTP of muxes and controllers, ZooKeeper's clients' port, the VIP of servers."""

    def _exchange(self, node: Node, program: str, request: bytes) -> bytes:
        """The program's answer until it closes; empty if none arrived within PROBE_SECONDS."""
        answer = b""
        try:
            with self.connect(node, *self.port(node, program), PROBE_SECONDS) as connection:
                connection.settimeout(PROBE_SECONDS)
                connection.sendall(request)
                while part := connection.recv(65536):
                    answer += part
        except OSError:
            return b""
        return answer

    def _json(self, node: Node, program: str, path: str) -> Any:
        """The JSON at a path of the program's HTTP regardless of its status; None without an answer."""
        host, port = self.port(node, program)
        http = HTTPConnection(host, port, timeout=PROBE_SECONDS)
        try:
            http.sock = self.connect(node, host, port, PROBE_SECONDS)
            http.sock.settimeout(PROBE_SECONDS)
            http.request("GET", path, headers=self.authorization() if program == "controller" else {})
            return json.loads(http.getresponse().read())
        except (OSError, HTTPException, ValueError):
            return None
        finally:
            http.close()

    def authorization(self) -> dict[str, str]:
        token = self.about()["token"]
        return {"Authorization": f"Bearer {Path(token).read_text().strip()}"} if token else {}

    def health(self, node: Node, program: str) -> Health:
        """The JSON of /healthz; empty without an answer."""
        answer: Health | None = self._json(node, program, "/healthz")
        return answer or {}

    def _listings(self, server: Node) -> Iterator[list[AgentState]]:
        for node in self.of_kind("controller"):
            listed = self._json(node, "controller", "/v1/agents?limit=1000")
            if isinstance(listed, list):
                yield [each for each in listed if each["address"] == server.address]

    def agent(self, server: Node) -> list[AgentState] | None:
        """What a controller lists of the server's agent, for each service that has the server's address."""
        return next(self._listings(server), None)

    def heard(self, server: Node) -> bool:
        """
        Whether a controller hears the server's agent. All are asked: with fencing-off a replaced leader goes on to hear
        the agents that have come to it, and the new one never does.
        """
        return any(all(each["state"] in HEARD for each in listed) for listed in self._listings(server))

    def _answers(self, node: Node, program: str) -> bool:
        if self.state(node, program) == DEAD:
            raise LabError(f"{node.name}/{program} has ended:\n{self.tail(node, program)}")
        if program in ("mux", "controller"):
            return bool(self.health(node, program))
        if program == "zookeeper":
            return bool(self._exchange(node, program, b"srvr"))
        if program == "nginx":
            return self._exchange(node, program, b"GET / HTTP/1.0\r\n\r\n") != b""
        return True

    def serves(self, node: Node, program: str) -> bool:
        """Whether it does its job together with the others; for a program that cannot be asked, whether it runs."""
        if self.state(node, program) != RUNNING:
            return False
        if program == "mux":
            health = self.health(node, program)
            serving = all(state == "serving" for state in health.get("services", {}).values())
            return health.get("status") == "ok" and bool(health.get("registered")) and serving and self.announced(node)
        if program == "controller":
            return bool(self.health(node, program).get("leaderUrl"))
        if program == "zookeeper":
            return self.zookeeper_mode(node) is not None
        if program == "agent":
            return self.heard(node)
        return self._answers(node, program)

    @abstractmethod
    def announced(self, mux: Node) -> bool:
        """Whether the router sends the VIP to this mux; true if there is no way to know."""

    def zookeeper_mode(self, node: Node) -> str | None:
        """leader, follower, standalone; None while it does not serve."""
        for line in self._exchange(node, "zookeeper", b"srvr").decode(errors="replace").splitlines():
            if line.startswith("Mode: "):
                return line.removeprefix("Mode: ")
        return None

    def wait_serving(self, pairs: list[tuple[Node, str]]) -> None:
        for node, program in pairs:
            until(f"{node.name}/{program} serves", partial(self.serves, node, program), SERVING_SECONDS, 0.1)

    def all_programs(self) -> list[tuple[Node, str]]:
        """ZooKeeper first, then controllers: others need them."""
        order = {"zookeeper": 0, "controller": 1}
        pairs = [(node, program) for node in self.nodes.values() for program in node.programs]
        return sorted(pairs, key=lambda pair: order.get(pair[1], 2))

    def revive(self) -> None:
        """Starts and resumes every program that is dead or paused, and waits until the whole cluster serves."""
        for node, program in self.all_programs():
            self.start(node, program)
        self.wait_serving(self.all_programs())

    def upgrade(self, node: Node, program: str) -> None:
        """As a package's upgrade does; for a server, its server side and its agent."""
        if program == "nginx":
            self.attach(node)
            if "agent" in node.programs:
                self.upgrade(node, "agent")
            return
        self.restart(node, program)
        self.wait_serving([(node, program)])

    def reattach(self, node: Node, program: str) -> None:
        if node.kind != "server":
            raise LabError(f"node '{node.name}' has no server side; allowed: a server")
        self.detach(node)
        self.attach(node)

    # The list.

    def roles(self, node: Node, states: dict[str, str]) -> list[str]:
        roles = [] if node.kind == "controller" and "controller" not in node.programs else [node.kind]
        if states.get("controller") == RUNNING and (health := self.health(node, "controller")).get("leaderUrl"):
            roles.append("leader" if health.get("leader") else "follower")
        if "zookeeper" in states:
            roles.append("zookeeper")
            mode = self.zookeeper_mode(node) if states["zookeeper"] == RUNNING else None
            roles += [f"zookeeper-{mode}"] if mode in ("leader", "follower") else []
        if "agent" in states:
            roles.append("agent")
        return roles

    def describe(self, node: Node) -> Described:
        states = {program: self.state(node, program) for program in node.programs}
        described: Described = {
            "node": node.name,
            "address": node.address,
            "roles": self.roles(node, states),
            "programs": states,
        }
        if "controller" in node.programs:
            described["rest"] = self.url(node, "controller")
        if "mux" in node.programs:
            described["http"] = self.url(node, "mux")
        if show := self.show(node):
            described["show"] = show
        return described

    def url(self, node: Node, program: str) -> str:
        host, port = self.port(node, program)
        return f"http://{host}:{port}"

    def listing(self) -> Listing:
        with ThreadPoolExecutor(len(self.nodes)) as all_at_once:
            nodes = list(all_at_once.map(self.describe, self.nodes.values()))
        return {"instance": self.name, "over": self.over, **self.about(), "nodes": nodes}

    @abstractmethod
    def about(self) -> About:
        """What `nodes list` prints about the whole cluster."""

    # Commands.

    @abstractmethod
    def run(self, node: Node, *argv: str, stdin: str | None = None) -> str:
        """A command's output; LabError if it fails."""

    @abstractmethod
    def execute(self, node: Node, argv: list[str]) -> int:
        """`nodes exec`: input and output are this process's; returns the exit code."""

    @abstractmethod
    def tail(self, node: Node, program: str) -> str:
        """The end of a program's log."""

    @abstractmethod
    def save_logs(self, to: Path) -> None: ...

    # What faults need.

    @abstractmethod
    def cut(self, name: str, ways: list[tuple[str, str]]) -> None:
        """Drops all packets on these ways, each from one node to another, until uncut(name)."""

    @abstractmethod
    def check_ways(self, ways: list[tuple[str, str]]) -> None:
        """LabError if one of the ways can't be cut."""

    @abstractmethod
    def check_slow(self, node: Node) -> None:
        """LabError if the node can't be slowed."""

    @abstractmethod
    def cut_zookeeper(self, name: str, node: Node) -> None: ...

    @abstractmethod
    def lose(self, name: str, node: Node, percent: float) -> None: ...

    @abstractmethod
    def uncut(self, name: str) -> None:
        """Undoes cut, cut_zookeeper or lose under this name, if there was one."""

    @abstractmethod
    def slow(self, node: Node, milliseconds: float) -> None: ...

    @abstractmethod
    def unslow(self, node: Node) -> None: ...

    @abstractmethod
    def check_lie(self, server: Node) -> None:
        """LabError if no lying agent can run there."""

    @abstractmethod
    def lie(self, server: Node) -> None:
        """Starts a lying agent in place of the server's own, which does not run."""

    @abstractmethod
    def unlie(self, server: Node) -> None:
        """Ends it, if there is one; returns once arrays lead to all that the server's own agent has reported."""

    @abstractmethod
    def attach(self, server: Node) -> None:
        """Attaches the server side's program, or replaces it."""

    @abstractmethod
    def detach(self, server: Node) -> None: ...

    @abstractmethod
    def zookeeper_data(self, node: Node) -> str:
        """The directory of its data, on the node."""


def zookeeper_drop(table: str) -> str:
    """nft rules for a host: drop its clients' traffic with ZooKeeper, including the one on the same host."""
    port = topology.ZOOKEEPER_PORT
    return f"""\
table inet {table} {{
  chain out {{ type filter hook output priority 0; tcp dport {port} drop; }}
  chain in {{ type filter hook input priority 0; tcp sport {port} drop; }}
}}
"""


def without(family: str, table: str) -> str:
    """nft commands that delete a table, whether it exists or not."""
    return f"table {family} {table} {{}}\ndelete table {family} {table}\n"
