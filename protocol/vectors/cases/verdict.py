# SPDX-License-Identifier: Apache-2.0
"""verdict.json: named cases, and the product of everything that the verdict looks at."""

from itertools import product

from oracle.verdict import NO_MEMORY, decide

NOW = 1_700_000_000
WINDOW = 240
A, B, C, D = "10.1.0.21", "10.1.0.22", "10.1.0.23", "10.1.0.24"
PACKETS = ("syn", "cookie_ack", "local_socket", "unknown", "no_reset", "refused")
STEER_ERRORS = (
    "truncated",
    "gue_version",
    "gue_control",
    "gue_flags",
    "inner_protocol",
    "length",
    "version_unknown",
    "previous6_alone",
    "second6_alone",
    "moved2_alone",
    "previous2_6_alone",
    "generation_zero",
)


def steer(generation: int = 12, hops: int = 0, since: int | None = None, previous: str | None = None) -> dict:
    return {"generation": generation, "hops": hops, "since": since, "previous": previous}


def late(header: dict) -> dict:
    """The header as a server sends it on that has seen a higher generation."""
    return header | {"late": True}


def by_id(*steer_arguments) -> dict:
    """The header of a packet whose port named its backend."""
    return steer(*steer_arguments) | {"bucket": None}


def memory(since: int, generation: int, previous: str) -> dict:
    return {"since": since, "generation": generation, "previous": previous}


def row(name: str, **changes) -> dict:
    given = {
        "packet": "unknown",
        "trusted": True,
        "chaining": True,
        "malformed": None,
        "steer": steer(),
        "generationSeen": 12,
        "memory": dict(NO_MEMORY),
        "now": NOW,
        "window": WINDOW,
        "self": B,
    } | changes
    return {"name": name, "in": given, "out": decide(given)}


class Server:
    """A server of a story: it keeps between packets what the verdict told it to keep."""

    def __init__(self, address: str):
        self.address, self.seen, self.memory = address, 0, dict(NO_MEMORY)

    def receive(self, name: str, packet: str, header: dict, now: int = NOW) -> dict:
        given = {"self": self.address, "generationSeen": self.seen, "memory": self.memory, "now": now}
        result = row(name, packet=packet, steer=header, **given)
        self.seen, self.memory = result["out"]["generationSeen"], result["out"]["memory"]
        return result


def travel(name: str, servers: dict[str, Server], first: str, header: dict, sockets: tuple = (), now: int = NOW):
    """One packet from server to server until it is not chained any more: a row for each server."""
    rows, at = [], first
    while True:
        packet = "local_socket" if at in sockets else "unknown"
        rows.append(servers[at].receive(f"{name}, at server {len(rows) + 1} of its way", packet, header, now))
        if rows[-1]["out"]["verdict"] != "chain":
            return rows
        at = rows[-1]["out"]["next"]
        header = steer(header["generation"], header["hops"] + 1) | ({"late": True} if rows[-1]["out"]["late"] else {})


def fleet() -> dict[str, Server]:
    return {address: Server(address) for address in (A, B, C, D)}


def stories() -> list[dict]:
    rows = travel("moved once: the owner before has the socket", fleet(), B, steer(12, 0, NOW - 10, A), (A,))

    servers = fleet()
    rows.append(
        servers[B].receive(
            "moved twice inside the window: the second owner learns of the first move", "syn", steer(12, 0, NOW - 20, A)
        )
    )
    rows += travel(
        "moved twice inside the window: over both owners to the first", servers, C, steer(13, 0, NOW - 10, B), (A,)
    )

    servers = fleet()
    rows.append(servers[B].receive("A to B to A: B learns that A was before it", "syn", steer(12, 0, NOW - 20, A)))
    rows += travel("A to B to A: no loop, socket at B", servers, A, steer(13, 0, NOW - 10, B), (B,))
    rows += travel("A to B to A, socket nowhere: no loop, the hop limit ends it", servers, A, steer(13, 0, NOW - 10, B))

    servers = fleet()
    for at, (owner, before) in enumerate([(B, A), (C, B), (D, C)]):
        rows.append(
            servers[owner].receive(
                f"moved three times: move {at + 1} is learned", "syn", steer(12 + at, 0, NOW - 30 + 10 * at, before)
            )
        )
    rows += travel("moved three times: three chains reach the first owner", servers, D, steer(14, 0, NOW - 10, C), (A,))

    servers = fleet()
    rows.append(servers[B].receive("two muxes that disagree: the newer one teaches", "syn", steer(13, 0, NOW - 1, A)))
    rows.append(servers[B].receive("two muxes that disagree: the older one's SYN is served", "syn", steer(12)))
    rows.append(
        servers[B].receive(
            "two muxes that disagree: the older one's packet is chained while the window is open", "unknown", steer(12)
        )
    )
    rows.append(
        servers[B].receive(
            "two muxes that disagree: the older one's packet is stale once the window is closed",
            "unknown",
            steer(12),
            NOW + WINDOW,
        )
    )
    rows.append(
        servers[B].receive(
            "two muxes that disagree: the same connection lives where its socket is",
            "local_socket",
            steer(12),
            NOW + WINDOW,
        )
    )

    servers = fleet()
    rows.append(servers[C].receive("two moves in one second: the first is learned", "syn", steer(12, 0, NOW, A)))
    rows.append(
        servers[C].receive(
            "two moves in one second: the second, of a later generation, is learned too",
            "unknown",
            steer(13, 0, NOW, B),
        )
    )
    rows.append(
        servers[C].receive("two moves in one second: the first does not come back", "unknown", steer(12, 0, NOW, A))
    )
    return rows


def window_rows() -> list[dict]:
    rows = []
    for age in (0, 1, 239, 240, 241, 100_000):
        header = steer(since=NOW - age, previous=A)
        rows.append(row(f"a packet tells of a move {age} s ago, window 240 s", steer=header))
        remembered = memory(NOW - age, 12, A)
        rows.append(row(f"a move {age} s ago is remembered, window 240 s", steer=steer(12, 1), memory=remembered))
    for window in (0, 1, 0xFFFFFFFF):
        remembered = memory(NOW - 1, 12, A)
        rows.append(row(f"a move 1 s ago, window {window} s", window=window, steer=steer(12, 1), memory=remembered))
    for late in (0, 1):
        rows.append(
            row(
                f"the sum of since and window is beyond 32 bits, {late} s after the move",
                now=0xFFFFFFFE + late,
                steer=steer(12, 1),
                memory=memory(0xFFFFFFFE, 12, A),
            )
        )
    for packet in ("syn", "local_socket"):
        rows.append(
            row(
                f"a window that ends while a connection lives: {packet}",
                packet=packet,
                memory=memory(NOW - 240, 12, A),
            )
        )
    return rows


def clock_rows() -> list[dict]:
    rows = [
        row(f"a timestamp {ahead} s in the future", steer=steer(since=NOW + ahead, previous=A))
        for ahead in (1, 3, 5, 6, 60, 1_000_000)
    ]
    rows += [
        row(
            "clocks 3 s apart: ours is late, and the move is learned by a SYN",
            packet="syn",
            steer=steer(since=NOW + 3, previous=A),
        ),
        row(
            "clocks 3 s apart: ours is early, and the window is the mux's",
            steer=steer(since=NOW - 237 - 3, previous=A),
        ),
        row(
            "a move too far ahead displaces the one remembered, as one of now",
            steer=steer(13, 0, NOW + 6, C),
            memory=memory(NOW - 5, 12, A),
        ),
        row(
            "a move too far ahead, again in the same second, is no news",
            steer=steer(12, 0, NOW + 60, A),
            memory=memory(NOW, 12, A),
        ),
        row("at second 0 a move 5 s ahead is remembered as such", now=0, steer=steer(since=5, previous=A)),
        row("at second 0 a move 6 s ahead is remembered as one of now", now=0, steer=steer(since=6, previous=A)),
    ]
    return rows


def learning_rows() -> list[dict]:
    known = memory(NOW - 50, 12, A)
    return [
        row("a later move displaces the one remembered", steer=steer(13, 0, NOW - 10, C), memory=known),
        row("an earlier move does not", steer=steer(13, 0, NOW - 60, C), memory=known),
        row("the same move again is no news", steer=steer(12, 0, NOW - 50, A), memory=known),
        row("the same move in a later generation is no news", steer=steer(13, 0, NOW - 50, A), memory=known),
        row(
            "the same second, same generation, another owner: the first stays",
            steer=steer(12, 0, NOW - 50, C),
            memory=known,
        ),
        row(
            "the same second, earlier generation, another owner: the later stays",
            steer=steer(11, 0, NOW - 50, C),
            memory=known,
        ),
        row("the same second, later generation, another owner: learned", steer=steer(13, 0, NOW - 50, C), memory=known),
        row(
            "a later move in a lower generation is learned: time decides", steer=steer(11, 0, NOW - 10, C), memory=known
        ),
        row("ourselves as previous is not learned", steer=steer(13, 0, NOW - 10, B)),
        row(
            "ourselves as previous does not displace what is remembered", steer=steer(13, 0, NOW - 10, B), memory=known
        ),
        row("previous none is not learned", steer=steer(13, 0, NOW - 10, None)),
        row("previous 0.0.0.0 is not learned", steer=steer(13, 0, NOW - 10, "0.0.0.0")),
        row(
            "a server restarted with a previous of the past: it learns anew and chains",
            generationSeen=0,
            steer=steer(12, 0, NOW - 100, A),
        ),
        row(
            "a server restarted with a previous of the past, beyond its window: obeyed, as the mux's is longer",
            generationSeen=0,
            steer=steer(12, 0, NOW - 1000, A),
        ),
        row("an IPv6 owner before", steer=steer(12, 0, NOW - 10, "2001:db8::21")),
        row(
            "we are IPv6 and the owner before is ourselves",
            steer=steer(12, 0, NOW - 10, "2001:db8::22"),
            self="2001:db8::22",
        ),
        row(
            "addresses that differ in the last byte alone",
            steer=steer(12, 0, NOW - 10, "2001:db8::23"),
            self="2001:db8::22",
        ),
        row("a SYN teaches the move and is served", packet="syn", steer=steer(13, 0, NOW - 10, A)),
        row("a packet of a local socket teaches the move", packet="local_socket", steer=steer(13, 0, NOW - 10, A)),
    ]


def differing_rows() -> list[dict]:
    """The packet and memory say different things of the bucket's move."""
    known = memory(NOW - 50, 12, A)
    return [
        row("the packet's move is earlier than the one remembered", steer=steer(11, 0, NOW - 60, C), memory=known),
        row(
            "the packet's move is earlier than the one remembered, whose window is over",
            steer=steer(11, 0, NOW - 300, C),
            memory=memory(NOW - 240, 12, A),
        ),
        row(
            "the packet's move is the one remembered, and our window is over: the mux's counts",
            steer=steer(12, 0, NOW - 240, A),
            memory=memory(NOW - 240, 12, A),
        ),
        row(
            "the packet's move is of the future and the one remembered was until now",
            steer=steer(12, 0, NOW + 60, C),
            memory=memory(NOW, 12, A),
        ),
        row("a mux that has applied what is remembered and tells of no move: no owner before", memory=known),
        row("a mux that has applied more and tells of no move: the same", steer=steer(13), memory=known),
        row("a mux that is behind tells of no move: memory counts", steer=steer(11), memory=known),
        row("another server chains: memory counts", steer=steer(12, 1), memory=known),
        row("another server chains, in a later generation: memory counts", steer=steer(13, 1), memory=known),
        row("a move from ourselves: memory counts", steer=steer(13, 0, NOW - 1, B), memory=known),
        row("a move from ourselves: nothing is remembered", steer=steer(13, 0, NOW - 1, B)),
        row("a move from nowhere: memory counts", steer=steer(13, 0, NOW - 1, None), memory=known),
        row(
            "a move from ourselves, and memory's window is over",
            steer=steer(13, 0, NOW - 1, B),
            memory=memory(NOW - 240, 12, A),
        ),
    ]


def hold_rows() -> list[dict]:
    """A mux holds a bucket: it tells of the move although the window is over."""
    over = memory(NOW - 1000, 11, A)
    rows = []
    for packet in ("unknown", "no_reset", "local_socket", "syn"):
        rows += [
            row(f"held: a move told beyond the window, {packet}", packet=packet, steer=steer(12, 0, NOW - 1000, A)),
            row(
                f"held: another server chains beyond the window, {packet}",
                packet=packet,
                steer=steer(12, 1),
                memory=over,
            ),
            row(f"held: a late mux's packet is chained here, {packet}", packet=packet, steer=steer(11, 1), memory=over),
            row(f"held: a mux ended the move, {packet}", packet=packet, memory=over),
            row(f"held: the bucket is back, {packet}", packet=packet, steer=steer(12, 0, NOW, B), memory=over),
        ]
    for age in (239, 240):
        header = steer(12, 0, NOW - age, A)
        rows.append(row(f"held: a datagram of a move told {age} s after it", packet="no_reset", steer=header))
    for hops in (2, 3):
        rows.append(row(f"held: {hops} hops before this server", steer=steer(12, hops), memory=over))
    servers = fleet()
    rows += [
        servers[B].receive("held: the middle owner learns of the first move", "syn", steer(12, 0, NOW - 5000, A)),
        servers[C].receive("held: the last owner learns of the second move", "syn", steer(13, 0, NOW - 3000, B)),
    ]
    rows += travel("held: over both owners to the first", servers, C, steer(13, 0, NOW - 3000, B), (A,))
    return rows


def generation_rows() -> list[dict]:
    return [
        row("a connection unknown everywhere gets its RST from the stack"),
        row("the first packet of a service is never stale", generationSeen=0, steer=steer(1)),
        row("a stale generation is dropped, not reset", steer=steer(11)),
        row("a stale SYN is served", packet="syn", steer=steer(11)),
        row("a stale generation: the connection lives on where its socket is", packet="local_socket", steer=steer(11)),
        row("a stale cookie ACK is served", packet="cookie_ack", steer=steer(11)),
        row("a stale packet of a bucket that moved is chained", steer=steer(11), memory=memory(NOW - 10, 12, A)),
        row("a stale packet with all hops used is dropped", steer=steer(11, 3), memory=memory(NOW - 10, 12, A)),
        row("generation 4294967295 is the highest", generationSeen=0xFFFFFFFE, steer=steer(0xFFFFFFFF)),
        row("generations do not wrap: 1 is stale behind the highest", generationSeen=0xFFFFFFFF, steer=steer(1)),
        row("a move in the last second of 32 bits is one of now", packet="syn", steer=steer(12, 0, 0xFFFFFFFF, A)),
    ]


def late_rows() -> list[dict]:
    """Another server knows that the mux is late; this one need not."""
    known, over = memory(NOW - 10, 12, A), memory(NOW - 1000, 11, A)
    rows = [row(f"late: {packet}, nothing remembered", packet=packet, steer=late(steer())) for packet in PACKETS]
    rows += [
        row("late: unknown by an older generation", steer=late(steer(11, 1))),
        row("late: unknown by a newer generation, which is learned", steer=late(steer(13, 1))),
        row("late: the first packet of a service", generationSeen=0, steer=late(steer(1, 1))),
        row("late: a move is remembered, chained and still late", steer=late(steer(12, 1)), memory=known),
        row("late: a move is told, chained and still late", steer=late(steer(12, 0, NOW - 10, A))),
        row("late: a datagram is chained and still late", packet="no_reset", steer=late(steer(12, 1)), memory=known),
        row("late: all hops used", steer=late(steer(12, 3)), memory=known),
        row("late: a held bucket's move, chained", steer=late(steer(12, 1)), memory=over),
        row("late: a mux that is late ends no memory", steer=late(steer()), memory=over),
        row("late: chaining off", chaining=False, steer=late(steer(12, 1)), memory=known),
        row("late: by id, unknown", steer=late(by_id())),
        row("late: by id, QUIC", packet="no_reset", steer=late(by_id())),
        row("late: untrusted", trusted=False, steer=late(steer())),
        row("chained by one that knows no higher generation: not late", steer=steer(12, 0, NOW - 10, A)),
        row("chained by one that knows a higher generation: late", steer=steer(11), memory=known),
    ]
    servers = fleet()
    rows += [
        servers[B].receive("late: the middle owner learns of the first move", "syn", steer(12, 0, NOW - 50, A)),
        servers[B].receive("late: and of a later generation", "syn", steer(14)),
    ]
    rows += travel("late: said by the middle owner, dropped by the last one", servers, B, steer(12, 1))
    return rows


def removed_rows() -> list[dict]:
    """A remembered owner is dead, and a notice has named it: `removed` is the generation that removed it."""
    before, at, after = (memory(NOW - 10, generation, A) for generation in (11, 12, 13))
    over = memory(NOW - 1000, 11, A)
    rows = [
        row(
            f"removed: {packet}, sent on, remembered from {when}", packet=packet, removed=12, generationSeen=13, **given
        )
        for packet in PACKETS
        for when, given in (
            ("a generation before", {"steer": steer(13, 1), "memory": before}),
            ("the one that removed it", {"steer": steer(13, 1), "memory": at}),
            ("a later one", {"steer": steer(13, 1), "memory": after}),
        )
    ]
    rows += [
        row("removed: a late mux's packet is stale", removed=12, steer=steer(10), memory=before),
        row("removed: the window is over and the bucket held", removed=12, steer=steer(12, 1), memory=over),
        row(
            "removed: an earlier move is told",
            removed=12,
            steer=steer(12, 0, NOW - 50, C),
            memory=before,
        ),
        row("removed: a later move is told", removed=12, steer=steer(12, 0, NOW - 5, C), memory=before),
        row("removed: a late mux names it again", removed=12, steer=steer(11, 0, NOW - 10, A), memory=before),
        row("removed: it came back, and the bucket moved from it", removed=11, steer=steer(12, 1), memory=at),
    ]
    return rows


def trust_rows() -> list[dict]:
    moved = steer(99, 0, NOW - 10, A)
    rows = [
        row(
            f"a sender that is no mux or peer, or a wrong tag: {packet}, and nothing is learned",
            packet=packet,
            trusted=False,
            steer=moved,
        )
        for packet in PACKETS
    ]
    rows.append(
        row(
            "a sender that is no mux or peer, and malformed: it is untrusted",
            trusted=False,
            malformed="truncated",
            steer=None,
        )
    )
    rows += [row(f"malformed: {error}", malformed=error, steer=None) for error in STEER_ERRORS]
    rows.append(
        row("malformed, though the host knows the socket", packet="local_socket", malformed="length", steer=None)
    )
    return rows


def chaining_rows() -> list[dict]:
    rows = [
        row(
            f"chaining off: {packet} of a bucket that moved",
            packet=packet,
            chaining=False,
            steer=steer(12, 0, NOW - 10, A),
        )
        for packet in PACKETS
    ]
    rows.append(
        row(
            "chaining off: a stale packet of a bucket that moved is dropped",
            chaining=False,
            steer=steer(11),
            memory=memory(NOW - 10, 12, A),
        )
    )
    rows += [
        row(f"{hops} hops used, bucket moved", steer=steer(11, hops), memory=memory(NOW - 10, 11, A))
        for hops in (1, 2, 3, 4, 15)
    ]
    return rows


def packet_rows() -> list[dict]:
    """What the kinds of packets come to; the runners with real sockets tell which kind a packet is."""
    moved = memory(NOW - 10, 12, A)
    cases = [
        ("SYN flood with SYN cookies: a SYN in an open window opens a connection here", "syn"),
        ("SYN flood with SYN cookies: the ACK of our cookie completes it here", "cookie_ack"),
        ("SYN flood with SYN cookies: the ACK of another server's cookie goes to that server", "unknown"),
        ("UDP to a socket connected to this very client stays", "local_socket"),
        ("UDP to an unconnected socket goes to the owner before", "no_reset"),
        ("an ICMP error that quotes a connection of this host stays", "local_socket"),
        ("an ICMP error that quotes a connection of another host follows it", "unknown"),
        ("a first fragment of a connection of this host stays", "local_socket"),
        ("a later fragment in an open window goes to the owner before", "no_reset"),
    ]
    told = steer(12, 0, NOW - 10, A)
    rows = [row(name, packet=packet, steer=told, memory=moved) for name, packet in cases]
    for what in ("UDP to an unconnected socket", "a later fragment"):
        rows.append(row(f"{what}, of a bucket that has not moved, is delivered", packet="no_reset"))
        rows.append(row(f"{what}, by a late mux, is delivered", packet="no_reset", steer=steer(11)))
    rows.append(row("QUIC by its server's id, by a late mux, is delivered", packet="no_reset", steer=by_id(11)))
    return rows


def by_id_rows() -> list[dict]:
    """Packets without a bucket: delivered, or stale, regardless of what is remembered or carried for a bucket."""
    rows = [row(f"by id: {packet}", packet=packet, steer=by_id()) for packet in PACKETS]
    rows += [
        row(f"by id: {packet}, and a move that it tells is not learned", packet=packet, steer=by_id(13, 0, NOW - 1, A))
        for packet in PACKETS
    ]
    rows += [
        row("by id: an open window chains nothing", steer=by_id(12), memory=memory(NOW - 10, 12, A)),
        row(
            "by id: a later move does not displace one", steer=by_id(13, 0, NOW - 1, C), memory=memory(NOW - 10, 12, A)
        ),
        row("by id: a newer generation is learned", steer=by_id(13)),
        row("by id: an unknown connection by an older generation is stale", steer=by_id(11)),
        row("by id: a SYN by an older generation is served", packet="syn", steer=by_id(11)),
        row("by id: chaining off changes nothing", chaining=False, steer=by_id(12), memory=memory(NOW - 10, 12, A)),
        row("by id: untrusted", trusted=False, steer=by_id(12)),
    ]
    return rows


def product_rows() -> list[dict]:
    """Everything with everything: packet, generation, move told, move remembered, hops; chaining off for unknown."""
    generations = {"an older": 11, "the same": 12, "a newer": 13}
    told = {
        "no move": (None, None),
        "a move just now": (NOW - 1, C),
        "an old move": (NOW - 500, C),
        "a move of the future": (NOW + 6, C),
        "our own move": (NOW - 1, B),
    }
    remembered = {
        "nothing": NO_MEMORY,
        "an open window": memory(NOW - 100, 11, A),
        "a closed window": memory(NOW - 300, 11, A),
    }
    rows = []
    for packet, generation, move, known, hops, chaining in product(
        PACKETS, generations, told, remembered, (0, 1, 3), (True, False)
    ):
        is_known = packet not in ("unknown", "no_reset")
        if (not chaining and (is_known or hops)) or (is_known and hops == 1):
            continue
        name = f"{packet} by {generation} generation with {move}, {known} remembered, {hops} hops"
        rows.append(
            row(
                name if chaining else name + ", chaining off",
                packet=packet,
                chaining=chaining,
                steer=steer(generations[generation], hops, *told[move]),
                memory=remembered[known],
            )
        )
    return rows


def verdict_vectors() -> dict:
    parts = (
        stories,
        window_rows,
        hold_rows,
        clock_rows,
        learning_rows,
        differing_rows,
        generation_rows,
        late_rows,
        removed_rows,
        trust_rows,
        chaining_rows,
        packet_rows,
        by_id_rows,
        product_rows,
    )
    rows = [one for part in parts for one in part()]
    names = [one["name"] for one in rows]
    assert len(set(names)) == len(names), "a name is used twice"
    return {"rows": rows}
