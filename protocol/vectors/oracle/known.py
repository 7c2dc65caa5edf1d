# SPDX-License-Identifier: Apache-2.0
"""What a leader knows of one server's connections of a service, by its reports (protocol/README.md, 11)."""

from typing import Any

from . import refuse_if
from .report import data_of, set_text

HASH_BYTES = 8


def write_hashes(hashes: list[int]) -> str:
    return set_text(b"".join(one.to_bytes(HASH_BYTES, "little") for one in hashes))


def read_hashes(text: str) -> list[int]:
    data = data_of(text)
    refuse_if(len(data) % HASH_BYTES, "length")
    return [int.from_bytes(data[at : at + HASH_BYTES], "little") for at in range(0, len(data), HASH_BYTES)]


class Known:
    def __init__(self, memory: str) -> None:
        self.memory = memory
        self.hashes: set[int] = set()
        self.is_complete = False  # a whole set has been heard
        self._whole: set[int] | None = None  # of the one under way, what was heard

    def hear(self, part: dict[str, Any]) -> None:
        """Takes the `connections` of a report."""
        opened, closed = read_hashes(part["opened"]), read_hashes(part["closed"])
        if part["memory"] != self.memory:
            return
        if part["whole"]:
            self._hear_whole(part, set(opened))
        elif self.is_complete:
            self.hashes -= set(closed)
            self.hashes |= set(opened)

    def _hear_whole(self, part: dict[str, Any], opened: set[int]) -> None:
        if part["first"]:
            self._whole = set()
        if self._whole is None:
            return  # the repetition of the last part, or a set whose beginning was not heard
        self._whole |= opened
        self.hashes |= opened
        if part["last"]:
            self.hashes, self._whole, self.is_complete = self._whole, None, True
