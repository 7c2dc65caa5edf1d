# SPDX-License-Identifier: Apache-2.0
"""Java programs of benchmarks, which use the controller's own classes and need its jar."""

import contextlib
import pathlib
import subprocess
import tempfile
from collections.abc import Callable, Iterator

from bench.lib.command import JAR, check, die


def output(*command: object) -> str:
    try:
        done = subprocess.run(list(map(str, command)), stdout=subprocess.PIPE, text=True, check=False)
    except FileNotFoundError:
        die(f"the command '{command[0]}' is missing: run scripts/install-deps")
    if done.returncode:
        die(f"{command[0]} ended with {done.returncode}")
    return done.stdout


def run(source: pathlib.Path, *words: object, heap: str = "1g") -> str:
    """What a program of one file prints."""
    check(JAR)
    return output("java", f"-Xmx{heap}", "-cp", JAR, source, *words)


@contextlib.contextmanager
def compiled(*sources: pathlib.Path, heap: str = "1g") -> Iterator[Callable[..., str]]:
    """Programs of several files: called with a class and its words, it returns what that class prints."""
    check(JAR)
    with tempfile.TemporaryDirectory() as classes:
        output("javac", "-J-XX:TieredStopAtLevel=1", "-cp", JAR, "-d", classes, *sources)
        # One core is enough, and all there is to collect are the arrays of the run before.
        java = ("java", f"-Xmx{heap}", "-XX:+UseSerialGC", "-cp", f"{JAR}:{classes}")
        yield lambda name, *words: output(*java, name, *words)
