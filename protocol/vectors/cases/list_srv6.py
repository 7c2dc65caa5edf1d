# SPDX-License-Identifier: Apache-2.0
"""list-srv6.json: lists of candidates as segments, what servers send on, and their tags."""

import random
from itertools import product

from oracle import RefusedError
from oracle.list import MAX
from oracle.list_srv6 import check, forward, message, put, read, tag, write

from .inner import TCP_ACK, inner_packets, ipv4
from .list import KEY, NO_TAG, PLAIN, SERVERS, SERVERS6, set_bytes

MIXED = [SERVERS[n] if n % 2 else SERVERS6[n] for n in range(MAX + 1)]
ORDERS = {"IPv6": SERVERS6, "both families": MIXED}
ONE = PLAIN | {"order": SERVERS6[:1]}


def _valid(name: str, data: bytes, destination: str) -> dict:
    fields = {key: value for key, value in read(data, destination).items() if key != "order"}
    return {"name": name, "bytes": data.hex(), "receiver": destination, "fields": fields}


def _written(name: str, header: dict, inner: bytes = b"") -> dict:
    return _valid(name, write(header) + inner, header["order"][header["at"]])


def valid_rows() -> list[dict]:
    rows = []
    for (family, order), count, own_tag in product(ORDERS.items(), range(MAX + 1), (None, "0123456789abcdef")):
        for at in sorted({0, count // 2, count}):
            header = ONE | {"order": order[: count + 1], "at": at, "tag": own_tag, "late": at > 0}
            name = f"{count} candidates of {family}, {count - at} left, {'a tag' if own_tag else 'no tag'}"
            rows.append(_written(name, header))
    last = ONE | {"order": SERVERS6[:3], "service": 65535, "generation": 0xFFFFFFFF}
    return [
        *rows,
        _written("the second key", ONE | {"tag": NO_TAG, "key": True}),
        _written("numbers at their least", ONE | {"service": 0, "generation": 1}),
        _written("numbers at their greatest", last),
        _written("an inner IPv6 packet", ONE | {"innerProtocol": 41}),
        _written("the inner packet behind it", ONE, ipv4(6, TCP_ACK)),
        _written("an address of all zero is carried", last | {"order": [SERVERS6[0], "::"]}),
    ]


def malformed_rows() -> list[dict]:
    plain, three = write(ONE), write(ONE | {"order": SERVERS6[:4]})
    tagged, zero = write(ONE | {"tag": NO_TAG}), write(ONE | {"generation": 0})
    whole = write(ONE | {"order": SERVERS6, "tag": NO_TAG})
    tlv, tlv3 = 24, 72
    cases = [
        ("next header 59", set_bytes(plain, {0: 59})),
        ("7 candidates", set_bytes(whole, {4: 7})),
        ("255 candidates", set_bytes(whole, {4: 255})),
        ("no room for the TLV", set_bytes(plain, {1: 2})),
        ("no room for the TLV of 4 segments", set_bytes(three, {1: 8})),
        ("longer than the longest header", set_bytes(whole, {1: 17}) + bytes(8)),
        ("a unit more than the list needs", set_bytes(plain, {1: 4, tlv + 1: 14}) + bytes(8)),
        ("a unit less than the tag needs", set_bytes(plain, {tlv + 3: 1})),
        ("room for a tag without TAG", set_bytes(tagged, {tlv + 3: 0})),
        ("a TLV that ends before the header", set_bytes(tagged, {tlv + 1: 6})),
        ("a TLV that ends behind the header", set_bytes(plain, {tlv + 1: 14})),
        ("a candidate less than there is room for", set_bytes(three, {3: 2, 4: 2})),
        ("another TLV", set_bytes(plain, {tlv: 5})),
        ("version 1", set_bytes(plain, {tlv + 2: 0x10})),
        ("version 3", set_bytes(plain, {tlv + 2: 0x30})),
        ("one left of none", set_bytes(plain, {3: 1})),
        ("4 left of 3", set_bytes(three, {3: 4})),
        ("255 left of 3", set_bytes(three, {3: 255})),
        ("a bit behind the version", set_bytes(plain, {tlv + 2: 0x21})),
        ("IPV6, which no flag says here", set_bytes(plain, {tlv + 3: 2})),
        ("a flag of 16", set_bytes(plain, {tlv + 3: 16})),
        ("a flag of 128", set_bytes(plain, {tlv + 3: 128})),
        ("KEY without TAG", set_bytes(plain, {tlv + 3: 8})),
        ("KEY without TAG, with room for a tag", set_bytes(tagged, {tlv + 3: 8})),
        ("generation 0", zero),
        ("generation 0 in a tagged header", write(ONE | {"generation": 0, "tag": NO_TAG})),
        ("sent to the next candidate", set_bytes(three, {3: 2})),
        ("sent to the last candidate", set_bytes(three, {3: 0})),
        ("another destination in its first byte", set_bytes(plain, {8: 0x21})),
        ("another destination in its last byte", set_bytes(plain, {23: 0x22})),
        # Two faults: the earlier check gives the word.
        ("next header 59 and 7 candidates", set_bytes(whole, {0: 59, 4: 7})),
        ("7 candidates and no room for the TLV", set_bytes(plain, {1: 2, 4: 7})),
        ("no room for the TLV, and cut", set_bytes(plain, {1: 2})[:24]),
        ("version 1 and one left of none", set_bytes(plain, {3: 1, tlv + 2: 0x10})),
        ("4 left of 3, and a flag of 16", set_bytes(three, {3: 4, tlv3 + 3: 16})),
        ("a flag of 16, and KEY without TAG", set_bytes(plain, {tlv + 3: 24})),
        ("KEY without TAG, and a wrong length", set_bytes(plain, {tlv + 1: 7, tlv + 3: 8})),
        ("a wrong length and generation 0", set_bytes(zero, {tlv + 1: 7})),
        ("generation 0 and another destination", set_bytes(zero, {23: 0x22})),
    ]
    cases += [(f"the longest header cut to {n} bytes", whole[:n]) for n in range(len(whole))]
    return [_malformed(name, data, SERVERS6[0]) for name, data in cases]


def _malformed(name: str, data: bytes, destination: str) -> dict:
    try:
        read(data, destination)
    except RefusedError as refused:
        return {"name": name, "bytes": data.hex(), "receiver": destination, "error": refused.args[0]}
    raise AssertionError(f"{name}: {data.hex()} was meant to be malformed")


def _forwarded(name: str, data: bytes, destination: str, steps: int, late: bool) -> dict:
    after, following = forward(data, destination, steps, late)
    one = {"name": name, "before": data.hex(), "receiver": destination, "left": after[3], "late": late}
    return one | {"after": after.hex(), "next": following, "result": check(KEY, after, following)}


def forwarded_rows() -> list[dict]:
    """Every place of lists of every length, to the next candidate and beyond it. The tag is right at each."""
    rows = []
    for (family, order), count in product(ORDERS.items(), range(1, MAX + 1)):
        header = ONE | {"order": order[: count + 1], "tag": NO_TAG}
        data = put(KEY, write(header) + ipv4(6, TCP_ACK), order[0])
        for at in range(count):
            here = forward(data, order[0], at, False)[0] if at else data
            for steps in range(1, count - at + 1):
                name = f"{count} candidates of {family}, from place {at} to {at + steps}"
                rows.append(_forwarded(name, here, order[at], steps, (at + steps) % 2 == 0))
    late = write(ONE | {"order": SERVERS6[:3], "late": True})
    rows.append(_forwarded("LATE stays", late, SERVERS6[0], 1, False))
    rows.append(_forwarded("without a tag", write(ONE | {"order": SERVERS6[:3]}), SERVERS6[0], 2, True))
    return rows


def _row(name: str, data: bytes, destination: str) -> dict:
    one = {"name": name, "bytes": data.hex(), "receiver": destination, "result": check(KEY, data, destination)}
    return one | {"message": message(data, destination).hex(), "tag": tag(KEY, data, destination).hex()}


def _tagged(header: dict, inner: bytes) -> bytes:
    return put(KEY, write(header | {"tag": NO_TAG}) + inner, header["order"][header["at"]])


def tag_rows() -> list[dict]:
    rows = []
    for (what, protocol, inner), (family, order), count in product(inner_packets(), ORDERS.items(), (0, 2, MAX)):
        header = ONE | {"innerProtocol": protocol, "order": order[: count + 1]}
        rows.append(_row(f"{what}; {count} candidates of {family}", _tagged(header, inner), order[0]))
    header, tcp = ONE | {"order": SERVERS6[:4], "at": 1}, ipv4(6, TCP_ACK)
    good = _tagged(header, tcp)
    tlv = 8 + 4 * 16
    fields = {
        "the service": 7,
        "the last candidate": 8 + 15,
        "the next candidate": 8 + 31,
        "the first destination": 8 + 63,
        "the generation": tlv + 7,
        "the tag's first byte": tlv + 8,
        "the tag's last byte": tlv + 15,
        "the inner source": tlv + 16 + 15,
        "the inner destination port": tlv + 16 + 23,
    }
    for name, at in fields.items():
        rows.append(_row(f"wrong: {name} was changed", set_bytes(good, {at: good[at] ^ 1}), SERVERS6[1]))
    return [
        *rows,
        _row("right: LATE is not covered", set_bytes(good, {tlv + 3: good[tlv + 3] | 4}), SERVERS6[1]),
        _row("right: sent on once less", set_bytes(good, {3: good[3] + 1}), SERVERS6[0]),
        _row("right: sent on once more", set_bytes(good, {3: good[3] - 1}), SERVERS6[2]),
        _row("wrong: sent to another server", set_bytes(good, {8 + 2 * 16 + 15: 0x29}), "2001:db8::29"),
        _row("wrong: the other key is named", set_bytes(good, {tlv + 3: good[tlv + 3] | 8}), SERVERS6[1]),
        _row("wrong: a tag of all zero", write(header | {"tag": NO_TAG}) + tcp, SERVERS6[1]),
        _row("missing: no tag", write(header) + tcp, SERVERS6[1]),
    ]


def list_srv6_vectors() -> dict:
    rows = {"key": KEY.hex(), "valid": valid_rows(), "malformed": malformed_rows()}
    return rows | {"forwarded": forwarded_rows(), "tags": tag_rows()}


def drawn_list_srv6(draw: random.Random) -> dict:
    """Right packets, and the same with a bit turned or cut short; the oracle tells which of them are still right."""
    files: dict = {"key": KEY.hex(), "valid": [], "malformed": [], "forwarded": [], "tags": []}
    for number in range(900):
        _, protocol, inner = draw.choice(inner_packets())
        order = draw.sample(draw.choice(list(ORDERS.values())), draw.randrange(1, MAX + 2))
        header = ONE | {"innerProtocol": protocol, "order": order, "at": draw.randrange(len(order))}
        header |= {"service": draw.randrange(1 << 16), "generation": draw.randrange(1, 1 << 32)}
        header |= {"late": draw.random() < 0.3, "key": draw.random() < 0.3}
        data = bytearray(_tagged(header, inner) if draw.random() < 0.7 else write(header) + inner)
        destination = order[header["at"]] if draw.random() < 0.9 else draw.choice(SERVERS6)
        tlv = 8 + 16 * len(order)
        if draw.random() < 0.4:
            at = draw.choice([*range(8), *range(tlv, tlv + 8), draw.randrange(len(data))])
            data[at] ^= 1 << draw.randrange(8)
        if draw.random() < 0.1:
            data = data[: draw.randrange(len(data))]
        name, text = f"random packet {number}", bytes(data)
        try:
            fields = read(text, destination)
        except RefusedError:
            files["malformed"].append(_malformed(name, text, destination))
            continue
        if text[2] != 4 or text[5]:
            continue  # neither is looked at, and a writer writes them as they should be
        files["valid"].append(_valid(name, text, destination))
        if text[fields["headerLength"] :] == inner and fields["innerProtocol"] == protocol:
            files["tags"].append(_row(name, text, destination))
            if fields["left"]:
                steps = draw.randrange(1, fields["left"] + 1)
                files["forwarded"].append(_forwarded(name, text, destination, steps, draw.random() < 0.5))
    return files
