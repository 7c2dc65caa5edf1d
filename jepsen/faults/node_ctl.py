# SPDX-License-Identifier: Apache-2.0
"""jepsen/bin/node-ctl: what befalls single programs of the cluster."""

import argparse

from jepsen.faults.cluster import KINDS, MAIN, Cluster, Node
from jepsen.faults.command import cluster, shared
from lab.deadline import LabError


def start(found: Cluster, node: Node, program: str) -> None:
    found.start(node, program)


def stop(found: Cluster, node: Node, program: str) -> None:
    found.stop(node, program)


def kill(found: Cluster, node: Node, program: str) -> None:
    found.kill(node, program)


def pause(found: Cluster, node: Node, program: str) -> None:
    found.pause(node, program)


def resume(found: Cluster, node: Node, program: str) -> None:
    found.resume(node, program)


def restart(found: Cluster, node: Node, program: str) -> None:
    found.stop(node, program)
    found.start(node, program)


def upgrade(found: Cluster, node: Node, program: str) -> None:
    found.upgrade(node, program)


VERBS = {
    "start": (start, "start or resume a program; nothing to do if it runs"),
    "stop": (stop, "end it in order (SIGTERM)"),
    "kill": (kill, "end it at once (SIGKILL)"),
    "pause": (pause, "stop it where it stands (SIGSTOP)"),
    "resume": (resume, "let it go on (SIGCONT)"),
    "restart": (restart, "stop and start"),
    "upgrade": (upgrade, "as a package's upgrade does; serving again when this returns"),
}


def run(options: argparse.Namespace) -> None:
    found = cluster(options)
    kind = getattr(options, "kind", None)
    if (kind is None) == (options.program is None):
        raise LabError(f"{options.verb} needs one of NODE[/PROGRAM]" + (" and --kind" * (options.verb == "upgrade")))
    if kind is None:
        pairs = [found.split(options.program)]
    else:
        pairs = [(node, MAIN.get(kind, kind)) for node in found.of_kind(kind)]
    for node, program in pairs:
        VERBS[options.verb][0](found, node, program)


def parse() -> argparse.Namespace:
    common = shared()
    parser = argparse.ArgumentParser(prog="node-ctl", description=__doc__, parents=[common])
    verbs = parser.add_subparsers(dest="verb", required=True)
    for name, (_, what) in VERBS.items():
        added = verbs.add_parser(name, help=what, description=what, parents=[common])
        added.set_defaults(action=run)
        added.add_argument("program", nargs="?", metavar="NODE[/PROGRAM]")
        if name == "upgrade":
            added.add_argument("--kind", choices=KINDS, help="each node of the kind, one after the other")
    return parser.parse_args()
