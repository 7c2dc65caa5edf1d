# SPDX-License-Identifier: Apache-2.0
"""
Drawings of benchmarks: how a figure is saved, and papers' numbers beside ours on the same axes.

Matplotlib takes seconds to load, so it is loaded only where something is drawn.
"""

import pathlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

OURS, PAPER = "here", "paper"
MOST_COLUMNS = 4  # of panels
COLOURS = ("#4477aa", "#ee6677", "#228833", "#ccbb44", "#66ccee", "#aa3377", "#555555")


def save(figure: Any, path: pathlib.Path) -> None:
    """As an SVG without a date, without spaces at the ends of lines: the same figures give the same file."""
    import matplotlib as mpl
    from matplotlib import pyplot as plt

    mpl.rcParams["svg.hashsalt"] = "fairlead"
    figure.tight_layout()
    figure.savefig(path, metadata={"Date": None, "Creator": None})
    path.write_text("\n".join(line.rstrip() for line in path.read_text().splitlines()) + "\n")
    plt.close(figure)
    print(path)


@dataclass(frozen=True)
class Series:
    """Points (x, y) of one method; x is a number, or a word where the panel has bars."""

    name: str
    points: Sequence[tuple[Any, float]]
    whose: str = OURS
    step: bool = False  # a distribution


@dataclass(frozen=True)
class Panel:
    x: str
    y: str
    series: list[Series]
    title: str = ""
    log: str = ""  # "x", "y" or "xy"
    bars: bool = False
    marks: list[tuple[float, str]] = field(default_factory=list)  # (y, label): a number of the paper that has no x

    def to_json(self) -> dict[str, object]:
        return {
            "title": self.title,
            "x": self.x,
            "y": self.y,
            "series": [{"name": s.name, "whose": s.whose, "points": [list(p) for p in s.points]} for s in self.series],
            "marks": [{"y": y, "label": label, "whose": PAPER} for y, label in self.marks],
        }


def draw(panels: Sequence[Panel], path: pathlib.Path) -> None:
    """Ours is solid, the paper's dashed with squares, the same method in the same colour where names are equal."""
    import matplotlib as mpl

    mpl.use("svg")
    from matplotlib import pyplot as plt

    columns = min(len(panels), MOST_COLUMNS)
    lines = -(-len(panels) // columns)
    plot, rows = plt.subplots(lines, columns, figsize=(max(6.4, 4.2 * columns), 3.8 * lines), squeeze=False)
    places = [axes for row in rows for axes in row]
    for axes in places[len(panels) :]:
        axes.set_axis_off()
    for axes, panel in zip(places, panels, strict=False):
        (draw_bars if panel.bars else draw_lines)(axes, panel)
        axes.set_xlabel(panel.x, fontsize=8)
        axes.set_ylabel(panel.y, fontsize=8)
        axes.tick_params(labelsize=7)
        axes.set_title(panel.title, fontsize=9)
        if axes.get_legend_handles_labels()[0]:
            axes.legend(frameon=False, fontsize=6)
    save(plot, path)


def colours(panel: Panel) -> dict[str, str]:
    names = list(dict.fromkeys(series.name for series in panel.series))
    return {name: COLOURS[at % len(COLOURS)] for at, name in enumerate(names)}


def label(series: Series) -> str:
    return f"{series.name}, {series.whose}"


def draw_lines(axes: Any, panel: Panel) -> None:
    by_name = colours(panel)
    for series in panel.series:
        style = {"color": by_name[series.name], "label": label(series), "linewidth": 1.1, "markersize": 3.5}
        style |= {"linestyle": "--", "marker": "s"} if series.whose == PAPER else {"marker": "."}
        if len(series.points) > 40 or series.step:
            style["marker"] = ""
        xs, ys = zip(*series.points, strict=True)
        if series.step:
            axes.step(xs, ys, where="post", **style)
        else:
            axes.plot(xs, ys, **style)
    for number, (y, text) in enumerate(panel.marks):
        style = {"color": COLOURS[-1 - number % len(COLOURS)], "linestyle": ":", "linewidth": 0.9}
        axes.axhline(y, label=f"{text}, {PAPER}", **style)
    if "x" in panel.log:
        axes.set_xscale("log")
    if "y" in panel.log:
        axes.set_yscale("log")
    else:
        highest = [y for series in panel.series for _, y in series.points] + [y for y, _ in panel.marks]
        axes.set_ylim(0, 1.05 * max(highest, default=1) or 1)


def draw_bars(axes: Any, panel: Panel) -> None:
    words = list(dict.fromkeys(x for series in panel.series for x, _ in series.points))
    if all(word.isdigit() for word in words):
        words.sort(key=int)
    by_name, width = colours(panel), 0.8 / max(1, len(panel.series))
    for at, series in enumerate(panel.series):
        places = [words.index(x) + width * (at - (len(panel.series) - 1) / 2) for x, _ in series.points]
        style: dict[str, Any] = {"color": by_name[series.name], "label": label(series)}
        if series.whose == PAPER:
            style |= {"hatch": "///", "fill": False, "edgecolor": by_name[series.name]}
        drawn = axes.bar(places, [y for _, y in series.points], width * 0.92, **style)
        if len(panel.series) * len(words) <= 24:
            axes.bar_label(drawn, fmt="%.3g", fontsize=5)
    for y, text in panel.marks:
        axes.axhline(y, color=COLOURS[-1], linestyle=":", linewidth=0.9, label=f"{text}, {PAPER}")
    if "y" in panel.log:
        axes.set_yscale("log")
    axes.set_xticks(range(len(words)), words)
