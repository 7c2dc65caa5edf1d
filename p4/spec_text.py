# SPDX-License-Identifier: Apache-2.0
"""Writes mux.spec as bytes of C, so that the program and what it fills belong together."""

import sys
from pathlib import Path

spec = Path(sys.argv[1]).read_bytes()
lines = [", ".join(str(byte) for byte in spec[at : at + 24]) for at in range(0, len(spec), 24)]
body = ",\n\t".join(lines)
Path(sys.argv[2]).write_text(
    "/* SPDX-License-Identifier: Apache-2.0 */\n"
    f"extern const char spec_text[];\nextern const unsigned spec_text_len;\n"
    f"const char spec_text[] = {{\n\t{body}\n}};\nconst unsigned spec_text_len = {len(spec)};\n"
)
