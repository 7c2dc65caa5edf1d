#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""
Makes the Grafana dashboards beside it, by Grafana's own SDK. A panel is a row of a table: its title, its unit, and what
it shows, each with the text of its legend.

Usage: build/venv/bin/python docs/dashboards/generate.py [--check]
  --check: writes nothing; fails if a file is not what would be written, or promtool does not accept an expression.
"""

import argparse
import json
import re
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from grafana_foundation_sdk.builders import dashboard, prometheus, timeseries
from grafana_foundation_sdk.cog.encoder import JSONEncoder
from grafana_foundation_sdk.models.dashboard import DataSourceRef, VariableRefresh

HERE = Path(__file__).resolve().parent
SOURCE = DataSourceRef(type_val="prometheus", uid="${source}")
COLUMNS, HEIGHT = 3, 7
RATE = "$__rate_interval"
# Stands for what Grafana puts in before it asks Prometheus.
VARIABLES = {RATE: "1m", "$service": ".*", "$instance": ".*"}


@dataclass(frozen=True)
class Panel:
    title: str
    unit: str  # Grafana's word
    shows: tuple[tuple[str, str], ...]
    says: str  # what it means, or what to do about it


@dataclass(frozen=True)
class Board:
    name: str
    title: str
    says: str
    variables: tuple[tuple[str, str], ...]  # name, and the query for its values
    rows: tuple[tuple[str, tuple[Panel, ...]], ...]


SERVICE = ("service", "label_values(fairlead_controller_generation, service)")
OF = '{service=~"$service"}'
AT = '{instance=~"$instance"}'


def panel(title: str, unit: str, says: str, *shows: tuple[str, str]) -> Panel:
    return Panel(title, unit, shows, says)


def commits(part: float) -> str:
    buckets = f"sum by (le) (rate(fairlead_controller_commit_seconds_bucket[{RATE}]))"
    return f"histogram_quantile({part}, {buckets})"


CLUSTER = Board(
    "fairlead-cluster",
    "Fairlead: cluster",
    "Controllers, services, and moved buckets.",
    (SERVICE,),
    (
        (
            "Controllers",
            (
                panel("Leaders", "none", "One, always.", ("sum(fairlead_controller_leader)", "leaders")),
                panel(
                    "ZooKeeper",
                    "none",
                    "1: connected.",
                    ('fairlead_controller_zookeeper_state{state="connected"}', "{{instance}}"),
                ),
                panel(
                    "Epoch", "none", "Rises with each change of leader.", ("max(fairlead_controller_epoch)", "epoch")
                ),
                panel(
                    "Commits",
                    "s",
                    "Time of a commit in ZooKeeper.",
                    (commits(0.5), "half"),
                    (commits(0.99), "99 %"),
                ),
                panel(
                    "Clocks ahead of ZooKeeper's",
                    "s",
                    "Beyond 2 s a controller commits nothing.",
                    ("fairlead_controller_clock_difference_seconds", "{{instance}}"),
                    ("fairlead_mux_clock_difference_seconds", "{{instance}}"),
                ),
                panel(
                    "Requests to the API",
                    "reqps",
                    "By status.",
                    (f"sum by (status) (rate(fairlead_controller_http_requests_seconds_count[{RATE}]))", "{{status}}"),
                ),
            ),
        ),
        (
            "Services",
            (
                panel(
                    "Generation",
                    "none",
                    "Of each service, as committed.",
                    (f"max by (service) (fairlead_controller_generation{OF})", "{{service}}"),
                ),
                panel(
                    "Moved buckets",
                    "none",
                    "In five minutes; those that lost a former owner have broken connections.",
                    (f"sum by (service) (increase(fairlead_controller_moved_buckets_total{OF}[5m]))", "{{service}}"),
                    (
                        f"sum by (service) (increase(fairlead_controller_lost_buckets_total{OF}[5m]))",
                        "{{service}} lost",
                    ),
                ),
                panel(
                    "Imbalance",
                    "none",
                    "Highest load of a backend over the average; 1 is even.",
                    (f"max by (service) (fairlead_controller_imbalance{OF})", "{{service}}"),
                ),
                panel(
                    "Fragmentation",
                    "none",
                    "Runs of buckets per owner. Above 100: defragment.",
                    (f"max by (service) (fairlead_controller_fragmentation{OF})", "{{service}}"),
                ),
                panel(
                    "Muxes behind",
                    "s",
                    "Age of the oldest generation that a mux lacks.",
                    (f"max by (mux, service) (fairlead_controller_mux_lag_seconds{OF})", "{{mux}} {{service}}"),
                ),
                panel(
                    "Held buckets",
                    "none",
                    "Held beyond their window, because connections are left in them.",
                    (f"max by (service) (fairlead_controller_held_buckets{OF})", "{{service}}"),
                    (
                        f"max by (service) (fairlead_controller_held_near_limit_buckets{OF})",
                        "{{service}} near their limit",
                    ),
                ),
            ),
        ),
        (
            "Backends",
            (
                panel(
                    "Agents",
                    "none",
                    "Backends, by the state of their servers' agents.",
                    (f"max by (service, state) (fairlead_controller_agents{OF})", "{{service}} {{state}}"),
                ),
                panel(
                    "Backends by health",
                    "none",
                    "According to probes. Empty without a health check.",
                    (f"max by (service, state) (fairlead_controller_health_backends{OF})", "{{service}} {{state}}"),
                ),
                panel(
                    "Health ignored, probes missing",
                    "none",
                    "1: too few are healthy, so health is ignored. Probes missing: none goes out.",
                    (f"max by (service) (fairlead_controller_health_panic{OF})", "{{service}} panic"),
                    (f"max by (service) (fairlead_controller_health_probes_missing{OF})", "{{service}} probes missing"),
                ),
            ),
        ),
    ),
)

MUXES = Board(
    "fairlead-muxes",
    "Fairlead: muxes and probes",
    "Packets, drops, BGP, ZooKeeper and other muxes.",
    (("instance", "label_values(fairlead_mux_next_hops, instance)"),),
    (
        (
            "Packets",
            (
                panel(
                    "Packets",
                    "pps",
                    "By verdict. Each packet counts once, here or as a drop.",
                    (f"sum by (verdict) (rate(fairlead_mux_packets_total{AT}[{RATE}]))", "{{verdict}}"),
                ),
                panel(
                    "Packets by mux",
                    "pps",
                    "If uneven, routers do not spread packets well.",
                    (f"sum by (instance) (rate(fairlead_mux_packets_total{AT}[{RATE}]))", "{{instance}}"),
                ),
                panel(
                    "Drops",
                    "pps",
                    "docs/mux.md says what each reason means.",
                    (f"sum by (reason) (rate(fairlead_mux_drops_total{AT}[{RATE}])) > 0", "{{reason}}"),
                ),
                panel(
                    "Bytes by service",
                    "Bps",
                    "As received.",
                    (f"sum by (service) (rate(fairlead_mux_service_bytes_total{AT}[{RATE}]))", "{{service}}"),
                ),
                panel(
                    "To buckets that have moved",
                    "percentunit",
                    "Share of all packets that name a former owner.",
                    (
                        f"sum by (instance) (rate(fairlead_mux_moved_packets_total{AT}[{RATE}]))"
                        f" / sum by (instance) (rate(fairlead_mux_packets_total{AT}[{RATE}]))",
                        "{{instance}}",
                    ),
                ),
                panel(
                    "Lost before they could be counted",
                    "pps",
                    "The port's ring was full, no buffer was free, or the packet was damaged.",
                    (f"sum by (instance) (rate(fairlead_mux_rx_missed_total{AT}[{RATE}]))", "{{instance}} missed"),
                    (
                        f"sum by (instance) (rate(fairlead_mux_rx_no_buffer_total{AT}[{RATE}]))",
                        "{{instance}} no buffer",
                    ),
                    (f"sum by (instance) (rate(fairlead_mux_rx_errors_total{AT}[{RATE}]))", "{{instance}} damaged"),
                ),
            ),
        ),
        (
            "State",
            (
                panel(
                    "Announced services",
                    "none",
                    "Of each mux, to routers by BGP.",
                    (f"sum by (instance) (fairlead_mux_announced{AT})", "{{instance}}"),
                ),
                panel(
                    "ZooKeeper",
                    "none",
                    "1: connected. Without it a mux serves what it has.",
                    (f"fairlead_mux_zookeeper_connected{AT}", "{{instance}}"),
                ),
                panel(
                    "Behind",
                    "s",
                    "As each mux sees it.",
                    (f"max by (instance) (fairlead_mux_lag_seconds{AT})", "{{instance}}"),
                ),
                panel(
                    "Other muxes",
                    "none",
                    "Heard by hellos; silent, but in ZooKeeper.",
                    (f"fairlead_mux_hello_peers{AT}", "{{instance}} {{state}}"),
                ),
                panel(
                    "Next hops",
                    "none",
                    "Of backends, by whether their MAC address is known.",
                    (f"fairlead_mux_next_hops{AT}", "{{instance}} {{state}}"),
                ),
                panel(
                    "Notices to servers",
                    "ops",
                    "Which tell them generations, by result.",
                    (f"sum by (result) (rate(fairlead_mux_notices_total{AT}[{RATE}]))", "{{result}}"),
                ),
            ),
        ),
        (
            "Probes",
            (
                panel(
                    "Attempts",
                    "ops",
                    "By result.",
                    (f"sum by (outcome) (rate(fairlead_probe_results_total{AT}[{RATE}]))", "{{outcome}}"),
                ),
                panel(
                    "Results in ZooKeeper",
                    "none",
                    "1: they are there.",
                    (f"fairlead_probe_registered{AT}", "{{instance}}"),
                ),
                panel(
                    "Attempts under way",
                    "none",
                    "Source ports that are taken.",
                    (f"fairlead_probe_source_ports_taken{AT}", "{{instance}}"),
                ),
            ),
        ),
    ),
)

SERVERS = Board(
    "fairlead-servers",
    "Fairlead: servers",
    "The server side, by node_exporter.",
    (("instance", "label_values(fairlead_server_info, instance)"),),
    (
        (
            "Packets",
            (
                panel(
                    "Packets",
                    "pps",
                    "By verdict.",
                    (f"sum by (verdict) (rate(fairlead_server_packets_total{AT}[{RATE}]))", "{{verdict}}"),
                ),
                panel(
                    "Packets by server",
                    "pps",
                    "If none, it gets no traffic, or its program is gone.",
                    (f"sum by (instance) (rate(fairlead_server_packets_total{AT}[{RATE}]))", "{{instance}}"),
                ),
                panel(
                    "Drops",
                    "pps",
                    "docs/servers.md says what each reason means.",
                    (f"sum by (reason) (rate(fairlead_server_drops_total{AT}[{RATE}])) > 0", "{{reason}}"),
                ),
            ),
        ),
        (
            "What servers know",
            (
                panel(
                    "Generation seen",
                    "none",
                    "By the number of the service (fairlead_controller_service has its name).",
                    (f"max by (service) (fairlead_server_generation{AT})", "{{service}}"),
                ),
                panel(
                    "Reset nothing yet",
                    "s",
                    "Seconds for which servers that were just attached reset nothing.",
                    (f"fairlead_server_quiet_seconds{AT} > 0", "{{instance}}"),
                ),
                panel(
                    "Skipped servers",
                    "ops",
                    "Servers that packets could not be sent on to, by who skipped them.",
                    (f"sum by (instance) (rate(fairlead_server_skipped_total{AT}[{RATE}]))", "{{instance}}"),
                ),
                panel(
                    "Generations ignored",
                    "ops",
                    "Far above the highest one seen: packets may be forged, where servers have no key.",
                    (f"sum by (instance) (rate(fairlead_server_generation_jump_total{AT}[{RATE}]))", "{{instance}}"),
                ),
            ),
        ),
    ),
)

BOARDS = (CLUSTER, MUXES, SERVERS)


def variable(name: str, query: str) -> dashboard.QueryVariable:
    built = dashboard.QueryVariable(name).datasource(SOURCE).query(query).refresh(VariableRefresh.ON_TIME_RANGE_CHANGED)
    return built.multi(True).include_all(True).all_value(".*")


def chart(one: Panel) -> timeseries.Panel:
    built = timeseries.Panel().title(one.title).description(one.says).unit(one.unit).datasource(SOURCE)
    for number, (expression, legend) in enumerate(one.shows):
        query = prometheus.Dataquery().expr(expression).legend_format(legend).ref_id(chr(ord("A") + number))
        built = built.with_target(query)
    return built.height(HEIGHT).span(24 // COLUMNS).min(0).fill_opacity(10)


def text(board: Board) -> str:
    built = (
        dashboard.Dashboard(board.title).uid(board.name).description(board.says).tags(["fairlead"]).timezone("browser")
    )
    built = (
        built.refresh("30s")
        .time("now-1h", "now")
        .with_variable(dashboard.DatasourceVariable("source").type("prometheus"))
    )
    for name, query in board.variables:
        built = built.with_variable(variable(name, query))
    for title, panels in board.rows:
        built = built.with_row(dashboard.Row(title))
        for one in panels:
            built = built.with_panel(chart(one))
    return JSONEncoder(sort_keys=True, indent=1).encode(built.build()) + "\n"


def expressions(document: dict) -> list[str]:
    """Of every panel, as Prometheus gets them."""
    found = [target["expr"] for each in document["panels"] for target in each.get("targets", [])]
    for name, value in VARIABLES.items():
        found = [expression.replace(name, value) for expression in found]
    return found


def metrics(document: dict) -> set[str]:
    return {name for expression in expressions(document) for name in re.findall(r"fairlead_\w+", expression)}


def refusal(found: list[str]) -> str:
    """What promtool says against them, or nothing."""
    rules = [{"record": f"expression:{number}", "expr": each} for number, each in enumerate(found)]
    with tempfile.NamedTemporaryFile("w", suffix=".json") as file:  # JSON is YAML, too
        json.dump({"groups": [{"name": "dashboards", "rules": rules}]}, file)
        file.flush()
        done = subprocess.run(["promtool", "check", "rules", file.name], capture_output=True, text=True, check=False)
    return done.stdout + done.stderr if done.returncode else ""


def main() -> int:
    parser = argparse.ArgumentParser(description="Makes the Grafana dashboards.")
    parser.add_argument("--check", action="store_true", help="write nothing, fail if a file is not current")
    is_check = parser.parse_args().check
    faults = []
    for board in BOARDS:
        path, wanted = HERE / f"{board.name}.json", text(board)
        if said := refusal(expressions(json.loads(wanted))):
            faults.append(f"{path.name}: {said.strip()}")
        if not is_check:
            path.write_text(wanted)
        elif not path.exists() or path.read_text() != wanted:
            faults.append(f"{path.name} is not what docs/dashboards/generate.py makes: run it")
    for fault in faults:
        print(fault, file=sys.stderr)
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
