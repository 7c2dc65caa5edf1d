# SPDX-License-Identifier: Apache-2.0
"""
What `p4/regenerate --check` complains of: a copy of p4/ with one change each. Prints TAP.

Usage: test_regenerate.py P4_FOLDER
"""

import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import tap

# A sentence, the file, what is replaced by what, and the complaint; None: there is none.
CASES = (
    ("nothing has changed", "mux.spec", r"\A", "", None),
    ("a source has changed", "steer.p4", r"\A", "/* more */\n", "made of other sources"),
    (
        "a file that a source includes has another name",
        "mux.p4",
        r'"tables.p4"',
        '"verdicts.p4"',
        "made of other sources",
    ),
    *(
        (f"{name} has changed", name, r"\Z", "# more\n", "made by other tools")
        for name in ("regenerate", "words.py", "word_check.py", "compiled/spec.py", "compiled/steps.py")
    ),
    (
        "the body was edited by hand",
        "mux.spec",
        r"(\n\tjmpneq \S+ \S+) 0x1\n",
        r"\1 0x2\n",
        "its body is not as it was made",
    ),
    ("it was cut off", "mux.spec", r"\n\}\n\Z", "\n", "its body is not as it was made"),
    ("other flags", "mux.spec", r"; flags: .*", "; flags: --arch pna", "made with other flags"),
    (
        "the hash's result is behind byte 31",
        "mux.spec",
        r"(\tbit<64> local_metadata_hash\n)",
        "\tbit<64> a\n\tbit<64> b\n\tbit<64> c\n\tbit<64> d\n\\1",
        "local_metadata_hash of 'hash' is at byte 32, at most 31",
    ),
    (
        "an operand is behind byte 255",
        "mux.spec",
        r"(\tbit<32> pna_main_output_metadata_output_port\n)",
        "\tbit<2048> pad\n\\1",
        "output_port of 'mov' is at byte ",
    ),
    (
        "so is one of a jump's",
        "mux.spec",
        r"(\tbit<8> local_metadata_verdict\n)",
        "\tbit<2048> pad\n\\1",
        "local_metadata_verdict of 'jmpneq' is at byte ",
    ),
    ("too many instructions", "mux.spec", r"(\tinvalidate h.vlan1\n)", r"\1" * 200, "instructions, at most 1500"),
    (
        "a constant index",
        "mux.spec",
        r"(regadd moved) \S+ 1",
        r"\1 0x0 1",
        "'regadd moved 0x0 1' has a constant as its index",
    ),
    ("no mux.spec", "mux.spec", None, "", "missing"),
    ("mux_v1.p4 has changed since its last run", "mux_v1.p4", r"\A", "/* more */\n", "RESULTS.md:1: records no run of"),
    ("no run is recorded", "RESULTS.md", None, "", "records no run of mux_v1.p4"),
)


OTHERS = ("mux.spec", "regenerate", "words.py", "word_check.py", "compiled/spec.py", "compiled/steps.py", "RESULTS.md")


def run(folder: Path, case: tuple) -> str:
    """What is wrong with what it says of this case; nothing: it is right."""
    _, name, old, new, wanted = case
    path = folder / name
    if old is None:
        path.unlink()
    else:
        text, count = re.subn(old, new, path.read_text())
        if not count:
            return f"{name} has no {old}"
        path.write_text(text)
    done = subprocess.run([folder / "regenerate", "--check"], capture_output=True, text=True, check=False)
    said = done.stdout + done.stderr
    if wanted is None:
        return said if done.returncode or said else ""
    return "" if done.returncode == 1 and wanted in said else f"exit code {done.returncode}, said: {said}"


def run_in_copy(source: Path, case: tuple) -> str:
    with tempfile.TemporaryDirectory() as where:
        folder = Path(where)
        (folder / "compiled").mkdir()
        for path in (*source.glob("*.p4"), *(source / name for name in OTHERS)):
            shutil.copy(path, folder / path.relative_to(source))
        return run(folder, case)


if __name__ == "__main__":
    sys.exit(tap.run(CASES, lambda case: run_in_copy(Path(sys.argv[1]), case)))
