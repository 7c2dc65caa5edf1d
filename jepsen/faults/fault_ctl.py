# SPDX-License-Identifier: Apache-2.0
"""jepsen/bin/fault-ctl: faults of the network and of disks, and their healing."""

import argparse
import json

from jepsen.faults.cluster import Cluster
from jepsen.faults.command import cluster, verbs
from jepsen.faults.kinds import KINDS, PARTITIONS, OfZooKeeper
from jepsen.faults.record import Fault, Record
from lab.deadline import LabError


def begin(found: Cluster, fault: str, words: list[str]) -> None:
    """Heals the same fault of the same node first."""
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
    """Heals the active faults of the kind and of the node, the newest first; if one fails, the others are healed.

    A damaged member of ZooKeeper comes last: it gets its data back from the others, so these must be reachable, and
    must run when everything is healed.
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


def undo(found: Cluster, record: Record, faults: list[Fault]) -> list[str]:
    """Heals in this order; a sentence for each fault that could not be healed."""
    failed = []
    for each in faults:
        try:
            KINDS[each["fault"]].heal(found, found.node(each["node"]) if each["node"] else None)
        except LabError as error:
            failed.append(f"{each['fault']} {each['node'] or ''}".strip() + f" is not healed: {error}")
            continue
        record.remove(each["fault"], each["node"])
    return failed


def heal_all(found: Cluster) -> None:
    """Returns once no fault is left, every program runs and the cluster serves."""
    heal(found)
    found.revive()


def run_begin(options: argparse.Namespace) -> None:
    words = list(options.words)
    fault = options.verb
    if fault == "partition":
        fault = words.pop(0) if words else ""
        if fault not in PARTITIONS:
            raise LabError(f"unknown partition '{fault}'; allowed: {', '.join(PARTITIONS)}")
    begin(cluster(options), fault, words)


def run_heal(options: argparse.Namespace) -> None:
    found = cluster(options)
    if options.fault is None:
        heal_all(found)
        return
    if options.fault not in KINDS:
        raise LabError(f"unknown fault '{options.fault}'; allowed: {', '.join(KINDS)}")
    if options.node is not None:
        if options.fault == "halves":
            raise LabError(f"node '{options.node}' is refused; allowed: heal halves, which has no single node")
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
    healing = verb("heal", run_heal, "undo all faults and start dead programs; or undo one kind, or that of one node")
    healing.add_argument("fault", nargs="?")
    healing.add_argument("node", nargs="?")
    verb("list", run_list, "the active faults, as JSON")
    return parser.parse_args(words)
