# SPDX-License-Identifier: Apache-2.0
"""The README's demo, as scripts/demo runs it once all is built: every event happens, and no connection breaks."""

import json
import os
import subprocess
import sys
from pathlib import Path

from lab import build

SECONDS = 420


def test_no_connection_of_the_demo_breaks(built: None, tmp_path: Path) -> None:
    summary = tmp_path / "summary.json"
    command = [sys.executable, "-B", "-m", "lab.demo", "--summary", str(summary)]
    where = os.environ | {"PYTHONPATH": str(build.ROOT)}
    done = subprocess.run(
        command, cwd=build.ROOT, env=where, capture_output=True, text=True, check=False, timeout=SECONDS
    )
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
    said = json.loads(summary.read_text())
    assert said["broken"] == 0 and said["connections"] > 200 and said["chained_packets"] > 0
    # Each event, and all of it, bounds the chance of a break.
    assert [each["name"] for each in said["bounds"]] == [*(event["name"] for event in said["events"]), "all of it"]
    assert said["bounds"][-1]["connections"] == said["connections"]
    assert all(each["connections"] >= 200 and 0 < each["at_most"] <= 3 / each["connections"] for each in said["bounds"])
    assert all(each["stall_ms"] > 0 for each in said["bounds"])
    assert "steering ring: how often a connection breaks, at most, at 95 %" in done.stdout
    # README.md shows the table of an earlier run: the same events, in the same form.
    kept = json.loads((build.ROOT / "bench" / "results" / "demo.json").read_text())
    assert [event.keys() for event in said["events"]] == [event.keys() for event in kept["events"]]
    assert [event["name"] for event in said["events"]] == [event["name"] for event in kept["events"]]
    assert all(f"  {event['name']:<38}" in done.stdout for event in kept["events"])
