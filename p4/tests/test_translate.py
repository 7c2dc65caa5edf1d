# SPDX-License-Identifier: Apache-2.0
"""
What p4/compiled/translate.py refuses: mux.spec with one change each. Prints TAP.

Usage: test_translate.py P4_FOLDER
"""

import re
import subprocess
import sys
import tempfile
from pathlib import Path

import tap

# A sentence, what is replaced by what in mux.spec, and the complaint; None: there is none.
CASES = (
    ("nothing has changed", r"\A", "", None),
    ("an unknown instruction", r"^apply \{\n\trx .*\n", r"\g<0>\trecirculate\n", "instruction 'recirculate'"),
    ("an unknown block", r"^apply \{", "learner l {\n}\n\\g<0>", "'learner l {'"),
    ("a field of the packet is written", r"(LABEL_END_6 :\t)", r"\1mov h.ipv4.ttl 0x1\n\t", "writes h.ipv4.ttl"),
    ("a header is extracted twice", r"(\textract h.ethernet\n)", r"\1\1", "extracted in two places"),
    ("a part in the midst of the packet is cut out", r"invalidate h.vlan1", "invalidate h.ipv4", "keeps "),
    ("a header of the packet is made valid", r"invalidate h.vlan1", "validate h.vlan1", "validates h.vlan1"),
    ("headers are emitted in another order", r"(\temit h.ipv4\n)(.*\n)(\temit h.tcp\n)", r"\3\2\1", "keeps "),
    ("something is behind an emit", r"(\temit h.ethernet\n)", r"\1\tmov m.local_metadata_moved 0x1\n", "all emits"),
    ("a key with a gap", r"(\tbit<16> local_metadata_destination_port\n)", r"\tbit<8> more\n\1", "in one piece"),
    ("a match is not exact", r"destination_low exact", "destination_low wildcard", "only exact matches"),
    ("a default action does something", r"default_action no_vip4", "default_action is_vip4", "must be constant and do"),
    ("an action computes", r"mov m.local_metadata_is_vip 0x1", "add m.local_metadata_is_vip 0x1", "action serve4"),
    ("a register array of odd size", r"(regarray tails size) \S+", r"\1 0x3", "tails of 3 entries"),
    ("a constant index of a counter", r"(regadd moved) \S+ 1", r"\1 0x0 1", "a constant index"),
    ("a part of a header is hashed", r"h.flow.k0 h.flow.kind", "h.flow.k1 h.flow.kind", "a whole header"),
    ("a header is hashed that no function has", r"(h\.|header )cells\b", r"\1place", "hash of h.place: allowed is"),
    ("a sum of another header", r"(ckadd \S+) h.ipv4", r"\1 h.ipv6", "ckadd of h.ipv6"),
)


def run(folder: Path, case: tuple) -> str:
    """What is wrong with what it says of this case; nothing: it is right."""
    _, old, new, wanted = case
    text, count = re.subn(old, new, (folder / "mux.spec").read_text(), flags=re.MULTILINE)
    if not count:
        return f"mux.spec has no {old}"
    with tempfile.TemporaryDirectory() as where:
        spec, code = Path(where) / "mux.spec", Path(where) / "code.c"
        spec.write_text(text)
        done = subprocess.run(
            [sys.executable, folder / "compiled/translate.py", spec, code], capture_output=True, text=True, check=False
        )
        is_made = code.exists()
    if wanted is None:
        return "" if not done.returncode and is_made else done.stderr
    is_refused = done.returncode == 1 and not is_made and wanted in done.stderr and "Traceback" not in done.stderr
    return "" if is_refused else f"exit code {done.returncode}, said: {done.stderr}"


if __name__ == "__main__":
    sys.exit(tap.run(CASES, lambda case: run(Path(sys.argv[1]), case)))
