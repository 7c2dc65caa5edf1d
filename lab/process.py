# SPDX-License-Identifier: Apache-2.0
"""A long-running program of the lab: started in a namespace, logged to a file, stopped or killed by its id.

Everything about it is in a plain record in the instance's state file, so that another run of the lab's command can see
it, kill it and start it again. A process id alone is not trusted: the kernel's start time must match.
"""

import os
import signal
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import TypedDict

from lab.deadline import LabError, until
from lab.interrupt import held
from lab.namespace import Namespace

STOP_SECONDS = 8.0


def start_ticks(pid: int) -> int | None:
    """When the process was started, in clock ticks since boot; None if it does not exist or is a zombie."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return None
    return None if fields[0] in "ZX" else int(fields[19])


def options(values: Mapping[str, object]) -> list[str]:
    """Options of a program as words of its command line."""
    return [word for name, value in values.items() for word in (name, str(value))]


class Record(TypedDict):
    """Of a process in the state file."""

    name: str
    namespace: str
    argv: list[str]
    log: str
    env: dict[str, str]
    pid: int
    ticks: int


class Process:
    def __init__(self, name: str, namespace: Namespace, argv: list[str], log: Path, env: dict[str, str]) -> None:
        self.name = name
        self.namespace = namespace
        self.argv = argv
        self.log = log
        self.env = env
        self.pid = 0
        self.ticks = 0
        self._child: subprocess.Popen[bytes] | None = None

    @classmethod
    def from_record(cls, record: Record) -> "Process":
        namespace = Namespace(record["namespace"])
        process = cls(record["name"], namespace, record["argv"], Path(record["log"]), record["env"])
        process.pid, process.ticks = record["pid"], record["ticks"]
        return process

    def record(self) -> Record:
        return {
            "name": self.name,
            "namespace": self.namespace.name,
            "argv": self.argv,
            "log": str(self.log),
            "env": self.env,
            "pid": self.pid,
            "ticks": self.ticks,
        }

    def start(self) -> None:
        if self.alive:
            raise LabError(f"{self.name} runs already, as process {self.pid}")
        with open(self.log, "ab") as log, held():
            self._child = subprocess.Popen(
                self.namespace.enter(self.argv),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                env={**os.environ, **self.env},
                start_new_session=True,
            )
            self.pid = self._child.pid
            self.ticks = start_ticks(self.pid) or 0

    @property
    def alive(self) -> bool:
        if self._child is not None:
            self._child.poll()  # reaps it
        return self.pid != 0 and start_ticks(self.pid) == self.ticks

    def expect_alive(self) -> bool:
        """True; a LabError if it has ended."""
        if not self.alive:
            raise LabError(f"{self.name} (process {self.pid}) has ended; its log {self.log} ends with:\n{self.tail()}")
        return True

    def kill(self) -> None:
        """kill -9, and gone when this returns."""
        self._end(signal.SIGKILL)

    def stop(self) -> None:
        """Sends SIGTERM; kills it if it has not ended after STOP_SECONDS."""
        try:
            self._end(signal.SIGTERM)
        except LabError:
            self._end(signal.SIGKILL)

    def _end(self, how: signal.Signals) -> None:
        if self.alive:
            os.kill(self.pid, how)
            until(f"{self.name} (process {self.pid}) ends", lambda: not self.alive, STOP_SECONDS, pause=0.01)

    @property
    def exit_code(self) -> int | None:
        """Its exit code: None while it runs, or if another run of the lab's command started it."""
        return None if self._child is None else self._child.poll()

    def cpu_seconds(self) -> float:
        """Processor time that all of its threads have used, in user and kernel mode."""
        self.expect_alive()
        fields = Path(f"/proc/{self.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def tail(self, lines: int = 15) -> str:
        try:
            text = self.log.read_text(errors="replace")
        except OSError:
            return "    (no log)"
        return "\n".join(f"    {line}" for line in text.splitlines()[-lines:]) or "    (nothing logged)"
