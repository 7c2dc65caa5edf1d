# SPDX-License-Identifier: Apache-2.0
"""Several machines at one switch: here is the bridge, with ZooKeeper and the muxes that tests imitate.

    here:  flbr0  10.1.0.1, .21 .. .29  =======+======= flm0  10.1.0.11  :namespace of mux1
                  2001:db8:1::1, ::21 ..       +======= flm0  10.1.0.12  :namespace of mux2
                                               +======= flm0  10.1.0.13  :namespace of mux3

Everything is undone in reverse order, even after a failure.
"""

import contextlib
import os

from rack import INSIDE, run

BRIDGE = "flbr0"
HERE = "10.1.0.1"
IMITATED = ["10.1.0.21", "10.1.0.22"]
IMITATED6 = "2001:db8:1::21"


class Machine:
    """A mux's namespace, with the methods of a rack that WholeMux needs."""

    def __init__(self, undo: contextlib.ExitStack, number: int, is_only6: bool):
        """is_only6: the port has no IPv4 address; HTTP and ZooKeeper use one of the loopback interface."""
        self.namespace = f"flswitch-{os.getpid()}-{number}"
        self.address, self.address6 = f"10.1.0.1{number}", f"2001:db8:1::1{number}"
        port = f"flp{number}"
        run("ip", "netns", "add", self.namespace)
        undo.callback(run, "ip", "netns", "del", self.namespace)
        run("ip", "link", "add", port, "type", "veth", "peer", "name", INSIDE, "netns", self.namespace)
        undo.callback(run, "ip", "link", "del", port)
        run("ip", "link", "set", port, "master", BRIDGE, "up")
        for device in ("lo", INSIDE):
            self.inside("ip", "link", "set", device, "up")
        self.inside("ip", "address", "add", f"{self.address6}/64", "dev", INSIDE, "nodad")
        if is_only6:
            self.inside("ip", "address", "add", f"{self.address}/32", "dev", "lo")
            self.inside("ip", "route", "add", "10.1.0.0/24", "dev", INSIDE, "src", self.address)
        else:
            self.inside("ip", "address", "add", f"{self.address}/24", "dev", INSIDE)

    def inside(self, *words: str) -> str:
        return run("ip", "netns", "exec", self.namespace, *words)


class Switch:
    def __init__(self, undo: contextlib.ExitStack):
        self.undo = undo
        run("ip", "link", "add", BRIDGE, "type", "bridge")
        undo.callback(run, "ip", "link", "del", BRIDGE)
        run("ip", "link", "set", BRIDGE, "up")
        for address in (HERE, *IMITATED):
            run("ip", "address", "add", f"{address}/24", "dev", BRIDGE)
        run("ip", "address", "add", f"{IMITATED6}/64", "dev", BRIDGE, "nodad")

    def machine(self, number: int, is_only6: bool = False) -> Machine:
        return Machine(self.undo, number, is_only6)
