# SPDX-License-Identifier: Apache-2.0
"""The two versions between which upgrades are tested: the previous release and this one.

0.3.0 is the first that can be upgraded. Until distribution/previous-release names a release, by version and commit, the
versions are this one and the next, which is the same tree under another version (scripts/next-version).
"""

from pathlib import Path

from lab.vm.kernel import ROOT, run

RELEASE = ROOT / "distribution" / "previous-release"
BUILT = ROOT / "build" / "packages"  # by scripts/package
IS_FIRST = not RELEASE.exists()
_THIS = (ROOT / "VERSION").read_text().strip()


def _next() -> str:
    major, minor, patch = _THIS.split(".")
    return f"{major}.{minor}.{int(patch) + 1}"


OLDER = _THIS if IS_FIRST else RELEASE.read_text().split()[0]
NEWER = _next() if IS_FIRST else _THIS


def _built(*words: str) -> Path:
    script = "next-version" if IS_FIRST else "previous-release"
    return ROOT / run(ROOT / "scripts" / script, *words).strip()


def trees() -> tuple[Path, Path]:
    """Of the older and the newer version, each built by lab/build."""
    return (ROOT, _built()) if IS_FIRST else (_built(), ROOT)


def packages() -> tuple[Path, Path]:
    """The folders with the older and the newer version's packages."""
    return (BUILT, _built("--packages")) if IS_FIRST else (_built("--packages"), BUILT)
