# SPDX-License-Identifier: Apache-2.0
"""Real packets into a real port, and what comes out: AF_XDP, a packet socket, a device with an exception port."""

import struct
import time

import pytest
from oracle import flow as oracle
from rack import (
    BACKENDS,
    BUCKETS,
    CLIENT,
    INSIDE,
    MTU,
    MUX,
    OUTSIDE,
    VIP,
    Mux,
    drops,
    is_echo_reply,
    is_tunnel,
    mux,
    run,
    send_and_count,
    until,
)  # fmt: skip
from scapy.all import ARP, ICMP, IP, TCP, UDP, Ether, IPOption_NOP, Raw

KEY = bytes(range(16)).hex()  # of tests/image.c
FLOWS = 300
LEAST = 12  # bytes from the GUE base to the inner packet


@pytest.fixture(autouse=True)
def address(rack):
    rack.inside("ip", "address", "add", f"{MUX}/24", "dev", INSIDE)


def flow_hash(sport):
    flow = {"protocol": 6, "source": CLIENT, "sourcePort": sport, "destination": VIP, "destinationPort": 80}
    return oracle.flow_hash(flow | {"affinity": "connection", "hash": "siphash", "hashKey": KEY})


def check_tunnel(rack, frame, sent):
    """Compares a packet that came out with the one that went in."""
    sport = sent[TCP].sport
    bucket = flow_hash(sport) % BUCKETS
    outer, udp = frame[IP], frame[UDP]
    gue = bytes(udp.payload)
    assert frame.dst == rack.mac
    assert (outer.src, outer.dst) == (MUX, BACKENDS[bucket % len(BACKENDS)])
    assert (outer.ttl, outer.flags, outer.tos) == (64, "DF", sent[IP].tos)
    assert (udp.dport, udp.chksum, udp.sport) == (6080, 0, 0xC000 | flow_hash(sport) >> 18)
    length, protocol, flags, version, candidates, service, generation = struct.unpack("!BBHBBHI", gue[:LEAST])
    assert (length, protocol, flags) == (2, 4, 0)
    assert (version, candidates, service, generation) == (0x20, 0, 1, 1)
    inner = bytes(sent[IP])
    assert gue[LEAST:] == inner
    checked = IP(bytes(outer))
    del checked.chksum
    assert IP(bytes(checked)).chksum == outer.chksum
    assert outer.len == 40 + len(inner)


def test_every_flow_reaches_its_backend(rack, port):
    with mux(rack, port) as one:
        sent = [rack.to_vip(s, b"x" * (s % 90), tos=s % 256, id=s) for s in range(1024, 1024 + FLOWS)]
        packets = {p[TCP].sport: Ether(bytes(p)) for p in sent}
        counts = send_and_count(rack, one, packets.values())
        came = rack.receive(is_tunnel, FLOWS)
        assert counts["service"] == FLOWS
        assert drops(counts) == {}
        assert len(came) == FLOWS
        assert {frame[IP].dst for frame in came} == set(BACKENDS)
        for frame in came:
            inner = IP(bytes(frame[UDP].payload)[LEAST:])
            check_tunnel(rack, frame, packets.pop(inner[TCP].sport))
        assert not packets


def test_two_workers_share_the_flows(rack):
    """A packet socket with two queue pairs: the kernel distributes flows, no packet is lost or duplicated."""
    with mux(rack, f"af_packet:{INSIDE}", BACKENDS, "--workers", "2") as one:
        counts = send_and_count(rack, one, [rack.to_vip(s) for s in range(1024, 1024 + FLOWS)])
        assert counts["service"] == FLOWS
        came = rack.receive(is_tunnel, FLOWS) + rack.receive(is_tunnel, 1, seconds=0.5)
        assert sorted(IP(bytes(f[UDP].payload)[LEAST:])[TCP].sport for f in came) == list(range(1024, 1024 + FLOWS))


def bent(rack):
    """Frames that must be dropped, by the reason under which they are counted."""
    whole = rack.to_vip(2000, b"payload")
    late = rack.to_vip(2000, b"payload", frag=100)
    options = IP(src=CLIENT, dst=VIP, options=[IPOption_NOP()] * 4)
    short = Ether(bytes(whole))
    short[IP].len = 30
    del short[IP].chksum
    return {
        "ip_header_length": rack.to_vip(2000, ihl=4),
        "ip_total_length": rack.to_vip(2000, len=2000),
        "ip_checksum": rack.to_vip(2000, chksum=1),
        "ip_ttl": rack.to_vip(2000, ttl=0),
        "ip_source": Ether(src=rack.mac, dst=rack.mux_mac) / IP(src=VIP, dst=VIP) / TCP(sport=1, dport=80),
        "tcp_truncated": short,
        "tcp_offset": Ether(src=rack.mac, dst=rack.mux_mac) / options / TCP(sport=1, dport=80, dataofs=15),
        "tcp_port_zero": rack.to_vip(0),
        "udp_length": Ether(src=rack.mac, dst=rack.mux_mac) / IP(src=CLIENT, dst=VIP) / UDP(dport=80, len=7),
        "fragment_alone": late,
        "protocol": Ether(src=rack.mac, dst=rack.mux_mac) / IP(src=CLIENT, dst=VIP, proto=132) / Raw(b"sctp"),
        "icmp_type": Ether(src=rack.mac, dst=rack.mux_mac) / IP(src=CLIENT, dst=VIP) / ICMP(type=13),
        "no_service_port": Ether(src=rack.mac, dst=rack.mux_mac) / IP(src=CLIENT, dst=VIP) / TCP(sport=9, dport=81),
        "too_big": rack.to_vip(2000, b"x" * (MTU - 40 - 39)),
    }


def test_what_is_bent_is_dropped_under_its_name(rack, port):
    with mux(rack, port) as one:
        for reason, frame in bent(rack).items():
            if reason == "fragment_alone" and port.startswith("af_packet"):
                continue  # the kernel reassembles them before the packet socket of DPDK's driver
            counts = send_and_count(rack, one, [frame])
            assert drops(counts) == {reason: 1}, reason
            assert "service" not in counts, reason
        assert one.all_out(is_tunnel) == []
        one.counters()
        # the biggest packet that fits comes out
        assert send_and_count(rack, one, [rack.to_vip(2000, b"x" * (MTU - 40 - 40))])["service"] == 1
        assert len(rack.receive(is_tunnel, 1)) == 1


def test_what_is_not_ours_is_the_kernel_s(rack, port):
    with mux(rack, port):
        ask = Ether(src=rack.mac, dst="ff:ff:ff:ff:ff:ff") / ARP(psrc="10.1.0.1", pdst=MUX, hwsrc=rack.mac)
        echo = Ether(src=rack.mac, dst=rack.mux_mac) / IP(src="10.1.0.1", dst=MUX) / ICMP(id=7) / Raw(b"hello")
        rack.drain()
        rack.send([ask, echo])
        assert len(rack.receive(lambda f: ARP in f and f[ARP].op == 2 and f[ARP].psrc == MUX, 1)) == 1
        assert len(rack.receive(is_echo_reply, 1)) == 1


def test_frames_for_another_host_are_left_alone(rack, port):
    with mux(rack, port) as one:
        other = rack.to_vip(2000)
        other.dst = "02:00:00:00:00:99"
        rack.drain()
        rack.send([other, rack.to_vip(2001)])
        came = one.all_out(is_tunnel)
        assert [IP(bytes(f[UDP].payload)[LEAST:])[TCP].sport for f in came] == [2001]
        assert one.counters()["service"] == 2  # with the last one


def test_a_backend_without_a_neighbour_is_counted_then_found(rack, port):
    with mux(rack, port, ["10.1.0.77"], settled=False) as one:
        assert send_and_count(rack, one, [rack.to_vip(2000)]).get("no_neighbour") == 1
        run("ip", "address", "add", "10.1.0.77/24", "dev", OUTSIDE)

        def served():
            return send_and_count(rack, one, [rack.to_vip(2000)]).get("service")

        until("the neighbour is found", served)
        assert rack.receive(is_tunnel, 1)[0].dst == rack.mac


def test_a_backend_s_new_mac_is_followed(rack, port):
    with mux(rack, port):
        rack.send([rack.to_vip(2000)])
        assert rack.receive(is_tunnel, 1)[0].dst == rack.mac
        run("ip", "link", "set", OUTSIDE, "address", "02:00:00:00:00:42")
        mac = rack.outside_mac()
        news = [ARP(op=2, psrc=b, pdst=b, hwsrc=mac, hwdst="ff:ff:ff:ff:ff:ff") for b in BACKENDS]

        def followed():
            rack.send([Ether(src=mac, dst="ff:ff:ff:ff:ff:ff") / arp for arp in news])
            rack.drain()
            rack.send([rack.to_vip(2000)])
            return [f for f in rack.receive(is_tunnel, 1, seconds=1) if f.dst == mac]

        until("packets go to the new MAC address", followed)


def test_the_port_s_own_mac_and_mtu_are_followed(rack, port):
    with mux(rack, port) as one:
        rack.mux_mac = "02:00:00:00:00:77"
        rack.inside("ip", "link", "set", INSIDE, "address", rack.mux_mac)

        def followed():
            rack.drain()
            rack.send([rack.to_vip(2000)])
            return rack.receive(is_tunnel, 1, seconds=1)

        until("packets to the new MAC are steered, from it", followed)
        assert rack.inside("ip", "link", "set", INSIDE, "mtu", "1400") == ""
        big = rack.to_vip(2000, b"x" * 1350)

        def refused():
            return send_and_count(rack, one, [big]).get("too_big")

        until("the new MTU counts", refused)


def test_routes_and_links_are_followed(rack, port):
    """The gateway of a backend changes, then the interface goes down and up."""
    far, gateways = "10.9.0.5", BACKENDS[:2]
    macs = {gateways[0]: "02:00:00:00:01:01", gateways[1]: "02:00:00:00:01:02"}

    def route(gateway):
        mac = macs[gateway]
        rack.inside("ip", "neigh", "replace", gateway, "lladdr", mac, "dev", INSIDE, "nud", "permanent")
        rack.inside("ip", "route", "replace", "10.9.0.0/24", "via", gateway, "dev", INSIDE)

    def goes_by(gateway):
        rack.drain()
        rack.send([rack.to_vip(2000)])
        return [f for f in rack.receive(is_tunnel, 1, seconds=1) if (f.dst, f[IP].dst) == (macs[gateway], far)]

    with mux(rack, port, [far], settled=False):
        # only now: DPDK's packet socket sets the interface's MAC, at which the kernel forgets its neighbours
        route(gateways[0])
        until("the first gateway", lambda: goes_by(gateways[0]))
        route(gateways[1])
        until("the second gateway", lambda: goes_by(gateways[1]))
        rack.inside("ip", "link", "set", INSIDE, "down")
        rack.inside("ip", "link", "set", INSIDE, "up")
        route(gateways[0])
        until("the way after the flap", lambda: goes_by(gateways[0]))


def test_a_killed_mux_leaves_the_port_to_the_next_one(rack, port):
    with mux(rack, port) as one:
        one.kill()
    with mux(rack, port):
        rack.drain()
        rack.send([rack.to_vip(2000)])
        assert len(rack.receive(is_tunnel, 1)) == 1
    assert "xdp" not in rack.inside("ip", "link", "show", "dev", INSIDE)


def test_a_killed_mux_leaves_nothing_to_a_packet_socket(rack):
    with mux(rack, f"af_xdp:{INSIDE}") as one:
        one.kill()
    assert "xdp" in rack.inside("ip", "link", "show", "dev", INSIDE)
    with mux(rack, f"af_packet:{INSIDE}") as one:
        assert "xdp" not in rack.inside("ip", "link", "show", "dev", INSIDE)
        rack.drain()
        rack.send([rack.to_vip(2000)])
        assert len(one.all_out(is_tunnel)) == 1


@pytest.mark.parametrize("second", ["af_xdp", "af_packet"])
def test_one_interface_has_one_mux(rack, port, second):
    with mux(rack, port), pytest.raises(RuntimeError, match="in use by another fairlead-mux"):
        Mux(rack, f"{second}:{INSIDE}", BACKENDS)


def test_an_mtu_beyond_all_buffers_is_refused(rack):
    with pytest.raises(RuntimeError, match="'af_packet:lo' has MTU 65535; allowed: at most"):
        Mux(rack, "af_packet:lo", BACKENDS)


def test_a_name_that_is_no_device_is_refused(rack):
    with pytest.raises(RuntimeError, match=f"'{INSIDE}' can't be opened.*allowed: af_xdp:IFACE"):
        Mux(rack, INSIDE, BACKENDS)


def test_an_orderly_end(rack, port):
    with mux(rack, port) as one:
        assert one.stop() == 0


def test_an_idle_mux_costs_less_than_5_percent_of_a_core(rack, port):
    with mux(rack, port) as one:
        time.sleep(0.5)
        before, start = one.cpu_seconds(), time.monotonic()
        time.sleep(3)
        share = (one.cpu_seconds() - before) / (time.monotonic() - start)
    assert share < 0.05


def test_a_device_taken_from_the_kernel_has_a_way_back_to_it(rack):
    """A packet socket as a raw device: its exception port is a TAP, which has the mux's address."""
    rack.inside("ip", "address", "flush", "dev", INSIDE)
    rack.inside("ip", "link", "set", INSIDE, "arp", "off")
    with mux(rack, f"net_af_packet0,iface={INSIDE}", BACKENDS, "--exception", "yes", settled=False) as one:
        rack.inside("ip", "link", "set", "flport0", "up")
        rack.inside("ip", "address", "add", f"{MUX}/24", "dev", "flport0")
        assert rack.inside_link("flport0")["address"] == rack.mux_mac
        rack.drain()
        rack.send([Ether(src=rack.mac, dst=rack.mux_mac) / IP(src="10.1.0.1", dst=MUX) / ICMP(id=7) / Raw(b"hello")])
        assert rack.receive(is_echo_reply, 1)
        assert rack.inside_link("flport0")["stats64"]["rx"]["packets"] > 0
        assert one.counters()["from_kernel"] > 0

        # next hops are found through the TAP, packets leave by the device
        def served():
            return send_and_count(rack, one, [rack.to_vip(2000)]).get("service")

        until("the backends' neighbours are found", served)
        assert rack.receive(is_tunnel, 1)[0][IP].src == MUX

        # a change of the TAP's MTU takes effect
        rack.inside("ip", "link", "set", "flport0", "mtu", "1400")
        big = rack.to_vip(2000, b"x" * 1350)
        until("the new MTU counts", lambda: send_and_count(rack, one, [big]).get("too_big"))
