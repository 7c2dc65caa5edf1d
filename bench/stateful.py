# SPDX-License-Identifier: Apache-2.0
"""
Beamer's Stateful in a lab: the mux's own steering `flowtable`, which remembers each flow, without chaining by servers.
"""

import json
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))

from kazoo.client import KazooClient

from lab import topology
from lab.lab import SERVICE
from lab.variant import Variant
from lab.zookeeper import AUTH_DATA


def variant(flows):
    """Of a lab whose muxes have room for so many flows each, and whose servers do not chain."""
    return Variant(mux_options=("--flows", str(flows)), chaining=False)


def steer_by_table(lab, service=SERVICE, port=topology.VIP_PORT):
    """Gives the service steering `flowtable`, which controllers do not offer; the muxes start again with it.

    Returns nothing, or what a mux says that does not steer by a table of flows.
    """
    config = f"/fairlead/services/{service}/config"
    with lab.controller.namespace.inside():
        client = KazooClient(topology.endpoint(lab.controller.address, topology.ZOOKEEPER_PORT), auth_data=AUTH_DATA)
        client.start(30)
        try:
            words = json.loads(client.get(config)[0])
            client.set(config, json.dumps(words | {"steering": "flowtable"}).encode())
        finally:
            client.stop()
            client.close()
    for number in lab.muxes:
        lab.stop_mux(number)
        lab.start_mux(number)
    lab.wait_applied(service=service)
    flow = f"protocol=tcp&source={topology.client_address(1)}&sourcePort=40000"
    for mux in lab.muxes.values():
        query = f"service={service}&{flow}&destination={topology.VIP}&destinationPort={port}"
        told = mux.http("GET", f"/explain?{query}")
        if "rememberedFlow" not in told.get("unless", ()):
            return f"{mux.name} does not steer by a table of flows: {told}"
    return None
