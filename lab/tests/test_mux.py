# SPDX-License-Identifier: Apache-2.0
"""What a mux does besides forwarding: its VIP is withdrawn when it dies, and it idles when there is nothing to do."""

import time

from lab import Lab
from lab.deadline import until

IDLE_SECONDS = 10
HOLD_SECONDS = 9  # of BGP (lab/frr.py): after that time the router would drop the mux by itself


def test_the_vip_is_withdrawn_with_its_mux_and_not_by_bgp_s_hold_time(lab: Lab) -> None:
    for number, mux in lab.muxes.items():
        killed = time.monotonic()
        mux.kill()
        until("the VIP's route loses the mux", lambda mux=mux: mux.address not in lab.router.vip_hops(), 60, pause=0.01)
        seconds = time.monotonic() - killed
        print(f"{mux.name}: withdrawn after {seconds:.3f} s")
        lab.start_mux(number)
        assert seconds < 0.8 * HOLD_SECONDS  # a few hundredths of a second where the host has time


def test_an_idle_mux_uses_less_than_5_percent_of_a_core(lab: Lab) -> None:
    before = {mux: (time.monotonic(), mux.process.cpu_seconds()) for mux in lab.muxes.values()}
    time.sleep(IDLE_SECONDS)  # the measurement itself, not a wait for something
    for mux, (began, used) in before.items():
        share = (mux.process.cpu_seconds() - used) / (time.monotonic() - began)
        print(f"{mux.name}: {share:.1%} of a core")
        assert share < 0.05


def test_both_muxes_forward(lab: Lab) -> None:
    """ECMP uses the L4 hash, so all other tests exercise both muxes."""
    key = 'fairlead_mux_service_packets_total{service="web"}'
    before = {mux: mux.metrics().get(key, 0) for mux in lab.muxes.values()}
    with lab.traffic(long=100, interval=0.2, short_rate=20) as traffic:
        traffic.wait_open()
        traffic.wait_seconds(2)
    packets = {mux.name: mux.metrics()[key] - count for mux, count in before.items()}
    assert min(packets.values()) > 0.2 * sum(packets.values()), packets
