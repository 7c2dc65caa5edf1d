# SPDX-License-Identifier: Apache-2.0
"""The network of the machines: a bridge, which is the rack's switch, and one for clients, in this network namespace."""

from pathlib import Path

from distribution import upgrade
from lab import build
from lab.deadline import LabError
from lab.vm import debian
from lab.vm.kernel import run

WANTED = ("cli", "controller", "doc", "mux", "server")
# What of Debian the machines install.
DEBIAN = ["zookeeper", "zookeeperd", "frr", "nginx-light"]
# What DKMS compiles for.
HEADERS = ["linux-headers-amd64"]
MTU = 1676


def own(wanted: tuple[str, ...], built: Path) -> list[Path]:
    """The project's packages of these names that scripts/package has built there."""
    found = [path for name in wanted for path in sorted(built.glob(f"fairlead-{name}_*.deb"))]
    if len(found) != len(wanted):
        raise LabError(f"{built} has not one package of each of {', '.join(wanted)}: run scripts/package")
    return found


def disks(built: Path = upgrade.BUILT) -> tuple[debian.Disk, Path]:
    """What machines start from: a disk with Debian, and one with all packages. Made once, with a network."""
    return _disks(own(WANTED, built), DEBIAN)


def module_disks() -> tuple[debian.Disk, Path]:
    """The same with the module's package in two versions, and what compiles it."""
    older, newer = upgrade.packages()
    return _disks(own(("dkms",), newer), HEADERS, own(("dkms",), older))


def _disks(packages: list[Path], others: list[str], older: list[Path] | None = None) -> tuple[debian.Disk, Path]:
    disk = debian.disk(build.AGENT, packages, others)
    return disk, debian.repository(disk, [*packages, *(older or [])], others)


def bridge(name: str) -> None:
    run("ip", "link", "add", name, "mtu", str(MTU), "type", "bridge", "stp_state", "0", "mcast_snooping", "0")
    run("ip", "link", "set", name, "up")


def tap(name: str, bridge: str) -> str:
    """A TAP interface in that bridge; its name, for `debian.machine`."""
    run("ip", "tuntap", "add", name, "mode", "tap")
    run("ip", "link", "set", name, "mtu", str(MTU), "master", bridge, "up")
    return name
