# SPDX-License-Identifier: Apache-2.0
"""list.json: headers with lists of candidates, what servers send on, and their tags."""

import random
from itertools import product

from oracle import RefusedError, keys
from oracle.list import MAX, check, forward, message, put, read, tag, write

from .inner import TCP_ACK, inner_packets, ipv4

KEY = bytes(range(0x30, 0x40))
NO_TAG = bytes(8).hex()
SERVERS = [f"10.1.0.{21 + n}" for n in range(MAX + 1)]
SERVERS6 = [f"2001:db8::{21 + n}" for n in range(MAX + 1)]
MIXED = [SERVERS6[n] if n % 2 else SERVERS[n] for n in range(MAX + 1)]
ORDERS = {"IPv4": SERVERS, "IPv6": SERVERS6, "both families": MIXED}
PLAIN = {
    "innerProtocol": 4,
    "order": SERVERS[:1],
    "at": 0,
    "late": False,
    "service": 1,
    "generation": 12,
    "tag": None,
    "key": False,
}


def _fields(data: bytes, receiver: str) -> dict:
    fields = read(data, receiver)
    return {name: value for name, value in fields.items() if name != "order"}


def _valid(name: str, data: bytes, receiver: str) -> dict:
    return {"name": name, "bytes": data.hex(), "receiver": receiver, "fields": _fields(data, receiver)}


def _written(name: str, header: dict, inner: bytes = b"") -> dict:
    return _valid(name, write(header) + inner, header["order"][header["at"]])


def valid_rows() -> list[dict]:
    rows = []
    for (family, order), count, own_tag in product(ORDERS.items(), range(MAX + 1), (None, "0123456789abcdef")):
        for at in {0, count}:
            header = PLAIN | {"order": order[: count + 1], "at": at, "tag": own_tag, "late": at > 0}
            name = f"{count} candidates of {family}, {count - at} left, {'a tag' if own_tag else 'no tag'}"
            rows.append(_written(name, header))
    last = PLAIN | {"order": SERVERS[:3], "service": 65535, "generation": 0xFFFFFFFF}
    rows += [
        _written("the second key", PLAIN | {"tag": NO_TAG, "key": True}),
        _written("numbers at their least", PLAIN | {"service": 0, "generation": 1}),
        _written("numbers at their greatest", last),
        _written("an inner IPv6 packet", PLAIN | {"innerProtocol": 41}),
        _written("the inner packet behind it", PLAIN, ipv4(6, TCP_ACK)),
        _written("an IPv4 candidate behind an IPv6 server", PLAIN | {"order": [SERVERS6[0], SERVERS[1]]}),
        _valid("an address of all zero is carried", set_bytes(write(last), {n: 0 for n in range(12, 16)}), SERVERS[0]),
    ]
    return rows


def set_bytes(data: bytes, changes: dict[int, int]) -> bytes:
    changed = bytearray(data)
    for at, value in changes.items():
        changed[at] = value
    return bytes(changed)


def malformed_rows() -> list[dict]:
    plain, three = write(PLAIN), write(PLAIN | {"order": SERVERS[:4]})
    tagged, zero = write(PLAIN | {"tag": NO_TAG}), write(PLAIN | {"generation": 0})
    cases = [
        ("GUE version 1, which is IP directly in UDP", set_bytes(plain, {0: 0x42})),
        ("GUE version 3", set_bytes(plain, {0: 0xC2})),
        ("a GUE control message", set_bytes(plain, {0: 0x22})),
        ("a GUE flag in the first byte", set_bytes(plain, {2: 0x80})),
        ("a GUE flag in the second byte", set_bytes(plain, {3: 1})),
        ("inner protocol 0", set_bytes(plain, {1: 0})),
        ("inner protocol 59, a notice", set_bytes(plain, {1: 59})),
        ("hlen 0", set_bytes(plain, {0: 0})),
        ("hlen one word short of the 8 bytes", set_bytes(plain, {0: 1})),
        ("one word more than the list needs", set_bytes(plain, {0: 3}) + bytes(4)),
        ("one word less than the list needs", set_bytes(three, {0: 4})),
        ("a candidate more than there is room for", set_bytes(three, {5: 0x40})),
        ("a candidate less than there is room for", set_bytes(three, {4: 0x22, 5: 0x20})),
        ("IPV6 with room for IPv4 alone", set_bytes(three, {5: 0x32})),
        ("TAG without room", set_bytes(plain, {5: 0x01})),
        ("room for a tag without TAG", set_bytes(tagged, {5: 0x00})),
        ("version 0", set_bytes(plain, {4: 0x00})),
        ("version 1", set_bytes(plain, {4: 0x10})),
        ("version 3 with 3 left", set_bytes(three, {4: 0x33})),
        ("7 candidates", set_bytes(write(PLAIN | {"order": SERVERS}), {0: 9, 5: 0x70}) + bytes(4)),
        ("15 candidates", set_bytes(plain, {5: 0xF0})),
        ("one left of none", set_bytes(plain, {4: 0x21})),
        ("4 left of 3", set_bytes(three, {4: 0x24})),
        ("15 left of 3", set_bytes(three, {4: 0x2F})),
        ("KEY without TAG", set_bytes(plain, {5: 0x08})),
        ("KEY without TAG, with room for a tag", set_bytes(tagged, {5: 0x08})),
        ("generation 0", zero),
        ("generation 0 in a tagged header", write(PLAIN | {"generation": 0, "tag": NO_TAG})),
        # Two faults: the earlier check gives the word.
        ("GUE version 1 and C bit", set_bytes(plain, {0: 0x62})),
        ("C bit and GUE flags", set_bytes(plain, {0: 0x22, 2: 1})),
        ("GUE flags and inner protocol 6", set_bytes(plain, {1: 6, 3: 1})),
        ("inner protocol 6 and hlen 0", set_bytes(plain, {0: 0, 1: 6})),
        ("hlen 1 and nothing behind the GUE base", set_bytes(plain, {0: 1})[:4]),
        ("hlen beyond the end and version 1", set_bytes(plain, {0: 31, 4: 0x10})),
        ("version 1 and 15 candidates", set_bytes(plain, {4: 0x10, 5: 0xF0})),
        ("15 candidates and none of them in the header", set_bytes(plain, {4: 0x2F, 5: 0xF0})),
        ("4 left of 3, and KEY without TAG", set_bytes(three, {4: 0x24, 5: 0x38})),
        ("KEY without TAG, and IPV6 without room", set_bytes(three, {5: 0x3A})),
        ("TAG without room and generation 0", set_bytes(zero, {5: 0x01})),
    ]
    whole = write(PLAIN | {"order": SERVERS6, "tag": NO_TAG})
    cases += [(f"the longest header cut to {n} bytes", whole[:n]) for n in range(len(whole))]
    rows = [_malformed(name, data, SERVERS[0]) for name, data in cases]
    rows.append(_malformed("to an IPv6 server without IPV6", plain, SERVERS6[0]))
    rows.append(_malformed("generation 0 to an IPv6 server without IPV6", zero, SERVERS6[0]))
    return rows


def _malformed(name: str, data: bytes, receiver: str) -> dict:
    try:
        read(data, receiver)
    except RefusedError as refused:
        return {"name": name, "bytes": data.hex(), "receiver": receiver, "error": refused.args[0]}
    raise AssertionError(f"{name}: {data.hex()} was meant to be malformed")


def _forwarded(name: str, data: bytes, receiver: str, steps: int, late: bool) -> dict:
    after, following = forward(data, receiver, steps, late)
    one = {"name": name, "before": data.hex(), "receiver": receiver, "left": after[4] & 15, "late": late}
    return one | {"after": after.hex(), "next": following, "result": check(KEY, after, following)}


def forwarded_rows() -> list[dict]:
    """Every place of lists of every length, to the next candidate and beyond it. The tag is right at each."""
    rows = []
    for (family, order), count in product(ORDERS.items(), range(1, MAX + 1)):
        header = PLAIN | {"order": order[: count + 1], "tag": NO_TAG}
        data = put(KEY, write(header) + ipv4(6, TCP_ACK), order[0])
        for at in range(count):
            here = forward(data, order[0], at, False)[0] if at else data
            for steps in range(1, count - at + 1):
                name = f"{count} candidates of {family}, from place {at} to {at + steps}"
                rows.append(_forwarded(name, here, order[at], steps, (at + steps) % 2 == 0))
    late = write(PLAIN | {"order": SERVERS[:3], "late": True})
    rows.append(_forwarded("LATE stays", late, SERVERS[0], 1, False))
    rows.append(_forwarded("without a tag", write(PLAIN | {"order": SERVERS[:3]}), SERVERS[0], 2, True))
    return rows


def _row(name: str, data: bytes, receiver: str) -> dict:
    one = {"name": name, "bytes": data.hex(), "receiver": receiver, "result": check(KEY, data, receiver)}
    return one | {"message": message(data, receiver).hex(), "tag": tag(KEY, data, receiver).hex()}


def _tagged(header: dict, inner: bytes) -> bytes:
    return put(KEY, write(header | {"tag": NO_TAG}) + inner, header["order"][header["at"]])


def tag_rows() -> list[dict]:
    rows = []
    for (what, protocol, inner), (family, order), count in product(inner_packets(), ORDERS.items(), (0, 1, 3, MAX)):
        header = PLAIN | {"innerProtocol": protocol, "order": order[: count + 1]}
        rows.append(_row(f"{what}; {count} candidates of {family}", _tagged(header, inner), order[0]))
    header = PLAIN | {"order": SERVERS[:4], "at": 1}
    tcp = ipv4(6, TCP_ACK)
    good = _tagged(header, tcp)
    end = 12 + 3 * 4 + 8
    fields = {
        "the service": 7,
        "the generation": 11,
        "the candidate that had the packet": 15,
        "the next candidate": 19,
        "the last candidate": 23,
        "the tag's first byte": 24,
        "the tag's last byte": 31,
        "the inner source": end + 15,
        "the inner source port": end + 21,
        "the inner destination port": end + 23,
    }
    for name, at in fields.items():
        rows.append(_row(f"wrong: {name} was changed", set_bytes(good, {at: good[at] ^ 1}), SERVERS[1]))
    rows += [
        _row("right: LATE is not covered", set_bytes(good, {5: good[5] | 4}), SERVERS[1]),
        _row("wrong: as if it had been tried less", set_bytes(good, {4: good[4] + 1}), SERVERS[1]),
        _row("wrong: as if it had been tried more", set_bytes(good, {4: good[4] - 1}), SERVERS[1]),
        _row("wrong: sent to another server", good, SERVERS[5]),
        _row("wrong: sent to a candidate whose turn it is not", good, SERVERS[2]),
        _row("wrong: the other key is named", set_bytes(good, {5: good[5] | 8}), SERVERS[1]),
        _row("wrong: a tag of all zero", write(header | {"tag": NO_TAG}) + tcp, SERVERS[1]),
        _row("missing: no tag", write(header) + tcp, SERVERS[1]),
    ]
    return rows


def key_rows() -> list[dict]:
    services = (0, 1, 2, 255, 256, 257, 0x1234, 0x3412, 0xFFFF)
    return [{"name": f"service {one}", "service": one, "key": keys.of_service(KEY, one).hex()} for one in services]


def list_vectors() -> dict:
    rows = {"key": KEY.hex(), "keys": key_rows(), "valid": valid_rows(), "malformed": malformed_rows()}
    return rows | {"forwarded": forwarded_rows(), "tags": tag_rows()}


def drawn_list(draw: random.Random) -> dict:
    """Right packets, and the same with a bit turned or cut short; the oracle tells which of them are still right."""
    files: dict = {"key": KEY.hex(), "keys": key_rows(), "valid": [], "malformed": [], "forwarded": [], "tags": []}
    for number in range(900):
        _, protocol, inner = draw.choice(inner_packets())
        order = draw.sample(draw.choice(list(ORDERS.values())), draw.randrange(1, MAX + 2))
        header = PLAIN | {"innerProtocol": protocol, "order": order, "at": draw.randrange(len(order))}
        header |= {"service": draw.randrange(1 << 16), "generation": draw.randrange(1, 1 << 32)}
        header |= {"late": draw.random() < 0.3, "key": draw.random() < 0.3}
        data = bytearray(_tagged(header, inner) if draw.random() < 0.7 else write(header) + inner)
        receiver = order[header["at"]] if draw.random() < 0.8 else draw.choice(SERVERS + SERVERS6)
        if draw.random() < 0.4:
            data[draw.randrange(16)] ^= 1 << draw.randrange(8)
        if draw.random() < 0.1:
            data = data[: draw.randrange(len(data))]
        name, text = f"random packet {number}", bytes(data)
        try:
            fields = read(text, receiver)
        except RefusedError:
            files["malformed"].append(_malformed(name, text, receiver))
            continue
        files["valid"].append(_valid(name, text, receiver))
        if text[fields["headerLength"] :] == inner and fields["innerProtocol"] == protocol:
            files["tags"].append(_row(name, text, receiver))
            if fields["left"]:
                late = draw.random() < 0.5
                files["forwarded"].append(_forwarded(name, text, receiver, draw.randrange(1, fields["left"] + 1), late))
    return files
