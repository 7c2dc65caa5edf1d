# SPDX-License-Identifier: Apache-2.0
"""A server: nginx on the VIP (on its loopback), fairlead-server in front of it, direct return.

Two kinds with one interface: `XdpServer` is a namespace with the XDP program on its rack port, `MachineServer`
(lab/machine_server.py) a virtual machine with the kernel module.
"""

import json
from pathlib import Path

from lab import nginx, topology
from lab.answers import ServerSide
from lab.cluster_key import server_keys
from lab.instance import Instance
from lab.node import Node, wire
from lab.process import Process
from lab.router import Router
from lab.variant import USUAL, Variant

SYSCTLS = {
    "ipv4__conf__all__arp_ignore": 1,  # the VIP is on every server: none answers ARP for it
    "ipv4__conf__all__arp_announce": 2,
}
VIPS = (f"{topology.VIP}/32", f"{topology.DUAL_VIP}/32", f"{topology.DUAL_VIP6}/128")


def own_addresses(address: str) -> list[str]:
    """Those of the server with this one: of each family, unless it has IPv6 alone."""
    return [address] if topology.is_ipv6(address) else [address, topology.rack_address6(address)]


def attachment(
    command: str,
    form: tuple[str, ...],
    address: str,
    chaining: bool = True,
    quiet: int | None = None,
    key: Path | None = None,
) -> list[str]:
    """The command that sets a server side up.

    `quiet`: for how many seconds it resets nothing, None: the program's default. `key`: the file with its keys; None:
    tags are not required.
    """
    peers = [topology.RACK, topology.RACK6]
    own = ["--address", ",".join(own_addresses(address)), "--peers", ",".join(peers)]
    own += [] if chaining else ["--no-chaining"]
    own += ["--tag-key", str(key)] if key else ["--untagged", "on"]
    own += ["--quiet", str(quiet)] if quiet is not None else []
    return [command, "attach", *form, *own]


class Server(Node):
    command: str  # fairlead-server, where this server's commands run
    form: tuple[str, ...]  # its arguments that choose the form
    key: Path | None  # where its commands run
    agent: Process | None = None

    def __init__(self, instance: Instance, number: int, variant: Variant, machine: bool = False) -> None:
        usual = topology.server_address(number)
        address, address6 = variant.rack_address(usual), topology.rack_address6(usual)
        super().__init__(instance, f"server{number}", address, address6, machine)
        self.number = number
        self.variant = variant
        self.chaining = variant.chaining

    def start(self) -> None:
        """Starts it without waiting; see wait()."""
        raise NotImplementedError

    def wait(self) -> None:
        """Until it serves."""
        raise NotImplementedError

    def attachment(self, chaining: bool = True) -> list[str]:
        """The command that sets the server side up."""
        return attachment(self.command, self.form, self.address, chaining, self.variant.quiet, self.key)

    def attach(self, chaining: bool = True) -> None:
        """Sets the server side up, or replaces its configuration; its tables stay."""
        self.run(*self.attachment(chaining))

    def detach(self) -> None:
        """It forgets all that it knows; its connections live."""
        self.run(self.command, "detach", *self.form)

    def show(self) -> ServerSide:
        shown: ServerSide = json.loads(self.run(self.command, "show", *self.form, "-o", "json"))
        return shown

    def chained(self) -> int:
        """Packets that this server has sent on to another server of their lists."""
        counters = self.show()["counters"]
        return counters["chain"] + counters["chain_by_kernel"]

    def connections(self) -> int:
        """The number of connections to VIPs that it holds now."""
        return len(nginx.clients(self))


class XdpServer(Server):
    form = ("--interface", "eth0")

    def __init__(self, instance: Instance, router: Router, number: int, variant: Variant = USUAL) -> None:
        super().__init__(instance, number, variant)
        self.command = str(variant.server)
        self.mptcp = variant.mptcp
        self.key = None
        if variant.tagged:
            self.key = server_keys(variant.server, self.directory, own_addresses(self.address))
        wire(self, router, self.name, topology.RACK_MTU, self.interface_addresses)
        router.plug(self.name)
        self.namespace.sysctl(**SYSCTLS)
        # The route to another server of a list comes from the kernel's tables, also from one family to the other.
        self.namespace.sysctl(ipv4__conf__eth0__forwarding=1, ipv4__conf__eth0__accept_local=1)
        self.namespace.sysctl(ipv6__conf__all__forwarding=1, ipv6__conf__eth0__forwarding=1)
        # nginx cannot bind to an IPv6 address before its duplicate address detection ends, on lo as well.
        vips = [f"addr add {vip} dev lo{' nodad' if ':' in vip else ''}" for vip in VIPS]
        self.namespace.ip(*vips, *[f"route add {gateway}" for gateway in router.gateways()])
        directory = self.directory / "nginx"
        directory.mkdir(exist_ok=True)
        (directory / "nginx.conf").write_text(nginx.config(directory, self.name))
        self.nginx = self.program("nginx", nginx.command(directory, self.mptcp))

    def start(self) -> None:
        self.instance.start(self.nginx)

    def wait(self) -> None:
        self.attach(self.chaining)
        if self.mptcp:
            first, last = topology.MPTCP_PORTS
            words = ("--vip", topology.VIP, "--ports", f"{first}-{last}", "--id", str(self.number))
            self.run(self.command, "mptcp", "add", *words)
