# SPDX-License-Identifier: Apache-2.0
"""VIPs that would cut the cluster off are refused, even where the ranges allow them, and no connection breaks."""

import pytest

from lab import Lab, topology
from lab.deadline import until
from lab.rest import Refused

RANGES = [topology.VIPS, topology.VIPS6, topology.RACK]


def test_no_vip_cuts_the_cluster_off(lab: Lab) -> None:
    cases = [(topology.ROUTER, "BGP"), (topology.CONTROLLER, "ZooKeeper"), (topology.mux_address(1), "mux mux1")]
    lab.api("PUT", "/v1/cluster", {"vipRanges": RANGES})
    try:
        with lab.traffic(long=100, interval=0.2, short_rate=20) as traffic:
            traffic.wait_open()
            for vip, why in cases:
                spec = {"name": "oops", "vips": [vip], "ports": [{"protocol": "tcp", "port": 8088}]}
                with pytest.raises(Refused, match=why):
                    lab.api("POST", "/v1/services", spec)
                with pytest.raises(Refused, match=why):
                    lab.api("POST", "/v1/services?dryRun=true", spec)
            traffic.wait_seconds(2)
            assert not traffic.broken()
        # With weight 0 no bucket moves: the tests before may have filled lists, and moves of these are refused first.
        for path in ("/v1/services/web/backends/77", "/v1/services/web/backends/77?dryRun=true"):
            with pytest.raises(Refused, match="mux mux1"):
                lab.api("PUT", path, {"address": topology.mux_address(1), "weight": 0})
    finally:
        lab.api("PUT", "/v1/cluster", {"vipRanges": RANGES[:2]})


def test_a_backend_that_no_mux_reaches_is_named(lab: Lab) -> None:
    """No machine has its address. With weight 0 it gets no bucket, so no connection is in danger."""
    path, address = "/v1/services/web/backends/78", topology.server_address(topology.SERVERS_MAX)
    muxes = [f"mux{number}" for number in lab.muxes]
    assert "warnings" not in lab.api("PUT", path, {"address": address, "weight": 0})
    try:
        until("muxes tell of it", lambda: lab.api("GET", path)["unreachableBy"] == muxes, 20)
        others = [one for one in lab.api("GET", "/v1/services/web/backends") if one["id"] != 78]
        assert others and not any(one["unreachableBy"] for one in others)
        plan = lab.api("PUT", path + "?dryRun=true", {"address": address, "weight": 0})
        assert plan["warnings"][0].startswith(f"packets to {address} are dropped by all {len(muxes)} muxes")
    finally:
        lab.api("DELETE", path)
    until("they no longer do", lambda: not any(mux["unreachable"] for mux in lab.api("GET", "/v1/muxes")), 20)
