# SPDX-License-Identifier: Apache-2.0
"""docs/tutorial.md: every command of it is read from the page and run where it says, on machines with nothing else.

    client (a network namespace) ── net ── router ── rack ──┬── lb1, lb2, web1
                                                            └── you (this network namespace)

Blocks run in the page's order. Where one reboots a machine, connections that were opened before go on asking, and so
do new ones: the reboot of a mux may break none, and after that of the server new ones are served again.
"""

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


@pytest.fixture(scope="module")
def site(disks: tuple[debian.Disk, Path], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
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
    folder = tmp_path_factory.mktemp("you")
    (folder / "build").symlink_to(ROOT / "build")
    key = ssh(folder)
    machines = {
        name: debian.machine(name, Path("/run") / name, *disks, taps(name), memory) for name, memory in MEMORY.items()
    }
    try:
        for machine in machines.values():
            machine.start()
        with ThreadPoolExecutor(len(machines)) as each:
            list(each.map(lambda name: install(machines[name], name, key), machines))
        yield Site(machines, client, folder)
    finally:
        for machine in machines.values():
            machine.stop()
        client.delete()


def taps(name: str) -> list[str]:
    return [rack.tap(name, "rack"), *([rack.tap("router-net", "net")] if name == "router" else [])]


def ssh(folder: Path) -> str:
    """A key for `you`, and an scp that uses it; its public half."""
    run("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", folder / "key")
    (folder / "bin").mkdir()
    scp = folder / "bin" / "scp"
    options = f"-q -i {folder}/key -o StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null -o ConnectTimeout=120"
    scp.write_text(f'#!/bin/sh\nexec /usr/bin/scp {options} "$@"\n')
    scp.chmod(0o755)
    return (folder / "key.pub").read_text().strip()


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


def test_tutorial(site: Site) -> None:
    for block in BLOCKS:
        if block.script != "reboot\n":
            site.run(block)
            continue
        (name,) = block.machines
        for each in ("lb1", "lb2") if name == "lb1" else (name,):  # the page: the same for lb2
            if name == "web1":
                site.reboot(each)
            else:
                with Traffic(site.client) as traffic:
                    before = traffic.answers
                    site.reboot(each)
                assert traffic.broken == [], f"by the reboot of {each}"
                assert traffic.answers > before
                print(f"-- {each} rebooted: {traffic.answers} answers, 0 of {CONNECTIONS} connections broke")
            until(f"served after the reboot of {each}", lambda: served(site.client), 600, pause=1)
            until(f"two muxes after that of {each}", lambda: ways(site) == 2, 600, pause=1)
    for name, machine in site.machines.items():
        assert shell(machine, "systemctl --failed --no-legend") == "", name
        assert machine.complaints() == [], name


def served(client: Namespace) -> bool:
    try:
        return (
            client.run("curl", "--fail", "--silent", "--max-time", "10", "http://10.99.0.1/").encode() == ANSWER + b"\n"
        )
    except LabError:
        return False


def ways(site: Site) -> int:
    """How many muxes the router sends to."""
    return shell(site.machines["router"], "ip route show 10.99.0.1").count("via 10.1.0.1")
