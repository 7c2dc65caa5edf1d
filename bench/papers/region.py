# SPDX-License-Identifier: Apache-2.0
"""
The arithmetic of bench/run scale: what a region asks of each part, from what the parts were measured to cost.

A Need is one resource of one part: how much a region uses at its rates, and the limit. Its utilization says what
saturates first. Costs are read from bench/results and hold for the machine on which they were measured.
"""

import heapq
import math
import random
import statistics
from dataclasses import dataclass

GUE_BYTES = 44  # what the mux puts around a packet, over IPv4
LENGTH = 100  # bytes of a packet from a client, mostly acknowledgements, with its Ethernet header


@dataclass(frozen=True)
class Region:
    """Sizes and rates; see bench/run scale --help for where the defaults come from."""

    muxes: int = 100
    backends: int = 65_536
    services: int = 1_000
    connections: int = 10_000_000  # of a service, at a time
    opened: float = 1_000.0  # connections of a service, a second
    packets: float = 1_250.0  # of a connection, from its client
    changes: float = 10.0  # of a service's pool, a minute
    agents: bool = True
    report: float = 10.0  # seconds between an agent's reports
    buckets: int = 0  # of a service; 0: the power of two from 100 a backend
    mux_cores: int = 8
    mux_gb: float = 16.0
    gbps: float = 10.0  # of a link
    writers: int = 32
    controller_cores: int = 2
    controller_gb: float = 4.0
    zookeeper_cores: int = 6  # of all its servers
    server_cores: int = 16

    @property
    def ring(self):
        """Buckets of a service."""
        return self.buckets or 1 << max(0, math.ceil(math.log2(100 * self.backends / self.services)))

    @property
    def changes_a_second(self):
        return self.changes * self.services / 60

    @property
    def packets_a_second(self):
        return self.opened * self.packets * self.services


@dataclass(frozen=True)
class Need:
    part: str
    resource: str
    used: float
    limit: float
    unit: str
    grows_with: str

    @property
    def utilization(self):
        return self.used / self.limit

    def to_json(self):
        return {
            "part": self.part,
            "resource": self.resource,
            "used": self.used,
            "limit": self.limit,
            "unit": self.unit,
            "utilization": self.utilization,
            "growsWith": self.grows_with,
            "saturatesAt": 1 / self.utilization if self.utilization else None,
        }


def costs(results):
    """What one of each thing costs, from results by benchmark."""
    rows = {row["name"]: row for row in results["mux"]["packet"]["results"]}
    ports = results["mux"]["ports"]["median"]
    size, agents, services = results["size"], results["agents"], results["services"]
    agent, bpf = results["agent"], {row["name"]: row for row in results["server_bpf"]["rows"]}
    churn = agent["real"][0]["churn"]
    # The first change is left out: the muxes had just started and read more than it.
    small = [row for row in size["propagation"][1:] if row["size"] == 1]
    rate = results["commit_rate"]["rows"][-1]
    whole = services["muxProcessor"] / services["services"]
    return {
        "packet": 1 / ports["mux"]["cpu"],
        "packetManyServices": (rows["1,000 services of 4 K buckets"]["median"] - rows["64 K buckets"]["median"]) / 1e9,
        "secondCore": ports["mux, two cores"]["cpu"] / ports["mux"]["cpu"] / 2,
        "muxBucketBytes": rows["64 K buckets"]["bytes"] / rows["64 K buckets"]["buckets"],
        "muxServiceSeconds": whole,
        "muxChangeSeconds": statistics.median(row["processorSeconds"] for row in small) / size["readers"],
        # All that two cores could do until the last mux had it, less the muxes' own: at most what ZooKeeper took.
        "zookeeperMuxSeconds": statistics.median(
            max(0.0, max(row["seconds"]) * size["cores"] - row["processorSeconds"]) for row in small
        )
        / size["readers"],
        "propagation": statistics.median(max(row["seconds"]) for row in small),
        "changeBytes": statistics.median(row["bytesMost"] for row in small),
        "snapshotBucketBytes": size["snapshotBytes"] / size["buckets"],
        "changeSeconds": services["changeAnsweredMedian"],
        # At the highest rate, at which the controller has compiled most.
        "controllerChangeSeconds": rate["cores"]["controller"] * rate["allServedSeconds"] / rate["changes"],
        "loadSeconds": services["controllerLoads"] / services["services"],
        "serviceHeap": services["heap"]["used"] * 1e6 / services["services"] / services["buckets"],
        "reportSeconds": agents["rows"][0]["processorMicrosecondsPerReport"] / 1e6,
        "agentHeap": (agents["rows"][0]["residentMegabytes"] - agents["residentBefore"]) * 1e6 / agents["agents"],
        "controllerBase": agents["residentBefore"] * 1e6,
        "agentConnectionSeconds": (churn["agentNsAConnection"] + churn["programNsAConnection"]) / 1e9,
        "agentConnectionBytes": agent["table"]["residentKb"] * 1024 / agent["table"]["connections"],
        "deliverSeconds": bpf["deliver: local socket"]["single"] / 1e9,
    }


def needs(region, cost):
    """Every resource that the region uses, the most used first."""
    servers = region.backends
    per_mux = region.packets_a_second / region.muxes
    packet = cost["packet"] + (cost["packetManyServices"] if region.services > 100 else 0)
    packet /= cost["secondCore"] if region.mux_cores > 1 else 1
    link = region.gbps * 1e9 / 8
    buckets = region.ring * region.services
    opened = region.opened * region.services
    changed = region.changes_a_second
    heap = cost["controllerBase"] + buckets * cost["serviceHeap"]
    found = [
        Need("mux", "processor, packets", per_mux * packet, region.mux_cores, "cores", "packets"),
        Need("mux", "processor, changes", changed * cost["muxChangeSeconds"], 1, "cores", "changes"),
        Need("mux", "link, packets out", per_mux * (LENGTH + GUE_BYTES), link, "bytes/s", "packets"),
        Need("mux", "link, changes in", changed * cost["changeBytes"], link, "bytes/s", "changes"),
        Need("mux", "memory, rings", buckets * cost["muxBucketBytes"], region.mux_gb * 1e9, "bytes", "buckets"),
        Need(
            "controller", "writers that are busy", changed * cost["changeSeconds"], region.writers, "writers", "changes"
        ),
        Need(
            "controller",
            "processor, changes",
            changed * cost["controllerChangeSeconds"],
            region.controller_cores,
            "cores",
            "changes",
        ),
        Need(
            "ZooKeeper",
            "processor, muxes that read",
            changed * region.muxes * cost["zookeeperMuxSeconds"],
            region.zookeeper_cores,
            "cores",
            "changes and muxes",
        ),
        Need(
            "ZooKeeper",
            "link, bytes to muxes",
            changed * region.muxes * cost["changeBytes"],
            link,
            "bytes/s",
            "changes and muxes",
        ),
        Need(
            "server",
            "processor, packets",
            region.packets_a_second / servers * cost["deliverSeconds"],
            region.server_cores,
            "cores",
            "packets",
        ),
    ]
    if region.agents:
        reports = servers / region.report
        heap += servers * cost["agentHeap"]
        found += [
            Need(
                "controller",
                "processor, reports",
                reports * cost["reportSeconds"],
                region.controller_cores,
                "cores",
                "backends",
            ),
            Need(
                "agent",
                "processor, connections",
                opened / servers * cost["agentConnectionSeconds"],
                1,
                "cores",
                "connections opened",
            ),
            Need(
                "agent",
                "memory, connections",
                region.connections * region.services / servers * cost["agentConnectionBytes"],
                1e9,
                "bytes",
                "connections",
            ),
        ]
    found.append(Need("controller", "memory", heap, region.controller_gb * 1e9, "bytes", "buckets and backends"))
    return sorted(found, key=lambda need: -need.utilization)


def starts(region, cost):
    """Seconds and bytes of what happens once: a mux or a controller that starts."""
    buckets = region.ring * region.services
    return {
        "mux: bytes of all rings": buckets * cost["snapshotBucketBytes"],
        "mux: seconds of its link": buckets * cost["snapshotBucketBytes"] * 8 / (region.gbps * 1e9),
        "mux: seconds of its processor": region.services * cost["muxServiceSeconds"],
        "controller: seconds to load all services": region.services * cost["loadSeconds"],
    }


def simulate(rate, service, spread, writers, count, rng):
    """Waits of `count` changes that arrive at random at `writers`, and then take `spread` seconds to reach all muxes.

    Changes arrive as a Poisson process of `rate` a second, are served in order, and keep a writer for `service`
    seconds. Returns, in seconds, the mean wait for a writer, and median and 99 % of the time until the last mux has
    a change.
    """
    now, free, waits = 0.0, [0.0] * writers, []
    for _ in range(count):
        now += rng.expovariate(rate)
        begin = max(now, free[0])
        heapq.heapreplace(free, begin + service)
        waits.append(begin - now)
    whole = sorted(wait + service + spread for wait in waits)
    return {
        "rate": rate,
        "meanWait": sum(waits) / count,
        "median": whole[count // 2],
        "percentile99": whole[count * 99 // 100],
    }


def queue(region, cost, seed, count=50_000):
    """How long a change takes at this region's rate and below, by simulation; None where it would never end."""
    found = []
    capacity = region.writers / cost["changeSeconds"]
    wanted = region.changes_a_second / capacity
    for load in sorted({0.1, 0.5, 0.9, *([wanted] if wanted < 1 else [])}):
        rng = random.Random(seed)
        row = simulate(load * capacity, cost["changeSeconds"], cost["propagation"], region.writers, count, rng)
        found.append(row | {"load": load})
    return found


def checks(results, cost):
    """(what, predicted, measured, unit): sizes that were measured, predicted from costs at other sizes."""
    size, agents, services = results["size"], results["agents"], results["services"]
    arrays = sorted(results["arrays"]["results"], key=lambda row: row["connections"])
    found = []

    def add(what, predicted, measured, unit):
        found.append({"what": what, "predicted": predicted, "measured": measured, "unit": unit})

    for row in agents["rows"][1:]:
        predicted = row["reportsPerSecond"] * cost["reportSeconds"]
        add(f"controller, {row['reportsPerSecond']:,.0f} reports a second", predicted, row["processorShare"], "cores")
    add(
        f"a mux with {services['services']:,} services: their rings, of its memory",
        services["services"] * services["buckets"] * cost["muxBucketBytes"] / 1e6,
        services["muxResidentKb"] / 1e3,
        "MB",
    )
    add(
        f"a change among {services['services']:,} services until a mux has it",
        cost["changeSeconds"] + cost["propagation"],
        services["changeToMuxMedian"],
        "s",
    )
    largest = max(row["size"] for row in size["propagation"])
    for row in size["propagation"]:
        if row["size"] == largest and row["kind"] == "add":
            predicted = row["processorSeconds"] / size["cores"] + cost["propagation"]
            add(
                f"{largest:,} backends added, until the last of {size['readers']} muxes",
                predicted,
                max(row["seconds"]),
                "s",
            )
    durations = {}
    for row in size["durations"]:
        if row["kind"] == "add":
            durations.setdefault(row["size"], []).append(row["seconds"])
    sizes = sorted(durations)
    if len(sizes) >= 3:
        # A line between two sizes, read at the one between them.
        low, middle, high = sizes[-3:]
        first, found_there, last = (statistics.median(durations[n]) for n in (low, middle, high))
        predicted = first + (last - first) * (middle - low) / (high - low)
        add(f"{middle:,} backends added, from {low:,} and {high:,}", predicted, found_there, "s")
    if len(arrays) >= 2:
        small, large = arrays[0], arrays[-1]
        times = large["connections"] / small["connections"]
        for key, unit, words in (
            ("bytes", "bytes", "bytes"),
            ("build", "s", "to build"),
            ("written", "s", "to write"),
            ("served", "s", "until both muxes serve"),
        ):
            predicted = small["kinds"]["whole"][key] * times
            measured = large["kinds"]["whole"][key]
            add(f"arrays of {large['connections']:,} connections, {words}", predicted, measured, unit)
    for check in found:
        check["ratio"] = check["predicted"] / check["measured"]
    return found
