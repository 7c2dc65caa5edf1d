# SPDX-License-Identifier: Apache-2.0
"""
Arrays of `othello` (protocol/README.md, 12) against a real ZooKeeper: read, patched, skipped, settled, damaged,
missing, and restored from disk. What a mux steers by is asked of it flow by flow and compared with the oracle.
"""

import json
import random
import signal
import struct
from pathlib import Path

import pytest
from deadline import stays, until
from mux_process import MuxProcess
from oracle import othello
from oracle.flow import flow_hash64
from test_follow import BOTH
from tree import NOW, Service, Tree, codec, commit, run
from zookeeper_process import ZooKeeperProcess

PORTS = range(4000, 4020)
NA, NB = 400, 300
LARGE = 200_000  # cells of an array, 1 byte each: more than a mux checks on its control thread


def flow_of(service: Service, port: int) -> int:
    flow = {"source": "10.2.1.2", "sourcePort": port, "destination": "10.99.0.1", "destinationPort": 80}
    flow |= {"protocol": 6, "hash": "siphash", "hashKey": service.config["hashKey"], "affinity": "connection"}
    return flow_hash64(flow)


class Arrays:
    """A service with `othello`: its arrays by generation, and what latest_arrays says."""

    def __init__(self, tree: Tree, seed: int = 1):
        self.service = Service(tree, steering="othello").create()
        self.service.commit(BOTH, [run(0, 128, 1), run(128, 128, 2)])
        self.random = random.Random(seed)
        self.arrays: dict[int, dict] = {}
        self.latest: dict | None = None

    def fresh(self, cells: int = 0) -> dict:
        """Arrays with another seed and other cells."""
        na, nb = (cells, cells) if cells else (NA, NB)
        seed = f"{self.random.getrandbits(64) | 1:016x}"
        return {"hash": "siphash", "seed": seed, "na": na, "nb": nb, "cells": list(self.random.randbytes(na + nb))}

    def changed(self, count: int = 40) -> dict:
        """The newest with some other cells."""
        arrays = self.arrays[self.latest["generation"]]
        cells = list(arrays["cells"])
        for at in self.random.sample(range(len(cells)), count):
            cells[at] = self.random.getrandbits(8)
        return arrays | {"cells": cells}

    def whole_bytes(self, generation: int, arrays: dict) -> bytes:
        cells = bytes(arrays["cells"])  # of 256 buckets: a byte each
        body = struct.pack("<QII", int(arrays["seed"], 16), arrays["na"], arrays["nb"])
        body += cells + bytes(-len(cells) % 8)
        head = codec.header("whole", self.service.image["service"], generation, 0, 256, body)
        return head + codec.zstd_frame(body)

    def patch_bytes(self, generation: int, arrays: dict, base: int = 0) -> bytes:
        base = base or self.latest["generation"]
        body = othello.patch_body(othello.changes_between(self.arrays[base]["cells"], arrays["cells"], 256))
        head = codec.header("patch", self.service.image["service"], generation, base, 256, body)
        return head + codec.zstd_frame(body)

    def next_latest(self, generation: int, is_patch: bool) -> dict:
        before = self.latest
        latest = {"format": 1, "generation": generation, "previous": before["generation"] if before else 0}
        if is_patch:
            return latest | {"whole": before["whole"], "patches": [*before["patches"], generation]}
        latest |= {"whole": generation, "patches": []}
        if before:
            latest |= {"previousWhole": before["whole"], "previousPatches": before["patches"]}
        return latest

    def commit(self, arrays: dict, is_patch: bool = False, damage=None, missing: bool = False, runs=()) -> int:
        """Commits arrays with a delta in one transaction. Returns the generation."""
        service = self.service
        service.image, delta = service.change([], list(runs), NOW)
        generation = service.image["generation"]
        data = self.patch_bytes(generation, arrays) if is_patch else self.whole_bytes(generation, arrays)
        latest = self.next_latest(generation, is_patch)
        mine = service.client.transaction()
        mine.create(service.gen(generation))
        service.put(mine, generation, "delta", delta)
        if not missing:
            kind = "arrays_patch" if is_patch else "arrays"
            service.put(mine, generation, kind, damage(data) if damage else data, 100_000)
        self.write_latest(mine, latest, generation)
        commit(mine)
        self.arrays[generation] = arrays
        return generation

    def write_latest(self, transaction, latest: dict, generation: int) -> None:
        node, text = f"{self.service.path}/ring/latest_arrays", json.dumps(latest).encode()
        if self.latest:
            transaction.set_data(node, text)
        else:
            transaction.create(node, text)
        transaction.set_data(f"{self.service.path}/ring/latest_gen", str(generation).encode())
        self.latest = latest

    def ahead(self, arrays: dict) -> int:
        """Whole arrays beside a generation that changes nothing; nothing names them yet. Returns the generation."""
        service = self.service
        generation = service.commit([], [])["generation"]
        mine = service.client.transaction()
        service.put(mine, generation, "arrays", self.whole_bytes(generation, arrays), 200)
        commit(mine)
        self.arrays[generation] = arrays
        return generation

    def announce(self, whole: int) -> None:
        """A generation that says that these arrays are written ahead."""
        service = self.service
        service.image, delta = service.change([], [], NOW)
        generation = service.image["generation"]
        mine = service.client.transaction()
        mine.create(service.gen(generation))
        service.put(mine, generation, "delta", delta)
        self.write_latest(mine, self.latest | {"aheadWhole": whole, "aheadPatches": []}, generation)
        commit(mine)

    def name(self, whole: int, before: dict) -> int:
        """A generation that brings an empty patch of what was written ahead. Returns it."""
        service = self.service
        service.image, delta = service.change([], [], NOW)
        generation = service.image["generation"]
        mine = service.client.transaction()
        mine.create(service.gen(generation))
        service.put(mine, generation, "delta", delta)
        service.put(mine, generation, "arrays_patch", self.patch_bytes(generation, self.arrays[whole], whole))
        latest = {"format": 1, "generation": generation, "whole": whole, "patches": [generation]} | before
        self.write_latest(mine, latest, generation)
        commit(mine)
        self.arrays[generation] = self.arrays[whole]
        return generation

    def repair(self) -> None:
        """Arrays are written again as wholes beside the generations that they have, which a generation then says."""
        service = self.service
        generation, previous = self.latest["generation"], self.latest.get("previous", 0)
        for each in {generation, previous} - {0}:
            node = f"{service.gen(each)}/arrays"
            if service.client.exists(node):
                service.client.delete(node, recursive=True)
            mine = service.client.transaction()
            service.put(mine, each, "arrays", self.whole_bytes(each, self.arrays[each]), 200)
            commit(mine)
        latest = {"format": 1, "generation": generation, "whole": generation, "patches": []}
        if previous:
            latest |= {"previous": previous, "previousWhole": previous, "previousPatches": []}
        service.image, delta = service.change([], [], NOW)
        mine = service.client.transaction()
        mine.create(service.gen(service.image["generation"]))
        service.put(mine, service.image["generation"], "delta", delta)
        self.write_latest(mine, latest, service.image["generation"])
        commit(mine)

    def settle(self) -> int:
        """A generation that drops the arrays before."""
        service = self.service
        service.image, delta = service.change([], [], NOW)
        generation = service.image["generation"]
        mine = service.client.transaction()
        mine.create(service.gen(generation))
        service.put(mine, generation, "delta", delta)
        kept = {key: self.latest[key] for key in ("format", "generation", "whole", "patches")}
        self.write_latest(mine, kept, generation)
        commit(mine)
        return generation

    def code(self, generation: int | None, port: int) -> int | None:
        """A flow's bucket by the arrays of a generation; 0: by the hash's low bits."""
        if generation is None:
            return None
        flow = flow_of(self.service, port)
        return othello.code(self.arrays[generation], flow) if generation else flow % 256

    def expected(self) -> list[tuple[int, int | None]]:
        """Of each flow, the bucket and the second one if there is any."""
        newest, previous = self.latest["generation"], self.latest.get("previous")
        pairs = [(self.code(newest, port), self.code(previous, port)) for port in PORTS]
        return [(first, second if second != first else None) for first, second in pairs]

    def until_steering(self, mux: MuxProcess) -> None:
        """The ring, the arrays and the node's generation are the latest."""
        mux.until_serving(self.service.image)
        assert steered(mux) == self.expected()
        assert mux.metric("arrays_generation", service="web", arrays="newest") == self.latest["generation"]
        assert mux.metric("arrays_generation", service="web", arrays="previous") == self.latest.get("previous")


def steered(mux: MuxProcess) -> list[tuple[int, int | None]]:
    answers = [mux.explain(sourcePort=port)[1] for port in PORTS]
    return [(answer["bucket"], answer.get("second", {}).get("bucket")) for answer in answers]


def break_checksum(data: bytes) -> bytes:
    return data[:28] + bytes([data[28] ^ 1]) + data[29:]


def test_arrays_come_patched_settled_and_whole_again(tree: Tree, mux: MuxProcess):
    arrays = Arrays(tree)
    mux.until_serving(arrays.service.image)
    assert steered(mux) == [(flow_of(arrays.service, port) % 256, None) for port in PORTS]
    assert mux.metric("arrays_generation", service="web", arrays="newest") is None
    arrays.commit(arrays.fresh())
    arrays.until_steering(mux)
    arrays.commit(arrays.changed(), is_patch=True, runs=[run(0, 20, 2)])
    arrays.until_steering(mux)
    arrays.service.commit([], [run(100, 20, 2)])  # without arrays
    arrays.until_steering(mux)
    arrays.settle()
    arrays.until_steering(mux)
    arrays.commit(arrays.changed(), is_patch=True)
    arrays.until_steering(mux)
    arrays.commit(arrays.fresh())
    arrays.until_steering(mux)
    assert mux.refused("arrays") == 0 and mux.state() == "serving"
    assert mux.logged(event="loaded") == 1, "each generation was applied as a delta"
    assert 2 * (NA + NB) <= mux.metric("arrays_bytes", service="web") < 3 * (NA + NB)  # two sets, 1 byte a cell
    assert mux.metric("arrays_load_seconds", service="web") is not None


def test_a_mux_that_starts_reads_the_whole_and_all_patches(tree: Tree, zookeeper: ZooKeeperProcess, tmp_path: Path):
    arrays = Arrays(tree)
    arrays.commit(arrays.fresh())
    for _ in range(4):
        arrays.commit(arrays.changed(), is_patch=True)
    mux = MuxProcess(zookeeper.address, tmp_path)
    mux.start()
    arrays.until_steering(mux)
    mux.stop()


def test_a_mux_that_was_away_skips_arrays(tree: Tree, mux: MuxProcess):
    arrays = Arrays(tree)
    arrays.commit(arrays.fresh())
    arrays.until_steering(mux)
    mux.process.send_signal(signal.SIGSTOP)
    skipped = arrays.commit(arrays.fresh())
    for _ in range(3):
        arrays.commit(arrays.changed(), is_patch=True, runs=[run(0, 8, 2)])
    mux.process.send_signal(signal.SIGCONT)
    arrays.until_steering(mux)
    assert mux.logged(event="arrays", generation=skipped) == 0
    assert mux.state() == "serving"


def test_large_arrays_in_many_chunks(tree: Tree, mux: MuxProcess):
    arrays = Arrays(tree)
    arrays.commit(arrays.fresh(LARGE))
    arrays.until_steering(mux)
    assert 2 * LARGE <= mux.metric("arrays_bytes", service="web") < 3 * LARGE  # two arrays, 1 byte a cell
    arrays.commit(arrays.fresh(LARGE), damage=break_checksum)
    until(lambda: mux.metric("arrays_refused_total", service="web", reason="checksum"), 60, "a refusal")
    arrays.commit(arrays.fresh(LARGE))
    arrays.settle()  # those before can't be read
    arrays.until_steering(mux)


def damaged(kind: str) -> dict:
    return {"missing": {"missing": True}, "checksum": {"damage": break_checksum}}.get(
        kind, {"damage": lambda data: data[:-5] if kind == "compression" else b"FLD3" + data[4:]}
    )


@pytest.mark.parametrize("kind", ["missing", "checksum", "compression", "magic"])
def test_what_is_damaged_or_missing_is_refused(tree: Tree, mux: MuxProcess, kind: str):
    arrays = Arrays(tree)
    arrays.commit(arrays.fresh())
    arrays.until_steering(mux)
    served, image, before = arrays.latest["generation"], arrays.service.image, steered(mux)
    arrays.commit(arrays.changed(), is_patch=True, **damaged(kind))
    until(lambda: (mux.metric("arrays_refused_total", service="web", reason=kind) or 0) > 1, 60, mux.log())
    assert mux.serves(image) and steered(mux) == before and mux.state() == "stale"
    until(lambda: "refused" in tree.mux()["services"]["web"], 60, "the mux's node")
    node = tree.mux()["services"]["web"]
    assert (node["generation"], node["state"], node["refused"]) == (served, "stale", "arrays")
    arrays.service.commit([], [run(0, 8, 2)])  # waits, too: it follows those arrays
    stays(lambda: mux.serves(image), 1, "the generation before")
    arrays.commit(arrays.fresh())
    arrays.settle()  # those before can't be read
    arrays.until_steering(mux)
    assert mux.state() == "serving"


def test_arrays_that_were_written_ahead(tree: Tree, mux: MuxProcess):
    arrays = Arrays(tree)
    arrays.commit(arrays.fresh())
    arrays.until_steering(mux)
    before = arrays.latest
    whole = arrays.ahead(arrays.fresh())
    arrays.service.commit([], [run(0, 8, 2)])  # comes in between
    mux.until_serving(arrays.service.image)
    named = {"previousWhole": before["whole"], "previousPatches": before["patches"]}
    arrays.name(whole, {"previous": before["generation"]} | named)
    arrays.until_steering(mux)
    arrays.commit(arrays.changed(), is_patch=True)
    arrays.until_steering(mux)
    assert mux.refused("arrays") == 0 and mux.logged(event="loaded") == 1, "each was applied as a delta"


def test_announced_arrays_are_read_before_they_are_named(tree: Tree, mux: MuxProcess):
    """ZooKeeper does not have them any more by then."""
    arrays = Arrays(tree)
    first = arrays.commit(arrays.fresh())
    arrays.until_steering(mux)
    until(lambda: tree.mux()["services"]["web"].get("arrays") == first, 60, "the mux's node")
    before = arrays.latest
    whole = arrays.ahead(arrays.fresh(LARGE))
    arrays.announce(whole)
    arrays.service.commit([], [run(0, 8, 2)])
    until(lambda: tree.mux()["services"]["web"]["arrays"] == whole, 60, "the mux's node")
    mux.until_serving(arrays.service.image)
    assert mux.metric("arrays_generation", service="web", arrays="newest") == first
    tree.client.delete(f"{arrays.service.gen(whole)}/arrays", recursive=True)
    named = {"previousWhole": before["whole"], "previousPatches": before["patches"]}
    arrays.name(whole, {"previous": before["generation"]} | named)
    arrays.until_steering(mux)
    assert mux.refused("arrays") == 0 and mux.logged(event="loaded") == 1, "each was applied as a delta"


@pytest.mark.parametrize("settled", [False, True])
@pytest.mark.parametrize("kind", ["missing", "checksum"])
def test_damage_that_the_controller_repairs(
    tree: Tree, mux: MuxProcess, zookeeper: ZooKeeperProcess, tmp_path: Path, kind: str, settled: bool
):
    arrays = Arrays(tree)
    first = arrays.commit(arrays.fresh())
    second = arrays.commit(arrays.changed(), is_patch=True)
    if settled:
        arrays.settle()
    arrays.until_steering(mux)
    steers = steered(mux)
    chunk = f"{arrays.service.gen(first)}/arrays/0000"
    if kind == "missing":
        tree.client.delete(chunk)
    else:
        tree.client.set(chunk, break_checksum(tree.client.get(chunk)[0]))
    folder = tmp_path / "late"
    folder.mkdir()
    late = MuxProcess(zookeeper.address, folder, mux_id="mux2")
    late.start()
    until(lambda: (late.metric("arrays_refused_total", service="web", reason=kind) or 0) > 1, 60, late.log())
    node = tree.mux("mux2")["services"]["web"]
    assert node["generation"] == 0 and node["state"] != "serving"
    arrays.repair()
    mux.until_serving(arrays.service.image)
    arrays.until_steering(late)
    assert steered(mux) == steers
    assert mux.metric("arrays_generation", service="web", arrays="newest") == second
    late.stop()


def test_a_list_that_can_not_be_read(tree: Tree, mux: MuxProcess):
    arrays = Arrays(tree)
    arrays.commit(arrays.fresh())
    arrays.until_steering(mux)
    image = arrays.service.image
    mine = tree.client.transaction()
    latest = arrays.latest
    arrays.service.image, delta = arrays.service.change([], [], NOW)
    generation = arrays.service.image["generation"]
    mine.create(arrays.service.gen(generation))
    arrays.service.put(mine, generation, "delta", delta)
    arrays.write_latest(mine, {"format": 1, "generation": 3}, generation)
    commit(mine)
    until(lambda: mux.metric("arrays_refused_total", service="web", reason="list"), 60, mux.log())
    assert mux.serves(image) and mux.state() == "stale"
    tree.client.set(f"{arrays.service.path}/ring/latest_arrays", json.dumps(latest).encode())
    arrays.latest = latest
    arrays.until_steering(mux)


@pytest.mark.parametrize("settled", [False, True])
def test_a_restart_without_zookeeper(tree: Tree, zookeeper: ZooKeeperProcess, tmp_path: Path, settled: bool):
    tree.client.create("/fairlead/cluster", b"6c9d1e7a-test")
    folder = tmp_path / "state"
    folder.mkdir(mode=0o700)
    mux = MuxProcess(zookeeper.address, tmp_path, state=folder)
    mux.start()
    arrays = Arrays(tree)
    arrays.commit(arrays.fresh())
    arrays.commit(arrays.changed(), is_patch=True)
    if settled:
        arrays.settle()
    arrays.until_steering(mux)
    until(lambda: mux.metric("state_unsaved") == 0 and mux.metric("state_usable") == 1, 60, mux.log())
    zookeeper.stop()
    mux.kill()
    mux.start()
    arrays.until_steering(mux)
    assert mux.metric("restored", service="web") == 1
    loaded = mux.logged(event="loaded")
    zookeeper.start()
    until(tree.answers, 60, "a session")
    arrays.commit(arrays.changed(), is_patch=True)
    arrays.until_steering(mux)
    assert mux.logged(event="loaded") == loaded, "it went on by a delta"
    mux.stop()
