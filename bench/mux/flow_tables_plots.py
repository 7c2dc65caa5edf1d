# SPDX-License-Identifier: Apache-2.0
"""The counterparts of the KTH report's Figures 5.1 to 5.7. What it states is grey, and so is what has no table."""

import matplotlib as mpl

from bench.lib.figure import save
from bench.mux.flow_tables_model import CORES, MEASURED, STATELESS
from bench.mux.flow_tables_text import LOAD, value

COLOURS = {
    "rte_hash": "#4477aa",
    "Cuckoo++": "#ee6677",
    "std::unordered_map": "#228833",
    "hopscotch": "#ccbb44",
    "absl::flat_hash_map": "#66ccee",
    "rte_hash, lock-free": "#225588",
    "libcuckoo": "#aa3377",
}
PAPER_TABLES = ("rte_hash", "Cuckoo++", "std::unordered_map", "hopscotch")
BLACK, GREY = "#000000", "#888888"
REPORT = {"color": GREY, "linestyle": ":", "linewidth": 1.4}


def as_mpps(gbps):
    """Of the report's packets of 1,000 bytes."""
    return gbps / 8


def pyplot():
    mpl.use("svg")
    from matplotlib import pyplot as plt

    return plt


def legend(axes, handles_of=None):
    """To the right of the axes."""
    handles, labels = (handles_of or axes).get_legend_handles_labels()
    axes.legend(handles, labels, frameon=False, fontsize=7, loc="center left", bbox_to_anchor=(1.01, 0.5))


def draw_cores(s, report, path):
    plot, (rates, gains) = pyplot().subplots(1, 2, figsize=(11, 4.2))
    for table in s.shared:
        for how, style in (("per core", "-"), ("mutex", "--"), ("concurrent", "-.")):
            if how not in s.sharings(table):
                continue
            ys = [s.mpps(table, how, cores, LOAD) for cores in CORES]
            for axes, values in ((rates, ys), (gains, [y / ys[0] for y in ys])):
                axes.plot(CORES, values, style, color=COLOURS[table], linewidth=1, label=f"{table}, {how}")
                axes.plot(CORES[:2], values[:2], "o", color=COLOURS[table], markersize=4)
                axes.plot(CORES[2:], values[2:], "o", color=COLOURS[table], markersize=4, markerfacecolor="white")
    ys = [s.mpps(*STATELESS, cores, LOAD) for cores in CORES]
    rates.plot(CORES, ys, "-", color=BLACK, linewidth=1.4, label="stateless mux")
    gains.plot(CORES, [y / ys[0] for y in ys], "-", color=BLACK, linewidth=1.4)
    link, locked = (value(report, "5.1", "per core, all"), value(report, "5.6", "mutex, unordered"))
    rates.plot([6, 8], [as_mpps(link)] * 2, "s", color=GREY, markersize=5, label="report, per core: link full")
    rates.axhline(as_mpps(locked), **REPORT, label="report, mutex: at most")
    least, most = (value(report, "5.1", f"mutex, 2 cores over 1, {which}") for which in ("least", "most"))
    double, four = (value(report, "5.1", f"per core, Hopscotch, {n} cores") for n in (2, 4))
    gains.plot([1, 2, 4], [1, double, four], "s", color=GREY, markersize=5, label="report: hopscotch, per core")
    gains.plot([2, 2], [least, most], "-", color=GREY, linewidth=5, label="report: mutex, all tables")
    rates.set_yscale("log")
    rates.set_ylabel("Mpps (report: 1,000-byte packets at 1.3 GHz)")
    gains.set_ylabel("packets a second, of one core's")
    for axes in (rates, gains):
        axes.set_xlabel("cores; hollow: model")
        axes.set_xticks([*CORES, 6])
    handles, labels = ([*a, *b] for a, b in zip(*(x.get_legend_handles_labels() for x in (rates, gains)), strict=True))
    once = dict(zip(labels, handles, strict=True))
    gains.legend(once.values(), once, frameon=False, fontsize=7, loc="center left", bbox_to_anchor=(1.01, 0.5))
    save(plot, path / "flow_tables_figure51.svg")


def stack(axes, names, parts, colours):
    bottom = [0.0] * len(names)
    for part, values in parts.items():
        axes.bar(names, values, bottom=bottom, color=colours[part], label=part, width=0.6)
        bottom = [a + b for a, b in zip(bottom, values, strict=True)]
    axes.bar_label(axes.containers[-1], [f"{n:.0f}" for n in bottom], fontsize=8)
    axes.set_ylabel("cycles a packet, of each core")


PARTS = {
    "mux": "#bbbbbb", "look-up and insertion": "#4477aa", "concurrency": "#ee6677", "look-up": "#4477aa",
    "insertion": "#ccbb44", "deletion": "#228833",
}  # fmt: skip


def draw_lock(s, report, path):
    plot, axes = pyplot().subplots(figsize=(7.4, 4))
    mux = s.packet_cycles(*STATELESS, 1, LOAD)
    table = max(0.0, s.packet_cycles("hopscotch", "per core", 1, LOAD) - mux)
    whole = [s.packet_cycles("hopscotch", "mutex", cores, LOAD) for cores in CORES]
    names = [f"{cores}{'' if cores in MEASURED else ', model'}" for cores in CORES] + ["stateless"]
    parts = {
        "mux": [mux] * 5,
        "look-up and insertion": [table] * 4 + [0],
        "concurrency": [max(0.0, each - mux - table) for each in whole] + [0],
    }
    stack(axes, names, parts, PARTS)
    steps = " to ".join(map(str, value(report, "5.2", "concurrency")))
    axes.set_title(f"hopscotch behind a mutex; the report: grows from {steps} cores, no numbers", fontsize=8)
    axes.set_xlabel("cores")
    legend(axes)
    save(plot, path / "flow_tables_figure52.svg")


def draw_delays(s, report, path):
    plot, rows = pyplot().subplots(2, 2, figsize=(10.5, 6.4), sharex=True)
    shares = [n / 200 for n in range(200)]
    for axes_of_load, load in zip(rows, (65, 95), strict=True):
        for axes, offered in zip(axes_of_load, (65, 95), strict=True):
            for (table, how, cores, at), row in s.delay.items():
                if at != load or (table not in PAPER_TABLES and table != "stateless"):
                    continue
                if how not in ("per core", "mutex", "stateless"):
                    continue
                values = [ns / 1000 for ns in row[f"offered_{offered}"][:200]]
                colour = BLACK if table == "stateless" else COLOURS[table]
                label = "stateless mux" if table == "stateless" else f"{table}, {how}"
                axes.plot(values, shares, "--" if how == "mutex" else "-", color=colour, linewidth=1, label=label)
                assert cores == 2
            axes.set_xscale("log")
            axes.set_ylim(0, 1)
            axes.set_title(f"table {load} % full, offered {offered} % of its rate", fontsize=8)
    for axes in rows[1]:
        axes.set_xlabel("µs in a simulated queue, 2 cores")
    for axes in rows[:, 0]:
        axes.set_ylabel("share of packets")
    legend(rows[0][1])
    loads = " and ".join(f"{n} %" for n in value(report, "5.3", "loads"))
    plot.suptitle(f"the report: 4 cores, tables {loads} full; its text has no numbers", fontsize=8)
    save(plot, path / "flow_tables_figure53.svg")


def draw_load(s, report, path):
    plot, axes = pyplot().subplots(figsize=(8.5, 4.2))
    for table in s.shared:
        if "per core" not in s.sharings(table):
            continue
        ys = [s.ratio((table, "per core", 1), (*STATELESS, 1), load) for load in s.loads]
        axes.plot(s.loads, ys, "o-", color=COLOURS[table], linewidth=1, markersize=3, label=table)
    axes.plot(s.loads, [1] * len(s.loads), "-", color=BLACK, linewidth=1.4, label="stateless mux")
    axes.axhline(1 / value(report, "5.4", "stateless"), **REPORT, label="report: every table is below")
    last = value(report, "5.4", "load up to")
    axes.axvline(last, color=GREY, linewidth=0.8, label="report: until here hopscotch is the fastest")
    axes.set_ylim(0, 1.1)
    axes.set_xlabel("load of the table, % of its capacity")
    axes.set_ylabel("packets a second, of the stateless mux's; one core")
    legend(axes)
    save(plot, path / "flow_tables_figure54.svg")


def draw_cycles(s, report, path):
    plot, axes = pyplot().subplots(figsize=(9, 4.2))
    tables = [table for table in s.shared if "per core" in s.sharings(table)]
    a_flow = report["setting"]["packets_a_flow_at_100_gbps"]["value"]
    mux = s.packet_cycles(*STATELESS, 1, LOAD)
    cycles = {op: [s.op(table, LOAD, op) * s.cycles for table in tables] for op in ("hit", "insert", "erase")}
    parts = {
        "mux": [mux] * (len(tables) + 1),
        "look-up": [*cycles["hit"], 0],
        "insertion": [*(each / a_flow for each in cycles["insert"]), 0],
        "deletion": [*(each / a_flow for each in cycles["erase"]), 0],
    }
    stack(axes, [*(table.replace("::", "::\n") for table in tables), "stateless"], parts, PARTS)
    axes.set_title(f"one insertion in {a_flow:,} packets, as there; the report: stateless 0 for tables", fontsize=8)
    axes.tick_params(axis="x", labelsize=7)
    legend(axes)
    save(plot, path / "flow_tables_figure55.svg")


def draw_overflow(s, report, path):
    plot, rows = pyplot().subplots(2, 2, figsize=(10.5, 6.4), sharex=True)
    for axes, cores in zip(rows.flat, CORES, strict=True):
        for table in PAPER_TABLES:
            for how, style in (("per core", "-"), ("mutex", "--")):
                ys = [s.goodput(table, how, cores, load) for load in s.loads]
                axes.plot(s.loads, ys, style, color=COLOURS[table], linewidth=1, label=f"{table}, {how}")
        ys = [s.mpps(*STATELESS, cores, load) for load in s.loads]
        axes.plot(s.loads, ys, "-", color=BLACK, linewidth=1.4, label="stateless mux")
        axes.axhline(as_mpps(value(report, "5.6", "mutex, unordered")), **REPORT, label="report, mutex: at most")
        fall = value(report, "5.6", "load at which Cuckoo's")
        axes.axvline(fall, color=GREY, linewidth=0.8, label="report: Cuckoo falls")
        axes.set_yscale("log")
        axes.set_title(f"{cores} core{'s' * (cores > 1)}{'' if cores in MEASURED else ', model'}", fontsize=8)
    for axes in rows[1]:
        axes.set_xlabel("load of the tables, % of their capacity")
    for axes in rows[:, 0]:
        axes.set_ylabel("Mpps of flows with a place")
    legend(rows[0][1])
    save(plot, path / "flow_tables_figure56.svg")


def draw_offered(s, report, path):
    plot, rows = pyplot().subplots(2, 2, figsize=(10.5, 6.4), sharex=True)
    offered = [as_mpps(gbps) for gbps in value(report, "5.7", "data rates")]
    for axes, cores in zip(rows.flat, CORES, strict=True):
        for table in PAPER_TABLES:
            for how, style in (("per core", "-"), ("mutex", "--")):
                most = s.mpps(table, how, cores, LOAD)
                ys = [min(rate, most) for rate in offered]
                axes.plot(offered, ys, style, color=COLOURS[table], linewidth=1, label=f"{table}, {how}")
        ys = [min(rate, s.mpps(*STATELESS, cores, LOAD)) for rate in offered]
        axes.plot(offered, ys, "-", color=BLACK, linewidth=1.4, label="stateless mux")
        axes.axhline(as_mpps(value(report, "5.7", "mutex")), **REPORT, label="report, mutex: at most")
        most = as_mpps(value(report, "5.7", "most"))
        axes.plot(offered[-1:], [most], "s", color=GREY, markersize=5, label="report, 6 and 8 cores, per core")
        axes.set_title(f"{cores} core{'s' * (cores > 1)}{'' if cores in MEASURED else ', model'}", fontsize=8)
    for axes in rows[1]:
        axes.set_xlabel("offered, Mpps: 10 to 100 Gb/s of 1,000 bytes")
    for axes in rows[:, 0]:
        axes.set_ylabel("forwarded, Mpps: the less of offered and rate")
    legend(rows[0][1])
    save(plot, path / "flow_tables_figure57.svg")


def draw(s, report, folder):
    mpl.rcParams["svg.hashsalt"] = "fairlead"
    drawings = (draw_cores, draw_lock, draw_delays, draw_load, draw_cycles, draw_overflow, draw_offered)
    for each in drawings:
        each(s, report, folder)
        pyplot().close("all")
