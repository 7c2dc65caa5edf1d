# SPDX-License-Identifier: Apache-2.0
"""Single threads of a process: which there are, and stopping one while the others run.

A signal always stops a whole process. A debugger can stop one thread: it seizes it and interrupts it. If the debugger
ends, the kernel lets the thread go on.
"""

import contextlib
import ctypes
import os
from collections.abc import Iterator
from pathlib import Path

PTRACE_SEIZE = 0x4206
PTRACE_INTERRUPT = 0x4207
PTRACE_DETACH = 17
WALL = 0x40000000
SLEEPS = {"x86_64": ("35", "230"), "aarch64": ("101", "115")}  # their numbers
_libc = ctypes.CDLL(None, use_errno=True)
_libc.ptrace.argtypes = (ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p)
_libc.ptrace.restype = ctypes.c_long


def thread_of(pid: int, name: str) -> int:
    """The kernel's id of the process's thread with this name."""
    found = []
    for task in Path(f"/proc/{pid}/task").iterdir():
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):  # it has ended meanwhile
            if (task / "comm").read_text().rstrip("\n") == name:
                found.append(int(task.name))
    if len(found) != 1:
        raise LookupError(f"process {pid} has {len(found)} threads named '{name}', and not one")
    return found[0]


def _ptrace(request: int, thread: int) -> None:
    if _libc.ptrace(request, thread, None, None) != 0:
        error = ctypes.get_errno()
        raise OSError(error, f"ptrace {request:#x} of {thread}: {os.strerror(error)}")


def is_asleep(thread: int) -> bool:
    """Whether the thread, which is stopped, has called nanosleep() or clock_nanosleep()."""
    return Path(f"/proc/{thread}/syscall").read_text().split()[0] in SLEEPS[os.uname().machine]


@contextlib.contextmanager
def stopped(thread: int) -> Iterator[None]:
    """The thread stands still within the block, which the thread that enters it must leave, too."""
    _ptrace(PTRACE_SEIZE, thread)
    _ptrace(PTRACE_INTERRUPT, thread)
    os.waitpid(thread, WALL)
    try:
        yield
    finally:
        with contextlib.suppress(ProcessLookupError):  # the process has ended meanwhile
            _ptrace(PTRACE_DETACH, thread)
