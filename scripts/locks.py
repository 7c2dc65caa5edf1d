# SPDX-License-Identifier: Apache-2.0
"""
Reads the lock files: which packages of others builds and tests use, at which version. Each must have a hash.

Names and versions are those of OSV's ecosystems: Maven has `group:artifact`, PyPI lower case and `-`, Go no `v`.
"""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

REQUIREMENT = re.compile(r"([A-Za-z0-9._-]+)==([^\s;\\]+)")
GO_SUM = re.compile(r"(\S+) v(\S+) (h1:\S+)")


class LockError(Exception):
    """A lock file is missing, or not of its form; the argument names file and line or entry."""


@dataclass(frozen=True, order=True)
class Package:
    lock: str  # the lock file, from the root of the tree
    ecosystem: str
    name: str
    version: str
    role: str = ""  # program: it is shipped; test; tool: it builds
    digest: str = ""
    classifier: str = ""  # of a jar


def pypi(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def maven(lock: str, text: str) -> Iterator[Package]:
    """Jars; poms without one are no code. `# programs`, `# tests` and `# tools` begin sections."""
    role = ""
    for number, line in enumerate(text.splitlines(), 1):
        if line.startswith("#"):
            role = {"# programs": "program", "# tests": "test", "# tools": "tool"}.get(line, role)
            continue
        parsed = re.fullmatch(r"([0-9a-f]{64})  (\S+)/([^/ ]+)/([^/ ]+)/\3-\4(?:-([^/ ]+))?\.(jar|pom)", line)
        if not parsed:
            raise LockError(f"{lock}:{number}: '{line}' is not '<SHA-256>  <path of a jar or pom>'")
        if parsed[6] == "jar":
            name = f"{parsed[2].replace('/', '.')}:{parsed[3]}"
            yield Package(lock, "Maven", name, parsed[4], role, parsed[1], parsed[5] or "")


def python(lock: str, text: str) -> Iterator[Package]:
    for entry in re.split(r"\n(?=\S)", "\n".join(line for line in text.splitlines() if not line.startswith("#"))):
        if not entry.strip():
            continue
        parsed = REQUIREMENT.match(entry.strip())
        if not parsed:
            raise LockError(f"{lock}: '{entry.strip().splitlines()[0]}' is not '<name>==<version>'")
        if not re.search(r"--hash=sha256:[0-9a-f]{64}\b", entry):
            raise LockError(f"{lock}: {parsed[1]} {parsed[2]} has no hash")
        yield Package(lock, "PyPI", pypi(parsed[1]), parsed[2], "test")


def npm(lock: str, text: str) -> Iterator[Package]:
    """The tool that builds the program is an optional dependency, so that `npm ci --omit=dev` installs no others."""
    try:
        packages = json.loads(text)["packages"]
    except (ValueError, KeyError, TypeError) as error:
        raise LockError(f"{lock}: not a package-lock.json of version 2 or 3: {error!r}") from None
    for place, entry in packages.items():
        if not place:
            continue
        name, version = place.rpartition("node_modules/")[2], entry.get("version")
        if not version or not re.match(r"sha(512|384|256)-.", entry.get("integrity", "")):
            raise LockError(f"{lock}: {name} has no {'hash' if version else 'version'}")
        role = "tool" if entry.get("dev") or entry.get("optional") else "program"
        yield Package(lock, "npm", name, version, role, entry["integrity"])


def go(lock: str, text: str) -> Iterator[Package]:
    for number, line in enumerate(text.splitlines(), 1):
        parsed = GO_SUM.fullmatch(line)
        if not parsed:
            raise LockError(f"{lock}:{number}: '{line}' is not '<module> v<version> h1:<hash>'")
        if not parsed[2].endswith("/go.mod"):
            yield Package(lock, "Go", parsed[1], parsed[2], "test", parsed[3])


WANTED = "scripts/requirements.in"
LOCKS = {
    "controller/maven.lock": maven,
    "jepsen/maven.lock": maven,
    "scripts/requirements.txt": python,
    "console/package-lock.json": npm,
    "jepsen/harness/go.sum": go,
}


def locked(root: Path) -> list[Package]:
    found: set[Package] = set()
    for lock, read in LOCKS.items():
        if not (root / lock).is_file():
            raise LockError(f"{lock} is missing: run scripts/lock")
        packages = set(read(lock, (root / lock).read_text()))
        if not packages:
            raise LockError(f"{lock} names no package: run scripts/lock")
        found |= packages
    for line in (root / WANTED).read_text().splitlines():
        parsed = REQUIREMENT.fullmatch(line)
        if parsed and not any((p.ecosystem, p.name, p.version) == ("PyPI", pypi(parsed[1]), parsed[2]) for p in found):
            raise LockError(f"{WANTED} has {line}, and scripts/requirements.txt does not: run scripts/lock python")
    return sorted(found)
