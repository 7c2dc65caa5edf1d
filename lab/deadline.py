# SPDX-License-Identifier: Apache-2.0
"""Waiting for a condition with a deadline; the error says what was waited for."""

import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")


class LabError(Exception):
    """What went wrong in the lab, as a sentence for the user."""


def until(what: str, condition: Callable[[], T | None], seconds: float, pause: float = 0.05) -> T:
    """The first truthy value of `condition`, polled every `pause` seconds; LabError naming `what` after `seconds`."""
    deadline = time.monotonic() + seconds
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() >= deadline:
            raise LabError(f"gave up after {seconds:g} s of waiting for: {what} (last seen: {value!r})")
        time.sleep(pause)
