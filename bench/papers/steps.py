# SPDX-License-Identifier: Apache-2.0
"""
The benchmarks that bench/run reproduce runs, and a folder that remembers which have finished.

    STATE/done/STEP/        STEP.json, log and done.json of a step that finished; moved there in one piece
    STATE/running/STEP/     of the one that runs; left by an interruption, and begun again
"""

import dataclasses
import datetime
import json
import os
import shutil
import signal
import subprocess
import time

from bench.lib.command import ROOT, cpu_model, git

BUILT = ROOT / "build/bench/bench"
TELL_SECONDS = 30


@dataclasses.dataclass(frozen=True)
class Step:
    """One benchmark: its words for a quick run and a full one, and how many seconds each took."""

    name: str
    quick: list
    full: list
    seconds: tuple  # quick, full; a first guess, replaced by what the last run took
    program: str = ""  # under build/bench/bench; by default a command of bench/run
    lab: bool = False  # needs network namespaces and lab/build
    option: str = "--json"

    def words(self, quick):
        return self.quick if quick else self.full

    def command(self, quick, result):
        first = [BUILT / self.program] if self.program else [ROOT / "bench/run", self.name]
        command = [*map(str, first), *self.words(quick), self.option, str(result)]
        if self.lab:
            private = 'mount -t tmpfs tmpfs /run && ip link set lo up && exec "$@"'
            command = ["unshare", "--net", "--mount", "sh", "-c", private, "sh", *command]
        return command

    def missing(self):
        """What must be built first; empty if nothing."""
        if not self.program:
            return "" if any((ROOT / "bench").glob(f"*/{self.name}.py")) else f"there is no benchmark {self.name}"
        path = BUILT / self.program
        return "" if path.exists() else f"{path.relative_to(ROOT)} is not there"


SERVERS_QUICK = "--servers 4 --part 0.1 --seeds 1 --warm 2 --seconds 10 --late-ms 60000".split()
MODEL_QUICK = "--seeds 1 --servers 200 --warm 20000 --queries 100000 --loads 0.5,0.7,0.9 --tolerance 0.05".split()
UPDATES_QUICK = "--buckets 4096 --backends 16 --connections 2000 --rate 500 --changes 2 --rounds 1 --window 6".split()
UPDATES_QUICK += "--age 1 --spacing 1 --seconds 0.5 --lead 2 --updates 2".split()
SCHEMES = ["--rows", "64 K buckets;othello, one;maat;stateful, 1 M flows"]
FLOW_TABLES_QUICK = ["--quick"]

STEPS = {
    step.name: step
    for step in (
        Step("assignment", ["--runs", "2"], [], (30, 200)),
        Step(
            "mux",
            ["--rounds", "5", "--seconds", "0.3", "--warm-up", "0.2", "--runs", "3", "--most-flows", "1000000"],
            ["--rounds", "15"],
            (150, 1500),
        ),
        Step("mux_sizes", ["--rounds", "1", "--seconds", "0.3", "--warm-up", "0.2"], [], (45, 400)),
        Step(
            "mux_schemes",
            [*SCHEMES, "--runs", "3"],
            [*SCHEMES, "--runs", "15"],
            (20, 60),
            program="mux/mux_packet",
        ),
        Step("delay", ["--rounds", "3", "--windows", "20"], [], (30, 300)),
        Step(
            "size",
            ["--buckets", "65536", "--backends", "640", "--readers", "10", "--repetitions", "1", "--small", "2"],
            [],
            (90, 900),
        ),
        Step("affinity", ["--quick"], [], (240, 900), lab=True),
        Step("churn", ["--quick"], [], (150, 500), lab=True),
        Step("downloads", ["--quick"], [], (70, 200), lab=True),
        Step("server_module", None, [], (0, 400)),
        Step("othello_map", ["--most", "131072", "--tests", "10"], [], (40, 400)),
        Step(
            "othello_lookup",
            ["--runs", "3", "--connections", "16000,256000,1000000", "--passes", "1000000"],
            ["--runs", "15", "--connections", "4000,16000,64000,256000,1000000,4000000,8000000,16000000"],
            (30, 900),
            program="mux/othello_lookup",
        ),
        Step("updates", UPDATES_QUICK, [], (200, 400)),
        Step("p4_load", ["--flows", "65536", "--buckets", "4096"], [], (30, 300)),
        Step("maat", ["--most", "16000", "--runs", "3"], [], (40, 300)),
        Step("maat_servers", SERVERS_QUICK, [], (120, 700), lab=True),
        Step("hunt", ["--seeds", "1", "--warm", "4000", "--queries", "20000"], [], (60, 600)),
        Step("hunt_candidates", ["--small", "--draws", "3"], [], (20, 300)),
        Step("hunt_model", MODEL_QUICK, [], (30, 300)),
        Step("hunt_servers", SERVERS_QUICK, [], (120, 900), lab=True),
        Step("flow_tables", FLOW_TABLES_QUICK, [], (120, 900)),
    )
}


class Interrupted(Exception):
    """The caller asked for an end; what has finished is kept."""


def commit():
    return git("rev-parse", "--short=12", "HEAD") or "unknown"


def kept_commit(path):
    """The commit that put a kept result where it is."""
    return git("log", "-1", "--format=%h", "--", str(path)) or "none"


def machine():
    return {"cpu": cpu_model(), "cores": len(os.sched_getaffinity(0)), "kernel": os.uname().release}


class State:
    """Which steps have finished, in a folder; another run with the same words continues."""

    def __init__(self, folder, quick):
        self.folder, self.quick = folder, quick
        self.running = None

    def place(self, step):
        return self.folder / "done" / step.name

    def done(self, step):
        """What done.json has of a step that finished with the same words; None if it has to run."""
        try:
            found = json.loads((self.place(step) / "done.json").read_text())
        except (OSError, ValueError):
            return None
        return found if found.get("words") == step.words(self.quick) else None

    def forget(self, steps):
        for step in steps:
            shutil.rmtree(self.place(step), ignore_errors=True)

    def expected(self, step):
        """Seconds that a step takes: what it last took, whatever its words were then."""
        try:
            return json.loads((self.folder / "seconds.json").read_text())[step.name]
        except (OSError, ValueError, KeyError):
            return step.seconds[0 if self.quick else 1]

    def remember(self, step, seconds):
        path = self.folder / "seconds.json"
        try:
            known = json.loads(path.read_text())
        except (OSError, ValueError):
            known = {}
        path.write_text(json.dumps(known | {step.name: round(seconds, 1)}, indent=1) + "\n")

    def result(self, step):
        return json.loads((self.place(step) / f"{step.name}.json").read_text())

    def run(self, steps):
        """Runs those that have not finished. Returns {name: why it failed}."""
        failed = {}
        left = [step for step in steps if not self.done(step)]
        for step in steps:
            if step not in left:
                print(f"{step.name}: has finished before; --again runs it again", flush=True)
        for at, step in enumerate(left):
            ahead = sum(self.expected(each) for each in left[at:])
            print(f"[{at + 1}/{len(left)}] {step.name}: about {span(ahead)} left in all", flush=True)
            began = time.monotonic()
            reason = self.run_step(step, ahead)
            took = time.monotonic() - began
            if reason:
                failed[step.name] = reason
                print(f"{step.name}: failed after {span(took)}: {reason}", flush=True)
            else:
                self.remember(step, took)
                print(f"{step.name}: done in {span(took)}", flush=True)
        return failed

    def run_step(self, step, ahead):
        """Runs one step; returns why it failed, or nothing."""
        missing = step.missing()
        if missing:
            return missing
        work = self.folder / "running" / step.name
        shutil.rmtree(work, ignore_errors=True)
        work.mkdir(parents=True)
        result, before, began = work / f"{step.name}.json", os.getloadavg()[0], time.monotonic()
        started = datetime.datetime.now(datetime.UTC)
        with (work / "log").open("w") as log:
            # A session of its own, so that an interruption ends the step with all that it started.
            self.running = subprocess.Popen(
                step.command(self.quick, result), stdout=log, stderr=log, cwd=ROOT, start_new_session=True
            )
            try:
                code = self.wait(step, ahead, began)
            except BaseException:
                self.end()
                raise
            self.running = None
        if code:
            return f"ended with {code}; {(work / 'log').relative_to(self.folder)} ends with: {last_line(work / 'log')}"
        try:
            json.loads(result.read_text())
        except (OSError, ValueError) as error:
            return f"left no result: {error}"
        note = {
            "step": step.name, "words": step.words(self.quick), "commit": commit(), "machine": machine(),
            "started": started.strftime("%Y-%m-%dT%H:%M:%SZ"), "seconds": round(time.monotonic() - began, 1),
            "load": [round(before, 1), round(os.getloadavg()[0], 1)],
        }  # fmt: skip
        (work / "done.json").write_text(json.dumps(note, indent=1) + "\n")
        place = self.place(step)
        place.parent.mkdir(parents=True, exist_ok=True)
        shutil.rmtree(place, ignore_errors=True)
        work.rename(place)
        return None

    def wait(self, step, ahead, began):
        while True:
            try:
                return self.running.wait(TELL_SECONDS)
            except subprocess.TimeoutExpired:
                spent = time.monotonic() - began
                print(f"  {step.name}: {span(spent)} so far, about {span(max(0, ahead - spent))} left", flush=True)

    def end(self):
        """Ends the step that runs, by its session: first in order, so that a lab undoes itself."""
        for number, patience in ((signal.SIGTERM, 20), (signal.SIGKILL, 5)):
            try:
                os.killpg(self.running.pid, number)
                self.running.wait(patience)
                return
            except subprocess.TimeoutExpired:
                continue
            except ProcessLookupError:
                return


def last_line(path):
    lines = [line.strip() for line in path.read_text(errors="replace").splitlines() if line.strip()]
    return lines[-1][:300] if lines else "nothing"


def span(seconds):
    seconds = round(seconds)
    return f"{seconds} s" if seconds < 100 else f"{round(seconds / 60)} min"
