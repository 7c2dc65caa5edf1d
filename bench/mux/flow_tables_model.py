# SPDX-License-Identifier: Apache-2.0
"""What bench/run flow_tables makes of flow_state's rows: medians, ratios by round, and the model of 4 and 8 cores."""

import statistics

STATEMENT = (
    "4 and 8 cores are a model, not a measurement: a packet's cycles on each of n cores are c1 + (n - 1)(c2 - c1), "
    "with c1 and c2 measured on 1 and 2 real cores. So each further core adds as many cycles of waiting as the second "
    "did. "
    "Memory bandwidth, caches that more cores share, and other sockets are not in it: with a table for each core it is "
    "an upper bound."
)
MEASURED, MODELLED = (1, 2), (4, 8)
CORES = MEASURED + MODELLED
SIX_DIGITS = "%.6g"


def rounded(value):
    """The same result with numbers of six digits, so that the kept file is small."""
    if isinstance(value, float):
        return float(SIX_DIGITS % value)
    if isinstance(value, dict):
        return {name: rounded(each) for name, each in value.items()}
    return [rounded(each) for each in value] if isinstance(value, list) else value


def median(values):
    return statistics.median(values)


class Summary:
    def __init__(self, result):
        self.result = result
        self.cycles = result["cycles_per_ns"]
        self.ops = {(row["table"], row["load"]): row for row in result["ops"]}
        self.packets = self.by_key(result["packets"])
        self.short = self.by_key(result["short"])
        self.delay = self.by_key(result["delay"])
        self.loads = sorted({row["load"] for row in result["packets"]})
        self.tables = list(dict.fromkeys(row["table"] for row in result["ops"]))
        shared = dict.fromkeys(row["table"] for row in result["packets"])
        self.shared = [table for table in shared if table != "stateless"]

    @staticmethod
    def by_key(rows):
        return {(row["table"], row["sharing"], row["threads"], row["load"]): row for row in rows}

    def sharings(self, table):
        found = dict.fromkeys(key[1] for key in self.packets if key[0] == table)
        return list(found)

    def op(self, table, load, name):
        return median(self.ops[table, load][name])

    def mpps(self, table, sharing, cores, load, rows=None):
        """Measured, or by the model."""
        rows = self.packets if rows is None else rows
        if cores in MEASURED:
            return median(rows[table, sharing, cores, load]["mpps"])
        return cores / self.microseconds(table, sharing, cores, load, rows)

    def microseconds(self, table, sharing, cores, load, rows=None):
        """Of each core, a packet."""
        rows = self.packets if rows is None else rows
        one, two = ([n / rate for rate in rows[table, sharing, n, load]["mpps"]] for n in MEASURED)
        if cores == 1:
            return median(one)
        if cores == 2:
            return median(two)
        waiting = median([b - a for a, b in zip(one, two, strict=True)])
        return median(one) + (cores - 1) * max(0.0, waiting)

    def packet_cycles(self, table, sharing, cores, load):
        return self.microseconds(table, sharing, cores, load) * 1000 * self.cycles

    def ratio(self, row, to, load, rows=None):
        """Of packets a second, the median of each round's own; row and to: table, sharing, cores."""
        rows = self.packets if rows is None else rows
        pairs = zip(rows[(*row, load)]["mpps"], rows[(*to, load)]["mpps"], strict=True)
        return median([a / b for a, b in pairs])

    def goodput(self, table, sharing, cores, load):
        """Packets of flows that have a place."""
        measured = cores if cores in MEASURED else 2
        return self.mpps(table, sharing, cores, load) * median(self.packets[table, sharing, measured, load]["placed"])

    def disturbed(self):
        """Of the rounds, how many found no time in which all threads had their cores."""
        rows = [row for part in ("packets", "short", "delay") for row in self.result[part]]
        return sum(row["disturbed"] for row in rows) / sum(len(row["mpps"]) for row in rows)

    def share(self):
        """Of the clock that threads alone on their cores had; near 1 on a quiet machine."""
        rows = [row for row in self.result["packets"] if row["sharing"] in ("stateless", "per core")]
        return median([median(row["share"]) for row in rows])


STATELESS = ("stateless", "stateless")
