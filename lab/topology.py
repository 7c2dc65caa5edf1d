# SPDX-License-Identifier: Apache-2.0
"""The lab's network, as a drawing and as addresses. Every box is a network namespace of one machine.

        client1                        client2
        10.2.1.2/24                    10.2.2.2/24                     eth0, MTU 1500
        2001:db8:2:1::2/64             2001:db8:2:2::2/64
           │ client1 10.2.1.1, ::1        │ client2 10.2.2.1, ::1
       ┌───┴──────────────────────────────┴───┐
       │ router   FRR bgpd, AS 65000          │   VIPs by BGP from each mux, a session per family,
       │          kernel ECMP on the L4 hash  │   10.3.0.0/16 blackhole (sources of the SYN flood)
       └───────────────────┬──────────────────┘
                           │ rack 10.1.0.1/24 (a bridge, one port per machine)     MTU 1676
                           │      2001:db8:1::1/64, and the same last numbers on all machines
       ┌─────────┬─────────┼─────────┬─────────┬─────────┬─ ─ ─ ─ ─┐
     mux1      mux2     server1   server2   server3   server4   server5      controller
     .11       .12        .21       .22       .23       .24       .25        .5    ZooKeeper :2181
     AS 65001  AS 65002                                                            REST      :8080
     fairlead-mux          nginx on the VIPs at port 80 (on lo), fairlead-server (XDP) on eth0
     + FRR                 replies go straight to the router: direct return

Muxes have a cluster key (lab/cluster_key.py) and servers what is derived from it, so that all packets have tags.

The service of every lab is web, on the VIP 10.99.0.1. lab/dual.py adds one of both families, on 10.99.0.2 and
2001:db8:99::1.

A rack may have IPv6 alone (Variant.ipv4); clients keep both families, and the router's routes to VIPs of IPv4 lead by
the muxes' IPv6 addresses.

The last servers may be virtual machines, with a kernel of their own and the module in place of the XDP program: their
namespace holds QEMU, and their eth0 is a TAP interface on the rack.

There can be up to 5 controllers and as many ZooKeeper servers, on the machines controller, controller2, ... (.5 to .9).
A runner (.4) is optional. There is room for 9 muxes (.11 to .19) and 200 servers (.21 and on); more clients have
10.2.<n>.0/24. For MPTCP a client can have a second wire to the router, eth1 with 10.4.<n>.2/24.
"""

import ipaddress

RACK_MTU = 1676  # 1500 for the client's packet, the rest for the longest header: srv6, six candidates, tag
CLIENT_MTU = 1500
ROUTER = "10.1.0.1"
RUNNER = "10.1.0.4"
ROUTER_AS = 65000
ROUTER6 = "2001:db8:1::1"
RACK = "10.1.0.0/24"
RACK6 = "2001:db8:1::/64"
VIP = "10.99.0.1"
DUAL_VIP = "10.99.0.2"
DUAL_VIP6 = "2001:db8:99::1"
VIPS = "10.99.0.0/16"
VIPS6 = "2001:db8:99::/64"
VIP_PORT = 80
MPTCP_PORTS = (15_000, 15_999)  # of further subflows of web, if it has any: this plus the id of the server
FLOOD_SOURCES = "10.3.0.0/16"
ZOOKEEPER_PORT = 2181
REST_PORT = 8080
CONTROLLERS_MAX = 5
MUXES_MAX = 9
SERVERS_MAX = 200
VM_SERVERS_MAX = 20  # each takes 192 MiB and some processor time


def controller_name(number: int) -> str:
    return "controller" if number == 1 else f"controller{number}"


def controller_address(number: int) -> str:
    return f"10.1.0.{4 + number}"


CONTROLLER = controller_address(1)


def mux_address(number: int) -> str:
    return f"10.1.0.{10 + number}"


def rack_address6(address: str) -> str:
    """The IPv6 address of the machine that has this IPv4 address on the rack: 2001:db8:1::21 of 10.1.0.21."""
    return f"2001:db8:1::{address.rpartition('.')[2]}"


def is_ipv6(address: str) -> bool:
    """Of an address or a network."""
    return ipaddress.ip_interface(address).version == 6


def endpoint(address: str, port: int) -> str:
    """ADDRESS:PORT as commands and URLs have it, IPv6 in brackets."""
    return f"[{address}]:{port}" if is_ipv6(address) else f"{address}:{port}"


def mux_as(number: int) -> int:
    return ROUTER_AS + number


def server_address(number: int) -> str:
    return f"10.1.0.{20 + number}"


def client_address(number: int) -> str:
    return f"10.2.{number}.2"


def client_gateway(number: int) -> str:
    return f"10.2.{number}.1"


def client_address6(number: int) -> str:
    return f"2001:db8:2:{number}::2"


def client_gateway6(number: int) -> str:
    return f"2001:db8:2:{number}::1"
