# SPDX-License-Identifier: Apache-2.0
"""
What p4/word_check.py finds in programs that were made wrong. Prints TAP.

Usage: test_word_check.py P4_FOLDER
"""

import sys

import tap
from test_words import program

sys.path.insert(0, f"{sys.argv[1]}/compiled")

from spec import Refused, Spec
from word_check import Comparison
from words import Words, allocate

FIELDS = "64 a, 64 b, 64 c, 8 d"
SHORT = "mov m.a 0x1; mov m.b 0x2; regwr r m.a m.b"
JUMP = "mov m.a 0x1; jmpeq L h.h.x 0x1; mov m.b 0x2; regwr r 0x0 m.b; L : regwr r 0x1 m.a"

# A sentence, instructions, what was made of them, which fields had another's word, and the complaint, if there is one.
# None: words.py makes it, without looking which fields are needed at once.
CASES = (
    ("the same program is right", JUMP, JUMP, {}, ""),
    (
        "so is one without a copy, and with a field's word used again",
        "mov m.a 0x1; mov m.b m.a; regwr r m.a m.b; mov m.c 0x2; regwr r 0x0 m.c",
        "mov m.a 0x1; regwr r m.a m.a; mov m.a 0x2; regwr r 0x0 m.a",
        {"b": "a", "c": "a"},
        "",
    ),
    (
        "so is one without a jump to what follows",
        "jmpeq L h.h.x 0x1; jmp L; L : validate h.h",
        "jmpeq M h.h.x 0x1; M : validate h.h",
        {},
        "",
    ),
    (
        "two fields that are needed at once have one word",
        SHORT,
        "mov m.a 0x1; mov m.a 0x2; regwr r m.a m.a",
        {"b": "a"},
        "'regwr r m.a m.b' would not find m.a's value in m.a",
    ),
    (
        "they have by words.py",
        SHORT,
        None,
        {},
        "'regwr r m.a m.b' would not find m.a's value in m.a",
    ),
    (
        "they have on one of two ways",
        JUMP,
        JUMP.replace("m.b", "m.a"),
        {"b": "a"},
        "'regwr r 0x1 m.a' would not find m.a's value in m.a",
    ),
    (
        "they have on the way back",
        "mov m.a 0x1; L : regwr r 0x0 m.a; mov m.b 0x2; regwr r 0x0 m.b; jmpeq L h.h.x 0x1",
        "mov m.a 0x1; L : regwr r 0x0 m.a; mov m.a 0x2; regwr r 0x0 m.a; jmpeq L h.h.x 0x1",
        {"b": "a"},
        "'regwr r 0x0 m.a' would not find m.a's value in m.a",
    ),
    *(
        (
            f"'{line}' needs its own field",
            f"{before}; {line}",
            f"{before}; {line}".replace("m.b", "m.a"),
            {"b": "a"},
            f"'{line}' would not find m.a's value in m.a",
        )
        for before in ("mov m.a 0x1; mov m.b 0x2",)
        for line in (
            "add m.a 0x1",
            "shl h.h.x m.a",
            "regrd m.c r m.a",
            "emit m.a",
            "hash crc32 m.c m.a h.h.y",
            "hash crc32 m.c h.h.x m.a",
            "ckadd m.a h.h",
            "mov m.c m.a",
        )
    ),
    *(
        (
            f"'{line}' sets a word",
            f"mov m.a 0x1; {line}; regwr r 0x0 m.a",
            f"mov m.a 0x1; {line}; regwr r 0x0 m.a".replace("m.b", "m.a"),
            {"b": "a"},
            "'regwr r 0x0 m.a' would not find m.a's value in m.a",
        )
        for line in ("mov m.b 0x1", "regrd m.b r 0x0", "hash crc32 m.b h.h.x h.h.y", "rx m.b")
    ),
    (
        "what an action may set is gone",
        "mov m.d 0x1; table t; regwr r 0x0 m.d",
        "mov m.marked 0x1; table t; regwr r 0x0 m.marked",
        {"d": "marked"},
        "'regwr r 0x0 m.d' would not find m.d's value in m.marked",
    ),
    (
        "what an action may not set is not there",
        "mov m.d 0x1; table t; regwr r 0x0 m.marked",
        "mov m.marked 0x1; table t; regwr r 0x0 m.marked",
        {"d": "marked"},
        "'regwr r 0x0 m.marked' would not find m.marked's value in m.marked",
    ),
    (
        "a table's key is not there",
        "mov m.key0 0x1; mov m.key1 0x2; table t",
        "mov m.key0 0x1; mov m.key0 0x2; table t",
        {"key1": "key0"},
        "table t is another",
    ),
    (
        "an action's read is not",
        "set : mov m.d m.marked; mov m.d 0x1; table t",
        "set : mov m.marked m.marked; mov m.marked 0x1; table t",
        {"d": "marked"},
        "'mov m.d m.marked' would not find m.marked's value in m.marked",
    ),
    ("an action is another", "table t", "set : mov m.marked 0x2; table t", {}, "action set is another"),
    ("another width", SHORT, SHORT.replace("m.b", "m.d"), {"b": "d"}, "m.b of 64 bits has the word m.d"),
    ("an instruction is missing", SHORT, SHORT[len("mov m.a 0x1; ") :], {}, "'mov m.a 0x1' became 'mov m.b 0x2'"),
    ("one is more", SHORT, f"{SHORT}; validate h.h", {}, "'tx m.port' became 'validate h.h'"),
    (
        "an operand is another",
        SHORT,
        SHORT.replace("m.a m.b", "m.b m.a"),
        {},
        "'regwr r m.a m.b' became 'regwr r m.b m.a'",
    ),
    (
        "a jump leads elsewhere",
        JUMP,
        JUMP.replace("L : ", "").replace("regwr r 0x0", "L : regwr r 0x0"),
        {},
        "'regwr r 0x1 m.a' has two places in what was made of it",
    ),
)


def test(case: tuple) -> str:
    _, old, new, words, wanted = case
    said = ""
    try:
        if new is None:
            allocate(program(FIELDS, old))
            return "not refused"
        made = [Spec(program(FIELDS, code)) for code in (old, new)]
        Comparison(
            *made, lambda operand: f"m.{words.get(operand[2:], operand[2:])}" if operand[:2] == "m." else operand
        ).run()
    except Refused as why:
        said = str(why)
    return "" if said == wanted else f"said: {said}"


if __name__ == "__main__":
    Words.set_apart = lambda self: None
    sys.exit(tap.run(CASES, test))
