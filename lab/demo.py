# SPDX-License-Identifier: Apache-2.0
"""The demo: traffic throughout, one event after the other, and a table that shows whether anything broke.

Exits 0 only if nothing broke, every event completed, and packets were chained (otherwise the events would have shown
nothing). An event that fails is reported and ends the demo.
"""

import argparse
import json
import os
import sys
import threading
import time
from dataclasses import replace
from pathlib import Path
from typing import Any, NotRequired, TypedDict

from lab import interrupt
from lab.__main__ import add_machine_arguments, instructions
from lab.bound import at_most
from lab.deadline import LabError
from lab.events import EVENTS
from lab.lab import Lab
from lab.timeline import Bound, Row, Timeline
from lab.tokens import OPERATOR
from lab.traffic import Traffic
from lab.variant import Variant

# By steering: seconds of the window, and how connections of the first second live to the demo's last: by a hold, or by
# arrays that know them.
WINDOWS = {"ring": 30, "othello": 60, "hunt": 30, "maat": 30}
VARIANTS = {
    "ring": Variant(agents=True, hold=3_600),
    "othello": Variant(agents=True, steering="othello"),
    "hunt": Variant(agents=True, hold=3_600, steering="hunt"),
    "maat": Variant(agents=True, hold=3_600, steering="maat"),
}
# After which muxes withdraw that lack a change. Drains, releases and arrays wait for as long, 10 s more, and a window,
# in which a SYN cookie may come back.
BEHIND_SECONDS = 10
P4_STEERINGS = ("ring", "hunt", "maat", "othello")  # that a mux of kind p4 has
SILENCES = (10.0, 40.0, 80.0, 600.0)  # seconds; the last ones are silent from their first answer to the demo's end
QUIET_SECONDS = 4  # of plain traffic before the first event
SERVERS = 4
MUXES = 2
IDLE = 60  # connections, besides, that are silent for long, also for several windows, and then asked again


class Watch:
    """Draws each second of traffic as it is reported, in a thread of its own. Use as a context manager."""

    def __init__(self, lab: Lab, traffic: Traffic, timeline: Timeline) -> None:
        self.lab, self.traffic, self.timeline = lab, traffic, timeline
        self.drawn = 0
        self._chained = lab.chained_packets()
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self) -> "Watch":
        self._thread.start()
        return self

    def __exit__(self, *_: Any) -> None:
        self._done.set()
        self._thread.join()

    def _run(self) -> None:
        while not self._done.wait(0.1):
            seconds = self.traffic.seconds()[self.drawn :]
            chained = self._newly_chained() if seconds else 0
            for second in seconds:  # more than one if querying the servers takes long: virtual machines on a busy host
                self.drawn += 1
                self.timeline.second(second, chained // len(seconds))

    def _newly_chained(self) -> int:
        chained = self.lab.chained_packets()
        newly, self._chained = chained - self._chained, chained
        return newly


class Summary(TypedDict):
    connections: int
    requests: int
    broken: int
    events: list[Row]
    chained_packets: int
    bounds: list[Bound]
    pipeline_packets: NotRequired[int]


def bound(name: str, connections: int, broken: int, stall_ms: float) -> Bound:
    chance = at_most(broken, connections)
    return {"name": name, "connections": connections, "broken": broken, "at_most": chance, "stall_ms": stall_ms}


def play(lab: Lab, timeline: Timeline, connections: int) -> Summary:
    """Runs all events under traffic and returns the summary."""
    # The processors of virtual machines are emulated.
    interval, short_rate = (1.0, 10) if lab.has_machines else (0.25, 80)
    rows: list[Row] = []
    bounds: list[Bound] = []
    began = time.monotonic()
    chained_at_first = lab.chained_packets()
    with lab.traffic(connections, interval, short_rate, idle=IDLE, silences=SILENCES) as traffic:
        traffic.wait_open()
        timeline.heading(
            f"{traffic.held()} long-lived connections, {IDLE} of them idle, and {short_rate} short ones a second"
        )
        timeline.columns()
        with Watch(lab, traffic, timeline):
            traffic.wait_seconds(QUIET_SECONDS)
            for event in EVENTS:
                timeline.heading(event.name)
                started, second, chained = time.monotonic(), len(traffic.seconds()), lab.chained_packets()
                broken, open_then = len(traffic.broken()), traffic.held()
                event.run(lab, traffic, timeline.note)
                seen = traffic.seconds()[second:]
                row: Row = {
                    "name": event.name,
                    "seconds": round(time.monotonic() - started, 1),
                    "requests": sum(s["requests"] for s in seen),
                    "chained": lab.chained_packets() - chained,
                    "slowest_ms": max((s["slowest_ms"] for s in seen), default=0.0),
                    "broken": len(traffic.broken()) - broken,
                }
                rows.append(row)
                met = open_then + sum(s["connections"] for s in seen)
                bounds.append(bound(row["name"], met, row["broken"], max((s["stall_ms"] for s in seen), default=0.0)))
                if event.moves and row["chained"] == 0:
                    raise LabError(f"'{event.name}' moved buckets of live connections, yet no packet was chained")
        total = traffic.stop()
    chained = lab.chained_packets() - chained_at_first
    whole: Row = {
        "name": "all of it",
        "seconds": time.monotonic() - began,
        "requests": total["requests"],
        "chained": chained,
        "slowest_ms": total["slowest_ms"],
        "broken": total["broken"],
    }
    timeline.table(rows, whole)
    bounds.append(bound(whole["name"], total["connections"], total["broken"], total["stall_ms"]))
    timeline.bounds(lab.variant.steering, bounds)
    for line in traffic.broken():
        timeline.note(
            f"broken: {line['kind']}, {line['local']} with {line['server']}, {line['age']} s old, "
            f"silent for {line['silent']} s"
        )
    return {
        "connections": total["connections"],
        "requests": total["requests"],
        "broken": total["broken"],
        "events": rows,
        "bounds": bounds,
        "chained_packets": chained,
    }


def verdict(summary: Summary) -> tuple[bool, str]:
    """Whether no connection broke, and the demo's last line."""
    if summary["broken"]:
        return False, f"{summary['broken']} of {summary['connections']:,} connections broke."
    return True, (
        f"Not one of {summary['connections']:,} connections broke: {summary['requests']:,} requests were "
        f"answered, {summary['chained_packets']:,} packets were chained."
    )


def check_pipelines(lab: Lab, timeline: Timeline) -> int:
    """Packets that the pipelines of P4 muxes have steered since these started: with none the demo shows nothing."""
    total = 0
    for number in lab.variant.p4_muxes:
        counts = lab.muxes[number].metrics()
        pipeline = int(counts["fairlead_mux_pipeline_packets_total"])
        steered = int(counts['fairlead_mux_packets_total{verdict="service"}'])
        if pipeline == 0:
            raise LabError(f"{lab.muxes[number].name} has steered no packet by its pipeline")
        timeline.note(f"{lab.muxes[number].name} has steered {pipeline:,} of {steered:,} packets by its pipeline")
        total += pipeline
    return total


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="scripts/demo",
        description="Builds Fairlead, brings up a small datacenter in network namespaces, and adds, kills and removes "
        "servers, muxes and controllers under traffic. Exits 0 only if no connection breaks.",
    )
    parser.add_argument("--summary", type=Path, metavar="FILE", help="write the summary there, as JSON")
    parser.add_argument("--keep", action="store_true", help="leave the lab running, and say how to play with it")
    parser.add_argument(
        "--connections", type=int, default=240, help="long-lived connections, at least 200 (%(default)s)"
    )
    parser.add_argument("--port", choices=("af_xdp", "af_packet"), default="af_xdp", help="the muxes' ports")
    parser.add_argument("--steering", choices=tuple(VARIANTS), default="ring", help="the service's (%(default)s)")
    parser.add_argument(
        "--p4-muxes",
        type=int,
        default=0,
        metavar="N",
        help=f"of the {MUXES} muxes, those that steer by P4; only with --steering {' or '.join(P4_STEERINGS)}",
    )
    add_machine_arguments(parser, f"of the {SERVERS} servers, those")
    options = parser.parse_args()
    if not 0 <= options.vm_servers <= SERVERS:
        parser.error(f"--vm-servers '{options.vm_servers}' is refused; allowed: 0..{SERVERS}")
    if not 0 <= options.p4_muxes <= MUXES:
        parser.error(f"--p4-muxes '{options.p4_muxes}' is refused; allowed: 0..{MUXES}")
    if options.p4_muxes and options.steering not in P4_STEERINGS:
        parser.error(f"--steering '{options.steering}' is refused with --p4-muxes; allowed: {', '.join(P4_STEERINGS)}")
    if options.connections < 200:
        parser.error(f"--connections '{options.connections}' is refused; allowed: 200 and more")
    if os.geteuid() != 0:
        raise LabError("the demo makes network namespaces and must run as root (try sudo)")
    interrupt.listen()

    timeline = Timeline()
    xdp, machines = SERVERS - options.vm_servers, options.vm_servers
    kinds = f"{SERVERS} servers" + (f" ({machines} of them virtual machines)" if machines else "")
    muxes = f"{MUXES} muxes" + (f" ({options.p4_muxes} of them by P4)" if options.p4_muxes else "")
    timeline.say(f"bringing up 2 clients, a router, {muxes}, {kinds}, ZooKeeper and the controller ...")
    began = time.monotonic()
    window = WINDOWS[options.steering]
    variant = replace(VARIANTS[options.steering], mux_options=("--behind-seconds", str(BEHIND_SECONDS)))
    if options.p4_muxes:
        variant = replace(variant, p4_muxes=tuple(range(1, MUXES + 1))[-options.p4_muxes :], tagged=False)
    with Lab(
        xdp,
        MUXES,
        port=options.port,
        window=window,
        vm_servers=machines,
        vm_kernel=options.vm_kernel,
        variant=variant,
    ) as lab:
        timeline.say(f"lab {lab.instance.name} is up after {time.monotonic() - began:.0f} s")
        timeline.say(f"watch it at {lab.open_console()} (token {OPERATOR})")
        summary = play(lab, timeline, options.connections)
        summary["pipeline_packets"] = check_pipelines(lab, timeline)
        if options.summary:
            options.summary.write_text(json.dumps(summary, indent=2) + "\n")
        good, sentence = verdict(summary)
        timeline.verdict(good, sentence)
        if options.keep:
            lab.detach()
            print(f"The lab stays up as {lab.instance.name}. To explore it:\n{instructions(lab.instance)}")
    return 0 if good else 1


if __name__ == "__main__":
    try:
        sys.exit(main())
    except LabError as error:
        sys.exit(f"demo: {error}")
    except interrupt.Interrupted as interrupted:
        sys.exit(interrupted.exit_code)
