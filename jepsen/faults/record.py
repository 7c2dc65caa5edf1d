# SPDX-License-Identifier: Apache-2.0
"""The active faults: faults.json of the instance, written before anything is done, so that all can be undone."""

import contextlib
import fcntl
import json
from collections.abc import Iterator
from pathlib import Path
from typing import TypedDict


class Fault(TypedDict):
    """One that is active."""

    fault: str
    node: str | None  # if it has one
    words: list[str]


class Record:
    def __init__(self, directory: Path) -> None:
        self.file = directory / "faults.json"
        directory.mkdir(parents=True, exist_ok=True)

    def all(self) -> list[Fault]:
        """The oldest first."""
        try:
            found: list[Fault] = json.loads(self.file.read_text())
        except FileNotFoundError:
            return []
        return found

    @contextlib.contextmanager
    def _changing(self) -> Iterator[list[Fault]]:
        with open(self.file.with_suffix(".lock"), "a") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            faults = self.all()
            yield faults
            following = self.file.with_suffix(".next")
            following.write_text(json.dumps(faults, indent=1) + "\n")
            following.rename(self.file)

    def add(self, fault: str, node: str | None, words: list[str]) -> None:
        with self._changing() as faults:
            faults.append({"fault": fault, "node": node, "words": words})

    def remove(self, fault: str, node: str | None) -> None:
        with self._changing() as faults:
            faults[:] = [each for each in faults if (each["fault"], each["node"]) != (fault, node)]
