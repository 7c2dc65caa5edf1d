# SPDX-License-Identifier: Apache-2.0
"""The benchmark scale against naive arithmetic, a formula for queues, and malformed options."""

import json
import random
import shutil
import subprocess
from pathlib import Path

import pytest

from bench.lib.command import RESULTS, ROOT
from bench.papers.region import GUE_BYTES, LENGTH, Region, needs, simulate, starts

COST = {
    "packet": 1e-7, "packetManyServices": 1e-7, "secondCore": 0.5, "muxBucketBytes": 8.0, "muxServiceSeconds": 0.001,
    "muxChangeSeconds": 0.002, "zookeeperMuxSeconds": 0.0001, "propagation": 0.05, "changeBytes": 1000.0,
    "snapshotBucketBytes": 0.25, "changeSeconds": 0.02, "controllerChangeSeconds": 0.004, "loadSeconds": 0.01,
    "serviceHeap": 10.0, "reportSeconds": 1e-4, "agentHeap": 1000.0, "controllerBase": 1e8,
    "agentConnectionSeconds": 1e-6, "agentConnectionBytes": 50.0, "deliverSeconds": 2e-7,
}  # fmt: skip
SMALL = Region(
    muxes=10, backends=1000, services=200, connections=5000, opened=100, packets=50, changes=6, report=5, buckets=1024
)


def scale(*words: object, code: int = 0) -> subprocess.CompletedProcess:
    command = [ROOT / "bench" / "run", "scale", *map(str, words)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == code, done.stdout + done.stderr
    return done


def test_needs_are_what_naive_arithmetic_says():
    found = {(need.part, need.resource): need for need in needs(SMALL, COST)}
    packets = 200 * 100 * 50  # a second, all services
    each = packets / 10
    changes = 200 * 6 / 60
    wanted = {
        ("mux", "processor, packets"): (each * 2e-7 / 0.5, 8),
        ("mux", "processor, changes"): (changes * 0.002, 1),
        ("mux", "link, packets out"): (each * (LENGTH + GUE_BYTES), 1.25e9),
        ("mux", "link, changes in"): (changes * 1000, 1.25e9),
        ("mux", "memory, rings"): (200 * 1024 * 8, 16e9),
        ("controller", "writers that are busy"): (changes * 0.02, 32),
        ("controller", "processor, changes"): (changes * 0.004, 2),
        ("controller", "processor, reports"): (1000 / 5 * 1e-4, 2),
        ("controller", "memory"): (1e8 + 200 * 1024 * 10 + 1000 * 1000, 4e9),
        ("ZooKeeper", "processor, muxes that read"): (changes * 10 * 0.0001, 6),
        ("ZooKeeper", "link, bytes to muxes"): (changes * 10 * 1000, 1.25e9),
        ("server", "processor, packets"): (packets / 1000 * 2e-7, 16),
        ("agent", "processor, connections"): (200 * 100 / 1000 * 1e-6, 1),
        ("agent", "memory, connections"): (200 * 5000 / 1000 * 50, 1e9),
    }
    assert set(found) == set(wanted)
    for key, (used, limit) in wanted.items():
        assert found[key].used == pytest.approx(used), key
        assert found[key].limit == pytest.approx(limit), key
        assert found[key].utilization == pytest.approx(used / limit), key
    order = [need.utilization for need in needs(SMALL, COST)]
    assert order == sorted(order, reverse=True)


def test_a_region_without_agents_needs_none():
    without = Region(services=50, agents=False)
    parts = {need.part for need in needs(without, COST)}
    assert parts == {"mux", "controller", "ZooKeeper", "server"}
    packets = next(
        need for need in needs(without, COST) if need.resource == "processor, packets" and need.part == "mux"
    )
    assert packets.used == pytest.approx(50 * 1000 * 1250 / 100 * 1e-7 / 0.5)  # few services: no more time a packet


@pytest.mark.parametrize(
    ("backends", "services", "ring"),
    [(65_536, 1000, 8192), (1000, 1000, 128), (65_536, 1, 8_388_608), (164, 2, 16_384)],
)
def test_a_ring_has_a_hundred_buckets_a_backend(backends: int, services: int, ring: int):
    assert Region(backends=backends, services=services).ring == ring


def test_what_happens_once():
    found = starts(SMALL, COST)
    assert found["mux: bytes of all rings"] == 200 * 1024 * 0.25
    assert found["mux: seconds of its link"] == pytest.approx(200 * 1024 * 0.25 * 8 / 10e9)
    assert found["mux: seconds of its processor"] == pytest.approx(0.2)
    assert found["controller: seconds to load all services"] == pytest.approx(2)


@pytest.mark.parametrize("load", [0.3, 0.7])
def test_one_writer_waits_as_the_formula_of_pollaczek_and_khinchine_says(load: float):
    service = 0.02
    found = simulate(load / service, service, 0.05, 1, 200_000, random.Random(1))
    assert found["meanWait"] == pytest.approx(load * service / (2 * (1 - load)), rel=0.05)
    assert found["median"] >= service + 0.05
    assert found["percentile99"] > found["median"]


def test_writers_wait_as_a_naive_simulation_says():
    rate, service, writers, count = 150.0, 0.02, 4, 2000
    found = simulate(rate, service, 0.0, writers, count, random.Random(7))
    draw, now, ends, waits = random.Random(7), 0.0, [], []
    for _ in range(count):
        now += draw.expovariate(rate)
        # It begins when fewer than `writers` of those before it are still at work.
        busy = sorted(end for end in ends if end > now)
        begin = now if len(busy) < writers else busy[-writers]
        ends.append(begin + service)
        waits.append(begin - now)
    assert found["meanWait"] == pytest.approx(sum(waits) / count)


def test_the_kept_results_predict_what_was_measured(tmp_path: Path):
    scale("--json", tmp_path / "scale.json", "--muxes", 7)
    found = json.loads((tmp_path / "scale.json").read_text())
    assert found["benchmark"] == "scale" and found["region"]["muxes"] == 7
    assert found["checks"] and all(0.5 <= row["ratio"] <= 2 for row in found["checks"])
    assert found["needs"][0]["utilization"] == max(need["utilization"] for need in found["needs"])


def test_a_prediction_that_is_off_fails(tmp_path: Path):
    done = scale("--json", tmp_path / "scale.json", "--factor", "1.01", code=1)
    assert "allowed: within a factor of 1.01" in done.stderr


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--muxes", "0"], "--muxes: 0 is not allowed; allowed: above 0"),
        (["--changes", "-1"], "--changes: -1 is not allowed; allowed: above 0"),
        (["--connections", "-1"], "--connections: -1 is not allowed; allowed: 0 or more"),
        (["--buckets", "1000"], "--buckets: 1000 is not allowed; allowed: 0, or a power of two"),
        (["--services", "10", "--backends", "9"], "--services: 10 is not allowed; allowed: at most --backends, 9"),
        (["--factor", "1"], "--factor: 1 is not allowed; allowed: above 1"),
        (["--json", "/nowhere/x.json"], "--json: /nowhere is no folder"),
    ],
)
def test_malformed_options_are_refused_with_a_reason(words: list[str], message: str, tmp_path: Path):
    if "--json" not in words:
        words = [*words, "--json", str(tmp_path / "scale.json")]
    assert message in scale(*words, code=1).stderr


def test_results_that_are_missing_are_named(tmp_path: Path):
    for name in ("mux", "size", "agents", "services", "commit_rate", "arrays", "agent"):
        shutil.copy(RESULTS / f"{name}.json", tmp_path)
    done = scale("--results", tmp_path, "--json", tmp_path / "scale.json", code=1)
    assert "server_bpf.json is not readable as JSON" in done.stderr
    assert "run the benchmark server_bpf" in done.stderr
