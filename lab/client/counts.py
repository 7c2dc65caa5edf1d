# SPDX-License-Identifier: Apache-2.0
"""What the client counts, and which connections count as broken.

A connection is broken when a user would notice, in one of these ways:

    reset             the peer reset it
    eof               the peer closed it; nginx is configured never to do so
    timeout           a request, or the SYN, had no answer for 10 s (--timeout; 40 s if virtual machines answer)
    another_server    an answer came from another server than the connection's first one
    bad_answer        an answer that is not a 200 with a server's name
    refused           a new connection was not accepted (RST, unreachable)

A slow answer (a packet was lost and retransmitted) does not count; the slowest answer of each second is shown. The
longest stall is the longest wait: for an answer, for being opened, or until the connection broke.
"""

from collections import Counter
from typing import TypedDict


class Totals(TypedDict):
    """Counts as a line of the client has them."""

    connections: int
    requests: int
    broken: int
    by_kind: dict[str, int]
    servers: dict[str, int]
    new: dict[str, int]
    slowest_ms: float
    stall_ms: float


BROKEN = ("reset", "eof", "timeout", "another_server", "bad_answer", "refused")


class Counts:
    """Counts over a period."""

    def __init__(self) -> None:
        self.connections = 0
        self.requests = 0
        self.broken: Counter[str] = Counter()
        self.servers: Counter[str] = Counter()  # answers
        self.new: Counter[str] = Counter()  # first answers of connections
        self.slowest = 0.0
        self.stall = 0.0

    def answered(self, server: str, seconds: float, first: bool) -> None:
        self.requests += 1
        self.new[server] += first
        self.servers[server] += 1
        self.slowest = max(self.slowest, seconds)
        self.waited(seconds)

    def waited(self, seconds: float) -> None:
        self.stall = max(self.stall, seconds)

    def add(self, other: "Counts") -> None:
        self.connections += other.connections
        self.requests += other.requests
        self.broken += other.broken
        self.servers += other.servers
        self.new += other.new
        self.slowest = max(self.slowest, other.slowest)
        self.waited(other.stall)

    def document(self) -> Totals:
        return {
            "connections": self.connections,
            "requests": self.requests,
            "broken": sum(self.broken.values()),
            "by_kind": dict(self.broken),
            "servers": dict(self.servers),
            "new": dict(self.new),
            "slowest_ms": round(self.slowest * 1000, 1),
            "stall_ms": round(self.stall * 1000, 1),
        }
