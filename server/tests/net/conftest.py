# SPDX-License-Identifier: Apache-2.0
"""Fixtures: each test gets its own rack, which is removed afterwards."""

import io
import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from _pytest._io import TerminalWriter
from forms import Bpf, Form, Module
from rack import Rack

from lab.vm.kernel import kernels


class Tap:
    """Reports cases as TAP, so that meson counts each."""

    def __init__(self) -> None:
        self.count = 0

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.when == "call" or report.failed:
            self.count += 1
            print(f"\n{'ok' if report.passed else 'not ok'} {self.count} - {report.nodeid.split('::')[-1]}", flush=True)

    def pytest_sessionfinish(self) -> None:
        print(f"\n1..{self.count}", flush=True)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--build", required=True, type=Path, help="meson's build directory with what is tested")
    parser.addoption("--form", default="bpf", choices=("bpf", "module"), help="which form of the server side")
    parser.addoption("--kernel", help="of the module's machine, such as 6.1; default: each whose headers are installed")


def pytest_configure(config: pytest.Config) -> None:
    if os.geteuid() != 0:
        raise pytest.UsageError("these tests make network namespaces and must run as root")
    if os.environ.get("FAIRLEAD_TAP"):
        config.pluginmanager.register(Tap())
        # explanations of failed assertions are highlighted by the terminal's plugin, which does not run
        config.get_terminal_writer = lambda: TerminalWriter(io.StringIO())


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Iterator[None]:
    outcome = yield
    report = outcome.get_result()
    if report.when == "call" and report.failed and "rack" in item.funcargs:
        report.sections.append(("the rack", item.funcargs["rack"].describe()))
    for name in ("world", "server_b"):
        if report.when == "call" and report.failed and name in item.funcargs:
            report.sections.append(("the agent", item.funcargs[name].said.read_text()))


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """`form`: bpf, or the module on each kernel; `way`: the words of attach for each way to attach that form."""
    is_module = metafunc.config.getoption("--form") == "module"
    if "form" in metafunc.fixturenames:
        kernel = metafunc.config.getoption("--kernel")
        forms = ([kernel] if kernel else kernels()) if is_module else ["bpf"]
        metafunc.parametrize("form", forms, indirect=True, scope="session")
    if "way" in metafunc.fixturenames:
        ways = {"native": ("--mode", "native"), "generic": ("--mode", "generic")}
        if is_module:
            ways = {"module": ()}
        metafunc.parametrize("way", ways.values(), ids=ways.keys())


@pytest.fixture(scope="session")
def form(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Form]:
    build = request.config.getoption("--build").resolve()
    if request.param == "bpf":
        yield Bpf(build, tmp_path_factory.mktemp("form"))
        return
    module = Module(build, request.param)
    try:
        yield module
    finally:
        module.close()


@pytest.fixture
def rack(form: Form) -> Iterator[Rack]:
    rack = Rack(form)
    try:
        rack.create()
        yield rack
    finally:
        rack.delete()
    form.check()
