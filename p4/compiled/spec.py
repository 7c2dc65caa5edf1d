# SPDX-License-Identifier: Apache-2.0
"""mux.spec, read: what of SWX's language the translation to C needs (translate.py)."""

import re


class Refused(Exception):
    pass


def whole(text: str) -> bool:
    return re.fullmatch(r"0x[0-9A-Fa-f]+|\d+", text) is not None


class Spec:
    """What of mux.spec the translation needs."""

    def __init__(self, text: str):
        lines = [line.strip() for line in text.splitlines() if line.strip() and not line.startswith(";")]
        self.structs: dict[str, list[tuple[str, int]]] = {}
        self.headers: dict[str, str] = {}  # name: its struct's
        self.registers: dict[str, int] = {}  # name: entries, a power of two
        self.actions: dict[str, tuple[str | None, list[list[str]]]] = {}  # name: its arguments' struct, instructions
        self.tables: dict[str, tuple[list[str], list[str]]] = {}  # name: fields of the key, actions
        self.code: list[tuple[list[str], list[str]]] = []  # labels, words
        at = 0
        while at < len(lines):
            at = self.take(lines, at)

    def take(self, lines: list[str], at: int) -> int:
        """Takes what begins at this line; returns where the next begins."""
        words = lines[at].split()
        if words[0] == "struct":
            end = lines.index("}", at)
            fields = [re.fullmatch(r"bit<(\d+)> (\w+)", line) for line in lines[at + 1 : end]]
            self.structs[words[1]] = [(field[2], int(field[1])) for field in fields if field]
        elif words[0] == "header":
            self.headers[words[1]], end = words[3], at
        elif words[0] == "metadata":
            self.metadata, end = words[2], at
        elif words[0] == "regarray":
            entries, end = int(words[3], 0), at
            if entries & (entries - 1):
                raise Refused(f"register array {words[1]} of {entries} entries: allowed is a power of two")
            self.registers[words[1]] = entries
        elif words[0] == "action":
            end = lines.index("}", at)
            arguments = words[4] if words[3] == "instanceof" else None
            self.actions[words[1]] = (arguments, [line.split() for line in lines[at + 1 : end]])
        elif words[0] == "table":
            end = at + next(i for i, line in enumerate(lines[at:]) if line.startswith("size "))
            self.take_table(words[1], lines[at + 1 : end])
            end += 1
        elif words[0] == "apply":
            end = len(lines) - 1
            self.take_code(lines[at + 1 : end])
        else:
            raise Refused(f"'{lines[at]}'")
        return end + 1

    def take_table(self, name: str, lines: list[str]) -> None:
        keys, actions = lines.index("key {"), lines.index("actions {")
        fields = [line.split() for line in lines[keys + 1 : lines.index("}", keys)]]
        if any(field[1] != "exact" for field in fields):
            raise Refused(f"table {name}: only exact matches are allowed")
        default = next(line for line in lines if line.startswith("default_action ")).split()
        if default[2:] != ["args", "none", "const"] or self.actions[default[1]][1] != [["return"]]:
            raise Refused(f"table {name}: its default action must be constant and do nothing")
        self.tables[name] = ([field[0] for field in fields], lines[actions + 1 : lines.index("}", actions)])

    def take_code(self, lines: list[str]) -> None:
        labels: list[str] = []
        for line in lines:
            *names, instruction = re.split(r" :\s*", line)
            labels += names
            if instruction:
                self.code.append((labels, instruction.split()))
                labels = []
        if labels:
            raise Refused(f"label {labels[0]} at the end")

    def fields(self, struct: str) -> dict[str, tuple[int, int]]:
        """Of a struct: where a field begins, and its bits."""
        found, at = {}, 0
        for name, bits in self.structs[struct]:
            if bits % 8:
                raise Refused(f"struct {struct}: a field of {bits} bits")
            found[name] = (at // 8, bits)
            at += bits
        return found

    def size(self, struct: str) -> int:
        return sum(bits for _, bits in self.structs[struct]) // 8
