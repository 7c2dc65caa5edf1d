# SPDX-License-Identifier: Apache-2.0
"""One lab for the whole session, built and brought up on first use; each test begins with equal weights."""

import subprocess
from collections.abc import Iterator

import pytest

from lab import Lab, build, interrupt
from lab.dual import DualService
from lab.events import active
from lab.variant import Variant

WINDOW = 600  # longer than any test
SERVERS = 4


def pytest_configure() -> None:
    interrupt.listen()


@pytest.fixture(scope="session")
def built() -> None:
    done = subprocess.run([build.ROOT / "lab" / "build"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"lab/build failed:\n{done.stdout}{done.stderr}"


@pytest.fixture(scope="session")
def session_lab(built: None) -> Iterator[Lab]:
    with Lab(servers=SERVERS, window=WINDOW, variant=Variant(quiet=0)) as lab:
        yield lab


@pytest.fixture
def lab(session_lab: Lab) -> Lab:
    """The session's lab with both muxes and four servers of weight 100 that chain."""
    level(session_lab)
    return session_lab


@pytest.fixture(scope="module")
def dual(session_lab: Lab) -> Iterator[DualService]:
    """The service of both families, with the lab's first servers."""
    level(session_lab)
    with DualService(session_lab) as service:
        yield service


def level(lab: Lab) -> None:
    for number, mux in lab.muxes.items():
        if not mux.process.alive:
            lab.start_mux(number)
    for number in set(lab.servers) - set(lab.backends()):
        lab.switch_off(number)
    while len(lab.servers) < SERVERS:
        lab.add_server()
    if any(backend["weight"] != 100 for backend in lab.backends().values()):
        lab.weights(dict.fromkeys(lab.backends(), 100))
    lab.wait_applied()
    lab.wait_announced()
    assert len(active(lab)) >= SERVERS


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo) -> Iterator[None]:
    """A failed test shows the ends of its labs' logs."""
    outcome = yield
    report = outcome.get_result()
    labs = {lab for lab in getattr(item, "funcargs", {}).values() if isinstance(lab, Lab)}
    if report.failed:
        report.sections += [("logs of the lab", lab.instance.tails()) for lab in labs]
