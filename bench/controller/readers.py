# SPDX-License-Identifier: Apache-2.0
"""Muxes without packets: processes of mux_reader.c, and what they say."""

import os
import selectors
import subprocess
import time

from bench.lib.command import die
from bench.lib.ensemble import TIMEOUT_SECONDS


def logged_in(login):
    """The environment of a mux_reader with this file of logins."""
    return os.environ | {"FAIRLEAD_MUX_ZOOKEEPER_AUTH": str(login)}


class Readers:
    """Mux readers and their reports: per reader {generation: (seconds, processor seconds, bytes, KB)}."""

    def __init__(self, processes, program, zookeeper, logins=(), words=()):
        """`logins`: the file of each reader's, if the tree is a controller's; `words`: its further arguments."""
        self.processes, self.program, self.zookeeper = processes, program, zookeeper
        self.logins, self.words = logins, words
        self.started = []
        self.selector = selectors.DefaultSelector()
        self.said, self.rest = [], []

    def start(self, count, generation):
        """A few at a time, since each needs memory for a whole snapshot at first."""
        for n in range(count):
            process = self.processes.start(
                "readers",
                [self.program, f"mux{n}", self.zookeeper, *(self.words[n] if self.words else ())],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                env=logged_in(self.logins[n]) if self.logins else None,
            )
            self.started.append(process)
            os.set_blocking(process.stdout.fileno(), False)
            self.selector.register(process.stdout, selectors.EVENT_READ, n)
            self.said.append({})
            self.rest.append(b"")
            if n % 4 == 3 or n == count - 1:
                self.wait(generation)

    def listen(self):
        for key, _ in self.selector.select(0.1):
            data = key.fileobj.read()
            if data == b"":
                die(f"reader {key.data} has ended: see {self.processes.folder}/readers.log")
            *lines, self.rest[key.data] = (self.rest[key.data] + (data or b"")).split(b"\n")
            for line in lines:
                generation, at, cpu, received, resident = (int(word) for word in line.split())
                self.said[key.data][generation] = (at / 1e9, cpu / 1e9, received, resident)

    def wait(self, generation):
        deadline = time.monotonic() + TIMEOUT_SECONDS
        while not all(max(one, default=0) >= generation for one in self.said):
            if time.monotonic() > deadline:
                die(f"gave up after {TIMEOUT_SECONDS} s: not every reader serves generation {generation}")
            self.listen()

    def end(self):
        for process in self.started:
            process.stdin.close()
        for process in self.started:
            if process.wait(TIMEOUT_SECONDS):
                die(f"a reader has ended with {process.returncode}: see {self.processes.folder}/readers.log")

    def of(self, generation, committed):
        """For each reader that saw this generation by itself: seconds since the commit, processor seconds, bytes."""
        rows = []
        for one in self.said:
            now, before = one[generation], one[generation - 1]
            rows.append((now[0] - committed, now[1] - before[1], now[2] - before[2]))
        return {
            "seconds": sorted(row[0] for row in rows),
            "processorSeconds": sum(row[1] for row in rows),
            "bytesMost": max(row[2] for row in rows),
        }
