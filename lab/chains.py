# SPDX-License-Identifier: Apache-2.0
"""Which server chains to which, seen on the wire: the rack's bridge counts encapsulated packets from server to server.

Packets of a mux are not counted: their outer source is the mux, that of chained ones is the server. The table belongs
to the router's namespace and vanishes with it.
"""

import json

from lab import topology
from lab.router import Router

FIRST, LAST = topology.server_address(1), topology.server_address(topology.SERVERS_MAX)
FIRST6, LAST6 = topology.rack_address6(FIRST), topology.rack_address6(LAST)
SETS = ("pairs", "pairs6")
GUE_PORT = 6080
TABLE = f"""\
table bridge chaining {{
  set pairs {{
    type ipv4_addr . ipv4_addr
    size 65535
    flags dynamic
    counter
  }}
  set pairs6 {{
    type ipv6_addr . ipv6_addr
    size 65535
    flags dynamic
    counter
  }}
  chain forward {{
    type filter hook forward priority 0
    ip saddr {FIRST}-{LAST} ip daddr {FIRST}-{LAST} udp dport {GUE_PORT} add @pairs {{ ip saddr . ip daddr }}
    ip6 saddr {FIRST6}-{LAST6} ip6 daddr {FIRST6}-{LAST6} udp dport {GUE_PORT} add @pairs6 {{ ip6 saddr . ip6 daddr }}
  }}
}}
"""


class Chains:
    def __init__(self, router: Router) -> None:
        """Counts from now on."""
        self._router = router
        rules = router.directory / "chaining.nft"
        rules.write_text(TABLE)
        router.run("nft", "-f", str(rules))

    def packets(self) -> dict[tuple[str, str], int]:
        """Packets by the addresses, of either family, of the server that chained and the one it chained to."""
        said = [json.loads(self._router.run("nft", "-j", "list", "set", "bridge", "chaining", name)) for name in SETS]
        sets = [entry["set"] for listed in said for entry in listed["nftables"] if "set" in entry]
        elements = [element["elem"] for listed in sets for element in listed.get("elem", [])]
        return {tuple(element["val"]["concat"]): element["counter"]["packets"] for element in elements}
