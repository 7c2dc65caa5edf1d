# SPDX-License-Identifier: Apache-2.0
"""The rows of verdict.json whose packets name a second bucket."""

from itertools import product

from oracle.verdict import NO_MEMORY, promote

from .verdict import NOW, PACKETS, A, B, C, D, by_id, late, memory, row, steer

BUCKET = 815
NO_BUCKET = 4294967295


def second(owner: str | None = C, since: int | None = None, previous: str | None = None, bucket: int = BUCKET) -> dict:
    return {"bucket": bucket, "owner": owner, "since": since, "previous": previous}


def two(header: dict, other: dict) -> dict:
    return header | {"second": other}


def passed(name: str, known: dict | None = None, there: str = "unknown", seen: int = 12, **changes) -> dict:
    """
    A row, and what the second bucket's owner decides if the packet is passed on: `known` is what that server remembers
    of the second bucket, `there` what it knows of the connection. If it is the server itself, it knows as much as here.
    """
    one = row(name, **changes)
    given, out = one["in"], one["out"]
    if out["verdict"] != "pass":
        return one
    is_self = out["next"] == given["self"]
    later = {
        "packet": given["packet"] if is_self else there,
        "steer": promote(given),
        "generationSeen": out["generationSeen"] if is_self else seen,
        "memory": known or dict(NO_MEMORY),
        "self": out["next"],
    }
    kept = {key: value for key, value in given.items() if key != "removed"}
    again = row(name, **(kept | later))
    return one | {"again": {key: again[key] for key in ("in", "out")}}


def _places() -> list[dict]:
    """Where a packet passed on ends, by the second bucket's own move and memory."""
    told = second(C, NOW - 10, D)
    old = memory(NOW - 100, 11, D)
    return [
        passed("the second bucket's owner has the socket", there="local_socket", steer=two(steer(), second())),
        passed("the second bucket's owner does not know it: RST there", steer=two(steer(), second())),
        passed("the second bucket moved: chained to its owner before", steer=two(steer(), told)),
        passed("the second bucket moved long ago, held", steer=two(steer(), second(C, NOW - 5000, D))),
        passed("the second bucket moved from its owner itself", steer=two(steer(), second(C, NOW - 10, C))),
        passed("the second bucket moved from nowhere", steer=two(steer(), second(C, NOW - 10, None))),
        passed("the second bucket's owner remembers an earlier move", known=old, steer=two(steer(), told)),
        passed("the second bucket's owner remembers a move that ended", known=old, steer=two(steer(), second())),
        passed("the second bucket by a late mux: a move is remembered", known=old, steer=two(steer(10), second())),
        passed("a late mux, and no move is remembered: stale there", steer=two(steer(11), second())),
        passed("a late mux, and its second owner is as late", seen=11, steer=two(steer(11), second())),
        passed("the second bucket's owner is IPv6", steer=two(steer(), second("2001:db8::23"))),
        passed("the second bucket has no number", steer=two(steer(), second(C, NOW - 10, D, NO_BUCKET))),
        passed("by id, with a second bucket", steer=two(by_id(), second())),
    ]


def _in_place() -> list[dict]:
    """The second bucket's owner is the server itself."""
    told = second(B, NOW - 10, D)
    moved = memory(NOW - 10, 12, A)
    known = memory(NOW - 10, 12, D)
    return [
        passed("ourselves: nobody knows it", steer=two(steer(), second(B))),
        passed("ourselves: the second bucket moved here", steer=two(steer(), told)),
        passed("ourselves: and it is remembered", known=known, steer=two(steer(), told)),
        passed("ourselves: by a late mux, of a move that is remembered", known=known, steer=two(steer(11), second(B))),
        passed("ourselves: by a late mux, stale", steer=two(steer(11), second(B))),
        passed("ourselves: all hops of the first bucket used", known=known, steer=two(steer(12, 3), told)),
        passed(
            "ourselves: what is remembered of the first bucket does not count",
            memory=moved,
            steer=two(steer(12, 3), told),
        ),
        passed("ourselves: the second bucket has no number", steer=two(steer(), second(B, NOW - 10, D, NO_BUCKET))),
        passed(
            "ourselves by IPv6",
            self="2001:db8::22",
            steer=two(steer(), second("2001:db8::22", NOW - 10, "2001:db8::24")),
        ),
    ]


def _refused() -> list[dict]:
    """SYNs that the first bucket's owner would rather not take."""
    told = second(C, NOW - 10, D)
    moved, over = memory(NOW - 10, 12, A), memory(NOW - 300, 11, A)

    def refused(name: str, there: str = "syn", **changes) -> dict:
        return passed(f"refused: {name}", packet="refused", there=there, **changes)

    return [
        refused("the second bucket's owner takes it", steer=two(steer(), second())),
        refused("the second bucket's owner takes it, however busy", there="refused", steer=two(steer(), second())),
        refused("the second bucket moved: taken there all the same", steer=two(steer(), told)),
        refused("the first bucket moved: learned, and passed on", steer=two(steer(13, 0, NOW - 1, A), second())),
        refused("a move of the first bucket is remembered", steer=two(steer(12, 1), second()), memory=moved),
        refused("what is remembered of the first bucket ends", steer=two(steer(), second()), memory=over),
        refused("by a late mux: passed on as late, and taken", steer=two(steer(11), second())),
        refused("by a mux that another server knows to be late", steer=two(late(steer(12, 1)), second())),
        refused("by a mux that another server knows to be late, alone", steer=late(steer(12, 1))),
        refused("both buckets are one: taken", steer=steer()),
        refused("ourselves: taken", steer=two(steer(), second(B))),
        refused("ourselves: taken, though the second bucket moved", steer=two(steer(), second(B, NOW - 10, D))),
        refused("ourselves: taken, by a late mux", steer=two(steer(11), second(B))),
        refused("no owner of the second bucket, ::: taken", steer=two(steer(), second(None))),
        refused("no owner of the second bucket, 0.0.0.0: taken", steer=two(steer(), second("0.0.0.0"))),
        refused("chaining off: taken", chaining=False, steer=two(steer(), second())),
        refused("not trusted", trusted=False, steer=two(steer(), second())),
    ]


def _late() -> list[dict]:
    """A server on the way has seen a higher generation; the next one need not have."""
    told = second(C, NOW - 10, D)
    known, over = memory(NOW - 10, 12, D), memory(NOW - 300, 11, D)
    return [
        passed("late: passed on as late, stale there", seen=11, steer=two(late(steer(11, 1)), second())),
        passed("late: the server learns it here, stale there", seen=0, steer=two(steer(11), second())),
        passed("late: passed on, and the socket is there", there="local_socket", steer=two(late(steer()), second())),
        passed("late: chained on by the second bucket", seen=11, steer=two(steer(11), told)),
        passed("late: ends no memory of the second bucket", seen=11, known=over, steer=two(steer(11), second())),
        passed("late: ourselves, stale", steer=two(late(steer()), second(B))),
        passed("late: ourselves, chained on as late", known=known, steer=two(late(steer()), second(B))),
        passed("late: ourselves, and it ends no memory", known=over, steer=two(late(steer()), second(B))),
        passed("late: chaining off", chaining=False, steer=two(late(steer()), second())),
        passed("late: no owner of the second bucket", steer=two(late(steer()), second(None))),
        passed("late: chained by the first bucket", steer=two(late(steer(12, 0, NOW - 10, A)), second())),
    ]


def _removed() -> list[dict]:
    """The first bucket's owner before is dead, and a notice has named it."""
    dead = {"removed": 12, "memory": memory(NOW - 10, 11, A)}
    return [
        passed("removed: passed on, not chained", there="local_socket", steer=two(steer(12, 1), second()), **dead),
        passed("removed: by a late mux, passed on as late", steer=two(steer(10), second()), **dead),
        passed("removed: ourselves", steer=two(steer(12, 1), second(B, NOW - 10, D)), **dead),
    ]


def _first() -> list[dict]:
    """The first bucket goes before the second."""
    moved = memory(NOW - 10, 12, A)
    return [
        passed("the first bucket moved: chained, not passed on", steer=two(steer(12, 0, NOW - 10, A), second())),
        passed("the first bucket's last owner passes it on", steer=two(steer(12, 1), second())),
        passed("a move of the first bucket is remembered: chained", steer=two(steer(12, 1), second()), memory=moved),
        passed("three hops by the first bucket, then by the second", steer=two(steer(12, 3), second()), memory=moved),
        passed(
            "the first bucket's move is learned, of the second nothing",
            steer=two(steer(13, 3, NOW - 1, A), second(C, NOW - 1, D)),
        ),
        passed("a newer generation is learned", steer=two(steer(13), second())),
        passed(
            "what is remembered of the first bucket ends", memory=memory(NOW - 300, 11, A), steer=two(steer(), second())
        ),
        passed("chaining off: nothing is passed on", chaining=False, steer=two(steer(), second())),
        passed("chaining off: a late mux's is dropped", chaining=False, steer=two(steer(11), second())),
        passed("no owner of the second bucket, ::", steer=two(steer(), second(None))),
        passed("no owner of the second bucket, 0.0.0.0", steer=two(steer(), second("0.0.0.0"))),
        passed("no owner of the second bucket, by a late mux", steer=two(steer(11), second(None))),
        passed("not trusted", trusted=False, steer=two(steer(), second())),
    ]


def passed_rows() -> list[dict]:
    rows = _places() + _in_place() + _first() + _refused() + _late() + _removed()
    generations = {"an older": 11, "the same": 12}
    moves = {"no move": (None, None), "a move just now": (NOW - 1, A)}
    owners = {
        "another server": second(),
        "a moved bucket's": second(C, NOW - 2, D),
        "ourselves": second(B),
        "none": second(None),
    }
    for packet, generation, move, hops, owner in product(PACKETS, generations, moves, (0, 3), owners):
        rows.append(
            passed(
                f"{packet} by {generation} generation, {move} of the first bucket, {hops} hops, second owner: {owner}",
                there="syn" if packet == "refused" else "unknown",
                packet=packet,
                steer=two(steer(generations[generation], hops, *moves[move]), owners[owner]),
            )
        )
    return rows


def drawn_second(draw, addresses: list, times: list[int]) -> dict:
    since = draw.choice([None, *times])
    previous = None if since is None else draw.choice(addresses)
    return second(draw.choice(addresses), since, previous, draw.choice([BUCKET, BUCKET, NO_BUCKET]))
