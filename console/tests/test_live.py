# SPDX-License-Identifier: Apache-2.0
"""What pages show as it happens: counters of muxes, events, records; for someone who may see less, that."""

import re
from collections.abc import Callable

import pytest

from console.tests.browser import Visit
from console.tests.conftest import leader
from lab import Lab
from lab.deadline import until
from lab.lab import SERVICE
from lab.tokens import OPERATOR, VIEWER
from lab.traffic import Traffic


def test_muxes_show_rates_lag_and_servers(lab: Lab, traffic: Traffic, viewer: Visit) -> None:
    viewer.open("muxes")
    muxes = viewer.page.get_by_role("region", name="Muxes").first
    row = muxes.get_by_role("row").filter(has_text="mux1")
    until("the packets of mux1 are counted", lambda: re.search(r"connected", row.inner_text()), 20, pause=0.2)
    rate = row.get_by_role("cell").nth(5)
    until("packets of traffic are shown", lambda: float(number(rate.inner_text())) > 0, 30, pause=0.2)
    assert "1 of 1" in row.inner_text() and "10.1.0.1" in row.inner_text()
    viewer.page.get_by_text("Rings on muxes: 2, all at the committed generation").wait_for()
    # A new leader has not heard an agent before its next report, up to 30 s after the attempts that failed.
    lab.wait_reporting(60)
    reporting = viewer.rows("Agents").filter(has_text="reporting")
    until("the page shows all agents as reporting", lambda: reporting.count() == len(lab.agents()), 30, pause=0.2)


def number(text: str) -> str:
    return re.sub(r"[^0-9.]", "", text) or "0"


def test_drops_are_named_and_explained(lab: Lab, viewer: Visit) -> None:
    """A port that the VIP lacks; its drops lead to the page of the reason."""
    refused = "curl -s --max-time 0.3 http://10.99.0.1:9000/ && exit 1 || true"
    lab.clients[0].run("sh", "-c", "; ".join([refused] * 3))
    viewer.open("muxes")
    link = viewer.page.get_by_role("region", name="Drop reasons").get_by_role("link", name="no_service_port")
    link.click()
    viewer.page.get_by_role("heading", name="Drop reason no_service_port").wait_for()
    viewer.page.get_by_text("its service has no such protocol and port").first.wait_for()


def test_a_mux_that_dies_is_absent_until_it_is_back(lab: Lab, viewer: Visit) -> None:
    """Its row stays, since it is still one of the cluster; its rings no longer count."""
    viewer.open("muxes")
    row = viewer.page.get_by_role("region", name="Muxes").first.get_by_role("row").filter(has_text="mux2")
    absent = row.filter(has=viewer.page.get_by_role("cell", name="absent", exact=True))
    row.filter(has_text="connected").wait_for()
    assert absent.count() == 0
    lab.kill_mux(2)
    try:
        absent.wait_for(timeout=40_000)
        assert set(row.get_by_role("cell").all_inner_texts()) <= {"mux2", "absent", "\u2013", ""}
        viewer.page.get_by_text("Rings on muxes: 1, all at the committed generation").wait_for()
    finally:
        lab.start_mux(2)
    absent.wait_for(state="detached")
    viewer.page.get_by_text("Rings on muxes: 2, all at the committed generation").wait_for()


def test_events_and_records_come_by_themselves(lab: Lab, operator: Visit) -> None:
    operator.open("audit")
    operator.page.get_by_text("Live.").wait_for()
    generation = lab.weights({4: 101})["generation"]
    event = operator.rows("Events").filter(has_text=f"generation {generation}, version")
    event.wait_for()
    record = operator.rows("Audit records").filter(has_text="/changes").filter(has_text='"weight":101').first
    record.wait_for()
    assert "lab" in record.inner_text() and "committed" in record.inner_text()
    lab.weights({4: 100})
    operator.page.get_by_role("searchbox", name="Service").fill("none")
    operator.page.get_by_text("No matching event").wait_for()
    operator.page.get_by_role("searchbox", name="Service").fill(SERVICE)
    event.wait_for()


def test_a_viewer_reads_no_audit(viewer: Visit) -> None:
    """It is not asked for: the page knows the role."""
    viewer.open("audit")
    viewer.page.get_by_role("note").filter(has_text="Your role is viewer; you need admin of all services.").wait_for()
    viewer.page.get_by_text("Live.").wait_for()
    assert viewer.refused == []


def test_generations_before_the_page_was_opened_show_what_they_changed(lab: Lab, visit: Callable[..., Visit]) -> None:
    """To viewers too, by the memory of the leader, which has seen all of its own; admins see who did it."""
    before = {number: each["buckets"] for number, each in lab.backends().items()}
    plan = lab.weights({1: 50})
    lost = before[1] - lab.backends()[1]["buckets"]
    assert lost > 0 and plan["movedBuckets"] > 0
    for token, who in ((VIEWER, ""), (OPERATOR, "lab")):
        someone = visit(token, at=leader(lab))
        someone.open(f"service/{SERVICE}")
        cell = someone.page.get_by_role("cell", name=f"{plan['generation']}", exact=True)
        row = someone.rows(f"Generations of {SERVICE}").filter(has=cell)
        row.filter(has_text=f"1: \u2212{lost:,}").filter(has_text=who).first.wait_for()
        assert f"{plan['movedBuckets']:,}" in row.first.inner_text()
    lab.weights({1: 100})


@pytest.mark.long  # EventStreamsTest has slow clients; this is the page's own reconnection
def test_events_go_on_after_a_pause_of_the_network(lab: Lab, operator: Visit) -> None:
    operator.open("audit")
    operator.page.get_by_text("Live.").wait_for()
    operator.context.set_offline(True)
    lost = operator.page.get_by_role("status").filter(has_text="no controller answers, trying again")
    lost.wait_for(timeout=60_000)
    operator.context.set_offline(False)
    operator.page.get_by_text("Live.").wait_for(timeout=60_000)
