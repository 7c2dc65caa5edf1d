# SPDX-License-Identifier: Apache-2.0
"""One small cluster for all tests of a session, made with the commands that runners call."""

import json
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from jepsen.faults.lab_cluster import LabCluster
from jepsen.faults.record import Record
from lab import build
from lab.deadline import until
from lab.instance import Instance

BIN = build.ROOT / "jepsen" / "bin"
SMALL = """\
{:cluster {:over :lab :zookeepers 3 :controllers 2 :muxes 2 :servers 2 :clients 2 :window-seconds 120 :behind-seconds 5
           :buckets 1024 :service "web" :vip "10.99.0.1" :port 80}}
"""
COMMAND_SECONDS = 300


class Commands:
    def __init__(self, file: Path) -> None:
        self.file = file
        self.instance: str | None = None
        self.where: list[str] = []  # before each command: how to reach the place where it runs

    def ask(self, name: str, *words: object) -> subprocess.CompletedProcess:
        known = ["--cluster", str(self.file), *(["--instance", self.instance] if self.instance else [])]
        command = [*self.where, str(BIN / name), *known, *map(str, words)]
        return subprocess.run(command, capture_output=True, text=True, check=False, timeout=COMMAND_SECONDS)

    def __call__(self, name: str, *words: object) -> str:
        done = self.ask(name, *words)
        assert done.returncode == 0, f"{name} {words}: {done.stdout}{done.stderr}"
        return done.stdout

    def refused(self, name: str, *words: object) -> str:
        done = self.ask(name, *words)
        assert (done.returncode, done.stdout) == (1, ""), done
        assert done.stderr.startswith(f"{name}: "), done
        return done.stderr

    def nodes(self) -> dict[str, dict[str, Any]]:
        return {node["node"]: node for node in json.loads(self("nodes", "list", "-o", "json"))["nodes"]}

    def with_role(self, role: str) -> str:
        """The node with the role, once there is one."""

        def found() -> str | None:
            return next((name for name, node in self.nodes().items() if role in node["roles"]), None)

        return until(f"some node is {role}", found, 60, pause=0.2)


@pytest.fixture(scope="session")
def commands(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Commands]:
    done = subprocess.run([build.ROOT / "lab" / "build"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"lab/build failed:\n{done.stdout}{done.stderr}"
    file = tmp_path_factory.mktemp("faults") / "small.edn"
    file.write_text(SMALL)
    commands = Commands(file)
    commands.instance = commands("nodes", "up").strip()
    yield commands
    commands("nodes", "down")


@pytest.fixture
def cluster(commands: Commands) -> Iterator[LabCluster]:
    """The cluster without faults; afterwards everything is healed."""
    yield LabCluster(Instance.load(commands.instance))
    begun = time.monotonic()
    commands("fault-ctl", "heal")
    print(f"healed in {time.monotonic() - begun:.1f} s")
    assert Record(LabCluster(Instance.load(commands.instance)).directory).all() == []


def curl(cluster: LabCluster, url: str, *options: str) -> Any:
    """A controller's answer to the runner with the admin token. Raises LabError if it refuses."""
    headers = [f"-H{name}: {value}" for name, value in cluster.authorization().items()]
    return json.loads(cluster.run(cluster.node("runner"), "curl", "-sf", "-m", "20", *headers, *options, url))


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo) -> Iterator[None]:
    """A failed test shows the ends of the programs' logs."""
    outcome = yield
    report = outcome.get_result()
    commands = getattr(item, "funcargs", {}).get("commands")
    if report.failed and call.when == "call" and commands and commands.instance:
        report.sections.append(("logs of the cluster", Instance.load(commands.instance).tails()))
