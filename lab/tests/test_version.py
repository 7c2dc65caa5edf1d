# SPDX-License-Identifier: Apache-2.0
"""Every command says its version, and the packages' commands say it in the same words."""

import subprocess
from pathlib import Path

import pytest

from lab import build

VERSION = (build.ROOT / "VERSION").read_text().strip()
FRR_CONFIG = build.ROOT / "scripts" / "frr-config"


@pytest.mark.parametrize(
    "command",
    [build.MUX, build.P4MUX, build.PROBE, build.SERVER, build.CONTROLLER, build.CTL, FRR_CONFIG],
    ids=lambda path: path.name,
)
def test_version(command: Path) -> None:
    done = subprocess.run([command, "--version"], capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, f"{command.name} {VERSION}\n", "")
