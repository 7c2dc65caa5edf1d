# SPDX-License-Identifier: Apache-2.0
"""A service that is deleted with open connections, and brought back: all of them go on."""

from lab import Lab
from lab.deadline import until
from lab.lab import SERVICE
from lab.tests.test_hold import ANSWER_SECONDS, NEVER, talk
from lab.traffic import Traffic
from lab.variant import Variant

IDLE = 100
PATH = f"/v1/services/{SERVICE}"


def test_connections_outlive_a_deletion(built: None) -> None:
    with (
        Lab(servers=3, variant=Variant(agents=True)) as lab,
        Traffic(lab.clients, 0, 1, 0, answer_seconds=ANSWER_SECONDS, idle=IDLE, silences=NEVER) as traffic,
    ):
        traffic.wait_open()
        lab.drain(1)  # some are chained
        lab.wait_reporting()
        until("agents have counted them", lambda: ending(lab) >= IDLE, 60)
        spec = lab.api("GET", PATH)
        assert lab.api("DELETE", PATH)["ended"]["uncountedBackends"] == 0
        until(
            "no mux serves it", lambda: not any(SERVICE in mux["services"] for mux in lab.api("GET", "/v1/muxes")), 60
        )
        fresh = {"name": "fresh", "vips": spec["vips"], "ports": spec["ports"], "buckets": 1024}
        warnings = lab.api("POST", "/v1/services?dryRun=true", fresh)["warnings"]
        assert any(f"was of service '{SERVICE}'" in warning for warning in warnings), warnings
        lab.api("POST", f"{PATH}/undelete", {})
        lab.wait_applied()
        lab.wait_announced()
        assert talk(traffic) == []


def ending(lab: Lab) -> int:
    """Connections that a deletion would end."""
    return lab.api("DELETE", f"{PATH}?dryRun=true")["ended"]["connections"]
