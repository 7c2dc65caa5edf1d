# SPDX-License-Identifier: Apache-2.0
"""
Words of mux.spec's metadata. The compiler gives each variable of the sources, and each inner expression, a field of its
own; SWX's instructions reach 256 bytes. Here fields of one width that are never needed at the same time become one
field: first those that a `mov` joins, which is left out then, as in a compiler's allocation of registers. word_check.py
compares the result with the program before.
"""

import re
import sys
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parent / "compiled"))

from spec import Refused, Spec
from steps import Flow, Step
from word_check import Comparison

COMPARE = ("jmpeq", "jmpneq", "jmplt", "jmpgt")
OPERATORS = ("add", "sub", "and", "or", "xor", "shl", "shr")
# By instruction: the numbers of the operands at which it may read a field of metadata, and at which it may write one.
# At any other operand a field of metadata is refused: `hash`, for instance, reads all fields from one operand to the
# next, and these would not stay together. Fields of headers may be anywhere, because headers are left as they are.
OPERANDS = {
    "mov": ((1,), (0,)),
    **dict.fromkeys(OPERATORS, ((0, 1), (0,))),
    **dict.fromkeys(COMPARE, ((1, 2), ())),
    "regrd": ((2,), (0,)),
    **dict.fromkeys(("regwr", "regadd"), ((1, 2), ())),
    "hash": ((), (1,)),
    "rx": ((), (0,)),
    "tx": ((0,), ()),
    "ckadd": ((0,), (0,)),
    **dict.fromkeys(("jmp", "jmpv", "jmpnv", "extract", "emit", "validate", "invalidate"), ((), ())),
}


def names(operands: list[str]) -> set[str]:
    return {operand[2:] for operand in operands if operand.startswith("m.")}


class Words:
    def __init__(self, spec: Spec):
        self.spec = spec
        self.bits = dict(spec.structs[spec.metadata])
        self.code = [(list(labels), list(words)) for labels, words in spec.code]
        keys = set().union(*(names(fields) for fields, _ in spec.tables.values()))
        self.keys = [name for name in self.bits if name in keys]  # in one piece for each table
        self.apart: dict[str, set[str]] = {name: set() for name in self.bits}
        self.joined = {name: name for name in self.bits}  # each to the one whose word it has

    def step(self, labels: list[str], words: list[str]) -> Step:
        step = Step(labels)
        name, *operands = words
        if name == "table":
            fields, actions = self.spec.tables[operands[0]]
            step.uses = names(fields)
            for _, code in (self.spec.actions[action] for action in actions):
                for line in code[:-1]:
                    if line[0] != "mov" or names(line[2:]) or code[-1] != ["return"]:
                        raise Refused(f"an action's instruction '{' '.join(line)}'")
                    step.may_set |= names(line[1:2])
            return step
        read, written = OPERANDS.get(name, ((), ()))
        if name not in OPERANDS or names([word for at, word in enumerate(operands) if at not in read + written]):
            raise Refused(f"instruction '{' '.join(words)}'")
        step.uses = names([operands[at] for at in read])
        step.sets = names([operands[at] for at in written])
        step.jump = operands[0] if name.startswith("jmp") else ""
        step.falls = name not in ("jmp", "tx")
        return step

    def flow(self) -> Flow:
        return Flow([self.step(labels, words) for labels, words in self.code])

    def keep(self, kept: set[int]) -> None:
        """Leaves out all other instructions; their labels are the next one's, of which each has one that is used."""
        code, labels, same = [], [], {}
        for number, (own, words) in enumerate(self.code):
            labels = labels + own
            if number in kept:
                same.update(dict.fromkeys(labels, labels[0] if labels else ""))
                code.append((labels[:1], words))
                labels = []
        for _, words in code:
            if words[0].startswith("jmp"):
                words[1] = same[words[1]]
        used = {words[1] for _, words in code if words[0].startswith("jmp")}
        self.code = [([label for label in own if label in used], words) for own, words in code]

    def reached(self) -> set[int]:
        return self.flow().reached({0}, set())

    def set_apart(self) -> None:
        """A field that is written is another word than those needed behind it, except the one whose value it has."""
        flow = self.flow()
        live = flow.live()
        for number, step in enumerate(flow.steps):
            words = self.code[number][1]
            after = set().union(*(live[follower] for follower in flow.next(number)))
            for name in step.sets | step.may_set:
                copied = names(words[2:]) if words[0] == "mov" else set()
                for other in after - copied - {name}:
                    self.apart[name].add(other)
                    self.apart[other].add(name)

    def root(self, name: str) -> str:
        while self.joined[name] != name:
            name = self.joined[name]
        return name

    def join(self, into: str, name: str) -> bool:
        """Whether both may have one word; then they have."""
        if into == name:
            return True
        if self.bits[into] != self.bits[name] or name in self.apart[into] or name in self.keys:
            return False
        self.joined[name] = into
        self.apart[into] |= self.apart[name]
        for other in self.apart.pop(name):
            self.apart[other].discard(name)
            self.apart[other].add(into)
        return True

    def join_copies(self) -> None:
        for _, words in self.code:
            if words[0] == "mov" and names(words[1:2]) and names(words[2:]):
                first, second = sorted((self.root(words[1][2:]), self.root(words[2][2:])), key=list(self.bits).index)
                self.join(first, second) or self.join(second, first)

    def share(self, order: list[str]) -> list[str]:
        """The words: each of these fields has the first one that is free for it, or else one of its own."""
        words: list[str] = []
        for name in dict.fromkeys(map(self.root, order)):
            if not any(self.join(word, name) for word in words):
                words.append(name)
        return words

    def allocate(self) -> list[str]:
        """Joins fields to words; returns these in their order, results of `hash` first, where SWX reaches them."""
        self.keep(self.reached())
        self.set_apart()
        used = set(self.keys).union(*(names(words[1:]) for _, words in self.code))
        used |= {name for code in self.spec.actions.values() for line in code[1] for name in names(line[1:])}
        self.join_copies()
        hashed = [words[2][2:] for _, words in self.code if words[0] == "hash"]
        words = self.share([*hashed, *self.keys, *(name for name in self.bits if name in used)])
        begin = words.index(self.keys[0])
        if words[begin : begin + len(self.keys)] != self.keys:
            raise Refused("a result of hash has the word of a key of a table, and keys are in one piece behind these")
        for _, line in self.code:
            line[:] = [line[0], *(self.renamed(operand) for operand in line[1:])]
        self.keep({n for n, (_, line) in enumerate(self.code) if line[0] != "mov" or line[1] != line[2]})
        self.keep({n for n, (_, line) in enumerate(self.code) if line[0] != "jmp" or not self.is_next(n, line[1])})
        return words

    def is_next(self, number: int, label: str) -> bool:
        return label in self.code[number + 1][0]

    def renamed(self, operand: str) -> str:
        return f"m.{self.root(operand[2:])}" if operand.startswith("m.") else operand


def allocate(text: str) -> str:
    """mux.spec with as few words of metadata as its instructions need, and compared with this one."""
    words = Words(Spec(text))
    order = words.allocate()
    struct = "".join(f"\tbit<{words.bits[name]}> {name}\n" for name in order)
    code = "".join(f"\t{''.join(f'{label} :' + chr(9) for label in own)}{' '.join(line)}\n" for own, line in words.code)
    head, _ = text.split("apply {\n")
    head = re.sub(r"\bm\.\w+", lambda found: words.renamed(found[0]), head)
    head = re.sub(rf"(?<=struct {words.spec.metadata} {{\n)[^}}]*", lambda _: struct, head)
    made = f"{head}apply {{\n{code}}}\n"
    Comparison(words.spec, Spec(made), words.renamed).run()
    return made
