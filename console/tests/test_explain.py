# SPDX-License-Identifier: Apache-2.0
"""A flow explained as by controller and muxes, and packets of a service as they come."""

import re
import subprocess
from collections.abc import Callable

import pytest

from console.tests.browser import Visit
from lab import Lab, topology
from lab.lab import SERVICE
from lab.rest import Refused
from lab.tokens import VIEWER
from lab.traffic import Traffic

CLIENT = topology.client_address(1)
FLOW = f"tcp {CLIENT}:40001 {topology.VIP}:80"
SECONDS = 3


def explain(visit: Visit, text: str) -> None:
    visit.open("explain")
    visit.page.get_by_label("A flow, or a line of output").fill(text)
    visit.page.get_by_role("button", name="Explain").click()


@pytest.mark.parametrize(
    "text",
    [FLOW, f"12:00:00.123456 IP {CLIENT}.40001 > {topology.VIP}.80: Flags [S], seq 1, win 64240, length 0"],
    ids=["flow", "tcpdump"],
)
def test_a_flow_goes_where_controller_and_muxes_say(lab: Lab, viewer: Visit, text: str) -> None:
    lab.wait_applied()
    said = lab.explain(CLIENT, 40001)
    explain(viewer, text)
    answer = viewer.page.get_by_label("Answer")
    answer.wait_for()
    shown = re.sub(r"\s+", " ", answer.inner_text())
    assert f"Backend {said['current']['id']} {said['current']['address']}" in shown
    assert f"Bucket {said['bucket']:,}" in shown
    muxes = viewer.page.get_by_role("region", name="Muxes").last
    for number in lab.muxes:
        here = lab.mux_explain(number, CLIENT, 40001)
        row = muxes.get_by_role("row").filter(has_text=f"mux{number}").inner_text()
        assert f"{here['current']['id']} at {here['current']['address']}" in row
        assert "yes" in row
    viewer.page.get_by_text(f"to backend {said['current']['id']} ({said['current']['address']})").wait_for()


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("hello", "does not have two addresses with ports; allowed"),
        ("tcp 10.2.1.2:1 10.9.9.9:80", "is not a VIP; allowed: 10.99.0.1"),
        (f"tcp 10.2.1.2:1 {topology.VIP}:81", "port 'tcp 81' is not served at 10.99.0.1; allowed: tcp 80"),
        (f"tcp 10.2.1.999:1 {topology.VIP}:80", "source '10.2.1.999'"),
    ],
)
def test_what_is_no_flow_is_named(lab: Lab, viewer: Visit, text: str, said: str) -> None:
    explain(viewer, text)
    viewer.page.get_by_role("alert").filter(has_text=said).wait_for()


def test_packets_are_shown_and_saved(lab: Lab, traffic: Traffic, operator: Visit) -> None:
    """They are those of the service; the saved file is one that tcpdump reads, with as many packets."""
    operator.open("explain")
    page = operator.page
    page.locator("select[name=service]").select_option(SERVICE)
    page.locator("select[name=mux]").select_option("mux1")
    page.get_by_label("Seconds", exact=True).fill(str(SECONDS))
    page.get_by_role("button", name="Start").click()
    packets = page.get_by_role("region", name="Packets")
    packets.get_by_role("link", name="service").first.wait_for()
    page.get_by_role("button", name="Start").and_(page.locator(":enabled")).wait_for()
    rows = packets.get_by_role("row").filter(has_text=f"→ {topology.VIP}:80")
    assert rows.count() > 0
    assert "gue to 10.1.0.2" in rows.first.inner_text()
    with page.expect_download() as saving:
        page.get_by_role("button", name="Download pcapng").click()
    path = lab.instance.directory / "sample.pcapng"
    saving.value.save_as(path)
    assert saving.value.suggested_filename == f"{SERVICE}-mux1.pcapng"
    read = subprocess.run(["tcpdump", "-nr", str(path)], capture_output=True, text=True, check=True).stdout
    shown = int(packets.get_by_role("table").get_attribute("aria-rowcount")) - 1
    assert len(read.splitlines()) == shown > 0


def test_a_viewer_sees_no_packets(lab: Lab, visit: Callable[..., Visit]) -> None:
    someone = visit(VIEWER)
    someone.open("explain")
    someone.page.get_by_role("note").filter(has_text=f"you need operator of {SERVICE}").wait_for()
    start = someone.page.get_by_role("button", name="Start")
    assert start.is_disabled() and start.get_attribute("title").startswith("Your role is viewer")
    assert someone.refused == []


def test_packets_need_the_permission_of_the_mux(lab: Lab) -> None:
    """Without the flag a mux shows packets to its own host alone; the controllers are others."""
    with pytest.raises(Refused, match="verdict 'nothing' is refused"):
        lab.api("GET", f"/v1/services/{SERVICE}/muxes/mux1/sample?seconds=1&verdict=nothing")
    with pytest.raises(Refused, match="id 'mux9' does not exist; allowed: mux1, mux2"):
        lab.api("GET", f"/v1/services/{SERVICE}/muxes/mux9/sample?seconds=1")
