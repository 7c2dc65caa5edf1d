# SPDX-License-Identifier: Apache-2.0
"""What the tests run in: a rack of their own for each, gone afterwards."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from rack import Rack


class Tap:
    """Cases as TAP, so that meson counts each."""

    def __init__(self) -> None:
        self.count = 0

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.when == "call" or report.failed:
            self.count += 1
            print(f"\n{'ok' if report.passed else 'not ok'} {self.count} - {report.nodeid.split('::')[-1]}", flush=True)

    def pytest_sessionfinish(self) -> None:
        print(f"\n1..{self.count}", flush=True)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--server", required=True, type=Path, help="the fairlead-server to test")


def pytest_configure(config: pytest.Config) -> None:
    if os.geteuid() != 0:
        raise pytest.UsageError("these tests make network namespaces and must run as root")
    if os.environ.get("FAIRLEAD_TAP"):
        config.pluginmanager.register(Tap())


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Iterator[None]:
    outcome = yield
    report = outcome.get_result()
    if report.when == "call" and report.failed and "rack" in item.funcargs:
        report.sections.append(("the rack", item.funcargs["rack"].describe()))


@pytest.fixture
def rack(request: pytest.FixtureRequest) -> Iterator[Rack]:
    rack = Rack(request.config.getoption("--server").resolve())
    try:
        rack.create()
        yield rack
    finally:
        rack.delete()
