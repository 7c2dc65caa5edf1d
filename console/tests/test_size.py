# SPDX-License-Identifier: Apache-2.0
"""The largest service in the browser: 65,535 backends, 8 Mi buckets; a crowd of services and muxes; the benchmark."""

import json
import subprocess
from pathlib import Path

import pytest

from console.tests.browser import Visit, chromium
from console.tests.conftest import url
from console.tests.control_plane import BACKENDS, BUCKETS, MUXES, SERVICE, SERVICES, control_plane, crowd
from console.tests.timing import FIRST_PAGE_MS, FREEZE_MS, REACTION_MS, busy, measure
from lab import build
from lab.tokens import OPERATOR


def test_the_benchmark_runs_and_keeps_its_figures(built: None, tmp_path: Path) -> None:
    figures = tmp_path / "figures.json"
    few = ["--backends", "2000", "--buckets", "65536", "--visits", "1", "--json", str(figures)]
    subprocess.run([build.ROOT / "bench" / "run", "console", *few], check=True, timeout=200)
    rows = json.loads(figures.read_text())["milliseconds"]
    assert all(0 < row["median"] <= row["slowest"] for row in rows.values())


# By route: words that are there once the page is drawn.
CROWDED = {
    "overview": f"{SERVICES:,} rows",
    "muxes": f"Rings on muxes: {SERVICES * MUXES:,}",
    f"service/{SERVICE}": "65,535 rows",
    "change": f"small{SERVICES - 1}",
    "audit": "Changes",
}
WATCHED_SECONDS = 12


@pytest.mark.long
def test_a_crowd_of_services_and_muxes_freezes_no_page(built: None) -> None:
    """1,000 services, 100 muxes, the large service beside them; each second a service changes."""
    with (
        control_plane() as plane,
        crowd(plane),
        chromium(plane.runner.namespace, plane.runner.directory) as browser,
        Visit(browser, url(plane.controller)) as visit,
    ):
        visit.remember(OPERATOR)
        longest = {
            route: max(busy(visit, route, shown, WATCHED_SECONDS), default=0) for route, shown in CROWDED.items()
        }
        print(f"longest tasks: {', '.join(f'{route} {millis:.0f} ms' for route, millis in longest.items())}")
    assert {route: millis for route, millis in longest.items() if millis > FREEZE_MS} == {}


@pytest.mark.long
def test_65535_backends_are_shown_in_time(built: None) -> None:
    """Two cores, nothing else at work: the first page within 2 s, each scroll and each filter within 100 ms."""
    with (
        control_plane(BACKENDS, BUCKETS) as plane,
        chromium(plane.runner.namespace, plane.runner.directory) as browser,
        Visit(browser, url(plane.controller)) as visit,
    ):
        visit.remember(OPERATOR)
        timing = measure(visit, SERVICE, BACKENDS)
        print(timing.line())
    assert timing.first_page <= FIRST_PAGE_MS, timing.line()
    assert max(timing.scroll) <= REACTION_MS, timing.line()
    assert max(timing.filter) <= REACTION_MS, timing.line()
