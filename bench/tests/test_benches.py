# SPDX-License-Identifier: Apache-2.0
"""
Each benchmark that needs no quiet machine runs to its end, at its smallest; the results mean nothing. Needs lab/build.
"""

import json
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
BUILD = ROOT / "build" / "lab"
PYTHON = ROOT / "build" / "venv" / "bin" / "python"
PATIENCE = 300  # seconds
FEW = ["--buckets", "4096", "--backends"]
SERVERS = [
    *("--servers", "2", "--part", "0.1", "--seeds", "1", "--warm", "1", "--seconds", "5", "--late-ms", "60000"),
]
SCRIPTS = {
    "size": ["--build", BUILD, *FEW, "50", "--readers", "2", "--repetitions", "1", "--small", "1"],
    "agents": ["--agents", "20", "--services", "2", "--buckets", "4096", "--seconds", "12", "--settle", "2"],
    "services": ["--build", BUILD, *FEW, "3", "--services", "3"],
    "fairleadctl": ["--runs", "1"],
    "holds": ["--buckets", "4096", "--servers", "16"],
    "hunt": ["--seeds", "1", "--warm", "200", "--queries", "2000", "--loads", "0.5,0.87"],
    "hunt_candidates": ["--small", "--draws", "1"],
    "hunt_model": [
        *("--seeds", "1", "--servers", "200", "--warm", "20000", "--queries", "100000", "--loads", "0.5,0.7"),
        *("--tolerance", "0.02"),
    ],
    "hunt_servers": SERVERS,
    "scale": [],
    "maat_servers": SERVERS,
    "othello_map": ["--most", "8192", "--tests", "1"],
    "maat": ["--most", "1000", "--runs", "1"],
    "p4_load": ["--build", BUILD, "--flows", "2048", "--buckets", "1024"],
    "p4_rules": ["--rings", "20:256", "--changes", "3"],
    "arrays": ["--build", BUILD, "--connections", "20000", "--buckets", "4096", "--repetitions", "1"],
    "updates": [
        *("--build", BUILD, *FEW, "16", "--connections", "2000", "--rate", "500", "--changes", "2", "--rounds", "1"),
        *("--window", "6", "--age", "1", "--spacing", "1", "--seconds", "0.2", "--lead", "2", "--updates", "1"),
    ],
    "control_plane": [*FEW, "4", "--repetitions", "2"],
    "probe": ["--build", BUILD, "--backends", "20", "--interval", "500", "--seconds", "2", "--kinds", "tcp,http,udp"],
    "affinity": ["--connections", "20", "--removed", "1", "--flood", "20"],
    "churn": ["--every", "2", "--servers", "2", "--connections", "10", "--rate", "10"],
    "agent": ["--build", BUILD, "--connections", "1000", "--held", "100", "--seconds", "1", "--readings", "5"],
}


@pytest.fixture(scope="session", autouse=True)
def programs() -> None:
    targets = [
        f"bench/{name}"
        for name in (
            "mux_notices",
            "mux_packet",
            "mux_reader",
            "othello_lookup",
            "p4_load",
            "random_ring",
            "server_bpf",
            "agent_census",
            "agent_connections",
            "agent_readings",
            "decapsulate.bpf.o",
        )
    ]
    subprocess.run(["ninja", "-C", BUILD, "--quiet", *targets], check=True)


# a minute or two each, and what they run is tested elsewhere: the lab, agents, the controller at its limits
LONG = {"affinity", "agents", "churn", "hunt_servers", "maat_servers", "probe", "size", "updates"}


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.long) if name in LONG else name for name in SCRIPTS]
)
def test_a_script_runs_and_keeps_its_figures(name: str, tmp_path: Path):
    figures = tmp_path / "figures.json"
    subprocess.run([PYTHON, ROOT / "bench" / name, *SCRIPTS[name], "--json", figures], check=True, timeout=PATIENCE)
    assert json.loads(figures.read_text())["benchmark"] == name


@pytest.mark.parametrize(
    "words",
    [
        ["mux_packet", "--runs", "1", "--most-flows", "2048"],
        ["mux_notices", "--runs", "1", "--buckets", "4096", "--backends", "5"],
        ["othello_lookup", "--runs", "1", "--connections", "2048", "--passes", "4096"],
        ["server_bpf", "--runs", "1", "--packets", "1000"],
    ],
)
def test_a_program_runs_and_keeps_its_figures(words: list[str], tmp_path: Path):
    figures = tmp_path / "figures.json"
    subprocess.run([BUILD / "bench" / words[0], *words[1:], "--json", figures], check=True, timeout=PATIENCE)
    assert json.loads(figures.read_text())["benchmark"] == words[0]


@pytest.mark.parametrize("name", ["maat", "p4_rules"])
def test_the_parts_of_a_simulation(name: str):
    subprocess.run([PYTHON, ROOT / "bench" / name, "--check"], check=True, timeout=PATIENCE)


def test_the_figures_of_maat_on_a_switch(tmp_path: Path):
    figures = tmp_path / "figures.json"
    few = ["--switch", "--most", "1000", "--runs", "1", "--json", figures]
    subprocess.run([PYTHON, ROOT / "bench" / "maat", *few], check=True, timeout=PATIENCE)
    assert set(json.loads(figures.read_text())["web search"]) == {"runs", "figure14", "figure15"}


def test_the_chart_of_steering_by_load_is_drawn_from_kept_results(tmp_path: Path):
    chart = tmp_path / "load.svg"
    draw = [PYTHON, ROOT / "bench" / "load_chart", "--svg", chart]
    subprocess.run(draw, check=True, timeout=PATIENCE)
    assert chart.read_text() == (ROOT / "bench" / "results" / "load.svg").read_text()
    (tmp_path / "hunt.json").write_text("{")
    done = subprocess.run([*draw, "--results", tmp_path], capture_output=True, text=True, timeout=PATIENCE, check=False)
    assert done.returncode
    assert "hunt.json is not readable" in done.stderr


def test_a_figure_is_redrawn_by_its_own_quick_run(tmp_path: Path):
    figures = tmp_path / "figures.json"
    words = ["--quick", "--only", "beamer/Table 1", "--state", tmp_path, "--json", figures]
    subprocess.run([PYTHON, ROOT / "bench" / "reproduce", *words], check=True, timeout=PATIENCE)
    (entry,) = json.loads(figures.read_text())["figures"]
    assert (entry["state"], entry["steps"][0]["kept"]) == ("redrawn", False)
    assert Path(entry["svg"]).exists()
