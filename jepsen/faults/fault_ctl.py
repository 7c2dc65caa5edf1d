# SPDX-License-Identifier: Apache-2.0
"""jepsen/bin/fault-ctl: faults of the network, of disks and of clocks, and the end of all of them."""

import argparse
import json
from typing import Any

from jepsen.faults.cluster import Cluster
from jepsen.faults.command import cluster, verbs
from jepsen.faults.kinds import KINDS, PARTITIONS, OfZooKeeper
from jepsen.faults.record import Record
from lab.deadline import LabError


def begin(found: Cluster, fault: str, words: list[str]) -> None:
    """The same fault of the same node is healed first."""
    kind = KINDS[fault]
    takes = kind.words if fault == "halves" else ("NODE", *kind.words)
    if len(words) != len(takes):
        raise LabError(f"{fault} '{' '.join(words)}' is refused; allowed: {fault} {' '.join(takes)}")
    node = None if fault == "halves" else found.node(words[0])
    said = words if node is None else words[1:]
    kind.check(found, node, said)
    heal(found, fault, node.name if node else None)
    Record(found.directory).add(fault, node.name if node else None, words)
    try:
        kind.start(found, node, said)
    except LabError:
        heal(found, fault, node.name if node else None)
        raise


def heal(found: Cluster, fault: str | None = None, node: str | None = None) -> None:
    """Those that stand of the kind and of the node, the newest first; what can't be healed keeps nobody else from it.

    A damaged member of ZooKeeper comes last: it gets what it has lost from the others, who must be reached, and, where
    all is healed, must run.
    """
    record = Record(found.directory)
    standing = [e for e in reversed(record.all()) if fault in (None, e["fault"]) and node in (None, e["node"])]
    damages = [each for each in standing if isinstance(KINDS[each["fault"]], OfZooKeeper)]
    failed = undo(found, record, [each for each in standing if each not in damages])
    if damages and fault is None:
        damaged = [each["node"] for each in damages]
        for member in found.of_kind("zookeeper"):
            if member.name not in damaged:
                found.start(member, "zookeeper")
    failed += undo(found, record, damages)
    if failed:
        raise LabError("; ".join(failed))


def undo(found: Cluster, record: Record, faults: list[dict[str, Any]]) -> list[str]:
    """In this order; the sentences of those that still stand."""
    failed = []
    for each in faults:
        try:
            KINDS[each["fault"]].heal(found, found.node(each["node"]) if each["node"] else None)
        except LabError as error:
            failed.append(f"{each['fault']} {each['node'] or ''}".strip() + f" still stands: {error}")
            continue
        record.remove(each["fault"], each["node"])
    return failed


def heal_all(found: Cluster) -> None:
    """Nothing stands in anybody's way any more, everything runs, and the cluster serves."""
    heal(found)
    found.revive()


def run_begin(options: argparse.Namespace) -> None:
    words = list(options.words)
    fault = options.verb
    if fault == "partition":
        fault = words.pop(0) if words else ""
        if fault not in PARTITIONS:
            raise LabError(f"partition '{fault}' is not known; allowed: {', '.join(PARTITIONS)}")
    begin(cluster(options), fault, words)


def run_heal(options: argparse.Namespace) -> None:
    found = cluster(options)
    if options.fault is None:
        heal_all(found)
        return
    if options.fault not in KINDS:
        raise LabError(f"fault '{options.fault}' is not known; allowed: {', '.join(KINDS)}")
    if options.node is not None:
        if options.fault == "halves":
            raise LabError(f"node '{options.node}' is refused; allowed: heal halves, which is of no single node")
        found.node(options.node)
    heal(found, options.fault, options.node)


def run_list(options: argparse.Namespace) -> None:
    print(json.dumps(Record(cluster(options).directory).all(), indent=1))


def parse(words: list[str] | None) -> argparse.Namespace:
    parser, verb = verbs("fault-ctl", __doc__)

    verb("partition", run_begin, f"cut: {', '.join(PARTITIONS)}").add_argument("words", nargs="*")
    for name, kind in KINDS.items():
        if name not in PARTITIONS:
            verb(name, run_begin, f"NODE {' '.join(kind.words)}".strip()).add_argument("words", nargs="*")
    healing = verb("heal", run_heal, "undo all faults and start what is dead, or one kind, or that of one node")
    healing.add_argument("fault", nargs="?")
    healing.add_argument("node", nargs="?")
    verb("list", run_list, "the faults that stand, as JSON")
    return parser.parse_args(words)
