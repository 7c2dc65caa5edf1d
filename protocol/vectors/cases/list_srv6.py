# SPDX-License-Identifier: Apache-2.0
"""list-srv6.json: lists of candidates as segments, what servers send on, and their tags."""

import random

from oracle import list_srv6
from oracle.list import MAX
from oracle.list_srv6 import write

from .lists import KEY, NO_TAG, SERVERS, SERVERS6, Lists
from .rows import changed, cuts

MIXED = [SERVERS[n] if n % 2 else SERVERS6[n] for n in range(MAX + 1)]
LISTS = Lists(list_srv6, {"IPv6": SERVERS6, "both families": MIXED}, lambda count: sorted({0, count // 2, count}))
ONE = LISTS.one


def valid_rows() -> list[dict]:
    zero = {"order": [SERVERS6[0], "::"], "service": 65535, "generation": 0xFFFFFFFF}
    return [*LISTS.valid_rows(), LISTS.written("an address of all zero is carried", **zero)]


def malformed_rows() -> list[dict]:
    plain, three = write(ONE), write(ONE | {"order": SERVERS6[:4]})
    tagged, zero = write(ONE | {"tag": NO_TAG}), write(ONE | {"generation": 0})
    whole = write(ONE | {"order": SERVERS6, "tag": NO_TAG})
    tlv, tlv3 = 24, 72
    cases = [
        ("next header 59", changed(plain, {0: 59})),
        ("7 candidates", changed(whole, {4: 7})),
        ("255 candidates", changed(whole, {4: 255})),
        ("no room for the TLV", changed(plain, {1: 2})),
        ("no room for the TLV of 4 segments", changed(three, {1: 8})),
        ("longer than the longest header", changed(whole, {1: 17}) + bytes(8)),
        ("a unit more than the list needs", changed(plain, {1: 4, tlv + 1: 14}) + bytes(8)),
        ("a unit less than the tag needs", changed(plain, {tlv + 3: 1})),
        ("room for a tag without TAG", changed(tagged, {tlv + 3: 0})),
        ("a TLV that ends before the header", changed(tagged, {tlv + 1: 6})),
        ("a TLV that ends behind the header", changed(plain, {tlv + 1: 14})),
        ("a candidate less than there is room for", changed(three, {3: 2, 4: 2})),
        ("another TLV", changed(plain, {tlv: 5})),
        ("version 1", changed(plain, {tlv + 2: 0x10})),
        ("version 3", changed(plain, {tlv + 2: 0x30})),
        ("one left of none", changed(plain, {3: 1})),
        ("4 left of 3", changed(three, {3: 4})),
        ("255 left of 3", changed(three, {3: 255})),
        ("a bit behind the version", changed(plain, {tlv + 2: 0x21})),
        ("IPV6, which no flag says here", changed(plain, {tlv + 3: 2})),
        ("a flag of 16", changed(plain, {tlv + 3: 16})),
        ("a flag of 128", changed(plain, {tlv + 3: 128})),
        ("KEY without TAG", changed(plain, {tlv + 3: 8})),
        ("KEY without TAG, with room for a tag", changed(tagged, {tlv + 3: 8})),
        ("generation 0", zero),
        ("generation 0 in a tagged header", write(ONE | {"generation": 0, "tag": NO_TAG})),
        ("sent to the next candidate", changed(three, {3: 2})),
        ("sent to the last candidate", changed(three, {3: 0})),
        ("another destination in its first byte", changed(plain, {8: 0x21})),
        ("another destination in its last byte", changed(plain, {23: 0x22})),
        # Two faults: the earlier check gives the word.
        ("next header 59 and 7 candidates", changed(whole, {0: 59, 4: 7})),
        ("7 candidates and no room for the TLV", changed(plain, {1: 2, 4: 7})),
        ("no room for the TLV, and cut", changed(plain, {1: 2})[:24]),
        ("version 1 and one left of none", changed(plain, {3: 1, tlv + 2: 0x10})),
        ("4 left of 3, and a flag of 16", changed(three, {3: 4, tlv3 + 3: 16})),
        ("a flag of 16, and KEY without TAG", changed(plain, {tlv + 3: 24})),
        ("KEY without TAG, and a wrong length", changed(plain, {tlv + 1: 7, tlv + 3: 8})),
        ("a wrong length and generation 0", changed(zero, {tlv + 1: 7})),
        ("generation 0 and another destination", changed(zero, {23: 0x22})),
    ]
    return [LISTS.malformed(*case) for case in [*cases, *cuts("the longest header ", whole)]]


def tag_rows() -> list[dict]:
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
    rows, good = LISTS.tag_rows((0, 2, MAX), fields)
    return [
        *rows,
        LISTS.row("right: LATE is not covered", changed(good, {tlv + 3: good[tlv + 3] | 4}), SERVERS6[1]),
        LISTS.row("right: sent on once less", changed(good, {3: good[3] + 1}), SERVERS6[0]),
        LISTS.row("right: sent on once more", changed(good, {3: good[3] - 1}), SERVERS6[2]),
        LISTS.row("wrong: sent to another server", changed(good, {8 + 2 * 16 + 15: 0x29}), "2001:db8::29"),
        LISTS.row("wrong: the other key is named", changed(good, {tlv + 3: good[tlv + 3] | 8}), SERVERS6[1]),
        *LISTS.untagged_rows(),
    ]


def list_srv6_vectors() -> dict:
    rows = {"key": KEY.hex(), "valid": valid_rows(), "malformed": malformed_rows()}
    return rows | {"forwarded": LISTS.forwarded_rows(), "tags": tag_rows()}


def _spoiled(draw: random.Random, data: bytes, servers: int) -> bytes:
    """In the fields of SRH and TLV more often than in the segments."""
    after, tlv = bytearray(data), 8 + 16 * servers
    if draw.random() < 0.4:
        at = draw.choice([*range(8), *range(tlv, tlv + 8), draw.randrange(len(data))])
        after[at] ^= 1 << draw.randrange(8)
    return bytes(after[: draw.randrange(len(data))] if draw.random() < 0.1 else after)


def drawn_list_srv6(draw: random.Random) -> dict:
    return LISTS.drawn(draw, 0.9, _spoiled)
