# SPDX-License-Identifier: Apache-2.0
"""A virtual machine: QEMU's command line, its start and end, and the defects that its kernel reported.

QEMU emulates the processor (TCG), so no hardware support is needed; a machine is up in about five seconds.

    with Machine(directory, kernel, initramfs(kernel, agent)) as machine:
        machine.wait()
        machine.run(["uname", "-r"])
"""

import re
import subprocess
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from lab.deadline import LabError
from lab.vm.channel import Channel, Done

QEMU = "qemu-system-x86_64"
CONSOLE = "machine.log"
CONSOLE_LINES = 15  # of it are shown if the machine does not come up
BOOT_SECONDS = 180.0  # on a host with ten times the load it can take; otherwise five to ten
RUN_SECONDS = 120.0  # for a command that takes a tenth of a second on an idle host
STOP_SECONDS = 120  # on such a host; otherwise one
TRANSLATED = 256  # MiB at most for the emulator's translated code; by default it takes a GiB
# no_timer_check: the kernel would expect ten ticks within a moment, and panic on a busy host that gives it none.
# An emulated processor that the host lets wait for 21 s is no stall of its kernel; one of five minutes is.
COMMAND_LINE = "console=ttyS0 panic=-1 loglevel=7 no_timer_check rcupdate.rcu_cpu_stall_timeout=300"
COMPLAINT = re.compile(
    r"WARNING:|BUG|Oops|general protection|Call Trace|refcount_t:|unregister_netdevice: waiting|still has objects"
    r"|Objects remaining|suspicious RCU|scheduling while atomic|Kernel panic|use-after-free|Redzone|Poison overwritten"
    r"|leak|soft lockup|rcu_sched self-detected|rcu_preempt self-detected"
)


def wait(directory: Path, seconds: float = BOOT_SECONDS) -> None:
    """Waits until the machine whose sockets are in `directory` is up, see Machine.wait."""
    script = "while [ ! -e /run/setup.exit ]; do sleep 0.1; done; cat /run/setup.log; exit $(cat /run/setup.exit)"
    try:
        done = Channel(directory).run(["sh", "-c", script], seconds=seconds)
    except LabError as error:
        tail = "\n".join(f"    {line}" for line in _lines(directory / CONSOLE)[-CONSOLE_LINES:])
        raise LabError(f"{error}; its console ends with:\n{tail}") from None
    if done.code:
        said = (done.stdout + done.stderr).decode(errors="replace").strip()
        raise LabError(f"the set-up of the machine of {directory} failed with {done.code}: {said}")


def _lines(console: Path) -> list[str]:
    return console.read_text(errors="replace").splitlines() if console.exists() else []


class Booted(Protocol):
    """What has a kernel that QEMU boots."""

    @property
    def image(self) -> Path: ...


@dataclass(frozen=True)
class Plug:
    """Where the machine's eth0 is plugged in: a TAP interface in a network namespace, and its bridge if one is named.

    The TAP has no offloads: packets have complete checksums and the sizes that they have on a physical wire. It has its
    name from the start: two machines that start in one namespace must not share it.
    """

    netns: str
    interface: str
    mac: str
    mtu: int = 1500
    bridge: str = ""


@dataclass
class Machine:
    directory: Path  # of its sockets and its console's log; a short path
    kernel: Booted
    initramfs: Path
    plug: Plug | None = None
    setup: str = ""  # a shell script, run once at each start with -e
    memory: int = 192  # MiB
    processors: int = 1
    append: str = ""  # to the kernel's command line
    devices: tuple[str, ...] = ()  # further words of QEMU's command line
    reboots: bool = False  # what reboots goes on; otherwise it ends
    channel: Channel = field(init=False)
    _qemu: subprocess.Popen[bytes] | None = field(init=False, default=None)

    def __post_init__(self) -> None:
        self.channel = Channel(self.directory)

    @property
    def console(self) -> Path:
        """The output of QEMU and the kernel: `command`'s standard output."""
        return self.directory / CONSOLE

    def command(self) -> list[str]:
        """QEMU's command line, for a process of its own; run it with `environment`."""
        words = [
            QEMU,
            "-accel",
            f"tcg,tb-size={TRANSLATED}",
            "-cpu",
            "max",
            "-smp",
            str(self.processors),
            "-m",
            str(self.memory),
        ]
        words += ["-nodefaults", "-no-user-config", "-display", "none", *([] if self.reboots else ["-no-reboot"])]
        words += ["-kernel", str(self.kernel.image), "-initrd", str(self.initramfs)]
        words += ["-append", f"{COMMAND_LINE} {self.append}".rstrip()]
        words += ["-chardev", "stdio,id=console,signal=off", "-serial", "chardev:console"]
        words += ["-device", "virtio-serial-pci"]
        for path in self.channel.paths():
            words += ["-chardev", f"socket,id={path.stem},path={path},server=on,wait=off"]
            words += ["-device", f"virtserialport,chardev={path.stem},name={path.stem}"]
        if self.setup:
            script = self.directory / "setup"
            script.write_text(self.setup)
            words += ["-fw_cfg", f"name=opt/setup,file={script}"]
        if self.plug:
            script = Path(__file__).parent / "plug"
            words += ["-netdev", f"tap,id=eth0,ifname={self.plug.interface},script={script},downscript=no,vnet_hdr=off"]
            words += ["-device", f"virtio-net-pci,netdev=eth0,mac={self.plug.mac},romfile="]
        return [*words, *self.devices]

    def environment(self) -> dict[str, str]:
        plug = self.plug
        if not plug:
            return {}
        where = {"NETNS": plug.netns, "INTERFACE": plug.interface, "MTU": str(plug.mtu), "BRIDGE": plug.bridge}
        return {f"PLUG_{name}": value for name, value in where.items()}

    # Inside.

    def wait(self, seconds: float = BOOT_SECONDS) -> None:
        """Waits until the machine is up and its setup script has succeeded; LabError with its output if it failed."""
        wait(self.directory, seconds)

    def run(self, argv: list[str], stdin: bytes = b"", seconds: float | None = RUN_SECONDS) -> Done:
        """Runs a command to its end, with any exit code."""
        return self.channel.run(argv, stdin, seconds)

    def check(self, *argv: str, seconds: float | None = RUN_SECONDS) -> str:
        """The command's standard output; LabError with its standard error if it fails."""
        done = self.run(list(argv), seconds=seconds)
        if done.code:
            said = (done.stderr or done.stdout).decode(errors="replace").strip() or "nothing said"
            raise LabError(f"'{' '.join(argv)}' in the machine of {self.directory} failed with {done.code}: {said}")
        return done.stdout.decode(errors="replace")

    def complaints(self) -> list[str]:
        """Lines of the console in which the kernel reports a defect."""
        return [line for line in _lines(self.console) if COMPLAINT.search(line)]

    # As a child process. The lab starts `command` as a program of its own instead.

    def __enter__(self) -> "Machine":
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def start(self) -> None:
        """Starts QEMU; it ends at the latest with this thread."""
        with open(self.console, "ab") as log:
            try:
                self._qemu = subprocess.Popen(
                    ["setpriv", "--pdeathsig", "KILL", *self.command()],
                    stdin=subprocess.DEVNULL,
                    stdout=log,
                    stderr=subprocess.STDOUT,
                    env={"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", **self.environment()},
                )
            except FileNotFoundError as error:
                raise LabError(f"the command '{error.filename}' is missing: run scripts/install-deps") from None

    def power_off(self, seconds: float = STOP_SECONDS) -> bool:
        """Shuts the machine down in order; returns whether it ended within `seconds`."""
        assert self._qemu is not None
        self.run(["sh", "-c", "sync; (sleep 0.2; poweroff -f) >/dev/null 2>&1 &"])
        try:
            self._qemu.wait(seconds)
        except subprocess.TimeoutExpired:
            return False
        return True

    def stop(self) -> None:
        """Cuts the power; QEMU has ended when this returns."""
        if self._qemu is not None:
            self._qemu.kill()
            self._qemu.wait()
            self._qemu = None
