# SPDX-License-Identifier: Apache-2.0
"""Faults of programs, healing from faults.json alone, and commands on nodes."""

import json

import pytest

from jepsen.faults import command, edn, nodes
from jepsen.faults.cluster import KINDS
from jepsen.faults.lab_cluster import LabCluster
from jepsen.tests.conftest import BIN, Commands
from lab.deadline import until

PAUSE_AND_KILL = ("pause paused", "pause paused", "resume running", "resume running", "kill dead", "kill dead")


def pids(cluster: LabCluster) -> dict[str, int]:
    return {f"{n.name}/{p}": cluster.process(n, p).pid for n, p in cluster.all_programs()}


def test_programs_are_paused_killed_stopped_and_started(commands: Commands, cluster: LabCluster) -> None:
    """Each verb on a program in the right state, in the wanted state, and on one that is paused or dead."""
    zookeeper = f"{commands.with_role('zookeeper-follower')}/zookeeper"
    for program, verbs in (
        ("mux1", (*PAUSE_AND_KILL, "start running", "start running")),
        ("server1/agent", (*PAUSE_AND_KILL, "start running", "restart running")),
        ("server1/nginx", ("stop dead", "stop dead", "start running", "pause paused", "restart running")),
        (zookeeper, ("pause paused", "stop dead", "start running", "pause paused", "start running")),
    ):
        node, name = cluster.split(program)
        for verb, state in (each.split() for each in verbs):
            commands("node-ctl", verb, program)
            assert cluster.state(node, name) == state, (program, verb)
        assert commands.nodes()[node.name]["programs"][name] == "running"
    commands("node-ctl", "kill", "mux1")
    assert commands.nodes()["mux1"]["programs"]["mux"] == "dead"
    assert "mux1/mux is dead and cannot be paused" in commands.refused("node-ctl", "pause", "mux1")


def test_a_paused_leader_is_replaced(commands: Commands, cluster: LabCluster) -> None:
    leader = commands.with_role("leader")
    commands("node-ctl", "pause", leader)
    other = commands.with_role("leader")
    assert other != leader
    commands("node-ctl", "resume", leader)
    until("it follows", lambda: "follower" in commands.nodes()[leader]["roles"], 60, pause=0.2)


def test_each_kind_is_upgraded(commands: Commands, cluster: LabCluster) -> None:
    """One controller and one ZooKeeper: of the kinds only the lists are checked, since an upgrade takes long."""
    before = pids(cluster)
    for words in (("--kind", "mux"), ("--kind", "server"), ("controller2",), ("controller3/zookeeper",)):
        commands("node-ctl", "upgrade", *words)
    replaced = {name for name, pid in pids(cluster).items() if pid != before[name]}
    wanted = {"mux1/mux", "mux2/mux", "controller2/controller", "controller3/zookeeper"}
    wanted |= {"server1/agent", "server2/agent"}
    assert replaced == wanted  # of a server also the program in the kernel, under an application that keeps running
    of_kind = {kind: [node.name for node in cluster.of_kind(kind)] for kind in KINDS}
    assert of_kind["controller"] == ["controller", "controller2"] and of_kind["server"] == ["server1", "server2"]
    assert of_kind["zookeeper"] == ["controller", "controller2", "controller3"]


def test_all_is_healed_from_the_file_alone(commands: Commands, cluster: LabCluster) -> None:
    """The process that made the faults is gone: each command is a process of its own. A damaged member of ZooKeeper
    needs the others, but it is cut from them, and one of them is dead."""
    for words in (
        ("partition", "halves", "controller2,mux1", "controller,controller3,mux2"),
        ("partition", "from-zookeeper", "controller"),
        ("loss", "server1", "10"),
        ("slow", "mux2", "10"),
        ("reshuffle", "router"),
        ("corrupt", "controller2"),
    ):
        commands("fault-ctl", *words)
    for program in ("mux1", "controller3/zookeeper", "server1/agent"):
        commands("node-ctl", "kill", program)
    for program in ("controller", "server2/agent"):
        commands("node-ctl", "pause", program)
    assert len(json.loads(commands("fault-ctl", "list"))) == 6
    for _ in range(2):
        commands("fault-ctl", "heal")
        commands.with_role("leader")  # the ensemble had no quorum: there may be an election
        known = commands.nodes()
        assert {state for node in known.values() for state in node["programs"].values()} == {"running"}
        assert sum("leader" in node["roles"] for node in known.values()) == 1
        assert json.loads(commands("fault-ctl", "list")) == []
        for node in cluster.nodes.values():
            assert "fault" not in cluster.run(node, "nft", "list", "tables")


def test_what_the_list_tells(commands: Commands, cluster: LabCluster) -> None:
    told = json.loads(commands("nodes", "list", "-o", "json"))
    assert told["zookeeper"]["connect"] == "10.1.0.5:2181,10.1.0.6:2181,10.1.0.7:2181"
    with open(told["zookeeper"]["login"]) as login:
        assert login.readline().startswith("controllers:")
    roles = {node["node"]: node["roles"] for node in told["nodes"]}
    assert roles["controller3"][0] == "zookeeper" and roles["mux2"] == ["mux"] and roles["runner"] == ["runner"]
    assert roles["server1"] == ["server", "agent"]
    shows = {node["node"]: node["show"] for node in told["nodes"] if "show" in node}
    assert shows.keys() == {"server1", "server2"}
    shown = json.loads(commands("nodes", "exec", "server1", "--", *shows["server1"].split()))
    assert shown["counters"]["deliver_local_socket"] >= 0
    http = next(node["http"] for node in told["nodes"] if node["node"] == "mux1")
    assert json.loads(commands("nodes", "exec", "runner", "--", "curl", "-sf", f"{http}/rings"))["mux"] == "mux1"


def test_exec_passes_everything_on_and_sees_no_other_process(commands: Commands, cluster: LabCluster) -> None:
    done = commands.ask("nodes", "exec", "mux1", "--", "sh", "-c", "echo out; echo err >&2; exit 7")
    assert (done.returncode, done.stdout, done.stderr) == (7, "out\n", "err\n")
    before = pids(cluster)
    said = commands("nodes", "exec", "mux1", "--", "sh", "-c", "ps ax | grep -c fairlead-mu[x]; kill -9 -1; echo alive")
    assert said.split() == ["0", "alive"]
    assert {state for node in commands.nodes().values() for state in node["programs"].values()} == {"running"}
    assert pids(cluster) == before
    assert int(commands("nodes", "exec", "runner", "--", "pgrep", "-c", "fairlead-mux")) >= 2


@pytest.mark.parametrize(
    ("words", "window", "hold"),
    [
        ("up", 120, None),
        ("up --schedule brief", 120, None),
        ("up --schedule holds", 8, 600),
        ("up --switch hold-off", 8, 0),
        ("up --schedule arrays", 20, None),
        ("up --schedule agents", 20, None),
        ("up --schedule hunt", 8, 600),
    ],
)
def test_a_cluster_as_a_schedule_needs_it(words: str, window: int, hold: int | None) -> None:
    described = command.described(nodes.parse(words.split()))
    assert (described["window-seconds"], described.get("hold-seconds")) == (window, hold)
    assert described["servers"] == 5


def test_the_scenarios_name_only_what_there_is() -> None:
    """Every step's fault, role and command is known, and every word of a command is filled in."""
    read = edn.load(BIN.parent / "scenarios.edn")
    faults = read["faults"]
    steps = [s for each in read["schedules"].values() for s in each.get("steps", ())]
    for step in steps + [s for each in read["switches"].values() for s in each["steps"]]:
        fault = faults[step["fault"]]
        role = str(step.get("on", "none")).rstrip("0123456789")  # of a node that a step names
        assert role in fault["on"], step
        for program, *_ in fault["start"] + fault["heal"]:
            assert (BIN / program).exists()
    drawn = set(faults) - {"lie"}  # controllers ask for no connections of a service with steering ring
    weights = [set(each["weights"]) for each in read["schedules"].values() if "weights" in each]
    assert set().union(*weights) == drawn
