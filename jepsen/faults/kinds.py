# SPDX-License-Identifier: Apache-2.0
"""Every kind of fault: its arguments, what it does, how it is undone. Undoing a missing fault does nothing."""

import random
from abc import ABC, abstractmethod
from pathlib import Path
from typing import Any, Generic, TypeVar

from jepsen.faults.cluster import Cluster, Node
from lab.deadline import LabError
from lab.router import HASH_POLICY, HASHED_FIELDS

MULTIPATH = Path("/proc/sys/net/ipv4")
WITHOUT_PROTOCOL = HASHED_FIELDS & ~0x04  # ports differ enough
FILLER = "filler-of-a-fault"


def table(fault: str, node: str | None) -> str:
    """The nft table of a fault."""
    return f"fault_{fault}_{node or 'all'}".replace("-", "_")


def number(what: str, text: str, least: float, most: float) -> float:
    try:
        value = float(text)
    except ValueError:
        value = float("nan")
    if not least <= value <= most:
        raise LabError(f"{what} '{text}' is refused; allowed: {least:g}..{most:g}")
    return value


def whole(what: str, text: str, least: int, most: int) -> int:
    value = number(what, text, least, most)
    if value != round(value):
        raise LabError(f"{what} '{text}' is refused; allowed: {least}..{most}, without a fraction")
    return round(value)


At = TypeVar("At")


class Fault(ABC, Generic[At]):
    """`At`: what it is made at, a node or, by None, none in particular."""

    words: tuple[str, ...] = ()  # its arguments after the node

    @abstractmethod
    def check(self, cluster: Cluster, node: At, words: list[str]) -> None:
        """LabError if this node can't have the fault, or not with these arguments; changes nothing."""

    @abstractmethod
    def start(self, cluster: Cluster, node: At, words: list[str]) -> None: ...

    @abstractmethod
    def heal(self, cluster: Cluster, node: At) -> None: ...


class _Cut(Fault[Node]):
    name: str

    def heal(self, cluster: Cluster, node: Node) -> None:
        cluster.uncut(table(self.name, node.name))


class OneWay(_Cut):
    name = "one-way"
    words = ("TO[,TO]",)

    @staticmethod
    def ways(cluster: Cluster, node: Node, words: list[str]) -> list[tuple[str, str]]:
        return [(node.name, cluster.node(name).name) for name in words[0].split(",") if name != node.name]

    def check(self, cluster: Cluster, node: Node, words: list[str]) -> None:
        if not self.ways(cluster, node, words):
            raise LabError(f"one-way '{words[0]}' is refused; allowed: other nodes than {node.name}")
        cluster.check_ways(self.ways(cluster, node, words))

    def start(self, cluster: Cluster, node: Node, words: list[str]) -> None:
        cluster.cut(table(self.name, node.name), self.ways(cluster, node, words))


class FromZooKeeper(_Cut):
    name = "from-zookeeper"

    def check(self, cluster: Cluster, node: Node, words: list[str]) -> None:
        if node.kind not in ("mux", "controller"):
            raise LabError(f"node '{node.name}' is no client of ZooKeeper; allowed: a mux or a controller")

    def start(self, cluster: Cluster, node: Node, words: list[str]) -> None:
        cluster.cut_zookeeper(table(self.name, node.name), node)


class FromRouter(_Cut):
    name = "from-router"

    def check(self, cluster: Cluster, node: Node, words: list[str]) -> None:
        if node.kind in ("router", "client", "runner"):
            raise LabError(f"node '{node.name}' can't be cut from the router; allowed: a mux, a server, a controller")
        cluster.check_ways([(node.name, "router")])

    def start(self, cluster: Cluster, node: Node, words: list[str]) -> None:
        cluster.cut(table(self.name, node.name), [(node.name, "router"), ("router", node.name)])


class Loss(_Cut):
    name = "loss"
    words = ("PERCENT",)

    def check(self, cluster: Cluster, node: Node, words: list[str]) -> None:
        number("percent", words[0], 0.01, 100)
        if node.kind in ("router", "runner"):
            raise LabError(f"node '{node.name}' can't lose packets; allowed: any other than router and runner")

    def start(self, cluster: Cluster, node: Node, words: list[str]) -> None:
        cluster.lose(table(self.name, node.name), node, float(words[0]))


class Slow(Fault[Node]):
    words = ("MILLISECONDS",)

    def check(self, cluster: Cluster, node: Node, words: list[str]) -> None:
        number("milliseconds", words[0], 1, 10_000)
        cluster.check_slow(node)

    def start(self, cluster: Cluster, node: Node, words: list[str]) -> None:
        cluster.slow(node, float(words[0]))

    def heal(self, cluster: Cluster, node: Node) -> None:
        cluster.unslow(node)


class Lie(Fault[Node]):
    """Another agent than the server's reports in its place, and lies (liar.py)."""

    def check(self, cluster: Cluster, node: Node, words: list[str]) -> None:
        if "agent" not in node.programs:
            raise LabError(f"node '{node.name}' has no agent; allowed: a server with one")
        cluster.check_lie(node)

    def start(self, cluster: Cluster, node: Node, words: list[str]) -> None:
        cluster.stop(node, "agent")
        cluster.lie(node)

    def heal(self, cluster: Cluster, node: Node) -> None:
        cluster.unlie(node)


class OfZooKeeper(Fault[Node]):
    def check(self, cluster: Cluster, node: Node, words: list[str]) -> None:
        having = [each.name for each in cluster.of_kind("zookeeper")]
        if node.name not in having:
            raise LabError(f"node '{node.name}' has no ZooKeeper; allowed: {', '.join(having)}")


class Disk(OfZooKeeper):
    """A file fills the disk under ZooKeeper's data; at its next write the server leaves the ensemble."""

    words = ("full",)

    def check(self, cluster: Cluster, node: Node, words: list[str]) -> None:
        super().check(cluster, node, words)
        if words[0] != "full":
            raise LabError(f"disk '{words[0]}' is refused; allowed: full")
        data = cluster.zookeeper_data(node)  # never the machine's own disk
        if "yes" not in cluster.run(node, "sh", "-c", 'mountpoint -q "$1" && echo yes || echo no', "sh", data):
            raise LabError(f"{data} of {node.name} is not a separate disk; allowed: a file system for ZooKeeper")

    def start(self, cluster: Cluster, node: Node, words: list[str]) -> None:
        script = f'dd if=/dev/zero of="$1/{FILLER}" bs=64k 2>&1 | grep -q "No space left"'
        cluster.run(node, "sh", "-c", script, "sh", cluster.zookeeper_data(node))

    def heal(self, cluster: Cluster, node: Node) -> None:
        cluster.run(node, "rm", "-f", f"{cluster.zookeeper_data(node)}/{FILLER}")
        if cluster.zookeeper_mode(node) is None:  # it may keep running without the thread that writes
            cluster.kill(node, "zookeeper")
        cluster.start(node, "zookeeper")


# A log has a header of 16 bytes, then transactions: 8 bytes with a CRC, 4 with a length, that many bytes, and a 'B'.
# Damaged content is refused; a damaged 'B' is taken for the log's end, and the member starts without the rest, as if
# nothing were wrong. So bytes 8..15 of the first transaction are overwritten, which each start reads, whatever the
# snapshot.
CORRUPT = r"""
set -e
for log in $(ls -t "$1"/version-2/log.*); do
  length=$(od -An -tu4 --endian=big -j24 -N4 "$log" | tr -d ' ')
  [ "${length:-0}" -ge 32 ] || continue
  printf 'fairlead' | dd of="$log" bs=1 seek=36 conv=notrunc status=none
  exit 0
done
echo "no log in $1/version-2 has a transaction: nothing to corrupt yet" >&2
exit 1
"""
FORGET = r'rm -rf "$1"/version-2'


class Corrupt(OfZooKeeper):
    """Overwrites bytes of the newest log while the server is down; it refuses to start, as it should.

    Healing does what an operator does: it removes the server's data, and the server gets it again from the others. That
    is safe only while a quorum of the others has all data.
    """

    def start(self, cluster: Cluster, node: Node, words: list[str]) -> None:
        data = cluster.zookeeper_data(node)
        cluster.kill(node, "zookeeper")
        cluster.run(node, "sh", "-c", CORRUPT, "sh", data)
        cluster.launch(node, "zookeeper")

    def heal(self, cluster: Cluster, node: Node) -> None:
        cluster.kill(node, "zookeeper")
        cluster.run(node, "sh", "-c", FORGET, "sh", cluster.zookeeper_data(node))
        cluster.start(node, "zookeeper")
        cluster.wait_serving([(node, "zookeeper")])


class Reshuffle(Fault[Node]):
    """
    Has the router's ECMP hash packets otherwise: other fields of theirs and, if its kernel has one, another seed.
    Healed, it hashes addresses, ports and protocol, with the kernel's seed.
    """

    def check(self, cluster: Cluster, node: Node, words: list[str]) -> None:
        if node.kind != "router":
            raise LabError(f"node '{node.name}' has no ECMP; allowed: the router")

    def start(self, cluster: Cluster, node: Node, words: list[str]) -> None:
        self._set(cluster, node, random.randrange(1, 2**32), WITHOUT_PROTOCOL)

    def heal(self, cluster: Cluster, node: Node) -> None:
        self._set(cluster, node, 0, HASHED_FIELDS)

    @staticmethod
    def _set(cluster: Cluster, node: Node, seed: int, fields: int) -> None:
        seeded = f"if [ -e fib_multipath_hash_seed ]; then echo {seed} >fib_multipath_hash_seed; fi"
        chosen = f"echo {fields} >fib_multipath_hash_fields; echo {HASH_POLICY} >fib_multipath_hash_policy"
        cluster.run(node, "sh", "-ec", f"cd {MULTIPATH}; {seeded}; {chosen}")


class Halves(Fault[None]):
    """Takes two lists of nodes instead of a node."""

    words = ("A,B", "C,D")

    @staticmethod
    def ways(cluster: Cluster, words: list[str]) -> list[tuple[str, str]]:
        left, right = ([cluster.node(name).name for name in word.split(",")] for word in words)
        if both := set(left) & set(right):
            raise LabError(f"halves '{', '.join(sorted(both))}' is in both; allowed: lists without a common node")
        return [way for a in left for b in right for way in ((a, b), (b, a))]

    def check(self, cluster: Cluster, node: None, words: list[str]) -> None:
        cluster.check_ways(self.ways(cluster, words))

    def start(self, cluster: Cluster, node: None, words: list[str]) -> None:
        cluster.cut(table("halves", None), self.ways(cluster, words))

    def heal(self, cluster: Cluster, node: None) -> None:
        cluster.uncut(table("halves", None))


KINDS: dict[str, Fault[Any]] = {
    "halves": Halves(),
    "one-way": OneWay(),
    "from-zookeeper": FromZooKeeper(),
    "from-router": FromRouter(),
    "loss": Loss(),
    "slow": Slow(),
    "lie": Lie(),
    "disk": Disk(),
    "corrupt": Corrupt(),
    "reshuffle": Reshuffle(),
}
PARTITIONS = ("halves", "one-way", "from-zookeeper", "from-router")
