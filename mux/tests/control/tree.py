# SPDX-License-Identifier: Apache-2.0
"""
The controller's side of the ZooKeeper tree (protocol/README.md, 4), written with the oracle of the vectors: a service
with its image, each change a delta in one transaction. It can also write what a controller never would.
"""

import json
import sys
from collections.abc import Callable
from pathlib import Path

from kazoo.client import KazooClient
from kazoo.exceptions import KazooException, NoNodeError
from kazoo.handlers.threading import KazooTimeoutError

sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "protocol" / "vectors"))

from oracle import delta as codec

ADDED = ("mux1", "mux2", "mux3")
CHUNK = 512 * 1024
NOW = 1_700_000_000


def live(mux_id: str) -> str:
    """The node that a mux keeps while it is alive."""
    return f"/fairlead/muxes/{mux_id}/live"


def sum_of(image: dict) -> str:
    """As muxes show it."""
    return f"{codec.image_sum(image):016x}"


def run(start: int, count: int, current: int) -> dict:
    return {"start": start, "count": count, "current": current}


def backend(id_: int, address: str | None = None, removed: bool = False) -> dict:
    address = address or f"10.1.0.{20 + id_}"
    return {"id": id_, "address": address, "removed": removed, "dead": False, "weight": 100, "foreign": False}


class Client(KazooClient):
    """Retries after a lost connection, common on a loaded machine: ZooKeeper's sessions are short here."""


def _patient(name: str) -> Callable:
    ask = getattr(KazooClient, name)
    return lambda client, *words, **named: client.retry(ask, client, *words, **named)


for _name in ("add_auth", "create", "delete", "exists", "get", "get_children", "set", "set_acls"):
    setattr(Client, _name, _patient(_name))


class Tree:
    def __init__(self, address: str):
        self.client = Client(hosts=address, timeout=10, command_retry={"max_tries": 50, "max_delay": 1})
        self.client.start(timeout=30)

    def answers(self) -> bool:
        """Whether there is a session: this one, or a new one if ZooKeeper was down for longer than it lasts."""
        try:
            self.client.exists("/")
        except (KazooException, KazooTimeoutError):
            return False
        return True

    def close(self) -> None:
        self.client.stop()
        self.client.close()

    def clear(self) -> None:
        if self.client.exists("/fairlead"):
            self.client.delete("/fairlead", recursive=True)
        self.client.create("/fairlead/services", makepath=True)
        self.client.create("/fairlead/muxes")
        for mux_id in ADDED:
            self.add(mux_id)

    def add(self, mux_id: str) -> None:
        """As an operator does, in a cluster without logins."""
        self.client.create(f"/fairlead/muxes/{mux_id}", b'{"format":1}')

    def remove(self, mux_id: str) -> None:
        self.client.delete(f"/fairlead/muxes/{mux_id}", recursive=True)

    def join(self, mux_id: str, node: dict) -> None:
        """Another mux, which is alive as long as this test: its node, written or changed."""
        path, data = live(mux_id), json.dumps(node).encode()
        if not self.client.exists(f"/fairlead/muxes/{mux_id}"):
            self.add(mux_id)
        if self.client.exists(path):
            self.client.set(path, data)
        else:
            self.client.create(path, data, ephemeral=True)

    def leave(self, mux_id: str) -> None:
        self.client.delete(live(mux_id))

    def mux(self, mux_id: str = "mux1") -> dict | None:
        try:
            return json.loads(self.client.get(live(mux_id))[0])
        except NoNodeError:
            return None

    def session(self, mux_id: str = "mux1") -> int:
        """That has the mux's node."""
        return self.client.exists(live(mux_id)).ephemeralOwner

    def writes(self, mux_id: str = "mux1") -> int:
        """Of the mux's node since it was created."""
        return self.client.exists(live(mux_id)).version


class Service:
    def __init__(self, tree: Tree, id_: int = 1, buckets: int = 256, name: str = "web", **config: object):
        self.client, self.path, self.name = tree.client, f"/fairlead/services/{name}", name
        self.image = codec.empty(id_, buckets)
        self.config = {
            "format": 1,
            "id": id_,
            "name": name,
            "vips": ["10.99.0.1"],
            "ports": [{"protocol": "tcp", "port": 80}],
            "steering": "ring",
            "buckets": buckets,
            "hash": "siphash",
            "hashKey": "000102030405060708090a0b0c0d0e0f",
            "affinity": "connection",
            "encap": "gue",
            "windowSeconds": 240,
        } | config

    def gen(self, generation: int) -> str:
        return f"{self.path}/ring/gen/{generation:010d}"

    def create(self, transaction=None) -> "Service":
        """Commits the image as the first generation: a snapshot, by default of an empty ring."""
        generation = self.image["generation"]
        mine = transaction or self.client.transaction()
        mine.create(self.path)
        mine.create(f"{self.path}/config", json.dumps(self.config).encode())
        mine.create(f"{self.path}/ring")
        mine.create(f"{self.path}/ring/latest_gen", str(generation).encode())
        mine.create(f"{self.path}/ring/latest_snapshot", str(generation).encode())
        mine.create(f"{self.path}/ring/gen")
        mine.create(self.gen(generation))
        self.put(mine, generation, "snapshot", self.snapshot_bytes())
        if not transaction:
            commit(mine)
        return self

    def delete(self, transaction=None) -> None:
        """Deletes everything in one transaction, as one change."""
        mine = transaction or self.client.transaction()

        def below(path: str) -> None:
            for child in self.client.get_children(path):
                below(f"{path}/{child}")
            mine.delete(path)

        below(self.path)
        if not transaction:
            commit(mine)

    def snapshot_bytes(self) -> bytes:
        image = self.image
        body = codec.snapshot_body(image, NOW + image["generation"])
        head = codec.header("snapshot", image["service"], image["generation"], 0, image["buckets"], body)
        return head + codec.zstd_frame(body)

    def change(self, backends: list[dict], runs: list[dict], committed: int | None = None) -> tuple[dict, bytes]:
        """Returns the next image and the delta that leads to it; writes nothing."""
        generation = self.image["generation"] + 1
        committed = committed or NOW + generation
        order = "owner" if runs and "owner" in runs[0] else "number"
        closed = 0 if "holdSeconds" in self.config else 1
        delta = {"generation": generation, "committed": committed, "closedUntil": closed, "baseSum": sum_of(self.image)}
        delta |= {"backends": backends, "order": order, "moves": runs, "releases": []}
        body = codec.delta_body(delta)
        head = codec.header("delta", self.image["service"], generation, generation - 1, self.image["buckets"], body)
        return codec.apply(self.image, delta), head + codec.zstd_frame(body)

    def put(self, transaction, generation: int, kind: str, data: bytes, chunk: int = CHUNK) -> None:
        """Writes data as chunks below a generation's node."""
        path = f"{self.gen(generation)}/{kind}"
        transaction.create(path)
        for at in range(0, len(data), chunk):
            transaction.create(f"{path}/{at // chunk:04d}", data[at : at + chunk])

    def commit(
        self,
        backends: list[dict],
        runs: list[dict],
        *,
        damage=None,
        with_delta: bool = True,
        with_snapshot: bool = False,
        chunk: int = CHUNK,
        committed: int | None = None,
    ) -> dict:
        """Commits one generation in one transaction; damage is applied to the delta's bytes. Returns the new image."""
        self.image, data = self.change(backends, runs, committed)
        generation = self.image["generation"]
        mine = self.client.transaction()
        mine.create(self.gen(generation))
        if with_delta:
            self.put(mine, generation, "delta", damage(data) if damage else data, chunk)
        if with_snapshot:
            self.put(mine, generation, "snapshot", self.snapshot_bytes(), chunk)
            mine.set_data(f"{self.path}/ring/latest_snapshot", str(generation).encode())
        mine.set_data(f"{self.path}/ring/latest_gen", str(generation).encode())
        commit(mine)
        return self.image

    def configure(self, **config: object) -> None:
        self.config |= config
        self.client.set(f"{self.path}/config", json.dumps(self.config).encode())


def commit(transaction) -> None:
    results = transaction.commit()
    failed = [result for result in results if isinstance(result, Exception)]
    assert not failed, failed
