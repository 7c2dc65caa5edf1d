# SPDX-License-Identifier: Apache-2.0
"""
Shared by all of the mux's Python tests: results as TAP for Meson, and for tests with a control side one ZooKeeper
server and an empty tree for each test.
"""

import io
import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from _pytest._io import TerminalWriter

sys.path.insert(0, str(Path(__file__).parent / "control"))
sys.path.insert(0, str(Path(__file__).parents[2] / "scripts"))

from tree import Tree
from zookeeper_process import ZooKeeperProcess


class Tap:
    """Reports cases as TAP instead of pytest's own report, so that Meson counts each."""

    def __init__(self) -> None:
        self.count = 0

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.when != "call" and not report.failed:
            return
        self.count += 1
        print(f"{'ok' if report.passed else 'not ok'} {self.count} - {report.nodeid.split('::')[-1]}", flush=True)
        for line in report.longreprtext.splitlines():
            print(f"# {line}", flush=True)

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        if report.failed:
            print(f"Bail out! {report.nodeid}: {report.longreprtext}", flush=True)

    def pytest_sessionfinish(self) -> None:
        print(f"1..{self.count}", flush=True)


def pytest_configure(config: pytest.Config) -> None:
    if os.environ.get("FAIRLEAD_TAP"):
        config.pluginmanager.register(Tap())
        # explanations of failed assertions are highlighted by the terminal's plugin, which does not run
        config.get_terminal_writer = lambda: TerminalWriter(io.StringIO())


@pytest.fixture(scope="session")
def zookeeper(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ZooKeeperProcess]:
    process = ZooKeeperProcess(tmp_path_factory.mktemp("zookeeper"))
    process.start()
    yield process
    process.stop()


@pytest.fixture
def tree(zookeeper: ZooKeeperProcess) -> Iterator[Tree]:
    zookeeper.start()
    tree = Tree(zookeeper.address)
    tree.clear()
    yield tree
    tree.close()
