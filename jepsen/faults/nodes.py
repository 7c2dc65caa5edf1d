# SPDX-License-Identifier: Apache-2.0
"""jepsen/bin/nodes: brings the cluster up and down, lists its nodes, runs commands on them."""

import argparse
import json
from pathlib import Path

from jepsen.faults import lab_cluster, switches
from jepsen.faults.command import cluster, described, verbs
from jepsen.faults.fault_ctl import heal_all
from jepsen.faults.ssh_cluster import SshCluster
from lab.deadline import LabError
from lab.instance import Instance


def up(options: argparse.Namespace) -> None:
    about = described(options)
    if about["over"] == "lab":
        print(lab_cluster.up(about, options.switch))
        return
    if options.switch:
        raise LabError(f"switch '{options.switch}' is refused; allowed over :ssh: none, as nothing is installed there")
    ssh = SshCluster(about, getattr(options, "instance", "ssh"))
    ssh.check()
    print(ssh.name)


def down(options: argparse.Namespace) -> None:
    if described(options)["over"] == "lab":
        Instance.choose(getattr(options, "instance", None)).undo()
    else:
        heal_all(cluster(options))


def list_nodes(options: argparse.Namespace) -> None:
    listed = cluster(options).listing()
    if options.output == "json":
        print(json.dumps(listed, indent=1))
        return
    for node in listed["nodes"]:
        programs = ", ".join(f"{name} {state}" for name, state in node["programs"].items())
        print(f"{node['node']:<14}{node['address']:<14}{', '.join(node['roles']):<48}{programs}")


def execute(options: argparse.Namespace) -> int:
    command = options.command[1:] if options.command[:1] == ["--"] else options.command
    if not command:
        raise LabError("exec names no command; allowed: nodes exec NODE -- COMMAND ...")
    found = cluster(options)
    return found.execute(found.node(options.node), command)


def logs(options: argparse.Namespace) -> None:
    found = cluster(options)
    try:
        options.directory.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise LabError(
            f"directory '{options.directory}' is refused: {error.strerror}; allowed: one, or none"
        ) from error
    found.save_logs(options.directory)


def parse(words: list[str] | None) -> argparse.Namespace:
    parser, verb = verbs("nodes", __doc__)

    making = verb("up", up, "bring the cluster up and leave it running; prints the instance's name")
    which = making.add_mutually_exclusive_group()
    which.add_argument("--switch", choices=switches.NAMES, help="break it on purpose")
    which.add_argument("--schedule", metavar="NAME", help="with the window and the hold that this schedule needs")
    verb("down", down, "undo it, faults included")
    listing = verb("list", list_nodes, "the nodes, their roles and programs")
    listing.add_argument("-o", "--output", choices=("table", "json"), default="table")
    running = verb("exec", execute, "run a command on a node")
    running.add_argument("node")
    running.add_argument("command", nargs=argparse.REMAINDER)
    verb("logs", logs, "copy every program's log").add_argument("directory", type=Path)
    return parser.parse_args(words)
