# SPDX-License-Identifier: Apache-2.0
"""The demo's display: a line a second, a heading an event, a table at the end; ANSI colours on a terminal.

    time  req/s  slowest  chained/s  broken   new connections        all requests
    12 s    964     2 ms        103       0   11113333444455555      111222333444555

Both bars are shares per server, drawn with the servers' numbers: the left one of new connections, the right one of all
answers. They differ as long as connections stay with the server that they began with.
"""

import sys
import threading
from typing import TypedDict

from lab.client.counts import Totals

BAR = 30
COLOURS = (39, 208, 77, 170, 220, 45, 203, 111)  # of the 256, one per server in turn
WIDTH = 110


class Row(TypedDict):
    """What happened in an event."""

    name: str
    seconds: float
    requests: int
    chained: int
    slowest_ms: float
    broken: int


class Bound(TypedDict):
    """What an event shows of the chance that it breaks a connection; at_most is for 95 %."""

    name: str
    connections: int
    broken: int
    at_most: float
    stall_ms: float


class Timeline:
    def __init__(self) -> None:
        self._colour = sys.stdout.isatty()
        self._lock = threading.Lock()
        self._seconds = 0

    def _paint(self, text: str, code: str) -> str:
        return f"\033[{code}m{text}\033[0m" if self._colour else text

    def _print(self, text: str) -> None:
        with self._lock:
            print(text, flush=True)

    def say(self, text: str) -> None:
        self._print(self._paint(text, "2"))

    def columns(self) -> None:
        bars = f"{'new connections':<{BAR}}  {'all requests':<{BAR}}"
        self._print(
            self._paint(f"  {'time':>6}{'req/s':>7}{'slowest':>10}{'chained/s':>11}{'broken':>8}   {bars}", "1")
        )

    def heading(self, text: str) -> None:
        self._print("\n" + self._paint(f"── {text} ".ljust(WIDTH, "─"), "1;36"))

    def note(self, text: str) -> None:
        self._print(self._paint(f"     • {text}", "36"))

    def second(self, counts: Totals, chained: int) -> None:
        self._seconds += 1
        broken = f"{counts['broken']:>8}"
        broken = self._paint(broken, "1;31") if counts["broken"] else broken
        self._print(
            f"  {self._seconds:>4} s{counts['requests']:>7}{counts['slowest_ms']:>7.0f} ms{chained:>11}{broken}   "
            f"{self._bar(counts['new'])}  {self._bar(counts['servers'])}"
        )

    def _bar(self, shares: dict[str, int]) -> str:
        """Each server's number, repeated in proportion to its share; BAR wide by largest remainder."""
        total = sum(shares.values())
        if total == 0:
            return " " * BAR
        exact = {name: count * BAR / total for name, count in sorted(shares.items(), key=lambda s: _number(s[0]))}
        widths = {name: int(width) for name, width in exact.items()}
        by_remainder = sorted(exact, key=lambda name: exact[name] - widths[name], reverse=True)
        for name in by_remainder[: BAR - sum(widths.values())]:
            widths[name] += 1
        return "".join(self._segment(_number(name), width) for name, width in widths.items() if width)

    def _segment(self, number: int, width: int) -> str:
        return self._paint((str(number) * width)[:width], f"38;5;{COLOURS[(number - 1) % len(COLOURS)]}")

    def table(self, rows: list[Row], total: Row) -> None:
        self.heading("what happened")
        head = f"  {'event':<38}{'seconds':>9}{'requests':>11}{'chained':>10}{'slowest':>11}{'broken':>9}"
        self._print(self._paint(head, "1"))
        for row in rows:
            self._print(self._row(row))
        self._print(self._paint("  " + "─" * (len(head) - 2), "2"))
        self._print(self._paint(self._row(total), "1"))

    def _row(self, row: Row) -> str:
        return (
            f"  {row['name']:<38}{row['seconds']:>9.1f}{row['requests']:>11,}{row['chained']:>10,}"
            f"{row['slowest_ms']:>8.0f} ms{row['broken']:>9}"
        )

    def bounds(self, steering: str, bounds: list[Bound]) -> None:
        self.heading(f"steering {steering}: how often a connection breaks, at most, at 95 %")
        head = f"  {'event':<38}{'connections':>13}{'broken':>9}{'at most':>12}{'longest stall':>16}"
        self._print(self._paint(head, "1"))
        for row in bounds:
            self._print(
                f"  {row['name']:<38}{row['connections']:>13,}{row['broken']:>9}{row['at_most']:>10.4%}  "
                f"{row['stall_ms']:>13.0f} ms"
            )

    def verdict(self, good: bool, text: str) -> None:
        self._print("\n" + self._paint(f"  {text}", "1;32" if good else "1;31") + "\n")


def _number(server: str) -> int:
    """7 of "server7"."""
    return int(server.removeprefix("server"))
