# SPDX-License-Identifier: Apache-2.0
"""The systemd units: valid, restrictive, and sufficient for a mux that is not root."""

import contextlib
import re
import subprocess
from pathlib import Path

import pytest
from deadline import until
from rack import Rack, is_tunnel
from tree import Service

UNITS = Path(__file__).resolve().parents[3] / "scripts" / "systemd"
CAP_SYS_ADMIN = 21
# of 10, as systemd counts
EXPOSURE_MAX = {
    "fairlead-mux": 3.4,
    "fairlead-probe": 2.8,
    "fairlead-server": 3.6,
    "fairlead-agent": 2.2,
    "fairlead-controller": 1.6,
}


@pytest.mark.parametrize("name", EXPOSURE_MAX)
def test_systemd_finds_them_sound_and_tight(name: str, tmp_path: Path):
    text = (UNITS / f"{name}.service").read_text()
    unit = tmp_path / f"{name}.service"
    unit.write_text(re.sub(r"/usr/(bin|share)/fairlead\S*", "/bin/true", text))  # which exists
    done = subprocess.run(["systemd-analyze", "verify", unit], capture_output=True, text=True, check=False)
    assert done.returncode == 0 and not done.stderr, done.stderr
    bound = str(int(EXPOSURE_MAX[name] * 10))
    command = ["systemd-analyze", "security", "--offline=true", f"--threshold={bound}", unit]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def threads(process: int) -> list[tuple[str, int]]:
    """Their names, and the capabilities that each may use; of those that do not end meanwhile."""
    found = []
    for task in Path(f"/proc/{process}/task").iterdir():
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):
            sets = re.findall(r"^Cap(?:Prm|Eff|Amb):\s+(\S+)$", (task / "status").read_text(), re.MULTILINE)
            found.append(((task / "comm").read_text().strip(), int(sets[0], 16) | int(sets[1], 16) | int(sets[2], 16)))
    assert {"control", "worker 0"} <= {name for name, _ in found}
    return found


@pytest.mark.parametrize(("port", "count"), [("af_xdp", 4), ("af_packet", 2)])
def test_a_mux_runs_by_the_unit_s_capabilities_alone(port: str, count: int, service: Service, new_mux, rack: Rack):
    """XDP needs all capabilities of the unit; for a packet socket the first two suffice."""
    found = re.search(r"^AmbientCapabilities=(.*)$", (UNITS / "fairlead-mux.service").read_text(), re.MULTILINE)
    assert len(found[1].split()) == 4
    capabilities = ",".join(f"+{word.removeprefix('CAP_').lower()}" for word in found[1].split()[:count])
    mux = new_mux(port=port)
    only = f"-all,{capabilities}"
    setpriv = "setpriv --reuid nobody --regid nogroup --clear-groups --no-new-privs".split()
    setpriv += ["--inh-caps", only, "--ambient-caps", only, "--bounding-set", only]
    mux.command = [*setpriv, *mux.command]
    mux.start()
    status = Path(f"/proc/{mux.process.pid}/status").read_text()
    assert re.search(r"^Uid:\s+65534", status, re.MULTILINE), status
    kept = {name for name, capabilities in threads(mux.process.pid) if capabilities >> CAP_SYS_ADMIN & 1}
    assert "control" not in kept and "worker 0" not in kept, kept
    mux.settle(service)
    until(lambda: mux.routes() == {"10.99.0.1": "fl1"}, 60, mux.log())
    rack.send([rack.to_vip(2000)])
    assert rack.receive(is_tunnel, 1)
    assert mux.stop() == 0
    assert "xdp" not in rack.inside("ip", "link", "show", "dev", "flm0")
