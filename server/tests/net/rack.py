# SPDX-License-Identifier: Apache-2.0
"""
A rack with three or more servers, and one machine that is client, router and mux.

     machine "mux"                                server "a"          "b"          "c"
     client 10.2.1.2 (lo)                         VIP 10.99.0.1 (lo), application on port 80
     VIP's route -> tun0 -> SteeringMux           eth0 10.1.0.21      .22          .23   fairlead-server
     eth0 10.1.0.11                                     |              |            |     (and the same in IPv6:
          |                                             |              |            |      2001:db8:1::11, ::21 ..)
     ports of the bridge "rack" in the namespace "switch"; of the form's own bridge, plugged in there, with the module

Packets of the client's own sockets reach the mux by tun0; the mux puts GUE and a list of the test's choice in front and
sends them to a server. Replies go directly to the client.
"""

import os
import socket

from forms import SECONDS, Form, plain
from rack_server import PEERS, PEERS_BOTH, Server
from steering_mux import (
    CLIENT,
    CLIENT6,
    GUE_PORT,
    MUX,
    MUX6,
    SERVERS,
    SERVERS6,
    VIP,
    VIP6,
    SteeringMux,
    open_mux,
)

from lab.deadline import until
from lab.namespace import Namespace

__all__ = ["CLIENT", "GUE_PORT", "MUX", "PEERS", "PEERS_BOTH", "SERVERS", "SERVERS6", "VIP", "VIP6", "Client", "Rack"]
IP_MTU_DISCOVER, IP_PMTUDISC_DONT = 10, 0
MTU = 1640


class Rack:
    count = 0

    def __init__(self, form: Form) -> None:
        Rack.count += 1
        self.number = Rack.count
        prefix = f"flserver{os.getpid()}-{Rack.count}-"
        self.form = form
        self.switch = Namespace(prefix + "switch")
        self.machine = Namespace(prefix + "mux")
        self.prefix = prefix
        self.servers: dict[str, Server] = {}
        self.created: list[Namespace] = []
        self.mux: SteeringMux | None = None
        self.by_kernel = 1 if form.name == "bpf" else 0
        """Packets counted as chained by the kernel while it resolves a neighbour; the module counts none."""

    def __getitem__(self, name: str) -> Server:
        return self.servers[name]

    def create(self) -> None:
        self._create(self.switch)
        self.switch.ip("link add rack type bridge forward_delay 0 mcast_snooping 0", "link set rack up")
        self._create(self.machine)
        self._plug(self.switch, self.machine, MUX, MUX6, "to-mux")
        self.machine.sysctl(ipv4__ip_forward=1, ipv4__conf__all__rp_filter=0, ipv4__conf__default__rp_filter=0)
        self.machine.ip(f"addr add {CLIENT}/32 dev lo", f"addr add {CLIENT6}/128 dev lo nodad")
        self.servers_switch = self.form.plug(self.switch)
        with self.form.at_once():
            for name in ("a", "b", "c"):
                self.cable(name)
        for server in self.servers.values():
            server.serve(VIP, VIP6)
        self.mux = open_mux(self.machine)

    def add(self, name: str) -> Server:
        """Adds a server with its application; nothing is attached."""
        with self.form.at_once():
            server = self.cable(name)
        server.serve(VIP, VIP6)
        return server

    def cable(self, name: str) -> Server:
        """A server's namespace, connected to the switch."""
        server = self.servers[name] = Server(self.form, self.form.namespace(self.prefix + name), name)
        self._create(server.namespace)
        self._plug(self.servers_switch, server.namespace, server.address, SERVERS6[name], self.port(name))
        server.namespace.sysctl(
            ipv4__conf__eth0__forwarding=1,
            ipv4__conf__eth0__send_redirects=0,
            ipv4__conf__eth0__accept_local=1,
            ipv6__conf__all__forwarding=1,
        )
        server.namespace.ip(
            f"addr add {VIP}/32 dev lo",
            f"route add default via {MUX}",
            f"addr add {VIP6}/128 dev lo nodad",
            f"route add default via {MUX6}",
        )
        return server

    def port(self, name: str) -> str:
        """The name of a server's port at the switch, which the next rack may use before this one's devices are gone."""
        return f"to-{name}-{self.number}"

    def delete(self) -> None:
        """Can be called repeatedly, and after a partial creation."""
        if self.mux:
            self.mux.close()
            self.mux = None
        with self.form.at_once():
            self.form.unplug([self.port(name) for name in self.servers])
            while self.servers:
                self.servers.popitem()[1].stop()
            while self.created:
                self.created.pop().delete()

    def attach(self, *words: str) -> None:
        for server in self.servers.values():
            server.attach(*words)

    def attach_both(self, *words: str) -> None:
        for server in self.servers.values():
            server.attach_both(*words)

    def connect(self, seconds: float = SECONDS, port: int = 0, ipv6: bool = False) -> "Client":
        with self.machine.inside():
            return Client(seconds, port, ipv6)

    def ask_datagram(self, port: int, payload: bytes, source_port: int = 0) -> str:
        """The reply to one datagram of the client, which may be fragmented."""
        with self.machine.inside(), socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as one:
            one.setsockopt(socket.IPPROTO_IP, IP_MTU_DISCOVER, IP_PMTUDISC_DONT)
            one.settimeout(SECONDS)
            one.bind((CLIENT, source_port))
            one.sendto(payload, (VIP, port))
            return one.recv(65536).decode()

    def drop_late(self, client: "Client") -> None:
        """A mux one generation behind sends a request of a's connection to b, which drops it; then it catches up."""
        current = self.mux.generation
        self.mux.generation = current - 1
        self.mux.flows[client.port] = "b"
        client.stream.write(b"late\n")
        client.stream.flush()
        until("a stale packet", lambda: self["b"].counter("drop_stale") >= 1, SECONDS)
        self.mux.generation = current
        self.mux.flows[client.port] = "a"
        assert client.stream.readline() == b"a late\n"
        assert self["b"].counter("deliver_unknown") == 0

    def counted(self, name: str) -> int:
        """Sum over the servers."""
        return sum(server.counter(name) for server in self.servers.values())

    def delivered(self) -> int:
        """Packets of the mux that a server has delivered to its kernel, chained or not."""
        counters = [server.show()["counters"] for server in self.servers.values()]
        return sum(count for one in counters for name, count in one.items() if name.startswith("deliver_"))

    def describe(self) -> str:
        """The state so far, for the report of a failed test."""
        lines = [f"mux: sent {self.mux.sent}, thread {'runs' if self.mux.thread.is_alive() else 'has died'}"]
        for server in self.servers.values():
            done = server.invoke("show", *self.form.where)
            lines.append(f"{server.name}: {done.stdout}{done.stderr}{server.namespace.run('ip', 'neigh')}")
        return "\n".join(lines)

    def _create(self, namespace: Namespace) -> None:
        namespace.create()
        self.created.append(namespace)
        # The addresses are unique: link-local ones can be used without duplicate address detection.
        namespace.sysctl(ipv6__conf__all__accept_dad=0, ipv6__conf__default__accept_dad=0)
        namespace.ip("link set lo up")

    def _plug(self, switch: Namespace, namespace: Namespace, address: str, address6: str, port: str) -> None:
        switch.ip(
            f"link add {port} type veth peer name eth0 netns {namespace.name}",
            f"link set {port} mtu {MTU} master rack up",
        )
        namespace.ip(
            f"link set eth0 mtu {MTU} up", f"addr add {address}/24 dev eth0", f"addr add {address6}/64 dev eth0 nodad"
        )
        for where, interface in ((switch, port), (namespace, "eth0")):
            plain(where, interface)


class Client:
    """A connection to the VIP, made in the calling thread's namespace."""

    def __init__(self, seconds: float, port: int, ipv6: bool) -> None:
        vip, client = (VIP6, CLIENT6) if ipv6 else (VIP, CLIENT)
        self.socket = socket.create_connection((vip, 80), seconds, source_address=(client, port))
        self.port = self.socket.getsockname()[1]
        self.stream = self.socket.makefile("rwb")

    def ask(self, text: str = "hello") -> str:
        """The server that replies; the reply must contain the line that was sent."""
        self.stream.write(text.encode() + b"\n")
        self.stream.flush()
        name, _, echo = self.stream.readline().decode().rstrip("\n").partition(" ")
        if not name:
            raise ConnectionResetError("the connection was closed")
        assert echo == text
        return name

    def close(self) -> None:
        self.stream.close()
        self.socket.close()
