# SPDX-License-Identifier: Apache-2.0
"""
Deltas and snapshots (protocol/README.md, 5), with a ring as a dict: bucket -> (current, history). A history is the
tuple of the former owners, newest first: (owner, since).

An image is {"service", "generation", "buckets", "backends": {id: (address, removed, dead, weight, foreign)}, "rows"}.
"""

import copy
import struct

from . import refuse_if
from .address import sixteen
from .flow import crc32c
from .list import MAX

ORDERS = ("number", "owner")
MAGICS = {"delta": b"FLD3", "snapshot": b"FLS3", "whole": b"FLO1", "patch": b"FLP1"}
ZSTD_MAGIC = bytes.fromhex("28b52ffd")
WORD = (1 << 64) - 1


def mix(x: int) -> int:
    """The last steps of splitmix64."""
    x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9 & WORD
    x = (x ^ x >> 27) * 0x94D049BB133111EB & WORD
    return x ^ x >> 31


def bucket_sum(bucket: int, row: tuple) -> int:
    current, history = row
    h = mix(bucket << 16 | current)
    for owner, since in history:
        h = mix(h ^ (since << 16 | owner))
    return h


def backend_sum(id_: int, address: str, foreign: bool) -> int:
    h = mix(foreign << 16 | id_)
    for word in struct.unpack("<QQ", sixteen(address)):
        h = mix(h ^ word)
    return h


def image_sum(image: dict) -> int:
    total = sum(bucket_sum(bucket, row) for bucket, row in image["rows"].items())
    backends = image["backends"].items()
    total += sum(backend_sum(id_, address, foreign) for id_, (address, removed, *_, foreign) in backends if not removed)
    return total & WORD


def zstd_frame(body: bytes, with_size: bool = True, block_max: int = 128 * 1024) -> bytes:
    """A zstd frame (RFC 8878) of raw blocks; a block of one repeated byte becomes an RLE block."""
    frame = ZSTD_MAGIC + (b"\xa0" + struct.pack("<I", len(body)) if with_size else b"\x00\x38")
    blocks = [body[at : at + block_max] for at in range(0, len(body), block_max)] or [b""]
    for at, block in enumerate(blocks):
        last = at == len(blocks) - 1
        is_run = len(block) > 1 and len(set(block)) == 1
        kind = 1 if is_run else 0
        frame += (len(block) << 3 | kind << 1 | last).to_bytes(3, "little") + (block[:1] if is_run else block)
    return frame


def header(kind: str, service: int, generation: int, base: int, buckets: int, body: bytes) -> bytes:
    head = MAGICS[kind] + struct.pack("<IIIIQ", service, generation, base, buckets, len(body))
    return head + struct.pack("<I", crc32c(head + body))


def backends_bytes(backends: list[dict]) -> bytes:
    packed = [
        struct.pack("<HHH", b["id"], b["removed"] | b["dead"] << 1 | b["foreign"] << 2, b["weight"])
        + sixteen(b["address"])
        for b in backends
    ]
    return struct.pack("<I", len(packed)) + b"".join(packed)


def delta_body(delta: dict) -> bytes:
    head = struct.pack("<IIQ", delta["committed"], delta["closedUntil"], int(delta["baseSum"], 16))
    return head + backends_bytes(delta["backends"]) + moves_bytes(delta) + releases_bytes(delta["releases"])


def skips(runs: list[dict]) -> list[int]:
    """In place of its start each run has how many it skips since the end of the one before, of the same owner."""
    skipped, owner, end = [], None, 0
    for one in runs:
        if one.get("owner") != owner:
            owner, end = one.get("owner"), 0
        skipped.append(one["start"] - end)
        end = one["start"] + one["count"]
    return skipped


def moves_bytes(delta: dict) -> bytes:
    runs = delta["moves"]
    columns = struct.pack("<II", len(runs), ORDERS.index(delta["order"]))
    columns += struct.pack(f"<{len(runs)}I", *skips(runs))
    columns += struct.pack(f"<{len(runs)}I", *(one["count"] for one in runs))
    for name in ("current", *(("owner",) if delta["order"] == "owner" else ())):
        columns += struct.pack(f"<{len(runs)}H", *(one[name] for one in runs))
    return columns


def releases_bytes(runs: list[dict]) -> bytes:
    columns = struct.pack("<I", len(runs))
    columns += struct.pack(f"<{len(runs)}I", *skips([{"start": r["start"], "count": r["count"]} for r in runs]))
    columns += struct.pack(f"<{len(runs)}I", *(one["count"] for one in runs))
    return columns + struct.pack(f"<{len(runs)}H", *(one["owner"] for one in runs))


def histories_of(image: dict) -> tuple[list[tuple], list[int]]:
    """The distinct histories by first appearance, and each bucket's number among them, from 1; 0: none."""
    numbers: dict[tuple, int] = {}
    index = []
    for bucket in range(image["buckets"]):
        history = image["rows"][bucket][1]
        index.append(numbers.setdefault(history, len(numbers) + 1) if history else 0)
    return list(numbers), index


def histories_bytes(histories: list[tuple], index: list[int]) -> bytes:
    entries = [entry for history in histories for entry in history]
    packed = struct.pack("<II", len(histories), len(entries)) + bytes(len(history) for history in histories)
    packed += struct.pack(f"<{len(entries)}H", *(owner for owner, _ in entries))
    packed += struct.pack(f"<{len(entries)}I", *(since for _, since in entries))
    return packed + struct.pack(f"<{len(index)}I", *index)


def snapshot_body(image: dict, committed: int, closed_until: int = 0) -> bytes:
    body = struct.pack("<IIQ", committed, closed_until, image_sum(image)) + backends_bytes(listed(image))
    body += b"".join(struct.pack("<H", image["rows"][bucket][0]) for bucket in range(image["buckets"]))
    return body + histories_bytes(*histories_of(image))


def listed(image: dict) -> list[dict]:
    """The backends that a snapshot lists: those in service, and removed ones that a history still names."""
    named = {owner for _, history in image["rows"].values() for owner, _ in history}
    return [
        {"id": id_, "address": address, "removed": removed, "dead": dead, "weight": weight, "foreign": foreign}
        for id_, (address, removed, dead, weight, foreign) in sorted(image["backends"].items())
        if not removed or id_ in named
    ]


def empty(service: int, buckets: int) -> dict:
    rows = dict.fromkeys(range(buckets), (0, ()))
    return {"service": service, "generation": 1, "buckets": buckets, "backends": {}, "rows": rows}


def backends_by_id(backends: list[dict]) -> dict:
    return {b["id"]: (b["address"], b["removed"], b["dead"], b["weight"], b["foreign"]) for b in backends}


def apply(image: dict, delta: dict) -> dict:
    """The image after the delta; the one that was given stays as it is."""
    after = copy.deepcopy(image)
    after["generation"] = delta["generation"]
    after["backends"] |= backends_by_id(delta["backends"])
    dead = {id_ for id_, (_, _, is_dead, *_) in after["backends"].items() if is_dead}
    rows = after["rows"]
    if delta["closedUntil"]:
        _keep(rows, rows, lambda entry: entry[1] > delta["closedUntil"])
    for run in delta["releases"]:
        released = range(run["start"], run["start"] + run["count"])
        _keep(rows, released, lambda entry, owner=run["owner"]: owner not in (0, entry[0]))
    for run in delta["moves"]:
        # Of all buckets, or of those that a backend had: taken from the image before, so that no run sees another's.
        among = range(image["buckets"]) if delta["order"] == "number" else owned(image, run["owner"])
        for bucket in among[run["start"] : run["start"] + run["count"]]:
            rows[bucket] = _moved(rows[bucket], run["current"], dead, delta["committed"])
    _keep(rows, rows, lambda entry: entry[0] not in dead)
    for current, history in rows.values():
        refuse_if(len(history) > MAX or current in dead, "run")
    return after


def _keep(rows: dict, buckets: range | dict, is_kept) -> None:
    for bucket in buckets:
        current, history = rows[bucket]
        rows[bucket] = (current, tuple(filter(is_kept, history)))


def _moved(row: tuple, current: int, dead: set[int], committed: int) -> tuple:
    before, history = row
    if current == before:
        return row
    newest = ((before, committed),) if before and before not in dead else ()
    return current, newest + tuple(entry for entry in history if entry[0] != current)


def owned(image: dict, owner: int) -> list[int]:
    return [bucket for bucket in range(image["buckets"]) if image["rows"][bucket][0] == owner]


def image_json(image: dict) -> dict:
    """As vectors show an image: backends as a snapshot lists them, equal neighbouring rows joined to runs."""
    runs: list[dict] = []
    for bucket in range(image["buckets"]):
        current, history = image["rows"][bucket]
        row = {"current": current, "history": [list(entry) for entry in history]}
        if runs and all(runs[-1][name] == value for name, value in row.items()):
            runs[-1]["count"] += 1
        else:
            runs.append({"start": bucket, "count": 1} | row)
    return {
        "service": image["service"],
        "generation": image["generation"],
        "buckets": image["buckets"],
        "backends": listed(image),
        "runs": runs,
        "sum": f"{image_sum(image):016x}",
    }
