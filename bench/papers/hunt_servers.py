# SPDX-License-Identifier: Apache-2.0
"""Response times of real servers under service hunting, beside one choice: 6LB's experiment in a lab.

Apache on servers that have a part of a processor each, Poisson arrivals, work of exponential length. All methods have
the same arrivals and the same work, and take turns. Needs lab/build, root and CPU quotas (cgroup version 1 or 2).
"""

import argparse
import pathlib
import statistics

from bench.lib.command import RESULTS, keep
from bench.papers import poisson_arrivals, real_servers

ONE = "one choice"
WHAT = "response", "connect"
TARGET = 0.7  # of the mean of one choice


def methods(args):
    return {
        ONE: {"steering": "ring"},
        "SRdyn": {"steering": "hunt"},
        f"SR{args.threshold}": {"steering": "hunt", "hunt": {"policy": "static", "threshold": args.threshold}},
    }


def fairness(answers, servers, begun, seconds):
    """Jain's index of the queries in work at each server, the mean over the run's seconds."""
    found = []
    for second in range(int(begun), int(begun + seconds)):
        counts = dict.fromkeys(servers, 0)
        for each in answers:
            counts[each["server"]] += each["at"] <= second < each["at"] + each["seconds"]
        squares = sum(count * count for count in counts.values())
        if squares:
            found.append(sum(counts.values()) ** 2 / len(counts) / squares)
    return statistics.mean(found) if found else None


def measure(up, name, args, seed):
    mean = args.work_ms / 1000
    queries = poisson_arrivals.schedule(
        seed, real_servers.rate(args), args.warm + args.seconds, lambda chance: (chance.expovariate(1 / mean), 0)
    )
    found, run = up.run(name, queries)
    answers, failed = real_servers.answered(found, args.warm, f"{name}, seed {seed}")
    names = [server.name for server in up.lab.servers.values()]
    return {
        "seed": seed,
        "answers": len(answers),
        "failed": failed,
        "offeredLoad": sum(each["work"] for each in queries) / queries[-1]["at"] / args.servers / args.part,
        "response": real_servers.times([each["seconds"] for each in answers]),
        "connect": real_servers.times([each["connect"] for each in answers]),
        "fairness": fairness(answers, names, args.warm, args.seconds),
        **run,
    }


def summary(rows, ones):
    """Of a method's runs; the ratio is of each run to that of one choice with the same seed."""
    ratios = [row["response"]["mean"] / one["response"]["mean"] for row, one in zip(rows, ones, strict=True)]
    connects = [row["connect"]["median"] - one["connect"]["median"] for row, one in zip(rows, ones, strict=True)]
    return {
        **{what: {key: statistics.mean(row[what][key] for row in rows) for key in rows[0][what]} for what in WHAT},
        "ratioBySeed": ratios,
        "ratio": statistics.mean(row["response"]["mean"] for row in rows)
        / statistics.mean(one["response"]["mean"] for one in ones),
        "connectMoreBySeed": connects,
        "passed": statistics.mean(row["passed"] for row in rows),
        "used": statistics.mean(statistics.mean(row["used"]) for row in rows),
        "failed": sum(row["failed"] for row in rows),
    }


def show(result):
    head = ("mean s", "median", "95 %", "99 %", "of one", "connect ms", "95 %", "passed", "used", "failed")
    print(f"\n{'':12s}" + "".join(f"{word:>11s}" for word in head))
    for name, row in result["methods"].items():
        response, connect = row["response"], row["connect"]
        cells = [f"{response[key]:11.3f}" for key in ("mean", "median", "percentile95", "percentile99")]
        cells += [f"{row['ratio']:11.3f}"] + [f"{1000 * connect[key]:11.2f}" for key in ("median", "percentile95")]
        cells += [f"{row[key]:11.1%}" for key in ("passed", "used")] + [f"{row['failed']:11d}"]
        print(f"{name:12s}" + "".join(cells))
    print("\nused: of the servers' parts; connect: the kernel's handshake")
    ratio = result["methods"]["SRdyn"]["ratio"]
    print(f"target: SRdyn at most {TARGET} of one choice: {ratio:.3f}, {'reached' if ratio <= TARGET else 'missed'}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    real_servers.add_arguments(parser)
    parser.add_argument("--threshold", type=int, default=4, help="of hunt's policy static (default 4)")
    parser.add_argument("--json", type=pathlib.Path, default=RESULTS / "hunt_servers.json")
    args = parser.parse_args()
    real_servers.check_arguments(args)
    kinds = methods(args)
    runs = {name: [] for name in kinds}
    with real_servers.servers(args) as up:
        for number, settings in enumerate(kinds.values()):
            up.service(f"service{number}", **settings)
        for seed in range(args.seed, args.seed + args.seeds):
            for number, name in enumerate(kinds):
                row = measure(up, f"service{number}", args, seed)
                runs[name].append(row)
                print(
                    f"seed {seed}, {name}: load {row['offeredLoad']:.2f}, mean {row['response']['mean']:.3f} s,"
                    f" connect {1000 * row['connect']['median']:.2f} ms, machine {row['idle']:.0%} idle",
                    flush=True,
                )
    kept = real_servers.parameters(args) | {"threshold": args.threshold}
    result = {"benchmark": "hunt_servers", **kept}
    result["methods"] = {name: summary(rows, runs[ONE]) | {"runs": rows} for name, rows in runs.items()}
    show(result)
    keep(args.json, result)
    print(f"\n{args.json} has every run")


if __name__ == "__main__":
    main()
