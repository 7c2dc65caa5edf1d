# SPDX-License-Identifier: Apache-2.0
"""Datagrams to a socket that receives from any sender, as DNS servers have it, while one mux is behind."""

import contextlib
import socket
import time
from collections import Counter

from lab import Lab, topology
from lab.deadline import until
from lab.dual import UDP_PORT, DualService
from lab.mux import Mux

FLOWS = 200  # each with a port of its own
LOST_MOST = 4  # of these, on a busy machine: nothing sends a datagram again
ANSWER_SECONDS = 5.0


def asked(lab: Lab, mux: Mux) -> Counter[str]:
    """Sends one datagram of each of FLOWS new flows by one mux; returns how many of them each server answered."""
    answers: Counter[str] = Counter()
    with contextlib.ExitStack() as stack:
        stack.enter_context(lab.router.only_by(mux.address, topology.DUAL_VIP))
        with lab.clients[0].namespace.inside():
            sockets = [stack.enter_context(socket.socket(socket.AF_INET, socket.SOCK_DGRAM)) for _ in range(FLOWS)]
        for each in sockets:
            each.sendto(b"who is there", (topology.DUAL_VIP, UDP_PORT))
        deadline = time.monotonic() + ANSWER_SECONDS
        for each in sockets:
            each.settimeout(max(0.001, deadline - time.monotonic()))
            with contextlib.suppress(TimeoutError):
                answers[each.recv(2048).decode().split()[0]] += 1
    return answers


def test_a_mux_that_is_behind_loses_no_new_flow(lab: Lab, dual: DualService) -> None:
    """No RST answers a datagram, so a server that knows a newer generation need not drop those of a late mux."""
    current, late = lab.muxes[1], lab.muxes[2]
    for mux in (current, late):
        assert asked(lab, mux).total() >= FLOWS - LOST_MOST, f"before the change, by {mux.name}"
    late.cut_from_zookeeper()
    try:
        lab.change({"op": "weight", "id": 1, "weight": 0}, service=DualService.name)
        wanted = lab.service(DualService.name)["generation"]
        until("mux1 serves the new generation", lambda: current.generation(DualService.name) >= wanted, 60)
        by_current, stale = asked(lab, current), lab.stale_packets()
        by_late, stale = asked(lab, late), lab.stale_packets() - stale
        assert late.generation(DualService.name) == wanted - 1
    finally:
        late.mend_zookeeper()
    lab.wait_applied(service=DualService.name)
    print(f"answers by mux1 {dict(by_current)}, by mux2 {dict(by_late)}; {stale} datagrams were dropped as stale")
    assert by_current.total() >= FLOWS - LOST_MOST
    assert by_late.total() >= FLOWS - LOST_MOST
    assert stale == 0
