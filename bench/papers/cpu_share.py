# SPDX-License-Identifier: Apache-2.0
"""A part of a processor for a group of processes, by the kernel's CPU quota (cgroup v1 or v2).

So a few real processors stand for many servers, each of which is really busy when it has as much to do as its part
allows. Within its quota a group comes before other programs of the machine.
"""

import contextlib
import pathlib

from lab.deadline import LabError, until

QUOTA_US = 1000  # the kernel's least: the shorter the periods, the more a part is like a slow processor
FIRST_OF_V1, FIRST_OF_V2 = 10240, 1000  # shares and weight: ten times those of others
END_SECONDS = 10


def _root() -> tuple[pathlib.Path, bool]:
    """Where the controller `cpu` is mounted, and whether it is v2."""
    for line in pathlib.Path("/proc/self/mounts").read_text().splitlines():
        _, place, kind, options = line.split()[:4]
        path = pathlib.Path(place)
        if kind == "cgroup" and "cpu" in options.split(","):
            return path, False
        if kind == "cgroup2" and "cpu" in (path / "cgroup.controllers").read_text().split():
            return path, True
    raise LabError("no cgroup controller 'cpu' is mounted; allowed: version 1 or 2, with CPU quotas")


class CpuShare:
    """Entered, it exists; the processes in it have to end before it is left."""

    def __init__(self, name: str, part: float) -> None:
        """`part`: of one processor."""
        self.part = part
        self.root, self.unified = _root()
        self.directory = self.root / name

    def __enter__(self) -> "CpuShare":
        period = round(QUOTA_US / self.part)
        if self.unified:
            values = {"cpu.max": f"{QUOTA_US} {period}", "cpu.weight": FIRST_OF_V2}
        else:
            values = {"cpu.cfs_period_us": period, "cpu.cfs_quota_us": QUOTA_US, "cpu.shares": FIRST_OF_V1}
        try:
            if self.unified:
                (self.root / "cgroup.subtree_control").write_text("+cpu")
            self.directory.mkdir()
            for name, value in values.items():
                (self.directory / name).write_text(f"{value}\n")
        except OSError as error:
            raise LabError(f"no CPU quota can be set: {error}; allowed: a writable cgroup controller 'cpu'") from error
        return self

    def __exit__(self, *_: object) -> None:
        until(f"{self.directory} is empty", self._removed, END_SECONDS)

    def _removed(self) -> bool:
        with contextlib.suppress(OSError):
            self.directory.rmdir()
        return not self.directory.exists()

    def command(self, argv: list[str]) -> list[str]:
        """Runs `argv`, and all that it starts, in the group; its process id is that of the shell."""
        return ["sh", "-c", 'echo $$ >"$0" && exec "$@"', str(self.directory / "cgroup.procs"), *argv]

    def seconds(self) -> float:
        """Processor time that its present processes have used."""
        used = 0
        for pid in (self.directory / "cgroup.procs").read_text().split():
            with contextlib.suppress(OSError):  # it has ended meanwhile
                used += int(pathlib.Path(f"/proc/{pid}/schedstat").read_text().split()[0])
        return used / 1e9
