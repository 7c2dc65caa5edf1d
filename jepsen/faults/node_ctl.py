# SPDX-License-Identifier: Apache-2.0
"""jepsen/bin/node-ctl: faults of single programs of the cluster."""

import argparse

from jepsen.faults.cluster import KINDS, MAIN
from jepsen.faults.command import cluster, verbs
from lab.deadline import LabError

# The methods of Cluster by verb.
VERBS = {
    "start": "start or resume a program, unless it runs",
    "stop": "stop it in order (SIGTERM)",
    "kill": "stop it at once (SIGKILL)",
    "pause": "suspend it (SIGSTOP)",
    "resume": "resume it (SIGCONT)",
    "restart": "stop and start",
    "reattach": "detach a server's server side and attach it again: it forgets the generations that it knew",
    "upgrade": "as a package's upgrade does; returns once it serves again",
}


def run(options: argparse.Namespace) -> None:
    found = cluster(options)
    kind = getattr(options, "kind", None)
    takes = f"{options.verb} NODE[/PROGRAM]" + f" or upgrade --kind {'|'.join(KINDS)}" * (options.verb == "upgrade")
    if kind is None and options.program is None:
        raise LabError(f"{options.verb} names no program; allowed: {takes}")
    if kind is not None and options.program is not None:
        raise LabError(f"upgrade '{options.program}' --kind '{kind}' names programs twice; allowed: {takes}")
    if kind is None:
        pairs = [found.split(options.program)]
    else:
        pairs = [(node, MAIN.get(kind, kind)) for node in found.of_kind(kind)]
    for node, program in pairs:
        getattr(found, options.verb)(node, program)


def parse(words: list[str] | None) -> argparse.Namespace:
    parser, verb = verbs("node-ctl", __doc__)
    for name, what in VERBS.items():
        added = verb(name, run, what)
        added.add_argument("program", nargs="?", metavar="NODE[/PROGRAM]")
        if name == "upgrade":
            added.add_argument("--kind", choices=KINDS, help="each node of the kind, one after the other")
    return parser.parse_args(words)
