# SPDX-License-Identifier: Apache-2.0
"""Sets of buckets in reports of servers (protocol/README.md, 11)."""

import re
from base64 import b64decode, b64encode

from . import RefusedError, refuse_if

VALUE_MAX = 8_388_608
BASE64 = re.compile(r"(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?")


def varint(value: int) -> bytes:
    groups = [value & 127]
    while value := value >> 7:
        groups.append(value & 127)
    return bytes([group | 128 for group in groups[:-1]] + groups[-1:])


def set_bytes(runs: list[tuple[int, int]]) -> bytes:
    """The runs are pairs of start and count, each after the one before it."""
    data, end = b"", 0
    for start, count in runs:
        data += varint(start - end) + varint(count)
        end = start + count
    return data


def set_text(data: bytes) -> str:
    return b64encode(data).decode()


def runs_of(buckets: set[int]) -> list[tuple[int, int]]:
    runs: list[tuple[int, int]] = []
    for bucket in sorted(buckets):
        if runs and sum(runs[-1]) == bucket:
            runs[-1] = (runs[-1][0], runs[-1][1] + 1)
        else:
            runs.append((bucket, 1))
    return runs


def _next(data: bytes, at: int) -> tuple[int, int]:
    value, group = 0, 0
    while True:
        refuse_if(group == 4, "varint")
        refuse_if(at == len(data), "truncated")
        byte, at = data[at], at + 1
        value |= (byte & 127) << 7 * group
        group += 1
        if byte < 128:
            break
    refuse_if((byte == 0 and group > 1) or value > VALUE_MAX, "varint")
    return value, at


def data_of(text: str) -> bytes:
    if not BASE64.fullmatch(text) or set_text(b64decode(text)) != text:
        raise RefusedError("base64")
    return b64decode(text)


def read_set(text: str, buckets: int) -> set[int]:
    data, at, end = data_of(text), 0, 0
    found: set[int] = set()
    while at < len(data):
        skip, at = _next(data, at)
        count, at = _next(data, at)
        refuse_if(count == 0, "count")
        refuse_if(end + skip + count > buckets, "ring")
        found.update(range(end + skip, end + skip + count))
        end += skip + count
    return found
