# SPDX-License-Identifier: Apache-2.0
"""
Reads deltas and snapshots in the order of checks of protocol/README.md, 5. Of zstd it knows raw and RLE blocks alone:
what the oracle writes, and enough to hold the vectors against a second reading.
"""

import struct
from ipaddress import ip_address

from . import refuse_if
from .address import sixteen
from .delta import MAGICS, ORDERS, ZSTD_MAGIC, backends_by_id, image_sum, owned
from .flow import crc32c
from .list import MAX


def unframe(data: bytes) -> bytes:
    """The content of exactly one frame as `zstd_frame` writes it."""
    sized = data[4:5] == b"\xa0"
    refuse_if(data[:4] != ZSTD_MAGIC or not (sized or data[4:6] == b"\x00\x38"), "compression")
    at, content, last = 9 if sized else 6, b"", False
    while not last:
        refuse_if(at + 3 > len(data), "compression")
        block = int.from_bytes(data[at : at + 3], "little")
        last, kind, size = bool(block & 1), block >> 1 & 3, block >> 3
        at += 3
        refuse_if(kind > 1 or at + (1 if kind else size) > len(data), "compression")
        content += data[at : at + 1] * size if kind else data[at : at + size]
        at += 1 if kind else size
    refuse_if(at != len(data), "compression")
    refuse_if(sized and struct.unpack("<I", data[5:9])[0] != len(content), "compression")
    return content


def read_body(data: bytes, kind: str, at: dict, least: int, most: int) -> bytes:
    """The body of what stands where a reader expects `at`'s fields; its header, frame and checksum checked."""
    refuse_if(len(data) < 32, "truncated")
    refuse_if(data[:4] != MAGICS[kind], "magic")
    service, generation, base, buckets, length, crc = struct.unpack("<IIIIQI", data[4:32])
    refuse_if(service != at["service"], "service")
    refuse_if(generation != at["generation"] or base != at["base"], "generation")
    refuse_if(buckets != at["buckets"], "buckets")
    refuse_if(not least <= length <= most, "length")
    body = unframe(data[32:])
    refuse_if(len(body) != length, "length")
    refuse_if(crc32c(data[:28] + body) != crc, "checksum")
    return body


def body_range(kind: str, buckets: int) -> tuple[int, int]:
    """The shortest and the longest possible body of a delta or snapshot."""
    least = 32 if kind == "delta" else 28 + 6 * buckets
    return least, least + 22 * 65535 + (22 if kind == "delta" else 1 + 6 * MAX) * buckets


def _read_backends(body: bytes, at: int, count: int, flags_known: int) -> list[dict]:
    backends: list[dict] = []
    for start in range(at, at + 22 * count, 22):
        id_, flags, weight = struct.unpack("<HHH", body[start : start + 6])
        address = body[start + 6 : start + 22]
        ascends = id_ > (backends[-1]["id"] if backends else 0)
        is_flagged_well = not flags & ~flags_known and flags & 3 != 2
        refuse_if(not ascends or not is_flagged_well or address == bytes(16), "backend")
        text = str(ip_address(address[12:] if address[:12] == sixteen("0.0.0.0")[:12] else address))
        one = {"id": id_, "address": text, "removed": bool(flags & 1), "dead": bool(flags & 2), "weight": weight}
        backends.append(one | {"foreign": bool(flags & 4)})
    return backends


def _check_current(known: dict, current: int) -> None:
    refuse_if(current != 0 and (current not in known or known[current][1]), "run")


def read_delta(data: bytes, image: dict, generation: int) -> dict:
    """The delta, fit for `apply` to this image, which makes the last checks."""
    at = {"service": image["service"], "generation": generation, "base": generation - 1, "buckets": image["buckets"]}
    body = read_body(data, "delta", at, *body_range("delta", image["buckets"]))
    committed, closed_until, base_sum, count = struct.unpack("<IIQI", body[:20])
    moves_at = 20 + 22 * count
    refuse_if(len(body) < moves_at + 8, "length")
    move_count, order = struct.unpack("<II", body[moves_at : moves_at + 8])
    refuse_if(order > 1, "run")
    releases_at = moves_at + 8 + (10, 12)[order] * move_count
    refuse_if(len(body) < releases_at + 4, "length")
    (release_count,) = struct.unpack("<I", body[releases_at : releases_at + 4])
    refuse_if(len(body) != releases_at + 4 + 10 * release_count, "length")
    refuse_if(base_sum != image_sum(image), "base")
    backends = _read_backends(body, 20, count, 7)
    known = image["backends"] | backends_by_id(backends)
    moves = _read_moves(body[moves_at + 8 : releases_at], move_count, ORDERS[order], image, known)
    releases = _read_runs(body[releases_at + 4 :], release_count, ("owner",), image["buckets"])
    change = {"generation": generation, "committed": committed, "closedUntil": closed_until}
    change |= {"baseSum": f"{base_sum:016x}", "backends": backends}
    return change | {"order": ORDERS[order], "moves": moves, "releases": releases}


def _columns(packed: bytes, count: int, names: tuple) -> list[dict]:
    """Rows of the columns skip and count, and of 16-bit ones of these names."""
    values = struct.unpack(f"<{2 * count}I{len(names) * count}H", packed)
    return [dict(zip(("skip", "count", *names), values[at::count], strict=True)) for at in range(count)]


def _read_runs(packed: bytes, count: int, names: tuple, most: int) -> list[dict]:
    runs, end = [], 0
    for row in _columns(packed, count, names):
        runs.append({"start": end + row.pop("skip")} | row)
        end = runs[-1]["start"] + row["count"]
        refuse_if(row["count"] == 0 or end > most, "run")
    return runs


def _read_moves(packed: bytes, count: int, order: str, image: dict, known: dict) -> list[dict]:
    runs: list[dict] = []
    owner, end, most = None, 0, image["buckets"]
    for row in _columns(packed, count, ("current", "owner") if order == "owner" else ("current",)):
        if order == "owner" and row["owner"] != owner:
            refuse_if(owner is not None and row["owner"] < owner, "run")
            owner, end, most = row["owner"], 0, len(owned(image, row["owner"]))
        runs.append({"start": end + row.pop("skip")} | row)
        end = runs[-1]["start"] + row["count"]
        refuse_if(row["count"] == 0 or end > most, "run")
        _check_current(known, row["current"])
    return runs


def read_snapshot(data: bytes, service: int, generation: int, buckets: int) -> dict:
    """The image."""
    expected = {"service": service, "generation": generation, "base": 0, "buckets": buckets}
    body = read_body(data, "snapshot", expected, *body_range("snapshot", buckets))
    _, _, said, count = struct.unpack("<IIQI", body[:20])
    at = 20 + 22 * count
    refuse_if(len(body) < at + 2 * buckets + 8, "length")
    n, entries = struct.unpack("<II", body[at + 2 * buckets : at + 2 * buckets + 8])
    histories_at = at + 2 * buckets + 8
    refuse_if(len(body) != histories_at + n + 6 * entries + 4 * buckets, "length")
    known = backends_by_id(_read_backends(body, 20, count, 5))
    histories = _read_histories(body[histories_at:], n, entries, known)
    currents = struct.unpack(f"<{buckets}H", body[at : at + 2 * buckets])
    index = struct.unpack(f"<{buckets}I", body[len(body) - 4 * buckets :])
    rows = _read_rows(currents, index, histories, known)
    image = {"service": service, "generation": generation, "buckets": buckets, "backends": known, "rows": rows}
    refuse_if(said != image_sum(image), "base")
    return image


def _read_histories(packed: bytes, n: int, total: int, known: dict) -> list[tuple]:
    owners = struct.unpack(f"<{total}H", packed[n : n + 2 * total])
    sinces = struct.unpack(f"<{total}I", packed[n + 2 * total : n + 6 * total])
    histories: list[tuple] = []
    at = 0
    for count in packed[:n]:
        refuse_if(not 1 <= count <= MAX or at + count > total, "run")
        named = owners[at : at + count]
        refuse_if(any(owner not in known for owner in named) or len(set(named)) < count, "run")
        histories.append(tuple(zip(named, sinces[at : at + count], strict=True)))
        at += count
    refuse_if(at != total or len(set(histories)) < n, "run")
    return histories


def _read_rows(currents: tuple, index: tuple, histories: list[tuple], known: dict) -> dict:
    rows, seen = {}, 0
    for bucket, (current, number) in enumerate(zip(currents, index, strict=True)):
        refuse_if(number > min(seen + 1, len(histories)), "run")
        seen = max(seen, number)
        _check_current(known, current)
        history = histories[number - 1] if number else ()
        refuse_if(any(owner == current for owner, _ in history), "run")
        rows[bucket] = (current, history)
    refuse_if(seen != len(histories), "run")
    return rows
