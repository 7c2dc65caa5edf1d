# SPDX-License-Identifier: Apache-2.0
"""Beamer's figures that come from labs: how bench/run churn, bench/run affinity and bench/run downloads are drawn."""

import itertools

from bench.lib.figure import PAPER, Panel, Series
from bench.papers.redrawn import Row, median


def churn_lines(results, key):
    """By server: the counts of each second."""
    seconds = results["churn"]["tcp"]["seconds"]
    servers = sorted({name for second in seconds for name in second[key]})
    return {name: [(at, second[key].get(name, 0)) for at, second in enumerate(seconds)] for name in servers}


def figure17(results, stated):
    tcp = results["churn"]["tcp"]
    answers = [(at, second["requests"]) for at, second in enumerate(tcp["seconds"])]
    muxes = [(sample["second"], sample["muxes"]) for sample in tcp["samples"]]
    panels = [
        Panel("seconds", "answers a second", [Series("all servers", answers)]),
        Panel("seconds", "muxes that run", [Series("muxes", muxes)]),
    ]
    return panels, [Row("broken connections", stated["broken connections"], tcp["broken"], "connections")]


def figure18(results, stated):
    tcp, lines = results["churn"]["tcp"], churn_lines(results, "new")
    last = next(event["second"] for event in tcp["events"] if event["what"].startswith("mux"))
    count = [
        sum(n for at, n in points if last <= at < last + 2 * results["churn"]["every"]) for points in lines.values()
    ]
    panel = Panel("seconds", "new connections a second", [Series(name, points) for name, points in lines.items()])
    mean = sum(count) / len(count)
    return [panel], [Row("most loaded server over the mean, all servers active", 1, max(count) / mean, "ratio")]


def broken(experiment):
    def draw(results, stated):
        found = results["affinity"]
        held, theirs = found["connections"], stated["connections"]
        panels, rows = [], []
        series = []
        for method, by_removed in found[experiment].items():
            ours = [(k, 100 * median(row["broken"] for row in runs) / held) for k, runs in by_removed.items()]
            paper = [(str(k), 100 * n / theirs) for k, n in stated.series(method)]
            series += [Series(method, ours), Series(method, paper, PAPER)]
            known = dict(paper)
            rows += [
                Row(f"{method}, {k} servers drained", known[k], share, "% broken", factor=1.6)
                for k, share in ours
                if k in known
            ]
        panels.append(Panel("servers drained", "% of connections broken", series, bars=True))
        return panels, rows

    return draw


def completion(results, method):
    """Of a method's downloads: all that was found, and the lines by second."""
    found = results["downloads"]["methods"][method]
    lines = {
        name: [(second["second"], second[key]) for second in found["seconds"] if key in second]
        for key, name in (("median", "median"), ("p99", "99 %"))
    }
    return found, lines


def downloads_panels(results, method, paper):
    found, lines = completion(results, method)
    phases = found["phases"]
    servers = [(phase["at"], phase["servers"]) for phase in phases]
    muxes = [(phase["at"], phase["muxes"]) for phase in phases]
    end = found["seconds"][-1]["second"]
    return [
        Panel(
            "seconds",
            "seconds of a download",
            [*(Series(name, points) for name, points in lines.items()), *paper],
            method,
            "y",
        ),
        Panel(
            "seconds",
            "servers, muxes",
            [
                Series("servers", [*servers, (end, servers[-1][1])], step=True),
                Series("muxes", [*muxes, (end, muxes[-1][1])], step=True),
            ],
        ),
    ]


def with_all_muxes(found, muxes):
    """The phases in which servers join; then one is the first and another one the last."""
    return [phase for phase in found["phases"] if phase["muxes"] == muxes]


def figure19(results, stated):
    found = results["downloads"]["methods"]["Beamer"]
    joining = with_all_muxes(found, found["phases"][0]["muxes"])
    one, all_ = joining[0], joining[-1]
    times = [(one["at"], stated["median, one server"]), (all_["at"], stated["median, six servers"])]
    tail = [(one["at"], stated["99 %, one server, least"])]
    paper = [Series("median", times, PAPER), Series("99 %", tail, PAPER)]
    ratio = stated["median, one server"] / stated["median, six servers"]
    killed = [second["p99"] for second in found["seconds"] if second["second"] >= all_["at"] and "p99" in second]
    return downloads_panels(results, "Beamer", paper), [
        Row("failed downloads", stated["failed downloads"], len(found["failed"]), "downloads"),
        Row("second subflows that join", 1, found["joined"], "share"),
        Row(f"median with one server over {all_['servers']}", ratio, one["median"] / all_["median"], "ratio", factor=2),
        Row(f"99 % with one server over {all_['servers']}", 1, one["p99"] / all_["p99"], "ratio", "above"),
        Row("99 % of the worst second", stated["spikes when muxes are killed"], max(killed), "s", "below"),
    ]


def figure20(results, stated):
    found, beamer = (results["downloads"]["methods"][method] for method in ("Stateful", "Beamer"))
    limit = stated["second subflows created, below"]
    churn = results["churn"]["mptcp"]["hashed"]["joined"]
    joined = Panel(
        "",
        "share of second subflows that joined",
        [
            Series("by id", [("subflows", beamer["joined"])]),
            Series("Stateful", [("subflows", found["joined"])]),
            Series("hashed, four servers", [("subflows", churn)]),
            Series("Stateful, below", [("subflows", limit)], PAPER),
        ],
        bars=True,
    )
    mine, theirs = (with_all_muxes(each, each["phases"][0]["muxes"])[-1] for each in (found, beamer))
    worst = [max(second["p99"] for second in each["seconds"] if "p99" in second) for each in (found, beamer)]
    return [*downloads_panels(results, "Stateful", []), joined], [
        Row("second subflows that join", limit, found["joined"], "share", "below"),
        Row(
            "four servers, each subflow hashed by itself: second subflows that join", limit, churn, "share", factor=1.6
        ),
        Row("median over Beamer's, all servers, no failures", 1, mine["median"] / theirs["median"], "ratio"),
        Row("99 % over Beamer's, all servers, no failures", 1, mine["p99"] / theirs["p99"], "ratio", "above"),
        Row("99 % of the worst second over Beamer's", 1, worst[0] / worst[1], "ratio", "above"),
    ]


def figure21(results, stated):
    lines = {}
    for name, points in churn_lines(results, "servers").items():
        lines[name] = list(enumerate(itertools.accumulate(n for _, n in points)))
    return [Panel("seconds", "answers so far", [Series(name, points) for name, points in lines.items()])], []


def figure22(results, stated):
    samples = results["churn"]["tcp"]["samples"]
    names = sorted({name for sample in samples for name in sample["chained"]})
    lines = {name: [(s["second"], s["chained"].get(name, 0)) for s in samples] for name in names}
    total = sum(points[-1][1] for points in lines.values())
    panel = Panel("seconds", "packets chained so far", [Series(name, points) for name, points in lines.items()])
    return [panel], [Row("packets chained, all servers", 1, total, "packets", "above")]
