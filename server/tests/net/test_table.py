# SPDX-License-Identifier: Apache-2.0
"""
The rows of verdict.json on the wire: packets are sent to an attached server, and what it sends is captured.

     raw packets -> mux's address -> bridge -> eth0 of "b", which has the row's address
                                        |
                                     capture: SYN-ACK, ACK or RST to the client; or GUE to another server; or nothing

Each row has its own service. SYNs set its memory and its generation; its times are shifted so that its
`now` is the second in which it runs, and it counts only if that second lasts until its end. The row's socket
is a handshake of this test, always by SYN cookie, so that the handshake's last packet is the row's cookie. "Nothing" is
proved by a SYN behind the row's packet, which must be answered, as one queue is served in order. The thread that sends
stays on one processor for that, as each has a queue of its own. Other answers may come behind that SYN's: of a socket
that its program is just reading, when it has read. "no_reset" is a datagram to an unconnected socket, whose program
answers it, and then answers one behind it.

Every row is asked. One whose window no operator can set must be refused by the command; one whose memory no packet can
teach fails, as the table would then hold what a server never has. What is remembered afterwards is checked by the
runners that can see it.
"""

import itertools
import json
import os
import socket
import struct
import time
from collections.abc import Iterator
from ipaddress import ip_address

import pytest
from forms import SECONDS, Form
from rack import GUE_PORT, MUX, PEERS_BOTH, SERVERS, SERVERS6, VIP, Rack
from test_cases import ACK, SYN, UDP, VECTORS, ipv4, tcp

from lab.deadline import until
from protocol.vectors.oracle import steer
from protocol.vectors.oracle.notice import NO_BUCKET, write_notice

RST = 0x04
ECHO_PORT = 53
CLIENT, STRANGER, STRANGER6 = "10.3.0.1", "10.9.0.11", "2001:db8:77::1"
PACKET_OUTGOING = 4
FUTURE_MAX, WINDOW_MAX, TRIES = 5, 86400, 30
TABLE = json.loads((VECTORS / "verdict.json").read_text())
# What a server refuses depends on what its agent says, and on no packet: the runners of each form ask the other rows.
TICK = 0.02  # the forms read the clock's last tick: a second begins up to 10 ms late there
ROWS = [row for row in TABLE["rows"] + TABLE["passed"] if row["in"]["packet"] != "refused"]
MALFORMED = {
    row["error"]: bytes.fromhex(row["bytes"]) for row in json.loads((VECTORS / "steer.json").read_text())["malformed"]
}


class Wire:
    """A server under test, and the wire to it."""

    def __init__(self, rack: Rack) -> None:
        self.rack, self.config, self.address, self.ipv4 = rack, None, SERVERS["b"], SERVERS["b"]
        self.processors = os.sched_getaffinity(0)
        os.sched_setaffinity(0, {min(self.processors)})
        self.ports, self.services = itertools.cycle(range(1024, 65000)), itertools.count(1)
        server = rack["b"]
        server.namespace.sysctl(ipv4__tcp_syncookies=2)
        server.namespace.ip(
            *(
                f"neigh replace 2001:db8::{host} lladdr 02:00:00:00:00:{host} nud permanent dev eth0"
                for host in (21, 22, 23, 24)
            ),
            "neigh replace 2001:db8:1::11 lladdr 02:00:00:00:00:11 nud permanent dev eth0",
            "route add 2001:db8::/64 dev eth0",
        )
        self.own(SERVERS["b"])
        server.serve_datagrams(ECHO_PORT)
        rack.switch.ip(*(f"link set {rack.port(name)} down" for name in "ac"))  # whose addresses are b's in some rows
        rack.machine.ip(
            *("route add blackhole 10.3.0.0/16", "route add 2001:db8::/64 dev eth0"),
            *(f"addr add {STRANGER}/32 dev lo", f"addr add {STRANGER6}/128 dev lo nodad"),
        )
        with rack.machine.inside():
            self.stranger = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
            self.stranger.bind((STRANGER, 0))
            self.stranger6 = socket.socket(socket.AF_INET6, socket.SOCK_DGRAM)
            self.stranger6.bind((STRANGER6, 0))
        with rack.switch.inside():
            self.tap = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3))
            self.tap.bind((rack.port("b"), 0))
        self.tap.settimeout(SECONDS)

    def close(self) -> None:
        os.sched_setaffinity(0, self.processors)
        self.stranger.close()
        self.stranger6.close()
        self.tap.close()

    def own(self, ipv4: str) -> None:
        """Gives b that address of the rack. Its neighbour table has the other addresses, which no host has."""
        namespace = self.rack["b"].namespace
        if ipv4 != self.ipv4:
            namespace.ip(f"addr del {self.ipv4}/24 dev eth0", f"addr add {ipv4}/24 dev eth0")
            namespace.ip(f"route replace default via {MUX}")
        self.ipv4 = ipv4
        for address in {*SERVERS.values()} - {ipv4}:  # a change of its address clears a server's neighbour table
            mac = f"02:00:00:00:00:{address.rpartition('.')[2]}"
            namespace.ip(f"neigh replace {address} lladdr {mac} nud permanent dev eth0")

    def is_local(self, address: str) -> bool:
        return self.rack["b"].namespace.run("ip", "route", "get", address).startswith("local ")

    def configure(self, given: dict) -> None:
        if self.config == order(given):
            return
        server, self.address = self.rack["b"], given["self"]
        is_ipv6 = ":" in self.address
        self.own(SERVERS["b"] if is_ipv6 else self.address)
        if is_ipv6:
            server.namespace.ip(f"addr replace {self.address}/64 dev eth0 nodad")
            # The kernel adds the local route of an IPv6 address a moment after the address.
            until(f"the local route of {self.address}", lambda: self.is_local(self.address), SECONDS)
            link = json.loads(server.namespace.run("ip", "-json", "link", "show", "eth0"))[0]
            self.rack.machine.ip(f"neigh replace {self.address} lladdr {link['address']} nud permanent dev eth0")
        done = server.invoke(
            *("attach", *server.form.where, "--peers", PEERS_BOTH, "--window", str(given["window"])),
            *("--address", f"{self.ipv4},{self.address if is_ipv6 else SERVERS6['b']}"),
            *(() if given["chaining"] else ("--no-chaining",)),
        )
        assert done.returncode == 0, done.stderr
        self.config = order(given)

    def send(self, header: bytes, packet: bytes, trusted: bool = True) -> None:
        if ":" in self.address:
            out = self.rack.mux.out6 if trusted else self.stranger6
        else:
            out = self.rack.mux.out if trusted else self.stranger
        out.sendto(header + packet, (self.address, GUE_PORT))

    def out(self) -> tuple[int, dict]:
        """The next packet that the server sends: the client's port, and its kind."""
        while True:
            frame, address = self.tap.recvfrom(65536)
            if address[2] == PACKET_OUTGOING:
                continue
            found = parse(frame)
            if found:
                return found

    def await_port(self, port: int) -> dict:
        while True:
            found, what = self.out()
            if found == port:
                return what

    def until_answered(self, *ports: int) -> list[tuple[int, dict]]:
        """The packets sent until those of each of these ports are answered."""
        packets = []
        while not {*ports} <= {port for port, _ in packets}:
            packets.append(self.out())
        return packets


def parse(frame: bytes) -> tuple[int, dict] | None:
    """Of a server's reply or of a chained packet; None for others."""
    is_ipv6 = frame[12:14] == b"\x86\xdd"
    ip, length = frame[14:], 40 if is_ipv6 else 20
    if frame[12:14] not in (b"\x08\x00", b"\x86\xdd") or len(ip) < length + 8:
        return None
    protocol, transport = ip[6 if is_ipv6 else 9], ip[length:]
    if protocol == socket.IPPROTO_UDP and int.from_bytes(transport[2:4]) == GUE_PORT:
        header = steer.read(transport[8:])
        inner = transport[8 + header["headerLength"] :]
        next_hop = str(ip_address(ip[24:40] if is_ipv6 else ip[16:20]))
        return int.from_bytes(inner[20:22]), {"next": next_hop, "hops": header["hops"], "flags": header["flags"]}
    if protocol == socket.IPPROTO_TCP and not is_ipv6 and ip[16:20] == ip_address(CLIENT).packed:
        return int.from_bytes(transport[2:4]), {"answer": transport[13], "sequence": int.from_bytes(transport[4:8])}
    if protocol == socket.IPPROTO_UDP and not is_ipv6 and ip[16:20] == ip_address(CLIENT).packed:
        return int.from_bytes(transport[2:4]), {"echo": transport[8 : int.from_bytes(transport[4:6])]}
    return None


def datagram(port: int) -> bytes:
    """To the unconnected socket; without a checksum."""
    return ipv4(CLIENT, VIP, UDP, struct.pack("!HHHH", port, ECHO_PORT, 11, 0) + b"row")


def header(
    service: int,
    generation: int,
    hops: int = 0,
    since: int | None = None,
    previous: str | None = None,
    bucket: int | None = 7,
    second: dict | None = None,
    late: bool = False,
) -> bytes:
    """`bucket` None: the header says that the packet has none. `second`, `late`: as in the row."""
    number = 0xFFFFFFFF if bucket is None else bucket
    fields = {"innerProtocol": 4, "hops": hops, "service": service, "bucket": number, "generation": generation}
    fields |= {"since": since, "previous": None if since is None else previous or "0.0.0.0", "tag": None}
    return steer.write(fields | {"second": second, "late": late})


def shifted(since: int | None, given: dict, now: int) -> int | None:
    """The row's second by this machine's clock; the header's field ends at 32 bits."""
    return None if since is None else min(since - given["now"] + now, 0xFFFFFFFF)


def second_of(given: dict, now: int) -> dict | None:
    """What the row's header says of a second bucket, its times shifted."""
    second = (given["steer"] or {}).get("second")
    if second is None:
        return None
    since = shifted(second["since"], given, now)
    previous = None if since is None else second["previous"] or "0.0.0.0"
    return second | {"owner": second["owner"] or "::", "since": since, "previous": previous}


def removal(service: int, given: dict) -> bytes:
    """The notice that the server which the row's bucket came from was removed."""
    told = {"service": service, "generation": given["removed"], "since": 1, "previous": given["memory"]["previous"]}
    return write_notice(b"", told | {"tag": None, "buckets": [NO_BUCKET]})


def decisions(row: dict) -> list[dict]:
    """The row, and the second decision of a packet that the server would pass to itself."""
    return [row, row["again"]] if row["out"]["verdict"] == "pass" and row["out"]["next"] == row["in"]["self"] else [row]


def teach(wire: Wire, service: int, given: dict, bucket: int, now: int) -> None:
    """Has the server remember what the row says of a bucket."""
    check_teachable(given)
    memory = given["memory"]
    if memory["previous"] is not None:
        since = shifted(memory["since"], given, now)
        told = header(service, memory["generation"], 0, since, memory["previous"], bucket)
        wire.send(told, tcp(CLIENT, next(wire.ports), SYN))


def run(wire: Wire, row: dict) -> bool:
    """Whether it is still the same second."""
    given, out, service, other = row["in"], row["out"], next(wire.services), 65535
    port, barrier = next(wire.ports), next(wire.ports)
    until("the second has just begun", lambda: TICK < time.time() % 1 < 0.7, SECONDS)
    now = int(time.time())
    segment = tcp(CLIENT, port, SYN if given["packet"] == "syn" else ACK)
    behind = tcp(CLIENT, barrier, SYN)
    if given["packet"] == "no_reset":
        segment, behind = datagram(port), datagram(barrier)
    if given["packet"] in ("cookie_ack", "local_socket"):
        wire.send(header(other, 1), tcp(CLIENT, port, SYN))
        acknowledged = wire.await_port(port)["sequence"] + 1
        segment = tcp(CLIENT, port, ACK, 1001, acknowledged, b"row\n")
        if given["packet"] == "local_socket":
            wire.send(header(other, 1), tcp(CLIENT, port, ACK, 1001, acknowledged))
    second, steered = second_of(given, now), b""
    teach(wire, service, given, 7, now)
    for again in decisions(row)[1:]:
        teach(wire, service, again["in"], second["bucket"], now)
    if given.get("removed"):
        assert given["removed"] <= given["generationSeen"], "no notice names a removal of an unseen generation"
        wire.send(removal(service, given), b"")
    if given["generationSeen"]:
        # of no bucket: one of this bucket would end its memory
        wire.send(header(service, given["generationSeen"], bucket=None), tcp(CLIENT, next(wire.ports), SYN))
    if given["malformed"]:
        wire.send(
            MALFORMED[given["malformed"]], b"" if given["malformed"] == "truncated" else segment, given["trusted"]
        )
    else:
        told = given["steer"]
        since = shifted(told["since"], given, now)
        words = (told["hops"], since, told["previous"], told.get("bucket", 7), second, told.get("late", False))
        steered = header(service, told["generation"], *words)
        wire.send(steered, segment, given["trusted"])
    wire.send(header(other, 1), behind)
    awaited = (barrier,) if decisions(row)[-1]["out"]["verdict"].startswith("drop") else (barrier, port)
    seen = [what for found, what in wire.until_answered(*awaited) if found == port]
    if int(time.time()) != now:
        return False
    check(row, steered, seen)
    if given["packet"] in ("cookie_ack", "local_socket"):
        wire.send(header(other, 1), tcp(CLIENT, port, RST, 1001 + 4 * (out["verdict"] == "deliver")))
    return True


def check_teachable(given: dict) -> None:
    memory = given["memory"]
    if memory["previous"] is None:
        assert not memory["since"], "no packet teaches a move without a previous owner"
    else:
        assert 1 <= memory["generation"] <= given["generationSeen"], "no packet teaches a move without its generation"
        assert memory["since"] <= given["now"] + FUTURE_MAX, "no packet teaches a move of the future"


def sent_on(row: dict, steered: bytes) -> bytes:
    """The header of a packet that is sent on."""
    for decision in decisions(row):
        steered = {"chain": steer.chain, "pass": steer.promote}[decision["out"]["verdict"]](steered)
        steered = steer.mark_late(steered) if decision["out"]["late"] else steered
    return steered


def check(row: dict, steered: bytes, seen: list[dict]) -> None:
    given, out = row["in"], decisions(row)[-1]["out"]
    if out["verdict"] in ("chain", "pass"):
        expected = steer.read(sent_on(row, steered))
        assert seen == [{"next": out["next"], "hops": expected["hops"], "flags": expected["flags"]}]
    elif out["verdict"] == "deliver" and given["packet"] == "no_reset":
        assert seen == [{"echo": b"b 3"}]
    elif out["verdict"] == "deliver":
        flags = {"syn": SYN | ACK, "unknown": RST}.get(given["packet"], ACK)
        assert seen and all("answer" in one for one in seen)
        assert seen[0]["answer"] & (SYN | RST | ACK) == flags
    else:
        assert seen == []


@pytest.fixture(scope="module")
def wire(form: Form) -> Iterator[Wire]:
    rack = Rack(form)
    try:
        rack.create()
        wire = Wire(rack)
        yield wire
        wire.close()
    finally:
        rack.delete()


def order(given: dict) -> tuple:
    return given["self"], given["window"], given["chaining"]


@pytest.mark.parametrize(
    "row", [pytest.param(row, id=row["name"]) for row in sorted(ROWS, key=lambda row: order(row["in"]))]
)
def test_row(wire: Wire, row: dict) -> None:
    window = row["in"]["window"]
    if not 1 <= window <= WINDOW_MAX:
        words = ("--address", SERVERS["b"], "--peers", PEERS_BOTH, "--window", str(window))
        refused = wire.rack["b"].invoke("attach", *wire.rack.form.where, *words)
        assert (refused.returncode, f"--window: '{window}' is not allowed" in refused.stderr) == (2, True), refused
        return
    wire.configure(row["in"])
    assert any(run(wire, row) for _ in range(TRIES)), "the row's second never lasted long enough"
