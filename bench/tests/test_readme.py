# SPDX-License-Identifier: Apache-2.0
"""Figures of pages are those of result files, and README.md's lines of the demo those that the demo printed."""

import json
import re
import subprocess

import pytest

from bench.lib.command import RESULTS, ROOT
from lab.demo import verdict
from lab.timeline import Timeline

README = (ROOT / "README.md").read_text()
TEXT = " ".join(README.split())

SHOWN_MIN = 8


def result(name: str) -> dict:
    return json.loads((RESULTS / f"{name}.json").read_text())


def nanoseconds(row: str) -> str:
    rows = {each["name"]: each["median"] for each in result("mux")["packet"]["results"]}
    return f"{rows[row]:.0f}"


def figures() -> list[str]:
    size, services, agents = result("size"), result("services"), result("agents")
    rate = result("mux")["ports"]["ratios"]["mux / macswap"]["median"]
    scenarios = (ROOT / "jepsen" / "scenarios.edn").read_text()
    servers, muxes = (re.search(rf":{what} +(\d+)", scenarios)[1] for what in ("servers", "muxes"))
    fast, avx2, plain = map(nanoseconds, ("64 K buckets", "AVX2", "reference"))
    return [
        f"{size['backends']:,} servers and {size['buckets']:,} buckets with {size['readers']} muxes",
        f"{services['services']:,} services, and {agents['agents']:,} servers that report",
        f"With traffic: {servers} servers and {muxes} muxes.",
        f"{fast} ns per packet with AVX-512, {avx2} with AVX2, {plain} without either",
        f"{rate:.2f} of the rate of DPDK's `macswap`",
        f"Version {(ROOT / 'VERSION').read_text().strip()} ",
    ]


@pytest.mark.parametrize("figure", figures())
def test_the_readme_has_the_figure_of_the_result(figure: str) -> None:
    assert figure in TEXT


def test_the_readme_shows_what_the_demo_printed(capsys: pytest.CaptureFixture[str]) -> None:
    """The table of the summary that a run of scripts/demo has written, as the demo prints it."""
    summary = result("demo")
    total = {"name": "all of it", "seconds": 0.0, "requests": 0, "chained": 0, "slowest_ms": 0.0, "broken": 0}
    timeline = Timeline()
    timeline.table(summary["events"], total)
    timeline.verdict(*verdict(summary))
    printed = [line for line in capsys.readouterr().out.splitlines() if line.strip()]
    block = next(each for each in re.findall(r"```\n(.*?)```", README, re.DOTALL) if "requests" in each)
    shown = [line for line in block.splitlines() if line.strip()]
    assert len(shown) >= SHOWN_MIN
    assert [line for line in shown if line not in printed] == []


def test_the_table_of_the_mux_is_that_of_the_result() -> None:
    done = subprocess.run([ROOT / "bench" / "run", "mux_table", "--check"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_the_readme_is_short() -> None:
    assert len(README.splitlines()) <= 120
