# SPDX-License-Identifier: Apache-2.0
"""Maat's figures."""

from bench.lib.figure import PAPER, Panel, Series
from bench.papers.redrawn import REDRAWN, STANDS_IN, Figure, Row

WORKLOADS = ("web search", "data mining")
OURS, PAPERS = "maat, two buckets", "Maat, the paper's"
HASHED = ("hash", "Maglev's table", "digest table (SilkRoad)", "Othello (Concury)")
CHEETAH = "round robin (Cheetah)"


def variances(found, names):
    return {
        name: [(int(n), row[name]["variance"]["mean"]) for n, row in found.items() if name in row] for name in names
    }


def saved(lines, other):
    """Variance that the paper's algorithm saves beside another, by connections."""
    return [1 - mine / theirs for (_, mine), (_, theirs) in zip(lines[PAPERS], lines[other], strict=True) if theirs]


def figure8(results, stated):
    panels, rows = [], []
    for workload in WORKLOADS:
        lines = variances(results["maat"][workload]["figure8"], (*HASHED, CHEETAH, PAPERS, OURS))
        panels.append(
            Panel("connections", "variance of packets", [Series(n, p) for n, p in lines.items() if p], workload, "xy")
        )
        most = max(value for name in HASHED for value in saved(lines, name))
        rows += [
            Row(f"{workload}: saved beside hash-based ones, most", stated["over hash-based, most"], most, "share"),
            Row(
                f"{workload}: saved beside Cheetah, most",
                stated["over Cheetah, most"],
                max(saved(lines, CHEETAH)),
                "share",
            ),
        ]
    return panels, rows


def figure9(results, stated):
    panels, rows = [], []
    for workload in WORKLOADS:
        found = results["maat"][workload]["figure9"]
        by_connections, coarse = f"{PAPERS}, connections", f"{PAPERS}, large flows"
        names = (PAPERS, by_connections, coarse, OURS, f"{OURS}, connections")
        lines = variances(found, names)
        panels.append(
            Panel("connections", "variance of packets", [Series(n, p) for n, p in lines.items() if p], workload, "xy")
        )
        rows += [
            Row(
                f"{workload}: saved beside connections, most",
                stated["over connections, most"],
                max(saved(lines, by_connections)),
                "share",
            ),
            Row(
                f"{workload}: saved beside coarse, most",
                stated["over coarse, most"],
                max(saved(lines, coarse)),
                "share",
            ),
        ]
    return panels, rows


def filters(found):
    """By (KiB, broken connections in %), of the paper's filter with three hashes."""
    points = []
    for name, row in found.items():
        words = name.split(", ")
        if words[0] == "paper" and words[2] == "3 hashes":
            points.append((float(words[1].split()[0]), 100 * row["brokenPart"]["mean"]))
    return sorted(points)


def figure10(results, stated):
    panels, rows = [], []
    for workload in WORKLOADS:
        found = results["maat"][workload]["figure10"]
        points = filters(found)
        panels.append(Panel("KiB of the filter", "broken connections, %", [Series(PAPERS, points)], workload))
        enough = [kib for kib, part in points if part == 0]
        first = next(iter(found.values()))
        rows += [
            Row(
                f"{workload}: none broken from",
                stated["no connection broken from"],
                min(enough, default=float("inf")),
                "KiB",
                "below",
            ),
            Row(f"{workload}: noted", stated["noted"], first["notedPart"]["mean"], "share", factor=3),
        ]
    return panels, rows


def figure11(results, stated):
    found = results["maat"]["figure11"]
    names = list(next(iter(found.values())))
    lines = {name: [(int(n), row[name] / 1e6) for n, row in found.items()] for name in names}
    most = found[max(found, key=int)]
    others = [most[n] for n in ("digest table (SilkRoad)", "Othello (Concury)", PAPERS)]
    panel = Panel("connections", "MB", [Series(name, points) for name, points in lines.items()], log="xy")
    return [panel], [
        Row(
            "the paper's Maat over Concury",
            stated["Maat over Concury, 1.04 M"],
            most[PAPERS] / most["Othello (Concury)"],
            "ratio",
            factor=1.02,
        ),
        Row(
            "Maglev over the mean of the three",
            stated["Maglev over the others"],
            most["Maglev's table and connections"] / (sum(others) / 3),
            "ratio",
        ),
    ]


def figure12(results, stated):
    found = {row["steering"]: row for row in results["mux_schemes"]["results"]}
    names = {"ring": "ring", "othello": "othello (Concury)", "maat": "maat", "flowtable": "table of flows (Maglev)"}
    ours = [(label, 1000 / found[steering]["median"]) for steering, label in names.items()]
    over = {steering: found[steering]["median"] / found["maat"]["median"] for steering in names}
    return [Panel("", "Mpps of one core, in process", [Series("mux", ours)], bars=True)], [
        Row("maat over Concury", stated["Maat over Concury"], over["othello"], "ratio"),
        Row("maat over Maglev", stated["Maat over Maglev"], over["flowtable"], "ratio"),
    ]


def figure13(results, stated):
    methods = results["maat_servers"]["methods"]
    series = []
    for name, method in methods.items():
        means = sorted(method["runs"][0]["meanByServer"].values())
        series.append(Series(name, [(at + 1, seconds) for at, seconds in enumerate(means)]))
    best = min(method["ratio"] for name, method in methods.items() if name != "one choice")
    panel = Panel("servers, the fastest first", "mean completion, s", series)
    limit = stated["completion time saved, up to"]
    return [panel], [Row("completion time saved, best method", limit, 1 - best, "share", "above")]


def table2(results, stated):
    series, rows, keys = (
        [],
        [],
        {"hash": "hash", "Maglev's table": "maglev", "Othello (Concury)": "concury", CHEETAH: "cheetah"},
    )
    theirs = [(name, 100 * stated[key]) for name, key in keys.items()] + [(PAPERS, 100 * stated["maat, most"])]
    band = (100 * stated["maat, least"], 100 * stated["maat, most"])
    series.append(Series("Table II", theirs, PAPER))
    for workload in WORKLOADS:
        found = results["maat"][workload]["table2"]["one, pool changes"]
        part = {name: 100 * row["brokenPart"]["mean"] for name, row in found.items() if "brokenPart" in row}
        series.append(Series(workload, [(name, part[name]) for name, _ in theirs if name in part]))
        rows += [Row(f"{workload}: {n}", t, part[n], "% broken") for n, t in theirs[:-1] if n in part]
        if PAPERS in part:
            rows.append(Row(f"{workload}: {PAPERS}", band, part[PAPERS], "% broken", "between"))
        if OURS in part:
            rows.append(Row(f"{workload}: ours, two buckets", 0, part[OURS], "% broken"))
    return [Panel("", "connections broken, %", series, bars=True)], rows


SIMULATED = (
    "The workloads' sizes are of the papers that Maat cites; arrival times and paces are not published and are "
    "chosen (docs/load.md)"
)

FIGURES = (
    Figure(
        "maat",
        "8",
        "variance of servers' load by scheme",
        REDRAWN,
        ("maat",),
        figure8,
        f"{SIMULATED}. How much variance is saved depends on how recent the counts of load are.",
    ),
    Figure(
        "maat",
        "9",
        "variance by what is counted",
        REDRAWN,
        ("maat",),
        figure9,
        f"{SIMULATED}. To count connections, or large flows, leaves the algorithm about where hash is here, so that "
        "packets save more beside them than in the paper.",
    ),
    Figure(
        "maat",
        "10",
        "broken connections by size of the filter",
        REDRAWN,
        ("maat",),
        figure10,
        f"{SIMULATED}. How many hashes the paper's filter has is not stated; here it has three. With data mining "
        "many more connections need the filter here, and some break at every size, since a connection that only seems "
        "to be in it takes others' counts along when it closes.",
    ),
    Figure(
        "maat",
        "11",
        "memory by scheme",
        REDRAWN,
        ("maat",),
        figure11,
        "Maglev's table holds whole connections here; what of them the paper's holds is not stated.",
    ),
    Figure(
        "maat",
        "12",
        "throughput by scheme",
        STANDS_IN,
        ("mux_schemes",),
        figure12,
        "Whole packets are forwarded in process. The paper's Maat looks up Concury's arrays too; ours has none, so it "
        "is faster than they are. Rows share their code, which the paper's programs do not.",
        "one mux by steering: ring, othello (Concury), maat, and a table of flows (Maglev)",
        "SilkRoad and Cheetah do not forward packets here; they are simulated (Figures 8 and 11).",
    ),
    Figure(
        "maat",
        "13",
        "completion times by server",
        REDRAWN,
        ("maat_servers",),
        figure13,
        "Twelve Apache servers with CPU quotas in a lab in place of 32 nginx on as many threads; a load of 0.85.",
    ),
    Figure(
        "maat",
        "Table II",
        "broken connections by scheme",
        REDRAWN,
        ("maat",),
        table2,
        f"{SIMULATED}. A server goes out and in again; what the paper changes in its pool is not stated.",
    ),
)
