# SPDX-License-Identifier: Apache-2.0
"""FRR in a node: zebra and bgpd with their sockets, configuration and logs in the node's own directory.

The mux's side redistributes kernel routes to VIPs and accepts nothing; the router's side accepts VIPs from whoever
speaks BGP on the rack, and announces nothing. Hold time is 9 s and there is no BFD: a mux that dies takes its kernel
route with it, which bgpd, still alive, withdraws at once.
"""

import json
import shutil
from pathlib import Path

from lab import topology
from lab.node import Node

DAEMONS = Path("/usr/lib/frr")

COMMON = """\
log stdout informational
ip prefix-list VIPS seq 5 permit {vips} ge 32
ip prefix-list NOTHING seq 5 deny any
route-map VIPS permit 10
 match ip address prefix-list VIPS
"""

MUX = """\
router bgp {own_as}
 bgp router-id {address}
 no bgp ebgp-requires-policy
 no bgp default ipv4-unicast
 timers bgp 3 9
 neighbor {router} remote-as {router_as}
 neighbor {router} timers connect 1
 neighbor {router} advertisement-interval 0
 address-family ipv4 unicast
  redistribute kernel route-map VIPS
  neighbor {router} activate
  neighbor {router} prefix-list NOTHING in
  neighbor {router} prefix-list VIPS out
"""

ROUTER = """\
router bgp {own_as}
 bgp router-id {address}
 no bgp ebgp-requires-policy
 bgp bestpath as-path multipath-relax
 timers bgp 3 9
 neighbor MUXES peer-group
 neighbor MUXES remote-as external
 bgp listen range {rack} peer-group MUXES
 address-family ipv4 unicast
  maximum-paths {paths}
  neighbor MUXES prefix-list VIPS in
  neighbor MUXES prefix-list NOTHING out
"""


class Frr:
    def __init__(self, node: Node, own_as: int, template: str) -> None:
        self.node = node
        self.directory = node.instance.node_directory(node.name) / "frr"
        self.directory.mkdir(exist_ok=True)
        text = (COMMON + template).format(
            vips=topology.VIPS,
            own_as=own_as,
            address=node.address,
            router=topology.ROUTER,
            router_as=topology.ROUTER_AS,
            rack=topology.RACK,
            paths=topology.MUXES_MAX,
        )
        (self.directory / "bgpd.conf").write_text(text)
        (self.directory / "zebra.conf").write_text("log stdout informational\n")
        shutil.chown(self.directory, "frr", "frr")  # the daemons give up root and make their sockets here
        self.zebra = self._daemon("zebra")
        self.bgpd = self._daemon("bgpd")

    def _daemon(self, name: str):
        return self.node.program(
            name,
            [
                str(DAEMONS / name),
                *("--config_file", str(self.directory / f"{name}.conf")),
                *("--pid_file", str(self.directory / f"{name}.pid")),
                *("--socket", str(self.directory / "zserv.api")),
                *("--vty_socket", str(self.directory)),
                *("--vty_port", "0"),
                *("--log", "stdout"),
            ],
        )

    def start(self) -> None:
        """Starts both at once: bgpd asks for zebra's socket until it is there."""
        self.node.instance.start(self.zebra)
        self.node.instance.start(self.bgpd)

    def show(self, command: str) -> dict:
        """The answer to `show <command> json`."""
        return json.loads(self.node.run("vtysh", "--vty_socket", str(self.directory), "-c", f"show {command} json"))
