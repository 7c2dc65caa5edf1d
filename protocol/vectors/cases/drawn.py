# SPDX-License-Identifier: Apache-2.0
"""The vector files once more with rows drawn at random, in the same shapes: the same tests become property tests."""

import random

from oracle.delta import apply, delta_body, image_json, snapshot_body
from oracle.flow import crc32

from .decide import drawn_decide
from .delta import SERVICE, chain_row, delta_bytes, random_chain, random_delta, snapshot_row, word_for
from .delta_malformed import Parcel
from .flow import answer, nat, siphash_vectors
from .fragment import drawn_fragment
from .hello import drawn_hello
from .ipip import drawn_ipip
from .list import drawn_list
from .list_srv6 import drawn_list_srv6
from .notice import drawn_notice
from .othello import drawn_othello
from .report import drawn_reports
from .rows import spoiled


def _address(draw: random.Random, ipv6: bool) -> str:
    if not ipv6:
        return ".".join(str(draw.randrange(256)) for _ in range(4))
    return ":".join(["2001", "db8"] + [f"{draw.randrange(1, 65536):x}" for _ in range(6)])


def drawn_hash(draw: random.Random) -> dict:
    rows = []
    for number in range(300):
        ipv6 = draw.random() < 0.5
        flow = {
            "name": f"random flow {number}",
            "hash": draw.choice(["siphash", "crc32"]),
            "hashKey": draw.randbytes(16).hex(),
            "affinity": draw.choice(["connection", "client"]),
            "protocol": draw.choice([6, 17, draw.randrange(256)]),
            "source": _address(draw, ipv6),
            "sourcePort": draw.randrange(65536),
            "destination": _address(draw, ipv6),
            "destinationPort": draw.randrange(65536),
        }
        rows.append(flow | answer(flow))
    return {"rows": rows, "nat": [nat("crc32")], "crc32": _drawn_crc32(draw)}


def _drawn_crc32(draw: random.Random) -> list[dict]:
    texts = [draw.randbytes(draw.randrange(80)) for _ in range(50)]
    return [{"name": f"random text {n}", "data": t.hex(), "crc32": crc32(t)} for n, t in enumerate(texts)]


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


def drawn_files(seed: int) -> dict[str, dict]:
    """File name to content. Each file has a source of its own: one can change and leave the others."""
    makers = {
        "hash.json": drawn_hash,
        "list.json": drawn_list,
        "list-srv6.json": drawn_list_srv6,
        "ipip.json": drawn_ipip,
        "notice.json": drawn_notice,
        "fragment.json": drawn_fragment,
        "hello.json": drawn_hello,
        "reports.json": drawn_reports,
        "decide.json": drawn_decide,
        "delta.json": drawn_delta,
        "othello.json": drawn_othello,
    }
    files = {name: maker(random.Random(f"{seed} {name}")) for name, maker in makers.items()}
    return files | {"siphash.json": siphash_vectors()}
