# SPDX-License-Identifier: Apache-2.0
"""A mux finds that it can't forward, withdraws its VIPs and returns, with traffic that does not break."""

import contextlib
import os
import signal
import time
from collections.abc import Iterator

import pytest

from lab import Lab
from lab.deadline import until
from lab.lab import SERVICE
from lab.mux import Mux
from lab.thread import is_asleep, stopped, thread_of

LONG = 60
FORWARDS_NOT_SECONDS = 3  # well below what makes a mux end whose control thread waits for a worker
WITHDRAWN_SECONDS = 5  # on a host as busy as a test's; the log has what it took
RETURN_SECONDS = 30
FLOOD_SECONDS = 50
OTHER = {"name": "other", "vips": ["10.99.0.9"], "ports": [{"protocol": "tcp", "port": 80}]}


def withdrawn(lab: Lab, mux: Mux) -> str | None:
    """Why, as the mux's node says."""
    found = next(each for each in lab.api("GET", "/v1/muxes") if each["id"] == mux.name)
    why: str | None = found["services"][SERVICE].get("withdrawn")
    return why


@contextlib.contextmanager
def worker_stopped(lab: Lab, mux: Mux) -> Iterator[None]:
    with stopped(thread_of(mux.process.pid, "worker 0")):
        yield


@contextlib.contextmanager
def neighbours_lost(lab: Lab, mux: Mux) -> Iterator[None]:
    """It has no way to any server; the router, ZooKeeper and other muxes are there."""
    routes = [f"unreachable {server.address}/32" for server in lab.servers.values()]
    mux.namespace.ip(*(f"route add {route}" for route in routes))
    try:
        yield
    finally:
        mux.namespace.ip(*(f"route del {route}" for route in routes))


def withdraws_and_returns(lab: Lab, fault: contextlib.AbstractContextManager[None], why: str) -> None:
    mux, other = lab.muxes[1], lab.muxes[2]
    with lab.traffic(long=LONG, short_rate=20) as traffic:
        traffic.wait_open()
        began = time.monotonic()
        with fault:
            until(
                f"the router loses {mux.name}",
                lambda: mux.address not in lab.router.vip_hops(),
                WITHDRAWN_SECONDS,
                0.01,
            )
            print(f"{mux.name}: withdrawn after {time.monotonic() - began:.3f} s as {why}")
            until("its node says why", lambda: withdrawn(lab, mux) == why, 10)
            assert any("MuxWithdrawn" in each["name"] for each in lab.api("GET", "/v1/overview")["alerts"])
            time.sleep(max(0.0, FORWARDS_NOT_SECONDS + began - time.monotonic()))
            assert lab.router.vip_hops() == [other.address]
        lab.wait_announced(RETURN_SECONDS)
        until("its node says so", lambda: withdrawn(lab, mux) is None, 10)
        traffic.wait_quiet()
    assert traffic.total is not None
    print(f"slowest answer: {traffic.total['slowest_ms']:.0f} ms")
    assert traffic.total["broken"] == 0, "\n".join(map(str, traffic.broken()[:10]))


def test_a_worker_stands_still(lab: Lab) -> None:
    withdraws_and_returns(lab, worker_stopped(lab, lab.muxes[1]), "worker")


def test_all_servers_are_out_of_reach(lab: Lab) -> None:
    withdraws_and_returns(lab, neighbours_lost(lab, lab.muxes[1]), "neighbour")


def test_a_mux_stops_although_a_worker_stands_still(lab: Lab) -> None:
    mux = lab.muxes[1]
    with worker_stopped(lab, mux):
        os.kill(mux.process.pid, signal.SIGTERM)
        until("it ends", lambda: not mux.process.alive, 60)
    lab.start_mux(1)
    lab.wait_announced()


@pytest.mark.long
def test_a_worker_stands_still_while_a_change_waits_for_it(lab: Lab) -> None:
    """The control thread waits, too, and withdraws all the same; then the mux ends, to be started again."""
    mux = lab.muxes[1]
    worker = thread_of(mux.process.pid, "worker 0")
    with lab.traffic(long=LONG, short_rate=20) as traffic, contextlib.ExitStack() as still:
        traffic.wait_open()
        flood = lab.syn_flood(seconds=FLOOD_SECONDS)

        def stop_at_work() -> bool:
            """No change waits for a worker that sleeps."""
            still.enter_context(stopped(worker))
            if is_asleep(worker):
                still.close()
                return False
            return True

        until("the worker is stopped while it works", stop_at_work, FLOOD_SECONDS - 20, 0.001)
        with still:
            began = time.monotonic()
            lab.api("POST", "/v1/services", OTHER)
            until("the router loses it", lambda: mux.address not in lab.router.vip_hops(), WITHDRAWN_SECONDS, 0.01)
            print(f"{mux.name}: withdrawn after {time.monotonic() - began:.3f} s")
            until("it ends", lambda: not mux.process.alive, 30)
            print(f"{mux.name}: ended after {time.monotonic() - began:.3f} s")
        flood.finish(FLOOD_SECONDS + 30)
        lab.start_mux(1)
        lab.wait_announced()
        lab.api("DELETE", f"/v1/services/{OTHER['name']}")
        traffic.wait_quiet()
    assert traffic.total is not None
    assert traffic.total["broken"] == 0, "\n".join(map(str, traffic.broken()[:10]))


@pytest.mark.long
def test_a_stopped_process_is_killed(lab: Lab) -> None:
    """It can't withdraw; what kills it lets the kernel do so."""
    mux = lab.muxes[1]
    usual = list(mux.process.argv)
    lab.kill_mux(1)
    mux.process.argv += ["--watchdog", "on"]
    try:
        lab.start_mux(1)
        lab.wait_announced()
        with lab.traffic(long=LONG, short_rate=20) as traffic:
            traffic.wait_open()
            began = time.monotonic()
            os.kill(mux.process.pid, signal.SIGSTOP)
            until("the router loses it", lambda: mux.address not in lab.router.vip_hops(), WITHDRAWN_SECONDS, 0.01)
            print(f"{mux.name}: withdrawn after {time.monotonic() - began:.3f} s")
            until("it has ended", lambda: not mux.process.alive, 10)
            traffic.wait_quiet()
        assert traffic.total is not None
        print(f"slowest answer: {traffic.total['slowest_ms']:.0f} ms")
        assert traffic.total["broken"] == 0, "\n".join(map(str, traffic.broken()[:10]))
    finally:
        mux.process.argv[:] = usual
    lab.start_mux(1)
    lab.wait_announced()
