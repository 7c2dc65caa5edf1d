# SPDX-License-Identifier: Apache-2.0
"""notice.json: notices, what servers answer, and tags of each kind."""

import random
from itertools import product

from oracle import RefusedError, keys
from oracle.notice import answer, check, put, read, tag, write

from .rows import changed, cuts, refused_rows, spoiled, valid

KEY = bytes(range(0x40, 0x50))
NO_TAG = bytes(8).hex()
SERVER, OTHER, SERVER6 = "10.1.0.22", "10.1.0.23", "2001:db8:1::22"
PLAIN = {"ack": False, "key": False, "service": 1, "generation": 12, "tag": None}
TAGGED = PLAIN | {"tag": NO_TAG}


def valid_rows() -> list[dict]:
    kinds = product(
        (False, True), (("no tag", None, False), ("a tag", "0123456789abcdef", False), ("KEY", NO_TAG, True))
    )
    rows = []
    for ack, (what, own_tag, key) in kinds:
        fields = PLAIN | {"ack": ack, "tag": own_tag, "key": key}
        rows.append(valid(read, f"{'an acknowledgement' if ack else 'a notice'}, {what}", write(fields)))
    least, greatest = {"service": 0, "generation": 1}, {"service": 65535, "generation": 0xFFFFFFFF}
    rows.append(valid(read, "numbers at their least", write(PLAIN | least)))
    rows.append(valid(read, "numbers at their greatest", write(TAGGED | greatest)))
    return rows


def malformed_rows() -> list[dict]:
    plain, tagged = write(PLAIN), write(TAGGED)
    cases = [
        ("GUE version 1", changed(plain, {0: 0x42})),
        ("a GUE control message", changed(plain, {0: 0x22})),
        ("a GUE flag", changed(plain, {3: 1})),
        ("inner protocol 4", changed(plain, {1: 4})),
        ("inner protocol 41", changed(plain, {1: 41})),
        ("inner protocol 0", changed(tagged, {1: 0})),
        ("hlen one word short of the 8 bytes", changed(plain, {0: 1})),
        ("hlen beyond the end", changed(plain, {0: 3})),
        ("hlen beyond a tag", changed(tagged, {0: 5}) + bytes(4)),
        ("version 1", changed(plain, {4: 0x10})),
        ("version 3", changed(plain, {4: 0x30})),
        ("one left of none", changed(plain, {4: 0x21})),
        ("7 candidates", changed(plain, {5: 0x70})),
        ("a candidate", changed(plain, {0: 3, 5: 0x10}) + bytes(4)),
        ("a candidate that is left", changed(plain, {0: 3, 4: 0x21, 5: 0x10}) + bytes(4)),
        ("a candidate of 16 bytes", changed(plain, {0: 6, 5: 0x12}) + bytes(16)),
        ("a candidate without room in hlen", changed(plain, {5: 0x10})),
        ("IPV6", changed(plain, {5: 0x02})),
        ("IPV6, an acknowledgement with a tag", changed(tagged, {5: 0x07})),
        ("KEY without TAG", changed(plain, {5: 0x08})),
        ("TAG without room in hlen", changed(plain, {5: 0x01})),
        ("room for a tag without TAG", changed(tagged, {5: 0})),
        ("generation 0", changed(plain, {11: 0})),
        ("a byte behind it", plain + b"\0"),
        ("a tag behind it that hlen leaves out", plain + bytes(8)),
        ("four bytes behind it", tagged + bytes(4)),
        # Two faults: the earlier check gives the word.
        ("inner protocol 4 and something behind it", changed(plain, {1: 4}) + b"\0"),
        ("generation 0 and IPV6", changed(plain, {5: 0x02, 11: 0})),
        ("generation 0 and something behind it", changed(plain, {11: 0}) + b"\0"),
    ]
    return refused_rows(read, cases + cuts("", tagged))


def _answered(name: str, data: bytes, server: str, known: int) -> dict:
    after = answer(KEY, data, server, known)
    return {"name": name, "server": server, "before": data.hex(), "known": known, "after": after.hex()}


def answered_rows() -> list[dict]:
    rows = []
    for server, (what, fields) in product((SERVER, SERVER6), (("no tag", PLAIN), ("a tag", TAGGED))):
        data = put(KEY, write(fields), server)
        for known in (12, 13, 0xFFFFFFFF):
            rows.append(_answered(f"{server}, {what}, generation {known} is known", data, server, known))
    second = put(KEY, write(TAGGED | {"key": True}), SERVER)
    return [*rows, _answered("the second key stays named", second, SERVER, 12)]


def _row(name: str, data: bytes, server: str) -> dict:
    one = {"name": name, "server": server, "bytes": data.hex(), "result": check(KEY, data, server)}
    return one | {"tag": tag(KEY, data, server).hex()}


def tag_rows() -> list[dict]:
    rows = []
    for server, ack in product((SERVER, OTHER, SERVER6), (False, True)):
        data = put(KEY, write(TAGGED | {"ack": ack}), server)
        rows.append(_row(f"right: {'an acknowledgement of' if ack else 'a notice to'} {server}", data, server))
    good = put(KEY, write(TAGGED), SERVER)
    fields = {"the service": 7, "the generation": 11, "the tag's first byte": 12, "the tag's last byte": 19}
    rows += [
        _row(f"wrong: {name} was changed", changed(good, {at: good[at] ^ 1}), SERVER) for name, at in fields.items()
    ]
    return [
        *rows,
        _row("wrong: a notice as its acknowledgement", changed(good, {5: good[5] | 4}), SERVER),
        _row("wrong: an acknowledgement as its notice", changed(answer(KEY, good, SERVER, 12), {5: good[5]}), SERVER),
        _row("wrong: the other key is named", changed(good, {5: good[5] | 8}), SERVER),
        _row("wrong: sent to another server", good, OTHER),
        _row("wrong: another cluster's", put(bytes(16), write(TAGGED), SERVER), SERVER),
        _row("wrong: a tag of all zero", write(TAGGED), SERVER),
        _row("missing: no tag", write(PLAIN), SERVER),
    ]


def key_rows() -> list[dict]:
    servers = (SERVER, OTHER, SERVER6, "0.0.0.0", "255.255.255.255", "::ffff:0:1")
    return [{"name": f"server {one}", "server": one, "key": keys.of_server(KEY, one).hex()} for one in servers]


def notice_vectors() -> dict:
    rows = {"key": KEY.hex(), "keys": key_rows(), "valid": valid_rows(), "malformed": malformed_rows()}
    return rows | {"answered": answered_rows(), "tags": tag_rows()}


def drawn_notice(draw: random.Random) -> dict:
    """Right ones, and the same with a bit turned or cut short; the oracle tells which of them are still right."""
    files: dict = {"key": KEY.hex(), "keys": key_rows(), "valid": [], "malformed": [], "answered": [], "tags": []}
    for number in range(500):
        server = draw.choice([SERVER, OTHER, SERVER6])
        fields = draw.choice([PLAIN, TAGGED]) | {"ack": draw.random() < 0.5, "key": draw.random() < 0.3}
        fields |= {"service": draw.randrange(1 << 16), "generation": draw.randrange(1, 1 << 32)}
        data = put(KEY, write(fields), server if draw.random() < 0.8 else OTHER)
        data += draw.randbytes(draw.choice([0] * 9 + [4]))
        name, text = f"random notice {number}", spoiled(draw, data, 0.5, 0.1)
        try:
            files["valid"].append(valid(read, name, text))
        except RefusedError:
            files["malformed"] += refused_rows(read, [(name, text)])
            continue
        files["tags"].append(_row(name, text, server))
        if not read(text)["ack"]:
            files["answered"].append(_answered(name, text, server, draw.randrange(1, 1 << 32)))
    return files
