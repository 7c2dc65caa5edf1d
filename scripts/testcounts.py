# SPDX-License-Identifier: Apache-2.0
"""Cases of a part of the test run: how they are counted, and read from what the tools write."""

import json
import re
from dataclasses import dataclass, field
from pathlib import Path
from xml.etree import ElementTree

NAMED = 50  # cases of a part that are listed after the table


@dataclass
class Counts:
    passed: int = 0
    failed: int = 0
    skipped: int = 0
    failures: list[str] = field(default_factory=list)  # a sentence each
    skips: list[str] = field(default_factory=list)

    def fail(self, sentence: str) -> None:
        self.failed += 1
        self.failures.append(sentence)

    def skip(self, sentence: str) -> None:
        self.skipped += 1
        self.skips.append(sentence)

    def add(self, other: "Counts") -> None:
        self.passed += other.passed
        self.failed += other.failed
        self.skipped += other.skipped
        self.failures += other.failures
        self.skips += other.skips


def junit(paths: list[Path]) -> Counts:
    """Counts the cases in JUnit files, in the dialects of meson, surefire and pytest."""
    counts = Counts()
    for path in paths:
        try:
            cases = list(ElementTree.parse(path).iter("testcase"))
        except (OSError, ElementTree.ParseError) as error:
            counts.fail(f"{path.name} cannot be read: {error}")
            continue
        for case in cases:
            name = f"{case.get('classname') or ''} {case.get('name')}".strip()
            if case.find("failure") is not None or case.find("error") is not None:
                counts.fail(name)
            elif (skipped := case.find("skipped")) is not None:
                reason = " ".join((skipped.get("message") or skipped.text or "").split())
                counts.skip(f"{name}: {reason or 'no reason given'}")
            else:
                counts.passed += 1
    return counts


def meson_results(folder: Path, suite: str) -> Counts:
    """
    Cases from JUnit, and from the JSON log each program that failed without a failed case: after a crash or a time-out
    JUnit has only the cases that ran.
    """
    logs = folder / "meson-logs"
    cases = logs / f"{suite}.junit.xml"
    counts = junit([cases] if cases.exists() else [])
    failed = " ".join(counts.failures)
    for line in (logs / f"{suite}.json").read_text().splitlines():
        program = json.loads(line)
        if program["result"] not in ("OK", "SKIP", "EXPECTEDFAIL") and program["name"] not in failed:
            counts.fail(f"{program['name']}: {program['result']}")
    return counts


def lines(said: str) -> Counts:
    """Cases from lines `ok - NAME` and `not ok - NAME`."""
    counts = Counts(passed=len(re.findall(r"^ok - ", said, re.MULTILINE)))
    for name in re.findall(r"^not ok - (.*)$", said, re.MULTILINE):
        counts.fail(name)
    return counts


def named(part: str, counts: Counts) -> list[str]:
    """A line for each failed and each skipped case of a part, at most NAMED of each."""
    lines = []
    for what, sentences in (("failed", counts.failures), ("skipped", counts.skips)):
        lines += [f"{what}: {part}: {sentence}" for sentence in sentences[:NAMED]]
        if len(sentences) > NAMED:
            lines.append(f"{what}: {part}: and {len(sentences) - NAMED} more")
    return lines
