# SPDX-License-Identifier: Apache-2.0
"""SIGINT and SIGTERM, handled between two steps and never within one.

Python turns a signal into an exception wherever the program is at the moment, for instance between the start of a
command and the record of it. Then the command continues by itself, and what it creates is never undone. So each step
that starts something which another step undoes runs while interrupts are `held`, and so does the undoing itself.
"""

import contextlib
import signal
import threading
from collections.abc import Iterator
from types import FrameType


class Interrupted(KeyboardInterrupt):
    def __init__(self, number: int) -> None:
        super().__init__(f"interrupted by {signal.Signals(number).name}")
        self.exit_code = 128 + number


class _Interrupts:
    """Only the main thread runs signal handlers, so that only what it holds counts."""

    def __init__(self) -> None:
        self.holders = 0
        self.came = 0

    def hear(self, number: int, _: FrameType | None) -> None:
        self.came = number
        self.let_out()

    def let_out(self) -> None:
        if self.came and not self.holders:
            came, self.came = self.came, 0
            raise Interrupted(came)


_interrupts = _Interrupts()


def listen() -> None:
    """From now on SIGINT and SIGTERM raise Interrupted in the main thread, which calls this."""
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, _interrupts.hear)


@contextlib.contextmanager
def held() -> Iterator[None]:
    """An interrupt within is raised at the end, also in place of an exception that it may have caused."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    _interrupts.holders += 1
    try:
        yield
    finally:
        _interrupts.holders -= 1
        _interrupts.let_out()
