# SPDX-License-Identifier: Apache-2.0
"""reports.json: sets of buckets and connections in reports, right and malformed, and what a leader knows by them."""

import random

from oracle import RefusedError
from oracle.known import Known, read_hashes, write_hashes
from oracle.report import read_set, runs_of, set_bytes, set_text

from .rows import refusal

LARGEST = 8_388_608


def set_row(name: str, buckets: int, text: str) -> dict:
    found = read_set(text, buckets)
    runs = runs_of(found)
    return {"name": name, "buckets": buckets, "runs": runs, "text": text, "written": set_text(set_bytes(runs))}


def sets() -> list[dict]:
    cases = [
        ("the empty set", 256, []),
        ("the first bucket", 256, [(0, 1)]),
        ("the last bucket", 256, [(255, 1)]),
        ("every bucket", 256, [(0, 256)]),
        ("two buckets with one between them", 256, [(7, 1), (9, 1)]),
        ("a skip and a count of 127", 512, [(127, 127)]),
        ("a skip and a count of 128", 512, [(128, 128)]),
        ("two runs without a skip, which a writer joins", 256, [(3, 2), (5, 4)]),
        ("a skip and a count of 16383", 65536, [(16383, 16383)]),
        ("a skip and a count of 16384", 65536, [(16384, 16384)]),
        ("every bucket of the largest ring", LARGEST, [(0, LARGEST)]),
        ("the last bucket of the largest ring", LARGEST, [(LARGEST - 1, 1)]),
        ("a skip and a count of 2097152", LARGEST, [(2097152, 2097152)]),
        ("every other bucket", 1024, [(bucket, 1) for bucket in range(0, 1024, 2)]),
    ]
    return [set_row(name, buckets, set_text(set_bytes(runs))) for name, buckets, runs in cases]


def malformed_row(name: str, buckets: int, text: str) -> dict:
    return {"name": name, "buckets": buckets, "text": text, "error": refusal(read_set, text, buckets)}


def malformed() -> list[dict]:
    texts = [
        ("a sign that base64 does not have", 256, "AA*B"),
        ("a space", 256, "AA E="),
        ("a newline at the end", 256, "AAE=\n"),
        ("the signs of base64url", 256, "_-__"),
        ("no padding", 256, "AAE"),
        ("too much padding", 256, "AAE=="),
        ("padding alone", 256, "="),
        ("bits behind the last byte", 256, "AAF="),
        ("text behind the padding", 256, "AAE=AAE="),
    ]
    data = [
        ("a skip without a count", 256, "05"),
        ("a second run without a count", 256, "000105"),
        ("a skip that is cut off", 256, "80"),
        ("a count that is cut off", 256, "0080"),
        ("a skip of 0 in two bytes", 256, "800001"),
        ("a count of 1 in two bytes", 256, "008100"),
        ("a skip in five bytes", LARGEST, "808080800401"),
        ("a skip of 8388609", LARGEST, "8180800401"),
        ("a count of 8388609", LARGEST, "0081808004"),
        ("a skip of 268435455", LARGEST, "ffffff7f01"),
        ("a count of 0", 256, "0500"),
        ("a count of 0 beyond the ring", 256, "ff7f00"),
        ("a bucket beyond the ring", 256, "800201"),
        ("a run that ends beyond the ring", 256, "ff0102"),
        ("a second run beyond the ring", 256, "00fe01" + "0101" + "0101"),
        ("a skip of 8388608 in the largest ring", LARGEST, "8080800401"),
        ("runs whose sum would be beyond 32 bits", LARGEST, "8080800401" * 3),
    ]
    rows = [malformed_row(*case) for case in texts]
    return rows + [malformed_row(name, buckets, set_text(bytes.fromhex(hexed))) for name, buckets, hexed in data]


def hashes_row(name: str, hashes: list[int]) -> dict:
    text = write_hashes(hashes)
    return {"name": name, "hashes": [f"{one:016x}" for one in read_hashes(text)], "text": text}


def hashes() -> list[dict]:
    cases = [
        ("no connection", []),
        ("one connection", [0x0123456789ABCDEF]),
        ("the hash 0", [0]),
        ("the largest hash", [(1 << 64) - 1]),
        ("two connections, not sorted", [2, 1]),
        ("three connections, which need no padding", [1, 2, 3]),
        ("the same hash twice", [5, 5]),
    ]
    return [hashes_row(*case) for case in cases]


def malformed_hashes_row(name: str, text: str) -> dict:
    return {"name": name, "text": text, "error": refusal(read_hashes, text)}


def malformed_hashes() -> list[dict]:
    cases = [
        ("a sign that base64 does not have", "AAAAAAA*AAA="),
        ("no padding", "AAAAAAAAAAA"),
        ("bits behind the last byte", "AAAAAAAAAAB="),
        ("seven bytes", set_text(bytes(7))),
        ("nine bytes", set_text(bytes(9))),
        ("one byte", set_text(bytes(1))),
    ]
    return [malformed_hashes_row(*case) for case in cases]


def part(kind: str, opened: list[int] = (), closed: list[int] = (), memory: str = "m1", mark: str = "k1") -> dict:
    """Kinds: a change, or a whole set's part with the flags that are set (`whole first last`)."""
    flags = {flag: flag in kind.split() for flag in ("whole", "first", "last")}
    texts = {"opened": write_hashes(list(opened)), "closed": write_hashes(list(closed))}
    return {"memory": memory, "mark": mark} | flags | texts


def exchange_row(name: str, parts: list[dict]) -> dict:
    """What is known after each part."""
    known, steps = Known("m1"), []
    for one in parts:
        known.hear(one)
        steps.append({"connections": one, "known": [f"{value:016x}" for value in sorted(known.hashes)]})
    return {"name": name, "memory": "m1", "steps": steps}


def exchanges() -> list[dict]:
    whole, change = "whole first last", "last"
    cases = [
        ("a whole set in one part", [part(whole, [1, 2])]),
        ("an empty whole set", [part(whole)]),
        ("a whole set in three parts", [part("whole first", [1]), part("whole", [2]), part("whole last", [3])]),
        ("what opens and closes", [part(whole, [1, 2]), part(change, [3], [1]), part(change, [], [2, 3])]),
        ("changes in two parts", [part(whole, [1]), part("", [2], [1]), part(change, [3])]),
        ("a change again, as its answer was lost", [part(whole, [1]), *[part(change, [2], [1])] * 2]),
        ("opened though known, closed though unknown", [part(whole, [1]), part(change, [1], [9])]),
        ("closed and opened in one report", [part(whole, [1]), part(change, [1], [1])]),
        ("a first part again", [*[part("whole first", [1])] * 2, part("whole last", [2])]),
        ("a last part again", [part("whole first", [1]), *[part("whole last", [2])] * 2, part(change, [3])]),
        ("another memory", [part(whole, [1]), part(whole, [2], memory="m0"), part(change, [3], memory="m0")]),
        ("a whole set forgets what it lacks", [part(whole, [1, 2]), part("whole first", [3]), part("whole last", [1])]),
        ("a set that begins anew", [part("whole first", [1]), part("whole first", [2]), part("whole last", [3])]),
        ("changes before any whole set", [part(change, [1])]),
        ("a set without its first part", [part("whole last", [1])]),
    ]
    return [exchange_row(*case) for case in cases]


def report_vectors() -> dict:
    return {
        "sets": sets(),
        "malformed": malformed(),
        "hashes": hashes(),
        "malformedHashes": malformed_hashes(),
        "exchanges": exchanges(),
    }


def drawn_part(draw: random.Random, seen: list[dict]) -> dict:
    if seen and draw.random() < 0.2:
        return seen[-1]
    kind = draw.choice(["last", "last", "", "whole first last", "whole first", "whole", "whole last"])
    some = [draw.sample(range(8), draw.randrange(5)) for _ in range(2)]
    return part(kind, some[0], [] if "whole" in kind else some[1], memory="m0" if draw.random() < 0.1 else "m1")


def drawn_exchange(name: str, draw: random.Random) -> dict:
    parts: list[dict] = []
    for _ in range(20):
        parts.append(drawn_part(draw, parts))
    return exchange_row(name, parts)


def drawn_reports(draw: random.Random) -> dict:
    rows = []
    for number in range(100):
        buckets = 1 << draw.randrange(8, 15)
        found = set(draw.sample(range(buckets), draw.randrange(buckets)))
        rows.append(set_row(f"random set {number}", buckets, set_text(set_bytes(runs_of(found)))))
    bad = []
    while len(bad) < 100:
        data = draw.randbytes(draw.randrange(1, 9))
        try:
            read_set(set_text(data), 256)
        except RefusedError:
            bad.append(malformed_row(f"random bytes {len(bad)}", 256, set_text(data)))
    files = {"sets": rows, "malformed": bad}
    files["hashes"] = [
        hashes_row(f"random hashes {number}", [draw.getrandbits(64) for _ in range(draw.randrange(9))])
        for number in range(20)
    ]
    odd = [draw.randbytes(8 * draw.randrange(4) + draw.randrange(1, 8)) for _ in range(20)]
    files["malformedHashes"] = [
        malformed_hashes_row(f"random bytes {number}", set_text(data)) for number, data in enumerate(odd)
    ]
    files["exchanges"] = [drawn_exchange(f"random exchange {number}", draw) for number in range(20)]
    return files
