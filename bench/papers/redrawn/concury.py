# SPDX-License-Identifier: Apache-2.0
"""Concury's figures."""

from bench.lib.figure import PAPER, Panel, Series
from bench.papers.redrawn import CANNOT, REDRAWN, STANDS_IN, Figure, Row

TABLES = {
    "othello": "Othello (Concury)",
    "digest table": "digest table (Maglev)",
    "multi-table digest": "multi-table digest (SilkRoad)",
}


def lookups(results, key, scale):
    """By table: (connections, key * scale)."""
    rows = results["othello_lookup"]["results"]
    return {
        label: [(row["connections"], scale(row[key])) for row in rows if row["name"] == name]
        for name, label in TABLES.items()
    }


def nearest(points, count):
    return min(points, key=lambda point: abs(point[0] - count))


def figure5(results, stated):
    ours = results["othello_map"]["figure5"]
    keys = ("min", "10%", "mean", "90%", "max")
    series = [Series(name, [(key, found[key]) for key in keys]) for name, found in ours.items()]
    series.append(Series("Concury, crc32", [(key, stated[key]) for key in keys], PAPER))
    name = next(name for name in ours if "crc32" in name)
    rows = [Row(f"{name}: {key}", stated[key], ours[name][key], "flows a code", factor=1.05) for key in keys]
    return [Panel("", "flows a code", series, bars=True)], rows


def uniformity(key):
    def draw(results, stated):
        found = {bits: row for bits, row in results["othello_map"]["figure6and7"].items() if bits.isdigit()}
        names = list(next(iter(found.values())))
        series = [Series(n, [(int(bits), 100 * row[n][key]) for bits, row in found.items()]) for n in names]
        limit = stated["failing tests, around"]
        panel = Panel(
            "bits of a code", "tests at 5 % that fail, %", series, marks=[(100 * limit, "around or less than")]
        )
        mean = {n: sum(row[n][key] for row in found.values()) / len(found) for n in names if n.startswith("othello")}
        return [panel], [
            Row(f"{n}: tests that fail, mean", limit, value, "share", "below") for n, value in mean.items()
        ]

    return draw


def figure8(results, stated):
    found = results["othello_map"]["figure8"]
    lines = {
        "with the map": [(int(n), row["fillSeconds"]) for n, row in found.items()],
        "without": [(int(n), row["graphAndFillSeconds"]) for n, row in found.items()],
        "a patch, with the map": [(int(n), row["changeSeconds"]) for n, row in found.items()],
    }
    theirs = [(8192, stated["response, 8 K states"]), (131072, stated["response, 128 K states"])]
    series = [Series(name, points) for name, points in lines.items()] + [Series("with the map", theirs, PAPER)]
    rows = []
    for count, limit in theirs:
        if str(count) in found:
            rows.append(
                Row(f"whole arrays, {count:,} connections", limit, found[str(count)]["fillSeconds"], "s", "below")
            )
            rows.append(
                Row(f"a change of the pool, {count:,}", limit, found[str(count)]["changeSeconds"], "s", "below")
            )
    largest = found[max(found, key=int)]
    saved = 1 - largest["fillSeconds"] / largest["graphAndFillSeconds"]
    rows.append(
        Row("saved by the map, most connections", stated["saved by the map, more than"], saved, "share", "above")
    )
    return [Panel("connections", "s", series, log="xy")], rows


def memory(small):
    def draw(results, stated):
        lines = lookups(results, "bytes", lambda n: n / 1e6)
        if small:
            lines = {name: [p for p in points if p[0] <= 4_000_000] for name, points in lines.items()}
        series = [Series(name, points) for name, points in lines.items()]
        concury, digest = lines["Othello (Concury)"], lines["digest table (Maglev)"]
        if small:
            limit, at = stated["concury, 1 M states"], nearest(concury, 1_000_000)
            series.append(Series("Othello (Concury)", [(1_000_000, limit)], PAPER))
            band = (stated["over Maglev's, least"], stated["over Maglev's, most"])
            rows = [
                Row(f"{at[0]:,} connections, cells of 12 bits", limit * at[0] / 1e6, at[1], "MB"),
                Row(f"over the digest table, {at[0]:,}", band, at[1] / dict(digest)[at[0]], "ratio", "between"),
            ]
        else:
            limit, at = stated["concury and SilkRoad, 8 M states, below"], nearest(concury, 8_000_000)
            series.append(Series("Othello (Concury)", [(8_000_000, limit)], PAPER))
            part = at[0] / 8e6
            rows = [
                Row(f"{at[0]:,} connections, cells of 12 bits", limit * part, at[1], "MB", "below"),
            ]
        return [Panel("connections", "MB", series, log="xy")], rows

    return draw


def throughput(small):
    def draw(results, stated):
        lines = lookups(results, "ns", lambda ns: 1000 / ns)
        if small:
            lines = {name: [p for p in points if p[0] <= 1_000_000] for name, points in lines.items()}
        series = [Series(name, points) for name, points in lines.items()]
        at = lines["Othello (Concury)"][-1]
        others = {name: dict(points)[at[0]] for name, points in lines.items() if name != "Othello (Concury)"}
        rows, marks = [], []
        if small:
            limit = stated["concury, below 1 M states, above"]
            marks = [(limit, "Concury, above")]
            rows.append(Row(f"{at[0]:,} connections", limit, at[1], "M a second", "above"))
        for name, rate in others.items():
            rows.append(
                Row(f"over the {name}, {at[0]:,}", stated["over others, above"], at[1] / rate, "ratio", "above")
            )
        return [Panel("connections", "lookups, M a second", series, log="xy", marks=marks)], rows

    return draw


def figure18(results, stated):
    one = lookups(results, "ns", lambda ns: 1000 / ns)["Othello (Concury)"]
    two = lookups(results, "threads2_ns", lambda ns: 2000 / ns)["Othello (Concury)"]
    limit = stated["several threads, below 1 M states, above"]
    series = [Series("one thread", one), Series("two threads", two)]
    panel = Panel("connections", "lookups, M a second", series, log="xy", marks=[(limit, "several threads, above")])
    return [panel], [
        Row(f"two threads, {two[0][0]:,} connections", limit, two[0][1], "M a second", "above"),
        Row("two threads over one", 2, two[0][1] / one[0][1], "ratio"),
    ]


def figure19(results, stated):
    median, ratio = results["updates"]["median"], results["updates"]["ratios"]["updates / static"]["median"]
    ours = [("static", median["static"]), ("under updates", median["updates"])]
    theirs = [("static", stated["concury, static"]), ("under updates", stated["concury under updates"])]
    panel = Panel("", "Mpps of one core", [Series("mux", ours), Series("Concury", theirs, PAPER)], bars=True)
    paper = stated["concury under updates"] / stated["concury, static"]
    return [panel], [Row("under updates over static", paper, ratio, "ratio", "above")]


def figure20(results, stated):
    found = results["othello_map"]["figure20"]
    names = {"sizedSeconds": "the map, sized", "growingSeconds": "the map, growing", "hashMapSeconds": "a hash map"}
    series = [
        Series(label, [(int(n), row[key]) for n, row in found.items() if key in row]) for key, label in names.items()
    ]
    most = max(found, key=int)
    row = Row(f"{int(most):,} connections: a few seconds for 16 M", 10, found[most]["sizedSeconds"], "s", "below")
    return [Panel("connections", "s to insert all", series, log="xy")], [row]


def loads_panel(found, label):
    return Series(label, list(enumerate(found["loads"])))


def spread(found):
    return [
        Row("most loaded server over its weight: even", (0.9, 1.1), found["max"], "ratio", "between"),
        Row("least loaded server over its weight: even", (0.9, 1.1), found["min"], "ratio", "between"),
        Row("connections to servers of weight 0", 0, found["ofWeight0"], "connections"),
    ]


def figure26(results, stated):
    rows = results["p4_load"]["rows"]
    name = "{buckets:,} buckets, {hash}"
    series = [loads_panel(row, name.format(**row)) for row in rows]
    return [Panel("server", "connections over weight", series)], spread(rows[0])


def figure25(results, stated):
    found = results["othello_map"]["figure26"]
    rows = {name: row for name, row in found.items() if isinstance(row, dict)}
    series = [loads_panel(row, name) for name, row in rows.items() if "crc32" in name or "siphash" in name]
    first = next(iter(rows.values()))
    return [Panel("server", "connections over weight", series)], spread(first)


MEMORY = "The digest table here has the paper's 64 bits"
DIP_V = (
    "The number of services and of their servers does not matter to a lookup in one service's arrays, so DIP-E and "
    "DIP-V, which differ in it, are one measurement"
)
QUICK = "Lookups are in bursts of 32 with prefetch; the paper's hash is included there and not here"


def lookup(number, title, drawn, why):
    return Figure("concury", number, title, REDRAWN, ("othello_lookup",), drawn, f"{why}. {DIP_V}.")


FIGURES = (
    Figure(
        "concury",
        "5",
        "how evenly codes are met",
        REDRAWN,
        ("othello_map",),
        figure5,
        "SipHash stands beside CRC32, as muxes hash with it.",
    ),
    Figure(
        "concury",
        "6",
        "chi-squared test",
        REDRAWN,
        ("othello_map",),
        uniformity("chiSquared"),
        "At 5 % a twentieth of tests fails by chance, so runs differ by a few.",
    ),
    Figure(
        "concury",
        "7",
        "Kolmogorov-Smirnov test",
        REDRAWN,
        ("othello_map",),
        uniformity("kolmogorovSmirnov"),
        "As Figure 6.",
    ),
    Figure(
        "concury",
        "8",
        "time to make arrays after a change",
        REDRAWN,
        ("othello_map",),
        figure8,
        "The controller is Java; a change of the pool sends a patch where the paper sends whole arrays.",
    ),
    Figure(
        "concury",
        "9",
        "the map's structure",
        CANNOT,
        reason="It is a drawing of a data structure and has no measurement.",
        stands_in="docs/othello.md",
    ),
    lookup("10", "memory, small network, DIP-E", memory(True), MEMORY),
    lookup("11", "memory, small network, DIP-V", memory(True), MEMORY),
    lookup("12", "memory, large network, DIP-E", memory(False), MEMORY),
    lookup("13", "memory, large network, DIP-V", memory(False), MEMORY),
    lookup("14", "lookups, small network, DIP-E", throughput(True), QUICK),
    lookup("15", "lookups, small network, DIP-V", throughput(True), QUICK),
    lookup("16", "lookups, large network, DIP-E", throughput(False), QUICK),
    lookup("17", "lookups, large network, DIP-V", throughput(False), QUICK),
    Figure(
        "concury",
        "18",
        "lookups by several threads",
        STANDS_IN,
        ("othello_lookup",),
        figure18,
        "Two threads in place of eight.",
        "one and two threads",
        "The machine has two cores.",
    ),
    Figure(
        "concury",
        "19",
        "packets while arrays change",
        REDRAWN,
        ("updates",),
        figure19,
        "Whole packets are forwarded, not only looked up, so absolute numbers are lower; 10 changes a second, where "
        "the paper has one in 10 s; the other tables are not measured under updates.",
    ),
    Figure(
        "concury",
        "20",
        "time to learn connections",
        REDRAWN,
        ("othello_map",),
        figure20,
        "The controller is Java; a hash map of the same keys is drawn beside it.",
    ),
    Figure(
        "concury",
        "25",
        "load over weight, real traffic",
        STANDS_IN,
        ("othello_map",),
        figure25,
        "Connections are random, not of the trace, and go by the arrays in process.",
        "load over weight by Othello's arrays with random connections",
        "The trace of Facebook's network is not public in a form that this tree could have.",
    ),
    Figure(
        "concury",
        "26",
        "load over weight through P4, synthetic traffic",
        REDRAWN,
        ("p4_load",),
        figure26,
        "126 servers have a weight and two have none, as in the paper; the P4 program is this tree's own, by ring.",
    ),
)
