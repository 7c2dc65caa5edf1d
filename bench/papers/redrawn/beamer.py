# SPDX-License-Identifier: Apache-2.0
"""Beamer's figures."""

import itertools

from bench.lib.figure import PAPER, Panel, Series
from bench.papers.redrawn import REDRAWN, STANDS_IN, Figure, Row, median
from bench.papers.redrawn.beamer_lab import broken, figure17, figure18, figure19, figure20, figure21, figure22

SLOTS = 65_536
NAMES = {"beamer": "Beamer", "consistent": "consistent", "maglev": "Maglev"}


def fragments(owners):
    return sum(1 for _ in itertools.groupby(owners))


def figure5(results, stated):
    owners = results["assignment"]["figure5"]
    panels = [
        Panel("bucket", "server", [Series(label, list(enumerate(owners[name])), step=True)], f"{label}")
        for name, label in NAMES.items()
    ]
    count = {name: fragments(owners[name]) for name in NAMES}
    return panels, [
        Row(
            "fragments of consistent hashing over Beamer's", 1, count["consistent"] / count["beamer"], "ratio", "above"
        ),
        Row(
            "fragments of Maglev over consistent hashing's", 1, count["maglev"] / count["consistent"], "ratio", "above"
        ),
    ]


def mpps(results, mode):
    return results["mux"]["ports"]["median"][mode]["cpu"] / 1e6


def packets(results, name):
    """Mpps of one core in process, from the median."""
    rows = results["mux"]["packet"]["results"]
    return next((1000 / row["median"] for row in rows if row["name"] == name), None)


def stateful_in_process(results):
    """At most a million flows, as in Figure 13; a quick run has fewer."""
    rows = [row for row in results["mux"]["packet"]["results"] if row["steering"] == "flowtable"]
    return 1000 / max((row for row in rows if row["flows"] <= 1_000_000), key=lambda row: row["flows"])["median"]


WIRE = 24  # bytes of a wire beside a frame: its checksum, preamble and gap
SMALLEST = 60  # of a frame without its checksum: what testers of wires call 64 bytes


def figure13(results, stated):
    sizes = results["mux_sizes"]["sizes"]
    names = {"mux": "mux", "stateful": "Stateful", "macswap": "macswap", "io": "io"}
    rates = {label: [(row["bytes"], row[mode]["cpu"] / 1e6) for row in sizes] for mode, label in names.items()}
    gigabits = {label: [(row["bytes"], row[mode]["gigabits"]) for row in sizes] for mode, label in names.items()}
    wire = stated["line rate, 64 bytes"] * (SMALLEST + WIRE)
    first = sizes[0]["bytes"]
    ours = [Series(label, points) for label, points in rates.items()]
    panels = [
        Panel(
            "bytes of a frame",
            "Mpps of one core",
            [
                *ours,
                Series("mux", [(first, stated["mux"])], PAPER),
                Series("Maglev by its own paper", [(first, stated["Maglev by its own paper"])], PAPER),
                Series("10 Gb/s, full", [(row["bytes"], wire / (row["bytes"] + WIRE)) for row in sizes], PAPER),
            ],
            "through ports",
            log="y",
        ),
        Panel("bytes of a frame", "Gb/s of frames, one core", [Series(n, p) for n, p in gigabits.items()]),
    ]
    band = (stated["mux over Stateful, least"], stated["mux over Stateful, most"])
    in_process = packets(results, "64 K buckets") / stateful_in_process(results)
    return panels, [
        Row("mux, one core", stated["mux"], sizes[0]["mux"]["cpu"] / 1e6, "Mpps", "above"),
        Row("mux over Stateful, in process, a million flows", band, in_process, "ratio", "between"),
        through_ports(band, sizes[0]),
        through_ports(band, sizes[-1]),
    ]


def through_ports(band, row):
    what = f"mux over Stateful, through ports, 4,096 flows, {row['bytes']} bytes"
    return Row(what, band, row["ratios"]["stateful"]["median"], "ratio", "between")


def figure14(results, stated):
    buckets = {1024: "1 K buckets", SLOTS: "64 K buckets", 1 << 20: "1 M buckets", 1 << 23: "8 M buckets"}
    ours = [(count, packets(results, name)) for count, name in buckets.items() if packets(results, name)]
    theirs = [
        (1000, stated["one core, 1 K buckets"]),
        (100_000, stated["one core, 100 K buckets"]),
        (1_000_000, stated["one core, 1 M buckets"]),
    ]
    panels = [
        Panel("buckets", "Mpps of one core", [Series("mux", ours), Series("mux", theirs, PAPER)], log="x"),
        Panel(
            "cores",
            "Mpps, 64-byte packets",
            [
                Series("mux", [(1, mpps(results, "mux")), (2, mpps(results, "mux, two cores"))]),
                Series("mux, least", [(10, stated["ten cores, least"])], PAPER),
                Series("mux, most", [(10, stated["ten cores, most"])], PAPER),
            ],
        ),
    ]
    found, whole = dict(ours), theirs[0][1]
    return panels, [
        Row("1 M buckets over 1 K, one core", theirs[2][1] / whole, found[1 << 20] / found[1024], "ratio"),
        Row("two cores over one", 2, mpps(results, "mux, two cores") / mpps(results, "mux"), "ratio"),
    ]


def figure15(results, stated):
    rows = results["mux"]["packet"]["results"]
    lines = {}
    for steering, label in (("ring", "Beamer"), ("flowtable", "Stateful")):
        plain = ("64 K buckets", "1 K flows", "100 K flows", "10 M flows")
        chosen = [r for r in rows if r["steering"] == steering and (r["name"] in plain or "stateful" in r["name"])]
        lines[label] = sorted({row["flows"]: 1000 / row["median"] for row in chosen}.items())
    stateful = stated.series("Stateful")
    theirs = [(stateful[0][0], stated["mux"]), (stateful[-1][0], stated["mux"])]
    panel = Panel(
        "active flows",
        "Mpps of one core",
        [Series(name, points) for name, points in lines.items()]
        + [Series("Beamer", theirs, PAPER), Series("Stateful", stateful, PAPER)],
        log="x",
    )
    first, last = lines["Stateful"][0], lines["Stateful"][-1]
    least = {name: dict(points)[last[0]] for name, points in lines.items()}
    return [panel], [
        Row("Stateful: most flows over fewest", stateful[-1][1] / stateful[0][1], last[1] / first[1], "ratio"),
        Row(
            "Beamer over Stateful with the most flows",
            stated["mux"] / stateful[-1][1],
            least["Beamer"] / least["Stateful"],
            "ratio",
        ),
    ]


def figure16(results, stated):
    loads = results["delay"]["median"]
    lines = {
        f"{name}, {percent}": [(100 * row["part"], row[name][key] / 1000) for row in loads]
        for name in ("mux", "macswap")
        for key, percent in (("p50", "median"), ("p999", "99.9 %"))
    }
    panel = Panel(
        "load, % of capacity",
        "us in the forwarder",
        [Series(name, points) for name, points in lines.items()],
        log="y",
        marks=[(1000 * stated["median and worst, not overloaded, below"], "all packets below")],
    )
    bound = 1000 * stated["median and worst, not overloaded, below"]
    rows = [
        Row("median at the highest load", bound, max(row["mux"]["p50"] for row in loads) / 1000, "us", "below"),
        Row("99.9 % at the highest load", bound, max(row["mux"]["p999"] for row in loads) / 1000, "us", "below"),
        Row(
            "median that the mux adds to macswap, least load",
            1000 * stated["added when underloaded"],
            loads[0]["added"]["p50"] / 1000,
            "us",
            "below",
        ),
    ]
    found = results["delay"].get("overload")  # results that were kept before have none
    overloaded = overload16(found, stated) if found else ([], [])
    return [panel, *overloaded[0]], [*rows, *overloaded[1]]


def overload16(found, stated):
    """The row of the overloaded mux: its panel, and what is compared."""
    bars = {"median": found["p50"], "99.9 %": found["p999"], "a full ring": found["full"]}
    panel = Panel(
        "",
        "us in the forwarder",
        [
            Series(f"mux that tags, at {100 * found['part']:.0f} %", [(k, v / 1000) for k, v in bars.items()]),
            Series("ping through the mux", [("median", 1000 * stated["overloaded"])], PAPER),
        ],
        "overloaded",
        "y",
        bars=True,
    )
    return [panel], [
        Row("overloaded: median", 1000 * stated["overloaded"], found["p50"] / 1000, "us"),
        Row("overloaded: median over what a full ring takes", 1, found["p50"] / found["full"], "ratio"),
        Row("overloaded: not forwarded", stated["dropped when overloaded"], found["dropped"], "share"),
    ]


def overhead(results, stated):
    theirs = stated["with it"] / stated["without the module"]
    ours = {
        k["kernel"]: k["ratios"]["receiverMillisecondsPerMegabyte"]["median"]
        for k in results["server_module"]["kernels"]
    }
    panel = Panel(
        "",
        "processor time with the module over without",
        [Series("bulk transfer", list(ours.items())), Series("iperf", [("kernel of 2018", theirs)], PAPER)],
        bars=True,
    )
    return [panel], [Row(f"kernel {name}", theirs, value, "ratio") for name, value in ours.items()]


def longest(result, kind, size):
    return max(row["seconds"] for row in result["durations"] if (row["kind"], row["size"]) == (kind, size))


def figure23(results, stated):
    result = results["size"]
    sizes = sorted({row["size"] for row in result["durations"]})
    kinds = sorted({row["kind"] for row in result["durations"]})
    series = [Series(kind, [(f"{size:,}", longest(result, kind, size)) for size in sizes]) for kind in kinds]
    panel = Panel(f"backends of {result['backends']:,}; {result['buckets']:,} buckets", "longest, s", series, bars=True)
    worst = max(row["seconds"] for row in result["durations"])
    return [panel], [Row("slowest operation: a few seconds", 5, worst, "s", "below")]


def figure24(results, stated):
    result = results["size"]
    rows, series = result["propagation"], []
    for size in sorted({row["size"] for row in rows}):
        times = sorted(s for row in rows if row["size"] == size for s in row["seconds"])
        series.append(Series(f"{size:,} backends", [(t, (n + 1) / len(times)) for n, t in enumerate(times)], step=True))
    panel = Panel(f"seconds until a mux has applied it; {result['readers']} muxes", "share of muxes", series, log="x")
    most, limit = max(row["bytesMost"] for row in rows), stated["bytes a mux, 32K backends"]
    small = median([s for row in rows if row["size"] == 1 for s in row["seconds"]])
    return [panel], [
        Row("last mux, the largest change: a few seconds", 5, max(max(row["seconds"]) for row in rows), "s", "below"),
        Row("one backend, median: tens to hundreds of ms", (0.001, 0.3), small, "s", "between"),
        Row("bytes a mux for one change, most", limit, most, "bytes", "below"),
    ]


def figure25(results, stated):
    runs = results["assignment"]["figure25"]
    series = [Series(f"at most {run['maxMoves']} moves a server", run["points"]) for run in runs]
    panel = Panel("part of all buckets that moved", "rules a server", series)
    return [panel], [
        Row("rules a server at first", stated["rules a server at first"], runs[0]["points"][0][1], "rules"),
        Row(
            "rules a server in the end, fewer than at first",
            runs[0]["points"][0][1],
            runs[0]["points"][-1][1],
            "rules",
            "below",
        ),
    ]


def table1(results, stated):
    found, rows, panels = results["assignment"]["table1"], [], []
    for key, unit, words in (
        ("imbalance", "maximum over mean", "imbalance"),
        ("rules", "rules", "rules"),
        ("churn1", "share", "collateral churn, 1 % leave"),
        ("churn5", "share", "collateral churn, 5 % leave"),
    ):
        ours = [(label, median(found[name][key])) for name, label in NAMES.items()]
        theirs = [(label, stated[f"{name} {key}"]) for name, label in NAMES.items()]
        log = "y" if key == "rules" else ""
        panels.append(Panel("", unit, [Series(words, ours), Series(words, theirs, PAPER)], words, log, bars=True))
        for (label, mine), (_, paper) in zip(ours, theirs, strict=True):
            rows.append(Row(f"{label}: {words}", paper, mine, unit))
    return panels, rows


def table_a3(results, stated):
    found = results["assignment"]["fragmentation"]
    servers = max(row["servers"] for row in found)
    series, rows = [], []
    for kind in ("added", "removed"):
        ours = [(f"{row['percent']:g} %", row[kind]) for row in found if row["servers"] == servers and kind in row]
        theirs = [(f"{percent:g} %", value) for percent, value in stated.series(kind)]
        series += [Series(kind, ours), Series(kind, theirs, PAPER)]
        known = dict(theirs)
        rows += [
            Row(f"{kind} {k} of {servers:,} servers", known[k], v, "rules a server") for k, v in ours if k in known
        ]
    return [Panel("", "rules a server", series, bars=True)], rows


PORTS = "Packets come from memory (net_pcap) and not from a card; encapsulation is GUE, of 44 bytes"
SHARED = "All servers, muxes and clients share one machine's processors, so more of them add no capacity"

FIGURES = (
    Figure(
        "beamer",
        "5",
        "buckets of servers, three ways to assign them",
        REDRAWN,
        ("assignment",),
        figure5,
        "Five servers have 256 buckets, not 47: a ring here has no fewer.",
    ),
    Figure(
        "beamer",
        "13",
        "forwarding by one core, by size of packets, beside Stateful",
        REDRAWN,
        ("mux_sizes", "mux"),
        figure13,
        f"{PORTS}. So no wire is ever full, where the paper's is from some size on: 10 Gb/s are drawn, computed from "
        "its rate for 64 bytes. What larger packets cost here is net_pcap's copy of each, which `io` shows alone. "
        "Through ports the table of flows has only 4,096, which stay in the caches; a million are in process.",
    ),
    Figure(
        "beamer",
        "14",
        "forwarding by ten cores",
        STANDS_IN,
        ("mux",),
        figure14,
        f"{PORTS}. Rows of the ring are 8 bytes and are fetched in time, so more buckets cost less.",
        "one core with 1 K to 8 M buckets, and two cores",
        "The machine has two cores and no network card.",
    ),
    Figure(
        "beamer",
        "15",
        "forwarding with more active flows",
        REDRAWN,
        ("mux",),
        figure15,
        "In process, without receiving and sending, so that differences are larger; 10 M flows at most, for lack "
        "of memory.",
    ),
    Figure(
        "beamer",
        "16",
        "delay in the mux",
        REDRAWN,
        ("delay",),
        figure16,
        "Percentiles of each load instead of whole distributions. The mux is measured alone, through shared memory, "
        "without cards and cables, by the packets themselves and not by a ping. Overloaded is a mux that tags its "
        "packets, since the sender hardly overloads another one; a packet then waits for the one ring of 2,048 packets "
        "before the mux, the paper's for ten of 256. Results that were kept before that row was measured have none.",
    ),
    Figure(
        "beamer",
        "17",
        "muxes come and go",
        STANDS_IN,
        ("churn",),
        figure17,
        f"{SHARED}.",
        "answers a second of real TCP clients while a P4 mux and C muxes come and are killed; broken connections",
        "Throughput cannot grow with muxes that share two cores.",
    ),
    Figure(
        "beamer",
        "18",
        "traffic by server while servers join",
        REDRAWN,
        ("churn",),
        figure18,
        "New connections by real clients in place of 64-byte packets of a generator; their number is random.",
    ),
    Figure(
        "beamer",
        "6.2 scaling",
        "connections that break when servers and a mux leave",
        REDRAWN,
        ("affinity",),
        broken("scaling"),
        "A mux here is killed a few seconds after the drain. Servers do not chain for Stateful.",
    ),
    Figure(
        "beamer",
        "6.2 flood",
        "connections that break in a SYN flood",
        REDRAWN,
        ("affinity",),
        broken("flood"),
        "Our table refuses new entries when it is full and theirs drops old ones. So the flood (15,000 a second, not "
        "a million) begins before the clients, and the table is small in proportion; one client in some finds room.",
    ),
    Figure(
        "beamer",
        "19",
        "MPTCP completion times with Beamer",
        REDRAWN,
        ("downloads",),
        figure19,
        "Files and links are 400 and 200 times smaller: 250 KB at 50 Mb/s a server, so that one machine bears it. "
        "Links limit the servers, not processors, so six servers carry six times what one does, and the median cannot "
        "fall tenfold. Routes lose a killed mux within a third of a second, before subflows time out.",
    ),
    Figure(
        "beamer",
        "20",
        "MPTCP completion times with Stateful, which does not know it",
        REDRAWN,
        ("downloads", "churn"),
        figure20,
        "As Figure 19. One subflow in as many as there are servers is hashed to the right one, so all join while there "
        "is one server. A connection breaks if its bucket moves and its mux dies while it lasts: downloads here are "
        "too short for both, so none fails.",
    ),
    Figure(
        "beamer",
        "21",
        "outgoing traffic by server",
        REDRAWN,
        ("churn",),
        figure21,
        "Answers of HTTP over TCP in place of packets of 100-MB downloads over MPTCP. Long connections stay where "
        "they are, so the first servers keep more.",
    ),
    Figure(
        "beamer",
        "22",
        "packets chained by server",
        REDRAWN,
        ("churn",),
        figure22,
        "The number follows from how many connections are open and how long; the paper has 30 thousand of 100-MB "
        "downloads. Compared is only that packets are chained.",
    ),
    Figure(
        "beamer",
        "6.1 overhead",
        "what the kernel module costs a server",
        REDRAWN,
        ("server_module",),
        overhead,
        "Both servers are virtual machines of emulated processors, where a ratio is all that counts; packets have "
        "1500 bytes and no offload.",
    ),
    Figure(
        "beamer",
        "23",
        "duration of changes, the largest instance",
        REDRAWN,
        ("size",),
        figure23,
        "8 Mi buckets (a power of two), three ZooKeeper servers and all muxes on one machine.",
    ),
    Figure(
        "beamer",
        "24",
        "time until all muxes have a change",
        REDRAWN,
        ("size",),
        figure24,
        "A hundred readers share two cores: most of the last mux's time is their own processor time.",
    ),
    Figure(
        "beamer",
        "25",
        "defragmentation",
        REDRAWN,
        ("assignment",),
        figure25,
        "Only where the run begins is stated. Ours is drawn for three bounds on moves a server.",
    ),
    Figure(
        "beamer",
        "Table 1",
        "imbalance, rules and churn of three methods",
        REDRAWN,
        ("assignment",),
        table1,
        "65,536 buckets (a power of two), not 65,537.",
    ),
    Figure(
        "beamer",
        "Table A.3",
        "fragmentation by changes of the pool",
        REDRAWN,
        ("assignment",),
        table_a3,
        "Rings have a power of two of buckets, which 10,000 servers do not divide evenly; ten servers cannot join "
        "without taking from many; halving is perfect only if each removed server is next to one that stays.",
    ),
)
