# SPDX-License-Identifier: Apache-2.0
"""The leading controller is killed while the page is open: the page finds the next one, and goes on."""

import re
from collections.abc import Callable

from playwright.sync_api import Route

from console.tests.browser import Visit
from console.tests.conftest import leader, origins, url
from lab import Lab
from lab.controller import Controller
from lab.deadline import until
from lab.lab import SERVICE

NEXT_SECONDS = 60  # until another controller leads, and the page has found it, on a busy machine


def test_the_page_finds_the_next_leader(lab: Lab, visit: Callable[..., Visit]) -> None:
    """It was served by the one that dies, keeps its token, and shows what the next one writes."""
    dying = leader(lab)
    other = next(each for each in lab.controllers if each is not dying)
    someone = visit(at=dying)
    someone.open("audit")
    someone.page.get_by_text("Live.").wait_for()
    until("the page knows both", lambda: knows(someone, other), 40, pause=0.5)
    dying.process.kill()
    try:
        until("the other one leads", lambda: other.leads, NEXT_SECONDS, pause=0.2)
        status = someone.page.get_by_role("status").filter(has_text="live").filter(has_text=other.address)
        status.wait_for(timeout=1000 * NEXT_SECONDS)
        path = f"/v1/services/{SERVICE}/backends/3"
        generation = other.api("PATCH", path, {"weight": 99})["generation"]
        someone.rows("Events").filter(has_text=f"generation {generation}, version").wait_for()
        someone.rows("Audit records").filter(has_text='"weight":99').first.wait_for()
        # By the page, too: it asks the next leader about a flow.
        someone.page.get_by_role("link", name="Explain").click()
        someone.page.get_by_label("A flow, or a line of output").fill("tcp 10.2.1.2:7 10.99.0.1:80")
        someone.page.get_by_role("button", name="Explain").click()
        someone.page.get_by_label("Answer").filter(has_text=re.compile(rf"Generation\s*{generation}")).wait_for()
    finally:
        dying.start()
        dying.wait_serving()
        lab.weights({3: 100})
    assert any(request.startswith(url(other)) for request in someone.requests)


def test_a_controller_that_the_page_may_not_ask_is_linked(lab: Lab, operator: Visit) -> None:
    """One at a literal IPv6 address, which no policy can name: it is never asked, and offered when no other answers."""
    beyond = "http://[2001:db8::7]:8080"

    asked = "**/v1/metrics/targets?part=controller"
    known = [each.removeprefix("http://") for each in (*origins(lab), beyond)]
    targets = [{"targets": [each], "labels": {"__scheme__": "http", "part": "controller"}} for each in known]
    is_online = True

    def answer(route: Route) -> None:
        if is_online:
            route.fulfill(json=targets)
        else:
            route.abort("internetdisconnected")

    operator.page.route(asked, answer)  # until the end: the page asks again now and then
    with operator.page.expect_response(asked):
        operator.page.reload()
    operator.page.get_by_role("navigation", name="Pages").wait_for()
    operator.page.get_by_role("link", name="Explain").click()
    is_online = False
    operator.context.set_offline(True)
    try:
        link = operator.page.get_by_role("alert").get_by_role("link", name=beyond)
        link.wait_for(timeout=60_000)
        assert link.get_attribute("href") == f"{beyond}/#/explain"
    finally:
        is_online = True
        operator.context.set_offline(False)
    link.wait_for(state="detached", timeout=60_000)
    operator.page.unroute(asked)


def test_a_page_that_was_loaded_before_another_controller_ran_links_to_it(
    lab: Lab, visit: Callable[..., Visit]
) -> None:
    """Its policy names no other one, as its controller knew none. It learns of one, and does not ask it."""
    own, other = lab.controllers
    for each in (own, other):
        each.process.stop()
    own.start()
    try:
        own.wait_serving()
        someone = visit(at=own)
        assert url(other) not in someone.documents[-1].headers["content-security-policy"]
    finally:
        other.start()
        other.wait_serving()
    until("the controller names the other", lambda: knows(someone, other), 40, pause=0.5)
    with someone.page.expect_response("**/v1/metrics/targets?part=controller", timeout=60_000):
        pass  # the page asks now and then
    someone.context.set_offline(True)
    link = someone.page.get_by_role("alert").get_by_role("link", name=url(other))
    try:
        link.wait_for(timeout=60_000)
    finally:
        someone.context.set_offline(False)
    link.wait_for(state="detached", timeout=60_000)


def knows(visit: Visit, controller: Controller) -> bool:
    """Whether the page was told of the controller: it has asked which ones there are."""
    return visit.page.evaluate(
        """async (address) => {
            const headers = {Authorization: `Bearer ${sessionStorage.getItem('fairlead.token')}`};
            const asked = await fetch('/v1/metrics/targets?part=controller', {headers});
            return JSON.stringify(await asked.json()).includes(address);
        }""",
        controller.address,
    )
