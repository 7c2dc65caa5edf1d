# SPDX-License-Identifier: Apache-2.0
"""The page of bench/run reproduce: for each figure what agrees with the paper, what differs, and why."""

import os
import textwrap

from bench.lib.command import ROOT

TITLES = {"beamer": "Beamer", "concury": "Concury", "maat": "Maat", "6lb": "6LB", "kth": "KTH report"}
WIDTH = 118
HEAD = """\
# The papers' figures, redrawn

Written by `bench/run reproduce`; do not edit it by hand. Fairlead takes ideas from five papers. For each figure of
their evaluations this page says what was measured here, what agrees with the paper's own numbers, what differs, and
why.

- **redrawn**: the same experiment, in the same terms, though often smaller. **stands in**: something else that can be
  measured on such a machine. **cannot**: neither.
- Papers' numbers are those that their texts and tables state (`bench/papers/data`); points of their pictures were
  not read.
- A number *agrees* if it is within a factor of the paper's (a quarter, unless named), or on the side of a bound that
  the text claims. Machines differ, so ratios say more than rates.
- Pictures show ours solid and the paper's dashed or hatched. Each has its numbers in a JSON file of the same name.

How to make it again: `bench/run reproduce` (two hours; `--quick`: minutes; `--kept`: only draws what
[bench/results](../../bench/results) has). It continues where it was interrupted. With `--list` it lists figures.
"""


def number(value):
    if isinstance(value, tuple | list):
        return " to ".join(number(each) for each in value)
    if value is None:
        return "none"
    if value == 0:
        return "0"
    if abs(value) >= 1000:
        return f"{value:,.0f}"
    return f"{value:.3g}"


def paragraph(text, first="", rest=""):
    return textwrap.fill(
        text, WIDTH, initial_indent=first, subsequent_indent=rest, break_long_words=False, break_on_hyphens=False
    )


def row_text(row):
    """One row as words: what: the paper's, ours."""
    bound = {"below": "at most ", "above": "at least "}.get(row["rule"], "")
    unit = "" if row["ours"] is None or row["unit"] in ("", "ratio") else f" {row['unit']}"
    factor = f" (factor {row['factor']:g})" if row["factor"] and row["factor"] != 1.25 else ""
    return f"{row['what']}: paper {bound}{number(row['paper'])}, here {number(row['ours'])}{unit}{factor}"


def sources(entry):
    """Where the numbers of a figure come from."""
    parts = []
    for run in entry["steps"]:
        if run["kept"]:
            parts.append(f"kept results of `{run['step']}` (commit {run['commit']})")
        else:
            words = " ".join([run["step"], *run["words"]])
            parts.append(f"`{words}`, {run['seconds']:,.0f} s, load {run['load'][0]:g} to {run['load'][1]:g}")
    return "; ".join(parts)


def figure_lines(entry, folder):
    lines = [f"### {TITLES[entry['paper']]}, {entry['label']}: {entry['title']}", ""]
    lines.append(paragraph(f"- State: **{entry['state']}**.", rest="  "))
    if entry["reason"]:
        lines.append(paragraph(f"- Why not as it was: {entry['reason']}", rest="  "))
    if entry["standsIn"]:
        lines.append(paragraph(f"- What stands in: {entry['standsIn'].rstrip('.')}.", rest="  "))
    for word, wanted in (("Agrees", True), ("Differs", False)):
        rows = [row for row in entry["compared"] if row["agrees"] == wanted]
        if rows:
            lines.append(f"- {word}:")
            lines += [paragraph(row_text(row), "  - ", "    ") for row in rows]
    if entry["why"]:
        lines.append(paragraph(f"- What is not the same: {entry['why']}", rest="  "))
    if entry["state"] != "cannot":
        lines.append(paragraph(f"- The paper's numbers: {entry['read']}.", rest="  "))
    if entry["steps"]:
        lines.append(paragraph(f"- Ours: {sources(entry)}.", rest="  "))
    if entry["svg"]:
        target = os.path.relpath(ROOT / entry["svg"], folder)
        lines += ["", f"![{TITLES[entry['paper']]}, {entry['label']}]({target})"]
    return [*lines, ""]


def summary(entries):
    rows = ["| paper | redrawn | stands in | cannot | numbers that agree |", "| --- | --- | --- | --- | --- |"]
    for paper, title in TITLES.items():
        mine = [entry for entry in entries if entry["paper"] == paper]
        if not mine:
            continue
        cells = [str(sum(e["state"] == state for e in mine)) for state in ("redrawn", "stands in", "cannot")]
        compared = [row for entry in mine for row in entry["compared"]]
        agree = sum(row["agrees"] for row in compared)
        rows.append(f"| {title} | {' | '.join(cells)} | {agree} of {len(compared)} |")
    return rows


def page(result, folder):
    """`result` is what --json gets; links are relative to `folder`, where the page will be."""
    machine = result["machine"]
    where = f"{machine['cpu']}, {machine['cores']} cores, kernel {machine['kernel']}"
    lines = HEAD.splitlines()
    mode = {
        "quick": "A quick run: everything at its smallest, so that numbers mean little",
        "full": "A full run",
        "kept": "Drawn from results that were kept earlier, each by its own run (bench/README.md says where)",
    }[result["mode"]]
    lines += ["", paragraph(f"{mode}. Drawn at commit {result['commit']} on: {where}; load {result['load']:g}."), ""]
    lines += [*summary(result["figures"]), ""]
    paper = None
    for entry in result["figures"]:
        if entry["paper"] != paper:
            paper = entry["paper"]
            lines += [f"## {TITLES[paper]}", "", paragraph(result["papers"][paper]), ""]
        lines += figure_lines(entry, folder)
    return "\n".join(lines).rstrip() + "\n"
