# SPDX-License-Identifier: Apache-2.0
"""FRR in a node: zebra and bgpd with their sockets, configuration and logs in the node's own directory.

The mux's side, by scripts/frr-config, redistributes kernel routes to VIPs and accepts nothing; the router's side
accepts VIPs from every BGP speaker on the rack and announces nothing. Each family has a session of its own, but on a
rack with IPv6 alone one session carries both. The hold
time is 9 s and there is no BFD: the kernel routes of a mux vanish with it, and bgpd, which still runs, withdraws them
at once.
"""

import json
import shutil
from pathlib import Path
from typing import Any

from lab import topology
from lab.deadline import until
from lab.namespace import run
from lab.node import Node
from lab.process import Process, options

DAEMONS = Path("/usr/lib/frr")
START_SECONDS = 60.0
FRR_CONFIG = Path(__file__).resolve().parents[1] / "scripts" / "frr-config"

ROUTER = f"""\
log stdout informational
ip prefix-list VIPS seq 5 permit {topology.VIPS} ge 32
ipv6 prefix-list VIPS seq 5 permit {topology.VIPS6} ge 128
ip prefix-list NOTHING seq 5 deny any
ipv6 prefix-list NOTHING seq 5 deny any
route-map GLOBAL permit 10
 set ipv6 next-hop prefer-global
router bgp {topology.ROUTER_AS}
 bgp router-id {topology.ROUTER}
 no bgp ebgp-requires-policy
 no bgp default ipv4-unicast
 bgp bestpath as-path multipath-relax
 timers bgp 3 9
 neighbor MUXES peer-group
 neighbor MUXES remote-as external
 neighbor MUXES6 peer-group
 neighbor MUXES6 remote-as external
 neighbor MUXES6 capability extended-nexthop
 bgp listen range {topology.RACK} peer-group MUXES
 bgp listen range {topology.RACK6} peer-group MUXES6
 address-family ipv4 unicast
  maximum-paths {topology.MUXES_MAX}
  neighbor MUXES activate
  neighbor MUXES prefix-list VIPS in
  neighbor MUXES prefix-list NOTHING out
  neighbor MUXES6 activate
  neighbor MUXES6 route-map GLOBAL in
  neighbor MUXES6 prefix-list VIPS in
  neighbor MUXES6 prefix-list NOTHING out
 exit-address-family
 address-family ipv6 unicast
  maximum-paths {topology.MUXES_MAX}
  neighbor MUXES6 activate
  neighbor MUXES6 route-map GLOBAL in
  neighbor MUXES6 prefix-list VIPS in
  neighbor MUXES6 prefix-list NOTHING out
"""


def mux_config(own_as: int, router_id: str, routers: list[str]) -> str:
    """The configuration that scripts/frr-config writes for a mux of this lab, without BFD. `routers`: addresses."""
    words = ["--as", str(own_as), "--router-id", router_id, "--hold", "9", "--no-bfd"]
    for router in routers:
        words += ["--neighbor", f"{router}={topology.ROUTER_AS}"]
    return run([str(FRR_CONFIG), *words, "--vips", topology.VIPS, "--vips", topology.VIPS6])


class Frr:
    def __init__(self, node: Node, config: str) -> None:
        self.node = node
        self.directory = node.instance.node_directory(node.name) / "frr"
        self.directory.mkdir(exist_ok=True)
        self._socket = self.directory / "zserv.api"
        (self.directory / "bgpd.conf").write_text(config)
        (self.directory / "zebra.conf").write_text("log stdout informational\n")
        shutil.chown(self.directory, "frr", "frr")  # the daemons drop root and create their sockets here
        self.zebra = self._daemon("zebra")
        self.bgpd = self._daemon("bgpd")

    def _daemon(self, name: str) -> Process:
        words = {
            "--config_file": self.directory / f"{name}.conf",
            "--pid_file": self.directory / f"{name}.pid",
            "--socket": self._socket,
            "--vty_socket": self.directory,
            "--vty_port": 0,
            "--log": "stdout",
        }
        return self.node.program(name, [str(DAEMONS / name), *options(words)])

    def start(self) -> None:
        """Starts both, zebra first: bgpd tries its socket at once, and then only every ten seconds.

        A bgpd that opens sessions before it has the interfaces from zebra never accepts an IPv6 route on them.
        """
        self.node.instance.start(self.zebra)
        until(f"{self.zebra.name} listens", lambda: self.zebra.expect_alive() and self._socket.exists(), START_SECONDS)
        self.node.instance.start(self.bgpd)

    def wait(self) -> None:
        """Until bgpd is connected to zebra."""
        command = ("vtysh", "--vty_socket", str(self.directory), "-d", "zebra", "-c", "show zebra client summary")
        asked = self.directory / "zebra.vty"
        until(
            f"{self.bgpd.name} knows its interfaces",
            lambda: asked.exists() and "bgp" in self.node.run(*command),
            START_SECONDS,
        )

    def show(self, command: str) -> Any:
        """The answer to `show <command> json`."""
        return json.loads(self.node.run("vtysh", "--vty_socket", str(self.directory), "-c", f"show {command} json"))
