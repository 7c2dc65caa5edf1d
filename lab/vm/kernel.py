# SPDX-License-Identifier: Apache-2.0
"""Debian's kernels, unpacked from their packages, and the module built for each.

All of it is kept under build/vm/<release>. Packages are large and are downloaded once.
"""

import re
import shutil
import subprocess
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from lab.deadline import LabError

ROOT = Path(__file__).resolve().parents[2]
BUILD = ROOT / "build" / "vm"
HEADERS = Path("/usr/src")


def run(*command: str | Path, cwd: Path | None = None) -> str:
    """The command's standard output; LabError with the end of its output if it fails."""
    words = [str(word) for word in command]
    try:
        done = subprocess.run(words, capture_output=True, text=True, errors="replace", check=False, cwd=cwd)
    except FileNotFoundError:
        raise LabError(f"the command '{words[0]}' is missing: run scripts/install-deps") from None
    if done.returncode:
        raise LabError(f"'{' '.join(words)}' failed: {' '.join((done.stdout + done.stderr).splitlines()[-8:])}")
    return done.stdout


def kernels() -> list[str]:
    """The newest release of each series whose headers scripts/install-deps has installed, oldest first."""
    newest: dict[str, tuple[list[int], str]] = {}
    for path in HEADERS.glob("linux-headers-*-amd64"):
        release = path.name.removeprefix("linux-headers-")
        if series := re.fullmatch(r"(\d+\.\d+)\.\d+(-\d+|\+deb\d+)-amd64", release):
            version = [int(number) for number in re.findall(r"\d+", release)]
            newest[series[1]] = max(newest.get(series[1], ([], "")), (version, release))
    if not newest:
        raise LabError(f"no kernel headers in {HEADERS}: run scripts/install-deps")
    return [release for _, release in sorted(newest.values())]


def choose(release: str | None) -> "Kernel":
    """The kernel of that release or series ("6.1"); without one the oldest, Debian 12's own."""
    known = kernels()
    for candidate in known:
        if release in (None, candidate) or candidate.startswith(f"{release}."):
            return Kernel(candidate)
    raise LabError(f"kernel '{release}' is refused; allowed, as their headers are installed: {', '.join(known)}")


@dataclass(frozen=True)
class Kernel:
    release: str

    @property
    def folder(self) -> Path:
        return BUILD / self.release

    @cached_property
    def package(self) -> Path:
        """The unpacked package of the kernel."""
        unpacked = self.folder / "package"
        if not unpacked.is_dir():
            downloads, aside = self.folder / "download", self.folder / "package.part"
            for stale in (downloads, aside):
                shutil.rmtree(stale, ignore_errors=True)
            downloads.mkdir(parents=True)
            download = ("apt-get", "download", "-qq", f"linux-image-{self.release}")
            try:
                run(*download, cwd=downloads)
            except LabError:  # apt's lists may be old or deleted
                run("apt-get", "update", "-qq")
                run(*download, cwd=downloads)
            run("dpkg-deb", "-x", next(downloads.glob("linux-image-*.deb")), aside)
            shutil.rmtree(downloads)
            aside.rename(unpacked)
        return unpacked

    @property
    def image(self) -> Path:
        """What QEMU boots."""
        return next(self.package.glob("boot/vmlinuz-*"))

    @cached_property
    def _files(self) -> dict[str, Path]:
        """The files of the package's modules, by name."""
        found = self.package.glob("lib/modules/*/kernel/**/*.ko*")
        return {path.name.partition(".ko")[0].replace("-", "_"): path for path in found}

    @cached_property
    def _builtin(self) -> set[str]:
        listed = next(self.package.glob("lib/modules/*/modules.builtin")).read_text().split()
        return {Path(line).name.removesuffix(".ko").replace("-", "_") for line in listed}

    def modules(self, names: Iterable[str]) -> dict[str, Path]:
        """The modules of those names and those that they need, in loading order; without built-in ones.

        modprobe's own list, modules.dep, is only made when the package is installed, so each module is read itself.
        """
        ordered: dict[str, Path] = {}
        for name in names:
            if name in self._builtin or name in ordered:
                continue
            if name not in self._files:
                raise LabError(f"kernel {self.release} has no module '{name}'")
            ordered |= {k: v for k, v in self.modules(depends(self._files[name])).items() if k not in ordered}
            ordered[name] = self._files[name]
        return ordered

    def fairlead(self) -> Path:
        """Builds the project's module with every warning an error, from the tree that DKMS would build."""
        tree = self.folder / "dkms"
        run("make", "-s", "-C", ROOT / "kernel-module", "dkms", f"DESTDIR={tree}")
        version = re.search(
            r'^PACKAGE_VERSION="(.*)"', (ROOT / "kernel-module" / "dkms.conf").read_text(), re.MULTILINE
        )
        if not version:
            raise LabError("kernel-module/dkms.conf has no PACKAGE_VERSION")
        source = tree / "usr" / "src" / f"fairlead-{version[1]}"
        run("make", "-s", "-j2", "-C", source, "check", f"HEADERS={HEADERS / f'linux-headers-{self.release}'}")
        return source / "fairlead.ko"


def depends(module: Path) -> list[str]:
    """The modules that a module needs, from its own list."""
    said = run("modinfo", "-F", "depends", module).strip()
    return [name.replace("-", "_") for name in said.split(",") if name]
