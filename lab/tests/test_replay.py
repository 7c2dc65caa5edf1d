# SPDX-License-Identifier: Apache-2.0
"""`fairleadctl replay` says what a change then does: connections of real clients, sampled by the muxes."""

import http.client
import json
import time
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from lab import Lab
from lab.mux import HTTP_PORT, Mux
from lab.variant import Variant

CONNECTIONS = 240
INTERVAL = 0.25
RECORDED_SECONDS = 2
MEASURED_SECONDS = 10
WINDOW = 600
ERROR = 0.05
DIES = 3
CHANGES = [{"op": "weight", "id": 1, "weight": 0}, {"op": "weight", "id": 2, "weight": 50}]


@pytest.fixture
def sampled(built: None, request: pytest.FixtureRequest) -> Iterator[Lab]:
    """Its muxes give samples to all who ask; steering is the test's."""
    steering: str = request.param
    variant = Variant(quiet=0, steering=steering, agents=steering == "hunt", mux_options=("--http-samples", "on"))
    with Lab(servers=4, window=WINDOW, variant=variant) as lab:
        yield lab


def record(mux: Mux) -> bytes:
    """Sampled packets of connections that go through the mux now."""
    with mux.namespace.inside():
        ask = http.client.HTTPConnection("127.0.0.1", HTTP_PORT, timeout=RECORDED_SECONDS + 20)
        ask.request("GET", f"/sample?seconds={RECORDED_SECONDS}&rate=1000&service=web")
        answer = ask.getresponse()
        assert answer.status == 200
        return answer.read()


@dataclass
class Counted:
    """Packets of clients that servers delivered, and that they sent on to others, by server."""

    delivered: dict[int, int]
    chained: dict[int, int]

    @staticmethod
    def now(lab: Lab) -> "Counted":
        shown = {number: server.show()["counters"] for number, server in lab.servers.items()}
        return Counted(
            {number: each["deliver_local_socket"] for number, each in shown.items()},
            {number: each["chain"] + each["chain_by_kernel"] for number, each in shown.items()},
        )

    def since(self, before: "Counted") -> "Counted":
        return Counted(
            {number: count - before.delivered[number] for number, count in self.delivered.items()},
            {number: count - before.chained[number] for number, count in self.chained.items()},
        )


def predict(lab: Lab, directory: Path, changes: list[dict[str, Any]], *options: str) -> Any:
    """What a replay says of connections that both muxes sample now, one recording after the other in one file."""
    flows, change = directory / "flows.pcapng", directory / "change.json"
    flows.write_bytes(b"".join(record(mux) for mux in lab.muxes.values()))
    change.write_text(json.dumps({"changes": changes}))
    said = lab.controller.ctl("-o", "json", "replay", "web", "--flows", str(flows), "--change", str(change), *options)
    print(said)
    return json.loads(said)


@pytest.mark.parametrize("sampled", ["ring", pytest.param("hunt", marks=pytest.mark.long)], indirect=True)
def test_a_change_does_what_the_replay_said(sampled: Lab, tmp_path: Path) -> None:
    with sampled.traffic(long=CONNECTIONS, interval=INTERVAL, short_rate=0) as traffic:
        traffic.wait_open()
        began = datetime.now(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")  # of all, at the latest
        said = predict(sampled, tmp_path, CHANGES)
        sampled.api("POST", "/v1/services/web/changes", {"changes": CHANGES})
        sampled.wait_applied()
        before = Counted.now(sampled)
        time.sleep(MEASURED_SECONDS)  # the measurement itself, not a wait for something
        counted = Counted.now(sampled).since(before)
        held = {number: traffic.held_by(server.name) for number, server in sampled.servers.items()}
        assert traffic.broken() == []
        dying = predict(sampled, tmp_path, [{"op": "remove", "id": DIES, "dead": True}], "--began", began)
        sampled.switch_off(DIES)
        traffic.wait_quiet()
        broken = traffic.broken()
    assert dying["open"]["brokenByDead"] == held[DIES] == pytest.approx(len(broken), rel=ERROR)
    assert {line["server"] for line in broken} == {f"server{DIES}"}
    each = sum(counted.delivered.values()) / CONNECTIONS  # packets of a connection in that time
    print(f"{each:.1f} packets a connection, delivered {counted.delivered}, chained {counted.chained}, held {held}")
    assert said["flows"]["open"] == CONNECTIONS and said["flows"]["otherBuckets"] == 0
    assert said["open"]["brokenByDead"] + said["open"]["brokenByFullList"] + said["open"]["outliveWindow"] == 0
    servers = {server["id"]: server for server in said["servers"]}
    assert {number: server["open"] for number, server in servers.items()} == held
    assert said["open"]["newlyChained"] > CONNECTIONS / 5
    total = sum(counted.chained.values()) / each
    hops = sum(number * count for number, count in enumerate(said["open"]["hops"], 1))
    assert total == pytest.approx(hops, rel=ERROR)
    assert counted.chained[1] == 0 == servers[1]["arrivingAfter"]
    for number, server in servers.items():
        assert counted.delivered[number] / each == pytest.approx(server["open"], rel=ERROR)
        # a server gets few of those that move: within the error of all connections that are chained
        assert counted.chained[number] / each == pytest.approx(server["passedOn"], abs=ERROR * total)
