# SPDX-License-Identifier: Apache-2.0
"""
The P4 mux for v1model (mux_v1.p4) in bmv2's simple_switch: what two tests of the PNA form fill it with and put through
it, they write as cases (cases.h), and these are put through this form: same registers, same entries, same frames, and
the same bytes must leave, which are the C mux's, or a vector's. Without p4c-bm2-ss and simple_switch on the PATH only
RESULTS.md is looked at: it must record a run of exactly these sources. Prints TAP.

Usage: test_v1.py P4_FOLDER test_p4_random test_p4_vectors VECTORS_FOLDER [--packets N] [--seed N]
"""

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections import deque
from collections.abc import Callable, Iterator
from pathlib import Path

import tap
from bmv2 import PACKET_S, Switch, SwitchError

TOOLS = ("p4c-bm2-ss", "simple_switch")
COUNTERS = ("packets", "bytes", "moved", "second", "second_first", "second_syns")
WINDOW = 32  # frames in the switch at once: its queues drop beyond 64
NOT_OURS, EXCEPTION = 1, 4  # a verdict; the port of frames that came by port 0


class Writes:
    """Registers, written when frames come: neighbours of one value at once, and none that is already there."""

    def __init__(self, switch: Switch) -> None:
        self.switch = switch
        self.known: dict[tuple[str, int], int] = {}
        self.run: tuple[str, int, int, int] | None = None  # name, first, end, value

    def add(self, name: str, at: int, value: int) -> None:
        if self.known.get((name, at), 0) == value:
            return
        self.known[name, at] = value
        if self.run:
            old, first, end, same = self.run
            if (old, same) == (name, value) and at in (first - 1, end):
                self.run = name, min(first, at), max(end, at + 1), value
                return
            self.flush()
        self.run = name, at, at + 1, value

    def flush(self) -> None:
        if self.run:
            self.switch.write(*self.run)
        self.run = None


class Replay:
    """A file of cases, put through a switch."""

    def __init__(self, switch: Switch) -> None:
        self.switch = switch
        self.writes = Writes(switch)
        self.waiting: dict[int, deque[tuple[int, bytes, bytes]]] = {}  # by port: line, frame, what must leave
        self.inside = 0
        self.frames = self.steered = self.counts = 0

    def take(self) -> None:
        port, left = self.switch.packets.receive()
        self.inside -= 1
        if not self.waiting.get(port):
            raise SwitchError(f"a frame left by port {port}, by which none must: {left.hex()}")
        line, came, wanted = self.waiting[port].popleft()
        if left != wanted:
            raise SwitchError(
                f"line {line}, port {port}: other bytes\ncame {came.hex()}\nleft {left.hex()}\nmust {wanted.hex()}"
            )

    def settle(self) -> None:
        """Until nothing is in the switch, and all registers are written."""
        while self.inside:
            self.take()
        self.writes.flush()

    def frame(self, line: int, port: int, came: bytes, out: int, wanted: bytes | None) -> None:
        self.writes.flush()
        if self.inside == WINDOW:
            self.take()
        self.waiting.setdefault(out, deque()).append((line, came, came if wanted is None else wanted))
        self.switch.packets.send(port, came)
        self.inside += 1
        self.frames += 1
        self.steered += wanted is not None

    def count(self, name: str, at: int, wanted: int) -> None:
        counted = self.switch.count(name, at)[name == "bytes"]
        if counted != wanted:
            raise SwitchError(f"counter {name}[{at}] is {counted}, must be {wanted}")
        self.counts += 1

    def do(self, line: int, text: str) -> None:
        what, *words = text.split(maxsplit=2)
        if what == "register":
            if self.inside:
                self.settle()
            at, value = words[1].split()
            self.writes.add(words[0], int(at), int(value))
        elif what == "frame":
            came, out, wanted = words[1].split()
            after = None if wanted == "=" else bytes.fromhex(wanted)
            self.frame(line, int(words[0]), bytes.fromhex(came), int(out), after)
        else:
            self.settle()
            if what in ("add", "delete"):
                getattr(self.switch, what)(words[0], words[1])
            elif what == "clear":
                for counter in COUNTERS:
                    self.switch.clear(counter)
            elif what == "count":
                at, value = words[1].split()
                self.count(words[0], int(at), int(value))
            else:
                raise SwitchError(f"line {line}: unknown case '{what}'")

    def run(self, cases: Path) -> str:
        with cases.open() as file:
            for line, text in enumerate(file, 1):
                self.do(line, text)
        self.settle()
        return f"{self.frames} frames, {self.steered} of them steered; {self.counts} counters"


class Live:
    """What is run where both tools are."""

    def __init__(self, options: argparse.Namespace, folder: Path) -> None:
        self.options, self.folder = options, folder
        self.program, self.random, self.vectors = folder / "mux.json", folder / "random", folder / "vectors"

    def made(self, *command: object) -> str:
        environment = {**os.environ, "CMOCKA_MESSAGE_OUTPUT": "TAP"}
        words = [str(word) for word in command]
        done = subprocess.run(words, capture_output=True, text=True, env=environment, check=False)
        said = done.stdout + done.stderr
        if done.returncode:
            raise SwitchError(f"{Path(words[0]).name} ended with {done.returncode}:\n{said}")
        return said

    def switch(self) -> Switch:
        return Switch(self.program, self.folder)

    def compile(self) -> str:
        said = self.made("p4c-bm2-ss", "-o", self.program, self.options.folder / "mux_v1.p4")
        if said.strip():
            raise SwitchError(f"p4c-bm2-ss said: {said}")
        return ""

    def replay_random(self) -> str:
        options = self.options
        size = ("--packets", options.packets, "--seed", options.seed)
        self.made(options.random, options.folder / "mux.spec", "--cases", self.random, *size)
        with self.switch() as switch:
            return Replay(switch).run(self.random)

    def replay_vectors(self) -> str:
        options = self.options
        self.made(options.vectors, options.vectors_folder, options.folder / "mux.spec", self.vectors)
        with self.switch() as switch:
            return Replay(switch).run(self.vectors)

    def altered(self) -> str:
        """A wrong byte, a wrong port and a wrong count each end a replay."""
        lines = self.random.read_text().splitlines()
        at = next(i for i, line in enumerate(lines) if line.startswith("frame ") and not line.endswith("="))
        words = lines[at].split()
        last = int(words[4][-1], 16)
        wrong = {
            "other bytes": [*words[:4], f"{words[4][:-1]}{last ^ 1:x}"],
            "by which none must": [*words[:3], str(int(words[3]) ^ 1), words[4]],
        }
        before = [line for line in lines[:at] if not line.startswith("frame ")]
        for complaint, changed in wrong.items():
            self.refuse([*before, " ".join(changed)], complaint)
        self.refuse([*before, " ".join(words), "count packets 0 7"], "counter packets[0] is 0, must be 7")
        return ""

    def refuse(self, lines: list[str], complaint: str) -> None:
        cases = self.folder / "altered"
        cases.write_text("\n".join(lines) + "\n")
        with self.switch() as switch:
            try:
                Replay(switch).run(cases)
            except SwitchError as error:
                if complaint in str(error):
                    return
                raise
        raise SwitchError(f"a replay did not notice: {complaint}")

    def drop(self) -> str:
        """By dispositions a verdict's packets do not leave, but count."""
        lost, kept = bytes(64), bytes(65)
        with self.switch() as switch:
            switch.write("dispositions", NOT_OURS, NOT_OURS + 1, 1)
            switch.packets.send(0, lost)
            switch.packets.send(1, lost)
            deadline = time.monotonic() + PACKET_S
            while switch.count("packets", NOT_OURS)[0] < 2:
                if time.monotonic() > deadline:
                    raise SwitchError(f"two frames were not counted within {PACKET_S} s")
            switch.write("dispositions", NOT_OURS, NOT_OURS + 1, 0)
            switch.packets.send(1, kept)
            if (left := switch.packets.receive()) != (EXCEPTION + 1, kept):
                raise SwitchError(f"port {left[0]}: {left[1].hex()}")
        return ""

    def cases(self) -> Iterator[tuple[str, Callable[[], str]]]:
        yield "mux_v1.p4 compiles without a warning", self.compile
        yield "random frames leave as the C mux sends them", self.replay_random
        yield "the vectors' packets leave with the vectors' headers", self.replay_vectors
        yield "a wrong case is noticed", self.altered
        yield "packets of a verdict are dropped if dispositions says so", self.drop


def recorded(folder: Path) -> tuple[str, str]:
    """What RESULTS.md says of these sources: a sentence, and what is wrong with it."""
    done = subprocess.run([folder / "regenerate", "--digest", "mux_v1.p4"], capture_output=True, text=True, check=True)
    digest, text = done.stdout.strip(), (folder / "RESULTS.md").read_text()
    for section in re.split(r"^## ", text, flags=re.MULTILINE)[1:]:
        if digest in section:
            return f"RESULTS.md records a run of these sources by hand: {section.splitlines()[0]}", ""
    return "RESULTS.md records a run of these sources by hand", f"no section of RESULTS.md has the digest {digest}"


def versions() -> Iterator[str]:
    for tool in TOOLS:
        said = subprocess.run([tool, "--version"], capture_output=True, text=True, check=False)
        yield f"{tool}: {' '.join((said.stdout + said.stderr).split())}"


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("random", type=Path)
    parser.add_argument("vectors", type=Path)
    parser.add_argument("vectors_folder", type=Path)
    parser.add_argument("--packets", type=int, default=60000)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    failed = number = 0
    with tempfile.TemporaryDirectory() as folder:
        tests = []
        if all(shutil.which(tool) for tool in TOOLS):
            print(*(f"# {line}" for line in versions()), sep="\n")
            tests += Live(options, Path(folder)).cases()
        else:
            print(f"# not run here, since {' and '.join(TOOLS)} are not both on the PATH")
        name, wrong = recorded(options.folder.resolve())
        print(f"1..{1 + len(tests)}", flush=True)
        while True:
            number += 1
            failed += bool(wrong)
            tap.tell(number, name, wrong)
            if not tests:
                return 1 if failed else 0
            name, test = tests.pop(0)
            try:
                said, wrong = test(), ""
            except (SwitchError, ImportError) as error:
                said, wrong = "", str(error)
            if said:
                print(f"# {said}")


if __name__ == "__main__":
    sys.exit(main())
