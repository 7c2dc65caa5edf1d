# SPDX-License-Identifier: Apache-2.0
"""Orders versions as each registry does: keys compare, and a VersionError names what is no version."""

import re
import subprocess
from collections.abc import Callable
from functools import cmp_to_key
from typing import Any

from packaging.version import InvalidVersion, Version

SEMVER = re.compile(r"v?(\d+)\.(\d+)\.(\d+)(?:-([0-9A-Za-z.-]+))?(?:\+[0-9A-Za-z.-]+)?")
# Maven's words, from the oldest to a release (the empty one) and `sp`; others come after these, by their letters.
WORDS = ("alpha", "beta", "milestone", "rc", "snapshot", "", "sp")
ALIASES = {"ga": "", "final": "", "release": "", "cr": "rc"}


class VersionError(ValueError):
    pass


def semver(version: str) -> Any:
    parsed = SEMVER.fullmatch(version)
    if not parsed:
        raise VersionError(f"'{version}' is not a version of the form 1.2.3, 1.2.3-rc.1 or 1.2.3+build")
    parts = [(0, int(part), "") if part.isdigit() else (1, 0, part) for part in (parsed[4] or "").split(".") if part]
    return tuple(map(int, parsed.group(1, 2, 3))), not parts, parts


def pypi(version: str) -> Any:
    try:
        return Version(version)
    except InvalidVersion:
        raise VersionError(f"'{version}' is not a version as PEP 440 has them") from None


def debian_compare(one: str, other: str) -> int:
    for relation, result in (("lt", -1), ("eq", 0), ("gt", 1)):
        if not subprocess.run(["dpkg", "--compare-versions", one, relation, other], stderr=-3, check=False).returncode:
            return result
    raise VersionError(f"dpkg cannot compare '{one}' with '{other}'")


def debian(version: str) -> Any:
    if not re.fullmatch(r"(\d+:)?[0-9][A-Za-z0-9.+:~-]*", version):
        raise VersionError(f"'{version}' is not a version of a Debian package")
    return cmp_to_key(debian_compare)(version)


def maven_items(version: str) -> list[Any]:
    """Maven's tree of a version: numbers, words, and a list after each dash or change between digits and letters."""
    tree: list[Any] = []
    lists, now = [tree], tree

    def deeper() -> None:
        nonlocal now
        lower: list[Any] = []
        now.append(lower)
        lists.append(lower)
        now = lower

    tokens = re.findall(r"\d+|[^\d.-]+|[.-]", version.lower())
    for place, token in enumerate(tokens):
        before, after = tokens[place - 1] if place else ".", tokens[place + 1] if place + 1 < len(tokens) else ""
        if token in ".-":
            if before in ".-":
                now.append(0)
            if token == "-":
                deeper()
        elif token.isdigit():
            if before not in (".", "-"):
                deeper()
            now.append(int(token))
        else:
            if before.isdigit() or (now and (not after or after.isdigit())):  # `1.x1` is `1-x1`, but `1.x.1` is not
                deeper()
            short = {"a": "alpha", "b": "beta", "m": "milestone"} if after.isdigit() else {}
            now.append(ALIASES.get(token, short.get(token, token)))
    for lower in reversed(lists):
        trim(lower)
    return tree


def trim(items: list[Any]) -> None:
    """Drops what adds nothing from the end: 0, the word of a release, empty lists; also before a list at the end."""
    for place in range(len(items) - 1, -1, -1):
        if items[place] in (0, "", []):
            del items[place]
        elif not isinstance(items[place], list):
            break


def maven_compare(one: Any, other: Any) -> int:
    """Of items; None is the end of a version. Numbers come after lists, lists after words."""
    if one is None or other is None:
        if one is other:
            return 0
        item, sign = (other, -1) if one is None else (one, 1)
        if isinstance(item, list):
            return next((sign * result for part in item if (result := maven_compare(part, None))), 0)
        if isinstance(item, int):
            return sign if item else 0
        return sign * maven_compare(item, "")
    ranks = [2 if isinstance(item, int) else 1 if isinstance(item, list) else 0 for item in (one, other)]
    if ranks[0] != ranks[1]:
        return 1 if ranks[0] > ranks[1] else -1
    if isinstance(one, list):
        for place in range(max(len(one), len(other))):
            result = maven_compare(*(items[place] if place < len(items) else None for items in (one, other)))
            if result:
                return result
        return 0
    if isinstance(one, str):
        one, other = ((WORDS.index(word), "") if word in WORDS else (len(WORDS), word) for word in (one, other))
    return int(one > other) - int(one < other)


def maven(version: str) -> Any:
    if not re.fullmatch(r"[\w.+-]+", version):
        raise VersionError(f"'{version}' is not a version of Maven's")
    return cmp_to_key(maven_compare)(maven_items(version))


KEYS: dict[str, Callable[[str], Any]] = {"Maven": maven, "PyPI": pypi, "npm": semver, "Go": semver, "Debian": debian}


def key(ecosystem: str, version: str) -> Any:
    return KEYS[ecosystem](version)
