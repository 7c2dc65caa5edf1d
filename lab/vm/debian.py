# SPDX-License-Identifier: Apache-2.0
"""A disk with Debian 12, its own kernel and systemd, and a disk with packages: machines that are like an operator's.

The first is made by mmdebstrap from the sources that this host's apt has for bookworm. It has what a small installation
of Debian has, and besides that what the packages to be installed depend on, since to unpack Java takes an emulated
processor minutes. The second is a repository for apt: the project's packages, and those of Debian that the machines
install. Both are kept under the hash of what they are made of, and no machine writes to them.
"""

import contextlib
import fcntl
import hashlib
import re
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from lab.deadline import LabError, until
from lab.vm.kernel import BUILD, run
from lab.vm.machine import Machine

KEYRING = "/usr/share/keyrings/debian-archive-keyring.gpg"
SUITE = re.compile(r"bookworm(-updates|-security)?")
# What Debian's installer leaves, as far as it matters here, and a kernel.
INCLUDED = "systemd systemd-sysv udev dbus linux-image-amd64 initramfs-tools kmod procps netbase".split()
INCLUDED += "iproute2 ifupdown iputils-ping ca-certificates curl openssl openssh-server".split()
# The initial memory disk only has to find the disk.
INITRAMFS = {
    "etc/initramfs-tools/conf.d/machine": "MODULES=list\nCOMPRESS=lz4\n",
    "etc/initramfs-tools/modules": "virtio_pci\nvirtio_blk\next4\n",
}
AGENT_UNIT = """\
[Unit]
Description=Runs the test's commands that arrive at %i
DefaultDependencies=no
After=systemd-udevd.service
[Service]
ExecStart=/usr/local/sbin/vm-agent /dev/virtio-ports/%i
Environment=HOME=/root LC_ALL=C.UTF-8
Restart=always
RestartSec=1
# nothing that a command starts ends with the agent
KillMode=process
[Install]
WantedBy=multi-user.target
"""
PORTS = [f"exec{number}" for number in range(4)]
PACKAGES_AT = "srv/packages"
FILES = {
    "etc/apt/sources.list": f"deb [trusted=yes] file:/{PACKAGES_AT} ./\n",
    "etc/fstab": f"/dev/vda / ext4 defaults 0 1\n/dev/vdb /{PACKAGES_AT} ext4 ro 0 0\n",
    "etc/modules-load.d/vm-agent.conf": "virtio_console\nvirtio_net\n",
    "etc/systemd/system/vm-agent@.service": AGENT_UNIT,
    "etc/network/interfaces": "source /etc/network/interfaces.d/*\nauto lo\niface lo inet loopback\n",
}
DISK_SIZE = "4G"  # sparse
APT = ("env", "DEBIAN_FRONTEND=noninteractive", "apt-get", "-qq", "--no-install-recommends")
KEPT = 2  # of each kind of disk
# C1 alone: code that a JVM compiles is compiled once more, by the emulator. On a busy host a machine takes two minutes
# to start, a JVM as many.
JAVA_OPTIONS = "-XX:TieredStopAtLevel=1"
BOOT_SECONDS = 900.0
SHELL_SECONDS = 600.0
ASK_SECONDS = 30.0


@dataclass(frozen=True)
class Disk:
    """A root file system with what boots it."""

    folder: Path

    @property
    def path(self) -> Path:
        return self.folder / "disk.ext4"

    @property
    def image(self) -> Path:
        return self.folder / "vmlinuz"

    @property
    def initramfs(self) -> Path:
        return self.folder / "initrd.img"


@cache
def sources() -> str:
    """Lines for apt's sources.list: bookworm's as this host has them; LabError if it has none."""
    said = run("apt-get", "indextargets", "--format", "$(REPO_URI) $(CODENAME) $(COMPONENT)", "Created-By: Packages")
    lines = sorted({line for line in said.splitlines() if SUITE.fullmatch(line.split()[1]) and line.endswith(" main")})
    if not lines:
        raise LabError("apt has no source for bookworm's main component: run apt-get update")
    return "".join(f"deb [signed-by={KEYRING}] {line}\n" for line in lines)


def depends(packages: list[Path]) -> str:
    return "\n".join(run("dpkg-deb", "--field", path, "Package", "Depends") for path in sorted(packages))


def key(*parts: str) -> str:
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:16]


@contextlib.contextmanager
def made(folder: Path) -> Iterator[Path | None]:
    """A folder to fill, which becomes `folder` if nothing fails; none if that is there already. One at a time."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    with (folder.parent / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if folder.exists():
            folder.touch()
            yield None
            return
        aside = folder.with_suffix(".part")
        shutil.rmtree(aside, ignore_errors=True)
        aside.mkdir()
        yield aside
        aside.rename(folder)
        for old in sorted(folder.parent.glob("*[0-9a-f]"), key=lambda p: p.stat().st_mtime)[:-KEPT]:
            if old.is_dir():
                shutil.rmtree(old)


def disk(agent: Path, packages: list[Path], debian: list[str]) -> Disk:
    """The disk for machines that install these packages of the project, and these of Debian."""
    recipe = repr((INCLUDED, INITRAMFS, FILES, DISK_SIZE, debian))
    folder = BUILD / "debian" / key(recipe, sources(), depends(packages), agent.read_bytes().hex())
    with made(folder) as aside:
        if aside:
            _bootstrap(aside, agent, packages, debian)
    return Disk(folder)


def _bootstrap(folder: Path, agent: Path, packages: list[Path], debian: list[str]) -> None:
    root = folder / "root"
    (folder / "sources.list").write_text(sources())
    hook = "".join(
        f"mkdir -p $1/{Path(name).parent} && printf '{text.encode('unicode_escape').decode()}' >>$1/{name};"
        for name, text in INITRAMFS.items()
    )
    command = ["env", f"TMPDIR={folder}", "mmdebstrap", "--quiet", "--mode=root", "--variant=minbase"]
    command += ["--skip=cleanup/apt/lists", f"--include={','.join(INCLUDED)}", f"--essential-hook={hook}"]
    run(*command, "bookworm", root, folder / "sources.list")
    with _inside(root, packages) as names:
        wanted = _within(root, *APT, "--simulate", "install", *names, *debian)
        own = {Path(name).name.partition("_")[0] for name in names}
        needed = set(re.findall(r"^Inst (\S+)", wanted, re.MULTILINE)) - own - set(debian)
        _within(root, *APT, "install", *sorted(needed))
        _within(root, "apt-get", "clean")
    for path in (root / "etc/apt/sources.list.d").iterdir():
        path.unlink()
    for name, text in FILES.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    shutil.copy(agent, root / "usr/local/sbin/vm-agent")
    for port in PORTS:
        run("systemctl", f"--root={root}", "--quiet", "enable", f"vm-agent@{port}.service")
    (root / "etc/machine-id").write_text("uninitialized\n")
    for name in ("vmlinuz", "initrd.img"):
        shutil.copy(root / (root / name).readlink(), folder / name)
    # for `packages`: the lists of apt, and what is installed
    for part in ("etc/apt", "var/lib/apt", "var/lib/dpkg"):
        shutil.copytree(root / part, folder / "state" / part, symlinks=True)
    shutil.copy(folder / "sources.list", folder / "state/etc/apt/sources.list")
    run("mke2fs", "-q", "-t", "ext4", "-d", root, folder / "disk.ext4", DISK_SIZE)
    shutil.rmtree(root)


def _within(root: Path, *command: str) -> str:
    """Its own mounts end with it, so that no one finds /proc in the folder."""
    script = 'mount -t proc proc "$1/proc" && exec chroot "$@"'
    return run("unshare", "--mount", "sh", "-c", script, "sh", root, *command)


@contextlib.contextmanager
def _inside(root: Path, packages: list[Path]) -> Iterator[list[str]]:
    """The packages' names inside; meanwhile no service starts there."""
    policy, folder = root / "usr/sbin/policy-rc.d", root / "srv/in"
    policy.write_text("#!/bin/sh\nexit 101\n")
    policy.chmod(0o755)
    folder.mkdir()
    for path in packages:
        shutil.copy(path, folder)
    shutil.copy("/etc/resolv.conf", root / "etc/resolv.conf")
    yield [f"/srv/in/{path.name}" for path in packages]
    policy.unlink()
    shutil.rmtree(folder)


def repository(on: Disk, packages: list[Path], debian: list[str]) -> Path:
    """A disk with the project's packages, and with those of Debian, named by `debian`, that the machines install."""
    digests = [hashlib.sha256(path.read_bytes()).hexdigest() for path in sorted(packages)]
    folder = BUILD / "repository" / key(on.folder.name, *digests, *debian)
    with made(folder) as aside:
        if aside:
            _collect(aside, on, packages, debian)
    return folder / "packages.ext4"


def _collect(folder: Path, on: Disk, packages: list[Path], debian: list[str]) -> None:
    state, pool = on.folder / "state", folder / "pool"
    (pool / "partial").mkdir(parents=True)
    apt = [*APT, "-o", f"Dir={state}", "-o", f"Dir::State::status={state}/var/lib/dpkg/status"]
    apt += ["-o", f"Dir::Cache::archives={pool}", "-o", "APT::Sandbox::User=root", "--yes", "--download-only"]
    run(*apt, "install", *debian)
    (pool / "partial").rmdir()
    (pool / "lock").unlink(missing_ok=True)
    for path in packages:
        shutil.copy(path, pool)
    (pool / "Packages").write_text(run("dpkg-scanpackages", "--multiversion", ".", cwd=pool))
    run("mke2fs", "-q", "-t", "ext4", "-d", pool, folder / "packages.ext4", "512M")
    shutil.rmtree(pool)


def machine(name: str, directory: Path, disk: Disk, packages: Path, taps: list[str], memory: int) -> Machine:
    """A machine on this disk, whose changes last until QEMU ends; each TAP, which must be there, is one of its ethN."""
    directory.mkdir(parents=True, exist_ok=True)
    words = ["-drive", f"file={disk.path},format=raw,if=virtio,snapshot=on", "-device", "virtio-rng-pci"]
    words += ["-drive", f"file={packages},format=raw,if=virtio,readonly=on"]
    for number, tap in enumerate(taps):
        mac = f"02:00:{hashlib.sha256(tap.encode()).digest()[:4].hex(':')}"
        words += ["-netdev", f"tap,id=eth{number},ifname={tap},script=no,downscript=no,vnet_hdr=off"]
        words += ["-device", f"virtio-net-pci,netdev=eth{number},mac={mac},romfile="]
    append = f"root=/dev/vda ro net.ifnames=0 systemd.hostname={name} systemd.setenv=JDK_JAVA_OPTIONS={JAVA_OPTIONS}"
    return Machine(directory, disk, disk.initramfs, memory=memory, append=append, devices=tuple(words), reboots=True)


def started(machine: Machine) -> str:
    """The state of systemd once it has started everything: running or degraded. LabError after BOOT_SECONDS."""

    def state() -> str:
        try:
            said = (
                machine.run(["systemctl", "is-system-running", "--wait"], seconds=ASK_SECONDS).stdout.decode().strip()
            )
        except LabError:  # no agent yet
            return ""
        return said if said in ("running", "degraded") else ""

    return until(f"the machine of {machine.directory} has started", state, BOOT_SECONDS, pause=1)


def shell(machine: Machine, script: str, seconds: float = SHELL_SECONDS) -> str:
    """What the script prints; LabError with all that it said if a command of it fails."""
    done = machine.run(["bash", "-c", f"exec 2>&1; set -e -o pipefail; cd /root; {script}"], seconds=seconds)
    said = done.stdout.decode(errors="replace")
    if done.code:
        raise LabError(f"in the machine of {machine.directory} failed with {done.code}: {script}\n{said}")
    return said
