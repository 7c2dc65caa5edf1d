# SPDX-License-Identifier: Apache-2.0
"""The controller's side of steering othello, with its own classes: Concury's (SoCC '20) Figures 5 to 8, 20 and 26.

How long it takes to build arrays and to know connections, memory, and how evenly codes are spread. Times are processor
time of one thread. Needs the controller's jar: mvn -q package -DskipTests.
"""

import argparse
import json
import pathlib

import matplotlib as mpl
from matplotlib import pyplot as plt

from bench.lib import java
from bench.lib.command import RESULTS, ROOT, die, keep
from bench.lib.figure import save

INSERTIONS = (("sizedSeconds", "of a known size"), ("growingSeconds", "growing"), ("hashMapSeconds", "HashMap"))
METHODS = ("othello, siphash", "othello, crc32", "MD5", "SHA-256")


def measure(part, args):
    words = part, args.seed, args.most, args.tests
    return json.loads(java.run(ROOT / "bench/controller/OthelloFigures.java", *words, heap="2g"))


def show_control(result):
    print(f"{result['servers']} servers, {result['buckets']} buckets; milliseconds of one core\n")
    head = ("connections", "changed", "filled", "again", "recoded", "patch KB", "whole KB")
    print("".join(f"{word:>12s}" for word in head))
    for keys, row in result["figure8"].items():
        times = [1000 * row[name] for name in ("changeSeconds", "fillSeconds", "graphAndFillSeconds")]
        print(
            f"{int(keys):12,d}"
            + "".join(f"{each:12.2f}" for each in times)
            + f"{row['recoded']:12,d}{row['patchBytes'] / 1000:12.1f}{row['wholeBytes'] / 1000:12.1f}"
        )
    print("\nseconds to insert; ns of a core to close one and open another; memory\n")
    head = ("connections", "sized", "growing", "HashMap", "close+open", "bytes each", "heap MB")
    print("".join(f"{word:>12s}" for word in head))
    for keys, row in result["figure20"].items():
        plain = f"{row['hashMapSeconds']:12.4f}" if "hashMapSeconds" in row else f"{'-':>12s}"
        print(
            f"{int(keys):12,d}{row['sizedSeconds']:12.4f}{row['growingSeconds']:12.4f}{plain}"
            f"{1e9 * row['closeAndOpenSeconds']:12.0f}{row['bytes'] / int(keys):12.1f}{row['heapBytes'] / 1e6:12.1f}"
        )


def show_codes(result):
    print("\nflows a code, 2^20 flows over 1,024 codes: min, 10 %, mean, 90 %, max\n")
    for method, row in result["figure5"].items():
        print(f"{method:20s}" + "".join(f"{value:8.0f}" for value in row.values()))
    tests = result["figure6and7"]
    print(f"\nof {tests['tests']} tests at 5 %, so many fail: chi-squared, Kolmogorov-Smirnov\n")
    print(f"{'bits':>4s}" + "".join(f"{method:>20s}" for method in METHODS))
    for bits in (key for key in tests if key.isdigit()):
        cells = (tests[bits][method] for method in METHODS)
        print(
            f"{bits:>4s}" + "".join(f"{each['chiSquared']:11.1%},{each['kolmogorovSmirnov']:6.1%}  " for each in cells)
        )
    print("\nconnections over weight: min, 10 %, mean, 90 %, max\n")
    for name, row in result["figure26"].items():
        if isinstance(row, dict):
            print(f"{name:32s}" + "".join(f"{row[key]:8.3f}" for key in ("min", "10%", "mean", "90%", "max")))


def draw_control(result, path):
    figure, (build, insert) = plt.subplots(1, 2, figsize=(8, 3.4))
    sizes = [int(keys) for keys in result["figure8"]]
    for name, label in (
        ("changeSeconds", "cells of the connections that moved"),
        ("fillSeconds", "all cells, from the kept graph"),
        ("graphAndFillSeconds", "graph and cells again"),
    ):
        build.loglog(sizes, [1000 * row[name] for row in result["figure8"].values()], marker=".", label=label)
    build.set_xlabel("connections of a service")
    build.set_ylabel("ms to build arrays")
    build.legend(frameon=False, fontsize=7)
    for name, label in INSERTIONS:
        rows = [(int(keys), row[name]) for keys, row in result["figure20"].items() if name in row]
        insert.loglog(*zip(*rows, strict=True), marker=".", label=label)
    insert.set_xlabel("connections")
    insert.set_ylabel("seconds to insert")
    insert.legend(frameon=False, fontsize=7)
    save(figure, path)


def draw_codes(result, path):
    figure, (chi, kolmogorov, load) = plt.subplots(1, 3, figsize=(9, 3.2))
    tests = result["figure6and7"]
    bits = [key for key in tests if key.isdigit()]
    both = ((chi, "chiSquared", "chi-squared"), (kolmogorov, "kolmogorovSmirnov", "Kolmogorov-Smirnov"))
    for axes, name, title in both:
        for method in METHODS:
            shares = [100 * tests[each][method][name] for each in bits]
            axes.plot([int(each) for each in bits], shares, marker=".", label=method)
        axes.axhline(5, color="grey", linewidth=0.8, linestyle=":")
        axes.set_xlabel("bits of a code")
        axes.set_title(title, fontsize=9)
        axes.set_ylim(0, 25)
    chi.set_ylabel("tests at 5 % that fail, %")
    chi.legend(frameon=False, fontsize=6)
    for method in ("othello, siphash", "ring"):
        loads = result["figure26"][f"65536 buckets, {method}"]["loads"]
        load.plot(loads, marker=".", linestyle="", markersize=3, label=method)
    load.set_ylim(0, 1.2)
    load.set_xlabel("server")
    load.set_title("connections over weight", fontsize=9)
    load.legend(frameon=False, fontsize=6)
    save(figure, path)


def main():
    mpl.use("svg")
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--most", type=int, default=1 << 24, help="connections, from 8192 (default 16777216)")
    parser.add_argument("--tests", type=int, default=100, help="of uniformity, for each number of bits (default 100)")
    parser.add_argument("--json", type=pathlib.Path, default=RESULTS / "othello_map.json")
    args = parser.parse_args()
    if args.most < 8192:
        die(f"--most: {args.most} is not allowed; allowed: 8192 and more")
    if args.tests < 1:
        die(f"--tests: {args.tests} is not allowed; allowed: 1 and more")
    result = {"benchmark": "othello_map", "seed": args.seed, **measure("control", args), **measure("codes", args)}
    show_control(result)
    show_codes(result)
    keep(args.json, result, indent=None)
    print(f"\n{args.json} has every figure")
    draw_control(result, args.json.with_name("othello_control.svg"))
    draw_codes(result, args.json.with_name("othello_codes.svg"))


if __name__ == "__main__":
    main()
