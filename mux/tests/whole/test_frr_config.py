# SPDX-License-Identifier: Apache-2.0
"""The output of scripts/frr-config, read by FRR itself: zebra, bgpd and bfdd here (the router) and next to the mux."""

import contextlib
import json
import re
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from deadline import until
from rack import MUX, MUX6, Rack
from rack import run as shell
from tree import Service

ROOT = Path(__file__).resolve().parents[3]
DAEMONS = Path("/usr/lib/frr")
MINE = ["--as", "65001", "--router-id", MUX, "--neighbor", "10.1.0.1=65000", "--neighbor", "2001:db8:1::1=65000"]
VIPS = ["--vips", "10.99.0.0/16", "--vips", "2001:db8:99::/48"]
BFD_MILLISECONDS = 2000  # times three: long enough that no session flaps on a loaded machine
HOLD_SECONDS = 60  # so long that a sooner withdrawal is due to BFD

ROUTER = f"""\
bfd
 profile rack
  receive-interval {BFD_MILLISECONDS}
  transmit-interval {BFD_MILLISECONDS}
router bgp 65000
 bgp router-id 10.1.0.1
 no bgp ebgp-requires-policy
 neighbor {MUX} remote-as 65001
 neighbor {MUX} timers connect 1
 neighbor {MUX} bfd profile rack
 neighbor {MUX6} remote-as 65001
 neighbor {MUX6} timers connect 1
 neighbor {MUX6} bfd profile rack
 address-family ipv6 unicast
  neighbor {MUX6} activate
"""


def frr_config(*arguments: str) -> subprocess.CompletedProcess:
    return subprocess.run([ROOT / "scripts/frr-config", *arguments], capture_output=True, text=True, check=False)


class Frr:
    """The three daemons with a directory of their own."""

    def __init__(self, config: str, enter: list[str]):
        self.folder = Path(tempfile.mkdtemp(prefix="fairlead-frr-"))
        (self.folder / "frr.conf").write_text(config)
        shutil.chown(self.folder, "frr", "frr")
        self.folder.chmod(0o755)
        (self.folder / "empty.conf").touch()
        # bgpd sends bfdd its peers through zebra, and a bfdd that connects to zebra later would not get them
        self.processes = [self.start("zebra", enter)]
        until((self.folder / "zserv.api").exists, 60, "zebra's socket")
        self.processes += [self.start(name, enter) for name in ("bfdd", "bgpd")]
        until(lambda: {"bfd", "bgp"} <= set(self.clients()), 60, "bfdd and bgpd at zebra")
        # as FRR's own start does: each daemon gets its part of the one file
        command = ["vtysh", "--vty_socket", self.folder, "--config_dir", self.folder, "-b"]

        def is_read() -> bool:
            done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
            print(done.stdout + done.stderr)
            return done.returncode == 0

        until(is_read, 60, "FRR to take its configuration")  # a socket exists before its daemon listens

    def start(self, name: str, enter: list[str]) -> subprocess.Popen:
        command = [*enter, str(DAEMONS / name), "--config_file", str(self.folder / "empty.conf")]
        command += ["--pid_file", str(self.folder / f"{name}.pid"), "--socket", str(self.folder / "zserv.api")]
        command += ["--vty_socket", str(self.folder), "--vty_port", "0", "--log", "stdout"]
        command += ["--bfdctl", str(self.folder / "bfdd.sock")] if name == "bfdd" else []
        with (self.folder / f"{name}.log").open("wb") as log:
            return subprocess.Popen(command, stdout=log, stderr=log)

    def said(self, command: str) -> str:
        words = ["vtysh", "--vty_socket", str(self.folder), "-c", command]
        return subprocess.run(words, capture_output=True, text=True, check=False).stdout

    def show(self, command: str) -> object:
        with contextlib.suppress(json.JSONDecodeError):
            return json.loads(self.said(f"show {command} json"))
        return {}

    def clients(self) -> list[str]:
        """The daemons connected to zebra."""
        return [line.split()[0] for line in self.said("show zebra client summary").splitlines() if line.strip()]

    def signal(self, number: int) -> None:
        for process in self.processes:
            process.send_signal(number)

    def stop(self) -> None:
        self.signal(signal.SIGCONT)
        self.signal(signal.SIGKILL)
        for process in self.processes:
            process.wait()
        for log in sorted(self.folder.glob("*.log")):
            print(f"{log.name}: {log.read_text(errors='replace')}")  # pytest shows it with a failure
        shutil.rmtree(self.folder)


@pytest.fixture
def speakers(rack: Rack) -> Iterator[tuple[Frr, Frr]]:
    """The router's FRR and the mux's."""
    assert (DAEMONS / "bfdd").exists(), f"{DAEMONS}/bfdd is missing: run scripts/install-deps"
    mine = frr_config(*MINE, *VIPS, "--hold", str(HOLD_SECONDS), "--bfd-interval", str(BFD_MILLISECONDS))
    assert mine.returncode == 0, mine.stderr
    router = Frr(ROUTER + f" timers bgp 20 {HOLD_SECONDS}\n", [])
    mux = Frr(mine.stdout, ["ip", "netns", "exec", rack.namespace])
    yield router, mux
    mux.stop()
    router.stop()


def routes(family: str) -> set[str]:
    """The routes that BGP has installed in the router's kernel."""
    return {route["dst"] for route in json.loads(shell("ip", "-j", family, "route", "show", "proto", "bgp") or "[]")}


@pytest.mark.timeout(300)  # it has many waits in sequence
def test_vips_reach_the_router_and_bfd_sees_the_mux_go(speakers, service: Service, new_mux, rack: Rack):
    router, beside = speakers
    service.configure(vips=["10.99.0.1", "2001:db8:99::1"])
    rack.inside("ip", "route", "add", "10.98.0.7/32", "dev", "lo", "proto", "static")  # not a VIP
    mux = new_mux()
    mux.start()
    until(lambda: routes("-4") == {"10.99.0.1"} and routes("-6") == {"2001:db8:99::1"}, 120, "the VIPs' routes")

    def is_watched() -> bool:
        peers = router.show("bfd peers")
        return isinstance(peers, list) and [peer["status"] for peer in peers] == ["up", "up"]

    until(is_watched, 60, "BFD to be up with the mux")

    def is_established() -> bool:
        said = mux.inside(*mux.command, "--check", text=True).stdout
        return re.search(r"ok +bgp +2 sessions are established", said) is not None

    until(is_established, 60, "the mux's check to see both sessions")

    def is_own() -> bool:
        table = beside.show("bgp ipv4 unicast")
        return isinstance(table, dict) and table.get("routes", {}).keys() == {"10.99.0.1/32"}

    until(is_own, 60, "the mux's BGP to have its VIP and nothing from the router")

    beside.signal(signal.SIGSTOP)  # like a host that hangs: it sends nothing
    began = time.monotonic()
    until(lambda: not routes("-4") and not routes("-6"), HOLD_SECONDS / 2, "BFD to withdraw the VIPs")
    allowed = 3 * BFD_MILLISECONDS / 1000
    print(f"withdrawn after {time.monotonic() - began:.2f} s; BFD allows {allowed:.0f} s, BGP {HOLD_SECONDS} s")


def test_vtysh_takes_every_form(tmp_path: Path):
    for arguments in (
        [*MINE, *VIPS],
        [*MINE, *VIPS, "--no-bfd", "--hold", "3"],
        [
            *MINE[:6],
            "--vips",
            "10.99.0.1/32",
            "--vips",
            "10.99.1.0/24",
            "--bfd-interval",
            "50",
            "--bfd-multiplier",
            "2",
        ],
        [*MINE[:4], *MINE[6:], "--vips", "2001:db8:99::1/128"],
        [*MINE[:4], *MINE[6:], *VIPS],  # IPv4 by a session over IPv6: lab/tests/test_rack6.py
    ):
        (tmp_path / "frr.conf").write_text(frr_config(*arguments).stdout)
        done = subprocess.run(["vtysh", "-C", "-f", tmp_path / "frr.conf"], capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ([*MINE, "--vips", "10.99.0.1/16"], "argument --vips: '10.99.0.1/16' is not allowed"),
        ([*MINE, *VIPS, "--hold", "2"], "argument --hold: '2' is not allowed; allowed: 3..180"),
        ([*MINE, *VIPS, "--as", "0"], "argument --as: '0' is not allowed"),
        ([*MINE, *VIPS, "--neighbor", "10.1.0.1"], "argument --neighbor: '10.1.0.1' is not allowed"),
        ([*MINE[:6], *VIPS], "--vips has IPv6 networks, but no --neighbor is of that family"),
        ([*MINE, *VIPS, "--router-id", "::1"], "argument --router-id: '::1' is not allowed"),
        ([*MINE, *VIPS, "--bfd-interval", "x"], "argument --bfd-interval: 'x' is not allowed; allowed: 50..10000"),
    ],
)
def test_refused(arguments: list[str], words: str):
    done = frr_config(*arguments)
    assert done.returncode == 2 and words in done.stderr and not done.stdout
