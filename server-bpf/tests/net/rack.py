# SPDX-License-Identifier: Apache-2.0
"""
A rack with three servers and one machine that is client, router and mux in one.

     machine "mux"                                server "a"          "b"          "c"
     client 10.2.1.2 (lo)                         VIP 10.99.0.1 (lo), application on port 80
     VIP's route -> tun0 -> SteeringMux           eth0 10.1.0.21      .22          .23   fairlead-server
     eth0 10.1.0.11                                     |              |            |     (and the same in IPv6:
          |                                             |              |            |      2001:db8:1::11, ::21 ..)
     ports of the bridge "rack" in the namespace "switch"; GRO on, as XDP_TX out of a veth needs NAPI at its peer

Packets of the client's own sockets reach the mux by tun0; the mux puts GUE and a steer header of the test's choice in
front and sends them to a server. Answers come straight back to the client.
"""

import contextlib
import fcntl
import ipaddress
import json
import os
import select
import socket
import struct
import subprocess
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from lab.namespace import Namespace, run
from protocol.vectors.oracle import tag

VIP, CLIENT, MUX = "10.99.0.1", "10.2.1.2", "10.1.0.11"
SERVERS = {"a": "10.1.0.21", "b": "10.1.0.22", "c": "10.1.0.23"}
VIP6, CLIENT6, MUX6 = "2001:db8:99::1", "2001:db8:2::2", "2001:db8:1::11"
SERVERS6 = {"a": "2001:db8:1::21", "b": "2001:db8:1::22", "c": "2001:db8:1::23"}
PEERS = "10.1.0.0/24"
PEERS_BOTH = "10.1.0.0/24,2001:db8:1::/64"
GUE_PORT = 6080
TUNSETIFF, IFF_TUN, IFF_NO_PI = 0x400454CA, 0x0001, 0x1000
SO_NO_CHECK = 11
IP_MTU_DISCOVER, IP_PMTUDISC_DONT = 10, 0
UDP_NO_CHECK6_TX = 101
TCP, TCP_SYN = 6, 0x02
MOVED, PREVIOUS6, TAG = 1, 2, 4


@dataclass
class SteeringMux:
    """Sends every packet of the client to `owner`, with a steer header of these fields."""

    tun: int
    out: socket.socket
    out6: socket.socket
    owner: str = "a"
    addresses: dict[str, str] = field(default_factory=lambda: dict(SERVERS))
    """What the ring has as address of each server."""
    key: bytes | None = None
    """The cluster's, if packets are tagged."""
    generation: int = 1
    since: int | None = None
    previous: str = "a"
    flows: dict[int, str] = field(default_factory=dict)
    """Owners of single connections, by the client's port, that differ from `owner`."""
    after_syn: Callable[[], None] | None = None
    """Called once: the next SYN is still steered as before, what follows no more."""
    sent: int = 0
    last: dict[int, bytes] = field(default_factory=dict)
    """The last packet of each client port."""
    stop: int = field(default_factory=lambda: os.eventfd(0))
    thread: threading.Thread = field(init=False)

    def __post_init__(self) -> None:
        self.thread = threading.Thread(target=self._run, daemon=True)
        self.thread.start()

    def close(self) -> None:
        os.eventfd_write(self.stop, 1)
        self.thread.join()
        for descriptor in (self.stop, self.tun):
            os.close(descriptor)
        self.out.close()
        self.out6.close()

    def move(self, owner: str, since: int | None) -> None:
        """The bucket moves to `owner`, in a new generation; without `since` the mux does not tell of it."""
        self.previous, self.since, self.generation = self.owner, since, self.generation + 1
        self.owner = owner

    def header(self, inner_protocol: int = 4) -> bytes:
        flags, rest = 0, b""
        if self.since is not None:
            previous = ipaddress.ip_address(self.addresses[self.previous])
            flags |= MOVED | (PREVIOUS6 if previous.version == 6 else 0)
            rest = struct.pack("!I", self.since) + previous.packed
        if self.key is not None:
            flags |= TAG
            rest += bytes(8)
        steer = struct.pack("!BBHII", 0x10, flags, 1, 4711, self.generation) + rest
        return struct.pack("!BBH", len(steer) // 4, inner_protocol, 0) + steer

    def encapsulate(self, packet: bytes) -> bytes:
        datagram = self.header(4 if packet[0] >> 4 == 4 else 41) + packet
        return datagram if self.key is None else tag.put(self.key, datagram)

    def send(self, packet: bytes) -> None:
        """Encapsulates an IP packet and sends it to the bucket's owner."""
        self.send_raw(self.encapsulate(packet), self.owner)
        self.sent += 1

    def send_raw(self, datagram: bytes, owner: str) -> None:
        address = self.addresses[owner]
        (self.out6 if ":" in address else self.out).sendto(datagram, (address, GUE_PORT))

    def _run(self) -> None:
        while self.stop not in select.select([self.tun, self.stop], [], [])[0]:
            packet = os.read(self.tun, 65536)
            if packet[0] >> 4 == 4:
                self._steer(packet, packet[9], packet[20:])
            elif packet[24:40] == ipaddress.IPv6Address(VIP6).packed:
                self._steer(packet, packet[6], packet[40:])

    def _steer(self, packet: bytes, protocol: int, transport: bytes) -> None:
        """A packet of the client: an IP header without options or extensions, and TCP, UDP or part of that."""
        port = int.from_bytes(transport[:2], "big")
        self.last[port] = packet
        owner = self.flows.get(port, self.owner)
        datagram = self.encapsulate(packet)
        if self.after_syn and protocol == TCP and transport[13] == TCP_SYN:
            self.after_syn()
            self.after_syn = None
        self.send_raw(datagram, owner)
        self.sent += 1


class Server:
    """One server: its namespace, its application, and the command under test."""

    def __init__(self, namespace: Namespace, name: str, command: Path) -> None:
        self.namespace, self.name, self.address, self.command = namespace, name, SERVERS[name], command
        self.listeners: list[socket.socket] = []

    def invoke(self, *words: str) -> subprocess.CompletedProcess:
        """The command by `ip netns exec`, as an operator does; each call is a mount namespace of its own."""
        line = ["ip", "netns", "exec", self.namespace.name, str(self.command), *words]
        return subprocess.run(line, capture_output=True, text=True, check=False)

    def attach(self, *words: str) -> None:
        done = self.invoke("attach", "--interface", "eth0", "--address", self.address, "--peers", PEERS, *words)
        assert done.returncode == 0, done.stderr

    def attach_both(self, *words: str) -> None:
        """With an address of each family."""
        self.attach("--address", f"{self.address},{SERVERS6[self.name]}", "--peers", PEERS_BOTH, *words)

    def detach(self) -> None:
        done = self.invoke("detach", "--interface", "eth0")
        assert done.returncode == 0, done.stderr

    def show(self) -> dict:
        done = self.invoke("show", "--interface", "eth0", "-o", "json")
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    def counter(self, name: str) -> int:
        return self.show()["counters"][name]

    def chained(self) -> int:
        """Packets that it has chained, those included that the kernel routed while it resolved a neighbour."""
        return self.counter("chain") + self.counter("chain_by_kernel")

    def serve(self) -> None:
        """Answers each line with the server's name and the line."""
        with self.namespace.inside():
            self.listeners = [
                socket.create_server((VIP, 80), backlog=64),
                socket.create_server((VIP6, 80), family=socket.AF_INET6, backlog=64),
            ]
        for listener in self.listeners:
            threading.Thread(target=self._accept, args=(listener,), daemon=True).start()

    def serve_datagrams(self, port: int, remote: tuple[str, int] | None = None) -> None:
        """Answers each datagram with the server's name and its length; only those of `remote` if that is given."""
        with self.namespace.inside():
            one = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        one.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        one.bind((VIP, port))
        if remote:
            one.connect(remote)
        self.listeners.append(one)
        threading.Thread(target=self._echo, args=(one, remote), daemon=True).start()

    def _echo(self, one: socket.socket, remote: tuple[str, int] | None) -> None:
        with contextlib.suppress(OSError):
            while True:
                data, client = one.recvfrom(65536)
                answer = f"{self.name} {len(data)}".encode()
                one.send(answer) if remote else one.sendto(answer, client)

    def _accept(self, listener: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while True:
                connection, _ = listener.accept()
                threading.Thread(target=self._answer, args=(connection,), daemon=True).start()

    def _answer(self, connection: socket.socket) -> None:
        with contextlib.suppress(OSError), connection, connection.makefile("rwb") as stream:
            for line in stream:
                stream.write(f"{self.name} ".encode() + line)
                stream.flush()


class Rack:
    count = 0

    def __init__(self, command: Path) -> None:
        Rack.count += 1
        prefix = f"flserver{os.getpid()}-{Rack.count}-"
        self.switch = Namespace(prefix + "switch")
        self.machine = Namespace(prefix + "mux")
        self.servers = {name: Server(Namespace(prefix + name), name, command) for name in SERVERS}
        self.created: list[Namespace] = []
        self.mux: SteeringMux | None = None

    def __getitem__(self, name: str) -> Server:
        return self.servers[name]

    def create(self) -> None:
        self._create(self.switch)
        self.switch.ip("link add rack type bridge forward_delay 0 mcast_snooping 0", "link set rack up")
        self._create(self.machine)
        self._plug(self.machine, MUX, MUX6, "to-mux")
        self.machine.sysctl(ipv4__ip_forward=1, ipv4__conf__all__rp_filter=0, ipv4__conf__default__rp_filter=0)
        self.machine.ip(f"addr add {CLIENT}/32 dev lo", f"addr add {CLIENT6}/128 dev lo nodad")
        for server in self.servers.values():
            self._create(server.namespace)
            self._plug(server.namespace, server.address, SERVERS6[server.name], f"to-{server.name}")
            server.namespace.sysctl(
                ipv4__conf__eth0__forwarding=1,
                ipv4__conf__eth0__send_redirects=0,
                ipv4__conf__eth0__accept_local=1,
                ipv6__conf__all__forwarding=1,
            )
            server.namespace.ip(
                *(f"addr add {VIP}/32 dev lo", f"route add default via {MUX}"),
                *(f"addr add {VIP6}/128 dev lo nodad", f"route add default via {MUX6}"),
            )
            server.serve()
        self._mux_open()

    def delete(self) -> None:
        if self.mux:
            self.mux.close()
        for server in self.servers.values():
            for listener in server.listeners:
                listener.close()
        for namespace in reversed(self.created):
            namespace.delete()

    def attach(self, *words: str) -> None:
        for server in self.servers.values():
            server.attach(*words)

    def attach_both(self, *words: str) -> None:
        for server in self.servers.values():
            server.attach_both(*words)

    def connect(self, seconds: float = 10, port: int = 0, ipv6: bool = False) -> "Client":
        with self.machine.inside():
            return Client(seconds, port, ipv6)

    def ask_datagram(self, port: int, payload: bytes, source_port: int = 0) -> str:
        """The answer to one datagram of the client, which may be fragmented."""
        with self.machine.inside(), socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as one:
            one.setsockopt(socket.IPPROTO_IP, IP_MTU_DISCOVER, IP_PMTUDISC_DONT)
            one.settimeout(5)
            one.bind((CLIENT, source_port))
            one.sendto(payload, (VIP, port))
            return one.recv(65536).decode()

    def counted(self, name: str) -> int:
        """Sum over the servers."""
        return sum(server.counter(name) for server in self.servers.values())

    def delivered(self) -> int:
        """Packets of the mux that a server has given to its kernel, on whatever way they came there."""
        counters = [server.show()["counters"] for server in self.servers.values()]
        return sum(count for one in counters for name, count in one.items() if name.startswith("deliver_"))

    def describe(self) -> str:
        """What has happened so far, for the report of a test that failed."""
        lines = [f"mux: sent {self.mux.sent}, thread {'runs' if self.mux.thread.is_alive() else 'has died'}"]
        for server in self.servers.values():
            done = server.invoke("show", "--interface", "eth0")
            lines.append(f"{server.name}: {done.stdout}{done.stderr}{server.namespace.run('ip', 'neigh')}")
        return "\n".join(lines)

    @contextlib.contextmanager
    def background(self, command: list[str]) -> Iterator[subprocess.Popen]:
        """A command that runs meanwhile, and is over at the end."""
        with subprocess.Popen(command) as process:
            try:
                yield process
            finally:
                process.kill()

    def _create(self, namespace: Namespace) -> None:
        namespace.create()
        self.created.append(namespace)
        # Nobody else has these addresses: link-local ones are of use at once.
        namespace.sysctl(ipv6__conf__all__accept_dad=0, ipv6__conf__default__accept_dad=0)
        namespace.ip("link set lo up")

    def _plug(self, namespace: Namespace, address: str, address6: str, port: str) -> None:
        self.switch.ip(
            f"link add {port} type veth peer name eth0 netns {namespace.name}",
            f"link set {port} mtu 1600 master rack up",
        )
        namespace.ip(
            "link set eth0 mtu 1600 up", f"addr add {address}/24 dev eth0", f"addr add {address6}/64 dev eth0 nodad"
        )
        # Whole packets with real checksums, as from a network card.
        for where, interface in ((self.switch, port), (namespace, "eth0")):
            run(where.enter(["ethtool", "-K", interface, "tx", "off", "tso", "off", "gso", "off", "gro", "on"]))

    def _mux_open(self) -> None:
        with self.machine.inside():
            tun = os.open("/dev/net/tun", os.O_RDWR | os.O_CLOEXEC)
            fcntl.ioctl(tun, TUNSETIFF, struct.pack("16sH22x", b"tun0", IFF_TUN | IFF_NO_PI))
            out = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
            out.setsockopt(socket.SOL_SOCKET, SO_NO_CHECK, 1)
            out.bind((MUX, 0))
            out6 = socket.socket(socket.AF_INET6, socket.SOCK_DGRAM)
            out6.setsockopt(socket.IPPROTO_UDP, UDP_NO_CHECK6_TX, 1)
            out6.bind((MUX6, 0))
        self.machine.ip(
            *("link set tun0 mtu 1500 up", f"route add {VIP}/32 dev tun0 src {CLIENT}"),
            f"route add {VIP6}/128 dev tun0 src {CLIENT6}",
        )
        self.mux = SteeringMux(tun, out, out6)


class Client:
    """A connection to the VIP, made in the calling thread's namespace."""

    def __init__(self, seconds: float, port: int, ipv6: bool) -> None:
        vip, client = (VIP6, CLIENT6) if ipv6 else (VIP, CLIENT)
        self.socket = socket.create_connection((vip, 80), seconds, source_address=(client, port))
        self.port = self.socket.getsockname()[1]
        self.stream = self.socket.makefile("rwb")

    def ask(self, text: str = "hello") -> str:
        """Who answers; the answer must be the line that was sent."""
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
