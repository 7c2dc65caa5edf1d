# SPDX-License-Identifier: Apache-2.0
"""
Deltas and snapshots that a reader refuses, each a good one with one fault, or with two of which the earlier check
gives the word. Here the word is stated by hand; the readers in C and Java are the ones that must find it.
"""

import struct

from oracle.address import sixteen
from oracle.delta import (
    MAGICS,
    backends_bytes,
    delta_body,
    header,
    histories_bytes,
    histories_of,
    image_sum,
    listed,
    snapshot_body,
    zstd_frame,
)
from oracle.delta_reader import body_range
from oracle.flow import crc32c
from oracle.list import MAX

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


def stretch(skip: int, count: int, current: int = 17) -> tuple[int, ...]:
    return skip, count, current


def of(owner: int, skip: int, count: int, current: int = 17) -> tuple[int, ...]:
    return skip, count, current, owner


def columns(runs: list[tuple[int, ...]]) -> bytes:
    kinds = "IIHH"[: len(runs[0])] if runs else ""
    return b"".join(struct.pack("<" + kind, one[at]) for at, kind in enumerate(kinds) for one in runs)


def moves_bytes(runs: list[tuple[int, ...]], count: int | None, order: int | None) -> bytes:
    by_owner = bool(runs) and len(runs[0]) == 4
    head = struct.pack("<II", len(runs) if count is None else count, by_owner if order is None else order)
    return head + columns(runs)


def releases_bytes(runs: list[tuple[int, ...]], count: int | None) -> bytes:
    return struct.pack("<I", len(runs) if count is None else count) + columns(runs)


BACKEND_FAULTS = [
    ("id 0", [entry(0)]),
    ("the same id twice", [entry(79), entry(79)]),
    ("ids that descend", [entry(79), entry(78)]),
    ("an unknown flag", [entry(79, flags=8)]),
    ("an unknown flag beside FOREIGN", [entry(79, flags=12)]),
    ("an unknown flag beside REMOVED", [entry(79, flags=0x8001)]),
    ("DEAD without REMOVED", [entry(79, flags=2)]),
    ("DEAD and FOREIGN without REMOVED", [entry(79, flags=6)]),
    ("no address", [entry(79, None)]),
    ("removed without its address", [entry(79, None, 1)]),
    ("a fault in the last of three", [entry(78), entry(79), entry(80, None)]),
]
REMOVED, DEAD = 1, 3
FULL = 40  # the bucket of the image whose history is full
WRAPS_22, WRAPS_10, WRAPS_12 = 0x0BA2E8BB, 0x1999999A, 0x15555556  # times so many bytes: 18, 4, 8 in 32 bits


def delta_body_cases(parcel: Parcel, image: dict) -> list[Case]:
    buckets, right = image["buckets"], image_sum(image)

    def bad(
        backends: list[bytes], moves: list[tuple], releases: list[tuple] = (), behind: bytes = b"", **said: int
    ) -> bytes:
        committed = NOW + parcel.at["generation"]
        body = struct.pack("<IIQ", committed, said.get("closed", 0), said.get("base", right))
        body += counted(backends, said.get("n")) + moves_bytes(moves, said.get("m"), said.get("order"))
        return parcel.make(body=body + releases_bytes(list(releases), said.get("r")) + behind)

    has = {owner: sum(current == owner for current, _ in image["rows"].values()) for owner in (8, 17)}
    good = stretch(8, 4)
    cases = [
        ("length", "one backend too few", bad([entry(79)], [], n=2)),
        ("length", "4294967295 backends", bad([entry(79)], [], n=0xFFFFFFFF)),
        ("length", "backends whose number wraps to their bytes in 32 bits", bad([], [], behind=bytes(18), n=WRAPS_22)),
        ("length", "one run too few", bad([], [good], m=2)),
        ("length", "4294967295 runs", bad([], [good], m=0xFFFFFFFF)),
        ("length", "runs whose number wraps to their bytes in 32 bits", bad([], [], behind=bytes(4), m=WRAPS_10)),
        (
            "length",
            "runs of owners whose number wraps to their bytes in 32 bits",
            bad([], [], behind=bytes(8), m=WRAPS_12, order=1),
        ),
        ("length", "one run too many", bad([], [good, stretch(8, 1)], m=1)),
        ("length", "runs of owners that name none", bad([], [good], order=1)),
        ("length", "owners in order of numbers", bad([], [of(8, 8, 4)], order=0)),
        ("length", "one release too few", bad([], [], [(8, 4, 0)], r=2)),
        ("length", "4294967295 releases", bad([], [], [(8, 4, 0)], r=0xFFFFFFFF)),
        ("length", "releases whose number wraps to their bytes in 32 bits", bad([], [], behind=bytes(4), r=WRAPS_10)),
        ("length", "one release too many", bad([], [], [(8, 4, 0), (8, 1, 0)], r=1)),
        ("length", "a byte behind the releases", bad([], [good], [(8, 4, 0)], b"\0")),
        ("run", "an order that does not exist", bad([], [good], order=2)),
        ("run", "an order of its highest bit", bad([], [good], order=1 << 31)),
        ("base", "the sum of another image", bad([], [good], base=right + 1 & (1 << 64) - 1)),
        ("base", "a sum off by its highest bit", bad([], [good], base=right ^ 1 << 63)),
        ("base", "no sum", bad([], [], base=0)),
        ("run", "an empty run", bad([], [stretch(8, 0)])),
        ("run", "a run that begins behind the ring", bad([], [stretch(buckets, 1)])),
        ("run", "a run that ends behind the ring", bad([], [stretch(buckets - 1, 2)])),
        ("run", "a run whose end wraps in 32 bits", bad([], [stretch(16, 0xFFFFFFFF)])),
        ("run", "a run of 4294967295 buckets", bad([], [stretch(0, 0xFFFFFFFF)])),
        ("run", "a run whose start wraps in 32 bits", bad([], [good, stretch(0xFFFFFFFF, 1)])),
        ("run", "a later run that ends behind the ring", bad([], [good, stretch(buckets - 13, 2)])),
        ("run", "an unknown current backend", bad([], [stretch(8, 4, 77)])),
        ("run", "a current backend removed before", bad([], [stretch(8, 4, 11)])),
        ("run", "a current backend removed by this delta", bad([entry(17, "10.1.0.17", REMOVED)], [good])),
        ("run", "a current backend that is dead", bad([entry(15, "10.1.0.15", DEAD)], [stretch(8, 4, 15)])),
        ("run", "a fault in the last of three runs", bad([], [good, stretch(8, 1), stretch(0, 0)])),
        ("run", "more buckets than the owner has", bad([], [of(8, 0, has[8] + 1)])),
        ("run", "behind the buckets that the owner has", bad([], [of(8, has[8], 1)])),
        ("run", "two runs for more than the owner has", bad([], [of(8, 0, has[8] - 1), of(8, 1, 1)])),
        ("run", "an owner without a bucket", bad([], [of(11, 0, 1)])),
        ("run", "an owner that is unknown", bad([], [of(77, 0, 1)])),
        ("run", "owners that descend", bad([], [of(17, 0, 1), of(8, 0, 1)])),
        ("run", "an owner of whom an empty run speaks", bad([], [of(8, 0, 0)])),
        ("run", "a run of an owner whose end wraps in 32 bits", bad([], [of(8, 2, 0xFFFFFFFF)])),
        ("run", "an empty release", bad([], [], [(8, 0, 6)])),
        ("run", "a release that begins behind the ring", bad([], [], [(buckets, 1, 6)])),
        ("run", "a release that ends behind the ring", bad([], [], [(buckets - 1, 2, 6)])),
        ("run", "a release whose end wraps in 32 bits", bad([], [], [(16, 0xFFFFFFFF, 6)])),
        ("run", "a release whose start wraps in 32 bits", bad([], [], [(8, 4, 6), (0xFFFFFFFF, 1, 6)])),
        ("run", "a fault in the last of three releases", bad([], [good], [(8, 1, 6), (8, 1, 6), (0, 0, 6)])),
        ("run", "a history of seven", bad([], [stretch(FULL, 1, 8)])),
        ("run", "a history of seven, in order of owners", bad([], [of(16, 1, 1, 8)])),
        ("run", "a history of seven: another owner is released", bad([], [stretch(FULL, 1, 8)], [(FULL, 1, 6)])),
        ("run", "a history of seven: the release is of another bucket", bad([], [stretch(FULL, 1, 8)], [(41, 1, 0)])),
        ("run", "a history of seven: nothing of it closes", bad([], [stretch(FULL, 1, 8)], closed=NOW + 30)),
        (
            "run",
            "a history of seven: one that is not in it dies",
            bad([entry(6, "2001:db8::6", DEAD)], [of(6, 0, 25), of(16, 1, 1, 8)]),
        ),
        ("run", "a dead one owns its buckets still", bad([entry(17, "10.1.0.17", DEAD)], [])),
        ("run", "a dead one owns a bucket still", bad([entry(17, "10.1.0.17", DEAD)], [of(17, 0, has[17] - 1, 8)])),
        ("run", "two faults: order, counts", bad([], [good], (), b"\0", order=2)),
        ("run", "two faults: order, base", bad([], [good], order=2, base=0)),
        ("length", "two faults: counts, base", bad([], [good], (), b"\0", base=0)),
        ("base", "two faults: base, backend", bad([entry(0)], [good], base=0)),
        ("base", "two faults: base, run", bad([], [stretch(8, 0)], base=0)),
        ("length", "two faults: counts, run", bad([], [stretch(8, 0)], (), b"\0")),
        ("backend", "two faults: backend, run", bad([entry(0)], [stretch(8, 0)])),
    ]
    return cases + [("backend", name, bad(backends, [good])) for name, backends in BACKEND_FAULTS]


def snapshot_body_cases(parcel: Parcel, image: dict) -> list[Case]:
    buckets, right = image["buckets"], image_sum(image)
    whole = backends_bytes(listed(image))[4:]
    count = len(whole) // 22
    owners = [image["rows"][bucket][0] for bucket in range(buckets)]
    histories, numbers = histories_of(image)
    packed = histories_bytes(histories, numbers)

    def bad(
        current: list[int] = owners, behind: bytes = packed, n: int = count, backends: bytes = whole, base: int = right
    ) -> bytes:
        head = struct.pack("<IIQI", NOW, 0, base, n) + backends
        return parcel.make(body=head + struct.pack(f"<{buckets}H", *current) + behind)

    def owned(bucket: int, by: int) -> list[int]:
        return owners[:bucket] + [by] + owners[bucket + 1 :]

    def told(change) -> bytes:
        """The histories and each bucket's number, changed."""
        tables = list(histories), list(numbers)
        change(*tables)
        return histories_bytes(*tables)

    def counted_as(n: int, entries: int) -> bytes:
        return struct.pack("<II", n, entries) + packed[8:]

    n, entries = struct.unpack("<II", packed[:8])
    first = numbers.index(1)
    newcomer = (6, NOW)

    def replaced(at: int, history: tuple):
        return told(lambda all_, _: all_.__setitem__(at, history))

    def numbered(bucket: int, number: int):
        return told(lambda _, all_: all_.__setitem__(bucket, number))

    def swapped(all_: list, by_bucket: list) -> None:
        all_[0], all_[1] = all_[1], all_[0]
        by_bucket[:] = [{1: 2, 2: 1}.get(number, number) for number in by_bucket]

    def repeated(all_: list, by_bucket: list) -> None:
        all_.append(all_[0])
        by_bucket[max(at for at, number in enumerate(by_bucket) if number == 1)] = len(all_)

    def unequal(taken: int, given: int) -> bytes:
        """Entries as they are, counts of the first two histories that add up to the same."""
        counts = bytes([packed[8] - taken, packed[9] + given])
        return packed[:8] + counts + packed[10:]

    def seven(all_: list, _: list) -> None:
        all_[-1] = tuple((owner, NOW) for owner in (6, 8, 10, 12, 14, 15, 65535))

    cases = [
        ("length", "a backend too few for its columns", bad(n=count + 1)),
        ("length", "a backend more than said", bad(n=count - 1)),
        ("length", "4294967295 backends", bad(n=0xFFFFFFFF)),
        ("length", "backends whose number wraps to their bytes in 32 bits", bad(behind=packed + bytes(18), n=WRAPS_22)),
        ("length", "a byte behind the columns", bad(behind=packed + b"\0")),
        ("length", "a history more than there are", bad(behind=counted_as(n + 1, entries))),
        ("length", "a history less than there are", bad(behind=counted_as(n - 1, entries))),
        ("length", "4294967295 histories", bad(behind=counted_as(0xFFFFFFFF, entries))),
        ("length", "an entry more than there are", bad(behind=counted_as(n, entries + 1))),
        ("length", "4294967295 entries", bad(behind=counted_as(n, 0xFFFFFFFF))),
        ("run", "six histories more and an entry less: the same length", bad(behind=counted_as(n + 6, entries - 1))),
        ("run", "a history without an entry", bad(behind=replaced(0, ()))),
        ("run", "a history of seven", bad(behind=told(seven))),
        ("run", "counts beyond the entries", bad(behind=unequal(0, 1))),
        ("run", "entries beyond the counts", bad(behind=unequal(1, 0))),
        ("run", "an entry without an owner", bad(behind=replaced(0, (*histories[0][:-1], (0, NOW))))),
        ("run", "an entry of an unknown owner", bad(behind=replaced(0, (*histories[0][:-1], (77, NOW))))),
        ("run", "an owner twice in a history", bad(behind=replaced(0, (newcomer, (6, NOW - 1))))),
        ("run", "the last history is refused", bad(behind=replaced(n - 1, ((77, NOW),)))),
        ("run", "a history that repeats another", bad(behind=told(repeated))),
        ("run", "a history of no bucket", bad(behind=told(lambda all_, _: all_.append((newcomer,))))),
        ("run", "a number above the histories", bad(behind=numbered(buckets - 1, n + 1))),
        ("run", "number 4294967295", bad(behind=numbered(buckets - 1, 0xFFFFFFFF))),
        ("run", "a number before its turn", bad(behind=numbered(first, 2))),
        ("run", "histories in another order", bad(behind=told(swapped))),
        ("run", "the first bucket's owner is unknown", bad(owned(0, 77))),
        ("run", "the last bucket's owner is unknown", bad(owned(buckets - 1, 77))),
        ("run", "a bucket's owner is removed", bad(owned(20, 11))),
        ("run", "a bucket's owner is in its history", bad(owned(FULL, 15))),
        ("run", "a bucket's owner is the oldest in its history", bad(owned(FULL, 65535))),
        ("base", "a sum off by its lowest bit", bad(base=right ^ 1)),
        ("base", "a sum off by its highest bit", bad(base=right ^ 1 << 63)),
        ("base", "the sum of other owners", bad(owned(20, 17))),
        (
            "base",
            "the sum of another since",
            bad(behind=replaced(0, (histories[0][0][:1] + (NOW - 9,), *histories[0][1:]))),
        ),
        ("length", "two faults: counts, backend", bad(behind=packed + b"\0", n=1, backends=entry(0))),
        ("backend", "two faults: backend, history", bad(behind=replaced(0, ((77, NOW),)), n=1, backends=entry(0))),
        ("run", "two faults: history, base", bad(behind=replaced(0, ((77, NOW),)), base=0)),
        ("backend", "a dead one", bad(n=1, backends=entry(79, flags=DEAD))),
        ("backend", "a dead foreign one", bad(n=1, backends=entry(79, flags=DEAD | 4))),
    ]
    nothing = histories_bytes([], [0] * buckets)
    for name, entries_ in BACKEND_FAULTS:
        cases.append(("backend", name, bad([0] * buckets, nothing, len(entries_), b"".join(entries_))))
    return cases


def malformed(image: dict, good_delta: dict) -> list[dict]:
    """The image knows 11 as removed, and has a bucket whose history is full; the good delta follows it."""
    current, history = image["rows"][FULL]
    assert current == 16 and len(history) == MAX and image["backends"][11][1]
    generation, body = image["generation"], delta_body(good_delta)
    delta = Parcel.of("delta", image, generation + 1, body)
    snapshot = Parcel.of("snapshot", image, generation, snapshot_body(image, NOW + generation))
    assert delta.make()[:32] == header("delta", image["service"], generation + 1, generation, image["buckets"], body)
    rows = []
    for parcel, body_cases in ((delta, delta_body_cases), (snapshot, snapshot_body_cases)):
        for error, name, data in header_cases(parcel) + frame_cases(parcel) + body_cases(parcel, image):
            rows.append({"name": f"{parcel.kind}: {name}", "kind": parcel.kind, "bytes": data.hex(), "error": error})
    names = [row["name"] for row in rows]
    assert len(set(names)) == len(names), "a name is used twice"
    return rows
