# SPDX-License-Identifier: Apache-2.0
"""The cluster in network namespaces (lab/). All packets between two machines cross the rack's bridge in the router's
namespace. They are dropped or delayed there, since a mux and an XDP program see packets before the filters of their own
kernel do."""

import contextlib
import os
import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from jepsen.faults import switches
from jepsen.faults.cluster import DEAD, PAUSED, RUNNING, Cluster, Node, without, zookeeper_drop
from jepsen.faults.listing import About
from lab import build, cluster_key, server, topology, zookeeper
from lab.deadline import LabError, until
from lab.false_agent import VERSION
from lab.instance import Instance
from lab.lab import CLIENTS, SERVICE, Lab
from lab.mux import HTTP_PORT
from lab.namespace import Namespace
from lab.node import route_hops
from lab.probe import Probe
from lab.process import Process, start_ticks
from lab.router import BRIDGE
from lab.tokens import NAME
from lab.variant import Variant

ZOOKEEPER_MEGABYTES = 192
BROUGHT_UP = ("zookeepers", "controllers", "muxes", "servers")
STEERINGS = ("ring", "othello", "hunt", "maat")
OF_FAULTS = ("slow-", "liar")  # processes that faults start are no programs of their nodes
TOLD_SECONDS = 60
# Slower than in the lab's tests: two cores run everything.
CHECK = {"kind": "http", "intervalMillis": 1000, "timeoutMillis": 900, "rise": 1, "fall": 2, "jitterPercent": 10}
LED_SECONDS = 90  # arrays wait for agents that other faults keep away
FIXED = {"service": SERVICE, "vip": topology.VIP, "port": topology.VIP_PORT, "clients": CLIENTS}


def up(described: dict[str, Any], switch: str | None) -> str:
    """Brings a lab up as :cluster says and leaves it running; returns the instance's name."""
    for key, value in FIXED.items():
        if described.get(key, value) != value:
            raise LabError(f":{key} '{described[key]}' is refused; allowed over :lab: {value}")
    described = {"hold-seconds": 0, "steering": STEERINGS[0], "p4-muxes": 0, "probes": False, **described}
    if type(described["probes"]) is not bool:
        raise LabError(f":probes '{described['probes']}' is refused; allowed: true, false")
    if described["steering"] not in STEERINGS:
        raise LabError(f":steering '{described['steering']}' is refused; allowed: {', '.join(STEERINGS)}")
    for key in (*BROUGHT_UP, "window-seconds", "hold-seconds", "behind-seconds"):
        if type(described.get(key)) is not int:
            raise LabError(f":{key} '{described.get(key)}' is refused; allowed: a whole number")
    muxes, by_p4 = described["muxes"], described["p4-muxes"]
    if type(by_p4) is not int or not 0 <= by_p4 <= muxes:
        raise LabError(f":p4-muxes '{by_p4}' is refused; allowed: 0..{muxes}, as there are :muxes")
    if by_p4 and described["steering"] != "ring":
        raise LabError(f":steering '{described['steering']}' is refused with :p4-muxes; allowed: ring")
    broken = {"hold": described["hold-seconds"], **switches.variant(switch)}
    mux_options = ("--behind-seconds", str(described["behind-seconds"]), *broken.pop("mux_options", ()))
    lab = Lab(
        **{key: described[key] for key in BROUGHT_UP},
        window=described["window-seconds"],
        buckets=described.get("buckets"),
        variant=Variant(
            runner=True,
            mptcp=True,
            agents=True,
            steering=described["steering"],
            p4_muxes=tuple(range(1, muxes + 1))[muxes - by_p4 :],  # the last ones
            tagged=not by_p4,  # they can't tag
            quiet=described["behind-seconds"] + 10,
            zookeeper_megabytes=ZOOKEEPER_MEGABYTES,
            mux_options=mux_options,
            **broken,
        ),
    )
    lab.settings = {"faults": {"switch": switch, "zookeepers": described["zookeepers"]}}
    lab.up_or_undone()
    if described["probes"]:
        with undone_on_failure(lab):
            start_probes(lab)
    lab.detach()
    return lab.instance.name


@contextlib.contextmanager
def undone_on_failure(lab: Lab) -> Iterator[None]:
    try:
        yield
    except BaseException:
        lab.down()
        raise


def start_probes(lab: Lab) -> None:
    """One on each mux's machine, and a check of the service by HTTP, so that a paused server is down."""
    for mux in lab.muxes.values():
        Probe(mux, zookeepers=lab.wanted_zookeepers).start()
    lab.api("PATCH", f"/v1/services/{SERVICE}", {"healthCheck": CHECK})


def kind_of(name: str) -> str:
    return name.rstrip("0123456789")


def address_of(name: str) -> str:
    number = int(name[len(kind_of(name)) :] or 1)
    of_kind: dict[str, Callable[[int], str]] = {
        "controller": topology.controller_address,
        "mux": topology.mux_address,
        "server": topology.server_address,
        "client": topology.client_address,
        "router": lambda _: topology.ROUTER,
        "runner": lambda _: topology.RUNNER,
    }
    return of_kind[kind_of(name)](number)


def slow_port(name: str) -> str:
    """The rack's port of a machine that is slowed (15 characters at most)."""
    return f"s-{name}"


class LabCluster(Cluster):
    over = "lab"

    def __init__(self, instance: Instance) -> None:
        self.instance = instance
        self.name = instance.name
        self.directory = instance.directory
        if "faults" not in instance.state["settings"]:
            raise LabError(f"lab {instance.name} is not made for faults; allowed: one that 'nodes up' brought up")
        self.settings = instance.state["settings"]["faults"]
        self.nodes = {}
        for record in instance.state["namespaces"]:
            name = record["node"]
            programs = tuple(
                process.partition("/")[2]
                for process in instance.state["processes"]
                if process.startswith(f"{name}/") and not process.partition("/")[2].startswith(OF_FAULTS)
            )
            self.nodes[name] = Node(name, address_of(name), kind_of(name), programs)

    def namespace(self, node: Node) -> Namespace:
        return Namespace(f"fl-{self.name}-{node.name}")

    @property
    def router(self) -> Namespace:
        return self.namespace(self.node("router"))

    # Programs.

    def process(self, node: Node, program: str) -> Process:
        return Instance.load(self.name).process(f"{node.name}/{program}")

    def state(self, node: Node, program: str) -> str:
        process = self.process(node, program)
        if not process.alive:
            return DEAD
        try:
            letter = Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()[0]
        except OSError:
            return DEAD
        return PAUSED if letter in "Tt" else RUNNING

    def show(self, node: Node) -> str | None:
        if node.kind != "server":
            return None
        return " ".join((str(build.SERVER), "show", *server.XdpServer.form, "-o", "json"))

    def check_start(self, node: Node, program: str) -> None:
        """The instance knows how each was started."""

    def launch(self, node: Node, program: str) -> None:
        with self.instance.changing():
            self.instance.start(self.instance.process(f"{node.name}/{program}"))

    def signal(self, node: Node, program: str, name: str) -> None:
        process = self.process(node, program)
        if start_ticks(process.pid) == process.ticks:
            os.kill(process.pid, getattr(signal, f"SIG{name}"))

    def connect(self, node: Node, host: str, port: int, seconds: float) -> socket.socket:
        return self.namespace(node).connect(host, port, seconds)

    def port(self, node: Node, program: str) -> tuple[str, int]:
        return {
            "mux": (node.address, HTTP_PORT),
            "controller": (node.address, topology.REST_PORT),
            "zookeeper": (node.address, topology.ZOOKEEPER_PORT),
            "nginx": (topology.VIP, topology.VIP_PORT),
        }[program]

    def announced(self, mux: Node) -> bool:
        return mux.address in route_hops(self.router, topology.VIP)

    def about(self) -> About:
        secrets = self.directory / topology.controller_name(1)
        count = self.settings["zookeepers"]
        return {
            "switch": self.settings["switch"],
            "service": SERVICE,
            "vip": topology.VIP,
            "port": topology.VIP_PORT,
            "zookeeper": {
                "connect": zookeeper.connect_string(count),
                "scheme": "digest",
                "login": str(secrets / "zookeeper-login"),
            },
            "token": str(secrets / NAME),
        }

    # Commands.

    def run(self, node: Node, *argv: str, stdin: str | None = None) -> str:
        return self.namespace(node).run(*argv, stdin=stdin)

    def execute(self, node: Node, argv: list[str]) -> int:
        """The command has process ids of its own on all nodes but the runner."""
        apart = ["unshare", "--pid", "--fork", "--kill-child", "--mount-proc", "--", *argv]
        command = argv if node.kind == "runner" else apart
        return subprocess.run(self.namespace(node).enter(command), check=False).returncode

    def tail(self, node: Node, program: str) -> str:
        return self.process(node, program).tail()

    def save_logs(self, to: Path) -> None:
        for log in self.directory.glob("*/*.log"):
            (to / log.parent.name).mkdir(parents=True, exist_ok=True)
            shutil.copy(log, to / log.parent.name)

    # What faults need.

    def _ports(self, node: str) -> str:
        """The bridge's port of a machine, slowed or not, or a client's two wires, as an nft set."""
        return f'{{ "{node}", "{slow_port(node)}", "{node}b" }}'

    def _way(self, source: str, target: str) -> str:
        """The rule, with its chain, that drops packets from one machine of the rack, or the router, to another."""
        if source == "router":
            return f"  chain output {{ oifname {self._ports(target)} drop; }}\n"
        if target == "router":
            return f"  chain input {{ iifname {self._ports(source)} drop; }}\n"
        return f"  chain forward {{ iifname {self._ports(source)} oifname {self._ports(target)} drop; }}\n"

    def _filter(self, name: str, family: str, chains: str) -> str:
        hooks = "".join(
            f"  chain {hook} {{ type filter hook {hook} priority 0; }}\n" for hook in ("input", "forward", "output")
        )
        return f"{without(family, name)}table {family} {name} {{\n{hooks}{chains}}}\n"

    def _nft(self, node: Node, rules: str) -> None:
        self.run(node, "nft", "-f", "-", stdin=rules)

    def check_ways(self, ways: list[tuple[str, str]]) -> None:
        allowed = [each.name for each in self.nodes.values() if each.kind != "client"]
        for name in (name for way in ways for name in way):
            if name not in allowed:
                raise LabError(f"node '{name}' can't be partitioned; allowed: {', '.join(allowed)}")

    def check_slow(self, node: Node) -> None:
        if node.kind in ("client", "router"):
            raise LabError(f"node '{node.name}' can't be slowed; allowed: a machine of the rack")

    def cut(self, name: str, ways: list[tuple[str, str]]) -> None:
        rules = "".join(self._way(source, target) for source, target in ways)
        self._nft(self.node("router"), self._filter(name, "bridge", rules))

    def cut_zookeeper(self, name: str, node: Node) -> None:
        self._nft(node, without("inet", name) + zookeeper_drop(name))

    def lose(self, name: str, node: Node, percent: float) -> None:
        lost = f"numgen random mod 10000 < {round(percent * 100)} drop"
        ports = self._ports(node.name)
        rules = f"""\
  chain input {{ iifname {ports} {lost}; }}
  chain output {{ oifname {ports} {lost}; }}
  chain forward {{ iifname {ports} {lost}; oifname {ports} {lost}; }}
"""
        family = "inet" if node.kind == "client" else "bridge"  # clients have a wire to the router
        self._nft(self.node("router"), self._filter(name, family, rules))

    def uncut(self, name: str) -> None:
        for node in self.nodes.values():
            tables = self.run(node, "nft", "list", "tables")
            gone = "".join(without(f, name) for f in ("bridge", "inet") if f"table {f} {name}\n" in tables)
            if gone:
                self._nft(node, gone)

    def slow(self, node: Node, milliseconds: float) -> None:
        """Takes the machine's wire off the bridge; a relay carries each frame, late, between it and a new port."""
        self.unslow(node)
        port, near = slow_port(node.name), f"r-{node.name}"
        mtu = f"mtu {topology.RACK_MTU}"
        self.router.ip(f"link add {port} {mtu} type veth peer name {near} {mtu}")
        for interface in (port, near):
            self.router.run("ethtool", "-K", interface, "tx", "off", "tso", "off", "gso", "off", "gro", "off")
        # Without ARP: otherwise the router would answer on wires that are not ports of its bridge.
        self.router.ip(f"link set {near} arp off up", f"link set {port} up master {BRIDGE}")
        relay = [sys.executable, "-B", str(Path(__file__).with_name("relay.py")), node.name, near, str(milliseconds)]
        log = self.directory / "router" / f"slow-{node.name}.log"
        with self.instance.changing():
            self.instance.start(Process(f"router/slow-{node.name}", self.router, relay, log, {}))
        self.router.ip(f"link set {node.name} arp off nomaster")

    def unslow(self, node: Node) -> None:
        with self.instance.changing():
            record = self.instance.state["processes"].pop(f"router/slow-{node.name}", None)
        if record:
            Process.from_record(record).kill()
        there = f" {slow_port(node.name)}@" in self.router.run("ip", "-o", "link", "show")
        if there:
            self.router.ip(f"link delete {slow_port(node.name)}")
        if there or record:
            self.router.ip(f"link set {node.name} arp on master {BRIDGE}")

    def check_lie(self, server: Node) -> None:
        said = [self._json(node, "controller", f"/v1/services/{SERVICE}") for node in self.of_kind("controller")]
        steering = next((each["steering"] for each in said if each and "steering" in each), "unknown")
        if steering != "othello":
            raise LabError(f"lie {server.name} is refused, as {SERVICE} has steering {steering}; allowed: othello")

    def lie(self, server: Node) -> None:
        words = [str(Path(__file__).with_name("liar.py")), self.name, server.name, "1"]
        log = self.directory / server.name / "liar.log"
        with self.instance.changing():
            argv = [sys.executable, "-B", *words]
            self.instance.start(Process(f"{server.name}/liar", self.namespace(server), argv, log, {}))

    def unlie(self, server: Node) -> None:
        with self.instance.changing():
            record = self.instance.state["processes"].pop(f"{server.name}/liar", None)
        if record is None:
            return
        Process.from_record(record).kill()
        self.start(server, "agent")
        until(f"{server.name}/agent has reported twice", lambda: self._told(server), TOLD_SECONDS, pause=0.1)
        until("arrays lead to all connections that are known", self._leads_to_all, LED_SECONDS, pause=0.2)

    def _told(self, server: Node) -> bool:
        """Its first report names no connection, the second one has all of them (protocol/README.md, 11)."""
        listed = self.agent(server) or []
        return bool(listed) and all(one.get("version") != VERSION and "openedPerSecond" in one for one in listed)

    def _leads_to_all(self) -> bool:
        path = f"/v1/services/{SERVICE}/othello"
        said = [self._json(node, "controller", path) for node in self.of_kind("controller")]
        status = next((one for one in said if one and "miscoded" in one), None)
        return status is not None and status["miscoded"] == status["homeless"]

    def attach(self, server_node: Node) -> None:
        settings = self.instance.state["settings"]
        chaining = switches.variant(self.settings["switch"]).get("chaining", True)
        key = self.directory / server_node.name / cluster_key.SERVER_NAME  # without P4 muxes, which can't tag
        argv = server.attachment(
            str(build.SERVER),
            server.XdpServer.form,
            server_node.address,
            chaining=chaining,
            quiet=settings["quiet"],
            key=key if key.exists() else None,
        )
        self.run(server_node, *argv)

    def detach(self, server_node: Node) -> None:
        self.run(server_node, str(build.SERVER), "detach", *server.XdpServer.form)

    def zookeeper_data(self, node: Node) -> str:
        return str(self.directory / node.name / "zookeeper-data")
