# SPDX-License-Identifier: Apache-2.0
"""Rows of lists of candidates, in any of the formats: `of` is the oracle's module, and `one` the least header."""

import random
from itertools import product
from types import ModuleType

from oracle import RefusedError
from oracle.list import MAX

from .inner import TCP_ACK, inner_packets, ipv4
from .rows import changed, refusal

KEY = bytes(range(0x30, 0x40))
NO_TAG = bytes(8).hex()
SERVERS = [f"10.1.0.{21 + n}" for n in range(MAX + 1)]
SERVERS6 = [f"2001:db8::{21 + n}" for n in range(MAX + 1)]
PLAIN = {
    "innerProtocol": 4,
    "order": SERVERS[:1],
    "at": 0,
    "late": False,
    "service": 1,
    "generation": 12,
    "tag": None,
    "key": False,
}


class Lists:
    """orders: lists of the most servers, by what they are of; places: which of so many have the packet."""

    def __init__(self, of: ModuleType, orders: dict[str, list[str]], places):
        self.of, self.orders, self.places = of, orders, places
        self.servers = next(iter(orders.values()))
        self.one = PLAIN | {"order": self.servers[:1]}

    def valid(self, name: str, data: bytes, receiver: str) -> dict:
        fields = {key: value for key, value in self.of.read(data, receiver).items() if key != "order"}
        return {"name": name, "bytes": data.hex(), "receiver": receiver, "fields": fields}

    def written(self, name: str, inner: bytes = b"", **header: object) -> dict:
        header = self.one | header
        return self.valid(name, self.of.write(header) + inner, header["order"][header["at"]])

    def valid_rows(self) -> list[dict]:
        rows = []
        tags = (None, "0123456789abcdef")
        for (family, order), count, own_tag in product(self.orders.items(), range(MAX + 1), tags):
            for at in self.places(count):
                name = f"{count} candidates of {family}, {count - at} left, {'a tag' if own_tag else 'no tag'}"
                rows.append(self.written(name, order=order[: count + 1], at=at, tag=own_tag, late=at > 0))
        return [
            *rows,
            self.written("the second key", tag=NO_TAG, key=True),
            self.written("numbers at their least", service=0, generation=1),
            self.written("numbers at their greatest", order=self.servers[:3], service=65535, generation=0xFFFFFFFF),
            self.written("an inner IPv6 packet", innerProtocol=41),
            self.written("the inner packet behind it", ipv4(6, TCP_ACK)),
        ]

    def malformed(self, name: str, data: bytes, receiver: str | None = None) -> dict:
        receiver = receiver or self.servers[0]
        error = refusal(self.of.read, data, receiver)
        return {"name": name, "bytes": data.hex(), "receiver": receiver, "error": error}

    def forwarded(self, name: str, data: bytes, receiver: str, steps: int, late: bool) -> dict:
        before = self.of.read(data, receiver)["left"]
        after, following = self.of.forward(data, receiver, steps, late)
        one = {"name": name, "before": data.hex(), "receiver": receiver, "left": before - steps, "late": late}
        return one | {"after": after.hex(), "next": following, "result": self.of.check(KEY, after, following)}

    def forwarded_rows(self) -> list[dict]:
        """Every place of lists of every length, to the next candidate and beyond it. The tag is right at each."""
        rows = []
        for (family, order), count in product(self.orders.items(), range(1, MAX + 1)):
            data = self.tagged(self.one | {"order": order[: count + 1]}, ipv4(6, TCP_ACK))
            for at in range(count):
                here = self.of.forward(data, order[0], at, False)[0] if at else data
                for steps in range(1, count - at + 1):
                    name = f"{count} candidates of {family}, from place {at} to {at + steps}"
                    rows.append(self.forwarded(name, here, order[at], steps, (at + steps) % 2 == 0))
        three = self.one | {"order": self.servers[:3]}
        late = self.of.write(three | {"late": True})
        rows.append(self.forwarded("LATE stays", late, self.servers[0], 1, False))
        rows.append(self.forwarded("without a tag", self.of.write(three), self.servers[0], 2, True))
        return rows

    def row(self, name: str, data: bytes, receiver: str) -> dict:
        one = {"name": name, "bytes": data.hex(), "receiver": receiver, "result": self.of.check(KEY, data, receiver)}
        message, tag = self.of.message(data, receiver), self.of.tag(KEY, data, receiver)
        return one | {"message": message.hex(), "tag": tag.hex()}

    def tagged(self, header: dict, inner: bytes) -> bytes:
        return self.of.put(KEY, self.of.write(header | {"tag": NO_TAG}) + inner, header["order"][header["at"]])

    def tag_rows(self, counts: tuple[int, ...], fields: dict[str, int]) -> tuple[list[dict], bytes]:
        """fields: where a bit is turned in the last packet, which is returned, too; its second server has it."""
        rows = []
        for (what, protocol, inner), (family, order), count in product(inner_packets(), self.orders.items(), counts):
            header = self.one | {"innerProtocol": protocol, "order": order[: count + 1]}
            rows.append(self.row(f"{what}; {count} candidates of {family}", self.tagged(header, inner), order[0]))
        good = self.tagged(self.one | {"order": self.servers[:4], "at": 1}, ipv4(6, TCP_ACK))
        for name, at in fields.items():
            rows.append(self.row(f"wrong: {name} was changed", changed(good, {at: good[at] ^ 1}), self.servers[1]))
        return rows, good

    def untagged_rows(self) -> list[dict]:
        header, tcp = self.one | {"order": self.servers[:4], "at": 1}, ipv4(6, TCP_ACK)
        zero = self.of.write(header | {"tag": NO_TAG}) + tcp
        return [
            self.row("wrong: a tag of all zero", zero, self.servers[1]),
            self.row("missing: no tag", self.of.write(header) + tcp, self.servers[1]),
        ]

    def drawn(self, draw: random.Random, trust: float, spoil) -> dict:
        """Right packets, and what spoil() makes of them; the oracle tells which of these are still right."""
        files: dict = {"key": KEY.hex(), "valid": [], "malformed": [], "forwarded": [], "tags": []}
        for number in range(900):
            _, protocol, inner = draw.choice(inner_packets())
            order = draw.sample(draw.choice(list(self.orders.values())), draw.randrange(1, MAX + 2))
            header = PLAIN | {"innerProtocol": protocol, "order": order, "at": draw.randrange(len(order))}
            header |= {"service": draw.randrange(1 << 16), "generation": draw.randrange(1, 1 << 32)}
            header |= {"late": draw.random() < 0.3, "key": draw.random() < 0.3}
            data = self.tagged(header, inner) if draw.random() < 0.7 else self.of.write(header) + inner
            receiver = order[header["at"]] if draw.random() < trust else draw.choice(SERVERS6 + self.servers)
            name, text = f"random packet {number}", spoil(draw, data, len(order))
            try:
                fields = self.of.read(text, receiver)
            except RefusedError:
                files["malformed"].append(self.malformed(name, text, receiver))
                continue
            if not self.of.is_as_written(text):
                continue
            files["valid"].append(self.valid(name, text, receiver))
            if text[fields["headerLength"] :] == inner and fields["innerProtocol"] == protocol:
                files["tags"].append(self.row(name, text, receiver))
                if fields["left"]:
                    steps = draw.randrange(1, fields["left"] + 1)
                    files["forwarded"].append(self.forwarded(name, text, receiver, steps, draw.random() < 0.5))
        return files
