# SPDX-License-Identifier: Apache-2.0
"""
The parts of the test run: how each runs, and how its cases are counted. Called by scripts/test.

A part is a list of commands, whose output is shown and kept in build/logs/<part>.log, and a reader of their results.
A command that fails although no case did (a broken build, a crash, a missing tool) counts as a failed case. So does a
part in which no case ran: no part can pass by not running. After the table of all parts, each failed case is listed
again, and each skipped one with its reason, so that the end of a log is a complete summary.

Parts run one after the other, except those that only compute (BESIDE): they take what time the others, which mostly
wait, leave of the processors.

With --long, what CI has no time for runs, too: tests marked `long`, meson's suite `long`, more schedules and switches.

Environment: FUZZ_SECONDS (10, or 20 with --long), time of each fuzzer; CI, if set, adds the fuzzers to the given parts.
"""

import contextlib
import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

from testcounts import Counts, junit, lines, meson_results, named

ROOT = Path(__file__).resolve().parent.parent
BUILD = ROOT / "build"
LOGS = BUILD / "logs"
SANITIZED, THREADS, FUZZ, RELEASE = BUILD / "test", BUILD / "threads", BUILD / "fuzz", BUILD / "lab"
COMPILED, ARM64 = BUILD / "p4-compiled", BUILD / "arm64"
# QEMU's models without AVX-512: one with AVX2, one with the least that DPDK is built for.
PROCESSORS = ("Haswell", "Nehalem")
CONSOLE = ROOT / "console" / "tests"
LONG = "--long"
# Parts that run beside others, in this order, from the part FROM on, since when processors are mostly idle.
BESIDE, FROM = ("fuzz", "protocol", "p4"), "jepsen"
IDLE = ("chrt", "--idle", "0")  # prefix of their commands: they run when nothing else would
# Tests of the lab that bring up labs of their own or take long, the longest first.
OWN_LABS = "idle drain hold dead othello candidates mixed ensemble agent claims mptcp demo health probe".split()
OWN_LABS += "controller srv6 ipip vlan rack6 undelete".split()
OWN_LONG_LABS = ["versions", "partition"]  # the same; all of their tests are marked `long`
# Runs of the harness, each on a lab of its own.
JEPSEN_SCHEDULES = ("brief", "holds", "arrays")
JEPSEN_LONG_SCHEDULES = ("short", "agents", "hunt", "maat", "p4", "health")
JEPSEN_SWITCHES = ("chaining-off", "hello-off", "hold-off", "fencing-off")
JEPSEN_LONG_SWITCHES = ("clock-check-off", "generation-check-off", "half-delta", "early-ack", "second-off", "rule-off")
JEPSEN_LONG_SWITCHES += ("filter-off", "filter-random")
# Prefix of a command: gives it interfaces and a /run (which has the names of namespaces) of its own.
APART = ("unshare", "--net", "--mount", "sh", "-c", 'mount -t tmpfs tmpfs /run && ip link set lo up && exec "$@"', "sh")


class Running:
    """The commands that run now, in any thread. After an interruption these end and no other one begins."""

    def __init__(self) -> None:
        self.processes: set[subprocess.Popen] = set()
        self.is_interrupted = False

    def interrupt(self, *_: object) -> None:
        self.is_interrupted = True
        for process in list(self.processes):
            if process.poll() is None:
                os.killpg(process.pid, gentle(process))
        raise KeyboardInterrupt


RUNNING = Running()


def gentle(process: subprocess.Popen) -> int:
    """
    The signal that ends a command: meson SIGTERM, because SIGINT stops only its longest test; others SIGINT, on which
    pytest removes the lab's namespaces.
    """
    return signal.SIGTERM if "meson" in process.args else signal.SIGINT


def stop(process: subprocess.Popen) -> None:
    """Stops a command that is still running. What remains is killed."""
    for sent, seconds in ((gentle(process), 60), (signal.SIGKILL, None)):
        if process.poll() is None:
            os.killpg(process.pid, sent)
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(seconds)


class Part:
    """One part's run: its log, its deadline, its counts. One that runs beside others is shown once it has ended."""

    def __init__(self, name: str, minutes: int, is_beside: bool = False):
        self.name, self.minutes, self.counts = name, minutes, Counts()
        self.deadline = time.monotonic() + 60 * minutes
        self.path = LOGS / f"{name}.log"
        self.log = self.path.open("w")
        self.prefix = IDLE if is_beside else ()

    def show(self, line: str) -> None:
        if not self.prefix:
            print(line, flush=True)
        print(line, file=self.log, flush=True)

    def end(self) -> None:
        self.log.close()
        if self.prefix:
            print(f"\n== {self.name}, which ran beside others ==\n{self.path.read_text(errors='replace')}", flush=True)

    def run(self, *command: str | Path, **environment: str) -> int:
        """Runs a command, shows and logs its output. Returns its exit code; 1 and a failed case if it cannot run."""
        return self.capture(*command, **environment)[0]

    def capture(self, *command: str | Path, **environment: str) -> tuple[int, str]:
        """Like run, and returns the command's own output, without that of commands that run in parallel."""
        words = [str(word) for word in command]
        self.show(f"$ {' '.join(words)}")
        if RUNNING.is_interrupted:
            return 1, ""
        try:
            process = subprocess.Popen(
                [*self.prefix, *words],
                cwd=ROOT,
                env=os.environ | environment,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                errors="replace",
                start_new_session=True,
            )
        except OSError as error:
            self.counts.fail(f"{words[0]} cannot be run: {error.strerror}")
            return 1, ""
        RUNNING.processes.add(process)
        # A daemon that outlives the command may keep its output open, so the end of the output is not awaited.
        output = []

        def read() -> None:
            for line in process.stdout:
                output.append(line)
                self.show(line.rstrip("\n"))

        reader = threading.Thread(target=read, daemon=True)
        reader.start()
        try:
            process.wait(max(self.deadline - time.monotonic(), 0))
        except subprocess.TimeoutExpired:
            self.counts.fail(f"stopped after {self.minutes} minutes: {' '.join(words)}")
        finally:
            stop(process)
            RUNNING.processes.discard(process)
        reader.join(10)
        return process.returncode, "".join(output)

    def settle(self, counts: Counts, code: int, what: str) -> None:
        """Adds the cases; a non-zero exit code without a failed case counts as one."""
        self.counts.add(counts)
        if code and not counts.failed:
            self.counts.fail(f"{what} ended with {code}, though no case failed: see build/logs/{self.name}.log")


def meson_setup(part: Part, folder: Path, *options: str, **environment: str) -> bool:
    if (folder / "build.ninja").exists():
        return True
    code = part.run("meson", "setup", folder, *options, **environment)
    if code:
        part.counts.fail(f"{folder.relative_to(ROOT)} cannot be configured")
    return code == 0


def run_meson(part: Part, folder: Path = SANITIZED, *options: str) -> None:
    if not meson_setup(part, folder, "-Db_sanitize=address,undefined", "-Db_lundef=false", *options):
        return
    for stale in (folder / "meson-logs").glob(f"{part.name}.*"):
        stale.unlink()
    test = ["meson", "test", "-C", folder, "--suite", part.name, "--logbase", part.name, "--print-errorlogs"]
    test += ["--num-processes", "4", "--timeout-multiplier", "20" if part.prefix else "4"]  # the longest mostly wait
    code = part.run(*test, *([] if long_too() else ["--no-suite", "long"]))
    if not (folder / "meson-logs" / f"{part.name}.json").exists():
        part.counts.fail("does not compile" if code else f"meson has no test of the suite '{part.name}'")
        return
    part.settle(meson_results(folder, part.name), code, "meson test")


def run_p4(part: Part) -> None:
    """The suite; with --long again, and with the pipeline as C, too."""
    run_meson(part)
    if long_too() and part.run(ROOT / "scripts/install-deps", "--p4-compiled"):
        part.counts.fail("the header for -Dp4_compiled=true cannot be fetched")
    elif long_too():
        run_meson(part, COMPILED, "-Dp4_compiled=true")


def run_mux(part: Part) -> None:
    """
    The suite; then everything is built as for a release, of which the optimiser has warnings that sanitizers hide;
    then the multi-threaded tests again under ThreadSanitizer, which excludes the other sanitizers. ZooKeeper comes with
    the controller, which is built first: the tests have networks of their own, without Maven Central.
    """
    if not build_controller(part):
        return
    run_meson(part)
    if meson_setup(part, RELEASE, "--buildtype=release"):
        if part.run("meson", "compile", "-C", RELEASE):
            part.counts.fail("does not compile with --buildtype=release")
        else:
            part.counts.passed += 1
    if not meson_setup(part, THREADS, "-Db_sanitize=thread", "-Db_lundef=false"):
        return
    nouns = ("arrays", "change", "fragments", "maat_filter", "meeting", "sampler", "state")
    if part.run("meson", "compile", "-C", THREADS, *(f"test_mux_{noun}" for noun in nouns)):
        part.counts.fail("the multi-threaded tests do not compile under ThreadSanitizer")
        return
    for stale in (THREADS / "meson-logs").glob("threads.*"):
        stale.unlink()
    command = ["meson", "test", "-C", THREADS, "--no-rebuild", "--logbase", "threads", "--print-errorlogs"]
    if int(Path("/proc/sys/vm/mmap_rnd_bits").read_text()) > 28:  # then mappings collide with its shadow memory
        command = ["setarch", "--addr-no-randomize", *command]
    code = part.run(*command, "--timeout-multiplier", "4", "--num-processes", "2", *(f"mux {noun}" for noun in nouns))
    part.settle(meson_results(THREADS, "threads"), code, "meson test under ThreadSanitizer")


def run_emulated(part: Part, folder: Path, name: str, *options: str) -> None:
    """What the mux does with packets, in process, on QEMU's processor of this name."""
    results = f"{name}-qemu-x86_64" if options else name  # meson adds the wrapper's name
    for stale in (folder / "meson-logs").glob(f"{results}.*"):
        stale.unlink()
    test = ["meson", "test", "-C", folder, "--suite", "emulated", "--logbase", name, "--print-errorlogs"]
    code = part.run(*test, "--timeout-multiplier", "10", *options)
    if not (folder / "meson-logs" / f"{results}.json").exists():
        part.counts.fail(f"the tests for {name} do not compile")
        return
    part.settle(meson_results(folder, results), code, f"meson test on {name}")


def run_arm64(part: Part) -> None:
    """The suite `emulated`, cross-compiled for arm64; then as a release for this machine, on older processors."""
    if part.run("scripts/install-deps", "--arm64"):
        part.counts.fail("what cross-compiling for arm64 needs cannot be installed")
        return
    crosses = ("--cross-file", str(ARM64 / "sysroot.ini"), "--cross-file", "scripts/arm64.ini")
    if meson_setup(part, ARM64 / "test", *crosses):
        run_emulated(part, ARM64 / "test", "arm64")
    if meson_setup(part, RELEASE, "--buildtype=release"):
        for name in PROCESSORS:
            run_emulated(part, RELEASE, name, "--wrapper", f"qemu-x86_64 -cpu {name}")


def run_lint(part: Part) -> None:
    run_lines(part, "scripts/lint")


def run_lines(part: Part, command: str) -> None:
    """Runs a command that prints a line for each case, `ok - NAME` or `not ok - NAME`."""
    code, said = part.capture(command)
    part.settle(lines(said), code, command)


def run_controller(part: Part) -> None:
    reports = ROOT / "controller" / "target"
    stale = [*reports.glob("surefire-reports/TEST-*.xml"), *reports.glob("failsafe-reports/TEST-*.xml")]
    for path in stale:
        path.unlink()
    code = part.run("mvn", "-q", "-B", "-pl", "controller", "verify")
    found = [*reports.glob("surefire-reports/TEST-*.xml"), *reports.glob("failsafe-reports/TEST-*.xml")]
    part.settle(junit(sorted(found)), code, "mvn verify")


def build_controller(part: Part) -> bool:
    if part.run("mvn", "-q", "-B", "-pl", "controller", "package", "-DskipTests"):
        part.counts.fail("the controller cannot be built")
        return False
    return True


def run_api(part: Part) -> None:
    if not build_controller(part):
        return
    results = LOGS / "api.xml"
    results.unlink(missing_ok=True)
    code = part.run("controller/check-contract", f"--junit={results}")
    part.settle(junit([results]), code, "controller/check-contract")


def long_too() -> bool:
    """Whether what takes long is wanted."""
    return LONG in sys.argv


def pytest(results: Path, has_long: bool = False) -> tuple[str | Path, ...]:
    """The command that writes these results."""
    chosen = () if has_long or long_too() else ("-m", "not long")
    return (BUILD / "venv" / "bin" / "pytest", "-v", "-p", "no:cacheprovider", f"--junitxml={results}", *chosen)


def run_lab(part: Part) -> None:
    """
    Tests that share one lab, tests with labs of their own, the console's, and the benchmarks at their smallest size,
    with the pages made from --help. Three runs at a time, since all mostly wait, each with a network and a /run of its
    own.
    """
    if part.run("lab/build"):
        part.counts.fail("lab/build failed")
        return
    sys.path.insert(0, str(ROOT))
    from lab.machine_server import archive
    from lab.vm.kernel import choose, kernels

    for kernel in kernels():
        archive(choose(kernel))  # includes the kernel's package, which the runs cannot download
    tests = sorted((ROOT / "lab" / "tests").glob("test_*.py"))
    shared = [path for path in tests if path.stem.removeprefix("test_") not in OWN_LABS + OWN_LONG_LABS]
    nouns = OWN_LABS + (OWN_LONG_LABS if long_too() else [])
    own = {noun: [ROOT / "lab" / "tests" / f"test_{noun}.py"] for noun in nouns}
    small = [ROOT / "bench" / "tests", ROOT / "distribution" / "tests"]
    runs = {"shared": shared, "console": [CONSOLE], "bench": small, **own}  # the longest first
    for stale in LOGS.glob("lab*.xml"):
        stale.unlink()

    def run(name: str) -> tuple[Path, int]:
        results = LOGS / f"lab-{name}.xml"
        return results, part.run(*APART, *pytest(results), *runs[name])

    with ThreadPoolExecutor(3) as three:
        for results, code in three.map(run, runs):
            part.settle(junit([results]), code, "pytest")


def run_console(part: Part) -> None:
    """The web console in a real browser, on labs of its own: these tests are the lab's, too."""
    if part.run("lab/build"):
        part.counts.fail("lab/build failed")
        return
    results = LOGS / "console.xml"
    results.unlink(missing_ok=True)
    code = part.run(*APART, *pytest(results), CONSOLE)
    part.settle(junit([results]), code, "pytest")


def run_packages(part: Part) -> None:
    """The packages in virtual machines with systemd, and images; what needs the Internet is made before the tests."""
    steps = (["scripts/install-deps", "--packages"], ["scripts/package"], ["scripts/images"], ["lab/build"])
    for step in steps:
        if part.run(*step):
            part.counts.fail(f"{step[0]} failed")
            return
    sys.path.insert(0, str(ROOT))
    from distribution.machines.rack import disks, module_disks

    disks()
    module_disks()
    results = LOGS / "packages.xml"
    results.unlink(missing_ok=True)
    code = part.run(*APART, *pytest(results, has_long=True), "distribution/machines")
    part.settle(junit([results]), code, "pytest")


def run_jepsen(part: Part) -> None:
    """
    Runs on labs, in which each verdict is a case: three of the unmodified system, and one for each switch, which must
    turn exactly the expected verdicts red. Two at a time, because they mostly wait; with three, faults came so late on
    a busy machine that a switch broke nothing. Beside the first: the tests of the executables that inject faults, on a
    lab of their own, and those of both runners' checkers.
    """
    if part.run("lab/build") or part.run("lab/build", "--sabotaged"):
        part.counts.fail("lab/build failed")
        return
    harness = BUILD / "jepsen" / "harness"
    if part.run("go", "-C", "jepsen/harness", "build", "-o", harness, "."):
        part.counts.fail("the harness does not compile")
        return
    results = LOGS / "jepsen.xml"
    results.unlink(missing_ok=True)
    schedules = JEPSEN_SCHEDULES + (JEPSEN_LONG_SCHEDULES if long_too() else ())
    switches = JEPSEN_SWITCHES + (JEPSEN_LONG_SWITCHES if long_too() else ())
    with ThreadPoolExecutor(2) as two:

        def conduct(words: tuple[str, str]) -> Future[tuple[int, str]]:
            report = BUILD / "jepsen" / f"{time.strftime('%Y%m%d-%H%M%S')}-{words[1]}"
            return two.submit(part.capture, *APART, harness, "run", "--seed", "1", "--out", report, *words)

        faults = two.submit(part.run, *APART, *pytest(results), "jepsen/tests")
        runs = {("--schedule", name): conduct(("--schedule", name)) for name in schedules}
        go = two.submit(part.capture, "nice", "go", "-C", "jepsen/harness", "test", "-count=1", "-v", "./...")
        rules = two.submit(part.capture, "nice", "jepsen/test-rules")
        runs |= {("--switch", name): conduct(("--switch", name)) for name in switches}
    part.settle(junit([results]), faults.result(), "pytest")
    for words, run in runs.items():
        judge(part, " ".join(words), *run.result())
    code, said = go.result()
    counts = Counts(passed=len(re.findall(r"^ *--- PASS: ", said, re.MULTILINE)))
    for name in re.findall(r"^ *--- FAIL: (\S+)", said, re.MULTILINE):
        counts.fail(name)
    part.settle(counts, code, "go test")
    code, said = rules.result()
    part.settle(lines(said), code, "jepsen/test-rules")


def judge(part: Part, words: str, code: int, said: str) -> None:
    """What a run of the harness with these words said; each verdict is a case."""
    counts = Counts()
    for name, line in re.findall(r"^(:[a-z]+) +(.*)$", said, re.MULTILINE):
        if "<< must be " in line:
            counts.fail(f"{words}: {name} {' '.join(line.split())}")
        else:
            counts.passed += 1
    why = re.findall(r"^(?:the run itself failed|harness \w+): .*$", said, re.MULTILINE)
    part.settle(counts, code, " ".join(["jepsen/run", words, *(f"({one})" for one in why)]))
    if not counts.passed + counts.failed:
        part.counts.fail(f"jepsen/run {words} reported no verdict")


def run_module(part: Part) -> None:
    """
    The module's own tests, divided among the kernels (with --long: all on each); then the tests of part server that
    both forms pass, divided too. One machine of each kernel runs in parallel.
    """
    sys.path.insert(0, str(ROOT))
    from lab.vm.kernel import kernels

    own, build = LOGS / "module.xml", BUILD / "vm" / "user"
    for stale in LOGS.glob("module*.xml"):
        stale.unlink()
    code = part.run("kernel-module/tests/run", f"--junit={own}", *([] if long_too() else ["--divided"]))
    part.settle(junit([own]), code, "kernel-module/tests/run")
    if part.run(
        "meson", "compile", "-C", build, *(f"server/tests/{name}:executable" for name in ("application", "tell"))
    ):
        part.counts.fail("the test programs do not compile")
        return

    def run(kernel: str) -> tuple[Path, int]:
        results = LOGS / f"module-{kernel}.xml"
        words = ("-v", "-p", "no:cacheprovider", "--timeout=900", f"--junitxml={results}")
        words += ("--form=module", f"--kernel={kernel}", f"--build={build}")
        tests = [ROOT / "server" / "tests" / "net" / f"test_{noun}.py" for noun in nouns[kernel]]
        where = {"PYTHONPATH": str(ROOT), "PYTHONDONTWRITEBYTECODE": "1"}
        return results, part.run(BUILD / "venv" / "bin" / "pytest", *words, *tests, **where)

    nouns = {kernel: ["show"] for kernel in kernels()}
    next(iter(nouns.values())).extend(("cases", "srv6", "load"))
    next(reversed(nouns.values())).extend(("wire", "notice"))
    with ThreadPoolExecutor(len(nouns)) as machines:
        for results, code in machines.map(run, nouns):
            part.settle(junit([results]), code, "pytest")


def run_fuzz(part: Part) -> None:
    """Every fuzzer for FUZZ_SECONDS from its committed corpus, two at a time; new inputs stay in build."""
    text = os.environ.get("FUZZ_SECONDS", "20" if long_too() else "10")
    if not re.fullmatch(r"[1-9]\d{0,4}", text):
        part.counts.fail(f"FUZZ_SECONDS is '{text}'; allowed: 1..99999")
        return
    if not meson_setup(part, FUZZ, "-Dfuzz=true", CC="clang"):
        return
    if part.run("meson", "compile", "-C", FUZZ, "fuzz"):
        part.counts.fail("the fuzzers do not compile")
        return
    listed = subprocess.run(["meson", "introspect", "--targets", FUZZ], capture_output=True, text=True, check=True)
    targets = [t for t in json.loads(listed.stdout) if t["type"] == "executable" and t["name"].startswith("fuzz_")]
    with ThreadPoolExecutor(2) as two:
        for name, code, output in two.map(
            lambda target: fuzz(part, target, int(text)), sorted(targets, key=lambda t: t["name"])
        ):
            last = [line for line in output.splitlines() if "Done " in line or "ERROR" in line or "SUMMARY" in line]
            (LOGS / f"{name}.log").write_text(output)
            ran = re.search(r"Done (\d+) runs", output)
            part.show(f"{name}: {'; '.join(last) or output.strip()[-300:]}")
            if code == 0 and ran and int(ran[1]) > 0:
                part.counts.passed += 1
            else:
                part.counts.fail(f"{name} ended with {code}: see build/logs/{name}.log")


def fuzz(part: Part, target: dict, seconds: int) -> tuple[str, int, str]:
    name = target["name"]
    committed = Path(target["defined_in"]).parent / "corpus" / name.removeprefix("fuzz_")
    if not committed.is_dir() or not any(committed.iterdir()):
        return name, 1, f"ERROR: no committed corpus in {committed.relative_to(ROOT)}"
    found = BUILD / "fuzz-corpus" / name
    found.mkdir(parents=True, exist_ok=True)
    command = [*part.prefix, target["filename"][0], f"-max_total_time={seconds}", "-timeout=10", "-rss_limit_mb=1024"]
    command += ["-verbosity=1", f"-artifact_prefix={LOGS}/{name}-", str(found), str(committed)]
    done = subprocess.run(command, capture_output=True, text=True, errors="replace", check=False, timeout=seconds + 120)
    return name, done.returncode, done.stdout + done.stderr


# In this order: what fails soonest comes first. Minutes: a part that takes longer is stopped and fails. They are twice
# what a part takes on a quiet machine (CONTRIBUTING.md), so that a slower one ends it; all of it must end in 85. Those
# that run beside others have the time of these.
PARTS: dict[str, tuple[Callable[[Part], None], int]] = {
    "lint": (run_lint, 15),
    "protocol": (run_meson, 45),
    "mux": (run_mux, 40),
    "p4": (run_p4, 45),
    "server": (run_meson, 30),
    "module": (run_module, 45),
    "controller": (run_controller, 60),
    "api": (run_api, 20),
    "fuzz": (run_fuzz, 45),
    "jepsen": (run_jepsen, 45),
    "lab": (run_lab, 70),
    "console": (run_console, 30),
    "packages": (run_packages, 180),
    "arm64": (run_arm64, 45),
}
# They run if they are named; all but the first also with --long.
NAMED_PARTS = ("console", "packages", "arm64")


def busy() -> float:
    """Seconds that all processors together have worked since the machine's start."""
    user, nice, system, _, _, irq, softirq = map(int, Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:8])
    return (user + nice + system + irq + softirq) / os.sysconf("SC_CLK_TCK")


def run_part(name: str, is_beside: bool = False) -> tuple[Counts, float, float]:
    """The part's results, its seconds, and how many processors worked meanwhile, for it or for others."""
    run, minutes = PARTS[name]
    print(f"\n== {name} {'begins beside others ' if is_beside else ''}==", flush=True)
    begin, before = time.monotonic(), busy()
    part = Part(name, minutes, is_beside)
    try:
        run(part)
    except Exception as error:  # the other parts still run, and the summary is still printed
        part.counts.fail(f"{type(error).__name__}: {error}")
    if part.counts.passed + part.counts.failed == 0:
        part.counts.fail("no test ran")
    for line in named(name, part.counts):
        part.show(line)
    part.end()
    seconds = time.monotonic() - begin
    return part.counts, seconds, (busy() - before) / seconds


def run_parts(names: list[str]) -> dict[str, tuple[Counts, float, float]]:
    """Results by part, in the order of the parts."""
    order = list(PARTS)
    late = [name for name in names if order.index(name) >= order.index(FROM) and name not in BESIDE]
    beside = [name for name in BESIDE if name in names and late]
    results = {}
    with ThreadPoolExecutor(1) as lane:
        others = {}
        for name in names:
            if name in late and not others:
                others = {other: lane.submit(run_part, other, True) for other in beside}
            if name not in beside:
                results[name] = run_part(name)
        results |= {name: other.result() for name, other in others.items()}
    return {name: results[name] for name in names}


def main(names: list[str]) -> int:
    unknown = [name for name in names if name not in PARTS]
    if unknown:
        print(f"scripts/test: unknown part '{unknown[0]}'; allowed: {', '.join(PARTS)}", file=sys.stderr)
        print("0 passed, 1 failed, 0 skipped")
        return 2
    if names and os.environ.get("CI"):
        names = [*names, "fuzz"]
    for sent in (signal.SIGINT, signal.SIGTERM):
        signal.signal(sent, RUNNING.interrupt)
    LOGS.mkdir(parents=True, exist_ok=True)
    if not names:
        names = [name for name in PARTS if name not in NAMED_PARTS or (name != "console" and long_too())]
    results = run_parts([name for name in PARTS if name in names])
    total, table, cases = Counts(), [], []
    for name, (counts, seconds, processors) in results.items():
        done = f"{counts.passed:>8}{counts.failed:>8}{counts.skipped:>9}"
        table.append(f"{name:<12}{done}{seconds:>9.0f}{processors:>12.1f}")
        cases += named(name, counts)
        total.add(counts)
    print(f"\n{'part':<12}{'passed':>8}{'failed':>8}{'skipped':>9}{'seconds':>9}{'processors':>12}")
    print("\n".join(table + cases))
    print(f"{total.passed} passed, {total.failed} failed, {total.skipped} skipped")
    return 0 if total.passed and not total.failed else 1


if __name__ == "__main__":
    try:
        sys.exit(main([word for word in sys.argv[1:] if word != LONG]))
    except KeyboardInterrupt:
        print("scripts/test: interrupted\n0 passed, 1 failed, 0 skipped")
        sys.exit(130)
