# SPDX-License-Identifier: Apache-2.0
"""Packet tables: a packet enters a real port, and the bytes that come out must equal those of the oracle of
protocol/vectors. A sentence names each row. A dropped packet is counted under its verdict, and nothing comes out."""

import itertools
import random

import pytest
from oracle import flow as flows
from oracle import ipip, keys
from oracle import list as headers
from rack import (
    BACKENDS,
    BACKENDS6,
    BUCKETS,
    CLIENT,
    CLIENT6,
    INSIDE,
    MTU,
    MUX,
    MUX6,
    VIP,
    VIP6,
    drops,
    is_echo_reply,
    mux,
    send_and_count,
    until,
)
from scapy.all import (
    ICMP,
    IP,
    TCP,
    UDP,
    Dot1AD,
    Dot1Q,
    Ether,
    ICMPv6DestUnreach,
    ICMPv6EchoReply,
    ICMPv6EchoRequest,
    ICMPv6PacketTooBig,
    ICMPv6TimeExceeded,
    IPerror,
    IPOption_NOP,
    IPv6,
    IPv6ExtHdrDestOpt,
    IPv6ExtHdrFragment,
    IPv6ExtHdrHopByHop,
    IPv6ExtHdrRouting,
    Raw,
    fragment,
    fragment6,
)

KEY = bytes(range(16))  # of tests/image.c
LEAST = 12  # bytes from the GUE base to the inner packet, without candidates and tag
TAG_KEY = bytes(range(16, 32))
V4 = {"src": CLIENT, "dst": VIP}
V6 = {"src": CLIENT6, "dst": VIP6}
POOLS = {"IPv4": BACKENDS, "IPv6": BACKENDS6, "both": [BACKENDS[0], BACKENDS6[1], BACKENDS[2]]}


@pytest.fixture(autouse=True)
def address(rack):
    rack.inside("ip", "address", "add", f"{MUX}/24", "dev", INSIDE)
    rack.inside("ip", "address", "add", f"{MUX6}/64", "dev", INSIDE, "nodad")


def finished(rows):
    """The rows with every length and checksum in its packet."""
    return [(sentence, packet.__class__(bytes(packet)), connection) for sentence, packet, connection in rows]


def quoted(l4):
    """The first 8 bytes of a transport header."""
    return Raw(bytes(l4)[:8])


def from_vip(sport, dport):
    return quoted(TCP(sport=80, dport=dport))


# Each begins with the type of the next header; UDP follows the last.
CHAIN = bytes.fromhex("3c00010400000000" "2b00010400000000" "3300040000000000" "110100000000000100000002")

# (sentence, packet after Ethernet, (protocol, source port, destination port) of the connection that it is steered by)
STEERED = finished([
    ("TCP", IP(**V4, tos=0xB8) / TCP(sport=1024, dport=80, flags="S"), (6, 1024, 80)),
    ("TCP with data", IP(**V4) / TCP(sport=1025, dport=80, flags="A") / Raw(b"x" * 99), (6, 1025, 80)),
    ("UDP", IP(**V4) / UDP(sport=1026, dport=80) / Raw(b"hello"), (17, 1026, 80)),
    ("UDP without a checksum", IP(**V4) / UDP(sport=1026, dport=80, chksum=0) / Raw(b"hello"), (17, 1026, 80)),
    ("IP options", IP(**V4, options=[IPOption_NOP()] * 8) / TCP(sport=1027, dport=80), (6, 1027, 80)),
    ("TTL 1", IP(**V4, ttl=1) / TCP(sport=1028, dport=80), (6, 1028, 80)),
    (
        "unreachable, 8 bytes of TCP quoted",
        IP(src="198.51.100.1", dst=VIP) / ICMP(type=3, code=1) / IP(src=VIP, dst=CLIENT, proto=6) / from_vip(80, 1029),
        (6, 1029, 80),
    ),
    (
        "fragmentation needed, all of UDP quoted",
        IP(src="198.51.100.1", dst=VIP) / ICMP(type=3, code=4, nexthopmtu=1400) / IP(src=VIP, dst=CLIENT)
        / UDP(sport=80, dport=1030) / Raw(b"x" * 500),
        (17, 1030, 80),
    ),
    (
        "time exceeded, quoted with IP options",
        IP(src="198.51.100.1", dst=VIP) / ICMP(type=11) / IP(src=VIP, dst=CLIENT, proto=6, options=[IPOption_NOP()] * 4)
        / from_vip(80, 1031),
        (6, 1031, 80),
    ),
    ("IPv6 TCP", IPv6(**V6, tc=0xB8, fl=0x12345) / TCP(sport=1024, dport=80, flags="S"), (6, 1024, 80)),
    ("IPv6 UDP", IPv6(**V6) / UDP(sport=1025, dport=80) / Raw(b"x" * 77), (17, 1025, 80)),
    ("hop-by-hop options", IPv6(**V6) / IPv6ExtHdrHopByHop() / TCP(sport=1026, dport=80), (6, 1026, 80)),
    (
        "hop-by-hop, destination, a route at its end, authentication",
        IPv6(**V6, nh=0) / Raw(CHAIN) / UDP(sport=1027, dport=80),
        (17, 1027, 80),
    ),
    ("an atomic fragment", IPv6(**V6) / IPv6ExtHdrFragment(id=7) / UDP(sport=1028, dport=80), (17, 1028, 80)),
    (
        "ICMPv6 unreachable, 8 bytes of TCP quoted",
        IPv6(src="2001:db8:8::1", dst=VIP6) / ICMPv6DestUnreach() / IPv6(src=VIP6, dst=CLIENT6, nh=6)
        / from_vip(80, 1029),
        (6, 1029, 80),
    ),
    (
        "ICMPv6 too big, quoted behind destination options",
        IPv6(src="2001:db8:8::1", dst=VIP6) / ICMPv6PacketTooBig(mtu=1300) / IPv6(src=VIP6, dst=CLIENT6)
        / IPv6ExtHdrDestOpt() / UDP(sport=80, dport=1030) / Raw(b"x" * 300),
        (17, 1030, 80),
    ),
    (
        "ICMPv6 time exceeded",
        IPv6(src="2001:db8:8::1", dst=VIP6) / ICMPv6TimeExceeded() / IPv6(src=VIP6, dst=CLIENT6)
        / TCP(sport=80, dport=1031),
        (6, 1031, 80),
    ),
])  # fmt: skip

# (verdict, packet after Ethernet)
DROPPED = [
    ("ip_total_length", IPv6(**V6, plen=100) / TCP(sport=1, dport=80)),
    ("ip_ttl", IPv6(**V6, hlim=0) / TCP(sport=1, dport=80)),
    ("ip_source", IPv6(src="fe80::1", dst=VIP6) / TCP(sport=1, dport=80)),
    ("ip_source", IPv6(src="ff02::1", dst=VIP6) / TCP(sport=1, dport=80)),
    ("ip_source", IPv6(src=VIP6, dst=VIP6) / TCP(sport=1, dport=80)),
    ("ip_extension", IPv6(**V6) / IPv6ExtHdrRouting(type=0, segleft=1, addresses=["::1"]) / TCP(sport=1, dport=80)),
    ("tcp_truncated", IPv6(**V6, nh=6) / Raw(b"x" * 19)),
    ("tcp_offset", IPv6(**V6) / TCP(sport=1, dport=80, dataofs=15)),
    ("tcp_port_zero", IPv6(**V6) / TCP(sport=0, dport=80)),
    ("udp_truncated", IPv6(**V6, nh=17) / Raw(b"x" * 7)),
    ("udp_length", IPv6(**V6) / UDP(sport=1, dport=80, len=7)),
    ("icmp_truncated", IPv6(**V6, nh=58) / Raw(b"\x80")),
    ("icmp_truncated", IP(src=CLIENT, dst=VIP) / ICMP(type=3) / IP(src=VIP, dst=CLIENT, proto=6) / Raw(b"1234567")),
    ("icmp_type", IPv6(**V6) / ICMPv6EchoReply()),
    ("icmp_quote", IPv6(**V6) / ICMPv6DestUnreach() / IPv6(src="2001:db8::99", dst=CLIENT6) / TCP(sport=80)),
    ("icmp_quote", IPv6(**V6) / ICMPv6DestUnreach() / IPv6(src=VIP6, dst=CLIENT6) / TCP(sport=81)),
    ("icmp_quote", IP(**V4) / ICMP(type=3) / IP(src=VIP, dst=CLIENT) / TCP(sport=22)),
    ("protocol", IPv6(**V6, nh=59)),
    ("protocol", IPv6(**V6, nh=50) / Raw(b"esp")),
    ("no_service_port", IPv6(**V6) / TCP(sport=1, dport=81)),
    ("no_service_port", IP(**V4) / UDP(sport=1, dport=81)),
]


def wrap(rack, packet, *tags_):
    frame = Ether(src=rack.mac, dst=rack.mux_mac)
    for one in tags_:
        frame = frame / one
    return Ether(bytes(frame / packet))


def hash_of(ipv6, connection):
    protocol, sport, dport = connection
    return flows.flow_hash(
        {
            "protocol": protocol,
            "source": CLIENT6 if ipv6 else CLIENT,
            "sourcePort": sport,
            "destination": VIP6 if ipv6 else VIP,
            "destinationPort": dport,
            "affinity": "connection",
            "hash": "siphash",
            "hashKey": KEY.hex(),
        }
    )


def header_to(backend, ipv6, tag_key):
    """Of a bucket that never moved."""
    return {
        "at": 0, "order": [backend], "service": 1, "generation": 1, "innerProtocol": 41 if ipv6 else 4, "late": False,
        "tag": tag_key and bytes(8).hex(), "key": bool(tag_key and keys.bit(tag_key)),
    }  # fmt: skip


def expected(rack, packet, connection, pool, tag_key=None):
    """The exact frame that a server gets."""
    inner = bytes(packet)
    ipv6 = inner[0] >> 4 == 6
    hash32 = hash_of(ipv6, connection)
    bucket = flows.bucket(hash32, BUCKETS)
    backend = pool[bucket % len(pool)]
    gue = headers.write(header_to(backend, ipv6, tag_key)) + inner
    if tag_key:
        gue = headers.put(tag_key, gue, backend)
    port = flows.outer_source_port(hash32)
    udp = port.to_bytes(2) + (6080).to_bytes(2) + (8 + len(gue)).to_bytes(2) + bytes(2) + gue
    traffic_class = int.from_bytes(inner[:2]) >> 4 & 255 if ipv6 else inner[1]
    if ":" in backend:
        ip = bytes(IPv6(src=MUX6, dst=backend, tc=traffic_class, fl=hash32 >> 12, nh=17, hlim=64, plen=len(udp)))
    else:
        ip = bytes(IP(src=MUX, dst=backend, tos=traffic_class, ttl=64, flags="DF", id=0, proto=17, len=20 + len(udp)))
    ethernet = bytes.fromhex((rack.mac + rack.mux_mac).replace(":", ""))
    return ethernet + (b"\x86\xdd" if ":" in backend else b"\x08\x00") + ip + udp


def is_gue(frame):
    return UDP in frame and frame[UDP].dport == 6080 and (IPv6 in frame or IP in frame)


def settle(rack, one):
    """Waits until every backend's neighbour is known, of either family: all of some flows to each VIP are steered."""

    def steered():
        packets = [wrap(rack, IP(**V4) / TCP(sport=s, dport=80)) for s in range(100, 140)]
        counts = send_and_count(rack, one, packets)
        return counts.get("service") == len(packets)

    until("the backends' neighbours are found", steered)
    one.pass_by()


@pytest.fixture(params=sorted(POOLS))
def pool(request):
    return POOLS[request.param]


def test_what_is_steered_comes_out_as_the_oracle_says(rack, port, pool):
    with mux(rack, port, pool, settled=False, vips=f"{VIP},{VIP6}") as one:
        settle(rack, one)
        for sentence, packet, connection in STEERED:
            counts = send_and_count(rack, one, [wrap(rack, packet)])
            assert (counts.get("service"), drops(counts)) == (1, {}), sentence
            came = rack.receive(is_gue, 1)
            assert [bytes(frame) for frame in came] == [expected(rack, packet, connection, pool)], sentence


def test_vlan_tags_come_off(rack, port):
    with mux(rack, port, vips=f"{VIP},{VIP6}") as one:
        for tag in ([Dot1Q(vlan=5)], [Dot1AD(vlan=7), Dot1Q(vlan=5)]):
            for sentence, packet, connection in (STEERED[0], STEERED[9]):
                assert send_and_count(rack, one, [wrap(rack, packet, *tag)]).get("service") == 1, sentence
                assert [bytes(f) for f in rack.receive(is_gue, 1)] == [expected(rack, packet, connection, BACKENDS)]


def test_every_packet_is_tagged_with_the_cluster_s_key(rack, port, tmp_path):
    key = tmp_path / "key"
    key.write_text(TAG_KEY.hex() + "\n")
    key.chmod(0o600)
    pool = POOLS["both"]
    with mux(rack, port, pool, "--tag-key", str(key), settled=False, vips=f"{VIP},{VIP6}") as one:
        settle(rack, one)
        for sentence, packet, connection in STEERED:
            assert send_and_count(rack, one, [wrap(rack, packet)]).get("service") == 1, sentence
            came = rack.receive(is_gue, 1)
            assert [bytes(f) for f in came] == [expected(rack, packet, connection, pool, TAG_KEY)], sentence


def test_the_paper_s_encapsulation(rack, port):
    with mux(rack, port, BACKENDS, "--encap", "ipip", settled=False) as one:
        until(
            "neighbours", lambda: send_and_count(rack, one, [rack.to_vip(s) for s in range(9, 39)])["service"] == 30, 60
        )
        one.pass_by()
        for sentence, packet, connection in STEERED:
            if IPv6 in packet:
                continue
            assert send_and_count(rack, one, [wrap(rack, packet)]).get("service") == 1, sentence
            inner = bytes(packet)
            bucket = flows.bucket(hash_of(False, connection), BUCKETS)
            outer = ipip.write(
                {
                    "trafficClass": inner[1], "innerLength": len(inner), "source": MUX, "since": 0, "previous": None,
                    "destination": BACKENDS[bucket % len(BACKENDS)], "generation": 1,
                }
            )  # fmt: skip
            (came,) = rack.receive(lambda f: IP in f and f[IP].proto == 4, 1)
            assert bytes(came)[14:] == outer + inner, sentence
        # exactly 36 bytes, which the size shows
        assert send_and_count(rack, one, [wrap(rack, whole(False, MTU - 36, 2000))]).get("service") == 1
        rack.drain()
        assert drops(send_and_count(rack, one, [wrap(rack, whole(False, MTU - 35, 2000))])) == {"too_big": 1}
        assert rack.receive(lambda f: ICMP in f, 1)[0][ICMP].nexthopmtu == MTU - 36


def test_quic_stays_on_its_server_when_the_client_moves(rack, port):
    """A short header's connection id in the plaintext form of QUIC-LB: first byte, server id, nonce."""
    with mux(rack, port, BACKENDS, "--quic", "1:2") as one:
        for number, backend in enumerate(BACKENDS, 1):
            cid = bytes([0x28]) + number.to_bytes(2) + b"nonce"
            short = bytes([0x40 | number]) + cid + b"sealed" * 5
            for client, sport in ((CLIENT, 5000), (CLIENT, 5001), ("203.0.113.99", 5002), ("198.51.100.4", 443)):
                sent = IP(src=client, dst=VIP) / UDP(sport=sport, dport=80) / Raw(short)
                assert send_and_count(rack, one, [wrap(rack, sent)])["service"] == 1
                (came,) = rack.receive(is_gue, 1)
                header = headers.read(bytes(came[UDP].payload), backend)
                assert (came[IP].dst, header["candidates"]) == (backend, [])
        # a handshake's long header, an unknown backend's id, and a connection id without one: steered by bucket
        for payload in (b"\xc0\0\0\0\1\x08\x28\0\1", b"\x40\x28\x77\x77nonce", b"\x40\xe8\0\1nonce"):
            packet = IP(bytes(IP(**V4) / UDP(sport=5000, dport=80) / Raw(payload)))
            assert send_and_count(rack, one, [wrap(rack, packet)])["service"] == 1
            assert [bytes(f) for f in rack.receive(is_gue, 1)] == [expected(rack, packet, (17, 5000, 80), BACKENDS)]


def test_a_syn_s_mss_is_lowered(rack, port):
    with mux(rack, port, BACKENDS, "--mss", "1300", vips=f"{VIP},{VIP6}") as one:
        for head in (IP(**V4), IPv6(**V6)):
            for asked, granted in ((1460, 1300), (1200, 1200)):
                options = [("SAckOK", b""), ("NOP", None), ("MSS", asked), ("WScale", 7)]
                sent = wrap(rack, head / TCP(sport=5000, dport=80, flags="S", options=options))
                assert send_and_count(rack, one, [sent])["service"] == 1
                (came,) = rack.receive(is_gue, 1)
                inner = head.__class__(bytes(came[UDP].payload)[LEAST:])
                assert dict(inner[TCP].options)["MSS"] == granted
                rebuilt = inner.copy()
                del rebuilt[TCP].chksum
                assert bytes(rebuilt) == bytes(inner)
            # only a SYN's option is changed
            sent = wrap(rack, head / TCP(sport=5000, dport=80, flags="A", options=[("MSS", 1460)]))
            assert send_and_count(rack, one, [sent])["service"] == 1
            (came,) = rack.receive(is_gue, 1)
            assert bytes(came[UDP].payload)[LEAST:] == bytes(sent)[14:]


def test_fragments_meet_at_their_backend(rack):
    """In any order; with AF_XDP only, since the kernel reassembles for the packet socket of DPDK's driver."""
    with mux(rack, f"af_xdp:{INSIDE}", vips=f"{VIP},{VIP6}") as one:
        firsts = itertools.count(0, 100)

        def together():
            """The number sent; 0 if the sender was off the CPU for longer than fragments wait."""
            packets = []
            for number in range(first := next(firsts), first + 12):
                udp = UDP(sport=3000 + number, dport=80) / Raw(bytes(range(256)) * 12)
                whole4 = IP(**V4, id=number + 1) / udp
                whole6 = IPv6(**V6) / IPv6ExtHdrFragment(id=number + 1) / udp
                packets += [wrap(rack, p) for p in fragment(whole4, 1000) + fragment6(whole6, 1200)]
            random.Random(20261120).shuffle(packets)
            one.pass_by()
            counts = send_and_count(rack, one, packets)
            assert drops(counts).keys() <= {"fragment_alone"}
            return len(packets) if counts["service"] == len(packets) else 0

        sent = until("all fragments within the time that they wait", together)
        came = rack.receive(is_gue, sent)
        assert len(came) == sent
        for frame in came:
            gue = bytes(frame[UDP].payload)
            inner = IPv6(gue[LEAST:]) if gue[1] == 41 else IP(gue[LEAST:])
            number = (inner[IPv6ExtHdrFragment].id if gue[1] == 41 else inner.id) - 1
            hash32 = hash_of(gue[1] == 41, (17, 3000 + number, 80))
            assert frame[IP].dst == BACKENDS[flows.bucket(hash32, BUCKETS) % len(BACKENDS)]
        # later fragments without their first one wait and are dropped
        late = fragment(IP(**V4, id=99) / UDP(sport=1, dport=80) / Raw(b"x" * 2000), 1000)[1:]
        assert drops(send_and_count(rack, one, [wrap(rack, p) for p in late])) == {"fragment_alone": len(late)}


def test_what_is_malformed_is_dropped_under_its_name(rack, port):
    with mux(rack, port, vips=f"{VIP},{VIP6}") as one:
        for reason, packet in DROPPED:
            assert drops(send_and_count(rack, one, [wrap(rack, packet)])) == {reason: 1}, reason
        assert one.all_out(is_gue) == []


def test_echo_is_answered_from_the_vip(rack, port):
    rows = [
        (IP(**V4, ttl=3, tos=4, id=9) / ICMP(id=7, seq=3) / Raw(b"hello"), IP, ICMP, 0),
        (IPv6(**V6, hlim=3, tc=4, fl=5) / ICMPv6EchoRequest(id=7, seq=3, data=b"hello!"), IPv6, ICMPv6EchoReply, 129),
    ]
    with mux(rack, port, vips=f"{VIP},{VIP6}") as one:
        for packet, family, icmp, kind in rows:
            for tag in ([], [Dot1Q(vlan=5)]):
                sent = wrap(rack, packet, *tag)
                assert send_and_count(rack, one, [sent]).get("echo") == 1
                (came,) = rack.receive(lambda f, icmp=icmp, kind=kind: icmp in f and f[icmp].type == kind, 1)
                assert (came.src, came.dst) == (rack.mux_mac, rack.mac)
                assert (came[family].src, came[family].dst) == (packet.dst, packet.src)
                assert came[icmp].id == 7 and came[icmp].seq == 3 and b"hello" in bytes(came[icmp])
                assert (came[Dot1Q].vlan if tag else 0) == (5 if tag else 0)
                rebuilt = came.copy()
                if family is IP:
                    assert came[IP].ttl == 64
                    del rebuilt[IP].chksum, rebuilt[ICMP].chksum
                else:
                    assert came[IPv6].hlim == 64
                    del rebuilt[ICMPv6EchoReply].cksum
                assert bytes(rebuilt) == bytes(came)


def test_echo_is_answered_so_often_and_not_more(rack, port):
    with mux(rack, port) as one:
        answered = []

        def limited():
            counts = send_and_count(rack, one, [wrap(rack, IP(**V4) / ICMP(seq=n)) for n in range(400)])
            assert counts["echo"] + counts.get("echo_limit", 0) == 400
            assert len(one.all_out(is_echo_reply)) == counts["echo"]
            answered.append(counts["echo"])
            return counts["echo"] < 400

        until("more requests at once than are answered", limited)  # a sender that is off the CPU is too slow for that
        assert answered[0] >= 100


def whole(ipv6, size, sport):
    """A TCP packet with this total size in bytes."""
    head = IPv6(**V6) if ipv6 else IP(**V4, flags="DF")
    return head / TCP(sport=sport, dport=80) / Raw(b"x" * (size - (60 if ipv6 else 40)))


@pytest.mark.parametrize("outside", ["IPv4", "IPv6"])
def test_what_does_not_fit_is_answered_with_the_size_that_does(rack, port, outside):
    """The size leaves room for six candidates even if there are none, so the next packet of it fits in any case."""
    overhead = {"IPv4": 20 + 8 + LEAST, "IPv6": 40 + 8 + LEAST}[outside]
    moved = {"IPv4": 6 * 4, "IPv6": 6 * 16}[outside]
    with mux(rack, port, POOLS[outside], settled=False, vips=f"{VIP},{VIP6}") as one:
        settle(rack, one)
        for ipv6 in (False, True):
            packet = whole(ipv6, MTU - overhead + 1, 2000)
            assert drops(send_and_count(rack, one, [wrap(rack, packet, Dot1Q(vlan=5))])) == {"too_big": 1}
            kind = ICMPv6PacketTooBig if ipv6 else IPerror
            (came,) = rack.receive(lambda f, kind=kind: kind in f, 1)
            ip = came[IPv6] if ipv6 else came[IP]
            assert (came.dst, ip.src, ip.dst, came[Dot1Q].vlan) == (rack.mac, packet.dst, packet.src, 5)
            if ipv6:
                size, quote = came[ICMPv6PacketTooBig].mtu, bytes(came[ICMPv6PacketTooBig].payload)
                assert len(bytes(ip)) == 1280
                rebuilt = came.copy()
                del rebuilt[ICMPv6PacketTooBig].cksum
            else:
                assert (came[ICMP].type, came[ICMP].code) == (3, 4)
                size, quote = came[ICMP].nexthopmtu, bytes(came[ICMP].payload)
                assert len(bytes(ip)) == 576
                rebuilt = came.copy()
                del rebuilt[ICMP].chksum, rebuilt[IP].chksum
            assert bytes(rebuilt) == bytes(came)
            assert bytes(packet).startswith(quote)
            assert size == MTU - overhead - moved
            assert send_and_count(rack, one, [wrap(rack, whole(ipv6, size, 2000))]).get("service") == 1
            # an error is never answered with an error
            error = IP(**V4) / ICMP(type=3) / IP(src=VIP, dst=CLIENT) / TCP(sport=80, dport=9) / Raw(b"x" * 1600)
            error = IP(bytes(error)[: MTU - overhead + 1])
            error.len = len(error)
            del error.chksum
            assert drops(send_and_count(rack, one, [wrap(rack, error)])) == {"too_big_silent": 1}


def test_senders_are_told_so_often_and_not_more(rack, port):
    with mux(rack, port) as one:
        told = []

        def limited():
            packets = [wrap(rack, whole(False, MTU - 39, sport)) for sport in range(1024, 1424)]
            counts = drops(send_and_count(rack, one, packets))
            assert counts.keys() <= {"too_big", "too_big_silent"} and sum(counts.values()) == 400
            assert len(one.all_out(lambda f: IPerror in f)) == counts["too_big"]
            told.append(counts["too_big"])
            return counts["too_big"] < 400

        until("more at once than are told", limited)  # a sender that is off the CPU is too slow for that
        assert told[0] >= 100
