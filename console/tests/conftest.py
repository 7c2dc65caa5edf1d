# SPDX-License-Identifier: Apache-2.0
"""One lab for all tests of the console: two muxes, four servers with agents, two controllers that require tokens."""

import contextlib
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser

from console.tests.browser import Visit, chromium
from lab import Lab, build, interrupt
from lab.controller import Controller
from lab.deadline import until
from lab.rest import Rest
from lab.tokens import OPERATOR, VIEWER
from lab.topology import REST_PORT
from lab.traffic import Traffic
from lab.variant import Variant

WINDOW = 20  # seconds
HOLD = 3_600
# A drain ends no sooner than a mux without ZooKeeper would have withdrawn, and a window later.
MUX_OPTIONS = ("--http-samples", "on", "--behind-seconds", "10")
VARIANT = Variant(agents=True, hold=HOLD, runner=True, mux_options=MUX_OPTIONS)
CONTROLLERS = 2


def pytest_configure() -> None:
    interrupt.listen()


@pytest.fixture(scope="session")
def built() -> None:
    done = subprocess.run([build.ROOT / "lab" / "build"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"lab/build failed:\n{done.stdout}{done.stderr}"


@pytest.fixture(scope="session")
def lab(built: None) -> Iterator[Lab]:
    with Lab(servers=4, muxes=2, window=WINDOW, controllers=CONTROLLERS, variant=VARIANT) as lab:
        lab.wait_reporting(60)
        yield lab


@pytest.fixture(scope="session")
def traffic(lab: Lab) -> Iterator[Traffic]:
    with lab.traffic(long=40, interval=0.5, short_rate=10) as traffic:
        traffic.wait_open()
        yield traffic


@pytest.fixture(scope="session")
def browser(lab: Lab) -> Iterator[Browser]:
    """On the runner, a machine of the rack that reaches the controllers."""
    with chromium(lab.runner.namespace, lab.runner.directory) as browser:
        yield browser


@pytest.fixture
def visit(lab: Lab, browser: Browser) -> Iterator[Callable[..., Visit]]:
    """Makes visits, at the first controller unless another is given, and checks all of them at the end."""
    with contextlib.ExitStack() as visits:

        def make(token: str | None = OPERATOR, at: Controller | None = None, **options: Any) -> Visit:
            made = visits.enter_context(Visit(browser, url(at or lab.controller), origins(lab), **options))
            if token:
                made.open()
                made.log_in(token)
            return made

        yield make


@pytest.fixture
def operator(visit: Callable[..., Visit]) -> Visit:
    return visit(OPERATOR)


@pytest.fixture
def viewer(visit: Callable[..., Visit]) -> Visit:
    return visit(VIEWER)


def url(controller: Controller) -> str:
    return f"http://{controller.address}:{REST_PORT}"


def origins(lab: Lab) -> tuple[str, ...]:
    return tuple(url(controller) for controller in lab.controllers)


def leader(lab: Lab) -> Controller:
    return until("a controller leads", lambda: next((each for each in lab.controllers if each.leads), None), 60)


def as_viewer(controller: Controller) -> Rest:
    return Rest(controller.namespace, controller.address, REST_PORT, token=VIEWER)


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo) -> Iterator[None]:
    """A failed test shows the ends of its lab's logs, and leaves pictures of its pages in build/logs/console."""
    outcome = yield
    report = outcome.get_result()
    if not report.failed:
        return
    arguments = getattr(item, "funcargs", {})
    labs = {value for value in arguments.values() if isinstance(value, Lab)}
    report.sections += [("logs of the lab", lab.instance.tails()) for lab in labs]
    browser = arguments.get("browser")
    pages = [page for context in browser.contexts for page in context.pages] if browser else []
    for number, page in enumerate(pages):
        path = Path(build.ROOT) / "build" / "logs" / "console" / f"{item.name.replace('/', '-')}-{number}.png"
        page.screenshot(path=path)
        report.sections.append(("picture", str(path)))
