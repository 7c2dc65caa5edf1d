#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""
Writes manual pages, completions and default environment files, all of them from what `--help` prints.

    distribution/pages.py --binaries build/release --jar controller/target/fairlead-controller.jar --out build/pages
"""

import argparse
import re
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from distribution import completion, environment, manual

ROOT = Path(__file__).resolve().parent.parent
# What `apropos` shows, and the section of the page.
ABOUT = {
    "fairlead-mux": (8, "load balancer that steers packets to servers"),
    "fairlead-p4mux": (8, "fairlead-mux with a pipeline in P4"),
    "fairlead-probe": (8, "health checks along the data path"),
    "fairlead-server": (8, "server side of Fairlead, and its agent"),
    "fairlead-controller": (8, "control plane of a Fairlead cluster"),
    "fairleadctl": (1, "read and change a Fairlead cluster"),
    "fairlead-frr-config": (8, "write FRR's configuration for a mux host"),
}
BUILT = {
    "fairlead-mux": "mux/fairlead-mux",
    "fairlead-p4mux": "p4/program/fairlead-p4mux",
    "fairlead-probe": "probe/fairlead-probe",
    "fairlead-server": "server/fairlead-server",
}
# Units whose configuration is one environment file: its name, the prefix of its variables, the unit.
ENVIRONMENTS = {
    "fairlead-mux": ("mux.env", "FAIRLEAD_MUX_", "fairlead-mux.service"),
    "fairlead-probe": ("probe.env", "FAIRLEAD_PROBE_", "fairlead-probe.service"),
    "fairlead-controller": ("controller.env", "FAIRLEAD_CONTROLLER_", "fairlead-controller.service"),
}
USAGE = re.compile(r"usage: ", re.IGNORECASE)
# A flag's line: names and value, at least two spaces (or the end), the first words about it.
FLAG = re.compile(r"^( {2,6})(-{1,2}[A-Za-z].*?)(?:  +(\S.*))?$")
NAME = re.compile(r"(?:^|[ ,])(-{1,2}[A-Za-z][\w-]*)(?:[= ]([^ ,-][^ ]*))?")


@dataclass
class Flag:
    head: str  # as it is printed, such as "-o, --output=FORMAT"
    about: list[str]

    @property
    def names(self) -> list[str]:
        return [name for name, _ in NAME.findall(self.head)]

    @property
    def value(self) -> str:
        """What its value is called; empty for a flag without one."""
        return next((value for _, value in NAME.findall(self.head) if value), "")


@dataclass
class Help:
    """One command's help: `words` is the command with its subcommand."""

    words: str
    before: list[str] = field(default_factory=list)
    synopsis: list[str] = field(default_factory=list)
    body: list[str | Flag] = field(default_factory=list)

    @property
    def flags(self) -> list[Flag]:
        return [item for item in self.body if isinstance(item, Flag)]


def parse(words: str, text: str) -> Help:
    """ValueError if the text has no usage."""
    lines = [line.rstrip() for line in text.strip("\n").splitlines()]
    first = next((i for i, line in enumerate(lines) if USAGE.match(line)), None)
    if first is None:
        raise ValueError(f"the help of {words} has no line 'usage: '")
    found = Help(words, before=lines[:first])
    last = first + 1
    while last < len(lines) and lines[last].startswith("   "):
        last += 1
    found.synopsis = [USAGE.sub("", lines[first], count=1), *(line.strip() for line in lines[first + 1 : last])]
    flag, indent = None, 0
    for line in lines[last:]:
        matched = FLAG.match(line)
        if matched:
            flag, indent = Flag(matched[2], [matched[3]] if matched[3] else []), len(matched[1])
            found.body.append(flag)
        elif flag and line.startswith(" " * (indent + 4)):
            flag.about.append(line.strip())
        else:
            flag = None
            found.body.append(line)
    return found


def said(*command: str | Path) -> str:
    return subprocess.run(list(map(str, command)), capture_output=True, text=True, check=True, timeout=300).stdout


def java(jar: Path) -> list[tuple[str, str]]:
    """fairleadctl's commands, the shortest first."""
    text = said("java", "-cp", jar, ROOT / "distribution" / "CommandHelp.java")
    return [tuple(part.split("\n", 1)) for part in text.split("\f")[1:]]


def helps(binaries: Path, jar: Path) -> dict[str, list[Help]]:
    found = {name: [parse(name, said(binaries / path, "--help"))] for name, path in BUILT.items()}
    controller = said("java", "-cp", jar, "io.fairlead.controller.Main", "--help")
    found["fairlead-controller"] = [parse("fairlead-controller", controller)]
    found["fairleadctl"] = [parse(words, text) for words, text in java(jar)]
    frr = said(sys.executable, ROOT / "scripts" / "frr-config", "--help").replace("frr-config", "fairlead-frr-config")
    found["fairlead-frr-config"] = [parse("fairlead-frr-config", frr)]
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.strip().split("\n\n")[0])
    parser.add_argument("--binaries", type=Path, required=True, metavar="DIR", help="a build folder of Meson")
    parser.add_argument("--jar", type=Path, required=True, metavar="FILE", help="the controller's jar")
    parser.add_argument("--out", type=Path, required=True, metavar="DIR", help="is created, or written over")
    options = parser.parse_args()
    version = (ROOT / "VERSION").read_text().strip()
    for folder in ("man", "bash", "zsh", "etc"):
        (options.out / folder).mkdir(parents=True, exist_ok=True)
    for name, commands in helps(options.binaries, options.jar).items():
        section, about = ABOUT[name]
        page = manual.page(name, section, about, version, commands)
        (options.out / "man" / f"{name}.{section}").write_text(page)
        tree = completion.tree(name, commands)
        (options.out / "bash" / name).write_text(completion.bash(name, tree))
        (options.out / "zsh" / f"_{name}").write_text(completion.zsh(name, tree))
        if name in ENVIRONMENTS:
            file, prefix, unit = ENVIRONMENTS[name]
            (options.out / "etc" / file).write_text(environment.file(name, unit, prefix, commands[0]))


if __name__ == "__main__":
    main()
