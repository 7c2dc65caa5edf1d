# SPDX-License-Identifier: Apache-2.0
"""docs/tutorial.md: every command of it is read from the page and run where it says, on machines with nothing else.

    client (a network namespace) ── net ── router ── rack ──┬── lb1, lb2, web1
                                                            └── you (this network namespace)

Blocks run in the page's order. Where one reboots a machine, connections that were opened before go on asking: the
reboot of a mux may break none, and after that of the server new ones are served. With the packages of an older version
the same commands run, except for the reboots; then each machine is upgraded, and a mux purged, under traffic.
"""

import contextlib
import os
import socket
import subprocess
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import pytest

from distribution import upgrade
from distribution.machines import page, rack
from lab.deadline import LabError, until
from lab.namespace import Namespace
from lab.vm import debian
from lab.vm.debian import shell
from lab.vm.kernel import ROOT, run
from lab.vm.machine import Machine

pytestmark = pytest.mark.long
PAGE = ROOT / "docs" / "tutorial.md"
BLOCKS = page.blocks(PAGE)
RACK = {"lb1": "10.1.0.11", "lb2": "10.1.0.12", "web1": "10.1.0.21"}
MEMORY = {"router": 320, "lb1": 1400, "lb2": 1400, "web1": 640}  # MiB
VIP = ("10.99.0.1", 80)
BLOCK_SECONDS = 1800.0
REBOOT = "reboot\n"
INSTALL = "DEBIAN_FRONTEND=noninteractive apt-get -y -q --no-install-recommends"
CONNECTIONS = 16
ASK = b"GET / HTTP/1.1\r\nHost: web\r\n\r\n"
ANSWER = b"hello from web1"
PAUSE = 2.0  # between the requests of a connection
PATIENCE = 60.0  # for an answer, on a host with much else to do


def interface(name: str, address: str, gateway: str = "") -> str:
    """What Debian's installer writes for an interface."""
    lines = f"auto {name}\niface {name} inet static\n  address {address}/24\n"
    lines += f"  gateway {gateway}\n" if gateway else ""
    return f"printf %s '{lines}' >/etc/network/interfaces.d/{name}; ifup {name}; "


@dataclass
class Site:
    machines: dict[str, Machine]
    client: Namespace
    folder: Path  # of `you`

    def run(self, block: page.Block) -> None:
        with ThreadPoolExecutor(len(block.machines)) as each:
            list(each.map(lambda name: self._run(name, block), block.machines))

    def _run(self, name: str, block: page.Block) -> None:
        began = time.monotonic()
        if name in ("you", "client"):
            words = ["bash", "-e", "-c", block.script]
            words = self.client.enter(words) if name == "client" else words
            where = os.environ | {"PATH": f"{self.folder}/bin:{os.environ['PATH']}"}
            done = subprocess.run(
                words, cwd=self.folder, env=where, capture_output=True, text=True, check=False, timeout=BLOCK_SECONDS
            )
            said, code = done.stdout + done.stderr, done.returncode
        else:
            script = f"export DEBIAN_FRONTEND=noninteractive; cd /root; exec 2>&1; set -e; {block.script}"
            result = self.machines[name].run(["bash", "-c", script], seconds=BLOCK_SECONDS)
            said, code = result.stdout.decode(errors="replace"), result.code
        print(f"-- {name}, line {block.line}, {time.monotonic() - began:.0f} s, exit {code}\n{said}", flush=True)
        if code:
            raise LabError(f"{PAGE.name}:{block.line} on {name} ended with {code}:\n{said}")

    def reboot(self, name: str) -> None:
        """The machine's own reboot; this returns once it has started again."""
        machine = self.machines[name]
        boot = shell(machine, "cat /proc/sys/kernel/random/boot_id")
        machine.run(["systemctl", "reboot", "--no-block"])

        def rebooted() -> bool:
            try:
                return machine.run(["cat", "/proc/sys/kernel/random/boot_id"], seconds=10).stdout.decode() != boot
            except LabError:
                return False

        until(f"{name} has rebooted", rebooted, debian.BOOT_SECONDS, pause=1)
        assert debian.started(machine) == "running", shell(machine, "systemctl --failed")


@contextlib.contextmanager
def site(disks: tuple[debian.Disk, Path], folder: Path, built: Path) -> Iterator[Site]:
    """Machines with nothing but Debian, on bridges of their own; `you` has the packages of `built`."""
    for name in ("rack", "net"):
        rack.bridge(name)
    run("ip", "address", "add", "10.1.0.2/24", "dev", "rack")
    client = Namespace("client")
    client.create()
    run("ip", "link", "add", "client", "type", "veth", "peer", "name", "eth0", "netns", "client")
    run("ip", "link", "set", "client", "master", "net", "up")
    client.ip(
        "link set lo up", "address add 192.0.2.10/24 dev eth0", "link set eth0 up", "route add default via 192.0.2.1"
    )
    client.run("ethtool", "-K", "eth0", "tx", "off", "tso", "off", "gso", "off")
    (folder / "build").mkdir()
    (folder / "build" / "packages").symlink_to(built)
    key = ssh(folder)
    machines = {}
    for name, memory in MEMORY.items():
        for tap in taps(name):
            rack.tap(tap, "net" if tap == "router-net" else "rack")
        machines[name] = debian.machine(name, folder / name, *disks, taps(name), memory)
    try:
        for machine in machines.values():
            machine.start()
        with ThreadPoolExecutor(len(machines)) as each:
            list(each.map(lambda name: install(machines[name], name, key), machines))
        for name, address in {"router": "10.1.0.1", **RACK}.items():
            until(f"{name} answers by SSH", lambda address=address: offers_ssh(address), debian.BOOT_SECONDS, pause=0.5)
        yield Site(machines, client, folder)
    finally:
        for machine in machines.values():
            machine.stop()
        client.delete()
        for link in ("rack", "net", *(tap for name in MEMORY for tap in taps(name))):
            run("ip", "link", "delete", link)


def taps(name: str) -> list[str]:
    return [f"{name}-rack", *(["router-net"] if name == "router" else [])]


def ssh(folder: Path) -> str:
    """A key for `you`, and an ssh and scp that use it; its public half."""
    run("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", folder / "key")
    (folder / "bin").mkdir()
    options = f"-o LogLevel=ERROR -i {folder}/key -o StrictHostKeyChecking=no"
    options += " -o UserKnownHostsFile=/dev/null -o ConnectTimeout=120"
    for name in ("ssh", "scp"):
        command = folder / "bin" / name
        command.write_text(f'#!/bin/sh\nexec /usr/bin/{name} {options} "$@"\n')
        command.chmod(0o755)
    return (folder / "key.pub").read_text().strip()


def offers_ssh(address: str) -> bool:
    """Whether its SSH server answers: a machine may have started, and its server not yet."""
    try:
        with socket.create_connection((address, 22), timeout=5) as connection:
            return connection.recv(4) == b"SSH-"
    except OSError:
        return False


def install(machine: Machine, name: str, key: str) -> None:
    """What an operator has once Debian's installer has ended: a name, addresses, and SSH."""
    debian.started(machine)
    script = f"echo {name} >/etc/hostname; hostname {name}; echo 127.0.1.1 {name} >>/etc/hosts; "
    script += f"mkdir -m 700 -p .ssh; echo '{key}' >>.ssh/authorized_keys; "
    if name == "router":
        script += interface("eth0", "10.1.0.1") + interface("eth1", "192.0.2.1")
    else:
        script += interface("eth0", RACK[name], "10.1.0.1")
    shell(machine, script)


class Traffic:
    """Connections that ask every two seconds, from the client's namespace, until the end; what went wrong with each."""

    def __init__(self, client: Namespace) -> None:
        self.answers, self.broken, self._end = 0, [], threading.Event()
        self._threads = [threading.Thread(target=self._ask, args=(client,), daemon=True) for _ in range(CONNECTIONS)]

    def __enter__(self) -> "Traffic":
        for thread in self._threads:
            thread.start()
        until("each connection has been answered", lambda: self.answers >= CONNECTIONS or self.broken, PATIENCE)
        return self

    def __exit__(self, *_: object) -> None:
        self._end.set()
        for thread in self._threads:
            thread.join(2 * PATIENCE)

    def _ask(self, client: Namespace) -> None:
        try:
            with client.inside():
                connection = socket.create_connection(VIP, PATIENCE)
            with connection:
                connection.settimeout(PATIENCE)
                while not self._end.wait(PAUSE):
                    connection.sendall(ASK)
                    got = b""
                    while ANSWER not in got:
                        part = connection.recv(4096)
                        if not part:
                            raise ConnectionError("closed by the server")
                        got += part
                    self.answers += 1
        except OSError as error:
            self.broken.append(f"{type(error).__name__}: {error}")


def test_page_has_commands_for_each_machine() -> None:
    assert {name for block in BLOCKS for name in block.machines} == {*MEMORY, "you", "client"}
    assert PAGE.read_text().count("```\n# on ") == len(BLOCKS)


def test_tutorial(disks: tuple[debian.Disk, Path], tmp_path: Path) -> None:
    with site(disks, tmp_path, upgrade.BUILT) as at:
        for block in BLOCKS:
            if block.script != REBOOT:
                at.run(block)
                continue
            (name,) = block.machines
            for each in ("lb1", "lb2") if name == "lb1" else (name,):  # the page: the same for lb2
                if name == "web1":
                    at.reboot(each)
                else:
                    with unbroken(at, f"the reboot of {each}"):
                        at.reboot(each)
                settled(at, f"the reboot of {each}")
        nothing_failed(at)


def test_upgrade(tmp_path: Path) -> None:
    older, newer = upgrade.packages()
    with site(rack.disks(newer), tmp_path, older) as at:
        for block in BLOCKS:
            if block.script != REBOOT:
                at.run(block)
        # In the rack's order; lab/tests/test_versions.py has the documented one. Packages let muxes run.
        for name in RACK:
            packages = "fairlead-server" if name == "web1" else "fairlead-cli fairlead-controller fairlead-mux"
            versions = f"dpkg-query -W -f '${{Version}}\\n' {packages}"
            assert set(shell(at.machines[name], versions).split()) == {upgrade.OLDER}
            with unbroken(at, f"the upgrade of {name}"):
                shell(at.machines[name], f"{INSTALL} install {packages}", BLOCK_SECONDS)
                assert set(shell(at.machines[name], versions).split()) == {upgrade.NEWER}
                settled(at, f"the upgrade of {name}")
        for name in ("lb1", "lb2"):
            with unbroken(at, f"the restart of the mux on {name}"):
                shell(at.machines[name], "systemctl restart fairlead-mux", BLOCK_SECONDS)
                settled(at, f"the restart of the mux on {name}")
        nothing_failed(at)
        with unbroken(at, "the purge of lb2"):
            shell(at.machines["lb2"], f"{INSTALL} purge 'fairlead-*'", BLOCK_SECONDS)
            until("one mux is left", lambda: ways(at) == 1, 600, pause=1)
        found = "find / -xdev '(' -path /srv/packages -o -path /root -o -path /var/cache ')' -prune -o"
        assert shell(at.machines["lb2"], f"{found} -name '*fairlead*' -print") == ""


@contextlib.contextmanager
def unbroken(at: Site, by: str) -> Iterator[None]:
    with Traffic(at.client) as traffic:
        before = traffic.answers
        yield
    assert traffic.broken == [], f"by {by}"
    assert traffic.answers > before
    print(f"-- {by}: {traffic.answers} answers, 0 of {CONNECTIONS} connections broke", flush=True)


def settled(at: Site, after: str) -> None:
    until(f"served after {after}", lambda: served(at.client), 600, pause=1)
    until(f"two muxes after {after}", lambda: ways(at) == 2, 600, pause=1)


def nothing_failed(at: Site) -> None:
    for name, machine in at.machines.items():
        assert shell(machine, "systemctl --failed --no-legend") == "", name
        assert machine.complaints() == [], name


def served(client: Namespace) -> bool:
    try:
        return (
            client.run("curl", "--fail", "--silent", "--max-time", "10", "http://10.99.0.1/").encode() == ANSWER + b"\n"
        )
    except LabError:
        return False


def ways(at: Site) -> int:
    """How many muxes the router sends to."""
    return shell(at.machines["router"], "ip route show 10.99.0.1").count("via 10.1.0.1")
