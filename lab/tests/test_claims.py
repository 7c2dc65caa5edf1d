# SPDX-License-Identifier: Apache-2.0
"""A server that lies about its connections: it claims those of other servers, and keeps silent about its own."""

import pytest

from lab import Lab, nginx, topology
from lab.deadline import until
from lab.false_agent import FalseAgent, flow_hash
from lab.lab import SERVICE
from lab.variant import Variant

WINDOW = 12  # seconds
LONG = 60
SECONDS = 60
NEVER = (3_600.0,)


def status(lab: Lab) -> dict:
    return lab.api("GET", f"/v1/services/{SERVICE}/othello")


@pytest.mark.parametrize("also", ["its own", pytest.param("nothing", marks=pytest.mark.long)])
def test_claims(built: None, also: str) -> None:
    """What it claims of others is refused, and the next arrays send them to their servers as before."""
    variant = Variant(agents=True, steering="othello")
    with Lab(servers=3, muxes=1, window=WINDOW, variant=variant) as lab:
        lab.wait_reporting()
        with lab.traffic(long=LONG, short_rate=0) as traffic:
            traffic.wait_open()
            until("all connections are known", lambda: status(lab)["connections"] == LONG, SECONDS)
            liar = lab.servers[1]
            liar.agent.stop()
            false = FalseAgent(liar.namespace, liar.number)
            service = next(one for one in false.services()["services"] if one["name"] == SERVICE)
            hashes = {
                number: {flow_hash(service, topology.VIP, client) for client in nginx.clients(server)}
                for number, server in lab.servers.items()
            }
            foreign = hashes[2] | hashes[3]
            before = status(lab)["refusedClaims"]["implausible"]
            false.claim(SERVICE, foreign | (hashes[1] if also == "its own" else set()))
            until(
                "the claims are refused",
                lambda: status(lab)["refusedClaims"]["implausible"] >= before + len(foreign),
                SECONDS,
            )
            assert status(lab)["connections"] == len(foreign) + (len(hashes[1]) if also == "its own" else 0)
            lab.weights({2: 40})
            lab.wait_applied()
            until("arrays have followed", lambda: status(lab)["miscoded"] == 0, SECONDS)
            traffic.wait_seconds(WINDOW)
            traffic.talk()
            traffic.wait_seconds(3)
        broken = traffic.broken()
    assert len(broken) <= (0 if also == "its own" else len(hashes[1])), broken
