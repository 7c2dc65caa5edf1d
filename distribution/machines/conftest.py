# SPDX-License-Identifier: Apache-2.0
"""What the machines of all tests here start from."""

from pathlib import Path

import pytest

from distribution.machines import rack
from lab.vm import debian


@pytest.fixture(scope="session")
def disks() -> tuple[debian.Disk, Path]:
    return rack.disks()
