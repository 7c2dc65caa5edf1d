# SPDX-License-Identifier: Apache-2.0
"""The initramfs of a virtual machine: busybox, programs of the host with their libraries, kernel modules, the agent.

An image is kept under the hash of its contents: the same image is never built twice, and every change makes a new one.
"""

import fcntl
import hashlib
import lzma
import os
import re
import shutil
import stat
import tempfile
from collections.abc import Iterable
from functools import cache
from pathlib import Path

from lab.deadline import LabError
from lab.vm.kernel import Kernel, depends, run

# Each machine has these: those for the host's ports, and those that the module, the agent and test networks need.
MODULES = ("virtio_pci", "virtio_console", "virtio_net", "qemu_fw_cfg", "veth", "tun", "tcp_diag")
# Busybox's shell would prefer its own applets, and its ip lacks features.
TOOLS = {"sh": "dash", "ip": "ip", "ss": "ss", "ethtool": "ethtool", "tcpdump": "tcpdump", "nginx": "nginx"}
SEARCHED = f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin"
FOLDERS = ("bin", "sbin", "dev", "etc", "lib", "modules", "proc", "run", "sys", "tmp")
USERS = {
    "etc/passwd": b"root:x:0:0:root:/:/bin/sh\nnobody:x:65534:65534:nobody:/:/bin/false\n",
    "etc/group": b"root:x:0:\nnogroup:x:65534:\n",
}
KEPT = 6  # images per kernel


class Image:
    """The contents of an initramfs; paths are relative to its root."""

    def __init__(self) -> None:
        self._entries: dict[str, tuple[int, bytes]] = {}
        for folder in FOLDERS:
            self.folder(folder)

    def folder(self, path: str) -> None:
        for parent in [*map(str, reversed(Path(path).parents)), path]:
            if parent != ".":
                self._entries[parent] = (stat.S_IFDIR | 0o755, b"")

    def data(self, path: str, data: bytes, mode: int = 0o644) -> None:
        self.folder(str(Path(path).parent))
        self._entries[path] = (stat.S_IFREG | mode, data)

    def link(self, path: str, to: str) -> None:
        self._entries[path] = (stat.S_IFLNK | 0o777, to.encode())

    def program(self, path: str, source: Path) -> None:
        """A program of the host, with the libraries that the dynamic linker would load, in their places."""
        self.data(path, stripped(source), 0o755)
        for library in re.findall(r"(/\S+) \(0x", run("ldd", source)) if dynamic(source) else []:
            self.data(library.lstrip("/"), Path(library).read_bytes(), 0o755)

    def write(self, path: Path) -> None:
        """A cpio archive in the format "newc" (Documentation/driver-api/early-userspace/buffer-format.rst)."""
        with open(path, "wb") as archive:
            for number, (name, (mode, data)) in enumerate([*sorted(self._entries.items()), ("TRAILER!!!", (0, b""))]):
                fields = (number, mode, 0, 0, 1, 0, len(data), 0, 0, 0, 0, len(name) + 1, 0)
                head = b"070701" + b"".join(b"%08x" % field for field in fields) + name.encode() + b"\0"
                for part in (head, data):
                    archive.write(part + b"\0" * (-len(part) % 4))

    def key(self) -> str:
        digest = hashlib.sha256()
        for name, (mode, data) in sorted(self._entries.items()):
            digest.update(f"{name}\0{mode}\0{len(data)}\0".encode() + data)
        return digest.hexdigest()[:16]


def dynamic(program: Path) -> bool:
    return b"/ld-linux" in program.read_bytes()[:4096]


@cache
def _stripped(path: Path, _mtime_ns: int) -> bytes:
    with tempfile.NamedTemporaryFile() as target:
        run("strip", "--strip-debug", "-o", target.name, path)
        return Path(target.name).read_bytes()


def stripped(path: Path) -> bytes:
    """A program's or a module's file without debugging information."""
    return _stripped(path, path.stat().st_mtime_ns)


def _tool(name: str) -> Path:
    found = shutil.which(name, path=SEARCHED)
    if not found:
        raise LabError(f"the command '{name}' is missing, which virtual machines have: run scripts/install-deps")
    return Path(found).resolve()


def initramfs(
    kernel: Kernel,
    agent: Path,
    programs: Iterable[Path] = (),
    files: Iterable[Path] = (),
    modules: Iterable[str] = (),
) -> Path:
    """The image for that kernel: what every machine has, the `programs` in /bin, and the `files` in /share.

    The kernel's own `modules` are loaded besides those that every machine needs.

    The project's module is in /modules and is not loaded: `insmod /modules/fairlead.ko` does that. It is built in one
    place, so one image of a kernel is built at a time.
    """
    kernel.folder.mkdir(parents=True, exist_ok=True)
    with (kernel.folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        return _kept(kernel.folder, _image(kernel, agent, programs, files, modules))


def _image(
    kernel: Kernel, agent: Path, programs: Iterable[Path], files: Iterable[Path], modules: Iterable[str]
) -> Image:
    image = Image()
    busybox = _tool("busybox")
    image.program("bin/busybox", busybox)
    for applet in set(run(busybox, "--list").split()) - {"busybox"}:
        image.link(f"bin/{applet}", "busybox")
    for name, source in TOOLS.items():
        image.program(f"bin/{name}", _tool(source))
    image.program("bin/agent", agent)
    for program in programs:
        image.program(f"bin/{program.name}", program)
    for path in files:
        image.data(f"share/{path.name}", path.read_bytes())
    for place, data in USERS.items():
        image.data(place, data)
    image.data("init", (Path(__file__).parent / "init").read_bytes(), 0o755)
    fairlead = kernel.fairlead()
    loaded = kernel.modules([*MODULES, *modules, *depends(fairlead)])
    for name, path in loaded.items():
        data = path.read_bytes()
        image.data(f"modules/{name}.ko", lzma.decompress(data) if path.suffix == ".xz" else data)
    image.data("modules/order", "".join(f"{name}\n" for name in loaded).encode())
    image.data("modules/fairlead.ko", stripped(fairlead))
    return image


def _kept(folder: Path, image: Image) -> Path:
    path = folder / f"initramfs-{image.key()}.cpio"
    if path.exists():
        os.utime(path)  # those used last are kept
        return path
    aside = path.with_suffix(f".{os.getpid()}.part")
    image.write(aside)
    aside.rename(path)
    for old in sorted(folder.glob("initramfs-*.cpio"), key=lambda p: p.stat().st_mtime)[:-KEPT]:
        old.unlink(missing_ok=True)
    return path
