# SPDX-License-Identifier: Apache-2.0
"""
Compares a program whose fields of metadata share words (words.py) with the one that it was made of. Goes through both
at once, and knows of each instruction which fields the words hold whatever the way to it: what reads a field must find
it in its word. It shares no table and no analysis with words.py, so that a mistake there ends as an error here.
"""

from collections.abc import Callable

from spec import Refused, Spec

# Instructions whose operand, by its number, is set without being read. Any other field of an instruction is read.
ONLY_SETS = {"mov": 1, "regrd": 1, "rx": 1, "hash": 2}
SETS = {**ONLY_SETS, **dict.fromkeys(("add", "sub", "and", "or", "xor", "shl", "shr", "ckadd"), 1)}
ENDS = ("jmp", "tx")


class Comparison:
    def __init__(self, old: Spec, new: Spec, renamed: Callable[[str], str]):
        self.old, self.new, self.renamed = old, new, renamed
        self.bits = {f"m.{name}": bits for name, bits in old.structs[old.metadata]}
        self.begins = [{name: at for at, (names, _) in enumerate(spec.code) for name in names} for spec in (old, new)]

    def held_after(self, words: list[str], held: frozenset[str]) -> frozenset[str]:
        """The fields that their words hold after an instruction, from those before it."""
        name, *operands = words
        if name == "table":
            keys, actions = self.old.tables[operands[0]]
            self.read(words, keys, held)
            ways = []
            for action in actions:
                way = held
                for line in self.old.actions[action][1]:
                    way = self.held_after(line, way)
                ways.append(way)
            return frozenset.intersection(*ways)
        self.read(words, [operand for at, operand in enumerate(words) if at != ONLY_SETS.get(name)], held)
        if name not in SETS or not words[SETS[name]].startswith("m."):
            return held
        field = words[SETS[name]]
        if self.left_out(words):
            return held | {field}
        return frozenset(other for other in held if self.renamed(other) != self.renamed(field)) | {field}

    def read(self, words: list[str], operands: list[str], held: frozenset[str]) -> None:
        for operand in operands:
            if operand.startswith("m.") and operand not in held:
                raise Refused(f"'{' '.join(words)}' would not find {operand}'s value in {self.renamed(operand)}")

    def left_out(self, words: list[str]) -> bool:
        return words[0] == "mov" and words[1].startswith("m.") and self.renamed(words[1]) == self.renamed(words[2])

    def alike(self, old: list[str], new: list[str]) -> bool:
        """Whether both do the same. A label is not compared: the next pair of instructions shows it."""
        jumps = old[0].startswith("jmp")
        return old[0] == new[0] and [self.renamed(word) for word in old[1 + jumps :]] == new[1 + jumps :]

    def behind_jumps(self, at: int) -> int:
        while self.new.code[at][1][0] == "jmp":
            at = self.begins[1][self.new.code[at][1][1]]
        return at

    def run(self) -> None:
        kept = dict(self.new.structs[self.new.metadata])
        for field, bits in self.bits.items():
            if kept.get(self.renamed(field)[2:], bits) != bits:
                raise Refused(f"{field} of {bits} bits has the word {self.renamed(field)}")
        for name, (fields, actions) in self.old.tables.items():
            if ([self.renamed(field) for field in fields], actions) != self.new.tables[name]:
                raise Refused(f"table {name} is another")
        for name, (_, code) in self.old.actions.items():
            if not all(map(self.alike, code, self.new.actions[name][1])):
                raise Refused(f"action {name} is another")
        found: dict[int, tuple[int, frozenset[str]]] = {}  # by the old one's instruction: the new one's, fields held
        left = [(0, 0, frozenset(self.bits))]  # at first no field has a value of its own
        while left:
            at, to, held = left.pop()
            to = self.behind_jumps(to)
            before = found.get(at, (to, held))
            held &= before[1]
            if before[0] != to:
                raise Refused(f"'{' '.join(self.old.code[at][1])}' has two places in what was made of it")
            if found.get(at) == (to, held):
                continue
            found[at] = (to, held)
            left += self.followers(at, to, held)

    def followers(self, at: int, to: int, held: frozenset[str]) -> list[tuple[int, int, frozenset[str]]]:
        words, made = self.old.code[at][1], self.new.code[to][1]
        after = self.held_after(words, held)
        if words[0] == "jmp":
            return [(self.begins[0][words[1]], to, after)]
        if self.left_out(words):
            return [(at + 1, to, after)]
        if not self.alike(words, made):
            raise Refused(f"'{' '.join(words)}' became '{' '.join(made)}'")
        jump = [(self.begins[0][words[1]], self.begins[1][made[1]], after)] if words[0].startswith("jmp") else []
        return jump + ([] if words[0] in ENDS else [(at + 1, to + 1, after)])
