# SPDX-License-Identifier: Apache-2.0
"""MPTCP in the lab: a service whose servers speak it, beside "web" on the same VIP, and clients with two addresses.

    client<n>  eth0 10.2.<n>.2 ── router     first subflows, to 10.99.0.1:8080: by bucket
               eth1 10.4.<n>.2 ── router     further ones, to 10.99.0.1:20000 + id of the server: by that id

With `by_id=False` servers announce no port and let clients join at 8080, where muxes hash each subflow by itself: as a
load balancer without support for MPTCP does.

    with MptcpService(lab) as service, service.traffic(100) as traffic:
        service.wait_joined(100)
"""

import itertools
import re
import sys
from collections import Counter
from collections.abc import Callable

from lab import build, topology
from lab.beside import BesideService
from lab.deadline import LabError, until
from lab.lab import HASH_KEY, Lab
from lab.process import Process
from lab.server import Server, XdpServer
from lab.traffic import Traffic

PORT = 8080
IDS = 999

# A range for each service: for a minute after its last subflow a port cannot be listened on again.
_first_ports = itertools.count(20_000, IDS + 1)


class MptcpService(BesideService):
    name = "mptcp"

    def __init__(self, lab: Lab, by_id: bool = True) -> None:
        super().__init__(lab)
        self.by_id = by_id
        self.first = next(_first_ports)
        self.servers: dict[int, Server] = {}
        self._programs: dict[int, Process] = {}

    def _up(self) -> None:
        for client in self.lab.clients:
            client.add_second_way(self.lab.router)
        spec: dict[str, object] = {
            "name": self.name,
            "vips": [topology.VIP],
            "ports": [{"protocol": "tcp", "port": PORT}],
            "hashKey": HASH_KEY,
            "windowSeconds": self.lab.window,
        }
        if self.by_id:
            spec["mptcpPorts"] = {"first": self.first, "last": self.first + IDS}
        self.lab.api("POST", "/v1/services", spec)
        for server in self.lab.servers.values():
            if not isinstance(server, XdpServer):
                raise LabError(f"{server.name} is a virtual machine, which has no program with MPTCP")
            self._prepare(server)
        self.change(*(self._addition(server) for server in self.servers.values()))

    def _down(self) -> None:
        self._delete()
        for server in self.servers.values():
            server.run(str(build.SERVER), "mptcp", "remove", "--vip", topology.VIP)
        for program in self._programs.values():
            program.stop()
        for client in self.lab.clients:
            client.remove_second_way()

    def _prepare(self, server: Server) -> None:
        """Has the server listen, and announce its port to its clients."""
        argv = [sys.executable, "-m", "lab.mptcp_server", topology.VIP, str(PORT), server.name]
        program = server.program(f"mptcp-{len(server.instance.processes())}", argv, {"PYTHONPATH": str(build.ROOT)})
        self._programs[server.number] = program
        self.servers[server.number] = server
        server.instance.start(program)
        server.namespace.sysctl(mptcp__allow_join_initial_addr_port=1)
        if self.by_id:
            ports = f"{self.first}-{self.first + IDS}"
            words = ("--vip", topology.VIP, "--ports", ports, "--id", str(server.number))
            server.run(str(build.SERVER), "mptcp", "add", *words)
        until(
            f"{server.name} listens on {topology.VIP}:{PORT}",
            lambda: program.expect_alive() and server.run("ss", "-Hltn", "sport", "=", f":{PORT}"),
            60,
        )

    def traffic(self, long: int) -> Traffic:
        return Traffic(self.lab.clients, long, 0.25, 0, PORT)

    # Results.

    def held(self) -> dict[str, int]:
        """Connections by server, from the servers' first subflows."""
        return self._established(lambda _: PORT)

    def joined(self) -> dict[str, int]:
        """Further subflows by server, at the port with its id."""
        return self._established(lambda server: self.first + server.number)

    def _established(self, port: Callable[[Server], int]) -> dict[str, int]:
        counts = {}
        for server in self.servers.values():
            filter_ = ("src", topology.VIP, "sport", "=", f":{port(server)}")
            listed = server.run("ss", "-Htn", "state", "established", *filter_).splitlines()
            counts[server.name] = len(listed)
        return {name: count for name, count in counts.items() if count}

    def subflows(self) -> Counter[int]:
        """The number of clients' connections by their number of further subflows."""
        counts: Counter[int] = Counter()
        for client in self.lab.clients:
            for line in client.run("ss", "-HMnOi", "state", "established").splitlines():
                found = re.search(r"\bsubflows:(\d+)", line)
                counts[int(found[1]) if found else 0] += 1
        return counts

    def wait_joined(self, count: int, seconds: float = 60) -> None:
        """Until `count` connections have one further subflow each, at the server of the first."""
        until(
            f"{count} connections with a second subflow",
            lambda: self.subflows() == {1: count} and self.joined() == self.held(),
            seconds,
        )

    def counters(self) -> Counter[str]:
        """The kernel's MPTCP counters, all servers together."""
        sums: Counter[str] = Counter()
        for server in self.servers.values():
            lines = server.run("cat", "/proc/net/netstat").splitlines()
            names, values = (line.split()[1:] for line in lines if line.startswith("MPTcpExt:"))
            sums.update({name: int(value) for name, value in zip(names, values, strict=True)})
        return sums
