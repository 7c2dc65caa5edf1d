# SPDX-License-Identifier: Apache-2.0
"""The tables of docs/research/flow-tables.md, from what bench/run flow_tables measured."""

import textwrap

from bench.lib.command import die
from bench.mux.flow_tables_model import CORES, STATELESS, median

BEGIN, END = "<!-- flow_tables begins -->", "<!-- flow_tables ends -->"
LOAD = 80
SHARINGS = ("per core", "mutex", "mutex, burst", "rwlock", "concurrent")


def table(head, rows):
    lines = [head, ["---"] * len(head), *rows]
    return ["| " + " | ".join(str(cell) for cell in line) + " |" for line in lines] + [""]


def stateless_ns(s, load=LOAD):
    return 1000 / s.mpps(*STATELESS, 1, load)


def name(text):
    return f"`{text}`" if text != "stateless" else "stateless mux"


def count(n):
    return f"{n / 1e6:.2g} M" if n >= 1e6 else f"{n // 1000} K" if n >= 10000 else f"{n:,}"


def operations(s):
    rows = []
    for each in s.tables:
        row = s.ops[each, LOAD]
        values = [f"{s.op(each, LOAD, op):.1f}" for op in ("hit", "one", "miss", "insert", "erase", "expire")]
        rows.append([name(each), *values, f"{row['bytes'] / row['flows']:.0f}"])
    rows.append([name("stateless"), "0", "0", "0", "0", "0", "0", "0"])
    head = ["ns", "hit", "one by one", "miss", "insert", "delete", "expire", "bytes a flow"]
    return table(head, rows)


def by_load(s):
    loads = [load for load in (30, 65, 80, 95, 100, 120) if load in s.loads]
    rows = []
    for each in s.tables:
        cells = [f"{s.op(each, load, 'hit'):.0f}, {s.op(each, load, 'insert'):.0f}" for load in loads]
        last = s.ops[each, loads[-1]]
        refused = last["refused"] / (last["flows"] + last["refused"])
        slowest = max(s.ops[each, load]["slowest_insert"] for load in s.loads if load >= 95)
        rows.append([name(each), *cells, f"{refused:.1%}".replace("%", " %"), f"{slowest / 1e6:.2f}"])
    rows.append([name("stateless"), *(["0"] * len(loads)), "0.0 %", "0"])
    head = ["ns: hit, insert", *(f"{load} %" for load in loads), f"no place at {loads[-1]} %", "slowest 32, ms"]
    return table(head, rows)


def by_size(s):
    sizes = sorted(s.result["sizes"], key=int)
    rows = []
    for each in s.tables:
        cells = []
        for size in sizes:
            row = next(row for row in s.result["sizes"][size] if row["table"] == each)
            cells.append(f"{median(row['hit']):.1f}, {median(row['miss']):.1f}")
        rows.append([name(each), *cells])
    rows.append([name("stateless"), *(["0"] * len(sizes))])
    flows = [count(s.result["sizes"][size][0]["flows"]) for size in sizes]
    return table(["ns: hit, miss", *(f"{each} flows" for each in flows)], rows)


def sharing(s):
    rows = []
    for how in SHARINGS:
        for each in s.shared:
            if how not in s.sharings(each):
                continue
            rates = [s.mpps(each, how, cores, LOAD) for cores in CORES]
            ratio = s.ratio((each, how, 2), (each, how, 1), LOAD)
            rows.append([how, name(each), *(f"{rate:.1f}" for rate in rates), f"{ratio:.2f}"])
    rates = [s.mpps(*STATELESS, cores, LOAD) for cores in CORES]
    ratio = s.ratio((*STATELESS, 2), (*STATELESS, 1), LOAD)
    rows.append(["none", name("stateless"), *(f"{rate:.1f}" for rate in rates), f"{ratio:.2f}"])
    return table(["sharing", "Mpps", "1 core", "2 cores", "4, model", "8, model", "2 of 1"], rows)


def against_stateless(s):
    rows = []
    for each in s.shared:
        how = "per core" if "per core" in s.sharings(each) else "concurrent"
        cells = [s.ratio((each, how, 1), (*STATELESS, 1), load) for load in (LOAD,)]
        short = s.ratio((each, how, 1), (*STATELESS, 1), LOAD, s.short)
        extra = 1000 / s.mpps(each, how, 1, LOAD) - stateless_ns(s)
        rows.append([name(each), *(f"{cell:.2f}" for cell in cells), f"{short:.2f}", f"{extra:.1f}"])
    rows.append([name("stateless"), "1", "1", "0"])
    head = ["of the stateless mux's packets, one core", "1,250 packets a flow", "20", "ns a packet more"]
    return table(head, rows)


def microseconds(ns):
    return f"{ns / 1000:.2g}" if ns < 10000 else f"{ns / 1000:,.0f}"


def delays(s):
    rows = []
    keys = [key for key in s.delay if key[3] == 65]
    for each, how, cores, _ in [*(k for k in keys if k[0] != "stateless"), *(k for k in keys if k[0] == "stateless")]:
        if how not in ("per core", "mutex", "concurrent", "stateless"):
            continue
        cells = []
        for load in (65, 95):
            for offered in ("offered_65", "offered_95"):
                found = s.delay[each, how, cores, load][offered]
                cells.append(", ".join(microseconds(found[at]) for at in (100, 198)))
        rows.append([how if each != "stateless" else "none", name(each), *cells])
    head = ["sharing", "µs: 50 %, 99 %"]
    return table([*head, *(f"{t} % full, {o} % busy" for t in (65, 95) for o in (65, 95))], rows)


def value(report, figure, what):
    return next(row["value"] for row in report["figures"][figure] if row["what"].startswith(what))


def listed(tables):
    return ", ".join("chains" if each == "std::unordered_map" else each for each in tables)


def compared(s, report):
    """What the report's text states, beside ours."""
    hopscotch = "hopscotch"
    mutexes = [s.ratio((t, "mutex", 2), (t, "mutex", 1), LOAD) for t in s.shared if "mutex" in s.sharings(t)]
    per_core = [s.ratio((t, "per core", 2), (t, "per core", 1), LOAD) for t in s.shared if "per core" in s.sharings(t)]
    tables = {t: s.mpps(t, "per core", 1, LOAD) for t in ("rte_hash", "Cuckoo++", "std::unordered_map", hopscotch)}
    order = sorted(tables, key=tables.get, reverse=True)
    stateful = [s.ratio((*STATELESS, 1), (t, "per core", 1), load) for t in tables for load in s.loads if load <= 100]
    after = [load for load in s.loads if tables and s.mpps(hopscotch, "per core", 1, load) < fastest(s, load)]
    full = s.loads[-1]
    kept = s.goodput("rte_hash", "per core", 1, full) / s.goodput("rte_hash", "per core", 1, 95)
    mutex = [s.mpps(t, "mutex", n, LOAD) for t in (hopscotch, "std::unordered_map") for n in (1, 2)]
    low, high = (
        value(report, "5.1", "mutex, 2 cores over 1, least"),
        value(report, "5.1", "mutex, 2 cores over 1, most"),
    )
    rows = [
        ["5.1", "mutex: 2 cores over 1", f"{low} to {high}", f"{min(mutexes):.2f} to {max(mutexes):.2f}"],
        ["5.1", "per core: 2 cores over 1", "2.08 (Hopscotch)", f"{min(per_core):.2f} to {max(per_core):.2f}"],
        ["5.1", "order, fastest first", listed(value(report, "5.1", "order")), listed(order)],
        ["5.4", "stateless over stateful, one core", "over 1.6", f"{min(stateful):.2f} to {max(stateful):.2f}"],
        ["5.4", "Hopscotch is the fastest of Cuckoo's and chains up to", "70 %", first(after, s.loads)],
        ["5.6", "mutex, hopscotch and chains, at most, Mpps", "3.4", f"{max(mutex):.1f}"],
        ["5.6", f"`rte_hash`: packets with a place, {full} % over 95 %", "falls from 100 %", f"{kept:.2f}"],
    ]  # fmt: skip
    return table(["figure", "what", "the report", "here"], rows)


def fastest(s, load):
    return max(s.mpps(table, "per core", 1, load) for table in ("rte_hash", "std::unordered_map"))


def first(after, loads):
    if not after:
        return f"{loads[-1]} %, all that were measured"
    return "none" if after[0] == loads[0] else f"{loads[loads.index(after[0]) - 1]} %"


def block(result, s, report):
    capacity = count(result["capacity"])
    return "\n".join([
        *textwrap.wrap(
            f"Seed {result['seed']}, {result['rounds']} rounds, {result['cpu']}, commit {result['commit']}. Threads "
            f"had {100 * s.share():.0f} % of their cores' time, and {100 * s.disturbed():.1f} % of their rounds were "
            "disturbed: "
            "nearly 100 % and 0.0 % on a quiet machine.",
            120,
        ),
        "",
        f"Operations, a table for {capacity} flows at a load of {LOAD} %:",
        "", *operations(s),
        "By load of its capacity; the slowest burst of 32 insertions from 95 % on is where a table grew, if it does:",
        "", *by_load(s),
        f"By size, at {LOAD} %:",
        "", *by_size(s),
        f"Packets a second, table and mux together, {LOAD} %, 1,250 packets a flow; 4 and 8 cores are a model:",
        "", *sharing(s),
        "What is left of the stateless mux's rate, with flows of 1,250 packets and of 20:",
        "", *against_stateless(s),
        "Delay in a simulated queue by measured times of bursts on 2 cores, at 65 % and 95 % of each row's own rate:",
        "", *delays(s),
        "What the report's text states, beside these:",
        "", *compared(s, report),
        *textwrap.wrap(result["model"], 120),
    ])  # fmt: skip


def replace(page, text):
    """Puts the text between the page's two marks."""
    whole = page.read_text()
    if whole.count(BEGIN) != 1 or whole.count(END) != 1 or whole.index(BEGIN) > whole.index(END):
        die(f"--page: {page} is not allowed; allowed: a page with one '{BEGIN}' before one '{END}'")
    head, rest = whole.split(BEGIN)
    page.write_text(f"{head}{BEGIN}\n{text}\n{END}{rest.split(END)[1]}")
