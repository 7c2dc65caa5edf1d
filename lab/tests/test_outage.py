# SPDX-License-Identifier: Apache-2.0
"""ZooKeeper is down, and meanwhile all muxes are restarted, one after the other: they serve from their disks."""

import time

from lab import Lab
from lab.deadline import until

LONG = 60


def test_muxes_are_restarted_without_zookeeper(lab: Lab) -> None:
    for mux in lab.muxes.values():
        until(f"{mux.name} has saved its state", lambda mux=mux: mux.metrics()["fairlead_mux_state_unsaved"] == 0, 60)
    restored = 'fairlead_mux_restored{service="web"}'
    with lab.traffic(long=LONG, short_rate=20) as traffic:
        traffic.wait_open()
        lab.stop_zookeeper()
        try:
            for number, mux in lab.muxes.items():
                lab.kill_mux(number)
                lab.wait_announced()
                begun = time.monotonic()
                mux.start()
                lab.wait_announced()
                print(f"{mux.name}: the router has its route {time.monotonic() - begun:.1f} s after it was started")
                assert mux.metrics()[restored] == 1
                traffic.wait_seconds(2)
        finally:
            lab.start_zookeeper()
        for mux in lab.muxes.values():
            until(f"{mux.name} is confirmed", lambda mux=mux: mux.metrics()[restored] == 0, 60)
        lab.controller.wait()
        lab.wait_applied()
        traffic.wait_quiet()
    assert traffic.total is not None
    assert traffic.total["broken"] == 0, "\n".join(map(str, traffic.broken()[:10]))
    drained = lab.drain(1)  # the muxes follow again, from the ring that they had on disk
    assert drained["movedBuckets"] > 0
    lab.wait_applied()
