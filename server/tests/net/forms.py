# SPDX-License-Identifier: Apache-2.0
"""
The two forms of the server side, and where the servers of a rack run in each:

    bpf      namespaces of this machine, whose kernel runs the XDP programs
    module   namespaces of one virtual machine, which lasts for all tests; its eth0 is connected to the rack's switch
"""

import contextlib
import os
import shlex
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Protocol

from lab.deadline import LabError, until
from lab.namespace import Namespace
from lab.vm.image import initramfs
from lab.vm.kernel import choose
from lab.vm.machine import Machine, Plug

PORT_OF_MACHINE = "to-machine"
MTU = 1640
SECONDS = 120  # deadline for anything on a busy machine; usually one or two
UP_SECONDS = 600  # the same for the boot of a machine; usually about ten
SETUP = f"""
insmod /modules/fairlead.ko
echo 100000 >/proc/sys/net/core/netdev_max_backlog
ip link add rack type bridge forward_delay 0 mcast_snooping 0
ip link set eth0 mtu {MTU} master rack up
ip link set rack up
"""
# Poison and check the module's objects and the packets; kernel-module/tests/run does so with all. A processor that the
# host does not schedule must not count as stuck.
DEBUG = "slub_debug=FZP,fl_*,skbuff* watchdog_thresh=60 rcupdate.rcu_cpu_stall_timeout=300 mitigations=off"


class Form(Protocol):
    name: str
    where: tuple[str, ...]
    """Arguments that select the server."""

    def namespace(self, name: str) -> Namespace: ...
    def plug(self, switch: Namespace) -> Namespace:
        """Connects servers to the bridge "rack" of that namespace; returns the place of their bridge."""

    def unplug(self, ports: list[str]) -> None:
        """
        Cuts a rack's cables, those of its servers at `ports` and its own, before its namespaces are deleted: the kernel
        does that later, and until then they would answer for their addresses, which the next rack has too.
        """

    def outlet(self, port: str) -> str:
        """The switch's port at which packets from the server at `port` arrive, unless they are for another server."""

    def invoke(self, *argv: str) -> subprocess.CompletedProcess:
        """Runs a command to its end; `fairlead-server`, `application` and `tell` are in its path."""

    def start(self, namespace: Namespace, *argv: str) -> int:
        """Starts a program whose first line of output is its process id."""

    def kill(self, process: int) -> None: ...
    def file(self, name: str, text: str) -> str:
        """A file that only root can read; returns its path."""

    def at_once(self) -> contextlib.AbstractContextManager:
        """Within it, commands in namespaces that return no output may run together at the end."""

    def check(self) -> None:
        """Checks that the kernel has logged no warning."""


class Bpf:
    name, where = "bpf", ("--interface", "eth0")

    def __init__(self, build: Path, folder: Path) -> None:
        """`build` is meson's directory, `folder` one for files."""
        self.folder, self.processes = folder, {}
        programs = (build / "server", build / "server" / "tests")
        self.path = ":".join([*map(str, programs), os.environ.get("PATH", ""), "/usr/sbin:/sbin"])
        self.command = programs[0] / "fairlead-server"

    def namespace(self, name: str) -> Namespace:
        return Namespace(name)

    def plug(self, switch: Namespace) -> Namespace:
        return switch

    def unplug(self, ports: list[str]) -> None:
        pass  # each rack has a switch of its own

    def outlet(self, port: str) -> str:
        return port

    def _environment(self) -> dict[str, str]:
        return os.environ | {"PATH": self.path}

    def invoke(self, *argv: str) -> subprocess.CompletedProcess:
        return subprocess.run(argv, capture_output=True, text=True, check=False, env=self._environment())

    def start(self, namespace: Namespace, *argv: str) -> int:
        line = ["setpriv", "--pdeathsig", "KILL", *argv]
        process = subprocess.Popen(namespace.enter(line), stdout=subprocess.PIPE, text=True, env=self._environment())
        if not (said := process.stdout.readline()):
            raise LabError(f"{' '.join(argv)} ended with {process.wait()}")
        self.processes[process.pid] = process
        assert int(said) == process.pid
        return process.pid

    def kill(self, process: int) -> None:
        with self.processes.pop(process) as ended:
            ended.kill()

    def file(self, name: str, text: str) -> str:
        path = self.folder / name
        path.write_text(text)
        path.chmod(0o600)
        return str(path)

    def at_once(self) -> contextlib.AbstractContextManager:
        return contextlib.nullcontext()

    def check(self) -> None:
        pass


class MachineNamespace(Namespace):
    """A namespace inside a virtual machine; the empty name is the machine's own."""

    def __init__(self, module: "Module", name: str) -> None:
        super().__init__(name)
        self.module = module

    def create(self) -> None:
        self.module.do(f"ip netns add {self.name}")

    def delete(self) -> None:
        self.module.do(f"ip netns delete {self.name}")

    def enter(self, argv: list[str]) -> list[str]:
        return ["ip", "netns", "exec", self.name, *argv] if self.name else argv

    def run(self, *argv: str) -> str:
        return self.module.machine.check(*self.enter(list(argv)))

    def ip(self, *lines: str) -> None:
        where = f"-netns {self.name} " if self.name else ""
        self.module.do(f"ip {where}-batch - <<'END'\n" + "".join(f"{line}\n" for line in lines) + "END")

    def sysctl(self, **values: int | str) -> None:
        script = "\n".join(f"echo {value} >/proc/sys/net/{key.replace('__', '/')}" for key, value in values.items())
        self.module.do(shlex.join(self.enter(["sh", "-ec", script])))


def plain(where: Namespace, interface: str) -> None:
    """Whole packets and real checksums at a veth, as from a NIC; GRO, since XDP_TX from it needs NAPI at its peer.

    A machine's own NIC has no offloads, so this is not needed there.
    """
    if not isinstance(where, MachineNamespace):
        where.run("ethtool", "-K", interface, "tx", "off", "tso", "off", "gso", "off", "gro", "on")


class Module:
    name, where = "module", ("--form", "module")

    def __init__(self, build: Path, release: str) -> None:
        """Boots a machine with that kernel ("6.1" is enough of its release)."""
        self.racks = self.started = 0
        self.plugged = ""
        self.script: list[str] | None = None
        kernel = choose(release)
        programs = [build / "server" / name for name in ("fairlead-server", "tests/application", "tests/tell")]
        archive = initramfs(kernel, build / "lab" / "vm" / "vm-agent", programs, modules=["bridge"])
        self.folder = tempfile.TemporaryDirectory(prefix="fairlead-")
        self.outside = Namespace(f"flserver{os.getpid()}-machine")
        plug = Plug(self.outside.name, f"machine{os.getpid()}", "02:00:00:00:01:00", MTU, "rack")
        self.machine = Machine(
            Path(self.folder.name), kernel, archive, plug=plug, setup=SETUP, memory=512, processors=2, append=DEBUG
        )
        self.outside.create()
        try:
            self.outside.ip("link add rack type bridge forward_delay 0 mcast_snooping 0", "link set rack up")
            self.machine.start()
            self.machine.wait(UP_SECONDS)
            self.set_clock()
        except BaseException:
            self._remove()
            raise

    def _remove(self) -> None:
        self.machine.stop()
        self.outside.delete()
        self.folder.cleanup()

    def set_clock(self) -> None:
        """Sets the machine's clock to this machine's, except for the delay; its real-time clock has whole seconds."""
        until("a second begins", lambda: time.time() % 1 < 0.02, SECONDS, pause=0.005)
        self.machine.check("date", "-s", f"@{int(time.time())}")

    def close(self) -> None:
        """Ends the machine; LabError if it fails to shut down."""
        try:
            self.machine.check("rmmod", "fairlead")
            ended = self.machine.power_off()
            self.check()
            if not ended:
                raise LabError("the machine did not come to its end")
        finally:
            self._remove()

    def do(self, *lines: str) -> None:
        """Lines of a shell script, now or with the next ones."""
        if self.script is None:
            self.machine.check("sh", "-ec", "\n".join(lines), seconds=SECONDS)
        else:
            self.script.extend(lines)

    @contextlib.contextmanager
    def at_once(self) -> Iterator[None]:
        """Each command takes nearly a tenth of a second on an emulated processor."""
        self.script = []
        try:
            yield
        finally:
            script, self.script = self.script, None
        self.do(*script)

    def namespace(self, name: str) -> MachineNamespace:
        return MachineNamespace(self, name)

    def plug(self, switch: Namespace) -> MachineNamespace:
        self.racks += 1
        port = f"to-rack-{self.racks}"
        switch.ip(
            f"link add {PORT_OF_MACHINE} type veth peer name {port} netns {self.outside.name}",
            f"link set {PORT_OF_MACHINE} mtu {MTU} master rack up",
        )
        self.outside.ip(f"link set {port} mtu {MTU} master rack up")
        self.plugged = port
        plain(switch, PORT_OF_MACHINE)
        plain(self.outside, port)
        return self.namespace("")

    def unplug(self, ports: list[str]) -> None:
        for port in ports:
            self.do(f"[ ! -e /sys/class/net/{port} ] || ip link delete {port}")
        if self.plugged:
            self.outside.ip(f"link delete {self.plugged}")
            self.plugged = ""

    def outlet(self, port: str) -> str:
        return PORT_OF_MACHINE

    def invoke(self, *argv: str) -> subprocess.CompletedProcess:
        done = self.machine.run(list(argv), seconds=SECONDS)
        return subprocess.CompletedProcess(argv, done.code, done.stdout.decode(), done.stderr.decode())

    def start(self, namespace: Namespace, *argv: str) -> int:
        self.started += 1
        pipe = f"/tmp/start{self.started}"
        script = f'mkfifo {pipe}; "$@" >{pipe} & read -r said <{pipe}; echo "$said"'
        return int(self.machine.check("sh", "-ec", script, "sh", *namespace.enter(list(argv))))

    def kill(self, process: int) -> None:
        self.do(f"kill -KILL {process}")

    def file(self, name: str, text: str) -> str:
        path = f"/tmp/{name}"
        done = self.machine.run(["sh", "-ec", f"umask 077; cat >{path}"], stdin=text.encode())
        assert done.code == 0, done
        return path

    def check(self) -> None:
        if complaints := self.machine.complaints():
            raise LabError("the kernel complains: " + " | ".join(complaints[:5]))
