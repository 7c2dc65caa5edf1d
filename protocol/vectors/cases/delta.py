# SPDX-License-Identifier: Apache-2.0
"""delta.json: image + delta = image, chains of deltas, snapshots, and every way in which they are refused."""

import random

from oracle import RefusedError
from oracle.delta import apply, delta_body, empty, header, image_json, listed, owned, snapshot_body, zstd_frame
from oracle.delta_reader import read_delta, read_snapshot

from .delta_malformed import malformed

SERVICE = 7
NOW = 1_700_000_000

# Frames of the zstd command (1.5.4, level 19), whose blocks are compressed. They go with the story below.
ZSTD_SNAPSHOT_7 = bytes.fromhex(  # with a content checksum, without a content size
    "28b52ffd0468950300d2c40c0fe06d130000eade3c00c0eddddd3b05212421785c9f4b7c48e80204a7cfe540fb9f46ff8fe47f891f1e70b0"
    "eee37ff84f78fc1da030ec8202c3b206b0b5301d48960a80016a11640a67269592f05b482f226de12045d8d4df9620b588342d8f8c5e9640"
    "8a421661a401b119c96da428b12660"
)
ZSTD_DELTA_12 = bytes.fromhex(  # without both
    "28b52ffd0068650200c2430c15d0670c80021800806367ebd4c97d9b2072656f9902e7e054fff9d37fe3ee6ececa991402311c54c17d63f7"
    "fb7e5da8910a202031f599e3a3425e7eb85a8bd3183d948c9418ae2401"
)


def backend(id_: int, address: str | None = None, removed: bool = False) -> dict:
    address = address or f"10.1.{id_ >> 8}.{id_ & 255}"
    return {"id": id_, "address": address, "removed": removed, "weight": 0 if removed else 100 + id_ % 7}


def run(start: int, count: int, current: int, previous: int) -> dict:
    return {"start": start, "count": count, "current": current, "previous": previous}


def of(owner: int, start: int, count: int, current: int, previous: int | None = None) -> dict:
    """A run in order of owners: of those that the owner has, from the start-th on."""
    return run(start, count, current, owner if previous is None else previous) | {"owner": owner}


def delta(generation: int, backends: list[dict], runs: list[dict]) -> dict:
    order = "owner" if runs and "owner" in runs[0] else "number"
    change = {"generation": generation, "committed": NOW + generation, "backends": backends}
    return change | {"order": order, "runs": runs}


def delta_bytes(image: dict, change: dict, **frame) -> bytes:
    body = delta_body(change)
    generation = change["generation"]
    head = header("delta", image["service"], generation, generation - 1, image["buckets"], body)
    return head + zstd_frame(body, **frame)


def snapshot_bytes(image: dict, committed: int, **frame) -> bytes:
    body = snapshot_body(image, committed)
    return header("snapshot", image["service"], image["generation"], 0, image["buckets"], body) + zstd_frame(
        body, **frame
    )


def story() -> list[tuple[str, dict]]:
    """A service's life in 256 buckets, a delta a generation."""
    quarter = [run(64 * at, 64, at + 1, 0) for at in range(4)]
    return [
        ("four backends share an empty ring", delta(2, [backend(n) for n in (1, 2, 3, 4)], quarter)),
        (
            "a fifth takes buckets from each",
            delta(3, [backend(5)], [run(0, 12, 5, 1), run(64, 13, 5, 2), run(128, 13, 5, 3), run(192, 13, 5, 4)]),
        ),
        ("a delta that changes nothing", delta(4, [], [])),
        ("a backend is drained, still known", delta(5, [], [run(77, 25, 1, 2), run(102, 26, 3, 2)])),
        ("and removed: buckets still name it as previous", delta(6, [backend(2, removed=True)], [])),
        ("runs of one bucket, side by side", delta(7, [], [run(0, 1, 1, 5), run(1, 1, 3, 5), run(2, 1, 4, 5)])),
        ("the last bucket alone", delta(8, [], [run(255, 1, 1, 4)])),
        ("an IPv6 backend takes the whole ring", delta(9, [backend(6, "2001:db8::6")], [run(0, 256, 6, 1)])),
        ("the removed id is used again", delta(10, [backend(2, "10.1.7.7")], [run(100, 56, 2, 6)])),
        ("the greatest id", delta(11, [backend(65535)], [run(0, 1, 65535, 6)])),
        (
            "all backends removed: buckets without an owner",
            delta(
                12,
                [
                    backend(1, removed=True),
                    backend(2, "10.1.7.7", True),
                    backend(3, removed=True),
                    backend(4, removed=True),
                    backend(5, removed=True),
                    backend(6, "2001:db8::6", True),
                    backend(65535, removed=True),
                ],
                [run(0, 1, 0, 65535), run(1, 99, 0, 6), run(100, 56, 0, 2), run(156, 100, 0, 6)],
            ),
        ),
        ("and new ones", delta(13, [backend(8), backend(9)], [run(0, 128, 8, 0), run(128, 128, 9, 0)])),
        (
            "in order of owners: a part of each",
            delta(14, [backend(10)], [of(8, 0, 20, 10), of(8, 30, 1, 9), of(9, 100, 28, 10)]),
        ),
        ("of owners whose buckets lie between one another's", delta(15, [], [of(8, 2, 50, 9), of(10, 10, 30, 8)])),
        ("of an owner that is removed", delta(16, [backend(9, removed=True)], [of(9, 0, 151, 0)])),
        (
            "without an owner, with and without a previous one",
            delta(17, [backend(65535)], [of(0, 0, 60, 65535, 9), of(0, 60, 91, 8, 0)]),
        ),
        ("a weight alone", delta(18, [backend(8) | {"weight": 65535}, backend(10) | {"weight": 0}], [])),
        (
            "a dead previous owner is forgotten: owners stay, with the owner before it or none",
            delta(19, [], [run(22, 51, 65535, 0), run(128, 9, 65535, 8)]),
        ),
        (
            "and in order of owners, beside buckets of a dead owner that go back",
            delta(20, [backend(10, removed=True)], [of(8, 0, 10, 8, 0), of(10, 0, 10, 8, 0), of(10, 10, 8, 65535, 9)]),
        ),
    ]


def apply_rows() -> tuple[list[dict], list[dict]]:
    """The rows of `apply`, and the images before each and after the last."""
    image, rows, images = empty(SERVICE, 256), [], []
    images.append(image)
    for name, change in story():
        after = apply(image, change)
        rows.append(
            {
                "name": name,
                "image": image_json(image),
                "delta": change,
                "body": delta_body(change).hex(),
                "bytes": delta_bytes(image, change).hex(),
                "result": image_json(after),
            }
        )
        image = after
        images.append(image)
    return rows, images


def snapshot_row(name: str, image: dict, committed: int, **frame) -> dict:
    return {
        "name": name,
        "committed": committed,
        "image": image_json(image),
        "body": snapshot_body(image, committed).hex(),
        "bytes": snapshot_bytes(image, committed, **frame).hex(),
    }


def snapshot_rows(images: list[dict]) -> list[dict]:
    rows = [snapshot_row("generation 1, an empty ring", images[0], NOW + 1)]
    rows += [
        snapshot_row(f"generation {i['generation']} of the story", i, NOW + i["generation"])
        for i in images
        if i is not images[0]
    ]
    rows.append(snapshot_row("a frame that does not say its size", images[3], NOW, with_size=False))
    rows.append(snapshot_row("a frame of many blocks", images[3], NOW, block_max=100))
    return rows


def by_owner(image: dict, runs: list[dict]) -> list[dict]:
    """The same moves in order of owners, one bucket a run."""
    moves = {bucket: one for one in runs for bucket in range(one["start"], one["start"] + one["count"])}
    return [
        of(owner, rank, 1, moves[bucket]["current"], moves[bucket]["previous"])
        for owner in sorted({row[0] for row in image["rows"].values()})
        for rank, bucket in enumerate(owned(image, owner))
        if bucket in moves
    ]


def random_chain(seed: int, buckets: int, deltas: int) -> tuple[dict, list[dict], dict]:
    """Random moves between random backends; a removed one owns nothing, a bucket's previous is its owner before."""
    draw = random.Random(seed)
    image = empty(SERVICE, buckets)
    changes = []
    first = image
    for generation in range(2, 2 + deltas):
        backends = [backend(id_) for id_ in sorted(draw.sample(range(1, 40), draw.randint(1, 3)))]
        known = dict(image["backends"]) | {b["id"]: (b["address"], False, b["weight"]) for b in backends}
        live = [id_ for id_, (_, removed, _) in known.items() if not removed]
        runs, at = [], 0
        while at < buckets and draw.random() < 0.9:
            start = at + draw.randint(0, 40)
            if start >= buckets:
                break
            owner = image["rows"][start][0]
            end = start
            while end < min(buckets, start + 30) and image["rows"][end][0] == owner:
                end += 1
            runs.append(run(start, end - start, draw.choice([*live, 0]), owner))
            at = end
        if draw.random() < 0.5:
            runs = by_owner(image, runs)
        change = delta(generation, backends, runs)
        after = apply(image, change)
        owners = {row[0] for row in after["rows"].values()}
        idle = [id_ for id_ in live if id_ not in owners and id_ not in {b["id"] for b in backends}]
        gone = draw.sample(idle, min(len(idle), 1))
        change["backends"] = sorted(backends + [backend(id_, removed=True) for id_ in gone], key=lambda b: b["id"])
        image = apply(image, change)
        changes.append(change)
    return first, changes, image


def chain_rows(images: list[dict]) -> list[dict]:
    changes = [change for _, change in story()]
    rows = [_chain("the story from an empty ring", images[0], changes)]
    rows.append(_chain("the story from generation 6 on", images[5], changes[5:]))
    for seed, buckets in ((1, 256), (2, 512), (3, 1024)):
        first, random_changes, _ = random_chain(seed, buckets, 12)
        rows.append(_chain(f"random moves in {buckets} buckets, seed {seed}", first, random_changes))
    return rows


def _chain(name: str, image: dict, changes: list[dict]) -> dict:
    snapshot = snapshot_bytes(image, NOW)
    deltas = []
    # Begin as a reader does: with what the snapshot lists.
    image = image | {"backends": {b["id"]: (b["address"], b["removed"], b["weight"]) for b in listed(image)}}
    for change in changes:
        deltas.append(delta_bytes(image, change).hex())
        image = apply(image, change)
    committed = changes[-1]["committed"]
    return {
        "name": name,
        "snapshot": snapshot.hex(),
        "deltas": deltas,
        "result": image_json(image),
        "committed": committed,
        "resultSnapshotBody": snapshot_body(image, committed).hex(),
    }


def compressed_rows(applied: list[dict], images: list[dict]) -> tuple[dict, dict]:
    """A delta and a snapshot as the zstd command packs them; the oracle cannot read these frames."""
    change = story()[10][1]
    delta_head = delta_bytes(images[10], change)[:32]
    delta_row = applied[10] | {"name": "a frame of the zstd command", "bytes": (delta_head + ZSTD_DELTA_12).hex()}
    row = snapshot_row("a frame of the zstd command", images[6], NOW)
    return delta_row, row | {"bytes": (bytes.fromhex(row["bytes"])[:32] + ZSTD_SNAPSHOT_7).hex()}


def reread(vectors: dict) -> None:
    """Holds every row against a second reading of its bytes."""
    for one in vectors["snapshots"]:
        image = one["image"]
        again = read_snapshot(bytes.fromhex(one["bytes"]), SERVICE, image["generation"], image["buckets"])
        assert image_json(again) == image, one["name"]
    for one in vectors["chains"]:
        buckets, generation = one["result"]["buckets"], one["result"]["generation"] - len(one["deltas"])
        image = read_snapshot(bytes.fromhex(one["snapshot"]), SERVICE, generation, buckets)
        for data in one["deltas"]:
            generation += 1
            image = apply(image, read_delta(bytes.fromhex(data), image, generation))
        assert image_json(image) == one["result"], one["name"]
        assert snapshot_body(image, one["committed"]).hex() == one["resultSnapshotBody"], one["name"]
    expected = vectors["malformedFor"]
    image = next(one for one in vectors["snapshots"] if one["image"]["generation"] == expected["snapshotGeneration"])
    image = read_snapshot(bytes.fromhex(image["bytes"]), SERVICE, expected["snapshotGeneration"], 256)
    for one in vectors["malformed"]:
        assert word_for(one, image, expected) == one["error"], one["name"]


def word_for(row: dict, image: dict, expected: dict) -> str | None:
    data = bytes.fromhex(row["bytes"])
    try:
        if row["kind"] == "delta":
            read_delta(data, image, expected["deltaGeneration"])
        else:
            read_snapshot(data, SERVICE, expected["snapshotGeneration"], expected["buckets"])
    except RefusedError as refused:
        return refused.args[0]
    return None


def delta_vectors() -> dict:
    applied, images = apply_rows()
    vectors = {
        "apply": applied,
        "snapshots": snapshot_rows(images),
        "chains": chain_rows(images),
        "malformedFor": {
            "service": SERVICE,
            "buckets": 256,
            "deltaGeneration": 7,
            "snapshotGeneration": 6,
            "image": image_json(images[5]),
        },
        "malformed": malformed(images[5], delta_body(story()[5][1])),
    }
    reread(vectors)
    delta_row, snapshot = compressed_rows(applied, images)
    vectors["apply"].append(delta_row)
    vectors["snapshots"].append(snapshot)
    return vectors
