# SPDX-License-Identifier: Apache-2.0
"""
Virtual machines to run the module in: Debian's kernels, unpacked from their packages, with an initramfs of busybox, the
module, and programs with the libraries that they need.

Everything made is kept under build/module and made anew only if it is missing: packages are large. QEMU emulates the
processor (TCG), so that no hardware support is needed; a machine is up in about five seconds.
"""

import lzma
import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
BUILD = ROOT / "build" / "module"
# What the module and the test networks need; an order in which they load. Where they are built in, there is no file.
KERNEL_MODULES = ("tunnel4", "udp_tunnel", "ip6_udp_tunnel", "veth", "tun")
# Poison and check every object of the slab caches, and freed pages.
DEBUG = "slub_debug=FZP page_poison=1"
COMPLAINT = re.compile(
    r"WARNING:|BUG|Oops|general protection|Call Trace|refcount_t:|unregister_netdevice: waiting|still has objects"
    r"|Objects remaining|suspicious RCU|scheduling while atomic|Kernel panic|use-after-free|Redzone|Poison overwritten"
    r"|leak|soft lockup|rcu_sched self-detected|rcu_preempt self-detected"
)
INIT = """#!/bin/sh
export PATH=/bin:/sbin
mount -t proc proc /proc && mount -t sysfs sysfs /sys && mount -t devtmpfs dev /dev && mount -t tmpfs tmp /tmp
exec >/dev/ttyS1 2>&1 </dev/null
dmesg -n 8
for module in {modules}; do
  insmod /modules/$module.ko || echo "not ok 0 - loads $module"
done
ip link set lo up
export CMOCKA_MESSAGE_OUTPUT=TAP
for program in {programs}; do
  echo "# program $program"
  $program /vectors
  echo "# exit $program $?"
done
rmmod fairlead
echo "# exit rmmod $?"
echo "# end"
poweroff -f
"""


class MachineError(Exception):
    """The machine cannot be made; the argument says why."""


def run(*command: str | Path, **options: object) -> str:
    done = subprocess.run(
        [str(word) for word in command], capture_output=True, text=True, errors="replace", check=False, **options
    )
    if done.returncode:
        raise MachineError(f"{command[0]} failed: {' '.join((done.stdout + done.stderr).splitlines()[-8:])}")
    return done.stdout


def kernels() -> list[str]:
    """The newest kernel of each series whose headers scripts/install-deps has installed."""
    newest: dict[str, tuple[list[int], str]] = {}
    for path in Path("/usr/src").glob("linux-headers-*-amd64"):
        release = path.name.removeprefix("linux-headers-")
        if series := re.fullmatch(r"(\d+\.\d+)\.\d+(-\d+|\+deb\d+)-amd64", release):
            version = [int(number) for number in re.findall(r"\d+", release)]
            newest[series[1]] = max(newest.get(series[1], ([], "")), (version, release))
    if not newest:
        raise MachineError("no kernel headers in /usr/src: run scripts/install-deps")
    return [release for _, release in sorted(newest.values())]


@dataclass(frozen=True)
class Kernel:
    release: str

    @property
    def headers(self) -> Path:
        return Path("/usr/src") / f"linux-headers-{self.release}"

    @property
    def folder(self) -> Path:
        return BUILD / self.release

    def image(self) -> Path:
        """The unpacked package of the kernel; downloaded once."""
        unpacked = self.folder / "image"
        if not unpacked.is_dir():
            downloads, aside = self.folder / "download", self.folder / "image.part"
            shutil.rmtree(aside, ignore_errors=True)
            downloads.mkdir(parents=True, exist_ok=True)
            download = ("apt-get", "download", "-qq", f"linux-image-{self.release}")
            try:
                run(*download, cwd=downloads)
            except MachineError:  # apt's lists may be old, or cleaned away
                run("apt-get", "update", "-qq")
                run(*download, cwd=downloads)
            run("dpkg-deb", "-x", next(downloads.glob("linux-image-*.deb")), aside)
            shutil.rmtree(downloads)
            aside.rename(unpacked)
        return unpacked

    def module(self) -> Path:
        """Builds the module with every warning an error, from the tree that DKMS would build."""
        tree = self.folder / "dkms"
        run("make", "-s", "-C", ROOT / "kernel-module", "dkms", f"DESTDIR={tree}")
        source = next(tree.glob("usr/src/fairlead-*"))
        run("make", "-s", "-j2", "-C", source, "check", f"HEADERS={self.headers}")
        return source / "fairlead.ko"


def libraries(program: Path) -> set[Path]:
    """What the dynamic linker would load."""
    return {Path(path) for path in re.findall(r"(/\S+) \(0x", run("ldd", program))}


def initramfs(kernel: Kernel, programs: list[Path], tools: list[Path], name: str) -> Path:
    root = kernel.folder / f"root-{name}"
    shutil.rmtree(root, ignore_errors=True)
    for folder in ("bin", "sbin", "proc", "sys", "dev", "tmp", "run", "etc", "modules", "vectors", "tests", "tools"):
        (root / folder).mkdir(parents=True)
    shutil.copy("/bin/busybox", root / "bin" / "busybox")
    run("chroot", root, "/bin/busybox", "--install", "-s", "/bin")
    # Busybox's ip knows too little, and its shell prefers that.
    for better in ("ip", "sh"):
        (root / "bin" / better).unlink(missing_ok=True)
    copies = {Path("/sbin/ip"): root / "bin" / "ip", Path("/bin/dash"): root / "bin" / "sh"}
    copies |= {tool: root / "tools" / tool.name for tool in tools}
    copies |= {program: root / "tests" / program.name for program in programs}
    for source, target in copies.items():
        shutil.copy(source, target)
        run("strip", "--strip-debug", target)
        for library in libraries(source):
            inside = root / library.relative_to("/")
            inside.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(library, inside)
    modules = []
    for module in KERNEL_MODULES:
        for path in kernel.image().glob(f"lib/modules/*/kernel/**/{module}.ko*"):
            data = path.read_bytes()
            (root / "modules" / f"{module}.ko").write_bytes(lzma.decompress(data) if path.suffix == ".xz" else data)
            modules.append(module)
    shutil.copy(kernel.module(), root / "modules" / "fairlead.ko")
    run("strip", "--strip-debug", root / "modules" / "fairlead.ko")
    for vectors in (ROOT / "protocol" / "vectors").glob("*.json"):
        shutil.copy(vectors, root / "vectors")
    tests = [f"/tests/{program.name}" for program in programs]
    (root / "init").write_text(INIT.format(modules=" ".join([*modules, "fairlead"]), programs=" ".join(tests)))
    (root / "init").chmod(0o755)
    archive = kernel.folder / f"initramfs-{name}.cpio.gz"
    run("sh", "-c", f"find . | cpio --quiet -o -H newc | gzip -1 >{archive}", cwd=root)
    return archive


@dataclass(frozen=True)
class Result:
    tap: str
    console: str
    seconds_over: bool

    def complaints(self) -> list[str]:
        return [line for line in self.console.splitlines() if COMPLAINT.search(line)]


def boot(kernel: Kernel, archive: Path, name: str, seconds: int) -> Result:
    """Runs the machine until it powers itself off."""
    tap, console = kernel.folder / f"{name}.tap", kernel.folder / f"{name}.console"
    image = next(kernel.image().glob("boot/vmlinuz-*"))
    command = ["qemu-system-x86_64", "-accel", "tcg", "-cpu", "max", "-smp", "2", "-m", "768", "-no-reboot"]
    command += ["-nodefaults", "-display", "none", "-kernel", str(image), "-initrd", str(archive)]
    command += ["-serial", f"file:{console}", "-serial", f"file:{tap}"]
    command += ["-append", f"console=ttyS0 panic=-1 loglevel=7 {DEBUG}"]
    over = False
    try:
        subprocess.run(command, stdin=subprocess.DEVNULL, check=False, timeout=seconds)
    except FileNotFoundError:
        raise MachineError("qemu-system-x86_64 is missing: run scripts/install-deps") from None
    except subprocess.TimeoutExpired:
        over = True
    return Result(tap.read_text(errors="replace"), console.read_text(errors="replace"), over)
