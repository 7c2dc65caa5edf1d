# SPDX-License-Identifier: Apache-2.0
"""The network of the machines: a bridge, which is the rack's switch, and one for clients, in this network namespace."""

from pathlib import Path

from lab import build
from lab.deadline import LabError
from lab.vm import debian
from lab.vm.kernel import ROOT, run

BUILT = ROOT / "build" / "packages"
WANTED = ("cli", "controller", "doc", "mux", "server")
# What of Debian the machines install.
DEBIAN = ["zookeeper", "zookeeperd", "frr", "nginx-light"]
MTU = 1600


def own() -> list[Path]:
    """The project's packages that scripts/package has built, but for the module's, which would have to be compiled."""
    found = [path for name in WANTED for path in sorted(BUILT.glob(f"fairlead-{name}_*.deb"))]
    if len(found) != len(WANTED):
        raise LabError(f"{BUILT} has not one package of each of {', '.join(WANTED)}: run scripts/package")
    return found


def disks() -> tuple[debian.Disk, Path]:
    """What machines start from: a disk with Debian, and one with all packages. Made once, with a network."""
    disk = debian.disk(build.AGENT, own(), DEBIAN)
    return disk, debian.repository(disk, own(), DEBIAN)


def bridge(name: str) -> None:
    run("ip", "link", "add", name, "mtu", str(MTU), "type", "bridge", "stp_state", "0", "mcast_snooping", "0")
    run("ip", "link", "set", name, "up")


def tap(name: str, bridge: str) -> str:
    """A TAP interface in that bridge; its name, for `debian.machine`."""
    run("ip", "tuntap", "add", name, "mode", "tap")
    run("ip", "link", "set", name, "mtu", str(MTU), "master", bridge, "up")
    return name
