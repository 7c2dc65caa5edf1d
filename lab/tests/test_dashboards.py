# SPDX-License-Identifier: Apache-2.0
"""What Prometheus finds by the controller's list of targets, and the dashboards' expressions on it."""

import importlib.util
import json
from collections.abc import Iterator
from types import ModuleType

import pytest

from lab import Lab, build, topology
from lab.probe import Probe
from lab.scraper import Scraper

DASHBOARDS = build.ROOT / "docs" / "dashboards"


def generator() -> ModuleType:
    spec = importlib.util.spec_from_file_location("generate", DASHBOARDS / "generate.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


GENERATOR = generator()
DOCUMENTS = {path.stem: json.loads(path.read_text()) for path in sorted(DASHBOARDS.glob("*.json"))}
# Show nothing while all is well, or before anything has been done.
MAY_BE_EMPTY = ("> 0", "histogram_quantile(")


def instances(lab: Lab, scraper: Scraper) -> set[str]:
    controllers = {f"{each.address}:{topology.REST_PORT}" for each in lab.controllers}
    return controllers | {mux.name for mux in lab.running_muxes()} | set(scraper.servers)


@pytest.fixture(scope="module")
def scraper(session_lab: Lab) -> Iterator[Scraper]:
    """With a health check, on one mux: that one alone has no say. After some traffic."""
    session_lab.api("PATCH", "/v1/services/web", {"healthCheck": {"kind": "tcp"}})
    probe = Probe(session_lab.muxes[1])
    probe.start()
    with session_lab.traffic(long=40) as traffic:
        traffic.wait_open()
        with Scraper(session_lab) as running:
            yield running
    probe.process.stop()
    session_lab.api("PATCH", "/v1/services/web", {"healthCheck": {"kind": "none"}})


def test_everything_that_runs_is_scraped(lab: Lab, scraper: Scraper) -> None:
    muxes = {mux.name for mux in lab.running_muxes()}
    controllers = {f"{each.address}:{topology.REST_PORT}" for each in lab.controllers}
    scraper.wait(instances(lab, scraper))
    parts = {(each["metric"]["part"], each["metric"]["instance"]) for each in scraper.query('up{job="fairlead"} == 1')}
    wanted = {("mux", name) for name in muxes} | {("controller", each) for each in controllers} | {("probe", "mux1")}
    assert parts == wanted


def test_a_mux_that_ends_is_no_target(lab: Lab, scraper: Scraper) -> None:
    lab.stop_mux(2)
    listed = {line.split()[1] for line in lab.controller.ctl("metrics", "targets", "--part", "mux").splitlines()[1:]}
    assert listed == {mux.name for mux in lab.running_muxes()}
    lab.start_mux(2)


def test_dashboards_are_there() -> None:
    assert set(DOCUMENTS) == {board.name for board in GENERATOR.BOARDS}


@pytest.mark.parametrize("name", DOCUMENTS)
def test_each_metric_exists(name: str, lab: Lab, scraper: Scraper) -> None:
    scraper.wait(instances(lab, scraper))
    known = {each["metric"]["__name__"] for each in scraper.query('{__name__=~"fairlead_.+"}')}
    wanted = GENERATOR.metrics(DOCUMENTS[name])
    assert len(wanted) > 5 and wanted <= known, wanted - known


@pytest.mark.parametrize("name", DOCUMENTS)
def test_each_expression_shows_something(name: str, scraper: Scraper) -> None:
    for expression in GENERATOR.expressions(DOCUMENTS[name]):
        found = scraper.query(expression)
        assert found or any(each in expression for each in MAY_BE_EMPTY), expression
