# SPDX-License-Identifier: Apache-2.0
"""The same commands over SSH: real SSH servers on machines of the small cluster, called from its runner."""

import json
import os
import pwd
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from jepsen.faults.lab_cluster import LabCluster
from jepsen.tests.conftest import Commands
from jepsen.tests.test_faults import check_ways, datagrams, reaches
from lab import build, cluster_key, server, topology
from lab.deadline import until
from lab.instance import Instance
from lab.namespace import run

SSH_PORT = 2222
HOSTS = ("router", "controller", "mux1", "mux2", "server1")
SECONDS = 60
CLUSTER = """\
{{:cluster {{:over :ssh :service "web" :vip "10.99.0.1" :port 80 :zookeeper-login "{login}" :token "{token}"
  :ssh-options "-p {port} -i {key} -o StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null -o LogLevel=ERROR"
  :hosts {{"router" "{router}"
          "controller" {{:address "{controller}" :zookeeper-data "{data}"
                        :programs {{"controller" {{:pid-file "{folder}/controller.pid"}}
                                   "zookeeper"  {{:pid-file "{folder}/zookeeper.pid" :start "{zookeeper}"}}}}}}
          "mux1" {{:address "{mux1}" :interface "eth0" :programs {{"mux" {{:pid-file "{folder}/mux1.pid"}}}}}}
          "mux2" {{:address "{mux2}" :programs {{}}}}
          "server1" {{:address "{server1}" :interface "eth0" :attach "{attach}"
                     :programs {{"nginx" {{:pid-file "{nginx}/nginx.pid" :start "{start}"}}
                                "agent" {{:pid-file "{folder}/agent.pid" :start "{agent}"}}}}}}}}}}}}
"""
SHOW = (str(build.SERVER), "show", "--interface", "eth0", "-o", "json")


@pytest.fixture(scope="module")
def lab(commands: Commands) -> LabCluster:
    return LabCluster(Instance.load(commands.instance))


@pytest.fixture(scope="module")
def servers(lab: LabCluster, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """An SSH server on each host, which takes a directory with the key for root's home; returns that directory."""
    folder = tmp_path_factory.mktemp("ssh")
    run(["dropbearkey", "-t", "ed25519", "-f", f"{folder}/host"])
    run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", f"{folder}/key"])
    (folder / ".ssh").mkdir(mode=0o700)
    (folder / ".ssh" / "authorized_keys").write_text((folder / "key.pub").read_text())
    users = [pwd.struct_passwd((*each[:5], str(folder), "/bin/sh")) for each in [pwd.getpwuid(0)]]
    (folder / "passwd").write_text("".join(":".join(map(str, each)) + "\n" for each in users))
    running = []
    for name in HOSTS:
        at = f"{lab.node(name).address}:{SSH_PORT}"
        listen = f"exec dropbear -F -E -s -r {folder}/host -P {folder}/{name}.dropbear -p {at}"
        home = f"mount --bind {folder}/passwd /etc/passwd"
        argv = lab.namespace(lab.node(name)).enter(["unshare", "--mount", "sh", "-c", f"{home} && {listen}"])
        with open(folder / f"{name}.log", "w") as log:
            running.append(subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=log, stderr=log))
    yield folder
    for each in running:
        each.terminate()
        each.wait()


@pytest.fixture(scope="module")
def ssh(commands: Commands, lab: LabCluster, servers: Path) -> Iterator[Commands]:
    """Commands on the lab's cluster over SSH."""
    zookeeper = lab.process(lab.node("controller"), "zookeeper")
    nginx, agent = (lab.process(lab.node("server1"), program) for program in ("nginx", "agent"))
    pids = {
        "controller": ("controller", "controller"),
        "zookeeper": ("controller", "zookeeper"),
        "mux1": ("mux1", "mux"),
        "agent": ("server1", "agent"),
    }
    for file, (node, program) in pids.items():
        (servers / f"{file}.pid").write_text(str(lab.process(lab.node(node), program).pid))
    environment = " ".join(f"{key}='{value}'" for key, value in zookeeper.env.items())
    key = lab.directory / "server1" / cluster_key.SERVER_NAME
    attach = server.attachment(str(build.SERVER), server.XdpServer.form, lab.node("server1").address, key=key)
    by_ssh = Commands(servers / "ssh.edn")
    by_ssh.file.write_text(
        CLUSTER.format(
            login=lab.about()["zookeeper"]["login"],
            token=lab.about()["token"],
            port=SSH_PORT,
            key=servers / "key",
            folder=servers,
            data=lab.zookeeper_data(lab.node("controller")),
            zookeeper=f"echo $$ >{servers}/zookeeper.pid; exec env {environment} {' '.join(zookeeper.argv)}",
            agent=f"echo $$ >{servers}/agent.pid; exec {' '.join(agent.argv)}",
            nginx=lab.directory / "server1" / "nginx",
            start=" ".join(nginx.argv),
            attach=" ".join(attach),
            **{name: lab.node(name).address for name in HOSTS},
        )
    )
    by_ssh.instance = f"ssh-{os.getpid()}"
    by_ssh.where = lab.namespace(lab.node("runner")).enter([])
    for name in HOSTS:
        until(f"SSH to answer on {name}", lambda n=name: reaches(lab, "runner", lab.node(n).address, SSH_PORT), SECONDS)
    yield by_ssh
    for program in ("controller/zookeeper", "server1/nginx", "server1/agent"):
        by_ssh("node-ctl", "kill", program)
    commands("fault-ctl", "heal")


def test_hosts_are_checked_and_commands_passed_on(ssh: Commands, lab: LabCluster) -> None:
    assert ssh("nodes", "up").strip() == ssh.instance
    done = ssh.ask("nodes", "exec", "mux1", "--", "sh", "-c", "cat; echo err >&2; exit 7")
    assert (done.returncode, done.stderr) == (7, "err\n")
    assert lab.node("mux1").address in ssh("nodes", "exec", "mux1", "--", "ip", "-br", "address", "show", "eth0")
    known = ssh.nodes()
    assert {"controller", "zookeeper"} <= set(known["controller"]["roles"])
    assert known["server1"]["show"] == "fairlead-server show --interface eth0 -o json"
    assert known["mux1"]["http"] == f"http://{lab.node('mux1').address}:9108"


def test_programs(ssh: Commands, lab: LabCluster) -> None:
    pid_file = lab.directory / "server1" / "nginx" / "nginx.pid"

    def nginx() -> str:
        """The program's state in the kernel."""
        try:
            letter = Path(f"/proc/{pid_file.read_text().strip()}/stat").read_text().rpartition(")")[2].split()[0]
        except OSError:
            return "dead"
        return "dead" if letter in "ZX" else letter

    leads_to = {"pause": "T", "resume": "RSD", "kill": "dead", "start": "RSD", "restart": "RSD", "stop": "dead"}
    for verb in "pause resume kill start pause restart stop stop start".split():
        ssh("node-ctl", verb, "server1")
        assert nginx() in leads_to[verb], verb
    assert reaches(lab, "client1", topology.VIP, topology.VIP_PORT, 10)
    for verb, state in (("pause", "paused"), ("resume", "running"), ("kill", "dead"), ("start", "running")):
        ssh("node-ctl", verb, "server1/agent")
        assert ssh.nodes()["server1"]["programs"]["agent"] == state
    ssh("node-ctl", "upgrade", "server1/agent")  # which waits until a controller hears it
    assert ssh.nodes()["server1"]["roles"] == ["server", "agent"]
    ssh("node-ctl", "pause", "mux1")
    assert lab.state(lab.node("mux1"), "mux") == ssh.nodes()["mux1"]["programs"]["mux"] == "paused"
    ssh("node-ctl", "resume", "mux1")
    assert lab.state(lab.node("mux1"), "mux") == "running"


def test_partitions(ssh: Commands, lab: LabCluster) -> None:
    """The router is also these machines' bridge: it cuts only packets to itself and those that it forwards."""
    ssh("fault-ctl", "partition", "halves", "mux1", "mux2,router")
    cut = ["mux1 mux2", "mux2 mux1", "mux1 router", "router mux1"]
    check_ways(lab, ["mux1 server1", "server1 mux1", "mux2 router", "router mux2"], cut)
    ssh("fault-ctl", "partition", "from-router", "mux2")
    ssh("fault-ctl", "heal", "halves")
    check_ways(lab, ["mux1 mux2", "mux2 mux1", "mux1 router", "router mux1"], ["mux2 router", "router mux2"])
    ssh("fault-ctl", "partition", "one-way", "mux1", "server1")
    check_ways(lab, ["server1 mux1", "mux2 server1"], ["mux1 server1"])
    ssh("fault-ctl", "partition", "from-zookeeper", "controller")
    for at, answer in (("controller", False), ("runner", True)):
        assert reaches(lab, at, lab.node("controller").address, topology.ZOOKEEPER_PORT) == answer
    for fault in ("from-router", "one-way", "from-zookeeper"):
        ssh("fault-ctl", "heal", fault)
    check_ways(lab, ["mux1 server1", "mux2 router", "router mux2"])
    assert reaches(lab, "controller", lab.node("controller").address, topology.ZOOKEEPER_PORT)


def test_a_mux_is_cut_from_its_clients_at_the_router(ssh: Commands, lab: LabCluster) -> None:
    """A mux takes packets before its own kernel would drop them."""
    ssh("fault-ctl", "partition", "from-router", "mux1")
    until("BGP gives the mux up", lambda: not lab.announced(lab.node("mux1")), SECONDS)
    ssh("fault-ctl", "heal", "from-router", "mux1")
    until("the mux is announced", lambda: lab.announced(lab.node("mux1")), SECONDS)


def test_loss(ssh: Commands, lab: LabCluster) -> None:
    """400 draws of 30 %: outside of 60..180 once in 10^9 runs."""
    ssh("fault-ctl", "loss", "mux1", "30")
    assert 60 < 400 - datagrams(lab, "mux2", "mux1", 400) < 180
    assert 60 < 400 - datagrams(lab, "mux1", "mux2", 400) < 180
    check_ways(lab, ["mux2 server1", "server1 mux2"])
    ssh("fault-ctl", "heal", "loss")
    check_ways(lab, ["mux1 mux2", "mux2 mux1"])
    for node in lab.nodes.values():
        assert "fault" not in lab.run(node, "nft", "list", "tables")


def test_hash_and_disk(ssh: Commands, lab: LabCluster) -> None:
    def seed() -> str:
        return lab.run(lab.node("router"), "sh", "-c", "cat /proc/sys/net/ipv4/fib_multipath_hash_*")

    before = seed()
    ssh("fault-ctl", "reshuffle", "router")
    assert seed() != before
    ssh("fault-ctl", "disk", "controller", "full")
    filler = Path(lab.zookeeper_data(lab.node("controller"))) / "filler-of-a-fault"
    assert filler.stat().st_size > 0
    assert [each["fault"] for each in json.loads(ssh("fault-ctl", "list"))] == ["reshuffle", "disk"]
    ssh("fault-ctl", "heal")
    assert seed() == before and not filler.exists()
    assert json.loads(ssh("fault-ctl", "list")) == []


def test_a_corrupt_log(ssh: Commands, lab: LabCluster) -> None:
    controller = lab.node("controller")
    ssh("fault-ctl", "corrupt", "controller")
    until("it refuses its log", lambda: ssh.nodes()["controller"]["programs"]["zookeeper"] == "dead", SECONDS)
    ssh("fault-ctl", "heal", "corrupt")
    assert lab.zookeeper_mode(controller) in ("leader", "follower")


def test_slow(ssh: Commands, lab: LabCluster) -> None:
    """The error for a kernel without netem names the module, and no fault is recorded."""
    done = ssh.ask("fault-ctl", "slow", "mux1", "10")
    there = "netem" in lab.run(lab.node("mux1"), "tc", "qdisc", "show", "dev", "eth0")
    if done.returncode == 0:
        assert there
    else:
        assert not there
        assert "mux1 can't be slowed: its kernel needs netem (module sch_netem)" in done.stderr
        assert json.loads(ssh("fault-ctl", "list")) == []
    ssh("fault-ctl", "heal", "slow")
    assert "netem" not in lab.run(lab.node("mux1"), "tc", "qdisc", "show", "dev", "eth0")


def test_what_can_not_be_done_is_named(ssh: Commands) -> None:
    ssh("node-ctl", "pause", "mux1")
    for words, sentence in (
        (("fault-ctl", "slow", "mux2", "10"), "host 'mux2' has no :interface; allowed: the name of its interface"),
        (
            ("fault-ctl", "partition", "halves", "mux1", "runner"),
            "node 'runner' can't be partitioned; allowed: the hosts",
        ),
        (("node-ctl", "reattach", "mux1"), "node 'mux1' has no server side; allowed: a server"),
        (("node-ctl", "kill", "mux2"), "unknown program 'mux2'; allowed: none, mux2 has no programs"),
        (
            ("node-ctl", "restart", "mux1"),
            "program 'mux1/mux' can't be started; allowed: :unit, or :pid-file with :start",
        ),
    ):
        assert sentence in ssh.refused(*words)
    assert ssh.nodes()["mux1"]["programs"]["mux"] == "paused"  # what can't be started is not stopped either
    ssh("node-ctl", "resume", "mux1")
