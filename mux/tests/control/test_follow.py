# SPDX-License-Identifier: Apache-2.0
"""
The mux's control side against a real ZooKeeper: generations as a controller writes them, data that it should never
write, and servers and sessions that come and go. The mux's ring is compared by its checksum.
"""

import json
import random
import signal

from deadline import stays, until
from mux_process import MuxProcess
from tree import Service, Tree, backend, commit, run
from zookeeper_process import ZooKeeperProcess

BOTH = [backend(1), backend(2)]


def served(tree: Tree, mux: MuxProcess, **config: object) -> Service:
    """A service at generation 2, served by the mux: two backends with half of the buckets each."""
    service = Service(tree, **config).create()
    half = service.image["buckets"] // 2
    image = service.commit(BOTH, [run(0, half, 1), run(half, half, 2)])
    mux.until_serving(image, service.name)
    return service


def break_checksum(data: bytes) -> bytes:
    return data[:28] + bytes([data[28] ^ 1]) + data[29:]


# --- as a controller writes it -------------------------------------------------------------------------------------


def test_empty_tree(mux: MuxProcess):
    until(lambda: mux.get("/healthz")[0] == 200, 60, "the list of services")
    health = json.loads(mux.get("/healthz")[1])
    assert health["status"] == "ok"
    assert health["zookeeper"] and health["services"] == {}
    assert mux.metric("zookeeper_connected") == 1


def test_snapshot_then_deltas(tree: Tree, zookeeper: ZooKeeperProcess, tmp_path):
    """A mux that starts late: the newest snapshot, then each delta."""
    service = Service(tree).create()
    service.commit(BOTH, [run(0, 128, 1), run(128, 128, 2)])
    service.commit([backend(3)], [run(0, 40, 3)], with_snapshot=True)
    service.commit([], [run(100, 20, 3)])
    image = service.commit([backend(2, removed=True)], [run(128, 128, 3)])
    tree.client.delete(service.gen(2), recursive=True)  # as the controller does below the newest snapshot
    mux = MuxProcess(zookeeper.address, tmp_path)
    mux.start()
    mux.until_serving(image)
    assert mux.state() == "serving" and mux.logged(event="loaded", generation=5) == 1
    mux.stop()


def test_delta_that_is_not_committed(tree: Tree, mux: MuxProcess):
    """A delta is requested as soon as latest_gen changes. If latest_gen does not name it, it is not served."""
    service = served(tree, mux)
    image, data = service.change([], [run(0, 20, 2)])
    orphan = tree.client.transaction()
    orphan.create(service.gen(3))
    service.put(orphan, 3, "delta", data)
    commit(orphan)
    for _ in range(5):
        tree.client.set(f"{service.path}/ring/latest_gen", b"2")
    stays(lambda: mux.generation() == 2 and mux.state() == "serving", 1, "generation 2")
    tree.client.set(f"{service.path}/ring/latest_gen", b"3")
    mux.until_serving(image)
    assert mux.logged(event="loaded") == 1 and not mux.logged(event="refused")


def test_deltas_one_by_one(tree: Tree, mux: MuxProcess):
    service = served(tree, mux)
    draw = random.Random(7)
    for _ in range(20):
        start, count = draw.randrange(200), draw.randrange(1, 56)
        mux.until_serving(service.commit([], [run(start, count, draw.choice([1, 2, 0]))]))
    serving = {"generation": 22, "state": "serving", "settled": 22}
    until(lambda: tree.mux()["services"] == {"web": serving}, 60, "the mux's node")
    assert mux.logged(event="loaded") <= 2 and not mux.logged(event="refused")


def test_deltas_by_owner(tree: Tree, mux: MuxProcess, zookeeper: ZooKeeperProcess, tmp_path):
    """Applied to the published ring, and by a mux that starts late to a staged one."""
    service = served(tree, mux)
    service.commit([backend(3)], [run(10, 60, 3) | {"owner": 1}, run(0, 1, 3) | {"owner": 2}])
    service.commit([], [run(5, 40, 1) | {"owner": 3}, run(50, 2, 2) | {"owner": 3}])
    image = service.commit([backend(1) | {"weight": 7}], [run(0, 128 - 1, 0) | {"owner": 2}])
    mux.until_serving(image)
    assert mux.logged(event="loaded") <= 2 and not mux.logged(event="refused")
    late = MuxProcess(zookeeper.address, tmp_path, "mux2")
    late.start()
    late.until_serving(image)
    late.stop()


def test_many_deltas_at_once(tree: Tree, mux: MuxProcess):
    service = served(tree, mux)
    for at in range(100):
        image = service.commit([], [run(at, 100, 1 + at % 2)])
    mux.until_serving(image)
    assert not mux.logged(event="refused")


def test_chunks_are_read_whole(tree: Tree, mux: MuxProcess):
    """More chunks than are requested at a time, of a delta and of a snapshot."""
    service = served(tree, mux)
    runs = [run(at, 1, 1 + at // 2 % 2) for at in range(0, 256, 2)]
    mux.until_serving(service.commit([], runs, chunk=50))
    mux.until_serving(service.commit([], runs, with_delta=False, with_snapshot=True, chunk=30))
    assert not mux.logged(event="refused")


def test_jump_to_a_snapshot(tree: Tree, mux: MuxProcess):
    """The deltas that the mux lacks are already deleted: it reads the newer snapshot, and nothing is refused."""
    service = served(tree, mux)
    for _ in range(10):
        service.image, _ = service.change([], [run(0, 9, 2)])
    mux.until_serving(service.commit([], [], with_delta=False, with_snapshot=True))
    assert mux.logged(event="loaded", generation=13) == 1 and not mux.logged(event="refused")


def test_large_ring(tree: Tree, mux: MuxProcess):
    service = Service(tree, buckets=65536).create()
    image = service.commit(BOTH, [run(0, 65536, 1)])
    mux.until_serving(image)


def test_config_changes_under_a_ring(tree: Tree, mux: MuxProcess):
    service = served(tree, mux)
    assert mux.explain()[0] == 200
    service.configure(vips=["10.99.0.2"], ports=[{"protocol": "udp", "port": 53}], windowSeconds=60)
    answer = {"destination": "10.99.0.2", "destinationPort": 53, "protocol": "udp"}
    until(lambda: mux.explain(**answer)[0] == 200, 60, "the new VIP")
    assert mux.explain()[0] == 400
    assert mux.serves(service.image) and mux.logged(event="loaded") <= 2
    mux.until_serving(service.commit([], [run(3, 5, 1)]))


def test_service_deleted(tree: Tree, mux: MuxProcess):
    service, other = served(tree, mux), served(tree, mux, id_=2, name="api", vips=["10.99.0.9"])
    service.delete()
    until(lambda: mux.generation("web") is None, 60, "the service to go")
    assert mux.ring("web") == {} and mux.serves(other.image, "api")
    until(lambda: list(tree.mux()["services"]) == ["api"], 60, "the mux's node to follow")
    assert mux.logged(event="deleted", service="web") == 1 and not mux.logged(event="refused")


def test_service_deleted_bit_by_bit(tree: Tree, mux: MuxProcess):
    service = served(tree, mux)
    tree.client.delete(service.path, recursive=True)
    until(lambda: mux.generation() is None, 60, "the service to go")


def test_service_without_config_is_deleted(tree: Tree, mux: MuxProcess):
    """The controller's order of deletion: first the config, at which muxes stop serving, the rest later."""
    service, other = served(tree, mux), served(tree, mux, id_=2, name="api", vips=["10.99.0.9"])
    tree.client.delete(f"{service.path}/config")
    until(lambda: mux.generation() is None and mux.ring() == {}, 60, "the service to end")
    until(lambda: list(tree.mux()["services"]) == ["api"], 60, "the mux's node to follow")
    assert mux.logged(event="deleted", service="web") == 1 and not mux.logged(event="refused")
    new = Service(tree, id_=3, buckets=1024)
    mine = tree.client.transaction()
    service.delete(mine)
    new.create(mine)
    commit(mine)
    mux.until_serving(new.commit(BOTH, [run(0, 1024, 2)]))
    new.delete()
    until(lambda: mux.generation() is None, 60, "the service to end again")
    assert mux.serves(other.image, "api")


def test_start_beside_a_half_deleted_service(tree: Tree, zookeeper: ZooKeeperProcess, tmp_path):
    service = Service(tree).create()
    tree.client.delete(f"{service.path}/config")
    other = Service(tree, id_=2, name="api").create()
    mux = MuxProcess(zookeeper.address, tmp_path)
    mux.start()
    mux.until_serving(other.image, "api")
    assert mux.generation() is None and not mux.logged(event="refused")
    tree.client.create(f"{service.path}/config", json.dumps(service.config | {"vips": ["10.99.0.8"]}).encode())
    mux.until_serving(service.image)
    mux.stop()


def test_service_created_again(tree: Tree, mux: MuxProcess):
    """In one transaction, so that no list lacks it: another id, another number of buckets, the same name."""
    old = served(tree, mux)
    old.commit([], [run(0, 3, 2)])
    new = Service(tree, id_=2, buckets=512)
    mine = tree.client.transaction()
    old.delete(mine)
    new.create(mine)
    commit(mine)
    mux.until_serving(new.image)
    mux.until_serving(new.commit(BOTH, [run(0, 512, 2)]))
    assert mux.state() == "serving"


def test_twenty_services(tree: Tree, mux: MuxProcess):
    services = [Service(tree, id_=at, name=f"s{at}", vips=[f"10.99.1.{at}"]).create() for at in range(1, 21)]
    for service in services:
        service.commit(BOTH, [run(0, 256, 1)])
    for service in services:
        mux.until_serving(service.image, service.name)


# --- what is refused -----------------------------------------------------------------------------------------------


def refused_and_mended(tree: Tree, mux: MuxProcess, reason: str, damage) -> None:
    """A bad delta leaves the ring unchanged, is counted each time and logged once; a good replacement is applied."""
    service = served(tree, mux)
    before = service.image
    data = service.change([backend(3)], [run(0, 9, 3)])[1]
    after = service.commit([backend(3)], [run(0, 9, 3)], damage=damage)
    until(lambda: mux.refused(reason) >= 3, 60, f"the third refusal as {reason}\n{mux.log()}")
    assert mux.serves(before) and mux.state() == "stale"
    assert mux.logged(event="refused", reason=reason, generation=3) == 1, mux.log()
    until(lambda: "refused" in tree.mux()["services"]["web"], 60, "the node to say so")
    node = tree.mux()["services"]["web"]
    assert node.pop("why")
    assert node == {"generation": 2, "state": "stale", "settled": 2, "refused": reason}
    tree.client.set(f"{service.gen(3)}/delta/0000", data)
    mux.until_serving(after)
    until(lambda: mux.state() == "serving", 60, "the state")
    assert mux.logged(event="accepted", generation=3, after=reason) == 1


def test_bad_checksum(tree: Tree, mux: MuxProcess):
    refused_and_mended(tree, mux, "checksum", break_checksum)


def test_more_than_the_owner_has(tree: Tree, mux: MuxProcess):
    service = served(tree, mux)
    before = service.image
    service.commit([], [run(100, 29, 1) | {"owner": 2}])
    until(lambda: mux.refused("run") >= 2, 60, "the refusals")
    assert mux.serves(before) and mux.state() == "stale"


def test_unknown_version(tree: Tree, mux: MuxProcess):
    refused_and_mended(tree, mux, "magic", lambda data: b"FLD2" + data[4:])


def test_cut_short(tree: Tree, mux: MuxProcess):
    refused_and_mended(tree, mux, "compression", lambda data: data[:-3])


def test_of_another_service(tree: Tree, mux: MuxProcess):
    refused_and_mended(tree, mux, "service", lambda data: data[:4] + b"\x09" + data[5:])


def test_gap(tree: Tree, mux: MuxProcess):
    """A generation without a delta, and no later snapshot: the old ring serves until there is one."""
    service = served(tree, mux)
    before = service.image
    service.commit([], [run(0, 9, 2)], with_delta=False)
    service.commit([], [run(9, 9, 2)])
    until(lambda: mux.refused("missing") >= 2, 60, "the refusal")
    assert mux.serves(before) and mux.state() == "stale"
    assert mux.logged(event="refused", reason="missing", generation=3) == 1
    mux.until_serving(service.commit([], [run(18, 9, 2)], with_snapshot=True))
    until(lambda: mux.state() == "serving", 60, "the state")


def test_gap_between_chunks(tree: Tree, mux: MuxProcess):
    service = served(tree, mux)
    before, data = service.image, service.change([], [run(0, 9, 2)])[1]
    after = service.commit([], [run(0, 9, 2)], chunk=20)
    # The mux may read everything before the chunk is deleted; the gap must then show at the next generation.
    tree.client.delete(f"{service.gen(3)}/delta/0001")
    image = service.commit([], [run(9, 9, 2)])
    if mux.refused("missing"):
        assert mux.serves(before)
    tree.client.create(f"{service.gen(3)}/delta/0001", data[20:40])
    mux.until_serving(image)
    assert after["generation"] == 3


def test_start_on_a_damaged_delta(tree: Tree, zookeeper: ZooKeeperProcess, tmp_path):
    """The last complete generation serves: the one before the damage, as on muxes that were already running."""
    service = Service(tree).create()
    before = service.commit(BOTH, [run(0, 256, 1)])
    service.commit([], [run(0, 9, 2)], damage=break_checksum)
    mux = MuxProcess(zookeeper.address, tmp_path)
    mux.start()
    mux.until_serving(before)
    assert mux.state() == "stale"
    mux.until_serving(service.commit([], [], with_snapshot=True))
    mux.stop()


def test_damaged_snapshot(tree: Tree, mux: MuxProcess):
    service = served(tree, mux)
    before = service.image
    service.commit([], [run(0, 9, 2)], with_delta=False, with_snapshot=True)
    # The mux may be faster than the damage, so a generation is damaged that can only be reached through it.
    good = service.snapshot_bytes()
    mux.until_serving(service.image)
    service.image, _ = service.change([], [run(0, 30, 1)])
    mine = tree.client.transaction()
    mine.create(service.gen(4))
    service.put(mine, 4, "snapshot", good)  # of generation 3
    mine.set_data(f"{service.path}/ring/latest_snapshot", b"4")
    mine.set_data(f"{service.path}/ring/latest_gen", b"4")
    commit(mine)
    until(lambda: mux.refused("generation") >= 2, 60, "the refusal")
    assert mux.generation() == 3 and before["generation"] == 2
    tree.client.set(f"{service.gen(4)}/snapshot/0000", service.snapshot_bytes())
    mux.until_serving(service.image)


def test_numbers_that_are_none(tree: Tree, mux: MuxProcess):
    service = served(tree, mux)
    for text in (b"", b"0", b"-1", b"three", b"99999999999"):
        seen = mux.refused("number")
        tree.client.set(f"{service.path}/ring/latest_gen", text)
        until(lambda seen=seen: mux.refused("number") > seen, 60, f"{text!r} to be refused")
    assert mux.serves(service.image) and mux.state() == "stale"
    tree.client.set(f"{service.path}/ring/latest_gen", b"2")
    until(lambda: mux.state() == "serving", 60, "the state")


def test_bad_config(tree: Tree, mux: MuxProcess):
    """The ring keeps following under the last valid configuration."""
    service = served(tree, mux)
    service.configure(format=2)
    until(lambda: mux.refused("config") >= 1, 60, "the refusal")
    assert "format is 2; allowed: 1..1" in mux.log()
    mux.until_serving(service.commit([], [run(0, 9, 2)]))
    assert mux.state() == "stale" and mux.explain()[0] == 200
    service.configure(format=1)
    until(lambda: mux.state() == "serving", 60, "the state")


def test_a_node_has_room_for_the_refusals_of_all(tree: Tree, mux: MuxProcess):
    """The word for each, and sentences of 32 KB together."""
    count = 500
    for at in range(1, count + 1):
        Service(tree, id_=at, name=f"service{at}", vips=["10.99.1.1"], encap="x" * 60).create()
    until(lambda: len(tree.mux()["services"]) == count, 60, f"all of them\n{mux.log()}")
    until(lambda: all("refused" in each for each in tree.mux()["services"].values()), 60, "all refusals")
    sentences = [each["why"] for each in tree.mux()["services"].values() if "why" in each]
    assert len(sentences) < count and 32_000 < sum(map(len, sentences)) <= 32_768


def test_two_services_want_one_vip(tree: Tree, mux: MuxProcess):
    web = served(tree, mux)
    api = Service(tree, id_=2, name="api").create()
    image = api.commit(BOTH, [run(0, 256, 1)])
    until(lambda: mux.refused("config", "api") >= 1, 60, "the refusal")
    assert mux.state("api") == "loading" and mux.serves(web.image)
    web.configure(vips=["10.99.0.7"])
    mux.until_serving(image, "api")


def test_backends_of_both_families(tree: Tree, mux: MuxProcess):
    service = served(tree, mux)
    mux.until_serving(service.commit([backend(3, "2001:db8::3")], [run(0, 9, 3)]))
    assert mux.state() == "serving"


def test_unknown_config_keys_are_ignored(tree: Tree, mux: MuxProcess):
    served(tree, mux, colour="red")


# --- ZooKeeper and sessions come and go ----------------------------------------------------------------------------


def test_zookeeper_stops_for_a_while(tree: Tree, mux: MuxProcess, zookeeper: ZooKeeperProcess):
    service = served(tree, mux)
    zookeeper.stop()
    until(lambda: mux.metric("zookeeper_connected") == 0, 60, "the loss to be seen")
    stays(lambda: mux.serves(service.image) and mux.state() == "serving", 2, "the ring")
    assert mux.get("/healthz")[0] == 200 and mux.explain()[0] == 200
    zookeeper.start()
    until(lambda: mux.metric("zookeeper_connected") == 1, 60, "the connection")
    until(tree.answers, 60, "this test's own session")
    mux.until_serving(service.commit([], [run(0, 9, 2)]))
    until(lambda: tree.mux()["services"]["web"]["generation"] == 3, 60, "the mux's node")
    assert not mux.logged(event="refused")


def test_mux_starts_without_zookeeper(tree: Tree, zookeeper: ZooKeeperProcess, tmp_path):
    service = Service(tree).create()
    zookeeper.stop()
    mux = MuxProcess(zookeeper.address, tmp_path)
    mux.start()
    assert mux.get("/healthz")[0] == 503
    zookeeper.start()
    mux.until_serving(service.image)
    mux.stop()


def test_zookeeper_forgets_everything(tree: Tree, mux: MuxProcess, zookeeper: ZooKeeperProcess):
    """An empty ZooKeeper does not stop a mux: it keeps serving its services until a list lacks them."""
    service = served(tree, mux)
    zookeeper.stop()
    zookeeper.forget()
    zookeeper.start()
    until(lambda: mux.metric("zookeeper_connected") == 1, 60, "a new session")
    stays(lambda: mux.serves(service.image), 2, "the ring")
    other = Tree(zookeeper.address)
    other.clear()
    other.close()
    until(lambda: mux.generation() is None, 60, "the empty list to count")


def test_zookeeper_is_emptied_and_restored(tree: Tree, mux: MuxProcess, zookeeper: ZooKeeperProcess):
    """Missed changes return with the list: no service ends, and later changes are followed."""
    service = served(tree, mux)
    loaded = mux.logged(event="loaded")
    zookeeper.stop()
    zookeeper.set_aside()
    zookeeper.start()
    until(lambda: mux.logged(event="list_missing", services=1) == 1, 60, "the list to be missed")
    zookeeper.stop()
    zookeeper.bring_back()
    zookeeper.start()
    until(lambda: mux.logged(event="list_found", services=1) == 1, 60, "the list to be back")
    other = Tree(zookeeper.address)
    service.client = other.client
    mux.until_serving(service.commit([], [run(0, 9, 2)]))
    other.close()
    assert not mux.logged(event="deleted") and not mux.logged(event="refused")
    assert mux.logged(event="loaded") == loaded


def test_another_cluster_is_not_followed(tree: Tree, mux: MuxProcess, zookeeper: ZooKeeperProcess):
    """A controller that found ZooKeeper empty creates a new cluster; the old one is restored at higher generations."""
    tree.client.create("/fairlead/cluster", b"0" * 32)
    service = served(tree, mux)
    zookeeper.stop()
    zookeeper.forget()
    zookeeper.start()
    other = Tree(zookeeper.address)
    other.clear()
    other.client.create("/fairlead/cluster", b"1" * 32)
    until(lambda: mux.metric("foreign_cluster") == 1, 60, "the other cluster to be seen")
    stays(lambda: mux.serves(service.image) and mux.state() == "serving", 2, "the ring")
    service.client = other.client
    service.image["generation"] = 1000
    service.create()
    stays(lambda: mux.generation() == 2, 1, "the ring, as long as the name is another one")
    other.client.set("/fairlead/cluster", b"0" * 32)
    mux.until_serving(service.image)
    assert mux.metric("foreign_cluster") == 0 and mux.explain()[0] == 200
    mux.until_serving(service.commit([], [run(0, 9, 2)]))
    assert not mux.logged(event="deleted") and not mux.logged(event="refused"), mux.log()
    other.close()


def test_a_mux_without_services_follows_any_cluster(tree: Tree, mux: MuxProcess):
    tree.client.create("/fairlead/cluster", b"0" * 32)
    until(lambda: mux.get("/healthz")[0] == 200, 60, "the list of services")
    tree.client.set("/fairlead/cluster", b"1" * 32)
    served(tree, mux)
    tree.client.set("/fairlead/cluster", b"0" * 32)
    until(lambda: mux.metric("foreign_cluster") == 1, 60, "the other cluster to be seen")
    tree.client.delete("/fairlead/cluster")
    stays(lambda: mux.metric("foreign_cluster") == 1, 1, "the mux to hold on")
    tree.client.create("/fairlead/cluster", b"1" * 32)
    until(lambda: mux.metric("foreign_cluster") == 0, 60, "its own cluster")


def test_list_vanishes_and_returns(tree: Tree, mux: MuxProcess):
    """In one transaction each, within one session; the service then has lower generations than before."""
    service = served(tree, mux)
    mux.until_serving(service.commit([], [run(0, 9, 2)]))
    mine = tree.client.transaction()
    service.delete(mine)
    mine.delete("/fairlead/services")
    commit(mine)
    until(lambda: mux.logged(event="list_missing") == 1, 60, "the list to be missed")
    stays(lambda: mux.serves(service.image) and mux.state() == "serving", 1, "the ring")
    again = Service(tree)
    mine = tree.client.transaction()
    mine.create("/fairlead/services")
    again.create(mine)
    commit(mine)
    mux.until_serving(again.image)
    mux.until_serving(again.commit(BOTH, [run(0, 256, 2)]))
    assert not mux.logged(event="deleted") and not mux.logged(event="refused"), mux.log()


def test_session_expires(tree: Tree, mux: MuxProcess):
    """The mux is stopped for longer than its session lasts; then it has a new session, its node and the changes."""
    service = served(tree, mux)
    until(lambda: tree.mux() is not None, 60, "the mux's node")
    before = tree.session()
    mux.process.send_signal(signal.SIGSTOP)
    try:
        until(lambda: tree.mux() is None, 60, "the node to vanish with its session")
        image = service.commit([], [run(0, 9, 2)])
    finally:
        mux.process.send_signal(signal.SIGCONT)
    mux.until_serving(image)
    until(lambda: tree.mux() is not None, 60, "the node to be back")
    assert tree.session() != before
    serving = {"generation": 3, "state": "serving", "settled": 3}
    until(lambda: tree.mux()["services"] == {"web": serving}, 60, "what it says")
    assert mux.logged(event="zookeeper_lost") >= 1 and mux.logged(event="registered") == 2


# --- the mux's node ------------------------------------------------------------------------------------------------


def test_node(tree: Tree, mux: MuxProcess):
    until(lambda: tree.mux() is not None, 60, "the node")
    node = tree.mux()
    version = node.pop("version")
    assert node == {
        "format": 1,
        "id": "mux1",
        "kind": "c",
        "behindSeconds": 0,  # control_mux withdraws nothing
        "address": "10.1.0.11",
        "ports": [],
        "needs": {"10.1.0.11": "own"},
        "services": {},
    }
    assert version.count(".") == 2
    tree.leave("mux1")
    served(tree, mux)
    until(lambda: tree.mux() is not None, 60, "the node to be made again")


def test_node_is_written_less_often_the_more_muxes_there_are(tree: Tree, mux: MuxProcess):
    """Changes while a write is scheduled are combined into one write of the latest state."""
    service = served(tree, mux)
    for number in range(2, 102):
        node = {"format": 1, "id": f"mux{number}", "address": f"10.1.1.{number}"}
        tree.join(f"mux{number}", node)
    until(lambda: mux.logged(event="peers", muxes=101) == 1, 60, "the mux to see the others")
    until(lambda: tree.mux()["services"]["web"]["generation"] == 2, 60, "the mux's node")
    before = tree.writes()
    for number in range(40):
        mux.until_serving(service.commit([], [run(0, 20, 1 + number % 2)]))
    until(lambda: tree.mux()["services"]["web"]["generation"] == 42, 60, "the mux's node to follow")
    assert tree.writes() - before < 40


def test_node_goes_with_the_mux(tree: Tree, zookeeper: ZooKeeperProcess, tmp_path):
    mux = MuxProcess(zookeeper.address, tmp_path)
    mux.start()
    until(lambda: tree.mux() is not None, 60, "the node")
    mux.stop()
    assert tree.mux() is None, "an orderly end closes the session"


def test_node_of_a_killed_mux(tree: Tree, zookeeper: ZooKeeperProcess, tmp_path):
    """The same id again while the dead process's session lasts: it serves while it waits for the node to vanish."""
    service = Service(tree).create()
    first = MuxProcess(zookeeper.address, tmp_path)
    first.start()
    first.until_serving(service.image)
    until(lambda: first.metric("registered") == 1, 60, "the first's node")
    owner = tree.session()
    first.kill()
    second = MuxProcess(zookeeper.address, tmp_path)
    second.start()
    second.until_serving(service.image)
    until(lambda: second.metric("registered") == 1, 60, f"its own node\n{second.log()}")
    assert tree.session() != owner
    assert second.logged(event="node_taken") <= 1
    second.stop()


def test_two_muxes_of_one_id(tree: Tree, mux: MuxProcess, zookeeper: ZooKeeperProcess, tmp_path):
    """Both serve; the second logs once which session it waits for, and takes the node when the first has gone."""
    service = served(tree, mux)
    until(lambda: mux.metric("registered") == 1, 60, "the first's node")
    owner = tree.session()
    second = MuxProcess(zookeeper.address, tmp_path)
    second.start()
    second.until_serving(service.image)
    until(lambda: second.logged(event="node_taken", session=f"0x{owner:x}") == 1, 60, "the second to see the first")
    image = service.commit([], [run(0, 9, 2)])
    mux.until_serving(image)
    second.until_serving(image)
    assert second.metric("registered") == 0 and mux.metric("registered") == 1
    assert tree.session() == owner
    mux.stop()
    until(lambda: second.metric("registered") == 1, 60, "the second's node")
    until(lambda: tree.mux()["services"]["web"]["generation"] == 3, 60, "what it says")
    assert second.logged(event="node_taken") == 1
    second.stop()
