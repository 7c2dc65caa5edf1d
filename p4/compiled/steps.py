# SPDX-License-Identifier: Apache-2.0
"""Steps of a translated program, what follows what, and what of their variables matters where (translate.py)."""

from dataclasses import dataclass, field


@dataclass
class Step:
    """An instruction as C."""

    labels: list[str]
    lines: list[str] = field(default_factory=list)
    uses: set[str] = field(default_factory=set)  # variables
    sets: set[str] = field(default_factory=set)  # surely
    may_set: set[str] = field(default_factory=set)
    value: int | None = None  # that it sets, if constant
    equal: tuple[str, int] | None = None  # if it does not jump, then this variable has this value
    jump: str = ""  # a label
    falls: bool = True  # into the next one
    reads: str = ""  # a register array, and where: as C
    place: str = ""


class Flow:
    def __init__(self, steps: list[Step]):
        self.steps = steps
        self.labels = {label: number for number, step in enumerate(steps) for label in step.labels}

    def next(self, number: int) -> list[int]:
        step = self.steps[number]
        return ([number + 1] if step.falls else []) + ([self.labels[step.jump]] if step.jump else [])

    def reached(self, begin: set[int], end: set[int]) -> set[int]:
        """Steps on all ways from `begin`, up to those of `end`, which are among them."""
        found, left = set(), list(begin)
        while left:
            number = left.pop()
            if number not in found:
                found.add(number)
                left += [] if number in end else self.next(number)
        return found

    def live(self) -> list[set[str]]:
        """By step: variables whose value before it is used by it or later."""
        live: list[set[str]] = [set() for _ in self.steps]
        changed = True
        while changed:
            changed = False
            for number in reversed(range(len(self.steps))):
                step = self.steps[number]
                after = set().union(*(live[follower] for follower in self.next(number)))
                before = step.uses | (after - step.sets)
                if before != live[number]:
                    live[number], changed = before, True
        return live

    def constants(self, names: set[str]) -> list[dict[str, int] | None]:
        """By step: which of `names`, all 0 at first, have one value before it on all ways; None: no way to it."""
        known: list[dict[str, int] | None] = [None] * len(self.steps)
        known[0] = dict.fromkeys(names, 0)
        left = [0]
        while left:
            number = left.pop()
            step = self.steps[number]
            after = {name: value for name, value in known[number].items() if name not in step.sets | step.may_set}
            if step.value is not None:
                after.update(dict.fromkeys(step.sets, step.value))
            for follower in self.next(number):
                here = dict(after)
                if step.equal and step.falls and follower == number + 1:
                    here[step.equal[0]] = step.equal[1]
                before = known[follower]
                met = here if before is None else {n: v for n, v in before.items() if here.get(n) == v}
                if met != before:
                    known[follower] = met
                    left.append(follower)
        return known
