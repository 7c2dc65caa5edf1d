# SPDX-License-Identifier: Apache-2.0
"""notice.json: notices as they stand on the wire: right ones, malformed ones, and tags of each kind."""

import random
from itertools import product

from oracle import RefusedError
from oracle.notice import BUCKETS_MAX, check_notice, notice_message, notice_tag, read_notice, write_notice

KEY = bytes(range(0x20, 0x30))
PLAIN = {"service": 1, "generation": 12, "since": None, "previous": None, "tag": None, "buckets": []}
MOVED = PLAIN | {"since": 1_700_000_000, "previous": "10.1.0.21", "buckets": [4711, 0, 8388607]}
MOVED6 = MOVED | {"previous": "2001:db8::21"}
TAGGED = {"tag": "0123456789abcdef"}


def _valid(name: str, data: bytes) -> dict:
    fields = read_notice(data)
    return {"name": name, "bytes": data.hex(), "fields": fields, "written": write_notice(KEY, fields).hex()}


def _tag_row(name: str, data: bytes) -> dict:
    one = {"name": name, "bytes": data.hex(), "result": check_notice(KEY, data)}
    return one | {"message": notice_message(KEY, data).hex(), "tag": notice_tag(KEY, data).hex()}


def _set(data: bytes, changes: dict[int, int]) -> bytes:
    changed = bytearray(data)
    for at, value in changes.items():
        changed[at] = value
    return bytes(changed)


def right_notices() -> list[tuple[str, bytes]]:
    kinds = [("the generation alone", PLAIN), ("moves from IPv4", MOVED), ("moves from IPv6", MOVED6)]
    notices = []
    for (name, fields), tag, padding in product(kinds, (None, TAGGED), (0, 1, 3)):
        sentence = f"{name}, {'tag' if tag else 'no tag'}, {padding} words of padding"
        notices.append((sentence, write_notice(KEY, fields | (tag or {}), padding)))
    for count in (1, 2, 351, BUCKETS_MAX):
        buckets = [7 * number for number in range(count)]
        notices.append((f"{count} buckets", write_notice(KEY, MOVED6 | TAGGED | {"buckets": buckets})))
    greatest = {"service": 65535, "generation": 0xFFFFFFFF, "since": 0xFFFFFFFF, "previous": "255.1.2.254"}
    notices += [
        ("every number at its greatest", write_notice(KEY, MOVED | greatest)),
        ("numbers at their least", write_notice(KEY, MOVED | {"service": 0, "generation": 1, "since": 0})),
        ("a bucket that no ring has is carried", write_notice(KEY, MOVED | {"buckets": [0xFFFFFFFF, 1]})),
        ("a bucket twice is carried", write_notice(KEY, MOVED | {"buckets": [5, 5]})),
        ("a previous of all zero is carried", write_notice(KEY, MOVED | {"previous": "0.0.0.0"})),
    ]
    return notices


def _reason(data: bytes) -> str:
    try:
        read_notice(data)
    except RefusedError as refused:
        return refused.args[0]
    raise AssertionError(f"{data.hex()} was meant to be malformed")


def malformed_rows() -> list[dict]:
    plain, moved, moved6 = (write_notice(KEY, fields) for fields in (PLAIN, MOVED, MOVED6))
    too_many = MOVED | {"buckets": list(range(BUCKETS_MAX + 1))}
    cases = [
        ("a hop", _set(plain, {4: 0x11})),
        ("a hop, with moves", _set(moved, {4: 0x11})),
        ("15 hops", _set(moved, {4: 0x1F})),
        ("bucket 0 in the header", _set(plain, {8: 0, 9: 0, 10: 0, 11: 0})),
        ("bucket 4294967294 in the header", _set(moved, {11: 0xFE})),
        ("a payload of one byte", moved[:25]),
        ("a payload of a bucket and two bytes", moved[:30]),
        ("a payload that ends in a bucket", moved[:-1]),
        ("a payload and a byte", moved + b"\0"),
        ("MOVED without a payload", moved[:24]),
        ("MOVED from IPv6 without a payload", moved6[:36]),
        ("a payload without MOVED", plain + moved[24:]),
        ("a payload of one byte without MOVED", plain + b"\0"),
        ("one bucket more than there may be", write_notice(KEY, too_many)),
        ("inner protocol 4", _set(moved, {1: 4})),
        ("inner protocol 41", _set(plain, {1: 41})),
        ("inner protocol 0", _set(moved, {1: 0})),
        ("GUE version 1", _set(plain, {0: 0x43})),
        ("a GUE control message", _set(plain, {0: 0x23})),
        ("a GUE flag", _set(plain, {3: 1})),
        ("hlen one word short of the 12 bytes", _set(plain, {0: 2})),
        ("hlen beyond the end", _set(plain, {0: 4})),
        ("steer version 3", _set(plain, {4: 0x30})),
        ("a second bucket", _set(plain, {0: 5, 5: 0x08}) + bytes(8)),
        ("a second bucket, with moves", _set(moved, {0: 7, 5: 0x09}) + bytes(8)),
        ("SECOND without room in hlen", _set(plain, {5: 0x08})),
        ("MOVED2 without SECOND", _set(plain, {5: 0x20})),
        ("LATE", _set(plain, {5: 0x80})),
        ("LATE, with moves", _set(moved, {5: 0x81})),
        ("PREVIOUS6 without MOVED", _set(plain, {5: 2})),
        ("MOVED without room in hlen", _set(plain, {5: 1}) + bytes(8)),
        ("generation 0", _set(moved, {15: 0})),
        # Two faults: the earlier check gives the word.
        ("inner protocol 4 and a hop", _set(moved, {1: 4, 4: 0x11})),
        ("generation 0 and a payload without MOVED", _set(plain, {15: 0}) + bytes(4)),
        ("generation 0 and LATE", _set(plain, {5: 0x80, 15: 0})),
    ]
    whole = write_notice(KEY, MOVED6 | TAGGED)
    header = len(whole) - 12
    cases += [(f"the longest header cut to {n} bytes", whole[:n]) for n in range(header + 1)]
    return [{"name": name, "bytes": data.hex(), "error": _reason(data)} for name, data in cases]


def wrong_rows() -> list[dict]:
    """A bit turned in each field that the tag covers, and in the tag itself."""
    fields = {
        "service": 7,
        "generation": 15,
        "since": 19,
        "previous": 23,
        "the tag's first byte": 24,
        "the tag's last byte": 31,
        "the first bucket": 32 + 3,
        "the last bucket": 32 + 11,
    }
    good = write_notice(KEY, MOVED | TAGGED)
    rows = [_tag_row(f"wrong: {name} was changed", _set(good, {at: good[at] ^ 1})) for name, at in fields.items()]
    rows.append(_tag_row("wrong: a bucket was added", good + bytes(4)))
    rows.append(_tag_row("wrong: a bucket was removed", good[:-4]))
    rows.append(_tag_row("wrong: buckets were exchanged", good[:32] + good[36:40] + good[32:36] + good[40:]))
    rows.append(_tag_row("wrong: another key", write_notice(bytes(16), MOVED | TAGGED)))
    rows.append(_tag_row("wrong: another key, the generation alone", write_notice(bytes(16), PLAIN | TAGGED)))
    rows.append(_tag_row("missing: the generation alone", write_notice(KEY, PLAIN)))
    rows.append(_tag_row("missing: moves", write_notice(KEY, MOVED)))
    assert {row["result"] for row in rows} == {"wrong", "missing"}
    return rows


def notice_vectors() -> dict:
    notices = right_notices()
    tagged = [_tag_row(name, data) for name, data in notices if read_notice(data)["tag"] is not None]
    assert {row["result"] for row in tagged} == {"right"}
    return {
        "key": KEY.hex(),
        "valid": [_valid(name, data) for name, data in notices],
        "malformed": malformed_rows(),
        "tags": tagged + wrong_rows(),
    }


def _drawn_notice(draw: random.Random) -> bytes:
    fields = draw.choice([PLAIN, MOVED, MOVED6]) | draw.choice([{}, TAGGED])
    fields |= {"service": draw.randrange(1 << 16), "generation": draw.randrange(1, 1 << 32)}
    if fields["since"] is not None:
        count = draw.choice([1, 2, 3, 10, BUCKETS_MAX])
        fields |= {"since": draw.randrange(1 << 32), "buckets": [draw.randrange(1 << 23) for _ in range(count)]}
    return write_notice(KEY, fields, draw.choice([0, 0, 1, 3]))


def drawn_notice(draw: random.Random) -> dict:
    """Random notices, half of them with a bit turned, some cut short; the oracle tells which are still well formed."""
    files: dict = {"key": KEY.hex(), "valid": [], "malformed": [], "tags": []}
    for number in range(500):
        data = bytearray(_drawn_notice(draw))
        if draw.random() < 0.5:
            data[draw.randrange(min(len(data), 40))] ^= 1 << draw.randrange(8)
        if draw.random() < 0.2:
            data = data[: draw.randrange(len(data))]
        name = f"random notice {number}"
        try:
            files["valid"].append(_valid(name, bytes(data)))
        except RefusedError as refused:
            files["malformed"].append({"name": name, "bytes": data.hex(), "error": refused.args[0]})
            continue
        files["tags"].append(_tag_row(name, bytes(data)))
    return files
