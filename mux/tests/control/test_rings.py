# SPDX-License-Identifier: Apache-2.0
"""/rings: each applied generation, in order, with the sum of its image; and what a mux does if a delta has another."""

import json
import struct

from deadline import until
from mux_process import MuxProcess
from oracle.delta_reader import unframe
from test_follow import served
from tree import Tree, backend, codec, run, sum_of


def rings(mux: MuxProcess, **query: object) -> dict:
    status, text = mux.get("/rings", **query)
    assert status == 200, text
    return json.loads(text)


def applied(mux: MuxProcess, **query: object) -> list[tuple]:
    return [(e["service"], e["generation"], e["sum"], e["how"]) for e in rings(mux, **query)["applied"]]


def expected(image: dict, how: str) -> tuple:
    return ("web", image["generation"], sum_of(image), how)


def test_every_applied_generation_is_told_with_the_sum_of_its_image(tree: Tree, mux: MuxProcess):
    service = served(tree, mux)
    changes = [
        ([], [run(0, 64, 2)]),
        ([backend(3)], [run(10, 5, 3)]),
        ([backend(2, removed=True)], [run(0, 10, 1), run(15, 49, 1)]),
        ([backend(3, address="10.1.0.77")], []),
        ([], [run(0, 256, 3)]),  # nothing of the removed one is left
    ]
    images = [service.image, *(service.commit(*change) for change in changes)]
    mux.until_serving(images[-1])
    told = rings(mux)
    assert told["mux"] == "mux1" and told["first"] == 1
    assert told["rings"] == [
        {"service": "web", "generation": images[-1]["generation"], "sum": told["applied"][-1]["sum"]}
    ]
    assert applied(mux)[-len(changes) :] == [expected(image, "delta") for image in images[1:]]
    assert applied(mux)[0][3] == "snapshot"
    assert [entry["number"] for entry in told["applied"]] == list(range(1, told["next"]))
    assert applied(mux, since=told["next"]) == []
    after = service.commit([], [run(1, 1, 1)])
    mux.until_serving(after)
    assert applied(mux, since=told["next"]) == [expected(after, "delta")]
    assert rings(mux, since=10**17)["applied"] == []


def test_another_process_is_known_by_its_boot(tree: Tree, mux: MuxProcess):
    service = served(tree, mux)
    before = rings(mux)["boot"]
    mux.stop()
    mux.start()
    mux.until_serving(service.image)
    until(lambda: rings(mux)["boot"] != before, 60, "another boot")
    assert applied(mux) == [expected(service.image, "snapshot")]


def test_rings_refuses(mux: MuxProcess):
    for value in ("-1", "", "x", "1.5", "9" * 19):
        status, text = mux.get("/rings", since=value)
        assert (status, json.loads(text)["field"]) == (400, "since"), value


def of_another_image(data: bytes) -> bytes:
    """The delta with another sum of its base."""
    service, generation, base, buckets = struct.unpack("<IIII", data[4:20])
    body = unframe(data[32:])
    body = body[:8] + bytes([body[8] ^ 1]) + body[9:]
    return codec.header("delta", service, generation, base, buckets, body) + codec.zstd_frame(body)


def test_a_mux_whose_image_is_another_reads_the_snapshot(tree: Tree, mux: MuxProcess):
    service = served(tree, mux)
    before = service.image
    after = service.commit([], [run(0, 9, 2)], damage=of_another_image)
    until(lambda: mux.refused("base") >= 2, 60, mux.log())
    assert mux.serves(before) and tree.mux()["services"]["web"]["refused"] == "base"
    after = service.commit([], [run(9, 9, 2)], with_snapshot=True)
    mux.until_serving(after)
    refused = mux.refused("base")
    mux.until_serving(service.commit([], [run(18, 9, 2)]))
    assert mux.refused("base") == refused and applied(mux)[-1] == expected(service.image, "delta")
