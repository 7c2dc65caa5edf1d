# SPDX-License-Identifier: Apache-2.0
"""The control plane: from the REST call until it is committed, and until every mux has applied it.

A change of one bucket and a change of half of all buckets take turns, on a ring that a history of random changes has
fragmented. A change counts as applied once every mux has it in its own ZooKeeper node, as GET /v1/muxes shows it: that
takes one more write to ZooKeeper and one more watch than the muxes themselves need, so packets follow the new ring
earlier than this number. The REST call returns once the change is committed.

Without --api it brings up a lab of its own (as root) and undoes it afterwards. With it, it creates a service "bench" at
that controller and deletes it again; its VIP is from the range reserved for benchmarks (RFC 2544).
"""

import argparse
import contextlib
import http.client
import json
import os
import pathlib
import random
import socket
import statistics
import time
import urllib.parse

from bench.lib.command import RESULTS, die, keep
from lab.deadline import LabError
from lab.lab import Lab

SERVICE = "bench"
VIP = "198.18.0.1"
TIMEOUT_SECONDS = 30
PAUSE_SECONDS = 0.001
WINDOW_SECONDS = 1  # passes before each change: within it other buckets would move back than those that moved
SHUFFLES = 40
KINDS = ("one bucket", "half of all buckets")


class Api:
    """One persistent connection, so that a request costs no handshake."""

    def __init__(self, connection, headers):
        self.connection, self.headers = connection, headers

    def __call__(self, method, path, body=None):
        content = None if body is None else json.dumps(body)
        try:
            sent = self.headers | ({"Content-Type": "application/json"} if content else {})
            self.connection.request(method, path, content, sent)
            answer = self.connection.getresponse()
            text = answer.read()
        except (OSError, http.client.HTTPException) as error:
            die(f"{method} {path}: no answer: {error}")
        if answer.status >= 400:
            die(f"{method} {path}: {answer.status} {text.decode()}")
        return json.loads(text) if text else None

    def weights(self, weights):
        changes = [{"op": "weight", "id": number, "weight": weight} for number, weight in weights.items()]
        return self("POST", f"/v1/services/{SERVICE}/changes?force=true", {"changes": changes})


@contextlib.contextmanager
def api_of_url(url, token_file):
    parts = urllib.parse.urlsplit(url)
    if parts.scheme != "http" or not parts.hostname:
        die(f"--api: '{url}' is not allowed; allowed: http://HOST:PORT")
    headers = {"Authorization": f"Bearer {token_file.read_text().strip()}"} if token_file else {}
    yield Api(http.client.HTTPConnection(parts.hostname, parts.port or 80, timeout=TIMEOUT_SECONDS), headers)


@contextlib.contextmanager
def api_of_lab(muxes):
    try:
        with Lab(servers=2, muxes=muxes) as lab:
            api = lab.controller.api
            connection = http.client.HTTPConnection(api.host, api.port, timeout=TIMEOUT_SECONDS)
            connection.auto_open = 0  # the socket belongs to the controller's namespace; none may be opened outside
            connection.sock = api.namespace.connect(api.host, api.port, TIMEOUT_SECONDS)
            connection.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)  # as http.client's own
            yield Api(connection, api.headers)
    except LabError as error:
        die(error)


def wait_applied(api, generation, muxes):
    """Waits until all muxes have applied the generation; returns when the last answer arrived."""
    deadline = time.monotonic() + TIMEOUT_SECONDS
    while True:
        applied = [mux["services"].get(SERVICE, {}).get("generation", 0) for mux in api("GET", "/v1/muxes")]
        if len(applied) >= muxes and min(applied) >= generation:
            return time.monotonic()
        if time.monotonic() > deadline:
            die(f"after {TIMEOUT_SECONDS} s the muxes have applied {applied}, not {generation} on {muxes} muxes")
        time.sleep(PAUSE_SECONDS)


def create(api, args):
    """A service in which every backend owns the buckets of its weight, in many runs. Ranges of VIPs are kept."""
    cluster = api("GET", "/v1/cluster")
    ranges = {*cluster["vipRanges"], f"{VIP}/32"}
    api("PUT", "/v1/cluster", {"vipRanges": sorted(ranges), "neverVips": cluster["neverVips"]})
    api("POST", "/v1/services", {
        "name": SERVICE, "vips": [VIP], "ports": [{"protocol": "tcp", "port": 80}], "buckets": args.buckets,
        "windowSeconds": WINDOW_SECONDS,
    })  # fmt: skip
    each = args.buckets // args.backends
    address = "10.1.{}.{}".format
    api("POST", f"/v1/services/{SERVICE}/changes", {"changes": [
        {"op": "add", "id": n, "address": address(100 + n // 250, 1 + n % 250), "weight": each}
        for n in range(1, args.backends + 1)
    ]})  # fmt: skip
    shuffle = random.Random(args.seed)
    for _ in range(SHUFFLES):
        api.weights({n: shuffle.randrange(1, 2 * each) for n in range(1, args.backends + 1)})
    return api.weights(dict.fromkeys(range(1, args.backends + 1), each))["generation"]


def steps(args):
    """For each kind, two changes that undo each other, so that every repetition does the same work."""
    each = args.buckets // args.backends
    odd = range(1, args.backends + 1, 2)
    return {
        KINDS[0]: ({1: each - 1, 2: each + 1}, {1: each, 2: each}),
        KINDS[1]: (dict.fromkeys(odd, 0), dict.fromkeys(odd, each)),
    }


def measure(api, weights, muxes):
    time.sleep(WINDOW_SECONDS + 1)  # windows are counted in whole seconds
    start = time.monotonic()
    result = api.weights(weights)
    committed = time.monotonic()
    applied = wait_applied(api, result["generation"], muxes)
    return {
        "moved": result["movedBuckets"],
        "runs": len(result["moves"]),
        "committed": committed - start,
        "applied": applied - start,
    }


def run(api, args):
    muxes = len(api("GET", "/v1/muxes"))
    if muxes == 0:
        die("the controller knows no mux; at least one has to run")
    expected = {KINDS[0]: 1, KINDS[1]: args.buckets // 2}
    wait_applied(api, create(api, args), muxes)
    samples = {kind: [] for kind in KINDS}
    for _ in range(args.repetitions // 2):
        for kind, there_and_back in steps(args).items():
            for weights in there_and_back:
                sample = measure(api, weights, muxes)
                if sample["moved"] != expected[kind]:
                    die(f"{kind}: {sample['moved']} buckets moved, expected {expected[kind]}")
                samples[kind].append(sample)
    return muxes, samples


def summary(values):
    return {"min": min(values), "median": statistics.median(values), "max": max(values)}


def show(args, muxes, kinds):
    print(
        f"{args.buckets} buckets, {args.backends} backends, {muxes} muxes, {args.repetitions} repetitions each; "
        "milliseconds from the REST call\n"
    )
    columns = ("committed: min  median     max", "applied: min  median     max")
    print(f"{'':20s} {'buckets':>8s} {'runs':>6s}   {columns[0]:>32s}   {columns[1]:>30s}")
    for kind, row in kinds.items():
        times = [row[what][of] * 1000 for what in ("committed", "applied") for of in ("min", "median", "max")]
        print(
            f"{kind:20s} {row['moved']:8d} {row['runs']:6.0f}   {times[0]:16.1f} {times[1]:7.1f} {times[2]:7.1f}   "
            f"{times[3]:14.1f} {times[4]:7.1f} {times[5]:7.1f}"
        )


def parse():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--api", metavar="URL", help="of a running controller; without it a lab is brought up")
    parser.add_argument("--token-file", type=pathlib.Path, help="for --api: an admin's token")
    parser.add_argument("--muxes", type=int, default=2, help="of the lab (default 2)")
    parser.add_argument("--repetitions", type=int, default=24)
    parser.add_argument("--buckets", type=int, default=65536)
    parser.add_argument("--backends", type=int, default=64)
    parser.add_argument("--seed", type=int, default=1, help="of the history that fragments the ring")
    parser.add_argument("--json", type=pathlib.Path, default=RESULTS / "control_plane.json")
    args = parser.parse_args()
    if args.repetitions < 2 or args.repetitions % 2:
        die(f"--repetitions: {args.repetitions} is not allowed; allowed: an even number from 2 on")
    if args.backends < 2 or args.backends % 2 or args.buckets % args.backends:
        die(f"--backends: {args.backends} is not allowed; allowed: an even divisor of --buckets")
    return args


def main():
    args = parse()
    with api_of_url(args.api, args.token_file) if args.api else api_of_lab(args.muxes) as api:
        try:
            muxes, samples = run(api, args)
        finally:
            if any(service["name"] == SERVICE for service in api("GET", "/v1/services")):
                api("DELETE", f"/v1/services/{SERVICE}")
    kinds = {}
    for kind, rows in samples.items():
        kinds[kind] = {
            "moved": rows[0]["moved"],
            "runs": statistics.median(row["runs"] for row in rows),
            "committed": summary([row["committed"] for row in rows]),
            "applied": summary([row["applied"] for row in rows]),
        }
    show(args, muxes, kinds)
    result = {
        "benchmark": "control_plane", "unit": "seconds", "cores": os.cpu_count(), "muxes": muxes, "seed": args.seed,
        "buckets": args.buckets, "backends": args.backends, "repetitions": args.repetitions, "kinds": kinds,
        "samples": samples,
    }  # fmt: skip
    keep(args.json, result)
    print(f"\n{args.json} has every sample")


if __name__ == "__main__":
    main()
