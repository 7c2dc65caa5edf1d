# SPDX-License-Identifier: Apache-2.0
"""Staged changes, by agents' signals: a server that resets everything gets a percent and is out, a good one stays."""

import time
from collections.abc import Iterator
from typing import Any

import pytest

from lab import Lab
from lab.deadline import until
from lab.health import Health, probing
from lab.lab import SERVICE
from lab.server import Server, XdpServer
from lab.traffic import Traffic
from lab.variant import Variant

WINDOW = 20  # seconds
LONG_BAKE = 45  # of the bad server: at 1 % it gets a connection in 1.5 s
BAKE = 5
RATE = 200  # new connections in a second
STAGES = "1,10,100"
OUT_SECONDS = 60
REPORTS_SECONDS = 45
# Of the connections in the stage: a percent of the third that the whole change moves, and chance (six sigma at 2,000).
SHARE = 0.01


@pytest.fixture(scope="module")
def lab(built: None) -> Iterator[Lab]:
    with Lab(servers=2, window=WINDOW, variant=Variant(agents=True)) as lab:
        lab.wait_reporting(REPORTS_SECONDS)
        yield lab


@pytest.fixture(scope="module")
def traffic(lab: Lab) -> Iterator[Traffic]:
    with lab.traffic(long=40, interval=0.5, short_rate=RATE) as traffic:
        traffic.wait_open()
        yield traffic


def status(lab: Lab) -> Any:
    return lab.api("GET", f"/v1/services/{SERVICE}/stage")


def add(lab: Lab, server: Server, bake: int) -> Any:
    lab.wait_server(server)
    body = {"address": server.address, "weight": 100}
    query = f"stage={STAGES}&bake={bake}"
    return lab.api("PUT", f"/v1/services/{SERVICE}/backends/{server.number}?{query}", body)


def reset_everything(server: Server) -> None:
    """The server takes connections, and resets each with its first request."""
    path = server.directory / "nginx" / "nginx.conf"
    text = path.read_text()
    path.write_text(
        text.replace(f'return 200 "{server.name}\\n";', "return 444;").replace(
            "access_log off;", "access_log off;\n  reset_timedout_connection on;"
        )
    )


def test_a_server_that_resets_everything_is_out_in_a_minute(lab: Lab, traffic: Traffic) -> None:
    server = lab.start_server(3)
    assert isinstance(server, XdpServer)
    server.nginx.stop()
    reset_everything(server)
    server.start()
    before = len(traffic.seconds())
    began = time.monotonic()
    plan = add(lab, server, LONG_BAKE)
    assert plan["staging"]["share"] == 0.01
    until("the change is rolled back", lambda: status(lab)["staging"]["state"] != "running", OUT_SECONDS, pause=0.2)
    took = time.monotonic() - began
    ended = status(lab)["staging"]
    print(f"{ended['state']} after {took:.1f} s: {ended['why']}")
    assert ended["state"] == "rolled_back"
    assert ended["share"] == 0.01
    assert "connections reset" in ended["why"]
    lab.wait_applied()
    traffic.wait_quiet()
    counted = traffic.seconds()[before:]
    connections = sum(each["connections"] for each in counted)
    broken = sum(each["broken"] for each in counted)
    print(f"{broken} of {connections} connections broke")
    assert 0 < broken <= SHARE * connections + 6 * (SHARE * connections) ** 0.5
    assert {each["kind"] for each in traffic.broken()} == {"reset"}
    backend = lab.backends()[3]
    assert (backend["weight"], backend["buckets"]) == (0, 0)
    assert any("rolled back" in record["what"] for record in lab.api("GET", "/v1/audit?limit=20"))
    quiet = len(traffic.broken())
    traffic.wait_seconds(5)
    assert len(traffic.broken()) == quiet


@pytest.mark.long  # StageServiceTest goes through all steps, with an injected clock
def test_a_good_server_gets_all_of_its_share(lab: Lab, traffic: Traffic) -> None:
    before = len(traffic.broken())
    add(lab, lab.start_server(4), BAKE)
    shares = []

    def ended() -> bool:
        staging = status(lab)["staging"]
        shares.append(staging["share"])
        return bool(staging["state"] != "running")

    until("the change is done", ended, 3 * BAKE + OUT_SECONDS, pause=0.5)
    assert status(lab)["staging"]["state"] == "done"
    assert "nothing wrong with" in status(lab)["staging"]["why"]
    assert sorted(set(shares)) == [0.01, 0.1, 1.0]
    traffic.wait_quiet()
    assert len(traffic.broken()) == before
    owned = [backend["buckets"] for backend in lab.backends().values() if backend["weight"]]
    assert max(owned) - min(owned) <= 1


@pytest.mark.long  # StageGateTest and test_signals.py have what a check does to signals
@pytest.mark.parametrize("kind", ["http", "tcp"])
def test_health_checks_are_no_reason(built: None, kind: str) -> None:
    """Probes reset each connection that they open. At 1 % there are more of these than of clients' connections."""
    with Lab(servers=2, window=WINDOW, variant=Variant(agents=True)) as lab:
        lab.wait_reporting(REPORTS_SECONDS)
        with probing(lab), lab.traffic(long=40, interval=0.5, short_rate=RATE) as traffic:
            traffic.wait_open()
            health = Health(lab)
            health.check(kind=kind)
            health.wait_healthy({1, 2})
            add(lab, lab.start_server(3), BAKE)
            until("the change ends", lambda: status(lab)["staging"]["state"] != "running", 3 * BAKE + OUT_SECONDS)
            ended = status(lab)["staging"]
            print(f"{kind}: {ended['state']}: {ended['why']}")
            assert ended["state"] == "done"
            traffic.wait_quiet()
            assert not traffic.broken()
