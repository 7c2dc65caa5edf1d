# SPDX-License-Identifier: Apache-2.0
"""list.json: headers with lists of candidates, what servers send on, and their tags."""

import random

from oracle import keys
from oracle import list as gue
from oracle.list import MAX, write

from .lists import KEY, NO_TAG, PLAIN, SERVERS, SERVERS6, Lists
from .rows import changed, cuts, spoiled

MIXED = [SERVERS6[n] if n % 2 else SERVERS[n] for n in range(MAX + 1)]
LISTS = Lists(gue, {"IPv4": SERVERS, "IPv6": SERVERS6, "both families": MIXED}, lambda count: {0, count})


def valid_rows() -> list[dict]:
    three = write(PLAIN | {"order": SERVERS[:3], "service": 65535, "generation": 0xFFFFFFFF})
    return [
        *LISTS.valid_rows(),
        LISTS.written("an IPv4 candidate behind an IPv6 server", order=[SERVERS6[0], SERVERS[1]]),
        LISTS.valid("an address of all zero is carried", changed(three, dict.fromkeys(range(12, 16), 0)), SERVERS[0]),
    ]


def malformed_rows() -> list[dict]:
    plain, three = write(PLAIN), write(PLAIN | {"order": SERVERS[:4]})
    tagged, zero = write(PLAIN | {"tag": NO_TAG}), write(PLAIN | {"generation": 0})
    cases = [
        ("GUE version 1, which is IP directly in UDP", changed(plain, {0: 0x42})),
        ("GUE version 3", changed(plain, {0: 0xC2})),
        ("a GUE control message", changed(plain, {0: 0x22})),
        ("a GUE flag in the first byte", changed(plain, {2: 0x80})),
        ("a GUE flag in the second byte", changed(plain, {3: 1})),
        ("inner protocol 0", changed(plain, {1: 0})),
        ("inner protocol 59, a notice", changed(plain, {1: 59})),
        ("hlen 0", changed(plain, {0: 0})),
        ("hlen one word short of the 8 bytes", changed(plain, {0: 1})),
        ("one word more than the list needs", changed(plain, {0: 3}) + bytes(4)),
        ("one word less than the list needs", changed(three, {0: 4})),
        ("a candidate more than there is room for", changed(three, {5: 0x40})),
        ("a candidate less than there is room for", changed(three, {4: 0x22, 5: 0x20})),
        ("IPV6 with room for IPv4 alone", changed(three, {5: 0x32})),
        ("TAG without room", changed(plain, {5: 0x01})),
        ("room for a tag without TAG", changed(tagged, {5: 0x00})),
        ("version 0", changed(plain, {4: 0x00})),
        ("version 1", changed(plain, {4: 0x10})),
        ("version 3 with 3 left", changed(three, {4: 0x33})),
        ("7 candidates", changed(write(PLAIN | {"order": SERVERS}), {0: 9, 5: 0x70}) + bytes(4)),
        ("15 candidates", changed(plain, {5: 0xF0})),
        ("one left of none", changed(plain, {4: 0x21})),
        ("4 left of 3", changed(three, {4: 0x24})),
        ("15 left of 3", changed(three, {4: 0x2F})),
        ("KEY without TAG", changed(plain, {5: 0x08})),
        ("KEY without TAG, with room for a tag", changed(tagged, {5: 0x08})),
        ("generation 0", zero),
        ("generation 0 in a tagged header", write(PLAIN | {"generation": 0, "tag": NO_TAG})),
        # Two faults: the earlier check gives the word.
        ("GUE version 1 and C bit", changed(plain, {0: 0x62})),
        ("C bit and GUE flags", changed(plain, {0: 0x22, 2: 1})),
        ("GUE flags and inner protocol 6", changed(plain, {1: 6, 3: 1})),
        ("inner protocol 6 and hlen 0", changed(plain, {0: 0, 1: 6})),
        ("hlen 1 and nothing behind the GUE base", changed(plain, {0: 1})[:4]),
        ("hlen beyond the end and version 1", changed(plain, {0: 31, 4: 0x10})),
        ("version 1 and 15 candidates", changed(plain, {4: 0x10, 5: 0xF0})),
        ("15 candidates and none of them in the header", changed(plain, {4: 0x2F, 5: 0xF0})),
        ("4 left of 3, and KEY without TAG", changed(three, {4: 0x24, 5: 0x38})),
        ("KEY without TAG, and IPV6 without room", changed(three, {5: 0x3A})),
        ("TAG without room and generation 0", changed(zero, {5: 0x01})),
    ]
    whole = write(PLAIN | {"order": SERVERS6, "tag": NO_TAG})
    rows = [LISTS.malformed(*case) for case in [*cases, *cuts("the longest header ", whole)]]
    rows.append(LISTS.malformed("to an IPv6 server without IPV6", plain, SERVERS6[0]))
    rows.append(LISTS.malformed("generation 0 to an IPv6 server without IPV6", zero, SERVERS6[0]))
    return rows


def tag_rows() -> list[dict]:
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
    rows, good = LISTS.tag_rows((0, 1, 3, MAX), fields)
    return [
        *rows,
        LISTS.row("right: LATE is not covered", changed(good, {5: good[5] | 4}), SERVERS[1]),
        LISTS.row("wrong: as if it had been tried less", changed(good, {4: good[4] + 1}), SERVERS[1]),
        LISTS.row("wrong: as if it had been tried more", changed(good, {4: good[4] - 1}), SERVERS[1]),
        LISTS.row("wrong: sent to another server", good, SERVERS[5]),
        LISTS.row("wrong: sent to a candidate whose turn it is not", good, SERVERS[2]),
        LISTS.row("wrong: the other key is named", changed(good, {5: good[5] | 8}), SERVERS[1]),
        *LISTS.untagged_rows(),
    ]


def key_rows() -> list[dict]:
    services = (0, 1, 2, 255, 256, 257, 0x1234, 0x3412, 0xFFFF)
    return [{"name": f"service {one}", "service": one, "key": keys.of_service(KEY, one).hex()} for one in services]


def list_vectors() -> dict:
    rows = {"key": KEY.hex(), "keys": key_rows(), "valid": valid_rows(), "malformed": malformed_rows()}
    return rows | {"forwarded": LISTS.forwarded_rows(), "tags": tag_rows()}


def drawn_list(draw: random.Random) -> dict:
    return LISTS.drawn(draw, 0.8, lambda draw, data, _: spoiled(draw, data, 0.4, 0.1, 16)) | {"keys": key_rows()}
