# SPDX-License-Identifier: Apache-2.0
"""
Makes C of mux.spec: one function that takes a packet through the whole program (run.h has what it calls).

Metadata, and headers that the program makes, become local variables, so that the compiler keeps them in registers;
headers of the packet are read where they are, and the ones made are written in front of what is kept of them. Whatever
of SWX's language mux.spec does not use, or uses in another way than this, is refused.

Usage: translate.py mux.spec CODE
"""

import re
import sys
from pathlib import Path

COMPARE = {"jmpeq": "==", "jmpneq": "!=", "jmplt": "<", "jmpgt": ">"}
OPERATORS = {"add": "+", "sub": "-", "and": "&", "or": "|", "xor": "^", "shl": "<<", "shr": ">>"}
CKADD_BYTES = 20  # of the one header that has a checksum


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


class Translation:
    def __init__(self, spec: Spec):
        self.spec = spec
        self.lines: list[str] = []
        words = [words for _, words in spec.code]
        self.extracted = [w[1][2:] for w in words if w[0] == "extract"]
        self.made = [name for name in spec.headers if name not in self.extracted]
        self.emitted = [w[1][2:] for w in words if w[0] == "emit"]
        self.asked = {*self.emitted, *(w[2][2:] for w in words if w[0] == "jmpnv")}  # whether they are valid
        if len(set(self.extracted)) != len(self.extracted):
            raise Refused("a header that is extracted in two places")
        first = next((i for i, name in enumerate(self.emitted) if name in self.extracted), len(self.emitted))
        self.kept = self.emitted[first:]
        if any(name in self.made for name in self.kept):
            raise Refused("emits a header that it makes behind one that it keeps")

    def write(self, line: str) -> None:
        self.lines.append("\t" + line)

    def field(self, operand: str) -> tuple[str, int, int, str]:
        """Of an operand: where it is (m, t, extracted or made), its first byte, its bits, its name in C."""
        parts = operand.split(".")
        if parts[0] == "m":
            at, bits = self.spec.fields(self.spec.metadata)[parts[1]]
            return "m", at, bits, f"m_{parts[1]}"
        if parts[0] == "h":
            at, bits = self.spec.fields(self.spec.headers[parts[1]])[parts[2]]
            return "extracted" if parts[1] in self.extracted else "made", at, bits, f"f_{parts[1]}_{parts[2]}"
        raise Refused(f"operand {operand}")

    def value(self, operand: str) -> str:
        if whole(operand):
            return f"UINT64_C({operand})"
        kind, at, bits, name = self.field(operand)
        if kind == "extracted":
            return f"run_load{bits}(h_{operand.split('.')[1]} + {at})"
        return f"(uint64_t){name}"

    def set(self, operand: str, value: str) -> None:
        kind, _, bits, name = self.field(operand)
        if kind == "extracted":
            raise Refused(f"writes {operand}, a field of the packet")
        mask = "" if bits in (8, 16, 32, 64) else f" & {hex((1 << bits) - 1)}"
        self.write(f"{name} = ({c_type(bits)})({value}{mask});")

    def register(self, name: str, index: str) -> str:
        return f"run->{name}[{self.value(index)} & {hex(self.spec.registers[name] - 1)}]"

    def instruction(self, words: list[str]) -> None:
        name, operands = words[0], words[1:]
        if name == "mov":
            self.set(operands[0], self.value(operands[1]))
        elif name in OPERATORS:
            by = (
                self.value(operands[1])
                if name[:2] != "sh" or whole(operands[1])
                else f"({self.value(operands[1])} & 63)"
            )
            self.set(operands[0], f"({self.value(operands[0])} {OPERATORS[name]} {by})")
        elif name == "jmp":
            self.write(f"goto {operands[0]};")
        elif name in COMPARE:
            self.write(f"if ({self.value(operands[1])} {COMPARE[name]} {self.value(operands[2])})")
            self.write(f"\tgoto {operands[0]};")
        elif name == "jmpnv":
            self.write(f"if (!v_{operands[1][2:]})")
            self.write(f"\tgoto {operands[0]};")
        elif name == "extract":
            header = operands[0][2:]
            self.write(f"h_{header} = at;")
            self.write(f"at += {self.spec.size(self.spec.headers[header])};")
            self.set_valid(header, "true")
        elif name in ("validate", "invalidate"):
            self.set_valid(operands[0][2:], "true" if name == "validate" else "false")
        elif name == "regrd":
            self.set(operands[0], f"run_read(&{self.register(operands[1], operands[2])})")
        elif name == "regwr":
            self.write(f"{self.register(operands[0], operands[1])} = {self.value(operands[2])};")
        elif name == "regadd":
            if whole(operands[1]):
                raise Refused(f"'{' '.join(words)}': a constant index, which DPDK takes for another register")
            self.write(f"{self.register(operands[0], operands[1])} += {self.value(operands[2])};")
        elif name == "ckadd":
            self.checksum(operands)
        elif name == "hash":
            self.hash(operands)
        elif name == "table":
            self.table(operands[0])
        else:
            raise Refused(f"instruction '{' '.join(words)}'")

    def set_valid(self, header: str, value: str) -> None:
        if header in self.asked:
            self.write(f"v_{header} = {value};")

    def checksum(self, operands: list[str]) -> None:
        header = operands[1][2:]
        if header not in self.extracted or self.spec.size(self.spec.headers[header]) != CKADD_BYTES:
            raise Refused(f"ckadd of {operands[1]}: allowed is a header of the packet of {CKADD_BYTES} bytes")
        self.set(operands[0], f"run_checksum20({self.value(operands[0])}, h_{header})")

    def hash(self, operands: list[str]) -> None:
        header = operands[2].split(".")[1]
        fields = [f"h.{header}.{field}" for field, _ in self.spec.structs[self.spec.headers[header]]]
        if operands[0] != "siphash" or header not in self.made or [fields[0], fields[-1]] != operands[2:]:
            raise Refused(f"hash {' '.join(operands)}: allowed is siphash of a whole header that is made")
        self.write("{")
        self.write(f"\tuint8_t bytes[{self.spec.size(self.spec.headers[header])}];")
        self.write("")
        self.store(header, "bytes")
        self.set(operands[1], "p4_siphash(bytes, sizeof(bytes), 0)")
        self.write("}")

    def store(self, header: str, to: str) -> None:
        for name, (at, bits) in self.spec.fields(self.spec.headers[header]).items():
            self.write(f"\trun_store{bits}({to} + {at}, f_{header}_{name});")

    def table(self, name: str) -> None:
        fields, actions = self.spec.tables[name]
        places = [self.field(field) for field in fields]
        end = places[0][1]
        for _, at, bits, _ in places:
            if at != end:
                raise Refused(f"table {name}: its key is not in one piece, in the order of the metadata")
            end = at + bits // 8
        self.write("{")
        self.write("\tstruct __attribute__((packed)) {")
        for _, _, bits, field in places:
            self.write(f"\t\t{c_type(bits)} {field};")
        self.write(f"\t}} key = {{{', '.join(field for _, _, _, field in places)}}};")
        number = list(self.spec.tables).index(name)
        self.write("\tconst uint8_t *data;")
        self.write("")
        self.write(f"\tswitch (run_table(run, {number}, (uint8_t *)&key - {places[0][1]}, &data)) {{")
        for action in actions:
            self.action(action)
        self.write("\t}")
        self.write("}")

    def action(self, name: str) -> None:
        struct, code = self.spec.actions[name]
        if code == [["return"]]:
            return
        self.write(f"\tcase {list(self.spec.actions).index(name)}: /* {name} */")
        for words in code[:-1]:
            value = self.value(words[2]) if not words[2].startswith("t.") else ""
            if words[0] != "mov" or code[-1] != ["return"]:
                raise Refused(f"action {name}: '{' '.join(words)}'")
            if not value:
                at, bits = self.spec.fields(struct)[words[2][2:]]
                value = f"run_argument{bits}(data + {at})"
            self.set(words[1], value)
        self.write("\t\tbreak;")

    def leave(self, operand: str) -> None:
        """The emits before a tx, and it. What is kept ends where the parser stopped (check_kept())."""
        for name in self.kept:
            self.write(f"if (v_{name})")
            self.write(f"\tat -= {self.spec.size(self.spec.headers[name])};")
        for name in reversed([name for name in self.emitted if name in self.made]):
            self.write(f"if (v_{name}) {{")
            self.write(f"\tat -= {self.spec.size(self.spec.headers[name])};")
            self.store(name, "at")
            self.write("}")
        self.write(f"run_leave(run, packet, at, {self.value(operand)});")

    def check_kept(self) -> None:
        """
        Along all ways: what is emitted of the extracted headers must be the last ones of these, in their order, so that
        they can stay where they are.
        """
        code = self.spec.code
        labels = {label: i for i, (names, _) in enumerate(code) for label in names}
        seen, left = set(), [(0, ())]
        while left:
            at, valid = left.pop()
            if (at, valid) in seen:
                continue
            seen.add((at, valid))
            name, *operands = code[at][1]
            if name == "extract":
                valid += (operands[0][2:],)
            elif name == "invalidate":
                valid = tuple("" if header == operands[0][2:] else header for header in valid)
            elif name == "validate" and operands[0][2:] in self.extracted:
                raise Refused(f"validates {operands[0]}, a header of the packet")
            elif name == "tx":
                kept = [header for header in self.kept if header in valid]
                if tuple(kept) != valid[len(valid) - len(kept) :]:
                    raise Refused(f"keeps {', '.join(kept)} of a packet with {', '.join(valid)}")
                continue
            if name.startswith("jmp"):
                left.append((labels[operands[0]], valid))
            if name != "jmp":
                left.append((at + 1, valid))

    def translate(self) -> str:
        self.check_kept()
        names = [words[0] for _, words in self.spec.code]
        emits = names.index("emit")
        if names[0] != "rx" or names[emits:] != ["emit"] * (len(names) - emits - 1) + ["tx"]:
            raise Refused("does not begin with rx, or does not end with all emits and a tx")
        self.write(f"{self.field(self.spec.code[0][1][1])[3]} = wire;")
        for labels, words in self.spec.code[1:emits]:
            self.lines += [f"{label}:" for label in labels]
            self.instruction(words)
        self.lines += [f"{label}:" for label in self.spec.code[emits][0]]
        if any(labels for labels, _ in self.spec.code[emits + 1 :]):
            raise Refused("a label among the emits")
        self.leave(self.spec.code[-1][1][1])
        return "\n".join((*self.head(), *self.lines, "}", "", *self.lists(), ""))

    def head(self) -> list[str]:
        spec = self.spec
        found = ["/* Made by translate.py of mux.spec. */", "#define RUN_REGISTERS(each) \\"]
        found += [f"\teach({name}, {entries}) \\" for name, entries in spec.registers.items()]
        found += ["", '#include "run.h"', ""]
        found += [
            "static inline void run_packet(const struct run *run, struct rte_swx_pkt *packet, uint32_t wire)",
            "{",
        ]
        found += ["\tuint8_t *at = packet->pkt + packet->offset;"]
        for name, bits in spec.structs[spec.metadata]:
            found.append(f"\t{c_type(bits)} m_{name} = 0;")
        for header, struct in spec.headers.items():
            if header in self.asked:
                found.append(f"\tbool v_{header} = false;")
            if header in self.extracted:
                found.append(f"\tconst uint8_t *h_{header} = at;")
            else:
                found += [f"\t{c_type(bits)} f_{header}_{name} = 0;" for name, bits in spec.structs[struct]]
        return [*found, ""]

    def lists(self) -> list[str]:
        spec = self.spec
        lists = (("tables", spec.tables), ("actions", spec.actions))
        return [
            "const struct run_register run_registers[] = {",
            *(f'\t{{"{name}", {entries}}},' for name, entries in spec.registers.items()),
            "\t{NULL, 0},",
            "};",
            *(f"const char *const run_{kind}[] = {{{''.join(map(quoted, names))}NULL}};" for kind, names in lists),
        ]


def quoted(name: str) -> str:
    return f'"{name}", '


def c_type(bits: int) -> str:
    return next(f"uint{width}_t" for width in (8, 16, 32, 64) if bits <= width)


def main() -> int:
    try:
        code = Translation(Spec(Path(sys.argv[1]).read_text())).translate()
    except Refused as why:
        print(f"translate: {sys.argv[1]}: has what this translation does not know: {why}", file=sys.stderr)
        return 1
    Path(sys.argv[2]).write_text("/* SPDX-License-Identifier: Apache-2.0 */\n" + code)
    return 0


if __name__ == "__main__":
    sys.exit(main())
