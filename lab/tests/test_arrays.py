# SPDX-License-Identifier: Apache-2.0
"""A leader that is killed while it writes arrays: a part of their chunks is in ZooKeeper, and no generation names them.

A false agent makes the arrays large: it claims connections that never were. ZooKeeper's packets are slowed down, so
that each chunk takes a while.
"""

import json
import random
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from kazoo.client import KazooClient
from kazoo.exceptions import NoNodeError

from lab import Lab, nginx, topology
from lab.controller import Controller
from lab.deadline import until
from lab.false_agent import FalseAgent, flow_hash
from lab.lab import SERVICE
from lab.variant import Variant
from lab.zookeeper import AUTH_DATA

WINDOW = 60  # seconds: two thirds of it are longer than a change of leader takes
LONG = 60
CLAIMED = 1_000_000  # a third of them is in the liar's buckets: above 700 KB, arrays are written in several requests
SLOW = f"""\
table inet slowed {{
  chain out {{
    type filter hook output priority 0;
    tcp dport {topology.ZOOKEEPER_PORT} limit rate over 2 mbytes/second burst 512 kbytes drop;
  }}
}}
"""
SECONDS = 120
RING = f"/fairlead/services/{SERVICE}/ring"


def status(lab: Lab) -> dict:
    return lab.api("GET", f"/v1/services/{SERVICE}/othello")


@contextmanager
def zookeeper(lab: Lab) -> Iterator[KazooClient]:
    client = KazooClient(f"{lab.controller.address}:{topology.ZOOKEEPER_PORT}", auth_data=AUTH_DATA)
    with lab.servers[1].namespace.inside():
        client.start()
    try:
        yield client
    finally:
        client.stop()
        client.close()


@contextmanager
def slowed(controllers: list[Controller]) -> Iterator[None]:
    """What controllers send to ZooKeeper has a rate."""
    for each in controllers:
        each.namespace.run("nft", "-f", "-", stdin=SLOW)
    try:
        yield
    finally:
        for each in controllers:
            each.run("nft", "delete", "table", "inet", "slowed")


def latest(client: KazooClient) -> int:
    return int(client.get(f"{RING}/latest_gen")[0])


def chunks(client: KazooClient, generation: int) -> list[str]:
    """Those of the generation's whole arrays."""
    try:
        return client.get_children(f"{RING}/gen/{generation:010}/arrays")
    except NoNodeError:
        return []


def named(client: KazooClient) -> set[int]:
    """The generations whose whole arrays readers read."""
    try:
        said = json.loads(client.get(f"{RING}/latest_arrays")[0])
    except NoNodeError:
        return set()
    return {said["whole"], said.get("previousWhole", said["whole"])}


def left_over(client: KazooClient) -> set[int]:
    generations = {int(name) for name in client.get_children(f"{RING}/gen")}
    return {one for one in generations if chunks(client, one)} - named(client)


class Liar:
    def __init__(self, lab: Lab, number: int) -> None:
        self.server = lab.servers[number]
        self.server.agent.stop()
        self.agent = FalseAgent(self.server.namespace, number, controllers=2)
        service = next(one for one in self.agent.services()["services"] if one["name"] == SERVICE)
        draw = random.Random(1)
        own = {flow_hash(service, topology.VIP, client) for client in nginx.clients(self.server)}
        self.hashes = own | {draw.getrandbits(64) for _ in range(CLAIMED)}

    def report(self) -> None:
        """Everything, in parts, if the leader has no whole set of it; otherwise that there is no change."""
        if self.agent.is_whole(SERVICE):
            self.agent.claim(SERVICE, self.hashes)
        else:
            self.agent.claim(SERVICE, ())


@pytest.mark.long
def test_leader_killed_while_it_writes_arrays(built: None) -> None:
    variant = Variant(agents=True, steering="othello")
    with Lab(servers=3, muxes=2, window=WINDOW, controllers=2, variant=variant) as lab, zookeeper(lab) as client:
        lab.wait_reporting()
        with lab.traffic(long=LONG, short_rate=5) as traffic:
            traffic.wait_open()
            until("all connections are known", lambda: status(lab)["connections"] >= LONG, SECONDS)
            liar = Liar(lab, 3)

            def told(count: int) -> bool:
                liar.report()
                return status(lab)["connections"] > count

            until("the leader believes the liar", lambda: told(CLAIMED // 4), SECONDS, pause=1)
            leader = next(each for each in lab.controllers if each.leads)
            with slowed(lab.controllers):
                lab.weights({2: 40})
                until("a chunk is written ahead", lambda: left_over(client), SECONDS, pause=0)
                leader.process.kill()
                torn = left_over(client)
            print(f"generations with arrays that no reader reads: {torn}; the latest one is {latest(client)}")
            assert torn, "the arrays were committed before the leader was killed"
            other = next(each for each in lab.controllers if each is not leader)
            until("the other one leads", lambda: other.leads, SECONDS)

            def followed() -> bool:
                liar.report()
                now = status(lab)
                return "arrays" in now and now["miscoded"] == 0 and now["connections"] > CLAIMED // 4

            until("the next leader's arrays know all connections", followed, SECONDS, pause=1)
            lab.wait_applied()
            until("nothing is left over", lambda: not left_over(client), SECONDS)
            now = status(lab)
            print(f"arrays {now['arrays']}, chunks {chunks(client, now['arrays']['generation'])}")
            traffic.wait_seconds(WINDOW)
            traffic.talk()
            traffic.wait_seconds(3)
        broken = traffic.broken()
    assert broken == []
