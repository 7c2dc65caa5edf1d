# SPDX-License-Identifier: Apache-2.0
"""decide.json: what a packet is and names, what the server has seen, and what becomes of it."""

import random
from itertools import product

from oracle.decide import decide, skip

A, B, C, D, E, F = (f"10.1.0.{n}" for n in range(21, 27))
SIX = [A, "2001:db8:1::22", C, "2001:db8:1::24", E, F]
SELF, SELF6 = "10.1.0.20", "2001:db8:1::20"
PACKETS = ("syn", "refused", "cookie_ack", "local_socket", "unknown", "no_reset")
PLAIN = {
    "packet": "unknown",
    "trusted": True,
    "malformed": None,
    "quiet": False,
    "seen": 5,
    "generation": 5,
    "late": False,
    "candidates": [],
    "left": 0,
    "self": [SELF, SELF6],
}


def row(name: str, **changes: object) -> dict:
    """`left` is all candidates unless it is given. `skipped`: if the packet cannot be sent to `next`."""
    given = PLAIN | {"left": len(changes.get("candidates", []))} | changes
    out = decide(given)
    skipped = skip(given, out) if out["verdict"] == "chain" else None
    return {"name": name, "in": given, "out": out, "skipped": skipped}


def every_class() -> list[dict]:
    """Each class of packet, with and without a list, by a current mux and a late one, quiet or not."""
    lists = (("no list", []), ("one candidate", [A]), ("two", [A, B]))
    muxes = (("a current mux", 5, False), ("a late mux", 4, False), ("marked late", 5, True), ("news", 6, False))
    return [
        row(
            f"{packet}, {what}, {mux}{', quiet' if quiet else ''}",
            packet=packet,
            candidates=candidates,
            generation=generation,
            late=late,
            quiet=quiet,
        )
        for packet, (what, candidates), (mux, generation, late), quiet in product(PACKETS, lists, muxes, (False, True))
    ]


def named_rows() -> list[dict]:
    rows = [
        row("the first generation that a server sees", seen=0, generation=1),
        row("the highest generation", generation=0xFFFFFFFF),
        row("a late mux's packet teaches nothing", packet="local_socket", generation=1),
        row("a SYN teaches", packet="syn", generation=6, candidates=[A]),
        row("the second of two", candidates=[A, B], left=1),
        row("the end of two", candidates=[A, B], left=0),
        row("the end of two, late", candidates=[A, B], left=0, late=True),
        row("the last of six", candidates=SIX, left=1),
        row("six", candidates=SIX),
        row("oneself is skipped", candidates=[SELF, B]),
        row("oneself by the other address", candidates=[A, SELF6], left=1),
        row("oneself alone", candidates=[SELF]),
        row("oneself alone, late", candidates=[SELF, SELF6], late=True),
        row("oneself between others", candidates=[A, SELF, B], left=2),
        row("oneself, but tried already", candidates=[SELF, A, B], left=2),
        row("a refused SYN whose next owner is this server", packet="refused", candidates=[SELF, SELF6]),
        row("a server without an IPv6 address", candidates=[SELF6], self=[SELF, None]),
        row("a server without an IPv4 address", candidates=[SELF, B], self=[None, SELF6]),
        row("`::` is not the address of a family that a server has not", candidates=["::"], self=[SELF, None]),
        row("untrusted", trusted=False, generation=9, candidates=[A]),
        row("untrusted, a connection that is here", trusted=False, packet="local_socket"),
        row("malformed", malformed="length", generation=9),
        row("untrusted and malformed", trusted=False, malformed="length", generation=9),
    ]
    rows += [row(f"{left} of six left", candidates=SIX, left=left) for left in range(2, 6)]
    return rows


def decide_vectors() -> dict:
    return {"rows": named_rows() + every_class()}


def drawn_decide(draw: random.Random) -> dict:
    rows = []
    for number in range(3000):
        candidates = draw.choices([A, B, *SIX[1:], SELF, SELF6, "::"], k=draw.randrange(7))
        rows.append(
            row(
                f"random packet {number}",
                packet=draw.choice(PACKETS),
                trusted=draw.random() < 0.9,
                malformed="length" if draw.random() < 0.1 else None,
                quiet=draw.random() < 0.3,
                seen=draw.randrange(8),
                generation=draw.randrange(1, 8),
                late=draw.random() < 0.3,
                candidates=candidates,
                left=draw.randint(0, len(candidates)),
                self=draw.choice([[SELF, SELF6], [SELF, None], [None, SELF6]]),
            )
        )
    return {"rows": rows}
