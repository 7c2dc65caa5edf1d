# SPDX-License-Identifier: Apache-2.0
"""A service of both families beside "web": VIPs of both, and servers that muxes reach by one or the other.

    client ── IPv4, IPv6 ──▶ 10.99.0.2, 2001:db8:99::1 ──▶ mux ──▶ odd servers over IPv4, even ones over IPv6

So all four combinations of inner and outer family occur. TCP port 80 is nginx; on UDP port 5300 a program reports what
it received (lab/udp_server.py).

    with DualService(lab) as service, lab.traffic(vip=topology.DUAL_VIP6) as traffic:
        service.drain(1)
"""

import socket
import sys
from typing import Any

from lab import build, topology
from lab.beside import BesideService
from lab.deadline import LabError, until
from lab.lab import Lab
from lab.process import Process
from lab.server import Server, XdpServer

UDP_PORT = 5300
VIPS = (topology.DUAL_VIP, topology.DUAL_VIP6)


def backend_address(server: Server) -> str:
    """The server's address as a backend of this service."""
    return server.address if server.number % 2 else server.address6


def udp_sockets(lab: Lab, count: int) -> list[socket.socket]:
    """Sockets of a client that send to the service's UDP port, each from a port of its own."""
    opened = []
    with lab.clients[0].namespace.inside():
        for _ in range(count):
            one = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
            one.connect((topology.DUAL_VIP, UDP_PORT))
            opened.append(one)
    return opened


class DualService(BesideService):
    name = "dual"

    def __init__(self, lab: Lab, **settings: Any) -> None:
        """Settings are fields of the service as it is created, such as `statelessUdp`."""
        super().__init__(lab)
        self._settings = settings
        self._programs: list[Process] = []

    def _up(self) -> None:
        spec: dict[str, object] = {
            "name": self.name,
            "vips": list(VIPS),
            "ports": [{"protocol": "tcp", "port": topology.VIP_PORT}, {"protocol": "udp", "port": UDP_PORT}],
            "windowSeconds": self.lab.window,
            **self._settings,
        }
        self.lab.api("POST", "/v1/services", spec)
        for server in self.lab.servers.values():
            self._prepare(server)
        self.change(*(self._addition(server) for server in self.lab.servers.values()))
        self.wait_announced()

    def _down(self) -> None:
        self._delete()
        for program in self._programs:
            program.stop()
        until(f"no mux announces {', '.join(VIPS)}", lambda: not any(map(self.lab.router.vip_hops, VIPS)), 30)

    def _prepare(self, server: Server) -> None:
        """Has the server listen for datagrams, too."""
        if not isinstance(server, XdpServer):
            raise LabError(f"{server.name} is a virtual machine, which has no program to answer datagrams")
        argv = [sys.executable, "-m", "lab.udp_server", str(UDP_PORT), server.name, *VIPS]
        program = server.program(f"udp-{len(server.instance.processes())}", argv, {"PYTHONPATH": str(build.ROOT)})
        self._programs.append(program)
        server.instance.start(program)
        until(
            f"{server.name} listens on UDP port {UDP_PORT}",
            lambda: program.expect_alive()
            and len(server.run("ss", "-Hlun", "sport", "=", f":{UDP_PORT}").splitlines()) == len(VIPS),
            60,
        )

    def _address(self, server: Server) -> str:
        return backend_address(server)

    def wait_announced(self) -> None:
        for vip in VIPS:
            self.lab.wait_announced(vip=vip)
