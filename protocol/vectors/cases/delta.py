# SPDX-License-Identifier: Apache-2.0
"""delta.json: image + delta = image, chains of deltas, snapshots, and every way in which they are refused."""

import random

from oracle import RefusedError
from oracle.delta import (
    apply,
    backends_by_id,
    delta_body,
    empty,
    header,
    image_json,
    image_sum,
    listed,
    owned,
    snapshot_body,
    zstd_frame,
)
from oracle.delta_reader import read_delta, read_snapshot

from .delta_malformed import Parcel, malformed
from .rows import spoiled

SERVICE = 7
NOW = 1_700_000_000

# Frames of the zstd command (1.5.4, level 19), whose blocks are compressed. They go with the story below.
ZSTD_SNAPSHOT_7 = bytes.fromhex(  # with a content checksum, without a content size
    "28b52ffd0458c50400a246131ca027e99ef5ffff7f585563df17daebd7d5dafec5fe6dbbc9bdb74c01df46eda29fad42cc15628e269224f1"
    "3ffeb3568b65b76b36f1d710bfd5e12f224ec0393fff161404c1c21018fc17620e1e00484009c079484031805390803a809331012500b93b"
    "a72f91eda2e420c2e55b44152015b09c0029038b009c278818588480f4e6660e90029002b0725e000b7636030e80c21c03df3c66ac"
)
ZSTD_DELTA_12 = bytes.fromhex(  # without both
    "28b52ffd006865020014030cf1536500000000668aadb67fe1e1280700000001000100ffff0a010001020707030003040405050620010db8"
    "0006ffff0a20202bed017001870ebcf8c16a2d4663f42019293170650c"
)


def backend(id_: int, address: str | None = None, removed: bool = False, dead: bool = False, foreign=False) -> dict:
    address = address or f"10.1.{id_ >> 8}.{id_ & 255}"
    weight = 0 if removed or dead else 100 + id_ % 7
    one = {"id": id_, "address": address, "removed": removed or dead, "dead": dead, "weight": weight}
    return one | {"foreign": foreign}


def run(start: int, count: int, current: int) -> dict:
    return {"start": start, "count": count, "current": current}


def of(owner: int, start: int, count: int, current: int) -> dict:
    """A run in order of owners: of those that the owner has, from the start-th on."""
    return run(start, count, current) | {"owner": owner}


def release(start: int, count: int, owner: int = 0) -> dict:
    return {"start": start, "count": count, "owner": owner}


def delta(
    generation: int, backends: list[dict], moves: list[dict], releases: list[dict] | None = None, closed_until: int = 0
) -> dict:
    """What changes from the generation before; `on` says what that is."""
    order = "owner" if moves and "owner" in moves[0] else "number"
    change = {"generation": generation, "committed": NOW + generation, "closedUntil": closed_until, "baseSum": None}
    return change | {"backends": backends, "order": order, "moves": moves, "releases": releases or []}


def on(image: dict, change: dict) -> dict:
    return change | {"baseSum": f"{image_sum(image):016x}"}


def delta_bytes(image: dict, change: dict, **frame) -> bytes:
    body = delta_body(change)
    generation = change["generation"]
    head = header("delta", image["service"], generation, generation - 1, image["buckets"], body)
    return head + zstd_frame(body, **frame)


def snapshot_bytes(image: dict, committed: int, closed_until: int = 0, **frame) -> bytes:
    body = snapshot_body(image, committed, closed_until)
    return header("snapshot", image["service"], image["generation"], 0, image["buckets"], body) + zstd_frame(
        body, **frame
    )


def story() -> list[tuple[str, dict]]:
    """A service's life in 256 buckets, a delta a generation."""
    quarter = [run(64 * at, 64, at + 1) for at in range(4)]
    told: list[tuple] = [
        ("four backends share an empty ring", [backend(n) for n in (1, 2, 3, 4)], quarter),
        (
            "a fifth takes buckets from each",
            [backend(5)],
            [run(0, 12, 5), run(64, 13, 5), run(128, 13, 5), run(192, 13, 5)],
        ),
        ("a delta that changes nothing", [], []),
        ("a backend is drained, still known", [], [run(77, 25, 1), run(102, 26, 3)]),
        ("and removed: histories still name it", [backend(2, removed=True)], []),
        ("buckets go back to a former owner", [], [run(0, 1, 1), run(1, 1, 3), run(2, 1, 4)]),
        ("the last bucket alone", [], [run(255, 1, 1)]),
        ("an IPv6 backend takes the whole ring", [backend(6, "2001:db8::6")], [run(0, 256, 6)]),
        (
            "entries close, and the removed id is another machine's",
            [backend(2, "10.1.7.7")],
            [run(100, 56, 2)],
            [],
            NOW + 5,
        ),
        ("the greatest id, and all entries close but the new one", [backend(65535)], [run(0, 1, 65535)], [], NOW + 11),
        (
            "all backends removed: buckets without an owner",
            [
                backend(1, removed=True),
                backend(2, "10.1.7.7", True),
                backend(3, removed=True),
                backend(4, removed=True),
                backend(5, removed=True),
                backend(6, "2001:db8::6", True),
                backend(65535, removed=True),
            ],
            [run(0, 256, 0)],
        ),
        ("and new ones", [backend(8), backend(9)], [run(0, 128, 8), run(128, 128, 9)]),
        ("in order of owners: a part of each", [backend(10)], [of(8, 0, 20, 10), of(8, 30, 1, 9), of(9, 100, 28, 10)]),
        ("of owners whose buckets lie between one another's", [], [of(8, 2, 50, 9), of(10, 10, 30, 8)]),
        ("of an owner that is removed", [backend(9, removed=True)], [of(9, 0, 151, 0)]),
        ("of those without an owner", [backend(65535)], [of(0, 0, 60, 65535), of(0, 60, 91, 8)]),
        ("a weight alone", [backend(8) | {"weight": 65535}, backend(10) | {"weight": 0}], []),
        (
            "releases of one owner, of all, of one that is in some histories and of one that is unknown",
            [],
            [],
            [release(0, 30, 9), release(40, 20), release(100, 80, 10), release(200, 1, 77), release(255, 1, 6)],
        ),
        ("a removed backend is back: its buckets' histories still name it", [backend(6, "2001:db8::6")], []),
        ("and takes its own back: it leaves their histories", [], [run(90, 30, 6)]),
        (
            "a dead one: it leaves all histories, and none keeps it as the owner before",
            [backend(10, dead=True)],
            [of(10, 0, 18, 65535)],
        ),
        ("a dead one again, and one that dies without a bucket", [backend(9, dead=True), backend(10, dead=True)], []),
        (
            "backends of many moves, one of them a dead one that returns",
            [backend(10), *(backend(n) for n in range(11, 18))],
            [],
        ),
    ]
    told += [
        (f"histories grow to the most entries: {n - 8}", [], [run(30, 1, n), run(32, 2, n)]) for n in range(11, 15)
    ]
    told += [
        ("a foreign one", [backend(18, foreign=True)], [run(50, 5, 18)]),
        ("it moves on and is removed", [backend(18, removed=True, foreign=True)], [run(50, 5, 17)]),
        ("and is another's end-point no more", [backend(18)], []),
        ("one that becomes foreign", [backend(17, foreign=True)], []),
        ("and dies", [backend(18, dead=True, foreign=True)], []),
        ("a foreign one is not any more", [backend(17)], []),
    ]
    told += _full_histories()
    return [(name, delta(at, *rest)) for at, (name, *rest) in enumerate(told, 2)]


def _full_histories() -> list[tuple]:
    """Buckets 30, 32 and 33, whose histories grow to the most entries, and beyond if others leave."""
    moves = [(f"one bucket moves: {n - 10}", [], [run(40, 1, n)]) for n in (12, 14, 15, 16)]
    return [
        ("a full one moves on: its oldest owner is released", [], [run(30, 1, 16)], [release(30, 1, 6)]),
        ("one moves back to an owner that it has", [], [run(32, 1, 12)]),
        (
            "releases beside moves: of the owner that it goes to, of the one that it leaves, of all",
            [],
            [run(32, 1, 11), run(34, 1, 11), run(40, 2, 11)],
            [release(32, 1, 11), release(34, 1, 65535), release(35, 7)],
        ),
        ("seven entries are six without a dead one", [backend(13, dead=True)], [run(30, 1, 17)]),
        ("a run with the current that its buckets have", [], [run(30, 1, 17), run(32, 3, 14), run(35, 60, 17)]),
        (
            "entries close beside moves and releases",
            [],
            [run(33, 1, 16), run(36, 1, 65535)],
            [release(33, 1, 11)],
            NOW + 20,
        ),
        *moves,
        ("it has a full history, with a removed one", [backend(11, removed=True)], [of(14, 0, 1, 15)]),
    ]


def apply_rows() -> tuple[list[dict], list[dict]]:
    """The rows of `apply`, and the images before each and after the last."""
    image, rows, images = empty(SERVICE, 256), [], []
    images.append(image)
    for name, told in story():
        change = on(image, told)
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


def snapshot_row(name: str, image: dict, committed: int, closed_until: int = 0, **frame) -> dict:
    return {
        "name": name,
        "committed": committed,
        "closedUntil": closed_until,
        "image": image_json(image),
        "body": snapshot_body(image, committed, closed_until).hex(),
        "bytes": snapshot_bytes(image, committed, closed_until, **frame).hex(),
    }


def snapshot_rows(images: list[dict]) -> list[dict]:
    rows = [snapshot_row("generation 1, an empty ring", images[0], NOW + 1)]
    rows += [
        snapshot_row(f"generation {i['generation']} of the story", i, NOW + i["generation"])
        for i in images
        if i is not images[0]
    ]
    rows.append(snapshot_row("windows have closed", images[5], NOW, NOW - 240))
    rows.append(snapshot_row("closed until the last second", images[5], NOW, 0xFFFFFFFF))
    rows.append(snapshot_row("a frame that does not say its size", images[3], NOW, with_size=False))
    rows.append(snapshot_row("a frame of many blocks", images[3], NOW, block_max=100))
    return rows


def by_owner(image: dict, moves: list[dict]) -> list[dict]:
    """The same moves in order of owners, one bucket a run."""
    to = {bucket: one["current"] for one in moves for bucket in range(one["start"], one["start"] + one["count"])}
    return [
        of(owner, rank, 1, to[bucket])
        for owner in sorted({current for current, _ in image["rows"].values()})
        for rank, bucket in enumerate(owned(image, owner))
        if bucket in to
    ]


def _random_runs(draw: random.Random, buckets: int, chance: float) -> list[tuple[int, int]]:
    runs, at = [], 0
    while at < buckets and draw.random() < chance:
        start = at + draw.randint(0, 40)
        at = min(buckets, start + draw.randint(1, 30))
        if start < at:
            runs.append((start, at - start))
    return runs


def random_delta(draw: random.Random, image: dict, generation: int) -> dict:
    """Random moves between backends that live, releases, closings, removals, deaths and returns; it may be refused."""
    backends = {id_: backend(id_, foreign=not id_ % 5) for id_ in draw.sample(range(1, 40), draw.randint(1, 3))}
    known = image["backends"] | backends_by_id(list(backends.values()))
    live = [id_ for id_, (_, removed, *_) in known.items() if not removed]
    leaver = draw.choice(live)
    if len(live) > 1 and leaver not in backends and draw.random() < 0.5:
        live.remove(leaver)
        is_dead = draw.random() < 0.5
        backends[leaver] = backend(leaver, removed=True, dead=is_dead)
        has = owned(image, leaver)
        moves = [of(leaver, 0, len(has), draw.choice(live))] if has else []
    else:
        moves = [
            run(start, count, draw.choice([*live, 0])) for start, count in _random_runs(draw, image["buckets"], 0.9)
        ]
        if draw.random() < 0.5:
            moves = by_owner(image, moves)
    gone = draw.choice([0, *known])
    releases = [
        release(start, count, draw.choice([gone, gone, 0]))
        for start, count in _random_runs(draw, image["buckets"], 0.8)
    ]
    closed_until = NOW + generation - draw.randint(4, 20) if draw.random() < 0.3 else 0
    listed_now = [backends[id_] for id_ in sorted(backends)]
    return on(image, delta(generation, listed_now, moves, releases, closed_until))


def random_chain(seed: int, buckets: int, deltas: int) -> tuple[dict, list[dict], dict]:
    """An empty ring, deltas that all readers accept, and the image after them."""
    draw = random.Random(seed)
    first = image = empty(SERVICE, buckets)
    changes: list[dict] = []
    while len(changes) < deltas:
        change = random_delta(draw, image, 2 + len(changes))
        try:
            image = apply(image, change)
        except RefusedError:
            continue
        changes.append(change)
    return first, changes, image


def chain_rows(images: list[dict]) -> list[dict]:
    changes = [on(image, change) for image, (_, change) in zip(images, story(), strict=False)]
    rows = [chain_row("the story from an empty ring", images[0], changes)]
    rows.append(chain_row("the story from generation 6 on", images[5], changes[5:]))
    for seed, buckets in ((1, 256), (2, 512), (3, 1024)):
        first, random_changes, _ = random_chain(seed, buckets, 24)
        rows.append(chain_row(f"random deltas of {buckets} buckets, seed {seed}", first, random_changes))
    return rows


def chain_row(name: str, image: dict, changes: list[dict]) -> dict:
    snapshot = snapshot_bytes(image, NOW)
    deltas = []
    # Begin as a reader does: with what the snapshot lists.
    image = image | {"backends": backends_by_id(listed(image))}
    for change in changes:
        deltas.append(delta_bytes(image, change).hex())
        image = apply(image, change)
    committed, closed = changes[-1]["committed"], changes[-1]["closedUntil"]
    return {
        "name": name,
        "snapshot": snapshot.hex(),
        "deltas": deltas,
        "result": image_json(image),
        "committed": committed,
        "closedUntil": closed,
        "resultSnapshotBody": snapshot_body(image, committed, closed).hex(),
    }


def compressed_rows(applied: list[dict], images: list[dict]) -> tuple[dict, dict]:
    """A delta and a snapshot as the zstd command packs them; the oracle cannot read these frames."""
    delta_head = bytes.fromhex(applied[10]["bytes"])[:32]
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
        assert snapshot_body(image, one["committed"], one["closedUntil"]).hex() == one["resultSnapshotBody"], one[
            "name"
        ]
    image = next(one for one in vectors["snapshots"] if one["image"] == vectors["malformedFor"]["image"])
    generation = image["image"]["generation"]
    image = read_snapshot(bytes.fromhex(image["bytes"]), SERVICE, generation, 256)
    for one in vectors["malformed"]:
        assert word_for(one, image, vectors["malformedFor"]) == one["error"], one["name"]


def word_for(row: dict, image: dict, expected: dict) -> str | None:
    data = bytes.fromhex(row["bytes"])
    try:
        if row["kind"] == "delta":
            apply(image, read_delta(data, image, expected["deltaGeneration"]))
        else:
            read_snapshot(data, SERVICE, expected["snapshotGeneration"], expected["buckets"])
    except RefusedError as refused:
        return refused.args[0]
    return None


def delta_vectors() -> dict:
    applied, images = apply_rows()
    last = images[-1]
    vectors = {
        "apply": applied,
        "snapshots": snapshot_rows(images),
        "chains": chain_rows(images),
        "malformedFor": {
            "service": SERVICE,
            "buckets": 256,
            "deltaGeneration": last["generation"] + 1,
            "snapshotGeneration": last["generation"],
            "image": image_json(last),
        },
        "malformed": malformed(last, on(last, delta(last["generation"] + 1, [], [run(0, 1, 8)], [release(3, 1)]))),
    }
    reread(vectors)
    delta_row, snapshot = compressed_rows(applied, images)
    vectors["apply"].append(delta_row)
    vectors["snapshots"].append(snapshot)
    return vectors


def drawn_delta(draw: random.Random) -> dict:
    """One random chain with the image before and after every step; bytes spoiled where any reader must see it."""
    image, changes, _ = random_chain(draw.randrange(1 << 32), draw.choice([256, 512]), 30)
    files: dict = {"apply": [], "snapshots": [], "malformed": []}
    files["chains"] = [chain_row("the random deltas", image, changes)]
    for number, change in enumerate(changes):
        after = apply(image, change)
        one = {"name": f"random delta {number}", "image": image_json(image), "delta": change}
        one |= {"body": delta_body(change).hex(), "bytes": delta_bytes(image, change).hex()}
        files["apply"].append(one | {"result": image_json(after)})
        files["snapshots"].append(
            snapshot_row(f"random snapshot {number}", after, change["committed"], change["closedUntil"])
        )
        image = after
    expected = {"service": SERVICE, "buckets": image["buckets"]}
    expected |= {"deltaGeneration": image["generation"] + 1, "snapshotGeneration": image["generation"]}
    files["malformedFor"] = expected | {"image": image_json(image)}
    good_delta = delta_body(random_delta(draw, image, image["generation"] + 1))
    for number in range(40):
        change = random_delta(draw, image, image["generation"] + 1)
        one = {"name": f"random delta {number}", "kind": "delta", "bytes": delta_bytes(image, change).hex()}
        word = word_for(one, image, expected)
        if word:
            files["malformed"].append(one | {"error": word})
    for number in range(200):
        kind = draw.choice(["delta", "snapshot"])
        body = bytearray(good_delta if kind == "delta" else snapshot_body(image, 1))
        body[draw.randrange(len(body))] ^= 1 << draw.randrange(8)
        data = Parcel.of(kind, image, expected[f"{kind}Generation"], bytes(body)).make()
        one = {"name": f"random fault {number}", "kind": kind, "bytes": spoiled(draw, data, 0.5, 0.2, 32).hex()}
        word = word_for(one, image, expected)
        if word:
            files["malformed"].append(one | {"error": word})
    return files
