# SPDX-License-Identifier: Apache-2.0
"""
Deltas and snapshots (protocol/README.md, 5), with a ring as a dict: bucket -> (current, previous, since).

An image is {"service", "generation", "buckets", "backends": {id: (address, removed, weight)}, "rows": {bucket: row}}.
"""

import copy
import struct

from .address import sixteen
from .flow import crc32c

ORDERS = ("number", "owner")
MAGICS = {"delta": b"FLD2", "snapshot": b"FLS2", "whole": b"FLO1", "patch": b"FLP1"}
ZSTD_MAGIC = bytes.fromhex("28b52ffd")


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
    packed = [struct.pack("<HHH", b["id"], int(b["removed"]), b["weight"]) + sixteen(b["address"]) for b in backends]
    return struct.pack("<I", len(packed)) + b"".join(packed)


def delta_body(delta: dict) -> bytes:
    return struct.pack("<I", delta["committed"]) + backends_bytes(delta["backends"]) + runs_bytes(delta)


def runs_bytes(delta: dict) -> bytes:
    """Columns; in place of its start each run has how many it skips since the end of the one before."""
    runs, by_owner = delta["runs"], delta["order"] == "owner"
    skips, owner, end = [], None, 0
    for one in runs:
        if by_owner and one["owner"] != owner:
            owner, end = one["owner"], 0
        skips.append(one["start"] - end)
        end = one["start"] + one["count"]
    columns = struct.pack("<II", len(runs), ORDERS.index(delta["order"]))
    columns += struct.pack(f"<{len(runs)}I", *skips)
    columns += struct.pack(f"<{len(runs)}I", *(one["count"] for one in runs))
    for name in ("current", "previous", *(("owner",) if by_owner else ())):
        columns += struct.pack(f"<{len(runs)}H", *(one[name] for one in runs))
    return columns


def snapshot_body(image: dict, committed: int) -> bytes:
    rows = [image["rows"][bucket] for bucket in range(image["buckets"])]
    body = struct.pack("<I", committed) + backends_bytes(listed(image))
    body += b"".join(struct.pack("<H", row[0]) for row in rows)
    body += b"".join(struct.pack("<H", row[1]) for row in rows)
    return body + b"".join(struct.pack("<I", row[2]) for row in rows)


def listed(image: dict) -> list[dict]:
    """The backends that a snapshot lists: those in service, and removed ones that a bucket still names."""
    named = {row[0] for row in image["rows"].values()} | {row[1] for row in image["rows"].values()}
    return [
        {"id": id_, "address": address, "removed": removed, "weight": weight}
        for id_, (address, removed, weight) in sorted(image["backends"].items())
        if not removed or id_ in named
    ]


def empty(service: int, buckets: int) -> dict:
    rows = dict.fromkeys(range(buckets), (0, 0, 0))
    return {"service": service, "generation": 1, "buckets": buckets, "backends": {}, "rows": rows}


def apply(image: dict, delta: dict) -> dict:
    """The image after the delta; the one that was given stays as it is."""
    after = copy.deepcopy(image)
    after["generation"] = delta["generation"]
    for b in delta["backends"]:
        after["backends"][b["id"]] = (b["address"], b["removed"], b["weight"])
    for run in delta["runs"]:
        # Of all buckets, or of those that a backend had: taken from the image before, so that no run sees another's.
        among = range(image["buckets"]) if delta["order"] == "number" else owned(image, run["owner"])
        for bucket in among[run["start"] : run["start"] + run["count"]]:
            after["rows"][bucket] = (run["current"], run["previous"], delta["committed"])
    return after


def owned(image: dict, owner: int) -> list[int]:
    return [bucket for bucket in range(image["buckets"]) if image["rows"][bucket][0] == owner]


def image_json(image: dict) -> dict:
    """As vectors show an image: backends as a snapshot lists them, equal neighbouring rows joined to runs."""
    runs: list[dict] = []
    for bucket in range(image["buckets"]):
        current, previous, since = image["rows"][bucket]
        last = runs[-1] if runs else None
        if last and (last["current"], last["previous"], last["since"]) == (current, previous, since):
            last["count"] += 1
        else:
            runs.append({"start": bucket, "count": 1, "current": current, "previous": previous, "since": since})
    return {
        "service": image["service"],
        "generation": image["generation"],
        "buckets": image["buckets"],
        "backends": listed(image),
        "runs": runs,
    }
