# SPDX-License-Identifier: Apache-2.0
"""MPTCP through the muxes: every further subflow reaches the server of the first, also during changes."""

from collections.abc import Iterator

import pytest

from lab import Lab
from lab.deadline import until
from lab.mptcp import IDS, MptcpService
from lab.rest import Refused

CONNECTIONS = 100
MOST = 90  # of their second subflows


@pytest.fixture
def service(lab: Lab) -> Iterator[MptcpService]:
    with MptcpService(lab) as service:
        yield service


def dropped(lab: Lab, reason: str) -> float:
    return sum(mux.metrics()[f'fairlead_mux_drops_total{{reason="{reason}"}}'] for mux in lab.running_muxes())


def test_plain_hashing_loses_most_second_subflows(lab: Lab) -> None:
    """With 4 servers, one in 4 is hashed to the right one; 50 of 100 would be 5.8 standard deviations above."""
    with MptcpService(lab, by_id=False) as service:
        before = service.counters()["MPJoinNoTokenFound"]

        def refused() -> int:
            return service.counters()["MPJoinNoTokenFound"] - before

        with service.traffic(CONNECTIONS) as traffic:
            traffic.wait_open()
            until("most second subflows are tried", lambda: refused() + service.subflows()[1] >= MOST, 60)
            subflows = service.subflows()
        print(f"{subflows[1]} of {CONNECTIONS} second subflows joined")
        assert subflows.total() == CONNECTIONS
        assert subflows[1] <= CONNECTIONS // 2
        assert refused() >= CONNECTIONS // 2


def test_every_second_subflow_joins_the_server_of_the_first(lab: Lab, service: MptcpService) -> None:
    """A server is added, one drained, and a mux killed; then the clients of the drained one connect again."""
    before = service.counters()
    with service.traffic(CONNECTIONS) as traffic:
        traffic.wait_open()
        service.wait_joined(CONNECTIONS)
        held = service.held()
        assert len(held) == len(service.servers)
        after = service.counters()
        assert after["MPJoinAckRx"] - before["MPJoinAckRx"] == CONNECTIONS
        assert after["MPJoinNoTokenFound"] == before["MPJoinNoTokenFound"]

        drained = min(service.servers)
        added, _ = lab.add_server()
        service.add(added)
        service.drain(drained)
        traffic.wait_seconds(2)
        lab.kill_mux(1)
        until("the route loses mux1", lambda: lab.muxes[1].address not in lab.router.vip_hops(), 60)
        traffic.wait_seconds(3)
        traffic.wait_quiet()
        assert service.held() == held
        service.wait_joined(CONNECTIONS)
        lab.start_mux(1)

        for number in sorted(service.servers)[:2]:  # a second one, so that some connections surely use the new server
            traffic.renew(f"server{number}")
        until("no client holds the drained server", lambda: f"server{drained}" not in service.held(), 60)
        traffic.wait_open()
        service.wait_joined(CONNECTIONS)
        assert added.name in service.held()
        total = traffic.stop()
    lab.remove_server(added.number)
    assert total["broken"] == 0, traffic.broken()
    assert service.counters()["MPJoinNoTokenFound"] == before["MPJoinNoTokenFound"]
    print(f"{total['connections']} connections, {total['requests']} requests, by server {dict(total['servers'])}")


def test_connections_outlive_the_way_of_their_first_subflow(lab: Lab, service: MptcpService) -> None:
    """Only the second subflow carries them, so it really ends where the connection is."""
    with service.traffic(CONNECTIONS) as traffic:
        traffic.wait_open()
        service.wait_joined(CONNECTIONS)
        lab.router.namespace.ip(*(f"link set {client.name} down" for client in lab.clients))
        try:
            traffic.wait_seconds(5)
            traffic.wait_quiet()
        finally:
            lab.router.namespace.ip(*(f"link set {client.name} up" for client in lab.clients))
        total = traffic.stop()
    assert total["broken"] == 0, traffic.broken()
    assert total["connections"] == CONNECTIONS


def test_explain_and_drops_by_id(lab: Lab, service: MptcpService) -> None:
    """Controller and muxes report where a port goes; packets to one without a server have their own drop reason."""
    number = max(service.servers)
    query = "protocol=tcp&source=10.2.1.2&sourcePort=40000&destination=10.99.0.1&destinationPort="
    first = service.first
    for port, current in ((first + number, number), (first, None), (first + IDS, None)):
        answers = [lab.api("GET", f"/v1/services/mptcp/explain?{query}{port}")]
        answers += [mux.http("GET", f"/explain?service=mptcp&{query}{port}") for mux in lab.muxes.values()]
        assert {answer.get("current", {}).get("id") for answer in answers} == {current}
        assert not any("bucket" in answer for answer in answers)
    before = dropped(lab, "no_backend_id")
    with pytest.raises(OSError):
        lab.clients[0].namespace.connect("10.99.0.1", first + IDS, 0.5)
    assert dropped(lab, "no_backend_id") > before
    with pytest.raises(Refused) as outside:
        service.change({"op": "add", "id": IDS + 1, "address": "10.1.0.200", "weight": 100})
    assert outside.value.problem["field"] == "id" and f"{first}-{first + IDS}" in outside.value.problem["allowed"]
    with pytest.raises(Refused) as overlap:
        lab.api("PATCH", "/v1/services/web", {"ports": [{"protocol": "tcp", "port": first + 5}]})
    assert overlap.value.status == 409
    assert lab.service()["ports"] == [{"protocol": "tcp", "port": 80}]
