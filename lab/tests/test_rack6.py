# SPDX-License-Identifier: Apache-2.0
"""A rack without IPv4 (docs/howto/ipv6-racks.md): ZooKeeper, controllers, BGP, agents and packets to servers over IPv6.

Clients and VIPs are of both families. The router's routes to VIPs of IPv4 lead by IPv6 addresses (RFC 8950).
"""

from collections.abc import Iterator

import pytest

from lab import Lab
from lab.dual import VIPS, DualService
from lab.variant import Variant

LONG = 60


@pytest.fixture(scope="module")
def lab(built: None) -> Iterator[Lab]:
    variant = Variant(ipv4=False, agents=True)
    with Lab(servers=3, zookeepers=3, controllers=2, variant=variant) as lab:
        yield lab


@pytest.fixture(scope="module")
def dual(lab: Lab) -> Iterator[DualService]:
    with DualService(lab) as service:
        yield service


def test_nothing_on_the_rack_has_an_ipv4_address(lab: Lab) -> None:
    for node in (*lab.muxes.values(), *lab.servers.values(), *lab.machines):
        assert node.run("ip", "-4", "-oneline", "address", "show", "dev", "eth0") == "", node.name
    assert lab.router.run("ip", "-4", "-oneline", "address", "show", "dev", "rack") == ""


def test_agents_and_controllers_reach_each_other(lab: Lab) -> None:
    lab.wait_reporting()
    said = lab.controllers[1].ctl("muxes")
    assert all(mux.address6 in said or mux.name in said for mux in lab.muxes.values())
    follower = next(each for each in lab.controllers if not each.leads)
    follower.api("PATCH", "/v1/services/web", {"windowSeconds": lab.window})  # the follower passes it on


@pytest.mark.parametrize("vip", VIPS)
def test_moves_and_the_loss_of_a_mux_break_nothing(lab: Lab, dual: DualService, vip: str) -> None:
    assert sorted(lab.router.vip_hops(vip)) == sorted(mux.address6 for mux in lab.muxes.values())
    before = lab.chained_packets()
    with lab.traffic(long=LONG, interval=0.2, short_rate=5, vip=vip) as traffic:
        traffic.wait_open()
        dual.drain(1)
        lab.kill_mux(2)
        lab.wait_announced(vip=vip)
        lab.start_mux(2)
        lab.wait_announced(vip=vip)
        dual.change({"op": "weight", "id": 1, "weight": 100})
    assert traffic.total is not None and traffic.total["broken"] == 0, traffic.broken()
    assert lab.chained_packets() > before
