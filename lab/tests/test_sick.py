# SPDX-License-Identifier: Apache-2.0
"""A mux finds that it can't forward, withdraws its VIPs and returns, with traffic that does not break."""

import time

from lab import Lab
from lab.deadline import until
from lab.lab import SERVICE
from lab.mux import Mux
from lab.thread import stopped, thread_of

LONG = 60
HANGS_SECONDS = 3  # well below what makes a mux end whose control thread waits for a worker
WITHDRAWN_SECONDS = 5  # a host that is as busy as a test's; the log has what it is where there is time
RETURN_SECONDS = 30


def withdrawn(lab: Lab, mux: Mux) -> str | None:
    """Why, as the mux's node says."""
    found = next(each for each in lab.api("GET", "/v1/muxes") if each["id"] == mux.name)
    why: str | None = found["services"][SERVICE].get("withdrawn")
    return why


def wait_routed_around(lab: Lab, mux: Mux) -> float:
    """Until the router no longer has it; seconds from now."""
    began = time.monotonic()
    until(f"the router loses {mux.name}", lambda: mux.address not in lab.router.vip_hops(), WITHDRAWN_SECONDS, 0.01)
    return time.monotonic() - began


def test_a_mux_whose_worker_stands_still_withdraws_and_returns(lab: Lab) -> None:
    mux, other = lab.muxes[1], lab.muxes[2]
    with lab.traffic(long=LONG, short_rate=20) as traffic:
        traffic.wait_open()
        with stopped(thread_of(mux.process.pid, "worker 0")):
            seconds = wait_routed_around(lab, mux)
            print(f"{mux.name}: withdrawn {seconds:.3f} s after its worker stood still")
            until("its node says why", lambda: withdrawn(lab, mux) == "worker", 10)
            assert any("MuxWithdrawn" in each["name"] for each in lab.api("GET", "/v1/overview")["alerts"])
            time.sleep(max(0.0, HANGS_SECONDS - seconds))
            assert lab.router.vip_hops() == [other.address]
        lab.wait_announced(RETURN_SECONDS)
        until("its node says so", lambda: withdrawn(lab, mux) is None, 10)
        traffic.wait_quiet()
    assert traffic.total is not None
    print(f"slowest answer: {traffic.total['slowest_ms']:.0f} ms")
    assert traffic.total["broken"] == 0, "\n".join(map(str, traffic.broken()[:10]))
