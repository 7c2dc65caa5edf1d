# SPDX-License-Identifier: Apache-2.0
"""
Probes of backends along the data path: mux host ── tunnel ──▶ server ── direct return ──▶ mux host.

Each fault breaks one server in a way that only such a probe sees, or says why; the others stay up.
"""

import contextlib
import os
import signal
import stat
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from lab import Lab, build, topology
from lab.deadline import until
from lab.dual import DualService
from lab.findings import Finding, Findings, findings
from lab.namespace import run
from lab.probe import Probe
from lab.rest import Refused
from lab.server import Server

FAST = {"intervalMillis": 1000, "timeoutMillis": 900, "rise": 1, "fall": 2, "jitterPercent": 20}
ALL = {1, 2, 3, 4}
TLS_PORT = 8443
STOPS = 8  # of a probe, for longer than its attempts may take
QUIET_SECONDS = 2.5  # several rounds in which nothing may change
RULES = "table inet probed {{ chain in {{ type filter hook input priority 0; tcp dport 80 {}; }}; }}"
COMMAND = f"""\
#!{sys.executable}
import os, socket
vip = os.environ["FAIRLEAD_VIP"]
with socket.socket(socket.AF_INET6 if ":" in vip else socket.AF_INET) as client:
    client.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    client.bind((os.environ["FAIRLEAD_SOURCE"], int(os.environ["FAIRLEAD_SOURCE_PORT"])))
    client.settimeout(int(os.environ["FAIRLEAD_TIMEOUT_MILLIS"]) / 1000)
    client.connect((vip, int(os.environ["FAIRLEAD_PORT"])))
    client.sendall(b"GET / HTTP/1.0\\r\\n\\r\\n")
    answer = b""
    while part := client.recv(4096):
        answer += part
server = int(os.environ["FAIRLEAD_ADDRESS"].replace(":", ".").rpartition(".")[2]) - 20
raise SystemExit(0 if answer.endswith(b"\\r\\n\\r\\nserver%d\\n" % server) else 1)
"""


@pytest.fixture(scope="module")
def commands(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("commands")
    for name, text in (("own-name", COMMAND), ("slow", "#!/bin/sh\nexec sleep 0.7\n")):
        file = folder / name
        file.write_text(text)
        file.chmod(file.stat().st_mode | stat.S_IXUSR)
    return folder


@pytest.fixture(scope="module")
def probes(session_lab: Lab, commands: Path) -> Iterator[dict[str, Probe]]:
    """One on each mux's machine."""
    made = {mux.name: Probe(mux, commands) for mux in session_lab.muxes.values()}
    for probe in made.values():
        probe.start()
    yield made
    for probe in made.values():
        probe.process.stop()
        assert probe.process.exit_code == 0, probe.process.tail()


@pytest.fixture(scope="module")
def found(session_lab: Lab, probes: dict[str, Probe]) -> Iterator[Findings]:
    with findings(session_lab) as client:
        yield client


@pytest.fixture
def checked(lab: Lab, dual: DualService) -> Iterator[Callable[..., None]]:
    """Sets the check of the service of both families; it has none afterwards."""

    def check(**settings: object) -> None:
        lab.api("PATCH", f"/v1/services/{dual.name}", {"healthCheck": {**FAST, **settings}})

    yield check
    lab.api("PATCH", f"/v1/services/{dual.name}", {"healthCheck": {"kind": "none"}})


def both_up(found: Findings, service: str = DualService.name, wanted: set[int] | None = None) -> None:
    for mux in ("mux1", "mux2"):
        found.wait_up(mux, service, ALL if wanted is None else wanted)


def both_down(
    found: Findings, number: int, *reasons: str, service: str = DualService.name, silent: bool = False
) -> None:
    """Until both muxes find the backend down for one of these reasons."""
    for mux in ("mux1", "mux2"):
        found.wait_down(mux, service, number, reasons, silent)


@contextlib.contextmanager
def filtered(server: Server, what: str) -> Iterator[None]:
    server.namespace.run("nft", "-f", "-", stdin=RULES.format(what))
    try:
        yield
    finally:
        server.namespace.run("nft", "delete", "table", "inet", "probed")


@contextlib.contextmanager
def without_nginx(server: Server) -> Iterator[None]:
    server.nginx.kill()
    try:
        yield
    finally:
        server.instance.start(server.nginx)


@contextlib.contextmanager
def frozen(server: Server) -> Iterator[None]:
    """Its kernel accepts connections, and the process never answers one."""
    os.kill(server.nginx.pid, signal.SIGSTOP)
    try:
        yield
    finally:
        os.kill(server.nginx.pid, signal.SIGCONT)


@contextlib.contextmanager
def without_vip(server: Server, vip: str) -> Iterator[None]:
    """Then its kernel would route packets to the VIP on, and a mux give them to a server that has it."""
    length = 128 if topology.is_ipv6(vip) else 32
    server.namespace.ip(f"addr del {vip}/{length} dev lo")
    try:
        yield
    finally:
        server.namespace.ip(f"addr add {vip}/{length} dev lo{' nodad' if length == 128 else ''}")


def test_half_dead_servers_answer_tcp_alone(lab: Lab, found: Findings, checked: Callable[..., None]) -> None:
    checked(kind="tcp")
    both_up(found)
    with frozen(lab.servers[1]):
        time.sleep(QUIET_SECONDS)
        both_up(found)
        checked(kind="http", expect={"body": "server"})
        both_down(found, 1, "no_answer")
        both_up(found, wanted=ALL - {1})
    both_up(found)


def test_a_process_that_is_gone(lab: Lab, found: Findings, checked: Callable[..., None]) -> None:
    checked(kind="http")
    both_up(found)
    with without_nginx(lab.servers[2]):
        both_down(found, 2, "refused")
        both_up(found, wanted=ALL - {2})
    both_up(found)


@pytest.mark.long
def test_firewalls(lab: Lab, found: Findings, checked: Callable[..., None]) -> None:
    checked(kind="tcp")
    both_up(found)
    with filtered(lab.servers[2], "drop"):
        both_down(found, 2, "timeout", silent=True)
        both_up(found, wanted=ALL - {2})
    both_up(found)
    with filtered(lab.servers[3], "reject"):
        both_down(found, 3, "refused", "unreachable")
    both_up(found)


@pytest.mark.parametrize("vip", [pytest.param(topology.DUAL_VIP, marks=pytest.mark.long), topology.DUAL_VIP6])
def test_a_vip_that_is_missing(lab: Lab, found: Findings, checked: Callable[..., None], vip: str) -> None:
    checked(kind="http")
    both_up(found)
    with without_vip(lab.servers[3], vip):
        for mux in ("mux1", "mux2"):
            finding = found.wait_down(mux, DualService.name, 3, ("timeout", "unreachable"))
            assert finding == Finding(finding.reason, vip, f"tcp:{topology.VIP_PORT}", False)
        both_up(found, wanted=ALL - {3})
    both_up(found)


@pytest.mark.long
def test_answers_are_looked_at(found: Findings, checked: Callable[..., None]) -> None:
    checked(kind="http", path="/any", host="www.example.org", expect={"status": "200", "body": "server4\n"[:-1]})
    both_up(found, wanted={4})
    both_down(found, 1, "body")
    checked(expect={"status": "404", "body": ""})
    both_down(found, 4, "status")


@pytest.mark.long
def test_datagrams(lab: Lab, dual: DualService, found: Findings, checked: Callable[..., None]) -> None:
    checked(kind="udp", send=b"who".hex(), expect={"hex": b" 3 ".hex()})
    both_up(found)
    checked(expect={"hex": b"server2 ".hex()})
    both_up(found, wanted={2})
    both_down(found, 1, "answer")
    checked(expect={"hex": ""})
    both_up(found)
    program = next(each for each in dual._programs if each.name.startswith("server4/"))
    program.kill()
    both_down(found, 4, "refused")
    lab.instance.start(program)
    both_up(found)


@pytest.mark.long
def test_tls(lab: Lab, found: Findings, checked: Callable[..., None], tmp_path: Path) -> None:
    """Each server has a certificate that no one trusts, and takes one name alone (SNI)."""
    key, certificate = tmp_path / "key", tmp_path / "certificate"
    words = ["-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-subj", "/CN=www.example.org"]
    run(["openssl", "req", *words, "-keyout", str(key), "-out", str(certificate)])
    argv = [sys.executable, "-m", "lab.tls_server", str(TLS_PORT), "www.example.org", str(key), str(certificate)]
    programs = [
        server.program("tls", [*argv, topology.DUAL_VIP, topology.DUAL_VIP6], {"PYTHONPATH": str(build.ROOT)})
        for server in lab.servers.values()
    ]
    for program in programs:
        lab.instance.start(program)
    try:
        checked(kind="https", port=TLS_PORT, host="www.example.org", expect={"body": "secret"})
        both_up(found)
        checked(host="www.example.com")
        both_down(found, 1, "tls")
        checked(host="www.example.org")
        both_up(found)
        checked(verify=True)
        both_down(found, 1, "tls")
    finally:
        for program in programs:
            program.stop()


@pytest.mark.long
def test_commands_reach_the_backend(found: Findings, checked: Callable[..., None]) -> None:
    checked(kind="command", command="own-name", port=topology.VIP_PORT)
    both_up(found)
    checked(command="missing")
    until("no verdict is left", lambda: not found.up("mux1", DualService.name), 30)
    assert found.down("mux1", DualService.name) == {}


@pytest.fixture
def side(lab: Lab) -> Iterator[str]:
    """A service of a port that no server serves, on a VIP and port of health checks that servers do serve."""
    spec = {
        "name": "side",
        "vips": [topology.DUAL_VIP],
        "ports": [{"protocol": "tcp", "port": 8080}],
        "healthCheck": {"kind": "http", "port": topology.VIP_PORT, **FAST},
    }
    lab.api("POST", "/v1/services", spec)
    yield "side"
    lab.api("DELETE", "/v1/services/side")


def writes(lab: Lab, service: str) -> bool:
    with contextlib.suppress(Refused):
        return bool(lab.change({"op": "weight", "id": 2, "weight": 99}, service=service))
    return False


@pytest.mark.long
def test_the_pool_is_followed(lab: Lab, probes: dict[str, Probe], found: Findings, side: str) -> None:
    additions = [{"op": "add", "id": n, "address": lab.servers[n].address, "weight": 100} for n in sorted(ALL)]
    lab.change(*additions[:2], service=side)
    both_up(found, side, {1, 2})
    lab.change(*additions[2:], service=side)
    both_up(found, side)
    lab.change({"op": "weight", "id": 1, "weight": 0}, service=side)  # still probed: it has connections
    lab.change({"op": "remove", "id": 4}, service=side)
    both_up(found, side, ALL - {4})
    lab.stop_zookeeper()
    until("it notices", lambda: probes["mux1"].metrics()["fairlead_probe_zookeeper_connected"] == 0, 30)
    gauge = f'fairlead_probe_backends{{service="{side}",health="down"}}'
    with without_nginx(lab.servers[2]):
        until("it probes on without ZooKeeper", lambda: probes["mux1"].metrics()[gauge] == 1, 30)
        lab.start_zookeeper()
        until("controllers write again", lambda: writes(lab, side), 60)
        both_down(found, 2, "refused", service=side)
    both_up(found, side, ALL - {4})
    lab.api("PATCH", f"/v1/services/{side}", {"healthCheck": {"kind": "none"}})
    until("results are gone", lambda: not found.service("mux1", side), 30)


@pytest.mark.long
def test_servers_learn_nothing(lab: Lab, found: Findings, checked: Callable[..., None]) -> None:
    """Probes are never chained, and drops of muxes' packets stay as they are, also while generations change."""
    checked(kind="http")
    both_up(found)
    before, stale = lab.chained_packets(), lab.stale_packets()
    for weight in (50, 100, 50, 100):
        lab.change({"op": "weight", "id": 1, "weight": weight}, service=DualService.name)
        lab.wait_applied(service=DualService.name)
        time.sleep(1)
    both_up(found)
    assert lab.chained_packets() == before
    assert lab.stale_packets() == stale


@pytest.mark.long
def test_a_stopped_probe_tells_no_lies(
    lab: Lab, probes: dict[str, Probe], found: Findings, checked: Callable[..., None]
) -> None:
    """One that was stopped for a while, in the middle of attempts, takes no server down."""
    checked(kind="command", command="slow")  # most of the time an attempt is under way
    both_up(found)
    process, before = probes["mux2"].process, probes["mux2"].metrics()
    for _ in range(STOPS):
        os.kill(process.pid, signal.SIGSTOP)
        time.sleep(1.5)  # longer than an attempt may take
        os.kill(process.pid, signal.SIGCONT)
        time.sleep(0.2)
    metrics = probes["mux2"].metrics()
    assert (
        metrics['fairlead_probe_void_total{reason="stalled"}'] > before['fairlead_probe_void_total{reason="stalled"}']
    )
    name = 'fairlead_probe_results_total{outcome="command"}'
    assert metrics[name] == before[name]
    assert found.down("mux2", DualService.name) == {}


@pytest.mark.long
def test_the_node_goes_with_the_probe(
    lab: Lab, probes: dict[str, Probe], found: Findings, checked: Callable[..., None]
) -> None:
    checked(kind="tcp")
    both_up(found)
    probe = probes["mux1"]
    probe.process.stop()
    assert probe.process.exit_code == 0
    until("its node is gone", lambda: found.node("mux1") == {}, 10)
    rules = probe.mux.run("ip", "rule")
    assert "6082" not in rules, rules
    probe.start()
    both_up(found)
    assert "6082" in probe.mux.run("ip", "rule")
