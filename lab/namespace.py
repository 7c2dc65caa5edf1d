# SPDX-License-Identifier: Apache-2.0
"""A network namespace by name: create, enter, configure, delete.

Commands enter it by `nsenter --net`, which changes nothing but the network; `ip netns exec` would also give each of
them a /sys of its own.
"""

import contextlib
import ctypes
import os
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path

from lab.deadline import LabError
from lab.interrupt import held

RUN = Path("/run/netns")
CLONE_NEWNET = 0x40000000
_libc = ctypes.CDLL(None, use_errno=True)


def _setns(descriptor: int) -> None:
    if _libc.setns(descriptor, CLONE_NEWNET) != 0:
        error = ctypes.get_errno()
        raise OSError(error, f"setns: {os.strerror(error)}")


def run(argv: list[str], stdin: str | None = None) -> str:
    """The command's standard output; LabError with its standard error when it fails.

    An interrupt waits for its end: what a command creates exists afterwards or never will. It has a session of its own,
    so that a terminal's interrupt does not end it either.
    """
    with held():
        done = subprocess.run(argv, input=stdin, capture_output=True, text=True, check=False, start_new_session=True)
    if done.returncode != 0:
        said = (done.stderr or done.stdout).strip() or "nothing said"
        raise LabError(f"'{' '.join(argv)}' failed with {done.returncode}: {said}" + (f"\n{stdin}" if stdin else ""))
    return done.stdout


class Namespace:
    def __init__(self, name: str) -> None:
        self.name = name
        self.path = RUN / name

    def __repr__(self) -> str:
        return f"Namespace({self.name})"

    def create(self) -> None:
        run(["ip", "netns", "add", self.name])

    def delete(self) -> None:
        run(["ip", "netns", "delete", self.name])

    @property
    def exists(self) -> bool:
        return self.path.exists()

    @property
    def inode(self) -> int:
        return self.path.stat().st_ino

    def enter(self, argv: list[str]) -> list[str]:
        """The command line that runs `argv` inside; nsenter becomes `argv`, so that the process id stays."""
        return ["nsenter", f"--net={self.path}", "--", *argv]

    def run(self, *argv: str, stdin: str | None = None) -> str:
        return run(self.enter(list(argv)), stdin)

    def ip(self, *lines: str) -> str:
        """Runs `ip` commands as one batch; stops at the first that fails."""
        return run(["ip", "-netns", self.name, "-batch", "-"], stdin="\n".join(lines) + "\n")

    @contextlib.contextmanager
    def inside(self) -> Iterator[None]:
        """The calling thread, and what it creates meanwhile, is in this namespace; other threads are not."""
        with open("/proc/thread-self/ns/net", "rb") as home, open(self.path, "rb") as there:
            try:
                _setns(there.fileno())
                yield
            finally:
                _setns(home.fileno())

    def sysctl(self, **values: int | str) -> None:
        """Sets net.<key>; a double underscore stands for the dot: ipv4__ip_forward=1."""
        with self.inside():
            for key, value in values.items():
                path = Path("/proc/sys/net") / key.replace("__", "/")
                try:
                    path.write_text(f"{value}\n")
                except OSError as error:
                    raise LabError(f"{self.name}: cannot set {path} to {value}: {error.strerror}") from error

    def connect(self, host: str, port: int, timeout: float) -> socket.socket:
        """A TCP connection made inside; it stays there when the thread has left."""
        with self.inside():
            return socket.create_connection((host, port), timeout)

    def processes(self) -> list[int]:
        """Ids of the processes inside, without the caller's own."""
        inode = self.inode
        found = []
        for entry in Path("/proc").iterdir():
            if not entry.name.isdigit() or int(entry.name) == os.getpid():
                continue
            try:
                if (entry / "ns/net").stat().st_ino == inode:
                    found.append(int(entry.name))
            except OSError:  # it has ended meanwhile
                continue
        return found
