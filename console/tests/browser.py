# SPDX-License-Identifier: Apache-2.0
"""Chromium inside a namespace of a lab, and a page that remembers everything that it must not do.

Debian's Chromium, driven by Playwright over a pipe, so that it needs no way from here into the namespace.
"""

import contextlib
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Self
from urllib.parse import urlsplit

import axe_playwright_python
from playwright.sync_api import (
    Browser,
    BrowserContext,
    ConsoleMessage,
    Locator,
    Page,
    Playwright,
    Request,
    Response,
    sync_playwright,
)

from lab.namespace import Namespace

CHROMIUM = Path("/usr/bin/chromium")
AXE = Path(axe_playwright_python.__file__).parent / "axe.min.js"
WAIT_MS = 20_000
DESKTOP = {"width": 1280, "height": 900}
PHONE = {"width": 375, "height": 740}
SERIOUS = ("serious", "critical")


_drivers: list[Playwright] = []  # that run: a thread can have one


@contextlib.contextmanager
def driver() -> Iterator[Playwright]:
    """The one that runs already, as for the browser of a whole session, or a new one."""
    if _drivers:
        yield _drivers[0]
        return
    with sync_playwright() as playwright:
        _drivers.append(playwright)
        try:
            yield playwright
        finally:
            _drivers.clear()


@contextlib.contextmanager
def chromium(namespace: Namespace | None, directory: Path) -> Iterator[Browser]:
    """Started in `namespace`, or in this process' own; `directory` takes a script that enters it."""
    program = directory / "chromium"
    enter = [] if namespace is None else namespace.enter([])
    program.write_text(f'#!/bin/sh\nexec {" ".join([*enter, str(CHROMIUM)])} "$@"\n')
    program.chmod(0o755)
    with driver() as playwright:
        browser = playwright.chromium.launch(
            executable_path=program,
            args=["--disable-dev-shm-usage", "--disable-gpu", "--disable-component-update"],
        )
        try:
            yield browser
        finally:
            browser.close()


class Visit:
    """One person's browser at one controller: a context with a page, and what it did. Leaving the block checks that."""

    def __init__(self, browser: Browser, url: str, origins: tuple[str, ...] = (), **options: Any) -> None:
        """`origins`: of other controllers. `options`: of a Playwright context, such as color_scheme and viewport."""
        self.url = url.rstrip("/")
        self.origins = origins
        self.context: BrowserContext = browser.new_context(**{"viewport": DESKTOP, **options})
        self.context.set_default_timeout(WAIT_MS)
        self.errors: list[str] = []
        self.requests: list[str] = []
        self.tokens: list[str] = []  # that must be in no URL
        self.refused: list[tuple[int, str]] = []  # answers of 400 and above, by status and URL
        self.documents: list[Response] = []
        self.page: Page = self.context.new_page()
        self.page.on("console", self._console)
        self.page.on("pageerror", lambda error: self.errors.append(f"uncaught: {error}"))
        self.page.on("request", self._request)
        self.page.on("response", self._response)

    def _console(self, message: ConsoleMessage) -> None:
        # Chromium itself reports each answer of 400 and above, and connections that a killed controller ends.
        if message.type == "error" and not message.text.startswith("Failed to load resource:"):
            self.errors.append(f"{message.type}: {message.text}")

    def _request(self, request: Request) -> None:
        self.requests.append(request.url)

    def _response(self, response: Response) -> None:
        if response.status >= 400:
            self.refused.append((response.status, response.url))
        if response.request.resource_type == "document":
            self.documents.append(response)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, failure: type[BaseException] | None, *_: object) -> None:
        try:
            if failure is None:
                self.check()
        finally:
            self.context.close()

    # What a person does.

    def open(self, route: str = "overview") -> None:
        """Loads the page at this route, as a bookmark does."""
        self.page.goto(f"{self.url}/#/{route}")
        self.page.locator("#main").wait_for()

    def remember(self, token: str) -> None:
        """As if logged in in this tab before: every page begins with the token."""
        self.tokens.append(token)
        store = f"sessionStorage.setItem('fairlead.token', {json.dumps(token)})"
        self.context.add_init_script(f"try {{ {store} }} catch {{}}")  # about:blank has none

    def log_in(self, token: str) -> None:
        """On the page that asks for a token; returns once it shows something else."""
        self.tokens.append(token)
        self.page.get_by_label("Token").fill(token)
        self.page.get_by_role("button", name="Log in").click()
        self.page.get_by_role("navigation", name="Pages").wait_for()
        self.refused = []  # what was asked before

    def rows(self, table: str) -> Locator:
        return self.page.get_by_role("region", name=table).get_by_role("row")

    def heading(self, name: str) -> None:
        """Waits for a heading with these words."""
        self.page.get_by_role("heading", name=name).first.wait_for()

    # What must hold at the end of every visit.

    def check(self) -> None:
        """No error, no request to elsewhere, a strict policy, no token in a URL."""
        assert self.errors == []
        allowed = {self.url, *self.origins}
        elsewhere = [url for url in self.requests if origin(url) not in allowed and not url.startswith("data:")]
        assert elsewhere == []
        assert self.requests != []
        for token in self.tokens:
            assert [url for url in [*self.requests, self.page.url] if token in url] == []
        assert self.documents != []
        for document in self.documents:
            check_policy(document.headers.get("content-security-policy", ""), allowed)

    def axe(self) -> list[str]:
        """What axe-core finds on the page as it is, serious or worse: rule, help and the first elements."""
        # Evaluated by the debugger, so that the page's policy need not allow it.
        self.page.evaluate(AXE.read_text() + "; undefined")
        found = self.page.evaluate("axe.run(document, {resultTypes: ['violations']})")
        assert found["passes"] or found["violations"], "axe-core looked at nothing"
        return [
            f"{one['id']} ({one['impact']}): {one['help']}: "
            + "; ".join(f"{node['html'][:120]} {node.get('failureSummary', '')[:200]}" for node in one["nodes"][:3])
            for one in found["violations"]
            if one["impact"] in SERIOUS
        ]

    def overflow(self) -> list[str]:
        """Elements that make the page scroll sideways; empty if it does not."""
        return self.page.evaluate(
            """() => {
                const width = document.documentElement.clientWidth;
                if (document.documentElement.scrollWidth <= width) return [];
                return [...document.querySelectorAll('body *')]
                    .filter(e => e.getBoundingClientRect().right > width + 1)
                    .map(e => e.tagName + '.' + e.className).slice(0, 8);
            }"""
        )


def origin(url: str) -> str:
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc}"


def check_policy(policy: str, controllers: set[str]) -> None:
    """Scripts from here alone, none inline, requests to controllers alone, no frame around the page."""
    words = {name: rest.split() for name, _, rest in (part.strip().partition(" ") for part in policy.split(";"))}
    assert words.get("default-src") in (["'none'"], ["'self'"]), policy
    assert words.get("script-src", words["default-src"]) == ["'self'"], policy
    assert words.get("frame-ancestors") == ["'none'"], policy
    assert words.get("base-uri") in (["'none'"], ["'self'"]), policy
    assert set(words.get("connect-src", [])) <= {"'self'", *controllers}, policy
    assert not re.search(r"unsafe|\*", policy), policy
    assert "http" not in policy.replace(policy.partition("connect-src")[2].partition(";")[0], ""), policy
