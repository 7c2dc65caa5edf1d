# SPDX-License-Identifier: Apache-2.0
"""Segment routing on real ports: against the oracle, and read by scapy and tcpdump, which know RFC 8754 and not us."""

import pytest
from oracle import flow as flows
from oracle import list_srv6
from rack import BACKENDS6, BUCKETS, MTU, MUX6, VIP, VIP6, drops, mux, run, send_and_count, until
from scapy.all import ICMP, IPv6, IPv6ExtHdrSegmentRouting, wrpcap
from test_packets import STEERED, TAG_KEY, address, hash_of, header_to, whole, wrap

__all__ = ["address"]  # a fixture that each test here uses


def expected(packet, connection, is_tagged):
    """The backend, and what is behind the outer IPv6 header."""
    bucket = flows.bucket(hash_of(packet.version == 6, connection), BUCKETS)
    backend = BACKENDS6[bucket % len(BACKENDS6)]
    data = list_srv6.write(header_to(backend, packet.version == 6, TAG_KEY if is_tagged else None)) + bytes(packet)
    return backend, list_srv6.put(TAG_KEY, data, backend) if is_tagged else data


def check(came, packet, connection, is_tagged):
    backend, data = expected(packet, connection, is_tagged)
    outer, segments = came[IPv6], came[IPv6ExtHdrSegmentRouting]
    assert bytes(came)[54:] == data
    assert (outer.src, outer.dst, outer.nh, outer.hlim, outer.plen) == (MUX6, backend, 43, 64, len(data))
    assert outer.tc == (packet.tc if packet.version == 6 else packet.tos)
    assert outer.fl == hash_of(packet.version == 6, connection) % 2**32 >> 12
    assert (segments.type, segments.segleft, segments.lastentry, segments.tag) == (4, 0, 0, 1)
    assert segments.addresses == [backend]
    assert [(tlv.type, tlv.len) for tlv in segments.tlv_objects] == [(252, len(data) - len(packet) - 26)]


@pytest.mark.parametrize("is_tagged", [False, True])
def test_segment_routing(rack, port, tmp_path, is_tagged):
    key = tmp_path / "key"
    key.write_text(TAG_KEY.hex() + "\n")
    key.chmod(0o600)
    more = ("--tag-key", str(key)) if is_tagged else ()
    with mux(rack, port, BACKENDS6, "--encap", "srv6", *more, settled=False, vips=f"{VIP},{VIP6}") as one:
        probes = [rack.to_vip(sport) for sport in range(9, 39)]
        until("neighbours", lambda: send_and_count(rack, one, probes).get("service") == len(probes), 60)
        rack.drain()
        for sentence, packet, connection in STEERED:
            assert send_and_count(rack, one, [wrap(rack, packet)]).get("service") == 1, sentence
            (came,) = rack.receive(lambda f: IPv6ExtHdrSegmentRouting in f, 1)
            check(came, packet, connection, is_tagged)
        if is_tagged:  # tcpdump 4.99 takes an odd length for none, which TLVs may have (RFC 8754, section 2)
            wrpcap(str(tmp_path / "one.pcap"), [came])
            said = run("tcpdump", "-nn", "-t", "-v", "-r", str(tmp_path / "one.pcap"))
            assert f"RT6 (len=4, type=4, segleft=0, last-entry=0, flags=0x0, tag=1, [0]{came[IPv6].dst}" in said, said
        overhead = 80 if is_tagged else 72
        assert send_and_count(rack, one, [wrap(rack, whole(False, MTU - overhead, 2000))]).get("service") == 1
        rack.drain()
        assert drops(send_and_count(rack, one, [wrap(rack, whole(False, MTU - overhead + 1, 2000))])) == {"too_big": 1}
        # the size that fits with six candidates, too
        assert rack.receive(lambda f: ICMP in f, 1)[0][ICMP].nexthopmtu == MTU - overhead - 6 * 16
