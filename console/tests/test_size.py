# SPDX-License-Identifier: Apache-2.0
"""The largest service in the browser: 65,535 backends, 8 Mi buckets; and the benchmark of the same, at a small size."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from console.tests.browser import Visit, chromium
from console.tests.conftest import url
from console.tests.control_plane import BACKENDS, BUCKETS, SERVICE, control_plane
from console.tests.timing import FIRST_PAGE_MS, REACTION_MS, measure
from lab import build


def test_the_benchmark_runs_and_keeps_its_figures(built: None, tmp_path: Path) -> None:
    figures = tmp_path / "figures.json"
    few = ["--backends", "2000", "--buckets", "65536", "--visits", "1", "--json", str(figures)]
    subprocess.run([sys.executable, build.ROOT / "bench" / "console", *few], check=True, timeout=200)
    rows = json.loads(figures.read_text())["milliseconds"]
    assert all(0 < row["median"] <= row["slowest"] for row in rows.values())


@pytest.mark.long
def test_65535_backends_are_shown_in_time(built: None) -> None:
    """Two cores, nothing else at work: the first page within 2 s, each scroll and each filter within 100 ms."""
    with (
        control_plane(BACKENDS, BUCKETS) as plane,
        chromium(plane.runner.namespace, plane.runner.directory) as browser,
    ):
        visit = Visit(browser, url(plane.controller))
        timing = measure(visit, SERVICE, BACKENDS)
        visit.check()
        visit.close()
    assert timing.first_page <= FIRST_PAGE_MS, timing.line()
    assert max(timing.scroll) <= REACTION_MS, timing.line()
    assert max(timing.filter) <= REACTION_MS, timing.line()
