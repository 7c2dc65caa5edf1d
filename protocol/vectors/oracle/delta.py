# SPDX-License-Identifier: Apache-2.0
"""
Deltas and snapshots (protocol/README.md, 5), with a ring as a dict: bucket -> (current, previous, since).

An image is {"service", "generation", "buckets", "backends": {id: (address, removed)}, "rows": {bucket: row}}.
"""

import copy
import struct

from .address import sixteen
from .flow import crc32c

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
    magic = b"FLS1" if kind == "snapshot" else b"FLD1"
    head = magic + struct.pack("<IIIIQ", service, generation, base, buckets, len(body))
    return head + struct.pack("<I", crc32c(head + body))


def backends_bytes(backends: list[dict]) -> bytes:
    packed = [struct.pack("<HH", b["id"], int(b["removed"])) + sixteen(b["address"]) for b in backends]
    return struct.pack("<I", len(packed)) + b"".join(packed)


def delta_body(delta: dict) -> bytes:
    runs = [struct.pack("<IIHH", r["start"], r["count"], r["current"], r["previous"]) for r in delta["runs"]]
    body = struct.pack("<I", delta["committed"]) + backends_bytes(delta["backends"])
    return body + struct.pack("<I", len(runs)) + b"".join(runs)


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
        {"id": id_, "address": address, "removed": removed}
        for id_, (address, removed) in sorted(image["backends"].items())
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
        after["backends"][b["id"]] = (b["address"], b["removed"])
    for run in delta["runs"]:
        for bucket in range(run["start"], run["start"] + run["count"]):
            after["rows"][bucket] = (run["current"], run["previous"], delta["committed"])
    return after


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
