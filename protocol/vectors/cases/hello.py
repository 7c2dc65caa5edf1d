# SPDX-License-Identifier: Apache-2.0
"""hello.json: what muxes tell each other, right, malformed, and refused by this reader or that."""

import random

from oracle import RefusedError
from oracle.hello import ANNOUNCES, BEHIND, HEAD, MOST, judge, read, write

from .rows import changed, cuts, refused_rows, spoiled

KEY, NEXT = bytes(range(0x10, 0x20)), bytes(range(0x21, 0x31))  # bit 0 of the first byte differs: KEY
CLUSTER = "00112233445566778899aabbccddeeff"
WEB = {"id": 1, "flags": ANNOUNCES, "generation": 12, "settled": 11}
DNS = {"id": 258, "flags": BEHIND, "generation": 0xFFFFFFFF, "settled": 0xFFFFFFFF}
API = {"id": 65535, "flags": 0, "generation": 1, "settled": 0}
HELLO = {"sender": "10.1.0.12", "cluster": CLUSTER, "boot": 1_700_000_000_123, "counter": 7}
HELLO |= {"services": [WEB, DNS, API]}
READER = {"self": "10.1.0.11", "cluster": CLUSTER, "keys": [], "source": "10.1.0.12", "peers": ["10.1.0.12"]}


def _many(count: int) -> list[dict]:
    return [{"id": 3 * n + 1, "flags": n % 3, "generation": n + 1, "settled": n} for n in range(count)]


def _valid(name: str, data: bytes) -> dict:
    fields = read(data)
    wide = {key: f"{fields[key]:016x}" for key in ("boot", "counter")}
    return {"name": name, "bytes": data.hex(), "fields": fields | wide}


def valid_rows() -> list[dict]:
    greatest = {"boot": (1 << 64) - 1, "counter": (1 << 64) - 1}
    hellos = [
        ("three services", HELLO),
        ("no service", HELLO | {"services": []}),
        ("one service", HELLO | {"services": [WEB]}),
        ("as many services as fit", HELLO | {"services": _many(MOST)}),
        ("a mux with an IPv6 address", HELLO | {"sender": "2001:db8:1::12"}),
        ("boot and counter at their greatest", HELLO | greatest),
        ("boot and counter at their least", HELLO | {"boot": 1, "counter": 1}),
    ]
    return [
        _valid(f"{name}, {how}", write(hello, key))
        for name, hello in hellos
        for how, key in (("no tag", None), ("with a tag", KEY))
    ] + [
        _valid("a tag by a key of the other bit", write(HELLO, NEXT)),
    ]


def extended_rows() -> list[dict]:
    return [
        _valid("an extension", write(HELLO, None, bytes([7, 2]) + bytes(range(6)))),
        _valid("extensions, with a tag", write(HELLO, KEY, bytes([7, 1, 0, 0, 8, 1, 255, 255]))),
        _valid("extensions and no service", write(HELLO | {"services": []}, KEY, bytes([7, 255]) + bytes(1018))),
    ]


def malformed_rows() -> list[dict]:
    plain, tagged, empty = write(HELLO, None), write(HELLO, KEY), write(HELLO | {"services": []}, None)
    first = HEAD
    cases = [
        ("another version", changed(plain, {3: ord("2")})),
        ("another magic", b"FLD2" + plain[4:]),
        ("a flag without a meaning", changed(plain, {4: 2})),
        ("a tag and a flag without a meaning", changed(tagged, {4: 3})),
        ("KEY without TAG", changed(plain, {4: 8})),
        ("an extension that is not there", changed(plain, {5: 1})),
        ("an extension that the head leaves out", changed(write(HELLO, KEY, bytes(4)), {5: 0})),
        ("more extensions than fit a packet", write(HELLO | {"services": _many(13)}, KEY, bytes(1016))),
        ("a byte too long", plain + b"\0"),
        ("a byte too short", plain[:-1]),
        ("a tag that is not there", changed(plain, {4: 1})),
        ("a tag without its flag", changed(tagged, {4: 0})),
        ("one service more than there is", changed(plain, {7: 4})),
        ("one service fewer than there is", changed(plain, {7: 2})),
        ("one service more than fits a packet", write(HELLO | {"services": _many(MOST + 1)}, None)),
        ("65535 services", changed(empty, {6: 255, 7: 255})),
        ("service 0", write(HELLO | {"services": [WEB | {"id": 0}]}, None)),
        ("a service twice", write(HELLO | {"services": [WEB, WEB]}, None)),
        ("services that do not ascend", write(HELLO | {"services": [DNS, WEB]}, None)),
        ("a service that is announced and behind", changed(plain, {first + 2: ANNOUNCES | BEHIND})),
        ("a service's flag without a meaning", changed(plain, {first + 2: 4})),
        ("the byte behind a service's flags is not zero", changed(plain, {first + 3: 1})),
        ("generation 0", write(HELLO | {"services": [WEB | {"generation": 0}]}, None)),
        ("generation 0 of the last service", write(HELLO | {"services": [WEB, API | {"generation": 0}]}, None)),
        ("boot 0", write(HELLO | {"boot": 0}, None)),
        ("counter 0", write(HELLO | {"counter": 0}, None)),
        # Two faults: the earlier check gives the word.
        ("another version and a flag without a meaning", changed(plain, {3: 0, 4: 8})),
        ("a flag without a meaning, too short", changed(plain, {4: 8})[:-1]),
        ("too short, generation 0", write(HELLO | {"services": [WEB | {"generation": 0}]}, None)[:-1]),
        ("generation 0 and boot 0", write(HELLO | {"boot": 0, "services": [WEB | {"generation": 0}]}, None)),
    ]
    return refused_rows(read, cases + cuts("", tagged))


def _judged(name: str, data: bytes, **reader: object) -> dict:
    one = READER | reader
    return {"name": name, "bytes": data.hex(), "reader": one, "result": judge(data, one)}


def judged_rows() -> list[dict]:
    plain, tagged, key = write(HELLO, None), write(HELLO, KEY), KEY.hex()
    other = "ff" + CLUSTER[2:]
    six = HELLO | {"sender": "2001:db8:1::12"}
    rows = [
        _judged("without a key", plain),
        _judged("without a key a tag is not checked", changed(tagged, {-1: tagged[-1] ^ 1})),
        _judged("with the right tag", tagged, keys=[key]),
        _judged("the right tag makes the sender a peer", tagged, keys=[key], peers=[]),
        _judged("over IPv6", write(six, None), source="2001:db8:1::12", peers=["2001:db8:1::12"]),
        _judged("a reader with one key takes it for either", write(HELLO, NEXT), keys=[NEXT.hex()]),
        _judged("the first of two keys", tagged, keys=[key, NEXT.hex()]),
        _judged("the second of two keys", write(HELLO, NEXT), keys=[key, NEXT.hex()]),
        _judged("the second of two keys is the one without the bit", tagged, keys=[NEXT.hex(), key]),
        _judged(
            "the tag of one of two keys with the bit of the other", changed(tagged, {4: 9}), keys=[key, NEXT.hex()]
        ),
        _judged("with an extension", write(HELLO, KEY, bytes(8)), keys=[key]),
        _judged("another cluster's", plain, cluster=other),
        _judged("another cluster's with the right tag", tagged, cluster=other, keys=[key]),
        _judged("the reader does not know its cluster yet", plain, cluster=None),
        _judged("from another address than it says", plain, source="10.1.0.13", peers=["10.1.0.12", "10.1.0.13"]),
        _judged("a right tag from another address", tagged, source="10.1.0.13", keys=[key]),
        _judged("no tag although there is a key", plain, keys=[key]),
        _judged("a tag by another key", tagged, keys=[bytes(16).hex()]),
        _judged("a tag of all zero", tagged[:-8] + bytes(8), keys=[key]),
        _judged("a mux that is not known, without a key", plain, peers=["10.1.0.13"]),
        _judged("from the reader itself", plain, self="10.1.0.12"),
        _judged("from the reader itself with the right tag", tagged, self="10.1.0.12", keys=[key]),
        _judged("malformed comes before everything else", plain[:-1], cluster=other, source="10.1.0.13", keys=[key]),
        _judged("the cluster comes before the sender", plain, cluster=other, source="10.1.0.13"),
        _judged("the sender comes before the tag", plain, source="10.1.0.13", keys=[key]),
    ]
    for name, at in {
        "sender": 23,
        "cluster": 39,
        "boot": 47,
        "counter": 55,
        "a generation": HEAD + 7,
        "what is settled": HEAD + 11,
        "KEY": 4,
    }.items():
        data = changed(tagged, {at: tagged[at] ^ (8 if at == 4 else 1)})
        rows.append(_judged(f"{name} was changed", data, keys=[key]))
    assert {row["result"] for row in rows} >= {"ok", "cluster", "sender", "tag_missing", "tag_wrong", "peer_unknown"}
    return rows


def hello_vectors() -> dict:
    files: dict = {"keys": [KEY.hex(), NEXT.hex()], "valid": valid_rows(), "extended": extended_rows()}
    return files | {"malformed": malformed_rows(), "judged": judged_rows()}


def drawn_hello(draw: random.Random) -> dict:
    """Right hellos, and the same with a bit turned or cut short; the oracle tells which of them are still right."""
    files: dict = {"keys": [KEY.hex(), NEXT.hex()], "valid": [], "extended": [], "malformed": [], "judged": []}
    for number in range(600):
        ids = sorted(draw.sample(range(1, 65536), draw.choice([0, 1, 2, 5, 40])))
        services = [
            {"id": n, "flags": n % 3, "generation": draw.randrange(1, 1 << 32), "settled": draw.randrange(1 << 32)}
            for n in ids
        ]
        hello = HELLO | {key: draw.randrange(1, 1 << 64) for key in ("boot", "counter")} | {"services": services}
        data = write(hello, draw.choice([None, KEY, NEXT]), bytes(draw.choice([0, 0, 8])))
        data, name = spoiled(draw, data, 0.5, 0.1), f"random hello {number}"
        files["judged"].append(_judged(name, data, keys=draw.choice([[], [KEY.hex()], [KEY.hex(), NEXT.hex()]])))
        try:
            files["extended" if data[5:6] != b"\0" else "valid"].append(_valid(name, data))
        except RefusedError as refused:
            files["malformed"].append({"name": name, "bytes": data.hex(), "error": refused.args[0]})
    return files
