# SPDX-License-Identifier: Apache-2.0
"""A stranger who reaches ZooKeeper, without a login, tries to name a host of theirs as a controller's.

The page must never send that host anything, least of all its user's token, even when its own controller is gone.
"""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from kazoo.client import KazooClient
from kazoo.exceptions import NoAuthError

from console.tests.browser import Visit, chromium
from console.tests.conftest import url
from lab import topology
from lab.controller import Controller
from lab.deadline import until
from lab.instance import Instance
from lab.router import Router
from lab.runner import Runner
from lab.tokens import OPERATOR

LOST = "no controller answers"
SECONDS = 120


class Stranger(ThreadingHTTPServer):
    """Answers every question as a controller would that lets any page ask, and remembers what arrived."""

    daemon_threads = True

    def __init__(self, host: str) -> None:
        self.received: list[str] = []
        super().__init__((host, 0), Answer)

    @property
    def at(self) -> str:
        return f"{self.server_address[0]}:{self.server_address[1]}"


class Answer(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.server.received.append(f"{self.command} {self.path} {self.headers.get('Authorization')}")
        self.send_response(200)
        self.send_header("Access-Control-Allow-Origin", self.headers.get("Origin", "*"))
        self.send_header("Access-Control-Allow-Headers", "Authorization, Content-Type, Last-Event-ID")
        self.send_header("Content-Type", "application/json")
        self.end_headers()
        self.wfile.write(b"{}")

    do_OPTIONS = do_POST = do_GET

    def log_message(self, *_: object) -> None:
        """Nothing on standard error."""


@contextmanager
def stranger(runner: Runner) -> Iterator[Stranger]:
    with runner.namespace.inside():
        server = Stranger(runner.address)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def name_as_controller(runner: Runner, controller: Controller, at: str) -> None:
    """Before the controller starts, so that it knows the host from its beginning."""
    with runner.namespace.inside():
        client = KazooClient(hosts=f"{controller.address}:{topology.ZOOKEEPER_PORT}")
        client.start(timeout=30)
    try:
        client.create("/fairlead/election/x", f"stranger/{at}".encode())
    finally:
        client.stop()
        client.close()


@pytest.mark.usefixtures("built")
def test_the_page_asks_no_host_of_a_stranger() -> None:
    instance = Instance.create({"console": True})
    try:
        router = Router(instance)
        controller = Controller(instance, router, 1, zookeepers=1)
        runner = Runner(instance, router)
        assert controller.zookeeper
        controller.zookeeper.start()
        controller.zookeeper.wait()
        with stranger(runner) as evil:
            controller.start()
            controller.wait()
            with pytest.raises(NoAuthError):
                name_as_controller(runner, controller, evil.at)
            with (
                chromium(runner.namespace, runner.directory) as browser,
                Visit(browser, url(controller)) as page,
            ):
                lose_the_controller(page, controller, evil)
                assert evil.received == []
    finally:
        instance.undo()


def lose_the_controller(page: Visit, controller: Controller, evil: Stranger) -> None:
    page.open()
    page.log_in(OPERATOR)
    status = page.page.get_by_role("status")
    status.filter(has_text="live").wait_for()
    controller.process.kill()
    lost = status.filter(has_text=LOST)
    until("the page has tried all that it knows", lambda: bool(evil.received) or lost.count() == 1, SECONDS, pause=0.3)
