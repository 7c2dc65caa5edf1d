# SPDX-License-Identifier: Apache-2.0
"""fragment.json: fragments between muxes, right ones and malformed ones, and their tags."""

import random

from oracle import RefusedError, keys
from oracle.fragment import head, put, read, tag

from .rows import changed, cuts, refused_rows, spoiled, valid

KEY, NEXT = bytes(range(0x10, 0x20)), bytes(range(0x21, 0x31))
MUX, OTHER, MUX6, OTHER6 = "10.1.0.11", "10.1.0.12", "2001:db8:1::11", "2001:db8:1::12"
PLAIN = {"innerProtocol": 4, "key": False, "tag": None}
TAGGED = PLAIN | {"tag": bytes(8).hex()}
FIRST = bytes.fromhex("4500003c12342000401100000a0201020a630001c001005000280000") + bytes(range(32))
LATER = bytes.fromhex("4500001c12340004401100000a0201020a630001") + bytes(range(8))
FIRST6 = (
    bytes.fromhex("60000000001c2c4020010db800020000000000000000000120010db8006300000000000000000001")
    + bytes.fromhex("110000010000abcd")
    + bytes(range(20))
)


def valid_rows() -> list[dict]:
    return [
        valid(read, "no tag", head(PLAIN) + FIRST),
        valid(read, "no tag, IPv6", head(PLAIN | {"innerProtocol": 41}) + FIRST6),
        valid(read, "a tag", head(TAGGED | {"tag": "0123456789abcdef"}) + FIRST),
        valid(read, "a tag by the key with the bit", head(TAGGED | {"key": True, "innerProtocol": 41}) + FIRST6),
        valid(read, "nothing behind it", head(PLAIN)),
        valid(read, "nothing behind a tag", head(TAGGED)),
    ]


def malformed_rows() -> list[dict]:
    plain, tagged = head(PLAIN) + FIRST, head(TAGGED) + FIRST
    cases = [
        ("GUE version 1", changed(plain, {0: 0x40})),
        ("a GUE control message", changed(plain, {0: 0x20})),
        ("a GUE flag", changed(plain, {2: 0x80})),
        ("a GUE flag, with a tag", changed(tagged, {3: 1})),
        ("inner protocol 59", changed(plain, {1: 59})),
        ("inner protocol 17, with a tag", changed(tagged, {1: 17})),
        ("hlen 1", changed(plain, {0: 1})),
        ("hlen 2", changed(tagged, {0: 2})),
        ("hlen 4", changed(tagged, {0: 4})),
        ("a list of version 2", changed(tagged, {4: 0x20})),
        ("a bit beside the version", changed(tagged, {4: 0xF1})),
        ("a head without TAG", changed(tagged, {5: 0})),
        ("KEY without TAG", changed(tagged, {5: 8})),
        ("a flag without a meaning", changed(tagged, {5: 3})),
        ("a bit behind the flags", changed(tagged, {6: 1})),
        ("a bit in front of the tag", changed(tagged, {7: 0x80})),
    ]
    cases += cuts("", head(TAGGED)) + cuts("no tag, ", head(PLAIN), 1)
    rows = refused_rows(read, cases)
    return [{key: row[key] for key in ("name", "bytes")} for row in rows]


def _tagged(name: str, cluster: bytes, data: bytes, sender: str = MUX, receiver: str = OTHER) -> dict:
    """`right`: whether the tag in it is the one by this cluster's key, from this sender to this receiver."""
    right = data[8:16] == tag(cluster, data, sender, receiver)
    row = {"name": name, "cluster": cluster.hex(), "sender": sender, "receiver": receiver}
    return row | {"bytes": data.hex(), "right": right}


def tagged_rows() -> list[dict]:
    first = put(KEY, head(TAGGED) + FIRST, MUX, OTHER)
    six = put(NEXT, head(TAGGED | {"key": True, "innerProtocol": 41}) + FIRST6, MUX6, OTHER6)
    later = put(KEY, head(TAGGED) + LATER, MUX, OTHER)
    rows = [
        _tagged("a first fragment", KEY, first),
        _tagged("a later one, shorter than what the tag covers", KEY, later),
        _tagged("IPv6, by the key with the bit", NEXT, six, MUX6, OTHER6),
        _tagged("nothing behind it", KEY, put(KEY, head(TAGGED), MUX, OTHER)),
        _tagged("by another key", NEXT, first),
        _tagged("from another mux", KEY, first, OTHER, OTHER),
        _tagged("to another mux", KEY, first, MUX, "10.1.0.13"),
        _tagged("back to its sender", KEY, first, OTHER, MUX),
        _tagged("a tag of all zero", KEY, head(TAGGED) + FIRST),
        _tagged("KEY was set", KEY, changed(first, {5: 9})),
        _tagged("behind what the tag covers", KEY, changed(first, {16 + 48: 0xFF})),
    ]
    places = {"an address": 16 + 15, "the identification": 16 + 5, "the offset": 16 + 7, "a port": 16 + 21}
    for name, at in places.items():
        rows.append(_tagged(f"{name} was changed", KEY, changed(first, {at: first[at] ^ 1})))
    assert {row["right"] for row in rows} == {True, False}
    return rows


def key_rows() -> list[dict]:
    clusters = (KEY, NEXT, bytes(16), b"\xff" * 16)
    return [
        {
            "name": f"cluster's key {one.hex()}",
            "cluster": one.hex(),
            "muxes": keys.of_muxes(one).hex(),
            "bit": keys.bit(one),
        }
        for one in clusters
    ]


def fragment_vectors() -> dict:
    return {"keys": key_rows(), "valid": valid_rows(), "malformed": malformed_rows(), "tagged": tagged_rows()}


def drawn_fragment(draw: random.Random) -> dict:
    """Right ones, and the same with a bit turned or cut short; the oracle tells which of them are still right."""
    files: dict = {"keys": key_rows(), "valid": [], "malformed": [], "tagged": []}
    for number in range(1000):
        fields = PLAIN | {"innerProtocol": draw.choice([4, 41]), "key": draw.random() < 0.5}
        has_tag = draw.random() < 0.7
        data = head(fields | {"tag": bytes(8).hex() if has_tag else None}) + draw.randbytes(draw.randrange(70))
        sender, receiver = draw.choice([(MUX, OTHER), (MUX6, OTHER6)])
        data = spoiled(draw, put(KEY, data, sender, receiver) if has_tag else data, 0.5, 0.2)
        name = f"random fragment {number}"
        try:
            files["valid"].append(valid(read, name, data))
        except RefusedError:
            files["malformed"].append({"name": name, "bytes": data.hex()})
            continue
        if read(data)["tag"] is not None:
            files["tagged"].append(_tagged(name, KEY, data, sender, receiver))
    return files
