# SPDX-License-Identifier: Apache-2.0
"""
What p4/words.py makes of a program's fields of metadata and of its instructions. Prints TAP.

Usage: test_words.py P4_FOLDER
"""

import re
import sys

import tap

sys.path.insert(0, sys.argv[1])

from words import Refused, allocate

SPEC = """\
header h instanceof h_t
struct h_t {
	bit<64> x
	bit<64> y
}
struct metadata_t {
%s}
metadata instanceof metadata_t
regarray r size 0x4 initval 0
action set args none {
	mov m.marked 0x1
	return
}
action nothing args none {
	return
}
table t {
	key {
		m.key0 exact
		m.key1 exact
	}
	actions {
		set
		nothing
	}
	default_action nothing args none const
	size 0x10
}
apply {
	rx m.port
%s
	tx m.port
}
"""
OTHERS = "32 port, 8 marked, 16 key0, 16 key1"

# A sentence, fields besides OTHERS, instructions, what becomes of the fields and of the instructions; or the complaint.
CASES = (
    (
        "fields that are not needed at once have one word",
        "64 a, 64 b",
        "mov m.a 0x1; regwr r 0x0 m.a; mov m.b 0x2; regwr r 0x1 m.b",
        "64 a",
        "mov m.a 0x1; regwr r 0x0 m.a; mov m.a 0x2; regwr r 0x1 m.a",
    ),
    (
        "those that are keep their own",
        "64 a, 64 b",
        "mov m.a 0x1; mov m.b 0x2; regwr r m.a m.b",
        "64 a, 64 b",
        "mov m.a 0x1; mov m.b 0x2; regwr r m.a m.b",
    ),
    (
        "a copy of what is not needed any more is left out",
        "64 a, 64 b, 64 c",
        "mov m.a h.h.x; and m.a 0xff; mov m.b m.a; or m.b 0x1; mov m.c m.b; regwr r m.c h.h.y",
        "64 a",
        "mov m.a h.h.x; and m.a 0xff; or m.a 0x1; regwr r m.a h.h.y",
    ),
    (
        "one of what is needed later is not, once one of both has changed",
        "64 a, 64 b",
        "mov m.a h.h.x; mov m.b m.a; add m.b 0x1; regwr r m.a m.b",
        "64 a, 64 b",
        "mov m.a h.h.x; mov m.b m.a; add m.b 0x1; regwr r m.a m.b",
    ),
    (
        "until then both are one",
        "64 a, 64 b",
        "mov m.a h.h.x; mov m.b m.a; regwr r m.a m.b",
        "64 a",
        "mov m.a h.h.x; regwr r m.a m.a",
    ),
    (
        "a copy to another width stays",
        "64 a, 8 b",
        "mov m.a h.h.x; mov m.b m.a; regwr r m.a m.b",
        "64 a, 8 b",
        "mov m.a h.h.x; mov m.b m.a; regwr r m.a m.b",
    ),
    (
        "what is needed on one way alone is",
        "64 a, 64 b",
        "mov m.a 0x1; mov m.b 0x2; jmpeq L h.h.x 0x0; regwr r 0x0 m.a; jmp END; L : regwr r 0x0 m.b; "
        "END : validate h.h",
        "64 a, 64 b",
        "mov m.a 0x1; mov m.b 0x2; jmpeq L h.h.x 0x0; regwr r 0x0 m.a; jmp END; L : regwr r 0x0 m.b; "
        "END : validate h.h",
    ),
    (
        "so is what a way back leads to",
        "64 a, 64 b",
        "mov m.a 0x1; BACK : mov m.b 0x2; regwr r m.b m.a; jmpneq BACK h.h.x 0x0",
        "64 a, 64 b",
        "mov m.a 0x1; BACK : mov m.b 0x2; regwr r m.b m.a; jmpneq BACK h.h.x 0x0",
    ),
    (
        "results of hashes come first, whatever the order of fields",
        "64 a, 64 b",
        "mov m.a h.h.x; hash siphash m.b h.h.x h.h.y; regwr r m.a m.b",
        "64 b, 64 a",
        "mov m.a h.h.x; hash siphash m.b h.h.x h.h.y; regwr r m.a m.b",
    ),
    (
        "a key shares its word with what a table does not need, and stays where it is",
        "16 a",
        "mov m.key0 0x1; mov m.key1 0x2; table t; mov m.a 0x3; regwr r 0x0 m.a",
        "",
        "mov m.key0 0x1; mov m.key1 0x2; table t; mov m.key0 0x3; regwr r 0x0 m.key0",
    ),
    (
        "what an action may set is needed before it, if behind it",
        "8 a",
        "mov m.marked 0x0; mov m.a 0x1; table t; regwr r m.marked m.a",
        "8 a",
        "mov m.marked 0x0; mov m.a 0x1; table t; regwr r m.marked m.a",
    ),
    (
        "a copied jump's target is the instruction behind, which has one label",
        "64 a, 64 b",
        "mov m.a h.h.x; jmpeq FIRST h.h.y 0x0; jmpeq SECOND h.h.y 0x1; validate h.h; FIRST : mov m.b m.a; "
        "SECOND : regwr r 0x0 m.a",
        "64 a",
        "mov m.a h.h.x; jmpeq FIRST h.h.y 0x0; jmpeq FIRST h.h.y 0x1; validate h.h; FIRST : regwr r 0x0 m.a",
    ),
    (
        "what no way leads to is left out, and a jump to what follows",
        "64 a",
        "jmp END; jmp END; mov m.a 0x1; END : validate h.h",
        "",
        "validate h.h",
    ),
    (
        "a hash's result may not be a key",
        "",
        "mov m.key0 0x1; hash siphash m.key1 h.h.x h.h.y; table t",
        None,
        "a result of hash has the word of a key of a table, and keys are in one piece behind these",
    ),
    ("an unknown instruction is refused", "", "recirculate", None, "instruction 'recirculate'"),
)


def struct(fields: str) -> str:
    return "".join(f"\tbit<{bits}> {name}\n" for bits, name in re.findall(r"(\d+) (\w+)", fields))


def listed(code: str) -> list[str]:
    return [" ".join(line.split()) for line in code.replace(";", "\n").splitlines() if line.strip()]


def test(case: tuple) -> str:
    _, fields, code, wanted_fields, wanted = case
    try:
        made = allocate(SPEC % (struct(f"{fields}, {OTHERS}"), "\n".join(f"\t{line}" for line in listed(code))))
    except Refused as why:
        return "" if wanted_fields is None and str(why) == wanted else f"refused: {why}"
    if wanted_fields is None:
        return f"not refused: {made}"
    words = re.findall(r"bit<(\d+)> (\w+)", re.search(r"struct metadata_t \{(.*?)\}", made, re.DOTALL)[1])
    own = [f"{bits} {name}" for bits, name in words if f"{bits} {name}" not in OTHERS]
    found = listed(re.search(r"apply \{\n\trx m.port\n(.*)\ttx m.port\n\}", made, re.DOTALL)[1])
    wrong = [] if ", ".join(own) == wanted_fields else [f"fields {', '.join(own)}, not {wanted_fields}"]
    wrong += [] if found == listed(wanted) else [f"instructions {'; '.join(found)}, not {wanted}"]
    wrong += [] if re.search(r"bit<16> key0\n\tbit<16> key1\n", made) else ["the keys are not in one piece"]
    return "\n".join(wrong)


if __name__ == "__main__":
    sys.exit(tap.run(CASES, test))
