# SPDX-License-Identifier: Apache-2.0
"""
Each benchmark that needs no quiet machine runs to its end, at its smallest; the results mean nothing. Needs lab/build.
"""

import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
BUILD = ROOT / "build" / "lab"
SERVER_BPF = BUILD / "bench" / "server" / "server_bpf"
RUN = ROOT / "bench" / "run"
PATIENCE = 300  # seconds
HERE = ["--build", BUILD]  # what is built
FEW = "--buckets 4096 --backends"
SERVERS = "--servers 2 --part 0.1 --seeds 1 --warm 1 --seconds 5 --late-ms 60000".split()
UPDATES = f"{FEW} 16 --connections 2000 --rate 500 --changes 2 --rounds 1 --window 6 --age 1 --spacing 1".split()
SCRIPTS = {
    "size": [*HERE, *f"{FEW} 50 --readers 2 --repetitions 1 --small 1".split()],
    "agents": "--agents 20 --services 2 --buckets 4096 --seconds 12 --settle 2".split(),
    "hostile": "--agents 30 --seconds 4".split(),
    "services": [*HERE, *f"{FEW} 3 --services 3".split()],
    "commit_rate": [*HERE, *"--services 3 --muxes 2 --rates 20 --seconds 2 --warm-up 0".split()],
    "fairleadctl": ["--runs", "1"],
    "holds": "--buckets 4096 --servers 16".split(),
    "hunt": "--seeds 1 --warm 200 --queries 2000 --loads 0.5,0.87".split(),
    "hunt_candidates": "--small --draws 1".split(),
    "hunt_model": "--seeds 1 --servers 200 --warm 20000 --queries 100000 --loads 0.5,0.7 --tolerance 0.02".split(),
    "hunt_servers": SERVERS,
    "scale": [],
    "maat_servers": SERVERS,
    "othello_map": "--most 8192 --tests 1".split(),
    "maat": "--most 1000 --runs 1".split(),
    "p4_load": [*HERE, *"--flows 2048 --buckets 1024".split()],
    "p4_rules": "--rings 20:256 --changes 3".split(),
    "arrays": [*HERE, *"--connections 20000 --buckets 4096 --repetitions 1".split()],
    "updates": [*HERE, *UPDATES, *"--seconds 0.2 --lead 2 --updates 1".split()],
    "control_plane": f"{FEW} 4 --repetitions 2".split(),
    "probe": [*HERE, *"--backends 20 --interval 500 --seconds 2 --kinds tcp,http,udp".split()],
    "affinity": "--connections 20 --removed 1 --flood 20".split(),
    "churn": "--every 2 --servers 2 --connections 10 --rate 10".split(),
    "visits": "--servers 2 --every 2 --lives 2 --window 4 --seconds 4 --connections 10 --buckets 4096".split(),
    "downloads": "--every 2 --servers 2 --muxes 2 --loops 4 --bytes 50000".split(),
    "mux_sizes": [*HERE, *"--sizes 64,1500 --rounds 1 --seconds 0.2 --warm-up 0.1".split()],
    "flow_tables": [*HERE, *"--slots-bits 12 --sizes 10 --rounds 1 --slice-ms 10 --loads 65,80,95,120".split()],
    "server_rounds": [SERVER_BPF, SERVER_BPF, *"--rounds 1 --runs 1 --packets 200 --row stale".split()],
    "agent": [*HERE, *"--connections 1000 --held 100 --seconds 1 --readings 5".split()],
}


@pytest.fixture(scope="session", autouse=True)
def programs() -> None:
    targets = ["mux/mux_packet", "mux/flowtable/still_stateful_mux", "mux/othello_lookup", "mux/p4_load"]
    targets += ["mux/decapsulate.bpf.o", "mux/flow_state", "server/server_bpf", "controller/mux_reader"]
    targets += ["controller/random_ring", "agent/agent_census", "agent/agent_connections", "agent/agent_readings"]
    targets = [f"bench/{name}" for name in targets]
    subprocess.run(["ninja", "-C", BUILD, "--quiet", *targets], check=True)


# a minute or two each, and what they run is tested elsewhere: the lab, agents, the controller at its limits
LONG = {
    "affinity",
    "agents",
    "churn",
    "downloads",
    "hunt_servers",
    "maat_servers",
    "probe",
    "size",
    "updates",
    "visits",
}


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.long) if name in LONG else name for name in SCRIPTS]
)
def test_a_script_runs_and_keeps_its_figures(name: str, tmp_path: Path):
    figures = tmp_path / "figures.json"
    subprocess.run([RUN, name, *SCRIPTS[name], "--json", figures], check=True, timeout=PATIENCE)
    assert json.loads(figures.read_text())["benchmark"] == name


@pytest.mark.parametrize(
    "words",
    [
        ["mux/mux_packet", "--runs", "1", "--most-flows", "2048"],
        ["mux/othello_lookup", "--runs", "1", "--connections", "2048", "--passes", "4096"],
        ["server/server_bpf", "--runs", "1", "--packets", "1000"],
    ],
)
def test_a_program_runs_and_keeps_its_figures(words: list[str], tmp_path: Path):
    figures = tmp_path / "figures.json"
    subprocess.run([BUILD / "bench" / words[0], *words[1:], "--json", figures], check=True, timeout=PATIENCE)
    assert json.loads(figures.read_text())["benchmark"] == Path(words[0]).name


FLOW_TABLES = ROOT / "bench" / "results" / "flow_tables.json"


def test_the_tables_and_figures_of_flow_tables_are_those_of_its_kept_results(tmp_path: Path):
    page = tmp_path / "page.md"
    page.write_text((ROOT / "docs" / "research" / "flow-tables.md").read_text())
    again = ["--from", FLOW_TABLES, "--json", tmp_path / "flow_tables.json", "--page", page]
    subprocess.run([RUN, "flow_tables", *again], check=True, timeout=PATIENCE)
    assert page.read_text() == (ROOT / "docs" / "research" / "flow-tables.md").read_text()
    for figure in range(51, 58):
        svg = f"flow_tables_figure{figure}.svg"
        assert (tmp_path / svg).read_text() == (FLOW_TABLES.parent / svg).read_text()


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["--loads", "80,65,95"], "--loads: '80,65,95' is not allowed; allowed: whole numbers of 1 to 200, ascending"),
        (["--loads", "65,95"], "--loads: [65, 95] has not [80]; allowed: any that include [65, 80, 95]"),
        (["--rounds", "0"], "--rounds: '0' is not allowed; allowed: 1 to 101"),
        (["--slots-bits", "x"], "--slots-bits: 'x' is not allowed; allowed: 10 to 24"),
        (["--build", "/nowhere"], "--build: /nowhere has no bench/mux/flow_state"),
        (["--from", "/nowhere"], "--from: /nowhere is not readable as JSON"),
    ],
)
def test_flow_tables_says_what_is_wrong(words: list[str], told: str):
    flow_tables = [RUN, "flow_tables", *words]
    done = subprocess.run(flow_tables, capture_output=True, text=True, timeout=PATIENCE, check=False)
    assert done.returncode == 1
    assert told in done.stderr


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ([], "part: '' is not allowed; allowed: ops, packets, delay"),
        (["ops", "--runs", "102"], "--runs: '102' is not allowed; allowed: 1 to 101"),
        (["ops", "--seed"], "--seed: '' is not allowed; allowed: 1 to 8388607"),
        (["ops", "--loads", "80,,90"], "--loads: '' is not allowed; allowed: 1 to 200"),
        (["ops", "--loads", "90,80"], "--loads: '90,80' is not allowed; allowed: in ascending order"),
        (["ops", "--tables", "rte_hash;hash"], "--tables: 'hash' is not allowed; allowed: rte_hash; "),
        (["packets", "--threads", "-1"], "--threads: '-1' is not allowed; allowed: 1 to 8"),
        (["delay", "--wide", "1"], "option '--wide' is not allowed; allowed: --seed, "),
    ],
)
def test_flow_state_says_what_is_wrong(words: list[str], told: str):
    flow_state = [BUILD / "bench" / "mux" / "flow_state", *words]
    done = subprocess.run(flow_state, capture_output=True, text=True, timeout=PATIENCE, check=False)
    assert done.returncode == 1
    assert f"flow_state: {told}" in done.stderr


@pytest.mark.parametrize("name", ["maat", "p4_rules"])
def test_the_parts_of_a_simulation(name: str):
    subprocess.run([RUN, name, "--check"], check=True, timeout=PATIENCE)


def test_the_figures_of_maat_on_a_switch(tmp_path: Path):
    figures = tmp_path / "figures.json"
    few = ["--switch", "--most", "1000", "--runs", "1", "--json", figures]
    subprocess.run([RUN, "maat", *few], check=True, timeout=PATIENCE)
    assert set(json.loads(figures.read_text())["web search"]) == {"runs", "figure14", "figure15"}


def test_the_chart_of_steering_by_load_is_drawn_from_kept_results(tmp_path: Path):
    chart = tmp_path / "load.svg"
    draw = [RUN, "load_chart", "--svg", chart]
    subprocess.run(draw, check=True, timeout=PATIENCE)
    assert chart.read_text() == (ROOT / "bench" / "results" / "load.svg").read_text()
    (tmp_path / "hunt.json").write_text("{")
    done = subprocess.run([*draw, "--results", tmp_path], capture_output=True, text=True, timeout=PATIENCE, check=False)
    assert done.returncode
    assert "hunt.json is not readable" in done.stderr


NAMED = sorted(set(re.findall(r"bench/run ([a-z]\w+)", (ROOT / "bench" / "README.md").read_text())))


@pytest.mark.parametrize("name", NAMED)
def test_each_benchmark_of_the_readme_starts_from_any_directory(name: str, tmp_path: Path):
    link = tmp_path / "run"
    link.symlink_to(RUN)
    done = subprocess.run([link, name, "--help"], capture_output=True, text=True, cwd=tmp_path, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith(f"usage: {name}")


@pytest.mark.parametrize("name", ["", "nothing", "mux.py", "region", "../papers/hunt", "--help"])
def test_only_benchmarks_start(name: str):
    done = subprocess.run([RUN, name], capture_output=True, text=True, check=False)
    told = f"run: benchmark '{name}' is not allowed; allowed: those of bench/README.md\n"
    assert (done.returncode, done.stderr) == (1, told)


def test_run_says_that_python_is_missing(tmp_path: Path):
    for name in ("run", "README.md", "papers/hunt.py"):
        copy = tmp_path / "bench" / name
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / "bench" / name, copy)
    done = subprocess.run([tmp_path / "bench" / "run", "hunt"], capture_output=True, text=True, check=False)
    told = "run: build/venv/bin/python is missing: run scripts/install-deps\n"
    assert (done.returncode, done.stderr) == (1, told)
