# SPDX-License-Identifier: Apache-2.0
"""What the lab runs: where it is, and a sentence for each missing part.

The muxes' and servers' binaries are in build/lab, or in $FAIRLEAD_BUILD_DIR, which scripts/demo sets. The controller is
its jar. lab/build builds them.
"""

import os
import shutil
from pathlib import Path

from lab.deadline import LabError
from lab.frr import DAEMONS

ROOT = Path(__file__).resolve().parents[1]
DIRECTORY = Path(os.environ.get("FAIRLEAD_BUILD_DIR", ROOT / "build" / "lab"))
MUX = DIRECTORY / "mux" / "fairlead-mux"
P4MUX = DIRECTORY / "p4" / "program" / "fairlead-p4mux"
PROBE = DIRECTORY / "probe" / "fairlead-probe"
STILL_MUX = DIRECTORY / "mux" / "tests" / "still_mux"
AGENT = DIRECTORY / "lab" / "vm" / "vm-agent"
SERVER = DIRECTORY / "server" / "fairlead-server"
JAR = ROOT / "controller" / "target" / "fairlead-controller.jar"
# ZooKeeper of Debian's package libzookeeper-java, whose class path is in the file.
DEBIAN_ZOOKEEPER = Path("/usr/share/java/zookeeper.jar")
CONTROLLER = ROOT / "controller" / "bin" / "fairlead-controller"
CTL = ROOT / "controller" / "bin" / "fairleadctl"
MACHINE_COMMANDS = ("qemu-system-x86_64", "make", "modinfo", "strip", "sparse")
COMMANDS = ("ip", "ethtool", "nsenter", "ss", "nginx", "mptcpize", "vtysh", "java")


def missing(machines: bool = False) -> list[str]:
    """One sentence for each missing part that a lab, or one with virtual machines, needs."""
    found = []
    commands = COMMANDS + MACHINE_COMMANDS if machines else COMMANDS
    files = (MUX, P4MUX, SERVER, JAR, AGENT) if machines else (MUX, P4MUX, SERVER, JAR)
    if os.geteuid() != 0:
        found.append("the lab makes network namespaces and must run as root (try sudo)")
    found += [f"the command '{name}' is missing: run scripts/install-deps" for name in commands if not _there(name)]
    if not (DAEMONS / "bgpd").exists():
        found.append(f"FRR's {DAEMONS}/bgpd is missing: run scripts/install-deps")
    found += [f"{path} is not built: run lab/build" for path in files if not path.exists()]
    return found


def _there(command: str) -> bool:
    return shutil.which(command, path=f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin") is not None


def check(machines: bool = False) -> None:
    found = missing(machines)
    if found:
        raise LabError("the lab cannot be brought up:\n" + "\n".join(f"  - {sentence}" for sentence in found))
