# SPDX-License-Identifier: Apache-2.0
"""What one figure of a paper is here: which benchmarks draw it, what is compared, and why it differs."""

import json
import math
import statistics
from collections.abc import Callable
from dataclasses import dataclass

from bench.lib.command import ROOT

DATA = ROOT / "bench/papers/data"
PAPERS = ("beamer", "concury", "maat", "6lb", "kth")
REDRAWN, STANDS_IN, CANNOT = "redrawn", "stands in", "cannot"
CLOSE = 1.25  # a factor within which two numbers agree, unless a row names another


@dataclass(frozen=True)
class Row:
    """One number of the paper beside ours. `rule`: near (within a factor), below or above the paper's, between two."""

    what: str
    paper: object
    ours: float
    unit: str = ""
    rule: str = "near"
    factor: float = CLOSE

    @property
    def agrees(self):
        if self.rule == "between":
            return self.paper[0] <= self.ours <= self.paper[1]
        if self.rule == "below":
            return self.ours <= self.paper
        if self.rule == "above":
            return self.ours >= self.paper
        if self.paper == 0 or self.ours == 0:
            return self.paper == self.ours
        return 1 / self.factor <= self.ours / self.paper <= self.factor

    def to_json(self):
        found = math.isfinite(self.ours)  # JSON has no infinity
        comparable = found and self.paper and not isinstance(self.paper, tuple | list)
        ratio = self.ours / self.paper if comparable else None
        return {
            "what": self.what, "paper": self.paper, "ours": self.ours if found else None, "unit": self.unit,
            "rule": self.rule, "factor": self.factor if self.rule == "near" else None,
            "ratio": ratio, "agrees": self.agrees,
        }  # fmt: skip


@dataclass(frozen=True)
class Figure:
    """`draw`: of (results by step, Stated) makes (panels, rows). `why`: the causes of what differs, as a sentence.

    `stands_in`: what is shown where the figure itself is not; `reason`: why it cannot be had, or not as it was.
    """

    paper: str
    number: str
    title: str
    state: str
    steps: tuple = ()
    draw: Callable | None = None
    why: str = ""
    stands_in: str = ""
    reason: str = ""

    @property
    def name(self):
        return f"{self.paper}/{self.number.replace(' ', '-')}"


class Stated:
    """The paper's numbers of one figure, as its data file has them."""

    def __init__(self, entry):
        self.entry = entry

    def __getitem__(self, key):
        return self.entry["values"][key]["value"]

    def series(self, key):
        return self.entry["series"][key]["points"]

    def all_series(self):
        return {name: found["points"] for name, found in self.entry.get("series", {}).items()}


class PaperError(Exception):
    """A data file is not as it must be; the message names file and field."""


def check(path, found):
    """Refuses a data file whose numbers have no source."""

    def refuse(field, value, allowed):
        raise PaperError(f"{path.name}: {field}: {value!r} is refused; allowed: {allowed}")

    for key in ("paper", "source", "figures"):
        if not found.get(key):
            refuse(key, found.get(key), "present and not empty")
    for number, entry in found["figures"].items():
        if not isinstance(entry.get("read"), str) or not entry["read"]:
            refuse(f"figures.{number}.read", entry.get("read"), "how its numbers were read")
        for key, value in entry.get("values", {}).items():
            where = f"figures.{number}.values.{key}"
            if isinstance(value.get("value"), bool) or not isinstance(value.get("value"), int | float):
                refuse(f"{where}.value", value.get("value"), "a number")
            for field in ("unit", "where"):
                if not isinstance(value.get(field), str) or not value[field]:
                    refuse(f"{where}.{field}", value.get(field), "a word")
        for key, series in entry.get("series", {}).items():
            where = f"figures.{number}.series.{key}"
            for field in ("unit", "where"):
                if not isinstance(series.get(field), str) or not series[field]:
                    refuse(f"{where}.{field}", series.get(field), "a word")
            if not series.get("points") or not all(len(point) == 2 for point in series["points"]):
                refuse(f"{where}.points", series.get("points"), "pairs of numbers")


def papers():
    """The data file of every paper."""
    found = {}
    for name in PAPERS:
        path = DATA / f"{name}.json"
        try:
            entry = json.loads(path.read_text())
        except (OSError, ValueError) as error:
            raise PaperError(f"{path.name}: is not readable as JSON: {error}") from error
        check(path, entry)
        if entry["paper"] != name:
            raise PaperError(f"{path.name}: paper: {entry['paper']!r} is refused; allowed: {name!r}")
        found[name] = entry
    return found


def median(values):
    return statistics.median(values)
