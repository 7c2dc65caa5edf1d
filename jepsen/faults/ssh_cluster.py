# SPDX-License-Identifier: Apache-2.0
"""The cluster on existing machines, over SSH, as docs/research/fault-injection.md describes it. Nothing is installed.

nftables drops packets on the hosts that send and receive them, and on the router. The kernel never sees packets that a
mux takes by DPDK or AF_XDP, or a server by XDP: those are dropped where the router forwards them, if the router is
among the hosts.
"""

import ipaddress
import shlex
import socket
import subprocess
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from jepsen.faults.cluster import DEAD, PAUSED, RUNNING, Cluster, Node, without, zookeeper_drop
from jepsen.faults.listing import About
from lab import topology
from lab.deadline import LabError
from lab.mux import HTTP_PORT

RUN = Path("/run/fairlead-faults")
HOOKS = ("prerouting", "input", "forward", "output", "postrouting")
UNITS: dict[str, dict[str, dict[str, str]]] = {
    "mux": {"mux": {"unit": "fairlead-mux"}},
    "controller": {"controller": {"unit": "fairlead-controller"}, "zookeeper": {"unit": "zookeeper"}},
    "server": {"nginx": {"unit": "nginx"}, "agent": {"unit": "fairlead-agent"}},
    "client": {},
    "router": {},
}
PID_OF = {
    "unit": "systemctl show --property MainPID --value {}",
    "pid-file": "cat {} 2>/dev/null || echo 0",
}
# On a router: the interface towards an address, its own and the neighbour's MAC address, and whether it is a bridge.
NEIGHBOUR = r"""
port=$(ip route get {0} | sed -n 's/^[^ ]* dev \([^ ]*\).*/\1/p')
for try in 1 2 3 4 5 6 7 8 9 10; do
  theirs=$(ip neighbour show {0} dev "$port" | sed -n 's/.*lladdr \([^ ]*\).*/\1/p')
  [ "$theirs" ] && break
  ip neighbour replace {0} dev "$port" use && sleep 0.2
done
[ "$theirs" ] || {{ echo "{0} is not a neighbour of the router, which is to drop its packets" >&2; exit 1; }}
own=$(ip -o link show dev "$port" | sed -n 's/.* link\/ether \([^ ]*\).*/\1/p')
[ "$(ip -o link show dev "$port" type bridge)" ] && kind=bridge || kind=port
echo "$port" "$own" "$theirs" "$kind"
"""
# What ssh says, with 255, when it has no connection to an SSH server: nothing was asked of the host.
UNREACHED = ("ssh: connect to host ", "kex_exchange_identification: ", "Connection timed out during banner exchange")
ATTEMPTS = 5  # at a connection: faults lose packets between the runner and hosts
PAUSE_SECONDS = 1
STATE = 'pid=$({}); [ "$pid" -gt 0 ] && sed "s/.*) //" "/proc/$pid/stat" 2>/dev/null | cut -c 1'


class SshCluster(Cluster):
    over = "ssh"

    def __init__(self, described: dict[str, Any], name: str) -> None:
        self.name = name
        self.described = described
        self.directory = RUN / name
        hosts = described.get("hosts")
        if not isinstance(hosts, dict) or not hosts:
            raise LabError(':hosts is missing; allowed over :ssh: a map, as {"mux1" {:address "10.0.0.11"} …}')
        self.hosts: dict[str, dict[str, Any]] = {
            host: {"address": about} if isinstance(about, str) else about for host, about in hosts.items()
        }
        self.nodes = {host: self._node(host, about) for host, about in self.hosts.items()}
        self.nodes["runner"] = Node("runner", "127.0.0.1", "runner", ())
        for key in ("service", "vip", "port"):
            if key not in described:
                raise LabError(
                    f":{key} is missing; allowed: the service of the connections (docs/research/fault-injection.md)"
                )

    @staticmethod
    def _node(name: str, about: Any) -> Node:
        if not isinstance(about, dict):
            raise LabError(f"host '{name}' is '{about}'; allowed: an IP address, or a map with :address")
        kind = about.get("kind", name.rstrip("0123456789"))
        if kind not in UNITS:
            raise LabError(f"host '{name}' has no kind; allowed: a name that begins with {', '.join(UNITS)}, or :kind")
        if "address" not in about:
            raise LabError(f"host '{name}' has no :address; allowed: its IP address in the rack")
        try:
            ipaddress.ip_address(about["address"])
        except ValueError:
            raise LabError(
                f"host '{name}' has the :address '{about['address']}'; allowed: its IP address in the rack"
            ) from None
        return Node(name, about["address"], kind, tuple(about.get("programs", UNITS[kind])))

    def _program(self, node: Node, program: str) -> dict[str, str]:
        programs: dict[str, dict[str, str]] = self.hosts[node.name].get("programs", UNITS[node.kind])
        return programs[program]

    def _about(self, node: Node, key: str, what: str) -> str:
        if key not in self.hosts[node.name]:
            raise LabError(f"host '{node.name}' has no :{key}; allowed: {what}")
        return str(self.hosts[node.name][key])

    def check(self) -> None:
        """LabError unless each host can be reached and has the commands that faults need."""
        for node in self._remote():
            for command in ("nft", "tc"):
                self.run(node, "sh", "-c", f"command -v {command} >/dev/null || {{ echo no {command} >&2; exit 1; }}")

    def _remote(self) -> list[Node]:
        return [node for node in self.nodes.values() if node.kind != "runner"]

    # Commands.

    def _ssh(self, node: Node, command: str) -> list[str]:
        if node.kind == "runner":
            return ["sh", "-c", command]
        to = self.hosts[node.name].get("ssh", f"root@{node.address}")
        options = shlex.split(self.described.get("ssh-options", ""))
        return ["ssh", "-o", "BatchMode=yes", "-o", "ConnectTimeout=10", *options, to, "--", command]

    def run(self, node: Node, *argv: str, stdin: str | None = None) -> str:
        command = self._ssh(node, shlex.join(argv))
        source = {"stdin": subprocess.DEVNULL} if stdin is None else {"input": stdin}
        for attempt in range(ATTEMPTS):
            if attempt:
                time.sleep(PAUSE_SECONDS)
            done = subprocess.run(command, capture_output=True, text=True, check=False, **source)
            if done.returncode != 255 or done.stdout or not done.stderr.startswith(UNREACHED):
                break
        if done.returncode:
            said = (done.stderr or done.stdout).strip() or "nothing said"
            raise LabError(f"{node.name}: '{shlex.join(argv)}' failed with {done.returncode}: {said}")
        return done.stdout

    def execute(self, node: Node, argv: list[str]) -> int:
        return subprocess.run(self._ssh(node, shlex.join(argv)), check=False).returncode

    def shell(self, node: Node, script: str) -> str:
        return self.run(node, "sh", "-c", script)

    # Programs.

    def _pid(self, node: Node, program: str) -> str:
        """The shell command that prints its process id."""
        about = self._program(node, program)
        for key, command in PID_OF.items():
            if key in about:
                return command.format(shlex.quote(about[key]))
        raise LabError(f"program '{node.name}/{program}' can't be found; allowed: :unit, or :pid-file with :start")

    def state(self, node: Node, program: str) -> str:
        letter = self.shell(node, f"{STATE.format(self._pid(node, program))} || true").strip()
        return DEAD if letter in ("", "Z", "X") else PAUSED if letter in "Tt" else RUNNING

    def show(self, node: Node) -> str | None:
        interface = self.hosts[node.name].get("interface") if node.name in self.hosts else None
        if node.kind != "server" or interface is None:
            return None
        return f"fairlead-server show --interface {interface} -o json"

    def check_start(self, node: Node, program: str) -> None:
        if not {"unit", "start"} & self._program(node, program).keys():
            raise LabError(
                f"program '{node.name}/{program}' can't be started; allowed: :unit, or :pid-file with :start"
            )

    def launch(self, node: Node, program: str) -> None:
        self.check_start(node, program)
        about = self._program(node, program)
        if "unit" in about:
            self.run(node, "systemctl", "start", about["unit"])
        else:
            self.shell(node, f"setsid sh -c {shlex.quote(about['start'])} </dev/null >/dev/null 2>&1 &")

    def signal(self, node: Node, program: str, name: str) -> None:
        unit = self._program(node, program).get("unit")
        if unit and name == "TERM":
            self.run(node, "systemctl", "stop", "--no-block", unit)
        elif unit and name == "KILL":  # and stopped: systemd would start it again
            self.shell(node, f"systemctl kill --signal=KILL {unit}; systemctl stop {unit}")
        else:
            self.shell(node, f"kill -{name} $({self._pid(node, program)})")

    def connect(self, node: Node, host: str, port: int, seconds: float) -> socket.socket:
        return socket.create_connection((host, port), seconds)

    def port(self, node: Node, program: str) -> tuple[str, int]:
        default = {"mux": HTTP_PORT, "controller": topology.REST_PORT, "zookeeper": topology.ZOOKEEPER_PORT}
        return node.address, int(self._program(node, program).get("port", default.get(program, 0)))

    def _answers(self, node: Node, program: str) -> bool:
        """For a server only whether its program runs: from here its VIP leads elsewhere."""
        runs = self.state(node, program) == RUNNING
        # A program that was just started may not have written its pid file yet; a unit's state is known at once.
        waited_for = program == "nginx" or (not runs and "unit" not in self._program(node, program))
        return runs if waited_for else super()._answers(node, program)

    def announced(self, mux: Node) -> bool:
        router = self._router()
        return router is None or mux.address in self.run(router, "ip", "route", "show", "exact", self.described["vip"])

    def about(self) -> About:
        connect = ",".join(f"{node.address}:{topology.ZOOKEEPER_PORT}" for node in self.of_kind("zookeeper"))
        login = self.described.get("zookeeper-login")
        return {
            "switch": None,
            "service": self.described["service"],
            "vip": self.described["vip"],
            "port": self.described["port"],
            "zookeeper": {"connect": connect, "scheme": "digest" if login else None, "login": login},
            "token": self.described.get("token"),
        }

    def tail(self, node: Node, program: str) -> str:
        unit = self._program(node, program).get("unit")
        return self.run(node, "journalctl", "--unit", unit, "--lines", "15", "--no-pager") if unit else "    (no log)"

    def save_logs(self, to: Path) -> None:
        for node, program in self.all_programs():
            if unit := self._program(node, program).get("unit"):
                (to / node.name).mkdir(parents=True, exist_ok=True)
                log = self.run(node, "journalctl", "--unit", unit, "--since", "-1 day", "--no-pager")
                (to / node.name / f"{program}.log").write_text(log)

    # What faults need.

    def _router(self) -> Node | None:
        return next(iter(self.of_kind("router")), None)

    @staticmethod
    def _ip(address: str) -> str:
        return "ip6" if ":" in address else "ip"

    def _filter(self, name: str, rules: dict[str, list[tuple[str, str]]]) -> None:
        """Creates the table on each host, by name, from pairs of a hook and a rule."""
        for host, lines in rules.items():
            hooks = "".join(f"  chain {hook} {{ type filter hook {hook} priority -150; }}\n" for hook in HOOKS)
            chains = "".join(f"  chain {hook} {{ {line}; }}\n" for hook, line in lines)
            table = f"{without('inet', name)}table inet {name} {{\n{hooks}{chains}}}\n"
            self.run(self.node(host), "nft", "-f", "-", stdin=table)

    def _by_router(self, router: Node, node: Node, away: bool, back: bool, verdict: str) -> list[tuple[str, str]]:
        """Rules of the router for packets that it forwards to a node, as next hop, and for frames from the node to it.

        If it is also the hosts' bridge, these hooks may see packets between hosts (net.bridge.
        bridge-nf-call-iptables): those have the MAC address of another destination, and enter where they leave.
        """
        port, own, theirs, bridge = self.shell(router, NEIGHBOUR.format(node.address)).split()
        routed = f'iifname != "{port}" ' if bridge == "bridge" else ""
        lines = []
        if away:
            hop = f'oifname "{port}" rt {self._ip(node.address)} nexthop {node.address}'
            lines.append(("forward", f"{routed}{hop} {verdict}"))
        if back:
            lines.append(("prerouting", f"ether saddr {theirs} ether daddr {own} {verdict}"))
        return lines

    def check_ways(self, ways: list[tuple[str, str]]) -> None:
        for name in (name for way in ways for name in way):
            if self.node(name).kind == "runner":
                raise LabError("node 'runner' can't be partitioned; allowed: the hosts")

    def check_slow(self, node: Node) -> None:
        self._about(node, "interface", "the name of its interface in the rack")

    def check_lie(self, server: Node) -> None:
        raise LabError(f"lie {server.name} is refused over :ssh; allowed: faults that need no program installed")

    def lie(self, server: Node) -> None:
        self.check_lie(server)

    def unlie(self, server: Node) -> None:
        """There is none."""

    def cut(self, name: str, ways: list[tuple[str, str]]) -> None:
        rules: dict[str, list[tuple[str, str]]] = {}
        for source, target in ((self.node(a), self.node(b)) for a, b in ways):
            out = f"{self._ip(target.address)} daddr {target.address} drop"
            into = f"{self._ip(source.address)} saddr {source.address} drop"
            rules.setdefault(source.name, []).append(("output", out))
            rules.setdefault(target.name, []).append(("input", into))
            if source.kind == "router":
                rules[source.name] += self._by_router(source, target, True, False, "drop")
            if target.kind == "router":
                rules[target.name] += self._by_router(target, source, False, True, "drop")
        self._filter(name, rules)

    def cut_zookeeper(self, name: str, node: Node) -> None:
        self.run(node, "nft", "-f", "-", stdin=without("inet", name) + zookeeper_drop(name))

    def lose(self, name: str, node: Node, percent: float) -> None:
        lost = f"numgen random mod 10000 < {round(percent * 100)} drop"
        rules = {node.name: [("input", lost), ("output", lost)]}
        if (router := self._router()) and node.kind in ("mux", "server"):
            rules[router.name] = self._by_router(router, node, True, False, lost)
        self._filter(name, rules)

    def uncut(self, name: str) -> None:
        remote = self._remote()
        with ThreadPoolExecutor(len(remote)) as all_at_once:
            list(all_at_once.map(lambda node: self.run(node, "nft", "-f", "-", stdin=without("inet", name)), remote))

    def slow(self, node: Node, milliseconds: float) -> None:
        interface = self._about(node, "interface", "the name of its interface in the rack")
        try:
            self.run(node, *f"tc qdisc replace dev {interface} root netem delay {milliseconds}ms".split())
        except LabError as error:
            raise LabError(f"{node.name} can't be slowed: its kernel needs netem (module sch_netem): {error}") from None

    def unslow(self, node: Node) -> None:
        interface = self._about(node, "interface", "the name of its interface in the rack")
        self.shell(
            node, f"tc qdisc show dev {interface} | grep -q netem && tc qdisc delete dev {interface} root || true"
        )

    def attach(self, server: Node) -> None:
        self.shell(server, self._about(server, "attach", "the command that attaches fairlead-server there"))

    def detach(self, server: Node) -> None:
        interface = self._about(server, "interface", "the name of its interface in the rack")
        self.shell(server, f"fairlead-server detach --interface {interface}")

    def zookeeper_data(self, node: Node) -> str:
        return self._about(node, "zookeeper-data", "the directory of its data")
