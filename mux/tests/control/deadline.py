# SPDX-License-Identifier: Apache-2.0
"""Waiting for a condition with a deadline."""

import time
from collections.abc import Callable

from kazoo.exceptions import ConnectionLoss, SessionExpiredError

# exceptions that a condition may raise while ZooKeeper is down or has just returned
AWAY = (OSError, ConnectionLoss, SessionExpiredError)


def until(condition: Callable[[], object], seconds: float, what: str | Callable[[], str]) -> None:
    """Returns once condition() is true. The failure includes what it last raised or returned, and `what`, if a function
    called then."""
    end = time.monotonic() + seconds
    last: object = None
    while time.monotonic() < end:
        try:
            last = condition()
        except AWAY as error:
            last = error
        if last and not isinstance(last, AWAY):
            return
        time.sleep(0.02)
    what = what() if callable(what) else what
    raise AssertionError(f"waited {seconds} s for {what}; last: {last!r}")


def stays(condition: Callable[[], object], seconds: float, what: str) -> None:
    """Fails if condition() is false at any time within these seconds."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        assert condition(), f"{what} did not stay so for {seconds} s"
        time.sleep(0.02)
