# SPDX-License-Identifier: Apache-2.0
"""
Makes C of mux.spec: functions that take a packet through the whole program (run.h has what they call).

Metadata, and headers that the program makes, become local variables, so that the compiler keeps them in registers;
headers of the packet are read where they are, and the ones made are written in front of what is kept of them. Whatever
of SWX's language mux.spec does not use, or uses in another way than this, is refused.

Where a packet first reads the register array `ring`, which no cache holds, the program is in two: run_begin() ends
there and asks for the row, and run_end() goes on once other packets have done the same (run_loop.h). In between only
variables are kept that are used later and are not known to be constant.

Usage: translate.py mux.spec CODE
"""

import sys
from pathlib import Path

from spec import Refused, Spec, whole
from steps import Flow, Step

COMPARE = {"jmpeq": "==", "jmpneq": "!=", "jmplt": "<", "jmpgt": ">"}
OPERATORS = {"add": "+", "sub": "-", "and": "&", "or": "|", "xor": "^", "shl": "<<", "shr": ">>"}
CKADD_BYTES = 20  # of the one header that has a checksum
HASHES = {"flow": "p4_siphash_fields", "cells": "p4_cells_fields"}  # what `siphash` is of a header
FAR = "ring"  # the register array whose first read is waited for


class Translation:
    def __init__(self, spec: Spec):
        self.spec = spec
        self.types: dict[str, str] = {}  # of all variables
        self.step = Step([])
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
        self.declare()

    def declare(self) -> None:
        for name, bits in self.spec.structs[self.spec.metadata]:
            self.types[f"m_{name}"] = c_type(bits)
        for header, struct in self.spec.headers.items():
            if header in self.asked:
                self.types[f"v_{header}"] = "bool"
            if header in self.extracted:
                self.types[f"h_{header}"] = "const uint8_t *"
            else:
                self.types |= {f"f_{header}_{name}": c_type(bits) for name, bits in self.spec.structs[struct]}
        self.types["at"] = "uint8_t *"

    def write(self, line: str) -> None:
        self.step.lines.append("\t" + line)

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
            header = f"h_{operand.split('.')[1]}"
            self.step.uses.add(header)
            return f"run_load{bits}({header} + {at})"
        self.step.uses.add(name)
        return f"(uint64_t){name}"

    def assign(self, operand: str, value: str, is_sure: bool = True) -> None:
        kind, _, bits, name = self.field(operand)
        if kind == "extracted":
            raise Refused(f"writes {operand}, a field of the packet")
        (self.step.sets if is_sure else self.step.may_set).add(name)
        mask = "" if bits in (8, 16, 32, 64) else f" & {hex((1 << bits) - 1)}"
        self.write(f"{name} = ({c_type(bits)})({value}{mask});")

    def register(self, name: str, index: str) -> str:
        return f"run->{name}[{self.value(index)} & {hex(self.spec.registers[name] - 1)}]"

    def instruction(self, words: list[str]) -> None:
        name, operands = words[0], words[1:]
        if name == "mov":
            self.assign(operands[0], self.value(operands[1]))
            if whole(operands[1]):
                self.step.value = int(operands[1], 0) & ((1 << self.field(operands[0])[2]) - 1)
        elif name in OPERATORS:
            by = (
                self.value(operands[1])
                if name[:2] != "sh" or whole(operands[1])
                else f"({self.value(operands[1])} & 63)"
            )
            self.assign(operands[0], f"({self.value(operands[0])} {OPERATORS[name]} {by})")
        elif name == "jmp":
            self.write(f"goto {operands[0]};")
            self.step.jump, self.step.falls = operands[0], False
        elif name in COMPARE:
            self.write(f"if ({self.value(operands[1])} {COMPARE[name]} {self.value(operands[2])})")
            self.jump(operands[0])
            if name == "jmpneq" and whole(operands[2]) and operands[1].startswith("m."):
                self.step.equal = self.field(operands[1])[3], int(operands[2], 0)
        elif name == "jmpnv":
            self.step.uses.add(f"v_{operands[1][2:]}")
            self.write(f"if (!v_{operands[1][2:]})")
            self.jump(operands[0])
        elif name == "extract":
            header = operands[0][2:]
            self.write(f"h_{header} = at;")
            self.write(f"at += {self.spec.size(self.spec.headers[header])};")
            self.step.uses.add("at")
            self.step.sets |= {f"h_{header}", "at"}
            if header in self.asked:
                self.step.sets.add(f"v_{header}")
                self.write(f"v_{header} = true;")
        elif name in ("validate", "invalidate"):
            self.set_valid(operands[0][2:], name == "validate")
        elif name == "regrd":
            self.step.reads, self.step.place = operands[1], f"&{self.register(operands[1], operands[2])}"
            self.assign(operands[0], f"run_read({self.step.place})")
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

    def jump(self, label: str) -> None:
        self.write(f"\tgoto {label};")
        self.step.jump = label

    def set_valid(self, header: str, is_valid: bool) -> None:
        if header in self.asked:
            self.write(f"v_{header} = {'true' if is_valid else 'false'};")
            self.step.sets.add(f"v_{header}")
            self.step.value = int(is_valid)

    def checksum(self, operands: list[str]) -> None:
        header = operands[1][2:]
        if header not in self.extracted or self.spec.size(self.spec.headers[header]) != CKADD_BYTES:
            raise Refused(f"ckadd of {operands[1]}: allowed is a header of the packet of {CKADD_BYTES} bytes")
        self.step.uses.add(f"h_{header}")
        self.assign(operands[0], f"run_checksum20({self.value(operands[0])}, h_{header})")

    def hash(self, operands: list[str]) -> None:
        header = operands[2].split(".")[1]
        fields = [f"h.{header}.{field}" for field, _ in self.spec.structs[self.spec.headers[header]]]
        if operands[0] != "siphash" or header not in self.made or [fields[0], fields[-1]] != operands[2:]:
            raise Refused(f"hash {' '.join(operands)}: allowed is siphash of a whole header that is made")
        if header not in HASHES:
            raise Refused(f"hash of h.{header}: allowed is one of {', '.join(HASHES)}")
        names = [self.field(field)[3] for field in fields]
        self.step.uses |= set(names)
        self.assign(operands[1], f"{HASHES[header]}({', '.join(names)})")

    def store(self, header: str, to: str) -> None:
        for name, (at, bits) in self.spec.fields(self.spec.headers[header]).items():
            self.step.uses.add(f"f_{header}_{name}")
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
        self.step.uses |= {field for _, _, _, field in places}
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
            self.assign(words[1], value, is_sure=False)
        self.write("\t\tbreak;")

    def leave(self, operand: str) -> None:
        """The emits before a tx, and it. What is kept ends where the parser stopped (check_kept())."""
        self.step.uses |= {"at", *(f"v_{name}" for name in self.emitted)}
        self.step.falls = False
        for name in self.kept:
            self.write(f"if (v_{name})")
            self.write(f"\tat -= {self.spec.size(self.spec.headers[name])};")
        for name in reversed([name for name in self.emitted if name in self.made]):
            self.write(f"if (v_{name}) {{")
            self.write(f"\tat -= {self.spec.size(self.spec.headers[name])};")
            self.store(name, "at")
            self.write("}")
        self.write(f"run_leave(run, &state->packet, at, {self.value(operand)});")

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
        if any(labels for labels, _ in self.spec.code[emits + 1 :]):
            raise Refused("a label among the emits")
        arrival = self.field(self.spec.code[0][1][1])[3]
        steps = [Step([], [f"\t{arrival} = wire;"], sets={arrival})]
        for labels, words in self.spec.code[1:emits]:
            self.step = Step(labels)
            self.instruction(words)
            steps.append(self.step)
        self.step = Step(self.spec.code[emits][0])
        self.leave(self.spec.code[-1][1][1])
        return "\n".join((*self.functions(Flow([*steps, self.step])), *self.lists(), ""))

    def functions(self, flow: Flow) -> list[str]:
        far = {number for number, step in enumerate(flow.steps) if step.reads == FAR}
        first = flow.reached({0}, far)
        waits = sorted(first & far)
        if not waits:
            raise Refused(f"never reads the register array {FAR}")
        live = flow.live()
        known = flow.constants({name for name in self.types if name[0] in "mfv"})
        kept = {number: sorted(live[number] - known[number].keys()) for number in waits}
        found = self.head(sorted(set().union(*kept.values())))

        found += ["static inline void run_begin(const struct run *run, struct run_state *state, uint32_t wire)", "{"]
        found += self.variables(flow, first, "state->packet.pkt + state->packet.offset")
        found += ["\tstate->from = 0;", *self.body(flow, first, kept), "}", ""]

        rest = flow.reached(set(waits), set())
        found += ["static inline void run_end(const struct run *run, struct run_state *state)", "{"]
        found += self.variables(flow, rest, "NULL")
        found += ["\tswitch (state->from) {"]
        for number in waits:
            constant = {name: known[number][name] for name in sorted(live[number] & known[number].keys())}
            found += [f"\tcase {number}:", *(f"\t\t{name} = state->{name};" for name in kept[number])]
            found += [f"\t\t{name} = {value};" for name, value in constant.items() if value]
            found += [f"\t\tgoto from_{number};"]
        found += ["\t}", *self.body(flow, rest, {}, waits), "}", "", '#include "run_loop.h"', ""]
        return found

    def variables(self, flow: Flow, steps: set[int], begin: str) -> list[str]:
        """Of these steps, and what packets that wait keep."""
        names = set().union(*(flow.steps[number].uses | flow.steps[number].sets for number in steps))
        names |= set().union(*(flow.steps[number].may_set for number in steps))
        values = {name: begin if name == "at" else "NULL" if name[0] == "h" else "0" for name in self.types}
        return [f"\t{kind} {name} = {values[name]};" for name, kind in self.types.items() if name in names]

    def body(self, flow: Flow, steps: set[int], kept: dict[int, list[str]], entries: list[int] = ()) -> list[str]:
        jumps = {flow.steps[number].jump for number in steps - kept.keys()}
        found = []
        for number in sorted(steps):
            step = flow.steps[number]
            found += [f"{label}:" for label in step.labels if label in jumps]
            if number in entries:
                found.append(f"from_{number}:")
            if number in kept:
                found += [f"\tstate->{name} = {name};" for name in kept[number]]
                found += [f"\tstate->from = {number};", f"\trte_prefetch0({step.place});", "\treturn;"]
            else:
                found += step.lines
                if step.falls and number + 1 not in steps:
                    raise Refused("an instruction falls out of its part")
                if not step.jump and not step.falls:
                    found.append("\treturn;")
        return found

    def head(self, kept: list[str]) -> list[str]:
        found = ["/* Made by translate.py of mux.spec. */", "#define RUN_REGISTERS(each) \\"]
        found += [f"\teach({name}, {entries}) \\" for name, entries in self.spec.registers.items()]
        found += ["", '#include "run.h"', ""]
        found += ["struct run_state {", "\tstruct rte_swx_pkt packet;", "\tuint32_t from;"]
        return [*found, *(f"\t{self.types[name]} {name};" for name in kept), "};", ""]

    def lists(self) -> list[str]:
        spec = self.spec
        lists = (("tables", spec.tables), ("actions", spec.actions))
        found = ["const struct run_register run_registers[] = {"]
        found += [f'\t{{"{name}", {entries}}},' for name, entries in spec.registers.items()]
        found += ["\t{NULL, 0},", "};"]
        found += [f"const char *const run_{kind}[] = {{{''.join(map(quoted, names))}NULL}};" for kind, names in lists]
        return found


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
