# SPDX-License-Identifier: Apache-2.0
"""The vector files once more with rows drawn at random, in the same shapes: the same tests become property tests."""

import random

from oracle import RefusedError
from oracle.delta import apply, delta_body, image_json, snapshot_body
from oracle.flow import crc32
from oracle.steer import chain, mark_late, promote, read, write

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
from .second import drawn_second, passed
from .srv6 import drawn_srv6
from .tag import drawn_tag
from .verdict import PACKETS, A, B, C, D, by_id, late, memory, row, steer


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


def _drawn_second(draw: random.Random) -> dict:
    moved = draw.random() < 0.5
    return {
        "bucket": draw.randrange(1 << 23),
        "owner": _address(draw, draw.random() < 0.5),
        "since": draw.randrange(1 << 32) if moved else None,
        "previous": _address(draw, draw.random() < 0.5) if moved else None,
    }


def _drawn_header(draw: random.Random) -> bytes:
    moved = draw.random() < 0.5
    header = {
        "innerProtocol": draw.choice([4, 41]),
        "hops": draw.randrange(16),
        "service": draw.randrange(1 << 16),
        "bucket": draw.randrange(1 << 23),
        "generation": draw.randrange(1, 1 << 32),
        "since": draw.randrange(1 << 32) if moved else None,
        "previous": _address(draw, draw.random() < 0.5) if moved else None,
        "tag": draw.randbytes(8).hex() if draw.random() < 0.3 else None,
        "second": _drawn_second(draw) if draw.random() < 0.4 else None,
        "late": draw.random() < 0.3,
    }
    return write(header, draw.choice([0, 0, 1, 3])) + draw.randbytes(draw.choice([0, 0, 20]))


def drawn_steer(draw: random.Random) -> dict:
    """Right headers, and the same with a bit turned or cut short; the oracle tells which of them are still right."""
    files: dict[str, list] = {"valid": [], "malformed": [], "chained": [], "promoted": [], "late": []}
    for number in range(900):
        data = bytearray(_drawn_header(draw))
        if draw.random() < 0.5:
            data[draw.randrange(min(len(data), 16))] ^= 1 << draw.randrange(8)
        if draw.random() < 0.2:
            data = data[: draw.randrange(len(data))]
        name = f"random header {number}"
        try:
            fields = read(bytes(data))
        except RefusedError as refused:
            files["malformed"].append({"name": name, "bytes": data.hex(), "error": refused.args[0]})
            continue
        files["valid"].append({"name": name, "bytes": data.hex(), "fields": fields, "written": write(fields).hex()})
        if fields["hops"] < 3:
            files["chained"].append({"name": name, "before": data.hex(), "after": chain(bytes(data)).hex()})
        if fields["second"]:
            files["promoted"].append({"name": name, "before": data.hex(), "after": promote(bytes(data)).hex()})
        files["late"].append({"name": name, "before": data.hex(), "after": mark_late(bytes(data)).hex()})
    return files


def drawn_verdict(draw: random.Random) -> dict:
    """Few values of each kind, so that equal ones, neighbours and the ends of windows all come up."""
    rows, passed_on = [], []
    addresses = [A, B, C, D, "2001:db8::1", None]
    for number in range(3000):
        now = draw.choice([0, 3, 250, 1_700_000_000, 0xFFFFFFFF])
        times = [min(max(now + d, 0), 0xFFFFFFFF) for d in (-300, -240, -239, -10, -1, 0, 1, 5, 6, 300)]
        since = draw.choice([None, *times])
        fault = draw.random() < 0.05
        given = {
            "packet": draw.choice([*PACKETS, "unknown", "unknown"]),
            "trusted": draw.random() < 0.95,
            "chaining": draw.random() < 0.9,
            "malformed": "length" if fault else None,
            "steer": None
            if fault
            else draw.choice([steer, steer, steer, by_id])(
                draw.randrange(1, 5), draw.randrange(5), since, None if since is None else draw.choice(addresses)
            ),
            "generationSeen": draw.randrange(5),
            "memory": {
                "since": draw.choice(times),
                "generation": draw.randrange(5),
                "previous": draw.choice(addresses),
            },
            "now": now,
            "window": draw.choice([0, 1, 240, 0xFFFFFFFF]),
            "self": draw.choice(addresses[:-1]),
        }
        if not fault and draw.random() < 0.2:
            given["steer"] = late(given["steer"])
        rows.append(row(f"random packet {number}", **given))
        if not fault and draw.random() < 0.5:
            given["steer"] = given["steer"] | {"second": drawn_second(draw, addresses, times)}
            known = memory(draw.choice(times), draw.randrange(5), draw.choice(addresses))
            there = "refused" if given["packet"] == "refused" else draw.choice(["unknown", "local_socket"])
            passed_on.append(passed(f"random packet {number}", known, there, draw.randrange(5), **given))
    return {"rows": rows, "passed": passed_on}


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
        data = bytearray(Parcel.of(kind, image, expected[f"{kind}Generation"], bytes(body)).make())
        if draw.random() < 0.5:
            data[draw.randrange(32)] ^= 1 << draw.randrange(8)
        if draw.random() < 0.2:
            data = data[: draw.randrange(len(data))]
        one = {"name": f"random fault {number}", "kind": kind, "bytes": data.hex()}
        word = word_for(one, image, expected)
        if word:
            files["malformed"].append(one | {"error": word})
    return files


def drawn_files(seed: int) -> dict[str, dict]:
    """File name to content. Each file has a source of its own: one can change and leave the others."""
    makers = {
        "hash.json": drawn_hash,
        "steer.json": drawn_steer,
        "list.json": drawn_list,
        "list-srv6.json": drawn_list_srv6,
        "ipip.json": drawn_ipip,
        "srv6.json": drawn_srv6,
        "tag.json": drawn_tag,
        "notice.json": drawn_notice,
        "fragment.json": drawn_fragment,
        "hello.json": drawn_hello,
        "reports.json": drawn_reports,
        "decide.json": drawn_decide,
        "delta.json": drawn_delta,
        "othello.json": drawn_othello,
        "verdict.json": drawn_verdict,
    }
    files = {name: maker(random.Random(f"{seed} {name}")) for name, maker in makers.items()}
    return files | {"siphash.json": siphash_vectors()}
