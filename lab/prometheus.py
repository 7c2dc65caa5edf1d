# SPDX-License-Identifier: Apache-2.0
"""The alerts of docs/alerts.yaml, evaluated by Prometheus' own engine on the metrics of controllers and muxes.

promtool replays one scrape as if nothing had changed for two hours, longer than any alert waits.
"""

import json
import math
import re
import subprocess
from pathlib import Path

from lab import build
from lab.deadline import LabError
from lab.lab import Lab

RULES = build.ROOT / "docs" / "alerts.yaml"
SAMPLE = re.compile(r"([a-zA-Z_:][a-zA-Z0-9_:]*)(?:\{(.*)\})? (\S+)$")
MINUTES = 120
# What a lab's programs do without on purpose: no one else is in its networks (Variant.clear_text).
SILENCED = 'ALERTS{alertname="FairleadUnprotected",what=~"api_transport|zookeeper_transport|http"}'


def scrape(lab: Lab) -> dict[str, str]:
    """The metrics of every controller and mux that runs, by its name."""
    texts = {each.name: each.api("GET", "/metrics") for each in lab.controllers if each.process.alive}
    return texts | {each.name: each.http("GET", "/metrics") for each in lab.running_muxes()}


def series(scrapes: dict[str, str]) -> list[dict[str, str]]:
    """Each sample as a series that keeps its value."""
    found = []
    for instance, text in scrapes.items():
        for line in text.splitlines():
            if not line or line.startswith("#"):
                continue
            sample = SAMPLE.fullmatch(line)
            if not sample:
                raise LabError(f"{instance} shows a line that is no sample: {line!r}")
            name, labels, value = sample.groups()
            labels = ",".join(filter(None, (f'instance="{instance}"', labels)))
            found.append({"series": f"{name}{{{labels}}}", "values": steady(float(value))})
    return found


def steady(value: float) -> str:
    """The value at each minute, in promtool's notation, which repeats finite numbers alone."""
    return f"{value:.6f}x{MINUTES}" if math.isfinite(value) else " ".join([str(value)] * (MINUTES + 1))


def disagreement(scrapes: dict[str, str], wanted: dict[str, int], directory: Path) -> str:
    """promtool's report if the alerts that fire are not exactly those `wanted` (count by name), else nothing."""
    samples = [{"labels": f'{{alertname="{name}"}}', "value": times} for name, times in sorted(wanted.items())]
    expression = {
        "expr": f'count by (alertname) (ALERTS{{alertstate="firing"}} unless {SILENCED})',
        "eval_time": f"{MINUTES}m",
        "exp_samples": samples,
    }
    case = {"interval": "1m", "input_series": series(scrapes), "promql_expr_test": [expression]}
    file = directory / "alerts.json"  # JSON is YAML, too
    file.write_text(json.dumps({"rule_files": [str(RULES)], "evaluation_interval": "1m", "tests": [case]}))
    done = subprocess.run(["promtool", "test", "rules", str(file)], capture_output=True, text=True, check=False)
    return done.stdout + done.stderr if done.returncode else ""
