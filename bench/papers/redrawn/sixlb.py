# SPDX-License-Identifier: Apache-2.0
"""6LB's figures."""

from bench.lib.figure import PAPER, Panel, Series
from bench.papers import hunt_formulas as formulas
from bench.papers.redrawn import CANNOT, REDRAWN, Figure, Row, median

LOADS = [n / 50 for n in range(1, 49)]
THRESHOLDS = {0: "SC", 2: "SR2", 4: "SR4", 8: "SR8"}


def mean_of(draws):
    return sum(draws) / len(draws)


def figure7(results, stated):
    found = results["hunt_candidates"]["figure7"]
    changed, part = found["changed"], found["removed"]
    lines = {
        name: [(k, 100 * mean_of(draws)) for k, draws in zip(changed, rows, strict=True)] for name, rows in part.items()
    }
    shown = ("one choice", "Algorithm 3", "two buckets, beamer", "two buckets, beamer, with former owners")
    fewer = [1 - two / one for (k, one), (_, two) in zip(lines["one choice"], lines["Algorithm 3"], strict=True) if one]
    panel = Panel("servers removed", "connections that lose theirs, %", [Series(name, lines[name]) for name in shown])
    limit = stated["fewer failures with two choices, most"]
    ring = lines["two buckets, beamer, with former owners"][-1][1]
    return [panel], [
        Row("fewer failures with Algorithm 3 than with one choice, most", limit, max(fewer), "share"),
        Row("failures with two buckets of a ring and chaining", 0, ring, "%"),
    ]


def model_panel(results, what, formula, title, log=""):
    points = results["hunt_model"]["points"]
    series = []
    for threshold, name in THRESHOLDS.items():
        if what == "wronglyPassed" and not threshold:
            continue
        series.append(Series(name, [(load, formula(load, threshold)) for load in LOADS], PAPER))
        ours = [
            (p["load"], p["compared"][what]["simulation"])
            for p in points
            if p["threshold"] == threshold and what in p["compared"]
        ]
        if ours:
            series.append(Series(name, ours))
    return Panel("load", title, series, log=log)


def worst(results, what, words):
    """The model beside the simulation where they are furthest apart."""
    rows = [p["compared"][what] for p in results["hunt_model"]["points"] if what in p["compared"]]
    row = max(rows, key=lambda row: abs(row["off"]))
    return Row(f"{words}, where they are furthest apart", row["model"], row["simulation"], "", factor=1.1)


def figure8(results, stated):
    panels = [
        model_panel(results, "seconds", formulas.mean, "mean response (8a)", "y"),
        model_panel(results, "fairness", formulas.fairness, "fairness (8b)"),
        model_panel(results, "percentile90", lambda load, c: formulas.percentile(load, c, 90), "90 % below (8c)", "y"),
    ]
    claims = results["hunt_model"]["claims"]
    return panels, [
        worst(results, "seconds", "mean response"),
        worst(results, "fairness", "fairness"),
        worst(results, "percentile90", "90 % of responses"),
        Row(
            "SR8 better than SR4 from load",
            stated["SR8 better than SR4 from load"],
            claims["sr8FromLoad"],
            "load",
            factor=1.01,
        ),
        Row(
            "servers under SR4 for 100 under SC",
            stated["servers needed by SR4 of 100"],
            100 * claims["serversNeeded"],
            "servers",
            factor=1.05,
        ),
    ]


def figure9(results, stated):
    panel = model_panel(results, "wronglyPassed", formulas.wrongly_passed, "wrongly passed on")
    claims, limit = results["hunt_model"]["claims"], stated["wrongful, SR4, load 0.9, below"]
    return [panel], [Row("SR4 at load 0.9", limit, claims["wronglyPassed"], "probability", "below")]


def at_load(results, policy, load):
    loads = results["hunt"]["loads"]
    at = min(range(len(loads)), key=lambda n: abs(loads[n] - load))
    return results["hunt"]["figure10"][policy][at]["seconds"], loads[at]


def figure10(results, stated):
    found = results["hunt"]
    means = [
        Series(name, list(zip(found["loads"], [p["seconds"] for p in points], strict=True)))
        for name, points in found["figure10"].items()
        if name.startswith("S")
    ]
    means.append(Series("SC", [(0.71, stated["SC, load 0.71"])], PAPER))
    fair = [
        Series(name, [(at, sample[1]) for at, sample in enumerate(samples)])
        for name, samples in found["series"].items()
    ]
    panels = [Panel("load", "mean response, s (10a)", means), Panel("seconds", "fairness (10b)", fair)]
    for load, policies in found["distributions"].items():
        lines = [Series(n, [(s, at / 100) for at, s in enumerate(ps)], step=True) for n, ps in policies.items()]
        panels.append(Panel("seconds", f"responses within, load {load} (10c)", lines))
    (one, load), (four, _) = at_load(results, "SC", 0.87), at_load(results, "SR4", 0.87)
    return panels, [
        Row(f"SC over SR4, load {load:g}", stated["SC over SR4 at load 0.87"], one / four, "ratio"),
        Row("SC, load 0.71", stated["SC, load 0.71"], at_load(results, "SC", 0.71)[0], "s"),
    ]


def figure11(results, stated):
    found, servers = results["hunt"], results["hunt_servers"]
    fewer = [(row["servers"], row["SR4"]["seconds"]) for row in found["figure11a"]]
    target = found["figure11b"][-1]["one choice"]["seconds"]
    needed = min((count for count, seconds in fewer if seconds <= target), default=48)
    buckets = {
        name: [(row["buckets"], row[name]["seconds"]) for row in found["figure11b"] if name in row]
        for name in ("one choice", "Algorithm 3, SR4", "two buckets, SR4")
    }
    resets = results["hunt_candidates"]["figure11d"]
    lost = {name: [100 * mean_of(draws) for draws in rows] for name, rows in resets["resets"].items()}
    central = [n for n in ("SC", "round robin", "feedback", "SRdyn") if n in found["figure10"]]
    varied = found["figure11f"]["sameMedian"]
    panels = [
        Panel("servers", "mean response, s, SR4 (11a)", [Series("SR4", fewer)]),
        Panel("buckets", "mean response, s (11b)", [Series(n, p) for n, p in buckets.items() if p], log="x"),
        Panel(
            "",
            "median to connect, ms (11c)",
            [Series("real servers", [(n, 1000 * m["connect"]["median"]) for n, m in servers["methods"].items()])],
            bars=True,
        ),
        Panel(
            "servers removed",
            "connections reset, % (11d)",
            [Series(n, list(zip(resets["changed"], row, strict=True))) for n, row in lost.items()],
        ),
        Panel(
            "load",
            "mean response, s (11e)",
            [
                Series(n, list(zip(found["loads"], [p["seconds"] for p in found["figure10"][n]], strict=True)))
                for n in central
            ],
        ),
        Panel(
            "deviation of work, s",
            "mean response, s (11f)",
            [
                Series(n, [(row["deviation"], row[n]["seconds"]) for row in varied])
                for n in ("SC", "SR4", "SRdyn", "round robin")
            ],
        ),
    ]
    sure = lost["on removed servers, one choice"]
    extra = {name: max(0, *(a - b for a, b in zip(row, sure, strict=True))) / 100 for name, row in lost.items()}
    sr4 = servers["methods"].get("SR4")
    rows = [
        Row("servers for the response of 48 under SC", stated["servers for the same response"], needed, "of 48"),
        Row(
            "extra resets, one choice, at most",
            stated["extra resets, SC, at most"],
            extra["one choice"],
            "share",
            "below",
        ),
        Row(
            "extra resets, Algorithm 3, at most",
            stated["extra resets, 6LB, at most"],
            extra["Algorithm 3, SR8"],
            "share",
            "below",
        ),
        Row(
            "extra resets, two buckets of a ring",
            stated["extra resets, 6LB, at most"],
            extra["ring, SR8"],
            "share",
            "below",
        ),
    ]
    if sr4:
        more = 1e6 * median(sr4["connectMoreBySeed"])
        rows.append(Row("connect under SR4, median more", stated["SYN to SYN-ACK, median more"], more, "us", factor=2))
    return panels, rows


FIGURES = (
    Figure(
        "6lb",
        "7",
        "connections that lose their server when others leave",
        REDRAWN,
        ("hunt_candidates",),
        figure7,
        "A ring with former owners loses none, since servers chain; the paper's algorithm is drawn beside it.",
    ),
    Figure(
        "6lb",
        "8",
        "the model of hunting",
        REDRAWN,
        ("hunt_model",),
        figure8,
        "The paper's curves are its formulas. Ours is a simulation of 1,000 servers (quick: 200), which differs "
        "by chance, most at high loads.",
    ),
    Figure("6lb", "9", "wrongful rejections", REDRAWN, ("hunt_model",), figure9, "As Figure 8."),
    Figure(
        "6lb",
        "10",
        "response times by policy and load",
        REDRAWN,
        ("hunt",),
        figure10,
        "Servers are simulated: 48 with two cores each, after the paper's description. The paper's load of 1 is where "
        "its servers first dropped connections, ours is where their cores are full; so loads are not the same and a "
        "response at 0.71 is shorter here.",
    ),
    Figure(
        "6lb",
        "11",
        "settings, resets, delay, central policies",
        REDRAWN,
        ("hunt", "hunt_candidates", "hunt_servers"),
        figure11,
        "Loads as in Figure 10. 11c is of Apache servers with CPU quotas in a lab, not of virtual machines on "
        "other hosts; its connections go to the server directly once they are accepted.",
    ),
    Figure(
        "6lb",
        "12",
        "Wikipedia",
        CANNOT,
        reason="It needs a day's trace and a copy of Wikipedia's database on each of 28 servers: far more disk and "
        "processor time than two cores have.",
        stands_in="6LB's Figures 10 and 11, and docs/load.md: exponential and log-normal work at all loads.",
    ),
)
