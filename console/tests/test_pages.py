# SPDX-License-Identifier: Apache-2.0
"""Every page against a lab with traffic: what it shows, to whom, in both themes, on a phone and by keyboard."""

import re
from collections.abc import Callable

import pytest

from console.tests.browser import PHONE, Visit
from console.tests.conftest import url
from lab import Lab, build
from lab.lab import SERVICE
from lab.traffic import Traffic

# By route: a heading, and words that only data of the lab can have brought there.
PAGES = {
    "overview": ("Overview|Services|Datacenter", SERVICE),
    f"service/{SERVICE}": (SERVICE, "10.1.0.21"),
    f"change/{SERVICE}": ("Change", "10.1.0.21"),
    "explain?flow=tcp 10.2.1.2:40001 10.99.0.1:80": ("Explain", "as committed"),
    "muxes": ("Muxes", "10.1.0.11"),
    "muxes/no_backend": ("no_backend", "weight 0"),
    "audit": ("Audit", "POST /v1/services"),
}
THEMES = ("light", "dark")


def show(visit: Visit, route: str) -> None:
    """Opens the page, and waits until it shows what only this lab has."""
    heading, words = PAGES[route]
    visit.open(route)
    visit.page.get_by_role("heading", name=re.compile(heading, re.IGNORECASE)).first.wait_for()
    visit.page.locator("#main").get_by_text(re.compile(re.escape(words), re.IGNORECASE)).first.wait_for()


@pytest.mark.parametrize("route", PAGES)
def test_a_page_shows_the_lab(traffic: Traffic, operator: Visit, route: str) -> None:
    show(operator, route)


@pytest.mark.parametrize("theme", THEMES)
def test_axe_finds_nothing_serious(traffic: Traffic, visit: Callable[..., Visit], theme: str) -> None:
    someone = visit(color_scheme=theme)
    found = []
    for route in PAGES:
        show(someone, route)
        found += [f"{route}: {one}" for one in someone.axe()]
    assert someone.page.evaluate("document.documentElement.dataset.theme") == theme
    assert found == []


def test_axe_finds_nothing_serious_before_the_login(visit: Callable[..., Visit]) -> None:
    someone = visit(token=None)
    someone.open()
    someone.page.get_by_label("Token").wait_for()
    assert someone.axe() == []


def test_a_phone_does_not_scroll_sideways(traffic: Traffic, visit: Callable[..., Visit]) -> None:
    someone = visit(viewport=PHONE, has_touch=True, is_mobile=True)
    found = {}
    for route in PAGES:
        show(someone, route)
        found[route] = someone.overflow()
    assert {route: wide for route, wide in found.items() if wide} == {}


def test_the_keyboard_alone(lab: Lab, visit: Callable[..., Visit]) -> None:
    """Logs in and goes from page to page without a mouse; what has the focus is on the screen."""
    someone = visit(token=None)
    someone.open()
    someone.page.get_by_label("Token").wait_for()
    keys = someone.page.keyboard
    focus_by_tab(someone, lambda element: element.get("name") == "token")
    someone.tokens.append(lab.controller.api.headers["Authorization"].removeprefix("Bearer "))
    keys.type(someone.tokens[0])
    keys.press("Enter")
    someone.page.get_by_role("navigation", name="Pages").wait_for()
    for name in ("Overview", "Explain", "Muxes and servers", "Audit and events"):
        someone.page.locator("body").evaluate("body => { document.activeElement.blur(); }")
        focus_by_tab(someone, lambda element, name=name: element.get("tag") == "A" and element.get("text") == name)
        keys.press("Enter")
        someone.page.locator("nav a[aria-current=page]", has_text=name).wait_for()
    someone.open("explain")
    focus_by_tab(someone, lambda element: element.get("name") == "flow")
    keys.type("tcp 10.2.1.2:40001 10.99.0.1:80")
    keys.press("Enter")
    someone.heading("Steps")


FOCUS = """() => {
    const e = document.activeElement;
    const box = e.getBoundingClientRect();
    return {tag: e.tagName, name: e.getAttribute('name'), text: e.textContent.trim(),
            seen: box.width > 0 && box.height > 0 && box.bottom > 0 && box.top < innerHeight,
            outlined: getComputedStyle(e).outlineStyle !== 'none' || getComputedStyle(e).boxShadow !== 'none'};
}"""


def focus_by_tab(visit: Visit, wanted: Callable[[dict], bool], most: int = 80) -> None:
    """Presses Tab until an element has the focus that is wanted, seen and marked."""
    seen = []
    for _ in range(most):
        element = visit.page.evaluate(FOCUS)
        if wanted(element):
            assert element["seen"] and element["outlined"], element
            return
        seen.append(element["text"][:30] or element["name"] or element["tag"])
        visit.page.keyboard.press("Tab")
    raise AssertionError(f"Tab never comes there; it comes to {seen}")


@pytest.mark.parametrize(
    ("token", "said"),
    [("", ""), ("wrong", "token"), ("0123456789abcdef0123456789", "token")],
    ids=["none", "bad", "long"],
)
def test_a_bad_token_is_refused(visit: Callable[..., Visit], token: str, said: str) -> None:
    someone = visit(token=None)
    someone.open()
    field = someone.page.get_by_label("Token")
    if token:
        someone.tokens.append(token)
        field.fill(token)
    someone.page.get_by_role("button", name="Log in").click()
    if token:
        someone.page.get_by_role("alert").filter(has_text=re.compile("token", re.IGNORECASE)).wait_for()
        assert any(status == 401 for status, _ in someone.refused)
    assert someone.page.get_by_role("navigation", name="Pages").count() == 0
    assert someone.page.evaluate("sessionStorage.length + localStorage.length") == 0


def test_a_token_lives_in_its_tab_alone(operator: Visit) -> None:
    """It survives a reload, other tabs don't have it, and nothing is left of it once logged out."""
    operator.page.reload()
    operator.page.get_by_role("navigation", name="Pages").wait_for()
    other = operator.context.new_page()
    other.goto(operator.url)
    other.get_by_label("Token").wait_for()
    assert operator.context.cookies() == []
    assert operator.tokens[0] not in operator.page.evaluate("JSON.stringify(localStorage)")
    operator.page.get_by_role("button", name="Log out").click()
    operator.page.get_by_label("Token").wait_for()
    assert operator.tokens[0] not in operator.page.evaluate("JSON.stringify(sessionStorage)")


def test_a_page_that_is_not_there(operator: Visit) -> None:
    operator.open("nowhere")
    operator.heading("Not found")


def test_the_page_is_not_shown_in_frames(lab: Lab, visit: Callable[..., Visit]) -> None:
    someone = visit(token=None)
    someone.open()
    headers = someone.documents[0].headers
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["referrer-policy"] == "no-referrer"
    assert someone.url == url(lab.controller)


def test_every_verdict_has_a_page() -> None:
    """Those of the mux's list, and no other."""
    source = (build.ROOT / "mux" / "flow" / "verdict.h").read_text()
    names = re.findall(r'^\tVERDICT\(\w+, "(\w+)", \w+\)', source, re.MULTILINE)
    never_counted = {"fragment", "peer"}
    page = (build.ROOT / "console" / "src" / "muxes" / "reasons.ts").read_text()
    assert set(re.findall(r"^  (\w+): \{", page, re.MULTILINE)) == set(names) - never_counted
