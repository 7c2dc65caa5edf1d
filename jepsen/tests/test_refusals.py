# SPDX-License-Identifier: Apache-2.0
"""What the three commands refuse: each error names the field, the value and what is allowed, and changes nothing."""

import argparse
import contextlib
import signal
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from jepsen.faults import command, fault_ctl, node_ctl, nodes
from jepsen.faults.lab_cluster import LabCluster
from jepsen.faults.record import Record
from jepsen.tests.conftest import Commands
from lab.namespace import run

PARSERS: dict[str, Callable[[list[str] | None], argparse.Namespace]] = {
    "nodes": nodes.parse,
    "node-ctl": node_ctl.parse,
    "fault-ctl": fault_ctl.parse,
}
NODES = "allowed: router, controller, controller2, controller3, runner, client1, client2, server1, server2, mux1, mux2"


@contextlib.contextmanager
def signals_kept() -> Iterator[None]:
    """A command handles signals as long as its process lives."""
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def code_of(name: str, words: list[str]) -> int:
    """The exit code of the executable of that name; run in this process, since there are many."""
    with signals_kept():
        try:
            return command.main(name, PARSERS[name], words)
        except SystemExit as ended:
            return int(ended.code or 0)


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        # unknown nodes
        ("nodes exec mux9 -- true", f"node 'mux9' is not in the cluster; {NODES}"),
        ("node-ctl kill mux9", f"node 'mux9' is not in the cluster; {NODES}"),
        ("fault-ctl loss mux9 10", f"node 'mux9' is not in the cluster; {NODES}"),
        ("fault-ctl partition halves mux1 mux9", f"node 'mux9' is not in the cluster; {NODES}"),
        ("fault-ctl partition halves mux1, mux2", f"node '' is not in the cluster; {NODES}"),
        ("fault-ctl partition one-way mux1 mux9", f"node 'mux9' is not in the cluster; {NODES}"),
        ("fault-ctl heal loss mux9", f"node 'mux9' is not in the cluster; {NODES}"),
        ("fault-ctl heal halves mux1", "node 'mux1' is refused; allowed: heal halves, which has no single node"),
        # unknown programs
        ("node-ctl kill mux1/nginx", "unknown program 'mux1/nginx'; allowed: mux1/zebra, mux1/bgpd, mux1/mux"),
        ("node-ctl kill router/mux", "unknown program 'router/mux'; allowed: router/zebra, router/bgpd"),
        ("node-ctl kill router", "unknown program 'router'; allowed: router/zebra, router/bgpd"),
        ("node-ctl pause client1", "unknown program 'client1'; allowed: none, client1 has no programs"),
        *(
            (f"node-ctl {verb}", f"{verb} names no program; allowed: {verb} NODE[/PROGRAM]\n")
            for verb in ("start", "stop", "kill", "pause", "resume", "restart")
        ),
        (
            "node-ctl upgrade",
            "upgrade names no program; allowed: "
            "upgrade NODE[/PROGRAM] or upgrade --kind mux|controller|zookeeper|server\n",
        ),
        (
            "node-ctl upgrade mux1 --kind mux",
            "upgrade 'mux1' --kind 'mux' names programs twice; allowed: upgrade NODE[/PROGRAM] or upgrade --kind mux|",
        ),
        ("nodes exec mux1", "exec names no command; allowed: nodes exec NODE -- COMMAND ..."),
        ("nodes logs /dev/null/logs", "directory '/dev/null/logs' is refused: Not a directory; allowed: one, or none"),
        # unknown faults
        ("fault-ctl partition", "unknown partition ''; allowed: halves, one-way, from-zookeeper, from-router"),
        ("fault-ctl partition thirds a b", "unknown partition 'thirds'; allowed: halves, one-way"),
        ("fault-ctl heal flood", "unknown fault 'flood'; allowed: halves, one-way"),
        # faults of the wrong nodes
        ("fault-ctl partition halves mux1 mux1,mux2", "halves 'mux1' is in both; allowed: lists without a common node"),
        ("fault-ctl partition halves mux1 client1", "node 'client1' can't be partitioned; allowed: router,"),
        ("fault-ctl partition one-way mux1 mux1", "one-way 'mux1' is refused; allowed: other nodes than mux1"),
        ("fault-ctl partition from-zookeeper server1", "node 'server1' is no client of ZooKeeper; allowed: a mux or a"),
        ("fault-ctl partition from-router client1", "node 'client1' can't be cut from the router; allowed: a mux"),
        ("fault-ctl loss router 5", "node 'router' can't lose packets; allowed: any other than router and runner"),
        ("fault-ctl lie mux1", "node 'mux1' has no agent; allowed: a server with one"),
        ("fault-ctl slow client1 5", "node 'client1' can't be slowed; allowed: a machine of the rack"),
        ("node-ctl reattach mux1", "node 'mux1' has no server side; allowed: a server"),
        ("fault-ctl disk mux1 full", "'mux1' has no ZooKeeper; allowed: controller, controller2, controller3"),
        ("fault-ctl corrupt server1", "'server1' has no ZooKeeper; allowed: controller, controller2, controller3"),
        ("fault-ctl reshuffle mux1", "node 'mux1' has no ECMP; allowed: the router"),
        # too few or too many words
        ("fault-ctl loss", "loss '' is refused; allowed: loss NODE PERCENT"),
        ("fault-ctl loss mux1", "loss 'mux1' is refused; allowed: loss NODE PERCENT"),
        ("fault-ctl loss mux1 5 6", "loss 'mux1 5 6' is refused; allowed: loss NODE PERCENT"),
        ("fault-ctl partition halves mux1", "halves 'mux1' is refused; allowed: halves A,B C,D"),
        ("fault-ctl partition one-way mux1", "one-way 'mux1' is refused; allowed: one-way NODE TO[,TO]"),
        # bad numbers
        ("fault-ctl loss mux1 0", "percent '0' is refused; allowed: 0.01..100"),
        ("fault-ctl loss mux1 100.5", "percent '100.5' is refused; allowed: 0.01..100"),
        ("fault-ctl loss mux1 nan", "percent 'nan' is refused; allowed: 0.01..100"),
        ("fault-ctl slow mux1 soon", "milliseconds 'soon' is refused; allowed: 1..10000"),
        ("fault-ctl slow mux1 inf", "milliseconds 'inf' is refused; allowed: 1..10000"),
        ("fault-ctl disk controller half", "disk 'half' is refused; allowed: full"),
    ],
)
def test_a_sentence(
    commands: Commands, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, words: str, sentence: str
) -> None:
    monkeypatch.setattr(LabCluster, "launch", lambda *_: pytest.fail("something was started"))
    monkeypatch.setattr(LabCluster, "signal", lambda *_: pytest.fail("something was signalled"))
    name, *rest = words.split()
    assert code_of(name, ["--cluster", str(commands.file), "--instance", commands.instance, *rest]) == 1
    said = capsys.readouterr()
    assert said.out == "" and said.err.startswith(f"{name}: ") and sentence in said.err
    assert Record(Path("/run/fairlead-lab") / commands.instance).all() == []


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ("node-ctl burn mux1", "argument verb: invalid choice: 'burn' (choose from 'start', 'stop', 'kill',"),
        ("node-ctl upgrade --kind router", "argument --kind: invalid choice: 'router' (choose from 'mux', "),
        ("fault-ctl flood mux1", "argument verb: invalid choice: 'flood' (choose from 'partition', 'loss', 'slow',"),
        ("nodes", "the following arguments are required: verb"),
        ("nodes list -o xml", "argument -o/--output: invalid choice: 'xml' (choose from 'table', 'json')"),
        ("nodes up --schedule holds --switch hold-off", "argument --switch: not allowed with argument --schedule"),
        ("nodes up --switch gravity", "argument --switch: invalid choice: 'gravity' (choose from 'chaining-off',"),
    ],
)
def test_wrong_usage(capsys: pytest.CaptureFixture[str], words: str, sentence: str) -> None:
    name, *rest = words.split()
    assert code_of(name, rest) == 2
    assert sentence in capsys.readouterr().err


GOOD = ":zookeepers 1 :controllers 1 :muxes 1 :servers 1 :window-seconds 120 :behind-seconds 5"


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (None, "cannot be read: No such file or directory"),
        ("{:a 1", "in place of a value"),
        ("[]", "has no map :cluster; jepsen/README.md describes it"),
        ("{:cluster {}}", ":over 'None' is refused; allowed: :lab, :ssh"),
        ("{:cluster {:over :telnet}}", ":over 'telnet' is refused; allowed: :lab, :ssh"),
        ("{:cluster {:over :lab}}", ":zookeepers 'None' is refused; allowed: a whole number"),
        (f'{{:cluster {{:over :lab {GOOD} :servers "3"}}}}', ":servers '3' is refused; allowed: a whole number"),
        (f'{{:cluster {{:over :lab {GOOD} :hold-seconds "3"}}}}', ":hold-seconds '3' is refused; allowed: a whole"),
        (f'{{:cluster {{:over :lab {GOOD} :steering "maglev"}}}}', ":steering 'maglev' is refused; allowed: ring, oth"),
        (
            f"{{:cluster {{:over :lab {GOOD} :p4-muxes 2}}}}",
            ":p4-muxes '2' is refused; allowed: 0..1, as there are :muxes",
        ),
        (f"{{:cluster {{:over :lab {GOOD} :p4-muxes true}}}}", ":p4-muxes 'True' is refused; allowed: 0..1"),
        (
            f'{{:cluster {{:over :lab {GOOD} :p4-muxes 1 :steering "hunt"}}}}',
            ":steering 'hunt' is refused with :p4-muxes; allowed: ring",
        ),
        (f"{{:cluster {{:over :lab {GOOD} :probes 3}}}}", ":probes '3' is refused; allowed: true, false"),
        (f"{{:cluster {{:over :lab {GOOD} :muxes 10}}}}", "muxes '10' is refused; allowed: 1..9"),
        (f"{{:cluster {{:over :lab {GOOD} :port 81}}}}", ":port '81' is refused; allowed over :lab: 80"),
        ("{:cluster {:over :ssh}}", ":hosts is missing; allowed over :ssh: a map"),
        ('{:cluster {:over :ssh :hosts {"gateway" "10.0.0.1"}}}', "host 'gateway' has no kind; allowed: a name that"),
        ('{:cluster {:over :ssh :hosts {"mux1" {}}}}', "host 'mux1' has no :address; allowed: its IP address"),
        ('{:cluster {:over :ssh :hosts {"mux1" 5}}}', "host 'mux1' is '5'; allowed: an IP address, or a map with"),
        ('{:cluster {:over :ssh :hosts {"mux1" "m1"}}}', "host 'mux1' has the :address 'm1'; allowed: its IP address"),
        (
            '{:cluster {:over :ssh :hosts {"mux1" "10.0.0.1"}}}',
            ":service is missing; allowed: the service",
        ),
    ],
)
def test_a_bad_file(capsys: pytest.CaptureFixture[str], tmp_path: Path, text: str | None, sentence: str) -> None:
    file = tmp_path / "cluster.edn"
    if text is not None:
        file.write_text(text)
    assert code_of("nodes", ["--cluster", str(file), "up"]) == 1
    assert sentence in capsys.readouterr().err


@pytest.mark.parametrize(
    ("schedules", "sentence"),
    [
        (":schedules {:brief {} :long {}}", "schedule 'endless' is refused; allowed: brief, long"),
        ("", "schedule 'endless' is refused; allowed: none, "),
    ],
)
def test_an_unknown_schedule(capsys: pytest.CaptureFixture[str], tmp_path: Path, schedules: str, sentence: str) -> None:
    file = tmp_path / "cluster.edn"
    file.write_text(f"{{:cluster {{:over :lab {GOOD}}} {schedules}}}")
    assert code_of("nodes", ["--cluster", str(file), "up", "--schedule", "endless"]) == 1
    assert sentence in capsys.readouterr().err


def test_the_executables_say_so(commands: Commands) -> None:
    """The same with the programs themselves."""
    assert "node 'mux9' is not in the cluster; allowed: router" in commands.refused("nodes", "exec", "mux9", "true")
    assert "restart names no program; allowed: restart NODE[/PROGRAM]" in commands.refused("node-ctl", "restart")
    assert "percent '-1' is refused; allowed: 0.01..100" in commands.refused("fault-ctl", "loss", "mux1", "-1")
    commands.instance, known = "none", commands.instance
    try:
        assert f"instance 'none' is not there; allowed: {known}" in commands.refused("nodes", "list")
    finally:
        commands.instance = known
    assert run(["ip", "netns", "list"])  # everything is unchanged
