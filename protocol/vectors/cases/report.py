# SPDX-License-Identifier: Apache-2.0
"""reports.json: sets of buckets in reports and in the answers to them, right and malformed."""

import random

from oracle import RefusedError
from oracle.report import read_set, runs_of, set_bytes, set_text

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
    try:
        read_set(text, buckets)
    except RefusedError as refused:
        return {"name": name, "buckets": buckets, "text": text, "error": refused.args[0]}
    raise AssertionError(f"{name}: {text} was meant to be malformed")


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


def report_vectors() -> dict:
    return {"sets": sets(), "malformed": malformed()}


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
    return {"sets": rows, "malformed": bad}
