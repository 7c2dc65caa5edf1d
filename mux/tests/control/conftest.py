# SPDX-License-Identifier: Apache-2.0
"""A control_mux process for each test."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from mux_process import MuxProcess
from tree import Tree
from zookeeper_process import ZooKeeperProcess


@pytest.fixture
def mux(zookeeper: ZooKeeperProcess, tree: Tree, tmp_path: Path) -> Iterator[MuxProcess]:
    process = MuxProcess(zookeeper.address, tmp_path)
    process.start()
    yield process
    process.stop()
