# SPDX-License-Identifier: Apache-2.0
"""The largest service in the browser: 65,535 backends, 8 Mi buckets. Also 1,000 services and 100 muxes in one table."""

import pytest

from console.tests.browser import Visit, chromium
from console.tests.conftest import url
from console.tests.control_plane import BACKENDS, BUCKETS, SERVICE, control_plane
from console.tests.timing import FIRST_PAGE_MS, REACTION_MS, measure

FEW = 2_000


def check(backends: int, buckets: int):
    with control_plane(backends, buckets) as plane, chromium(plane.runner.namespace, plane.runner.directory) as browser:
        visit = Visit(browser, url(plane.controller))
        timing = measure(visit, SERVICE, backends)
        print(timing.line())
        visit.check()
        visit.close()
    return timing


def test_a_table_of_thousands_holds_only_what_is_seen(built: None) -> None:
    """The same steps as with 65,535 rows, which take long to make; no bound on time."""
    timing = check(FEW, 65_536)
    assert len(timing.scroll) == len(timing.filter) > 0


@pytest.mark.long
def test_65535_backends_are_shown_in_time(built: None) -> None:
    """Two cores, nothing else at work: the first page within 2 s, each scroll and each filter within 100 ms."""
    timing = check(BACKENDS, BUCKETS)
    assert timing.first_page <= FIRST_PAGE_MS, timing.line()
    assert max(timing.scroll) <= REACTION_MS, timing.line()
    assert max(timing.filter) <= REACTION_MS, timing.line()
