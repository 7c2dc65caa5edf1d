# SPDX-License-Identifier: Apache-2.0
"""The test client's command line; it only wires."""

import argparse
import asyncio
import socket

from lab import topology
from lab.client import downloads, flood, flows
from lab.client.load import Load, Options


def _seconds(text: str) -> tuple[float, ...]:
    silences = tuple(float(part) for part in text.split(","))
    if min(silences) <= 0:
        raise argparse.ArgumentTypeError(f"silence '{min(silences):g}' is refused; allowed: above 0")
    return silences


def main() -> None:
    parser = argparse.ArgumentParser(prog="python3 -m lab.client", description="the lab's test client")
    parser.add_argument("--host", default=topology.VIP)
    parser.add_argument("--port", type=int, default=topology.VIP_PORT)
    parser.add_argument("--timeout", type=float, default=10.0, help="seconds without an answer that count as broken")
    kinds = parser.add_subparsers(dest="kind", required=True)
    load = kinds.add_parser("load", help="long-lived and short connections")
    load.add_argument("--long", type=int, default=100, help="long-lived connections")
    load.add_argument("--interval", type=float, default=0.25, help="seconds between requests of a long-lived one")
    load.add_argument("--life", type=float, default=0.0, help="mean seconds of a long-lived one; 0: until the end")
    load.add_argument("--idle", type=int, default=0, help="connections, besides, that are silent after each answer")
    load.add_argument(
        "--silences", type=_seconds, default=(30.0,), metavar="S,…", help="seconds of silence of these, in turn"
    )
    load.add_argument("--short-rate", type=float, default=10.0, help="short connections per second")
    load.add_argument("--mptcp-port", type=int, help="connect by MPTCP, to this port")
    probe = kinds.add_parser("flows", help="who answers each 'address port' of standard input")
    probe.add_argument("--concurrency", type=int, default=64)
    loops = kinds.add_parser("downloads", help="closed loops of downloads by MPTCP")
    loops.add_argument("--loops", type=int, default=10)
    loops.add_argument("--bytes", type=int, default=500_000, help="of a download")
    loops.add_argument("--mptcp-port", type=int, required=True)
    syn = kinds.add_parser("flood", help="a bounded SYN flood")
    syn.add_argument("--interface", default="eth0")
    syn.add_argument("--gateway", required=True)
    syn.add_argument("--rate", type=int, default=15_000, help=f"packets per second, at most {flood.RATE_MAX}")
    syn.add_argument("--seconds", type=float, default=8.0)
    syn.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    match options.kind:
        case "load":
            wanted = Options(
                options.host,
                options.mptcp_port or options.port,
                options.long,
                options.interval,
                options.short_rate,
                options.timeout,
                socket.IPPROTO_MPTCP if options.mptcp_port else socket.IPPROTO_TCP,
                options.idle,
                options.silences,
                options.life,
            )
            asyncio.run(Load(wanted).run())
        case "flows":
            asyncio.run(flows.run(options.host, options.port, options.concurrency, options.timeout))
        case "downloads":
            loop = downloads.Wanted(options.host, options.mptcp_port, options.loops, options.bytes, options.timeout)
            asyncio.run(downloads.run(loop))
        case "flood":
            flood.run(
                options.interface,
                options.gateway,
                options.host,
                options.port,
                options.rate,
                options.seconds,
                options.seed,
            )


if __name__ == "__main__":
    main()
