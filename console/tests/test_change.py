# SPDX-License-Identifier: Apache-2.0
"""Changes of a pool by the page: planned and applied, overtaken by somebody else, refused; a drain to its end."""

from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import Request, Route

from console.tests.browser import Visit
from lab import Lab
from lab.deadline import until
from lab.lab import SERVICE
from lab.tokens import OF_ANOTHER, VIEWER
from lab.traffic import Traffic

DRAINED = 2


def edit(visit: Visit, backend: int, weight: int) -> None:
    visit.open(f"change/{SERVICE}")
    visit.page.get_by_label(f"Weight of backend {backend}").fill(str(weight))
    visit.page.get_by_label("Full buckets that would lose a former owner").select_option("force")


def plan(visit: Visit) -> dict[str, Any]:
    """The API's answer, which the page shows."""
    with visit.page.expect_response("**/changes?dryRun=true*") as answer:
        visit.page.get_by_role("button", name="Plan 1 change").click()
    visit.page.get_by_text("Buckets that move").wait_for()
    return answer.value.json()


def weight(lab: Lab, backend: int) -> int:
    return lab.backends()[backend]["weight"]


def test_a_plan_is_drawn_and_changes_nothing_until_it_is_applied(lab: Lab, operator: Visit) -> None:
    lab.weights({1: 100})
    edit(operator, 1, 160)
    leaving = plan(operator)["leaving"]
    picture = operator.page.get_by_role("img", name="Moves:")
    assert "to backend 1" in (picture.get_attribute("aria-label") or "")
    rows = operator.rows("Connections in these buckets")
    shown = [rows.nth(row).get_by_role("cell").all_inner_texts() for row in range(1, rows.count())]
    counts = [f"{'about ' if each['estimated'] else ''}{each['connections']:,}" for each in leaving]
    wanted = [
        (str(each["backend"]), f"{each['buckets']:,}", count) for each, count in zip(leaving, counts, strict=True)
    ]
    assert wanted and [tuple(cells[:3]) for cells in shown] == wanted
    assert all(cells[3].startswith("held, broken at ") for cells in shown)
    assert weight(lab, 1) == 100
    operator.page.get_by_role("button", name="Apply").click()
    operator.page.get_by_text("Applied.").wait_for()
    assert weight(lab, 1) == 160
    lab.wait_applied()
    lab.weights({1: 100})


def test_a_write_between_seeing_and_applying_is_shown(lab: Lab, operator: Visit) -> None:
    """It comes while the request is on its way, so that the API refuses it; then the edit is kept, and applied."""
    lab.weights({1: 100, 3: 100})
    edit(operator, 1, 130)
    plan(operator)
    overtaken: list[int] = []

    def overtake(route: Route, _: Request) -> None:
        if not overtaken:
            overtaken.append(lab.weights({3: 88})["generation"])
        route.continue_()

    operator.page.route("**/changes?force=true", overtake)
    operator.page.get_by_role("button", name="Apply").click()
    conflict = operator.page.get_by_role("alert").filter(has_text=f"Someone else changed {SERVICE}")
    conflict.wait_for()
    assert 412 in {status for status, _ in operator.refused}
    assert f"the service has {overtaken[0]} now" in conflict.inner_text()
    row = conflict.get_by_role("row").filter(has_text="weight 88")
    assert "weight 100" in row.inner_text() and row.get_by_role("cell").first.inner_text() == "3"
    conflict.get_by_role("listitem").filter(has_text="lab").filter(has_text='"weight":88').wait_for()
    assert (weight(lab, 1), weight(lab, 3)) == (100, 88)
    conflict.get_by_role("button", name="Keep my edits").click()
    plan(operator)
    operator.page.get_by_role("button", name="Apply").click()
    operator.page.get_by_text("Applied.").wait_for()
    assert (weight(lab, 1), weight(lab, 3)) == (130, 88)
    lab.weights({1: 100, 3: 100})


def test_a_change_of_somebody_else_is_shown_before_anything_is_sent(lab: Lab, operator: Visit) -> None:
    lab.weights({1: 100, 4: 100})
    edit(operator, 1, 140)
    lab.weights({4: 77})
    conflict = operator.page.get_by_role("alert").filter(has_text=f"Someone else changed {SERVICE}")
    conflict.get_by_role("row").filter(has_text="weight 77").wait_for()
    assert operator.page.get_by_role("button", name="Apply").is_disabled()
    conflict.get_by_role("button", name="Discard my edits").click()
    until(
        "the new weight is in the form",
        lambda: operator.page.get_by_label("Weight of backend 4").input_value() == "77",
        20,
    )
    assert operator.page.get_by_label("Weight of backend 1").input_value() == "100"
    lab.weights({4: 100})


@pytest.mark.parametrize(
    ("token", "role"),
    [(VIEWER, "viewer"), (OF_ANOTHER, "operator of another")],
    ids=["viewer", "operator of another service"],
)
def test_who_may_not_change_is_not_offered_to(lab: Lab, visit: Callable[..., Visit], token: str, role: str) -> None:
    """Every control of the pool is disabled and says why; nothing is sent that the API would refuse."""
    lab.weights({1: 100})
    someone = visit(token)
    reason = f"Your role is {role}; you need operator of {SERVICE}."
    someone.open(f"service/{SERVICE}")
    link = someone.page.get_by_role("link", name="Change", exact=True).and_(someone.page.get_by_title(reason))
    link.wait_for()
    assert link.get_attribute("aria-disabled") == "true" and link.get_attribute("href") is None
    someone.open(f"change/{SERVICE}")
    someone.page.get_by_role("note").filter(has_text=reason).wait_for()
    someone.page.get_by_label("Weight of backend 1").wait_for()
    controls = someone.page.get_by_role("region", name="Pool").first.locator("td input, td select, td button").all()
    controls += [someone.page.get_by_role("button", name=name) for name in ("Plan 0 changes", "Apply")]
    labels = ("Add backends", "Full buckets that would lose a former owner")
    controls += [someone.page.get_by_label(label) for label in labels]
    assert len(controls) >= 3 * len(lab.backends())
    for control in controls:
        assert control.is_disabled()
        assert control.get_attribute("title") == reason
        assert someone.page.locator(f"#{control.get_attribute('aria-describedby')}").inner_text().endswith(reason)
    assert someone.axe() == []
    assert someone.refused == []
    assert weight(lab, 1) == 100


def drains(lab: Lab) -> dict[int, dict[str, Any]]:
    return {each["backend"]: each for each in lab.api("GET", "/v1/drains") if each["service"] == SERVICE}


def test_a_drain_is_seen_to_its_end(lab: Lab, traffic: Traffic, viewer: Visit) -> None:
    """The page counts its connections down; clients leave the server, and the page says that it ended."""
    server = lab.servers[DRAINED].name
    lab.weights(dict.fromkeys(lab.backends(), 100))
    until("the server has connections", lambda: traffic.held_by(server), 40, pause=0.2)
    lab.api("POST", f"/v1/services/{SERVICE}/drains?force=true", {"ids": [DRAINED]})
    viewer.open(f"service/{SERVICE}")
    drain = viewer.page.get_by_role("listitem").filter(has_text=f"Backend {DRAINED}").filter(has_text="draining")
    drain.filter(has_text="connections left").wait_for(timeout=60_000)
    drain.filter(has_text="its reports do not count yet: ").wait_for(timeout=5_000)
    traffic.renew(server)
    try:
        ended = viewer.page.get_by_role("listitem").filter(has_text=f"Backend {DRAINED}").filter(has_text="ended: ")
        ended.filter(has_text="no connection left").wait_for(timeout=90_000)
        assert drains(lab)[DRAINED]["state"] == "ended"
        progress = viewer.page.get_by_role("progressbar", name=f"Drain of backend {DRAINED}")
        assert progress.evaluate("bar => bar.value") == 1
    finally:
        lab.api("POST", f"/v1/services/{SERVICE}/undrain?force=true", {"ids": [DRAINED]})
    lab.wait_applied()
    traffic.wait_quiet()
    assert traffic.broken() == []
