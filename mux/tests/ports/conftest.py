# SPDX-License-Identifier: Apache-2.0
"""A fresh rack for every test, and results as TAP for Meson."""

import contextlib
import os
import pathlib
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).parents[3] / "protocol" / "vectors"))  # the oracle of the test vectors

import rack as racks

results = []


@pytest.fixture
def rack():
    with contextlib.ExitStack() as undo:
        yield racks.Rack(undo)


@pytest.fixture(params=["af_xdp", "af_packet"])
def port(request):
    return f"{request.param}:{racks.INSIDE}"


def pytest_runtest_logreport(report):
    if report.when == "call" or report.failed:
        results.append(report)


def pytest_sessionfinish(session):
    if not os.environ.get("FAIRLEAD_TAP"):
        return
    print()
    for number, report in enumerate(results, 1):
        print(f"{'not ok' if report.failed else 'ok'} {number} - {report.nodeid.split('::')[-1]}")
        if report.failed:
            print("\n".join("# " + line for line in str(report.longrepr).splitlines()))
    print(f"1..{len(results)}")
