# SPDX-License-Identifier: Apache-2.0
"""Connections with two candidates, by hunt and by maat, through changes of the pool and the loss of a mux.

Most are silent for several windows while buckets of theirs move, and then send. Packets name both buckets' owners and
all former ones: every connection goes on where it was opened.
"""

import pytest

from lab import Lab
from lab.traffic import Traffic
from lab.variant import Variant

WINDOW = 12  # seconds
HOLD = 600
IDLE = 200
LONG = 60
ANSWER_SECONDS = 60.0
NEVER = (3_600.0,)


# Servers treat the candidates of both methods alike, and hunt's real servers are also in the benchmark hunt_servers.
@pytest.mark.parametrize("steering", [pytest.param("hunt", marks=pytest.mark.long), "maat"])
def test_connections_keep_their_servers(built: None, steering: str) -> None:
    """A server is added and one is drained, a mux dies and comes back, weights change."""
    variant = Variant(agents=True, hold=HOLD, steering=steering)
    with (
        Lab(servers=4, window=WINDOW, variant=variant) as lab,
        Traffic(lab.clients, LONG, 0.25, 20, answer_seconds=ANSWER_SECONDS, idle=IDLE, silences=NEVER) as traffic,
    ):
        traffic.wait_open()
        lab.wait_reporting()
        lab.add_server()
        traffic.wait_seconds(WINDOW)
        lab.drain(1)
        traffic.wait_seconds(2)
        lab.kill_mux(1)
        lab.wait_announced()
        traffic.wait_seconds(WINDOW)
        lab.start_mux(1)
        lab.weights({1: 100, 2: 40, 3: 160})
        lab.wait_applied()
        traffic.wait_seconds(WINDOW)
        traffic.talk()
        traffic.wait_seconds(3)
        traffic.wait_quiet()
        chained = lab.chained_packets()
        print(f"{len(traffic.broken())} of {IDLE + LONG} long connections broke; packets sent on: {chained}")
        assert traffic.broken() == []
        assert chained > 0
