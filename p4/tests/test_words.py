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
	%s
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
ACTION = "mov m.marked 0x1"
OTHERS = "32 port, 8 marked, 16 key0, 16 key1"

# A sentence, fields besides OTHERS, instructions, what becomes of the fields and of the instructions; or the complaint.
# An instruction with `set :` is the action's, in place of ACTION.
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
        "though it has changed by the other",
        "64 a, 64 b",
        "mov m.a h.h.x; mov m.b m.a; add m.b m.a; regwr r m.a m.b",
        "64 a, 64 b",
        "mov m.a h.h.x; mov m.b m.a; add m.b m.a; regwr r m.a m.b",
    ),
    (
        "what a register is read to is a word of its own",
        "64 a, 64 b",
        "mov m.a 0x1; regrd m.b r 0x0; regwr r m.a m.b",
        "64 a, 64 b",
        "mov m.a 0x1; regrd m.b r 0x0; regwr r m.a m.b",
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
        "is set apart from what is needed behind it, if not itself",
        "8 a",
        "mov m.a 0x1; table t; regwr r 0x0 m.a",
        "8 a",
        "mov m.a 0x1; table t; regwr r 0x0 m.a",
    ),
    (
        "keys are needed until their table",
        "16 a",
        "mov m.key0 0x1; mov m.key1 0x2; mov m.a 0x3; regwr r 0x0 m.a; table t",
        "16 a",
        "mov m.key0 0x1; mov m.key1 0x2; mov m.a 0x3; regwr r 0x0 m.a; table t",
    ),
    (
        "the port is until it is sent to",
        "32 a",
        "mov m.a 0x1; regwr r 0x0 m.a",
        "32 a",
        "mov m.a 0x1; regwr r 0x0 m.a",
    ),
    *(
        (
            f"so is what '{reads}' reads",
            "64 a, 64 b",
            f"mov m.a h.h.x; mov m.b 0x2; regwr r 0x0 m.b; {reads}",
            "64 a, 64 b",
            f"mov m.a h.h.x; mov m.b 0x2; regwr r 0x0 m.b; {reads}",
        )
        for reads in (
            "add m.a 0x1; regwr r 0x0 m.a",
            "shr h.h.y m.a",
            "mov h.h.y m.a",
            "jmpeq END m.a 0x1; invalidate h.h; END : validate h.h",
            "jmpgt END h.h.y m.a; invalidate h.h; END : validate h.h",
            "regrd h.h.y r m.a",
            "regwr r m.a 0x1",
            "regadd r 0x1 m.a",
        )
    ),
    (
        "what has a copy's word is as far from others as the copy",
        "64 a, 64 b, 64 c",
        "mov m.a h.h.x; mov m.b m.a; mov m.c 0x5; regwr r m.b m.c",
        "64 a, 64 c",
        "mov m.a h.h.x; mov m.c 0x5; regwr r m.a m.c",
    ),
    (
        "and others from it",
        "64 a, 64 b, 64 c",
        "mov m.b h.h.x; mov m.c m.b; mov m.a 0x5; regwr r m.c m.a",
        "64 a, 64 b",
        "mov m.b h.h.x; mov m.a 0x5; regwr r m.b m.a",
    ),
    (
        "a copy is joined with its source before others take its word",
        "64 a, 64 b, 64 c",
        "mov m.a 0x1; mov m.b 0x2; regwr r m.a m.b; mov m.c m.b; regwr r 0x0 m.c",
        "64 a, 64 b",
        "mov m.a 0x1; mov m.b 0x2; regwr r m.a m.b; regwr r 0x0 m.b",
    ),
    (
        "if it is a key, that has its word",
        "16 a",
        "mov m.a 0x1; mov m.key1 m.a; mov m.key0 0x2; table t",
        "",
        "mov m.key1 0x1; mov m.key0 0x2; table t",
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
    *(
        (f"'{line}' is refused", "64 a, 64 b", f"mov m.a 0x1; {line}", None, f"instruction '{line}'")
        for line in (
            "recirculate",
            "extract h.h m.a",
            "emit m.a",
            "hash crc32 m.b m.a m.b",
            "hash crc32 m.b h.h.x m.a",
            "ckadd h.h.x m.a",
        )
    ),
    *(
        (f"an action's '{line}' is, too", "8 a", f"set : {line}; table t", None, f"an action's instruction '{line}'")
        for line in ("add m.marked 0x1", "mov m.marked m.a", "regwr r 0x0 0x1")
    ),
)


def struct(fields: str) -> str:
    return "".join(f"\tbit<{bits}> {name}\n" for bits, name in re.findall(r"(\d+) (\w+)", fields))


def listed(code: str) -> list[str]:
    return [" ".join(line.split()) for line in code.replace(";", "\n").splitlines() if line.strip()]


def program(fields: str, code: str) -> str:
    lines = listed(code)
    action = [line.removeprefix("set : ") for line in lines if line.startswith("set : ")] or [ACTION]
    code = "\n".join(f"\t{line}" for line in lines if not line.startswith("set : "))
    return SPEC % (struct(f"{fields}, {OTHERS}"), "\n\t".join(action), code)


def test(case: tuple) -> str:
    _, fields, code, wanted_fields, wanted = case
    try:
        made = allocate(program(fields, code))
    except Refused as why:
        return "" if wanted_fields is None and str(why) == wanted else f"refused: {why}"
    if wanted_fields is None:
        return f"not refused: {made}"
    words = re.findall(r"bit<(\d+)> (\w+)", re.search(r"struct metadata_t \{(.*?)\}", made, re.DOTALL)[1])
    own = [f"{bits} {name}" for bits, name in words if f"{bits} {name}" not in OTHERS]
    found = listed(re.search(r"apply \{\n\trx m.port\n(.*)\ttx m.port\n\}", made, re.DOTALL)[1])
    wrong = [] if ", ".join(own) == wanted_fields else [f"fields {', '.join(own)}, not {wanted_fields}"]
    wrong += [] if found == listed(wanted) else [f"instructions {'; '.join(found)}, not {wanted}"]
    undeclared = set(re.findall(r"\bm\.(\w+)", made)) - {name for _, name in words}
    wrong += [f"no field {name}" for name in sorted(undeclared)]
    wrong += [] if re.search(r"bit<16> key0\n\tbit<16> key1\n", made) else ["the keys are not in one piece"]
    return "\n".join(wrong)


if __name__ == "__main__":
    sys.exit(tap.run(CASES, test))
