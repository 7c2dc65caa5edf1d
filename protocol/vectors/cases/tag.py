# SPDX-License-Identifier: Apache-2.0
"""tag.json: packets with the right tag, a wrong one, none, and what they become when they are chained."""

import random

from oracle.steer import read, write
from oracle.tag import chain_tagged, check, late_tagged, message, promote_tagged, put, tag

from .inner import TCP_ACK, inner_packets, ipv4
from .steer import MOVED, MOVED6, PLAIN, SECOND, SECOND_MOVED, SECONDS

KEY = bytes(range(0x10, 0x20))
NO_TAG = bytes(8).hex()


def packet(header: dict, inner: bytes, padding: int = 0) -> bytes:
    return write(header | {"tag": NO_TAG}, padding) + inner


def _row(name: str, data: bytes) -> dict:
    one = {"name": name, "bytes": data.hex(), "result": check(KEY, data)}
    return one | {"message": message(data).hex(), "tag": tag(KEY, data).hex()}


def _changed(name: str, good: bytes, at: int | tuple[int, int]) -> dict:
    """`at`: a byte, whose lowest bit is turned; or the byte and the bit."""
    bad, (byte, bit) = bytearray(good), at if isinstance(at, tuple) else (at, 1)
    bad[byte] ^= bit
    return _row(f"wrong: {name} was changed", bytes(bad))


def right_packets() -> list[tuple[str, bytes]]:
    headers = [("no move", PLAIN), ("moved from IPv4", MOVED), ("moved from IPv6", MOVED6)]
    packets = []
    for what, protocol, inner in inner_packets():
        packets += [
            (f"{what}; {how}", put(KEY, packet(header | {"innerProtocol": protocol}, inner))) for how, header in headers
        ]
    tcp = ipv4(6, TCP_ACK)
    packets += [(f"{hops} hops", put(KEY, packet(PLAIN | {"hops": hops}, tcp))) for hops in (1, 2)]
    packets += [(f"late; {how}", put(KEY, packet(header | {"hops": 1, "late": True}, tcp))) for how, header in headers]
    for what, second in SECONDS.items():
        packets += [
            (f"{what}; {how}", put(KEY, packet(header | {"second": second, "hops": 2}, tcp))) for how, header in headers
        ]
    packets.append(("padding is not covered", put(KEY, packet(MOVED, tcp, 3))))
    return packets


def wrong_rows() -> list[dict]:
    """A bit turned in each field that the tag covers, and in the tag itself."""
    fields = {
        "hops": 4,
        "the flag LATE": (5, 0x80),
        "service": 7,
        "bucket": 11,
        "generation": 15,
        "since": 19,
        "previous": 23,
        "the tag's first byte": 24,
        "the tag's last byte": 31,
        "source": 32 + 15,
        "source port": 32 + 21,
        "destination port": 32 + 23,
    }
    good = put(KEY, packet(MOVED, ipv4(6, TCP_ACK)))
    rows = [_changed(name, good, at) for name, at in fields.items()]
    good = put(KEY, packet(MOVED | {"second": SECOND_MOVED}, ipv4(6, TCP_ACK)))
    fields = {"bucket": 19, "owner": 23, "since": 27, "previous": 31}
    rows += [_changed(f"the second bucket's {name}", good, at) for name, at in fields.items()]
    rows.append(_changed("the first bucket's since, behind them,", good, 35))
    without = packet(MOVED, ipv4(6, TCP_ACK))
    longer = bytearray(packet(MOVED | {"second": SECOND}, ipv4(6, TCP_ACK)))
    longer[32:40] = tag(KEY, without)
    rows.append(_row("wrong: a second bucket was added", bytes(longer)))
    rows.append(_row("wrong: another key", put(bytes(16), packet(MOVED, ipv4(6, TCP_ACK)))))
    rows.append(_row("wrong: a tag of all zero", packet(PLAIN, ipv4(6, TCP_ACK))))
    rows.append(_row("missing: no tag", write(PLAIN) + ipv4(6, TCP_ACK)))
    rows.append(_row("missing: a move and no tag", write(MOVED) + ipv4(6, TCP_ACK)))
    assert {row["result"] for row in rows} == {"wrong", "missing"}
    return rows


def _chained(key: bytes, name: str, data: bytes) -> dict:
    return {"name": name, "before": data.hex(), "after": chain_tagged(key, data).hex()}


def _late(key: bytes, name: str, data: bytes) -> dict:
    return {"name": name, "before": data.hex(), "after": late_tagged(key, data).hex()}


def _promoted(key: bytes, name: str, data: bytes) -> dict:
    return {"name": name, "before": data.hex(), "after": promote_tagged(key, data).hex()}


def tag_vectors() -> dict:
    packets = right_packets()
    two = [(name, data) for name, data in packets if read(data)["second"] is not None]
    two += [(f"{name}, on its second hop", chain_tagged(KEY, data)) for name, data in two]
    return {
        "key": KEY.hex(),
        "rows": [_row(name, data) for name, data in packets] + wrong_rows(),
        "chained": [_chained(KEY, f"chained: {name}", data) for name, data in packets],
        "promoted": [_promoted(KEY, f"passed on: {name}", data) for name, data in two],
        "late": [_late(KEY, f"chained as late: {name}", data) for name, data in packets],
    }


def drawn_tag(draw: random.Random) -> dict:
    """Random headers over the inner packets of above, cut at the end or not, with a bit turned or not."""
    rows, chained, promoted, late = [], [], [], []
    for number in range(500):
        _, protocol, inner = draw.choice(inner_packets())
        header = draw.choice([PLAIN, MOVED, MOVED6]) | {"innerProtocol": protocol, "hops": draw.randrange(3)}
        header |= {"bucket": draw.randrange(1 << 23), "generation": draw.randrange(1, 1 << 32)}
        header |= {"second": draw.choice([None, *SECONDS.values()]), "late": draw.random() < 0.3}
        data = bytearray(put(KEY, packet(header, inner, draw.choice([0, 0, 2]))))
        if draw.random() < 0.5:
            data[draw.randrange(6, 16)] ^= 1 << draw.randrange(8)
        if data[12:16] != bytes(4):
            rows.append(_row(f"random packet {number}", bytes(data)))
        if rows[-1]["result"] == "right":
            chained.append(_chained(KEY, f"random packet {number}", bytes(data)))
            late.append(_late(KEY, f"random packet {number}", bytes(data)))
            if header["second"]:
                promoted.append(_promoted(KEY, f"random packet {number}", bytes(data)))
    return {"key": KEY.hex(), "rows": rows, "chained": chained, "promoted": promoted, "late": late}
