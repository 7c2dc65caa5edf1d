# SPDX-License-Identifier: Apache-2.0
"""Agents from end to end: what they report of real connections, and what controllers say when they stop or lie."""

import re
import time
from collections.abc import Iterator
from typing import Any

import pytest

from lab import Lab, nginx, topology
from lab.deadline import until
from lab.lab import SERVICE
from lab.server import Server
from lab.tokens import agent_token
from lab.variant import Variant

LONG = 60
REPORT_SECONDS = 25  # two reports, and what a busy machine adds
SILENT_SECONDS = 45  # reports are silent after 30 s
REFUSED = "fairlead_controller_agent_reports_refused_total"


@pytest.fixture(scope="module")
def agents(built: None) -> Iterator[Lab]:
    with Lab(servers=3, muxes=1, variant=Variant(agents=True)) as lab:
        lab.wait_reporting()
        yield lab


def held(server: Server) -> int:
    return len(nginx.clients(server))


def counts(lab: Lab) -> dict[int, int | None]:
    return {number: agent.get("established") for number, agent in lab.agents().items()}


def state(lab: Lab, number: int) -> str:
    return lab.agents()[number]["state"]


def until_counted(lab: Lab, what: str) -> None:
    """Until the controller knows of each server as many connections as the server itself lists."""
    until(
        f"counts are those of the servers {what}",
        lambda: counts(lab) == {number: held(server) for number, server in lab.servers.items()},
        REPORT_SECONDS,
        pause=0.5,
    )


def test_counts_are_those_of_the_servers(agents: Lab) -> None:
    assert counts(agents) == {1: 0, 2: 0, 3: 0}
    with agents.traffic(long=LONG, short_rate=0) as traffic:
        traffic.wait_open()
        until_counted(agents, "while connections are open")
        assert sum(count or 0 for count in counts(agents).values()) == LONG
        assert all(agent["mode"] == "events" for agent in agents.agents().values())
    until_counted(agents, "after they are closed")


def is_silent(lab: Lab, number: int) -> bool:
    return state(lab, number) == "silent"


def is_heard(lab: Lab, number: int) -> bool:
    return state(lab, number) == "reporting"


def test_kill_and_partition(agents: Lab) -> None:
    """A killed agent, and one that reaches no controller, are shown as silent with their last numbers. Once they are
    back, they count what is there. Connections do not notice.
    """
    killed, apart = agents.servers[1], agents.servers[2]
    with agents.traffic(long=LONG, short_rate=0) as traffic:
        traffic.wait_open()
        until_counted(agents, "before")
        before = counts(agents)
        killed.agent.kill()
        apart.run("nft", "add", "table", "inet", "apart")
        try:
            apart.run("nft", "add chain inet apart output { type filter hook output priority 0; }")
            apart.run("nft", f"add rule inet apart output ip daddr {agents.controller.address} drop")
            until("both are silent", lambda: is_silent(agents, 1) and is_silent(agents, 2), SILENT_SECONDS, pause=0.5)
            assert counts(agents) == before and is_heard(agents, 3)
            listed = agents.controller.ctl("backend", "list", "web").splitlines()
            assert re.search(r"silent for \d+ s$", listed[1]) and listed[3].endswith("reporting"), listed
        finally:
            apart.run("nft", "delete", "table", "inet", "apart")
        killed.agent.start()
        until("both report again", lambda: is_heard(agents, 1) and is_heard(agents, 2), SILENT_SECONDS, pause=0.5)
        until_counted(agents, "after that")
        assert counts(agents) == before
    assert traffic.total is not None and traffic.total["broken"] == 0, traffic.broken()


def listed(lab: Lab, number: int) -> str:
    return lab.controller.ctl("backend", "list", SERVICE).splitlines()[number]


def detached_alerts(lab: Lab) -> list[str]:
    alerts = lab.api("GET", "/v1/overview")["alerts"]
    return [alert["text"] for alert in alerts if alert["name"] == "FairleadServerDetached"]


def test_detach(agents: Lab) -> None:
    """A server whose XDP program is taken off its interface is shown as detached, until it is attached again."""
    server = agents.servers[3]
    assert listed(agents, 3).endswith("reporting") and not detached_alerts(agents)
    server.run(server.command, "detach", *server.form)
    try:
        until("it is shown", lambda: listed(agents, 3).endswith("detached from eth0"), REPORT_SECONDS, pause=0.5)
        assert agents.agents()[3]["form"] == {"kind": "bpf", "interface": "eth0", "attached": False}
        assert "detached: eth0" in agents.controller.ctl("agents")
        assert detached_alerts(agents) == [
            f"Backend 3 of web ({server.address}) takes no packet: nothing is attached (eth0)."
        ]
        assert listed(agents, 1).endswith("reporting") and is_heard(agents, 3)
    finally:
        server.attach()
    until("it is not any more", lambda: listed(agents, 3).endswith("reporting"), REPORT_SECONDS, pause=0.5)
    assert not detached_alerts(agents)


def refused_connections(lab: Lab) -> dict[int, int]:
    return {number: agent["signals"]["refused"] for number, agent in lab.agents().items()}


def test_a_server_that_refuses(agents: Lab) -> None:
    """Its signals tell it from the others of its service, within a report or two."""
    sick, client, count = agents.servers[2], agents.clients[0].namespace, 0
    before = refused_connections(agents)
    sick.nginx.kill()
    try:
        for _ in range(60):
            try:
                client.connect(topology.VIP, topology.VIP_PORT, REPORT_SECONDS).close()
            except ConnectionRefusedError:
                count += 1
        expected = before | {2: before[2] + count}
        assert count > 0
        until("it is reported", lambda: refused_connections(agents) == expected, REPORT_SECONDS, pause=0.5)
    finally:
        sick.nginx.start()
    until("it listens again", lambda: agents.agents()[2].get("acceptQueue"), REPORT_SECONDS, pause=0.5)


def refused(lab: Lab) -> float:
    found = [value for name, value in lab.controller.metrics().items() if name.startswith(REFUSED)]
    return sum(found)


def audited(lab: Lab) -> list[dict[str, Any]]:
    return [record for record in lab.api("GET", "/v1/audit") if record["outcome"] == "refused"]


def test_a_foreign_address_is_refused(agents: Lab) -> None:
    """Server 1's agent with the token of server 2: it reports about server 1 all the same, which counts for nothing."""
    own = agents.servers[1].agent
    own.stop()
    before = refused(agents), len(audited(agents))
    liar = agents.start_agent(1, token=agent_token(2))
    try:
        until("the report is refused", lambda: "status 403" in liar.log.read_text(), REPORT_SECONDS)
        liar.expect_alive()
        assert refused(agents) > before[0] and len(audited(agents)) > before[1]
        assert is_heard(agents, 2) and is_heard(agents, 3)
    finally:
        liar.stop()
    begun = time.monotonic()
    agents.start_agent(1)
    until("it reports", lambda: agents.agents()[1]["ageSeconds"] < time.monotonic() - begun, REPORT_SECONDS)
    until("it has counted", lambda: is_heard(agents, 1), REPORT_SECONDS)


def test_a_service_that_is_added(agents: Lab) -> None:
    """The next report's answer says that services changed, and the agent counts the new one."""
    assert SERVICE in {each["service"] for each in agents.api("GET", "/v1/agents?limit=1000")}
    spec = {"name": "api", "vips": ["10.99.0.77"], "ports": [{"protocol": "tcp", "port": 80}]}
    agents.api("POST", "/v1/services", spec)
    agents.change({"op": "add", "id": 1, "address": agents.servers[1].address, "weight": 1}, service="api")

    def api_state() -> str | None:
        listed = agents.api("GET", "/v1/agents?limit=1000")
        return next((each["state"] for each in listed if each["service"] == "api"), None)

    until("the new service is reported", lambda: api_state() == "reporting", REPORT_SECONDS, pause=0.5)
    assert all(agent["state"] == "reporting" for agent in agents.agents().values())
