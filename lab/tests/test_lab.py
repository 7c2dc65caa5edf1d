# SPDX-License-Identifier: Apache-2.0
"""The lab itself: it leaves nothing behind, not even after a crash, and its errors say what is allowed."""

import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from lab import Lab, LabError, build, topology
from lab.deadline import until
from lab.dual import DualService
from lab.instance import RUN, Instance
from lab.process import Process, start_ticks

UP_AND_WAIT = """
import sys
from lab import Lab
with Lab(servers=1, muxes=1, vm_servers=1) as lab:
    print(lab.instance.name, flush=True)
    sys.stdin.read()
"""

# The lab's command, interrupted at the start of its n-th command, where no handler of `subprocess` cleans up.
INTERRUPTED = """
import os, pathlib, runpy, subprocess, sys
directory, at, number = pathlib.Path(sys.argv.pop(1)), int(sys.argv.pop(1)), int(sys.argv.pop(1))
begin, begun = subprocess.Popen._execute_child, 0

def begin_and_interrupt(*arguments):
    global begun
    begun += 1
    if begun == at:
        (directory / "next").touch()
    begin(*arguments)
    if begun == at:
        (directory / "late").write_text(str(arguments[0].pid))
        os.kill(os.getpid(), number)

subprocess.Popen._execute_child = begin_and_interrupt
runpy.run_module("lab", run_name="__main__")
"""
# Replaces a command, and runs it only later.
LATE = """\
#!/bin/sh
if rm {directory}/next 2>/dev/null; then
  sleep 0.5
fi
exec {real} "$@"
"""


def links() -> set[str]:
    """The machine's own network interfaces."""
    listed = subprocess.run(["ip", "-json", "link"], capture_output=True, check=True).stdout
    return {link["ifname"] for link in json.loads(listed)}


def left_behind(name: str, processes: list[Process]) -> list[str]:
    """What is left of a lab: namespaces, its directory, programs, FRR's crash logs, pinned BPF objects."""
    found = [str(path) for path in Path("/run/netns").glob(f"fl-{name}-*")]
    found += [str(path) for path in RUN.glob(name)]
    found += [process.name for process in processes if process.alive]
    found += [str(path) for process in processes for path in Path("/var/tmp/frr").glob(f"*.{process.pid}")]
    return found + [str(path) for path in Path("/sys/fs/bpf").rglob("fairlead*")]


def test_up_and_down_leave_nothing_behind(built: None) -> None:
    before = links()
    with Lab(servers=1, muxes=1, port="af_packet") as lab:
        processes = lab.instance.processes()
        assert len(processes) >= 8 and all(process.alive for process in processes)
        assert left_behind(lab.instance.name, processes)
        # it serves, here over af_packet ports, clients of both families
        with DualService(lab):
            for vip in (topology.VIP, topology.DUAL_VIP, f"[{topology.DUAL_VIP6}]"):
                assert lab.clients[0].run("curl", "-s", "-m", "5", f"http://{vip}/") == "server1\n"
    assert left_behind(lab.instance.name, processes) == []
    assert links() <= before


def test_a_crashed_run_is_found_and_undone(built: None) -> None:
    before = links()
    run = subprocess.Popen(
        [sys.executable, "-c", UP_AND_WAIT], cwd=build.ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert run.stdout is not None
    name = run.stdout.readline().strip()
    run.kill()
    run.wait()
    instance = Instance.load(name)
    processes = instance.processes()
    assert instance.abandoned and name in [leftover.name for leftover in Instance.leftovers()]
    assert any(process.alive for process in processes)
    done = subprocess.run(
        [build.ROOT / "lab" / "lab", "down", "--instance", name], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert left_behind(name, processes) == []
    assert links() <= before


def test_an_interrupted_up_leaves_no_machine_behind(built: None) -> None:
    """The interrupt arrives while the virtual machine boots."""
    before, labs = links(), {instance.name for instance in Instance.all()}
    command = [build.ROOT / "lab" / "lab", "up", "--servers", "0", "--muxes", "1", "--vm-servers", "1"]
    run = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)

    def machine() -> Process | None:
        assert run.poll() is None, run.stdout and run.stdout.read()
        found = [instance for instance in Instance.all() if instance.name not in labs]
        started = [process for instance in found for process in instance.processes()]
        return next((process for process in started if process.name == "server1/machine"), None)

    qemu = until("the machine is started", machine, 60, pause=0.01)
    name = next(instance.name for instance in Instance.all() if instance.name not in labs)
    run.send_signal(signal.SIGTERM)
    said, _ = run.communicate(timeout=30)
    assert run.returncode == 128 + signal.SIGTERM, said
    assert left_behind(name, [qemu]) == []
    assert links() <= before


@pytest.mark.parametrize(
    ("at", "number"),
    [(1, signal.SIGINT), (4, signal.SIGTERM), (12, signal.SIGTERM), (25, signal.SIGINT), (40, signal.SIGTERM)],
)
def test_an_interrupt_while_a_command_begins_leaves_nothing_behind(
    built: None, tmp_path: Path, at: int, number: signal.Signals
) -> None:
    """The worst moment, prolonged: the `at`-th command of `up` has started, but does its work only later."""

    def everything() -> set[str]:
        return links() | {str(path) for path in [*Path("/run/netns").glob("fl-*"), *RUN.glob("*")]}

    before = everything()
    for name in ("ip", "nsenter"):
        real = shutil.which(name, path=f"{os.environ['PATH']}:/usr/sbin:/sbin")
        stand_in = tmp_path / name
        stand_in.write_text(LATE.format(directory=tmp_path, real=real))
        stand_in.chmod(0o755)
    command = [sys.executable, "-c", INTERRUPTED, tmp_path, str(at), str(int(number))]
    done = subprocess.run(
        [*command, "up", "--servers", "1", "--muxes", "1"],
        cwd=build.ROOT,
        env=os.environ | {"PATH": f"{tmp_path}:{os.environ['PATH']}"},
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert done.returncode == 128 + number, done.stderr
    late_one = int((tmp_path / "late").read_text())
    until("the late command ends", lambda: start_ticks(late_one) is None, 30)
    assert everything() <= before


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ({"servers": 0}, "servers '0' is refused; allowed: 1..200"),
        ({"vm_servers": 21}, "vm-servers '21' is refused; allowed: 0..20"),
        ({"vm_servers": 1, "vm_kernel": "2.4"}, r"kernel '2.4' is refused; allowed, .*: 6\.1\."),
        ({"muxes": 10}, "muxes '10' is refused; allowed: 1..9"),
    ],
)
def test_a_bad_size_is_refused(arguments: dict, sentence: str) -> None:
    with pytest.raises(LabError, match=sentence):
        Lab(**arguments)


def test_a_missing_build_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(build, "MUX", tmp_path / "fairlead-mux")
    with pytest.raises(LabError, match=r"fairlead-mux is not built: run lab/build"), Lab():
        pass


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["exec", "nowhere", "true"], "node 'nowhere' is not in lab"),
        (["kill", "mux9/mux"], "process 'mux9/mux' is not in lab"),
        (["status", "--instance", "none"], "instance 'none' is not there"),
    ],
)
def test_the_command_names_what_is_not_there(lab: Lab, arguments: list[str], sentence: str) -> None:
    verb, *rest = arguments
    instance = [] if "--instance" in rest else ["--instance", lab.instance.name]
    done = subprocess.run(
        [build.ROOT / "lab" / "lab", verb, *instance, *rest], capture_output=True, text=True, check=False
    )
    assert done.returncode == 1
    assert sentence in done.stderr


def test_a_dead_test_client_is_named_at_once(lab: Lab) -> None:
    traffic = lab.traffic(long=10)
    try:
        traffic.clients[1].kill()
        with pytest.raises(LabError, match="the test client on client2 has ended with -9"):
            traffic.wait_open()
    finally:
        for client in traffic.clients:
            client.kill()


def test_the_flood_stays_in_its_bounds(lab: Lab) -> None:
    node = lab.clients[0]
    command = [sys.executable, "-m", "lab.client"]
    cases = [
        (["--host", topology.VIP], ["--rate", "20001"], "rate '20001' is refused"),
        (["--host", topology.VIP], ["--seconds", "61"], "duration '61.0' is refused"),
        (["--host", topology.ROUTER], [], f"destination '{topology.ROUTER}' is refused"),
    ]
    for general, own, sentence in cases:
        argv = node.namespace.enter([*command, *general, "flood", "--gateway", "10.2.1.1", *own])
        done = subprocess.run(argv, cwd=build.ROOT, capture_output=True, text=True, check=False)
        assert done.returncode == 1 and sentence in done.stderr, done.stderr
    outside = subprocess.run(
        [*command, "flood", "--gateway", "127.0.0.1"], cwd=build.ROOT, capture_output=True, text=True, check=False
    )
    assert "network namespace" in outside.stderr
