# SPDX-License-Identifier: Apache-2.0
"""One running lab on this machine: its directory, its state file, and how everything of it is undone.

    /run/fairlead-lab/<id>/state.json      owner, namespaces (in order of creation), processes, settings
    /run/fairlead-lab/<id>/<node>/         configuration and logs of that node's programs

A namespace is recorded before it is created, and everything else of a lab is inside a namespace or inside the directory
(an XDP program exists as long as its interface; a virtual machine is a process, QEMU, in a namespace of its own, and
its TAP exists as long as QEMU; small disks are mounted in the directory). So undoing is: for each namespace, newest
first, end the processes in it and delete it; then unmount and delete the directory. That works after a crash at any
point, from the file alone. An interrupt is deferred to the end of a step (lab/interrupt.py), so that undoing never runs
while a command still creates something.
An instance without an owner was left running on purpose; one whose owner has died is a leftover.
"""

import contextlib
import fcntl
import json
import os
import secrets
import shutil
import signal
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NotRequired, TypedDict

from lab.deadline import LabError, until
from lab.interrupt import held
from lab.namespace import Namespace, run
from lab.process import Process, Record, start_ticks
from lab.vm.channel import Channel

RUN = Path("/run/fairlead-lab")
FRR_CRASH_LOGS = Path("/var/tmp/frr")
KEPT_LOGS = Path(__file__).resolve().parents[1] / "build" / "lab-logs"


class Owner(TypedDict):
    """The process that undoes the lab when it ends."""

    pid: int
    ticks: int | None


class Place(TypedDict):
    """A node's namespace; of a virtual machine it is QEMU's."""

    node: str
    name: str
    machine: bool


class FaultSettings(TypedDict):
    """Of a lab for fault injection."""

    switch: str | None
    zookeepers: int


class Settings(TypedDict, total=False):
    port: str
    quiet: int | None
    embedded: bool
    vmKernel: str
    console: str
    faults: FaultSettings


class State(TypedDict):
    """The state file."""

    instance: str
    owner: Owner | None
    settings: Settings
    namespaces: list[Place]
    processes: dict[str, Record]
    mounts: NotRequired[list[str]]


class Instance:
    def __init__(self, state: State) -> None:
        self.state = state
        self.name: str = state["instance"]
        self.directory = RUN / self.name
        self._lock = threading.Lock()

    @classmethod
    def create(cls, settings: Settings) -> "Instance":
        """A new instance with a unique name, owned by this process; leftovers of dead ones are cleaned first."""
        for leftover in cls.leftovers():
            leftover.undo()
        RUN.mkdir(parents=True, exist_ok=True)
        while True:
            name = secrets.token_hex(2)
            try:
                (RUN / name).mkdir()
                break
            except FileExistsError:
                continue
        owner: Owner = {"pid": os.getpid(), "ticks": start_ticks(os.getpid())}
        instance = cls({"instance": name, "owner": owner, "settings": settings, "namespaces": [], "processes": {}})
        instance.save()
        return instance

    @classmethod
    def load(cls, name: str) -> "Instance":
        try:
            return cls(json.loads((RUN / name / "state.json").read_text()))
        except FileNotFoundError:
            known = ", ".join(i.name for i in cls.all()) or "none is up"
            raise LabError(f"instance '{name}' is not there; allowed: {known}") from None

    @classmethod
    def all(cls) -> list["Instance"]:
        return [cls(json.loads(path.read_text())) for path in sorted(RUN.glob("*/state.json"))]

    @classmethod
    def leftovers(cls) -> list["Instance"]:
        return [instance for instance in cls.all() if instance.abandoned]

    @classmethod
    def choose(cls, name: str | None) -> "Instance":
        """The instance of that name, or the only one that is up."""
        if name is not None:
            return cls.load(name)
        up = cls.all()
        if len(up) != 1:
            names = ", ".join(i.name for i in up)
            raise LabError(f"several labs are up, choose by --instance: {names}" if up else "no lab is up")
        return up[0]

    @property
    def abandoned(self) -> bool:
        """Whether its owner died without undoing it."""
        owner = self.state["owner"]
        return owner is not None and start_ticks(owner["pid"]) != owner["ticks"]

    @contextlib.contextmanager
    def changing(self) -> Iterator[None]:
        """Only one process at a time changes the state: it is read again at the beginning and saved at the end."""
        with open(self.directory / "lock", "a") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            self.state = json.loads((self.directory / "state.json").read_text())
            yield
            self.save()

    def detach(self) -> None:
        """From now on it stays up when this process ends."""
        self.state["owner"] = None
        self.save()

    def save(self) -> None:
        """Replaces the state file atomically."""
        with self._lock:
            next_state = self.directory / "state.json.next"
            next_state.write_text(json.dumps(self.state, indent=1) + "\n")
            next_state.rename(self.directory / "state.json")

    # What is created, and therefore undone.

    def namespace(self, node: str, machine: bool = False) -> Namespace:
        """A new namespace for a node, recorded before it is created; for a `machine` it is QEMU's."""
        namespace = Namespace(f"fl-{self.name}-{node}")
        self.state["namespaces"].append({"node": node, "name": namespace.name, "machine": machine})
        self.save()
        namespace.create()
        return namespace

    def mount(self, path: Path, megabytes: int) -> None:
        """A small disk on an empty directory of this instance, recorded before it is created."""
        self.state.setdefault("mounts", []).append(str(path))
        self.save()
        run(["mount", "-t", "tmpfs", "-o", f"size={megabytes}m", "tmpfs", str(path)])

    def find(self, node: str) -> Namespace | Channel:
        """Where the node's commands run: its namespace, or the way into its virtual machine."""
        for record in self.state["namespaces"]:
            if record["node"] == node:
                return Channel(self.directory / node) if record["machine"] else Namespace(record["name"])
        known = ", ".join(record["node"] for record in self.state["namespaces"])
        raise LabError(f"node '{node}' is not in lab {self.name}; allowed: {known}")

    def node_directory(self, node: str) -> Path:
        path = self.directory / node
        path.mkdir(exist_ok=True)
        return path

    def start(self, process: Process) -> None:
        with held():
            process.start()
            self.state["processes"][process.name] = process.record()
            self.save()

    def process(self, name: str) -> Process:
        record = self.state["processes"].get(name)
        if record is None:
            known = ", ".join(sorted(self.state["processes"]))
            raise LabError(f"process '{name}' is not in lab {self.name}; allowed: {known}")
        return Process.from_record(record)

    def processes(self) -> list[Process]:
        return [Process.from_record(record) for record in self.state["processes"].values()]

    def remove(self, node: str) -> None:
        """Undoes one node: its processes and its namespace."""
        for record in [r for r in self.state["namespaces"] if r["node"] == node]:
            self._undo(record["name"])
            self.state["namespaces"].remove(record)
        self.state["processes"] = {
            name: record for name, record in self.state["processes"].items() if not name.startswith(f"{node}/")
        }
        self.save()

    def undo(self, keep_logs: bool = False) -> Path | None:
        """Undoes everything, newest first; returns where the logs were moved to, if they are kept."""
        kept = None
        with held():
            for record in reversed(self.state["namespaces"]):
                self._undo(record["name"])
            if keep_logs and self.directory.exists():
                KEPT_LOGS.mkdir(parents=True, exist_ok=True)
                kept = KEPT_LOGS / self.name
                shutil.copytree(self.directory, kept, dirs_exist_ok=True, ignore=_only_text)
            for mounted in reversed(self.state.get("mounts", [])):
                if os.path.ismount(mounted):
                    run(["umount", "--lazy", mounted])
            shutil.rmtree(self.directory, ignore_errors=False)
        return kept

    def _undo(self, name: str) -> None:
        """Undoes one namespace; a process that was just started may not have entered it yet, but has a record."""
        namespace = Namespace(name)
        if namespace.exists:
            started = [p for p in self.processes() if p.namespace.name == name]
            _end_all(f"the processes in {name}", lambda: _inside(namespace, started))
            namespace.delete()

    def tails(self, lines: int = 12) -> str:
        """The ends of the logs of processes that have died, and of those with the latest entries."""
        processes = self.processes()
        dead = [p for p in processes if not p.alive]
        running = [p for p in processes if p not in dead and p.log.exists()]
        recent = sorted(running, key=lambda p: p.log.stat().st_mtime, reverse=True)
        shown = [(p, "has ended") for p in dead] + [(p, "runs") for p in recent[:6]]
        return "\n".join(f"--- {p.name} ({state}), {p.log}\n{p.tail(lines)}" for p, state in shown)


def _only_text(_: str, names: list[str]) -> list[str]:
    return [name for name in names if name.endswith((".vty", ".api", ".sock")) or name == "zookeeper-data"]


def _inside(namespace: Namespace, started: list[Process]) -> set[int]:
    return {*namespace.processes(), *(process.pid for process in started if process.alive)}


def _end_all(what: str, running: Callable[[], set[int]]) -> None:
    """TERM to every process, KILL to what is left after three seconds."""
    pids: set[int] = set()
    for how, seconds in ((signal.SIGTERM, 3.0), (signal.SIGKILL, 5.0)):
        for pid in running():
            pids.add(pid)
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, how)
        try:
            until(f"{what} end", lambda: not running(), seconds, pause=0.02)
            break
        except LabError:
            if how == signal.SIGKILL:
                raise
    for pid in pids:  # a killed FRR daemon leaves the directory of its crash log
        for crash_logs in FRR_CRASH_LOGS.glob(f"*.{pid}"):
            shutil.rmtree(crash_logs, ignore_errors=True)
