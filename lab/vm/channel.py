# SPDX-License-Identifier: Apache-2.0
"""Runs commands inside a virtual machine, without its network: over virtio-serial ports, to lab/vm/agent.c.

Each port is a Unix socket of QEMU's, which accepts one client at a time; one command is one connection. A file lock
gives a port to one process at a time, so that as many commands as there are ports can run in one machine at once.
"""

import contextlib
import fcntl
import os
import secrets
import socket
import struct
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from lab.deadline import LabError, until

PORTS = 4
REQUEST = struct.Struct("<III")
FRAME = struct.Struct("<III")
STDOUT, STDERR, EXIT = 1, 2, 3
CONNECT_SECONDS = 10.0  # for a free port, and until QEMU has created its sockets


@dataclass(frozen=True)
class Done:
    code: int
    stdout: bytes
    stderr: bytes


class Channel:
    def __init__(self, directory: Path) -> None:
        """`directory` holds the sockets; its path must be short (a socket's has 107 bytes at most)."""
        self.directory = directory

    def paths(self) -> list[Path]:
        return [self.directory / f"exec{number}.sock" for number in range(PORTS)]

    def run(self, argv: list[str], stdin: bytes = b"", seconds: float | None = None) -> Done:
        """Runs a command to its end. LabError if the machine goes down meanwhile, or after `seconds`."""
        out, err = bytearray(), bytearray()
        code = self.stream(argv, out.extend, err.extend, stdin, seconds)
        return Done(code, bytes(out), bytes(err))

    def stream(
        self,
        argv: list[str],
        out: Callable[[bytes], object],
        err: Callable[[bytes], object],
        stdin: bytes = b"",
        seconds: float | None = None,
    ) -> int:
        """Runs a command, passes its output on as it arrives, and returns its exit code.

        If the caller leaves by an exception before the end, the agent kills the command.
        """
        command = " ".join(argv)
        if not argv or any("\0" in word for word in argv):
            raise LabError(f"command '{command}' is refused; allowed: at least one word, and no NUL")
        deadline = None if seconds is None else time.monotonic() + seconds
        words = b"".join(word.encode() + b"\0" for word in argv)
        session = secrets.randbits(32)
        with self._connection() as connection:
            connection.sendall(REQUEST.pack(session, len(words), len(stdin)) + words + stdin)
            stream = _Stream(connection, deadline, f"'{command}' in the machine of {self.directory}", seconds)
            while True:
                whose, kind, length = FRAME.unpack(stream.exactly(FRAME.size))
                payload = stream.exactly(length)
                if whose != session:  # of a command whose caller has left
                    continue
                if kind == EXIT:
                    return int.from_bytes(payload, "little")
                (out if kind == STDOUT else err)(payload)

    @contextlib.contextmanager
    def _connection(self) -> Iterator[socket.socket]:
        with contextlib.ExitStack() as held:
            path = until(f"a free port to the machine of {self.directory}", lambda: self._lock(held), CONNECT_SECONDS)
            connection = held.enter_context(socket.socket(socket.AF_UNIX))
            until(f"QEMU listens on {path}", lambda: _connects(connection, path), CONNECT_SECONDS)
            yield connection

    def _lock(self, held: contextlib.ExitStack) -> Path | None:
        for path in self.paths():
            lock = os.open(path.with_suffix(".lock"), os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                os.close(lock)
                continue
            held.callback(os.close, lock)
            return path
        return None


def _connects(connection: socket.socket, path: Path) -> bool:
    try:
        connection.connect(str(path))
    except (FileNotFoundError, ConnectionRefusedError):
        return False
    return True


class _Stream:
    """Bytes from the agent, until the deadline."""

    def __init__(self, connection: socket.socket, deadline: float | None, what: str, seconds: float | None) -> None:
        self._connection, self._deadline, self._what, self._seconds = connection, deadline, what, seconds

    def exactly(self, length: int) -> bytes:
        got = bytearray()
        while len(got) < length:
            if self._deadline is not None:
                self._connection.settimeout(max(0.001, self._deadline - time.monotonic()))
            try:
                part = self._connection.recv(length - len(got))
            except TimeoutError:
                raise LabError(f"{self._what} has not ended after {self._seconds:g} s") from None
            except ConnectionResetError:
                part = b""
            if not part:
                raise LabError(f"{self._what}: the machine went down")
            got += part
        return bytes(got)
