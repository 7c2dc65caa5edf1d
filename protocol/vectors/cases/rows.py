# SPDX-License-Identifier: Apache-2.0
"""What rows of several files have in common."""

import random
from collections.abc import Callable

from oracle import RefusedError


def changed(data: bytes, changes: dict[int, int]) -> bytes:
    """With other bytes at these places."""
    after = bytearray(data)
    for at, value in changes.items():
        after[at] = value
    return bytes(after)


def refusal(read: Callable, *arguments: object) -> str:
    """The word by which a reader refuses what it must refuse."""
    try:
        read(*arguments)
    except RefusedError as refused:
        return refused.args[0]
    raise AssertionError(f"{arguments} was meant to be malformed")


def valid(read: Callable, name: str, data: bytes) -> dict:
    return {"name": name, "bytes": data.hex(), "fields": read(data)}


def refused_rows(read: Callable, cases: list[tuple[str, bytes]], *more: object) -> list[dict]:
    """Of bytes under a name. more: what the reader asks besides."""
    return [{"name": name, "bytes": data.hex(), "error": refusal(read, data, *more)} for name, data in cases]


def cuts(what: str, data: bytes, first: int = 0) -> list[tuple[str, bytes]]:
    """Every length that is too short."""
    return [(f"{what}cut to {n} bytes", data[:n]) for n in range(first, len(data))]


def spoiled(draw: random.Random, data: bytes, turns: float, shortens: float, reach: int | None = None) -> bytes:
    """Perhaps with a bit turned, among the first `reach` bytes, and perhaps cut short."""
    after = bytearray(data)
    if draw.random() < turns:
        after[draw.randrange(reach or len(after))] ^= 1 << draw.randrange(8)
    return bytes(after[: draw.randrange(len(after))] if draw.random() < shortens else after)
