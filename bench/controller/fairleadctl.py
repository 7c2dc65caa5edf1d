# SPDX-License-Identifier: Apache-2.0
"""How long short commands of fairleadctl take, with and without its archive of classes, and of another build in turns.

Each row is run with the archive, without it, with --other by that build's fairleadctl, and then again. Clock time needs
a quiet machine; processor time is of use on a busy one, too. Needs the controller's jar: mvn -q package -DskipTests.
"""

import argparse
import os
import pathlib
import resource
import statistics
import subprocess
import time

from bench.lib.command import JAR, RESULTS, ROOT, check, die, keep
from bench.lib.ensemble import ADMIN, Controller, processes, secret
from scripts.free_port import free_port

CTL = ROOT / "controller" / "bin" / "fairleadctl"
ARCHIVE = ROOT / "controller" / "target" / "fairleadctl.jsa"


def run(command, environment):
    """Seconds by the clock, and of the processor."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    begun = time.monotonic()
    done = subprocess.run(command, env=os.environ | environment, capture_output=True, text=True, check=False)
    took = time.monotonic() - begun
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode:
        die(f"{' '.join(map(str, command))} ended with {done.returncode}: {done.stderr.strip()}")
    return took, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def figures(times):
    clock, processor = zip(*times, strict=True)
    return {
        "clock": statistics.median(clock), "clockLeast": min(clock),
        "processor": statistics.median(processor), "processorLeast": min(processor),
    }  # fmt: skip


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=20, help="of each command in each way")
    parser.add_argument("--other", type=pathlib.Path, help="another build's fairleadctl")
    parser.add_argument("--json", type=pathlib.Path, default=RESULTS / "fairleadctl.json")
    args = parser.parse_args()
    if args.runs < 1:
        die(f"--runs '{args.runs}' is refused; allowed: 1 and more")
    check(JAR, ARCHIVE)
    ways = {"archive": (CTL, {}), "no archive": (CTL, {"JAVA_OPTS": "-XX:SharedArchiveFile=none"})}
    if args.other:
        ways["other"] = (args.other, {})
    rows = {}
    with processes() as started:
        zookeeper = ["--zookeeper-listen", f"127.0.0.1:{free_port()}"]
        controller = Controller(started, f"embedded:{started.folder}/data", "512m", zookeeper)
        controller.start()
        api = ["--api", f"http://127.0.0.1:{controller.port}", "--token-file", secret(started.folder / "token", ADMIN)]
        for words in (["--help"], ["service", "list", *api]):
            times = {way: [] for way in ways}
            for _ in range(args.runs):
                for way, (program, environment) in ways.items():
                    times[way].append(run([program, *words], environment))
            rows[" ".join(words[:2])] = {way: figures(each) for way, each in times.items()}
    print(f"{'':14}{'':12}{'clock':>8}{'least':>8}{'processor':>11}{'least':>8}   seconds")
    for row, of in rows.items():
        for way, each in of.items():
            print(f"{row:14}{way:12}{each['clock']:8.3f}{each['clockLeast']:8.3f}", end="")
            print(f"{each['processor']:11.3f}{each['processorLeast']:8.3f}")
    result = {"benchmark": "fairleadctl", "unit": "seconds", "cores": os.cpu_count(), "runs": args.runs, "rows": rows}
    keep(args.json, result)


if __name__ == "__main__":
    main()
