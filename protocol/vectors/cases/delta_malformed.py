# SPDX-License-Identifier: Apache-2.0
"""
Deltas and snapshots that a reader refuses, each a good one with one fault, or with two of which the earlier check
gives the word. Here the word is stated by hand; the readers in C and Java are the ones that must find it.
"""

import struct

from oracle.address import sixteen
from oracle.delta import MAGICS, header, snapshot_body, zstd_frame
from oracle.delta_reader import body_range
from oracle.flow import crc32c

NOW = 1_700_000_000
Case = tuple[str, str, bytes]  # error, sentence, bytes


class Parcel:
    """
    Something with a header in the making, of the magics' kinds: every field can be spoiled; the checksum is right
    unless `crc` says else. limits: the shortest and the longest possible body.
    """

    def __init__(self, kind: str, at: dict, limits: tuple[int, int], body: bytes):
        self.kind, self.at, self.limits, self.body = kind, at, limits, body

    @staticmethod
    def of(kind: str, image: dict, generation: int, body: bytes) -> "Parcel":
        """A delta or snapshot of the image's service."""
        base = generation - 1 if kind == "delta" else 0
        at = {"service": image["service"], "generation": generation, "base": base, "buckets": image["buckets"]}
        return Parcel(kind, at, body_range(kind, image["buckets"]), body)

    def make(self, body: bytes | None = None, frame: bytes | None = None, crc: int = 0, **fields) -> bytes:
        body = self.body if body is None else body
        head = fields.get("magic", MAGICS[self.kind])
        for name, value in self.at.items():
            head += struct.pack("<I", fields.get(name, value))
        head += struct.pack("<Q", fields.get("length", len(body)))
        return head + struct.pack("<I", crc32c(head + body) ^ crc) + (zstd_frame(body) if frame is None else frame)


OTHER_KIND = {"delta": "snapshot", "snapshot": "delta", "whole": "patch", "patch": "whole"}


def header_cases(parcel: Parcel) -> list[Case]:
    good, bad, at = parcel.make(), parcel.make, parcel.at
    generation, based = at["generation"], at["base"] > 0
    cases = [("truncated", f"cut to {n} bytes", good[:n]) for n in range(32)]
    return [
        *cases,
        ("magic", "no magic", bad(magic=bytes(4))),
        ("magic", "a version that does not exist", bad(magic=good[:3] + bytes([good[3] + 1]))),
        ("magic", "the version before", bad(magic=good[:3] + bytes([good[3] - 1]))),
        ("magic", "lower case", bad(magic=good[:4].lower())),
        ("magic", "the other kind", bad(magic=MAGICS[OTHER_KIND[parcel.kind]])),
        ("service", "another service", bad(service=8)),
        ("service", "service 0", bad(service=0)),
        ("service", "a service whose low 16 bits agree", bad(service=at["service"] + 65536)),
        ("generation", "a generation left out", bad(generation=generation + 1, base=at["base"] + based)),
        ("generation", "the generation before", bad(generation=generation - 1, base=at["base"] - based)),
        ("generation", "a wrong base", bad(base=at["base"] - 1 if based else generation - 1)),
        ("generation", "generation 0", bad(generation=0)),
        ("buckets", "twice the buckets", bad(buckets=2 * at["buckets"])),
        ("buckets", "no buckets", bad(buckets=0)),
        ("buckets", "one bucket less", bad(buckets=at["buckets"] - 1)),
        ("buckets", "2147483648 buckets", bad(buckets=1 << 31)),
        ("magic", "two faults: magic, service", bad(magic=b"FLX1", service=8)),
        ("service", "two faults: service, generation", bad(service=8, generation=99)),
        ("generation", "two faults: generation, buckets", bad(generation=99, buckets=512)),
        ("buckets", "two faults: buckets, length", bad(buckets=512, length=0)),
        ("length", "two faults: length, compression", bad(length=0, frame=b"zstd")),
        ("compression", "two faults: compression, checksum", bad(crc=1, frame=b"zstd")),
    ]


def frame_cases(parcel: Parcel) -> list[Case]:
    good, bad, body = parcel.make(), parcel.make, parcel.body
    smallest, greatest = parcel.limits
    frame, unsized = zstd_frame(body), zstd_frame(body, with_size=False)
    reserved = frame[:9] + bytes([frame[9] | 6]) + frame[10:]
    turned = zstd_frame(bytes([body[0] ^ 1]) + body[1:])
    of_body_alone = good[:28] + struct.pack("<I", crc32c(body)) + good[32:]
    return [
        ("length", "body length 0", bad(length=0)),
        ("length", "body length one below the smallest", bad(length=smallest - 1)),
        ("length", "body length one beyond the greatest", bad(length=greatest + 1)),
        ("length", "body length 2^63", bad(length=1 << 63)),
        ("length", "body length 2^64 - 1", bad(length=(1 << 64) - 1)),
        ("compression", "nothing behind the header", good[:32]),
        ("compression", "not a zstd frame", bad(frame=b"\0" + frame[1:])),
        ("compression", "the body as it stands", bad(frame=body)),
        ("compression", "a frame cut before its first block", bad(frame=frame[:9])),
        ("compression", "a frame cut in the middle", bad(frame=frame[: len(frame) // 2])),
        ("compression", "a frame without its last byte", bad(frame=frame[:-1])),
        ("compression", "a byte behind the frame", bad(frame=frame + b"\0")),
        ("compression", "a second frame behind the frame", bad(frame=frame + frame)),
        ("compression", "a block of the reserved type", bad(frame=reserved)),
        ("length", "one byte less than said", bad(length=len(body) + 1)),
        ("length", "one byte more than said", bad(length=len(body) - 1)),
        ("length", "one byte less than said, in a frame without its size", bad(length=len(body) + 1, frame=unsized)),
        ("length", "one byte more than said, in a frame without its size", bad(length=len(body) - 1, frame=unsized)),
        ("checksum", "checksum off by its lowest bit", bad(crc=1)),
        ("checksum", "checksum off by its highest bit", bad(crc=1 << 31)),
        ("checksum", "a bit of the body turned", bad(frame=turned)),
        ("checksum", "the checksum of the body alone", of_body_alone),
        ("checksum", "two faults: checksum, counts", bad(body=body + b"\0", crc=1)),
    ]


def entry(id_: int, address: str | None = "10.1.0.99", flags: int = 0) -> bytes:
    return struct.pack("<HHH", id_, flags, 100) + sixteen(address)


def counted(entries: list[bytes], count: int | None = None) -> bytes:
    return struct.pack("<I", len(entries) if count is None else count) + b"".join(entries)


def stretch(skip: int, count: int, current: int = 3, previous: int = 1) -> tuple[int, ...]:
    return skip, count, current, previous


def of(owner: int, skip: int, count: int, current: int = 3) -> tuple[int, ...]:
    return skip, count, current, 1, owner


def columns(runs: list[tuple[int, ...]], count: int | None = None, order: int | None = None) -> bytes:
    by_owner = bool(runs) and len(runs[0]) == 5
    packed = struct.pack("<II", len(runs) if count is None else count, by_owner if order is None else order)
    for at, kind in enumerate("IIHHH" if by_owner else "IIHH"):
        packed += b"".join(struct.pack("<" + kind, one[at]) for one in runs)
    return packed


BACKEND_FAULTS = [
    ("id 0", [entry(0)]),
    ("the same id twice", [entry(9), entry(9)]),
    ("ids that descend", [entry(9), entry(8)]),
    ("an unknown flag", [entry(9, flags=2)]),
    ("an unknown flag beside REMOVED", [entry(9, flags=0x8001)]),
    ("no address", [entry(9, None)]),
    ("removed without its address", [entry(9, None, 1)]),
    ("a fault in the last of three", [entry(8), entry(9), entry(10, None)]),
]


def delta_body_cases(parcel: Parcel, image: dict) -> list[Case]:
    committed = struct.pack("<I", NOW + parcel.at["generation"])
    buckets = image["buckets"]

    def bad(backends: list[bytes], runs: list[tuple], behind: bytes = b"", **counts) -> bytes:
        parts = counted(backends, counts.get("n")) + columns(runs, counts.get("m"), counts.get("order"))
        return parcel.make(body=committed + parts + behind)

    has = {owner: sum(row[0] == owner for row in image["rows"].values()) for owner in (1, 3)}
    good_run = stretch(8, 4)
    cases = [
        ("length", "one backend too few", bad([entry(9)], [], n=2)),
        ("length", "4294967295 backends", bad([entry(9)], [], n=0xFFFFFFFF)),
        (
            "length",
            "a number of backends that wraps to its bytes in 32 bits",
            bad([], [], n=0x0BA2E8BB, behind=bytes(18)),
        ),
        ("length", "one run too few", bad([], [good_run], m=2)),
        ("length", "4294967295 runs", bad([], [good_run], m=0xFFFFFFFF)),
        ("length", "a number of runs that wraps to its bytes in 32 bits", bad([], [], m=0x15555556, behind=bytes(8))),
        (
            "length",
            "runs of owners whose number wraps to their bytes in 32 bits",
            bad([], [], m=0x12492493, order=1, behind=bytes(10)),
        ),
        ("length", "one run too many", bad([], [good_run, stretch(8, 1)], m=1)),
        ("length", "a byte behind the runs", bad([], [good_run], b"\0")),
        ("length", "runs of owners that name none", bad([], [good_run], order=1)),
        ("length", "owners in order of numbers", bad([], [of(1, 8, 4)], order=0)),
        ("run", "an order that does not exist", bad([], [good_run], order=2)),
        ("run", "an order of its highest bit", bad([], [good_run], order=1 << 31)),
        ("run", "an empty run", bad([], [stretch(8, 0)])),
        ("run", "a run that begins behind the ring", bad([], [stretch(buckets, 1)])),
        ("run", "a run that ends behind the ring", bad([], [stretch(buckets - 1, 2)])),
        ("run", "a run whose end wraps in 32 bits", bad([], [stretch(16, 0xFFFFFFFF)])),
        ("run", "a run of 4294967295 buckets", bad([], [stretch(0, 0xFFFFFFFF)])),
        ("run", "a run whose start wraps in 32 bits", bad([], [good_run, stretch(0xFFFFFFFF, 1)])),
        ("run", "a later run that ends behind the ring", bad([], [good_run, stretch(buckets - 13, 2)])),
        ("run", "an unknown current backend", bad([], [stretch(8, 4, current=77)])),
        ("run", "a current backend removed before", bad([], [stretch(8, 4, current=2)])),
        ("run", "a current backend removed by this delta", bad([entry(3, "10.1.0.3", 1)], [good_run])),
        ("run", "an unknown previous backend", bad([], [stretch(8, 4, previous=77)])),
        ("run", "a fault in the last of three runs", bad([], [good_run, stretch(8, 1), stretch(0, 0)])),
        ("run", "more buckets than the owner has", bad([], [of(1, 0, has[1] + 1)])),
        ("run", "behind the buckets that the owner has", bad([], [of(1, has[1], 1)])),
        ("run", "two runs for more than the owner has", bad([], [of(1, 0, has[1] - 1), of(1, 1, 1)])),
        ("run", "an owner without a bucket", bad([], [of(2, 0, 1)])),
        ("run", "an owner that is unknown", bad([], [of(77, 0, 1)])),
        ("run", "owners that descend", bad([], [of(3, 0, 1), of(1, 0, 1)])),
        ("run", "an owner of whom an empty run speaks", bad([], [of(1, 0, 0)])),
        ("run", "a run of an owner whose end wraps in 32 bits", bad([], [of(1, 2, 0xFFFFFFFF)])),
        ("run", "two faults: order, counts", bad([], [good_run], b"\0", order=2)),
        ("length", "two faults: counts, backend", bad([entry(0)], [good_run], b"\0")),
        ("length", "two faults: counts, run", bad([], [stretch(8, 0)], b"\0")),
        ("backend", "two faults: backend, run", bad([entry(0)], [stretch(8, 0)])),
    ]
    return cases + [("backend", name, bad(backends, [good_run])) for name, backends in BACKEND_FAULTS]


def snapshot_body_cases(parcel: Parcel, image: dict) -> list[Case]:
    committed = struct.pack("<I", NOW)
    buckets = image["buckets"]
    whole = snapshot_body(image, NOW)
    columns = whole[len(whole) - 8 * buckets :]
    backends = whole[8 : len(whole) - 8 * buckets]
    count = len(backends) // 22

    def bad(behind: bytes, n: int, entries: bytes = backends) -> bytes:
        return parcel.make(body=committed + struct.pack("<I", n) + entries + behind)

    def column(at: int, id_: int) -> bytes:
        return columns[:at] + struct.pack("<H", id_) + columns[at + 2 :]

    last = 2 * (buckets - 1)
    cases = [
        ("length", "a backend too few for its columns", bad(columns, count + 1)),
        ("length", "a backend more than said", bad(columns, count - 1)),
        ("length", "4294967295 backends", bad(columns, 0xFFFFFFFF)),
        ("length", "a number of backends that wraps to its bytes in 32 bits", bad(columns, 0x0BA2E8BB, bytes(18))),
        ("length", "a byte behind the columns", bad(columns + b"\0", count)),
        ("run", "the first bucket's owner is unknown", bad(column(0, 77), count)),
        ("run", "the last bucket's owner is unknown", bad(column(last, 77), count)),
        ("run", "a bucket's owner is removed", bad(column(20, 2), count)),
        ("run", "the owner before is unknown", bad(column(2 * buckets + 20, 77), count)),
        ("length", "two faults: counts, backend", bad(columns + b"\0", 1, entry(0))),
        ("backend", "two faults: backend, bucket", bad(column(0, 77), 1, entry(0))),
    ]
    for name, entries in BACKEND_FAULTS:
        unowned = bytes(8 * buckets)
        cases.append(("backend", name, bad(unowned, len(entries), b"".join(entries))))
    return cases


def malformed(image: dict, good_delta_body: bytes) -> list[dict]:
    """The image is of generation 6 and knows backend 2 as removed; the good delta leads to generation 7."""
    assert image["generation"] == 6 and image["backends"][2][1]
    delta = Parcel.of("delta", image, 7, good_delta_body)
    snapshot = Parcel.of("snapshot", image, 6, snapshot_body(image, NOW + 6))
    assert delta.make()[:32] == header("delta", image["service"], 7, 6, image["buckets"], good_delta_body)
    rows = []
    for parcel, body_cases in ((delta, delta_body_cases), (snapshot, snapshot_body_cases)):
        for error, name, data in header_cases(parcel) + frame_cases(parcel) + body_cases(parcel, image):
            rows.append({"name": f"{parcel.kind}: {name}", "kind": parcel.kind, "bytes": data.hex(), "error": error})
    names = [row["name"] for row in rows]
    assert len(set(names)) == len(names), "a name is used twice"
    return rows
