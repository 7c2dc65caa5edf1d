# SPDX-License-Identifier: Apache-2.0
"""Graceful shutdown: VIPs are withdrawn first, packets that still arrive are served, and the exit code is 0."""

import signal
import time

from deadline import until
from rack import Rack, is_tunnel
from tree import Service
from whole_mux import WholeMux


def announced(mux: WholeMux) -> WholeMux:
    until(lambda: mux.routes() == {"10.99.0.1": "fl1"}, 60, "the VIP to be announced")
    return mux


def send_while_it_ends(mux: WholeMux, rack: Rack, seconds: float) -> str:
    """Sends packets after the signal. "alive" or "ended", or "starved" if the sender itself paused for too long."""
    mux.signal(signal.SIGTERM)
    begin = last = time.monotonic()
    longest = 0.0
    while (now := time.monotonic()) < begin + seconds and mux.process.poll() is None:
        rack.send([rack.to_vip(4000)])
        longest, last = max(longest, now - last), now
        time.sleep(0.01)
    longest = max(longest, time.monotonic() - last)
    return "starved" if longest > 0.3 else "ended" if mux.process.poll() is not None else "alive"


def test_what_comes_while_routers_learn_is_served(service: Service, new_mux, rack: Rack):
    mux = new_mux("--withdraw-wait", "600", "--drain", "600")
    mux.start()
    mux.settle(service)
    announced(mux)
    mux.signal(signal.SIGTERM)
    until(lambda: mux.routes() == {}, 60, "the VIP to be withdrawn")
    rack.send([rack.to_vip(sport) for sport in range(1000, 1050)])
    assert len(rack.receive(is_tunnel, 50)) == 50
    service.commit([], [{"start": 0, "count": 256, "current": 1}])
    until(lambda: mux.metric("generation", service="web") == service.image["generation"], 60, "a change to be followed")
    mux.signal(signal.SIGTERM)  # a second signal ends the wait
    assert mux.wait(60) == 0
    log = mux.log()
    order = [log.index(f"event={name}") for name in ("stopping", "withdrawn", "drained", "stopped")]
    assert order == sorted(order), log
    assert mux.logged(event="drained", packets_while_routers_learn=50, packets_later=0, end="signal") == 1, log


def test_it_drains_until_nothing_comes(service: Service, new_mux, rack: Rack):
    """A slow router: packets that arrive after the wait are still served."""
    mux = new_mux("--withdraw-wait", "1", "--drain", "60")
    mux.start()
    mux.settle(service)
    found = send_while_it_ends(mux, rack, seconds=2.5)  # the wait, and then three times the quiet time
    assert found in ("alive", "starved"), mux.log()
    assert mux.wait(60) == 0
    assert mux.logged(event="drained", end="quiet") == 1, mux.log()
    assert found == "starved" or mux.logged(packets_later=0) == 0, mux.log()


def test_the_limit_ends_it_although_packets_come(service: Service, new_mux, rack: Rack):
    mux = new_mux("--withdraw-wait", "0", "--drain", "1")
    mux.start()
    mux.settle(service)
    if send_while_it_ends(mux, rack, seconds=30) != "starved":
        assert mux.logged(event="drained", end="limit") == 1, mux.log()
    assert mux.wait(60) == 0


def test_a_second_signal_ends_it_at_once(service: Service, new_mux):
    mux = new_mux("--withdraw-wait", "600", "--drain", "600")
    mux.start()
    announced(mux)
    mux.signal(signal.SIGTERM)
    until(lambda: mux.logged(event="stopping", signal="TERM", withdraw_wait_s=600, drain_s=600), 60, mux.log())
    mux.signal(signal.SIGINT)
    assert mux.wait(60) == 0
    assert mux.logged(event="drained", end="signal") == 1, mux.log()
