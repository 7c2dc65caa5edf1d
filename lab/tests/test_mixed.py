# SPDX-License-Identifier: Apache-2.0
"""Servers of both forms behind one VIP: XDP programs in namespaces, and the kernel module in virtual machines.

A virtual machine's processor is emulated: it answers a fraction of the requests that a namespace does. So the load is
smaller than in test_events.py: 80 long-lived connections with two requests a second each, and 10 short ones a second.
"""

import subprocess
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from lab import Lab, LabError, build, events
from lab.chains import Chains
from lab.deadline import until
from lab.health import expect_probed
from lab.machine_server import MachineServer
from lab.server import Server
from lab.traffic import MACHINE_ANSWER_SECONDS, Traffic
from lab.variant import Variant
from lab.vm.channel import PORTS
from lab.vm.kernel import kernels

WINDOW = 600  # longer than any test
LONG = 80
INTERVAL = 0.5
SHORT_RATE = 10


STOCK, *LATER = kernels()


@pytest.fixture(scope="module", params=[STOCK, *(pytest.param(one, marks=pytest.mark.long) for one in LATER)])
def mixed_lab(request: pytest.FixtureRequest, built: None) -> Iterator[Lab]:
    """Two servers of each form."""
    with Lab(servers=2, window=WINDOW, vm_servers=2, vm_kernel=request.param, variant=Variant(agents=True)) as lab:
        yield lab


def form(server: Server) -> str:
    return "module" if isinstance(server, MachineServer) else "xdp"


def machines(lab: Lab) -> list[MachineServer]:
    return [server for server in lab.servers.values() if isinstance(server, MachineServer)]


def execute(lab: Lab, *argv: str) -> subprocess.CompletedProcess[str]:
    command = [build.ROOT / "lab" / "lab", "exec", "--instance", lab.instance.name, *argv]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_agents_of_both_forms_count(mixed_lab: Lab) -> None:
    """On each kernel by its events."""

    def counted() -> bool:
        agents = mixed_lab.agents()
        return all(
            (agents[number]["state"], agents[number].get("mode")) == ("reporting", "events")
            and agents[number]["established"] == server.connections()
            for number, server in mixed_lab.servers.items()
        )

    with Traffic(mixed_lab.clients, LONG, INTERVAL, 0, answer_seconds=MACHINE_ANSWER_SECONDS) as traffic:
        traffic.wait_open()
        assert all(server.connections() > 0 for server in mixed_lab.servers.values())
        until("the reported connections are those of the servers", counted, 60)


def test_probes_reach_servers_of_both_forms(mixed_lab: Lab) -> None:
    expect_probed(mixed_lab)


def test_commands_run_in_a_machine(mixed_lab: Lab) -> None:
    server = machines(mixed_lab)[0]
    done = execute(mixed_lab, server.name, "--", "sh", "-c", "uname -r; echo complaint >&2; exit 7")
    assert (done.returncode, done.stdout, done.stderr) == (7, f"{server.machine.kernel.release}\n", "complaint\n")
    done = execute(mixed_lab, server.name, "ip", "-brief", "address", "show", "dev", "eth0")
    assert (done.returncode, done.stderr) == (0, "") and server.address in done.stdout
    done = execute(mixed_lab, server.name, "nothing-such")
    assert (done.returncode, done.stdout) == (127, "") and "nothing-such" in done.stderr


def test_a_command_whose_caller_left_is_killed_and_delays_no_other(mixed_lab: Lab) -> None:
    """As many commands as there are ports run at once; one more waits until a port is free."""
    channel = machines(mixed_lab)[0].machine.channel
    with ThreadPoolExecutor(PORTS + 1) as callers:
        left = [callers.submit(channel.run, ["sleep", "1234"], b"", 2) for _ in range(PORTS)]
        answer = callers.submit(channel.run, ["cat"], b"who is there", 120)
        for call in left:
            with pytest.raises(LabError, match=r"'sleep 1234' .* has not ended after 2 s"):
                call.result()
        assert answer.result().stdout == b"who is there"
    until("no command is left", lambda: b"sleep 1234" not in channel.run(["ps"]).stdout, 60)


def test_a_machine_without_work_idles(mixed_lab: Lab) -> None:
    """A busy machine keeps the host busy: its agents sleep until a host connects."""
    server = machines(mixed_lab)[0]

    def idle() -> float:
        """Seconds that the processor has been idle since the start."""
        return float(server.run("cat", "/proc/uptime").split()[1])

    before = idle()
    until("the processor has idled for two seconds more", lambda: idle() > before + 2, 60, pause=1)


def test_a_machine_that_was_killed_comes_back(mixed_lab: Lab) -> None:
    server = machines(mixed_lab)[-1]
    name = f"{server.name}/machine"
    for verb in ("kill", "start"):
        command = [build.ROOT / "lab" / "lab", verb, "--instance", mixed_lab.instance.name, name]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        if verb == "kill":
            done = execute(mixed_lab, server.name, "true")
            assert done.returncode == 1 and f"{name} (process {server.process.pid}) has ended" in done.stderr
    assert server.show()["config"]["mode"] == "module"
    with mixed_lab.traffic(long=40, interval=INTERVAL, short_rate=0) as traffic:
        traffic.wait_open()
        assert traffic.held_by(server.name) > 0
    assert traffic.total is not None and traffic.total["broken"] == 0


def test_servers_of_both_forms_chain_to_each_other_and_nothing_breaks(mixed_lab: Lab) -> None:
    """One server of each form is added, and one drained, removed and switched off; meanwhile a mux dies and returns."""
    lab = mixed_lab
    chains = Chains(lab.router)
    forms = {server.address: form(server) for server in lab.servers.values()}

    def happen(traffic: Traffic) -> None:
        for machine in (False, True):
            added = events.add_server(lab, traffic, print, machine=machine)
            forms[added.address] = form(added)
        events.kill_mux(lab, traffic, print)
        for number in (1, 3):
            events.drain_and_remove_server(lab, traffic, print, number)
        events.start_mux(lab, traffic, print)

    with lab.traffic(long=LONG, interval=INTERVAL, short_rate=SHORT_RATE) as traffic:
        traffic.wait_open()
        assert all(traffic.held_by(server.name) for server in lab.servers.values())
        happen(traffic)
        total = traffic.stop()
    counted = Counter({server.address: server.chained() for server in lab.servers.values()})
    seen: Counter[tuple[str, str]] = Counter()
    for (chainer, owner), packets in chains.packets().items():
        seen[forms[chainer], forms[owner]] += packets
    print(f"{total['connections']} connections, {total['requests']} requests, slowest {total['slowest_ms']:.0f} ms")
    print(
        f"packets chained on the wire, by form: {dict(seen)}; by the counters of the remaining servers: {dict(counted)}"
    )
    assert total["broken"] == 0, "\n".join(map(str, traffic.broken()[:10]))
    assert total["connections"] >= LONG and total["requests"] > LONG
    assert seen["xdp", "module"] > 0 and seen["module", "xdp"] > 0
    assert all(counted.values())
    assert [server.machine.complaints() for server in machines(lab)] == [[]] * len(machines(lab))
