# SPDX-License-Identifier: Apache-2.0
"""The commands of a page: fenced blocks whose first line says on which machines they run, as in `# on lb1 lb2`."""

import re
from dataclasses import dataclass
from pathlib import Path

BLOCK = re.compile(r"^```\n# on ([a-z0-9 ]+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True)
class Block:
    machines: tuple[str, ...]
    script: str
    line: int  # where it begins in the page


def blocks(page: Path) -> list[Block]:
    text = page.read_text()
    return [
        Block(tuple(found[1].split()), found[2], text.count("\n", 0, found.start()) + 1)
        for found in BLOCK.finditer(text)
    ]
