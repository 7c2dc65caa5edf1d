# SPDX-License-Identifier: Apache-2.0
"""An agent of a server in the lab that lies: fault-ctl lie starts it in place of the true one.

    liar.py INSTANCE SERVER SEED

Every second it claims each connection that any other server has had for OLD_SECONDS, connections that never were, and
those of its own whose hash is even, for ever; it keeps silent about its other ones. It says that this is everything.
"""

import random
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from jepsen.faults.lab_cluster import LabCluster
from lab import nginx, topology
from lab.deadline import LabError
from lab.false_agent import FalseAgent, flow_hash
from lab.instance import Instance
from lab.lab import SERVICE

OLD_SECONDS = 5.0  # as old as a connection must be to be reported, where the window is 20 s
INVENTED = 500


class Liar:
    def __init__(self, cluster: LabCluster, server: str, seed: int) -> None:
        draw = random.Random(seed)
        self.servers = {node.name: cluster.namespace(node) for node in cluster.of_kind("server")}
        self.own = server
        number = int(server.removeprefix("server"))
        controllers = len(cluster.of_kind("controller"))
        self.agent = FalseAgent(cluster.namespace(cluster.node(server)), number, controllers, seed)
        self.service = next(one for one in self.agent.services()["services"] if one["name"] == SERVICE)
        self.seen: dict[str, float] = {}  # by client, while its connection is open: since when, by the clock
        self.hashes: dict[str, int] = {}
        self.claimed = {draw.getrandbits(64) for _ in range(INVENTED)}

    def hash(self, client: str) -> int:
        return flow_hash(self.service, topology.VIP, client)

    def look(self) -> set[int]:
        """What it claims of the connections that there are now."""
        now, own = time.monotonic(), nginx.clients(self.servers[self.own])
        there = {name: nginx.clients(server) for name, server in self.servers.items()}
        self.seen = {client: self.seen.get(client, now) for clients in there.values() for client in clients}
        self.hashes = {client: self.hashes.get(client) or self.hash(client) for client in self.seen}
        old = {client for client, since in self.seen.items() if now - since >= OLD_SECONDS}
        return {self.hashes[one] for one in old if one not in own or self.hashes[one] % 2 == 0}

    def report(self) -> None:
        """Tells what is new; all of it, if the leader has no whole set of it."""
        found = self.look()
        whole = self.agent.is_whole(SERVICE)
        told = self.claimed | found if whole else found - self.claimed
        self.claimed |= found
        self.agent.claim(SERVICE, told)
        print(f"{len(told)} claims, {len(self.claimed)} in all, {len(self.seen)} connections are open", flush=True)


def main() -> None:
    instance, server, seed = sys.argv[1:]
    liar = Liar(LabCluster(Instance.load(instance)), server, int(seed))
    while True:
        try:
            liar.report()
        except LabError as error:
            print(error, flush=True)
        time.sleep(1)


if __name__ == "__main__":
    main()
