# SPDX-License-Identifier: Apache-2.0
"""fairlead-dkms in a machine: DKMS compiles the module at installation and at upgrade; it loads; purge removes it."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from distribution.machines import rack
from distribution.upgrade import NEWER, OLDER
from lab.vm import debian
from lab.vm.debian import shell
from lab.vm.machine import Machine

pytestmark = pytest.mark.long
COMPILE_SECONDS = 3600.0  # by an emulated processor, on a host with other work
INSTALL = "DEBIAN_FRONTEND=noninteractive apt-get -y -q --no-install-recommends"


@pytest.fixture(scope="module")
def machine() -> Iterator[Machine]:
    with debian.machine("web1", Path("/run/web1-dkms"), *rack.module_disks(), [], 1200) as machine:
        assert debian.started(machine) == "running"
        shell(machine, f"apt-get update -q; {INSTALL} install {' '.join(rack.HEADERS)}", COMPILE_SECONDS)
        yield machine
        assert machine.complaints() == []


def built(machine: Machine) -> list[str]:
    """Versions that DKMS has installed for the running kernel."""
    lines = shell(machine, "dkms status fairlead -k $(uname -r)").splitlines()
    return [line.split("/")[1].split(",")[0] for line in lines if line.endswith(": installed")]


def test_upgrade_compiles_the_new_module(machine: Machine) -> None:
    shell(machine, f"{INSTALL} install fairlead-dkms={OLDER}", COMPILE_SECONDS)
    assert built(machine) == [OLDER]
    shell(machine, "systemctl restart systemd-modules-load")
    assert shell(machine, "cat /sys/module/fairlead/version") == f"{OLDER}\n"
    shell(machine, f"{INSTALL} install fairlead-dkms", COMPILE_SECONDS)
    assert built(machine) == [NEWER]
    assert shell(machine, "cat /sys/module/fairlead/version") == f"{OLDER}\n", "an upgrade unloads nothing"
    shell(machine, "modprobe -r fairlead; modprobe fairlead")
    assert shell(machine, "cat /sys/module/fairlead/version") == f"{NEWER}\n"


def test_purge_takes_the_module_away(machine: Machine) -> None:
    shell(machine, f"modprobe -r fairlead; {INSTALL} purge fairlead-dkms", COMPILE_SECONDS)
    assert built(machine) == []
    found = "find / -xdev '(' -path /srv/packages -o -path /var/cache -o -path /var/lib/apt ')' -prune -o"
    assert shell(machine, f"{found} -name '*fairlead*' -print") == ""
    assert shell(machine, "systemctl --failed --no-legend") == ""
