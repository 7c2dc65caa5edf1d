# SPDX-License-Identifier: Apache-2.0
"""Waiting: on a condition, with a deadline, and with a sentence when the deadline passes."""

import time
from collections.abc import Callable
from typing import Any


class LabError(Exception):
    """What went wrong in the lab, as a sentence for the person in front of it."""


def until(what: str, condition: Callable[[], Any], seconds: float, pause: float = 0.05) -> Any:
    """The first truthy value of `condition`, asked every `pause` seconds; LabError naming `what` after `seconds`."""
    deadline = time.monotonic() + seconds
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() >= deadline:
            raise LabError(f"waited {seconds:g} s in vain for: {what} (last seen: {value!r})")
        time.sleep(pause)
