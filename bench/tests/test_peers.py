# SPDX-License-Identifier: Apache-2.0
"""The benchmark peers without a checkout: its options, and its run with a stand-in of ours. Needs lab/build."""

import json
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
BUILD = ROOT / "build" / "lab"
PATIENCE = 300  # seconds


@pytest.fixture(scope="module", autouse=True)
def programs() -> None:
    subprocess.run(["ninja", "-C", BUILD, "--quiet", "bench/mux/peer_packet", "bench/mux/mux_packet"], check=True)


def peers(*words: str | Path) -> subprocess.CompletedProcess:
    command = [ROOT / "bench" / "run", "peers", "--build", BUILD, *words]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=PATIENCE)


def checkout(folder: Path, head: str = "") -> Path:
    """A folder in which the stand-in lies where the peer's program would."""
    source = folder / "katran" / "lib" / "bpf" / "balancer.bpf.c"
    source.parent.mkdir(parents=True)
    source.write_text(head + (ROOT / "bench" / "tests" / "peer_stand_in.bpf.c").read_text())
    return folder


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        ([], "--katran is missing: give the path of a checkout of github.com/facebookincubator/katran"),
        (["--katran", "/nonexistent"], "/nonexistent has no katran/lib/bpf/balancer.bpf.c"),
        (["--katran", "/", "--flows", "5"], "--flows: '5' is not allowed; allowed: some of 1,1000,1000000"),
        (["--katran", "/", "--flows", ""], "--flows: '' is not allowed"),
        (["--katran", "/", "--runs", "0"], "--runs: 0 is not allowed; allowed: 1 to 101"),
        (["--katran", "/", "--packets", "0"], "--packets: 0 is not allowed; allowed: 1 to 100000000"),
    ],
)
def test_an_option_that_is_not_allowed(words: list[str], complaint: str):
    done = peers(*words)
    assert done.returncode
    assert complaint in done.stderr


def test_a_program_that_does_not_compile(tmp_path: Path):
    done = peers("--katran", checkout(tmp_path, "#error no\n"), "--runs", "1")
    assert done.returncode
    assert "balancer.bpf.c does not compile" in done.stderr


def test_tables_of_another_layout(tmp_path: Path):
    done = peers("--katran", checkout(tmp_path, "#define VIP_BYTES 24\n"), "--runs", "1")
    assert done.returncode
    assert "map 'vip_map' has keys of 24 and values of 8 bytes; known are 20 and 8" in done.stderr


def test_a_table_that_is_missing(tmp_path: Path):
    done = peers("--katran", checkout(tmp_path, "#define ch_rings other\n"), "--runs", "1")
    assert done.returncode
    assert "has no map 'ch_rings'" in done.stderr


def test_a_program_that_drops_packets(tmp_path: Path):
    done = peers("--katran", checkout(tmp_path, "#define SENT XDP_DROP\n"), "--runs", "1", "--flows", "1")
    assert done.returncode
    assert "the program returned 1 for a packet of the service, not XDP_TX" in done.stderr


def test_a_run_with_the_stand_in(tmp_path: Path):
    figures = tmp_path / "figures.json"
    few = ["--runs", "2", "--flows", "1,1000", "--packets", "2000", "--json", figures]
    done = peers("--katran", checkout(tmp_path / "checkout"), *few)
    assert not done.returncode, done.stderr
    result = json.loads(figures.read_text())
    assert result["benchmark"] == "peers"
    assert result["revision"]["commit"] is None  # the folder is not a work tree, though it may lie in one
    assert len(result["revision"]["sourcesSha256"]) == 64
    assert result["feed"]["median"] > 0
    rows = {(row["name"], row["encap"]): row["mux"] for row in result["katran"]}
    assert rows["its cache, 1 K flows", "gue"] == "1 K flows"
    assert rows["without cache", "ipip"] == "ipip, 1 K flows"
    assert rows["SYNs, past its guard", "gue"] == "SYNs"
    assert {row["name"] for row in result["mux"]} >= set(rows.values())
    assert "katran, new flows, no guard" in done.stdout
