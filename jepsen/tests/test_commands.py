# SPDX-License-Identifier: Apache-2.0
"""What befalls programs, healing from nothing but the file, commands on nodes, and refusals."""

import json

import pytest

from jepsen.faults import edn
from jepsen.faults.lab_cluster import LabCluster
from jepsen.tests.conftest import BIN, Commands
from lab.deadline import LabError, until


def pids(cluster: LabCluster) -> dict[str, int]:
    return {f"{n.name}/{p}": cluster.process(n, p).pid for n, p in cluster.all_programs()}


def test_programs_are_paused_killed_stopped_and_started(commands: Commands, cluster: LabCluster) -> None:
    zookeeper = f"{commands.with_role('zookeeper-follower')}/zookeeper"
    for verb, state in (
        *(("pause", "paused"), ("pause", "paused"), ("resume", "running"), ("resume", "running")),
        *(("kill", "dead"), ("kill", "dead"), ("start", "running"), ("pause", "paused"), ("stop", "dead")),
        *(("start", "running"), ("pause", "paused"), ("start", "running")),
    ):
        for program in ("mux1", "server1/nginx", zookeeper):
            commands("node-ctl", verb, program)
        known = commands.nodes()
        assert known["mux1"]["programs"]["mux"] == known["server1"]["programs"]["nginx"] == state, verb
        assert known[zookeeper.partition("/")[0]]["programs"]["zookeeper"] == state, verb


def test_a_paused_leader_is_replaced(commands: Commands, cluster: LabCluster) -> None:
    leader = commands.with_role("leader")
    commands("node-ctl", "pause", leader)
    other = commands.with_role("leader")
    assert other != leader
    commands("node-ctl", "resume", leader)
    until("it follows", lambda: "follower" in commands.nodes()[leader]["roles"], 60, pause=0.2)


def test_each_kind_is_upgraded(commands: Commands, cluster: LabCluster) -> None:
    before = pids(cluster)
    for kind in ("mux", "controller", "zookeeper", "server"):
        commands("node-ctl", "upgrade", "--kind", kind)
    replaced = {name for name, pid in pids(cluster).items() if pid != before[name]}
    wanted = {name for name in before if name.endswith(("/mux", "/controller", "/zookeeper"))}
    assert replaced == wanted  # of a server the program in the kernel, under an application that goes on


def test_all_is_healed_from_the_file_alone(commands: Commands, cluster: LabCluster) -> None:
    """Whoever has begun it is gone: each command here is a process of its own."""
    for words in (
        ("partition", "halves", "mux1", "mux2"),
        ("partition", "from-zookeeper", "controller"),
        ("loss", "server1", "10"),
        ("slow", "mux2", "10"),
        ("clock", "server2", "5"),
        ("reshuffle", "router"),
    ):
        commands("fault-ctl", *words)
    for verb, program in (("kill", "mux1"), ("pause", "controller"), ("kill", "controller3/zookeeper")):
        commands("node-ctl", verb, program)
    assert len(json.loads(commands("fault-ctl", "list"))) == 6
    for _ in range(2):
        commands("fault-ctl", "heal")
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
    http = next(node["http"] for node in told["nodes"] if node["node"] == "mux1")
    assert json.loads(commands("nodes", "exec", "runner", "--", "curl", "-sf", f"{http}/rings"))["mux"] == "mux1"


def test_exec_passes_everything_on_and_sees_nobody_else(commands: Commands, cluster: LabCluster) -> None:
    done = commands.ask("nodes", "exec", "mux1", "--", "sh", "-c", "echo out; echo err >&2; exit 7")
    assert (done.returncode, done.stdout, done.stderr) == (7, "out\n", "err\n")
    before = pids(cluster)
    said = commands("nodes", "exec", "mux1", "--", "sh", "-c", "ps ax | grep -c fairlead-mu[x]; kill -9 -1; echo alive")
    assert said.split() == ["0", "alive"]
    assert {state for node in commands.nodes().values() for state in node["programs"].values()} == {"running"}
    assert pids(cluster) == before
    assert int(commands("nodes", "exec", "runner", "--", "pgrep", "-c", "fairlead-mux")) >= 2


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ("nodes exec mux9 -- true", "node 'mux9' is not in the cluster; allowed: router, controller,"),
        ("node-ctl kill mux1/nginx", "program 'mux1/nginx' is not known; allowed: mux1/zebra, mux1/bgpd, mux1/mux"),
        ("node-ctl kill router/mux", "allowed: router/zebra, router/bgpd"),
        ("node-ctl pause client1", "allowed: none, client1 has no programs"),
        ("node-ctl upgrade", "upgrade needs one of NODE[/PROGRAM] and --kind"),
        ("node-ctl kill", "kill needs one of NODE[/PROGRAM]"),
        ("fault-ctl partition thirds a b", "partition 'thirds' is not known; allowed: halves, one-way"),
        ("fault-ctl partition halves mux1 mux1,mux2", "halves 'mux1' is in both"),
        ("fault-ctl partition halves mux1 client1", "node 'client1' can't be partitioned; allowed: router,"),
        ("fault-ctl partition one-way mux1 mux1", "one-way 'mux1' is refused; allowed: other nodes than mux1"),
        ("fault-ctl partition from-zookeeper server1", "node 'server1' is no client of ZooKeeper"),
        ("fault-ctl loss mux1", "loss 'mux1' is refused; allowed: loss NODE PERCENT"),
        ("fault-ctl loss mux1 0", "percent '0' is refused; allowed: 0.01..100"),
        ("fault-ctl slow mux1 soon", "milliseconds 'soon' is refused; allowed: 1..10000"),
        ("fault-ctl slow client1 5", "node 'client1' can't be slowed"),
        ("fault-ctl clock mux1 5", "node 'mux1' has no clock that can be shifted; allowed: a server"),
        ("fault-ctl disk controller half", "disk 'half' is refused; allowed: full"),
        ("fault-ctl disk mux1 full", "'mux1' has no ZooKeeper; allowed: controller, controller2, controller3"),
        ("fault-ctl reshuffle mux1", "node 'mux1' has no ECMP; allowed: the router"),
        ("fault-ctl heal flood", "fault 'flood' is not known; allowed: halves, one-way"),
    ],
)
def test_refusals_change_nothing(commands: Commands, cluster: LabCluster, words: str, sentence: str) -> None:
    name, *rest = words.split()
    assert sentence in commands.refused(name, *rest)
    assert json.loads(commands("fault-ctl", "list")) == []


def test_the_scenarios_name_only_what_there_is() -> None:
    """Every step's fault, role and command is known, and every word of a command is filled in."""
    read = edn.load(BIN.parent / "scenarios.edn")
    faults = read["faults"]
    steps = read["schedules"]["short"]["steps"] + [s for each in read["switches"].values() for s in each["steps"]]
    for step in steps:
        fault = faults[step["fault"]]
        assert step.get("on", "none") in fault["on"], step
        for command in fault["start"] + fault["heal"]:
            assert (BIN / command[0]).exists()
    assert set(read["schedules"]["long"]["weights"]) == set(faults)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("nil", None),
        ('[1 -2 3.5 1e3 true false :a-b "c\\"d\\n"]', [1, -2, 3.5, 1000.0, True, False, "a-b", 'c"d\n']),
        ("{:a {1 #{:x :y}}, ; why\n :b ()}", {"a": {1: frozenset({"x", "y"})}, "b": []}),
    ],
)
def test_edn(text: str, value: object) -> None:
    assert edn.parse(text) == value


@pytest.mark.parametrize("text", ["", "{:a}", "[1", "]", "1 2", '"open', "#inst 1", "sym", "{:a 1", ":"])
def test_edn_refuses(text: str) -> None:
    with pytest.raises(LabError, match="EDN:1: "):
        edn.parse(text)
