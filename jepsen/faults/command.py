# SPDX-License-Identifier: Apache-2.0
"""What all commands of jepsen/bin share: --cluster and --instance, and the cluster that they select."""

import argparse
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from jepsen.faults import edn
from jepsen.faults.cluster import Cluster
from jepsen.faults.lab_cluster import LabCluster
from jepsen.faults.ssh_cluster import SshCluster
from lab import interrupt
from lab.deadline import LabError
from lab.instance import Instance

SCENARIOS = Path(__file__).resolve().parents[1] / "scenarios.edn"
OVER = ("lab", "ssh")
# Keys of :cluster that a schedule or a switch replaces.
OF_CLUSTER = ("window-seconds", "hold-seconds", "steering", "p4-muxes", "probes")


Action = Callable[[argparse.Namespace], Any]


def verbs(
    command: str, about: str | None
) -> tuple[argparse.ArgumentParser, Callable[[str, Action, str], argparse.ArgumentParser]]:
    """A command's parser, and a function that adds a verb to it: its name, its action and its help."""
    # Allowed before the verb and after it; a default of the verb would override an option before it.
    common = argparse.ArgumentParser(add_help=False, argument_default=argparse.SUPPRESS)
    common.add_argument("--cluster", type=Path, metavar="FILE", help="the scenarios' file (jepsen/scenarios.edn)")
    common.add_argument("--instance", metavar="NAME", help="which cluster, when several are up")
    parser = argparse.ArgumentParser(prog=command, description=about, parents=[common])
    added = parser.add_subparsers(dest="verb", required=True)

    def verb(name: str, action: Action, what: str) -> argparse.ArgumentParser:
        one = added.add_parser(name, help=what, description=what, parents=[common])
        one.set_defaults(action=action)
        return one

    return parser, verb


def described(options: argparse.Namespace) -> dict[str, Any]:
    """The map :cluster of the file; with --schedule or --switch, as that needs it."""
    path = getattr(options, "cluster", SCENARIOS)
    read = edn.load(path)
    if not isinstance(read, dict) or not isinstance(read.get("cluster"), dict):
        raise LabError(f"{path} has no map :cluster; jepsen/README.md describes it")
    cluster = read["cluster"]
    if cluster.get("over") not in OVER:
        raise LabError(f"{path}: :over '{cluster.get('over')}' is refused; allowed: :lab, :ssh")
    schedules = read.get("schedules", {})
    schedule = getattr(options, "schedule", None)
    if schedule is not None and schedule not in schedules:
        raise LabError(f"schedule '{schedule}' is refused; allowed: {', '.join(schedules) or f'none, {path} has none'}")
    about = schedules.get(schedule, {}) | read.get("switches", {}).get(getattr(options, "switch", None), {})
    found: dict[str, Any] = cluster | {key: about[key] for key in OF_CLUSTER if key in about}
    return found


def cluster(options: argparse.Namespace) -> Cluster:
    name = getattr(options, "instance", None)
    about = described(options)
    if about["over"] == "ssh":
        return SshCluster(about, name or "ssh")
    return LabCluster(Instance.choose(name))


def main(name: str, parse: Callable[[list[str] | None], argparse.Namespace], words: list[str] | None = None) -> int:
    """The exit code of a command, by default with this process's arguments."""
    interrupt.listen()
    options = parse(words)
    try:
        if os.geteuid() != 0:
            raise LabError("it works on other programs and network namespaces and must run as root (try sudo)")
        return options.action(options) or 0
    except LabError as error:
        print(f"{name}: {error}", file=sys.stderr)
        return 1
    except interrupt.Interrupted as interrupted:
        return interrupted.exit_code
