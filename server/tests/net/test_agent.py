# SPDX-License-Identifier: Apache-2.0
"""`fairlead-server agent` in a namespace of its own: what it reports of real sockets, and to whom."""

import os
import socket
import ssl
import subprocess
import sys
from pathlib import Path

import pytest
from agent_world import (
    BUCKETS,
    KEY,
    OWN,
    SECONDS,
    UNREACHED,
    VIP,
    VIP2,
    VIP6,
    World,
    service,
    unit_capabilities,
    until_counted,
    world,
)
from fake_controller import FakeController

from lab.deadline import until
from lab.namespace import Namespace

ROOT = Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "protocol" / "vectors"))

from oracle.flow import flow_key, siphash  # noqa: E402
from oracle.known import Known  # noqa: E402
from oracle.report import read_set, runs_of, set_bytes, set_text  # noqa: E402

__all__ = ["world"]


def flow_hash(client: socket.socket, affinity: str = "connection") -> int:
    """Of a connection to a VIP, by the oracle."""
    (source, source_port), (destination, port) = client.getsockname()[:2], client.getpeername()[:2]
    flow = {"source": source, "destination": destination, "sourcePort": source_port, "destinationPort": port}
    return siphash(bytes.fromhex(KEY), flow_key(flow | {"protocol": 6, "affinity": affinity}))


def buckets_of(flow: int, two: bool) -> set[int]:
    return {flow % BUCKETS, (flow >> 32) % BUCKETS} if two else {flow % BUCKETS}


@pytest.mark.parametrize("mode", ["events", "dumps"])
def test_counts(world: World, mode: str) -> None:
    """Connections of both families, by listeners of their own and by one for both, from before and after the start."""
    controller = world.controller(service(), service("api", 2, (VIP2,)))
    both, narrow = world.listen("::"), world.listen(VIP, backlog=77)
    before = [world.connect(narrow, VIP) for _ in range(3)]
    world.start(controller, words=("--no-events",) if mode == "dumps" else ())
    until_counted(controller, 3)
    assert controller.reports[-1]["mode"] == mode, world.said.read_text()
    assert controller.of("web")["opened"] == 0
    after = [world.connect(narrow, VIP), world.connect(both, VIP6), world.connect(both, VIP6)]
    other = world.connect(both, VIP2)
    until_counted(controller, 6, acceptQueue={"length": 0, "limit": 128 + 77})
    until_counted(controller, 1, "api")
    subflow = world.connect(world.listen(VIP, 20007), VIP, 20007)
    until_counted(controller, 7)
    world.connect(world.listen(VIP, 81), VIP, 81)  # no port of a service
    for one in (before[0], after[1]):
        one[0].close()
        one[1].close()
    until_counted(controller, 5)
    before[1][1].close()  # the server's end alone, then the client's: in between it counts
    until_counted(controller, 5)
    before[1][0].close()
    other[1].setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")  # a RST
    other[1].close()
    until_counted(controller, 4)
    until_counted(controller, 0, "api")
    subflow[0].close()
    subflow[1].close()
    until_counted(controller, 3)
    web = [report_service for report in controller.reports for report_service in report["services"]]
    web = [one for one in web if one["name"] == "web"]
    assert (sum(one["opened"] for one in web), sum(one["closed"] for one in web)) == (4, 4)
    sequences = [report["sequence"] for report in controller.reports]
    assert sequences == sorted(set(sequences)) and len({report["boot"] for report in controller.reports}) == 1
    assert set(controller.tokens) == {"Bearer secret"}
    assert controller.connections == 1, "the connection to the controller is kept"
    world.stop()


@pytest.mark.parametrize("mode", ["events", "dumps"])
@pytest.mark.parametrize("two", [False, True], ids=["one bucket", "two buckets"])
def test_questions(world: World, mode: str, two: bool) -> None:
    controller = world.controller(service() | ({"twoBuckets": True} if two else {}))
    listener = world.listen("::")
    ends = [world.connect(listener, address) for address in (VIP, VIP6) for _ in range(10)]
    subflow = world.connect(world.listen(VIP, 20007), VIP, 20007)
    each = [buckets_of(flow_hash(client), two) for client, _ in ends]
    buckets = set().union(*each)
    world.start(controller, words=("--no-events",) if mode == "dumps" else ())
    until_counted(controller, 21)
    assert "answer" not in controller.of("web")

    def ask(name: str, asked: set[int]) -> dict:
        text = set_text(set_bytes(runs_of(asked)))
        controller.questions = [{"name": "web", "question": name, "buckets": text}]
        until(f"an answer to {name}", lambda: controller.of("web")["answer"]["question"] == name
              if "answer" in controller.of("web") else None, SECONDS)  # fmt: skip
        controller.questions[0].pop("buckets")
        return controller.of("web")["answer"]

    answer = ask("all", set(range(BUCKETS)))
    assert (answer["connections"], read_set(answer["buckets"], BUCKETS)) == (20, buckets)
    some = set(sorted(buckets)[::2])
    answer = ask("some", some | (set(range(50)) - buckets))
    assert read_set(answer["buckets"], BUCKETS) == some
    assert answer["connections"] == sum(not some.isdisjoint(own) for own in each)
    for client, end in ends:
        client.close()
        end.close()
    until("no connection is left", lambda: controller.of("web")["answer"]["connections"] == 0, SECONDS)
    assert controller.of("web")["answer"]["buckets"] == "" and controller.of("web")["established"] == 1
    world.half_open(50001)
    flow = {"source": UNREACHED, "destination": VIP, "sourcePort": 50001, "destinationPort": 80}
    asked = buckets_of(siphash(bytes.fromhex(KEY), flow_key(flow | {"protocol": 6, "affinity": "connection"})), two)
    answer = ask("half-open", asked | {(one + 1) % BUCKETS for one in asked})
    assert (answer["connections"], read_set(answer["buckets"], BUCKETS)) == (1, asked)
    assert controller.of("web")["halfOpen"] == 1
    controller.questions = []
    until("answers end with the question", lambda: "answer" not in controller.of("web"), SECONDS)
    subflow[0].close()
    world.stop()


def until_known(controller: FakeController, name: str, hashes: set[int]) -> None:
    known = controller.known[name]
    until(
        f"{len(hashes)} connections of {name} are known", lambda: known.is_complete and known.hashes == hashes, SECONDS
    )


@pytest.mark.parametrize("mode", ["events", "dumps"])
def test_connections(world: World, mode: str) -> None:
    """Connections are told from an age on and when they close; all, to another leader and to one that refused."""
    controller = world.controller(
        service() | {"connections": {"ageSeconds": 2}},
        service("api", 2, (VIP2,)) | {"connections": {"ageSeconds": 1}, "affinity": "client"},
    )
    controller.known = {"web": Known("m1"), "api": Known("m1")}
    listener, both = world.listen(VIP), world.listen("::")
    before = [world.connect(listener, VIP) for _ in range(3)]
    world.start(controller, words=("--no-events",) if mode == "dumps" else ())
    until_known(controller, "web", {flow_hash(client) for client, _ in before})
    first = [one["connections"] for report in controller.reports for one in report["services"] if "connections" in one]
    assert first[0]["whole"] and first[0]["first"], first
    after = [world.connect(listener, VIP), world.connect(both, VIP6)]
    world.connect(world.listen(VIP, 20007), VIP, 20007)  # a subflow, which has no bucket
    opened = {flow_hash(client) for client, _ in before + after}
    until_known(controller, "web", opened)
    opened.remove(flow_hash(before[0][0]))
    for end in before[0]:
        end.close()
    until_known(controller, "web", opened)
    of_client = [world.connect(both, VIP2) for _ in range(2)]
    client = {flow_hash(of_client[0][0], "client")}
    until_known(controller, "api", client)
    count = len(controller.reports)
    for end in of_client[0]:
        end.close()
    until("two more reports", lambda: len(controller.reports) > count + 2, SECONDS)
    assert controller.known["api"].hashes == client, "another connection of the client is open"
    for end in of_client[1]:
        end.close()
    until_known(controller, "api", set())
    controller.known["web"] = Known("m2")
    until_known(controller, "web", opened)
    controller.known["web"], controller.refuses = Known("m3"), "more than 3 connections"
    until("it says so", lambda: "refuses its connections: more than 3" in world.said.read_text(), SECONDS)
    controller.refuses = None
    until_known(controller, "web", opened)
    until("it says so", lambda: "accepted again" in world.said.read_text(), SECONDS)
    world.stop()


def test_half_open(world: World) -> None:
    controller = world.controller()
    world.listen(VIP)
    world.start(controller)
    until_counted(controller, 0)
    world.half_open(*range(50000, 50020))
    until_counted(controller, 0, halfOpen=20)
    world.stop()


def test_other_services(world: World) -> None:
    """A new service is left out until the sockets were listed; the others go on."""
    controller = world.controller()
    listener = world.listen("0.0.0.0")
    ends = [world.connect(listener, VIP2), world.connect(listener, VIP)]
    world.start(controller)
    until_counted(controller, 1)
    controller.services = [service(), service("api", 2, (VIP2,))]
    controller.version = "v2"
    until_counted(controller, 1, "api")
    of_two = [report for report in controller.reports if report["servicesVersion"] == "v2"]
    assert all(s["established"] == 1 for report in of_two for s in report["services"]), of_two
    assert all("web" in [s["name"] for s in report["services"]] for report in controller.reports[-3:])
    ends[0][0].close()
    ends[0][1].close()
    until_counted(controller, 0, "api")
    controller.services, controller.version = [], "v3"
    until("no service is left", lambda: controller.reports[-1]["services"] == [], SECONDS)
    world.stop()


def test_refused_services(world: World) -> None:
    """A controller that refuses the report for its services gets them read again, without an answer that says so."""
    controller = world.controller()
    world.start(controller)
    until_counted(controller, 0)
    controller.services = [service(), service("api", 2, (VIP2,))]
    controller.version = controller.wanted = "v2"
    until_counted(controller, 0, "api")
    assert controller.refused and controller.reports[-1]["servicesVersion"] == "v2"
    world.stop()


def test_other_namespaces_do_not_count(world: World) -> None:
    other = Namespace(f"flagentother{os.getpid()}")
    other.create()
    world.open.callback(other.delete)
    other.ip("link set lo up", f"addr add {VIP}/32 dev lo")
    controller = world.controller()
    listener = world.listen(VIP)
    world.start(controller)
    until_counted(controller, 0)
    with other.inside():
        elsewhere = world.open.enter_context(socket.create_server((VIP, 80)))
        world.open.enter_context(socket.create_connection((VIP, 80), SECONDS))
    world.connect(listener, VIP)
    until_counted(controller, 1)
    elsewhere.close()
    world.stop()


def test_failures(world: World) -> None:
    """What was opened meanwhile comes with the next report; a second controller takes over; then the agent restarts."""
    first = world.controller()
    second = world.controller(port=8081)
    listener = world.listen(VIP)
    world.start(first, second)
    until_counted(first, 0)
    first.status = 503
    ends = [world.connect(listener, VIP) for _ in range(5)]
    until_counted(second, 5)
    opened = [found["opened"] for report in second.reports for found in report["services"]]
    assert sum(opened) == 5 and first.refused
    assert "503" in world.said.read_text()
    until("it says that reports are answered again", lambda: "answers again" in world.said.read_text(), SECONDS)
    boot = second.reports[-1]["boot"]
    world.agent.kill()
    world.agent.wait()
    second.reports.clear()
    world.start(second)
    until_counted(second, 5, opened=0)
    assert second.reports[-1]["boot"] != boot and second.reports[0]["sequence"] == 1
    ends.clear()
    world.stop()


@pytest.mark.parametrize(
    ("answer", "sentence"),
    [
        (b"", "JSON in the answer of /v1/agent/reports"),
        (b'{"format": 2}', "format in the answer of /v1/agent/reports: '2' is not allowed"),
        (b"[" * 100000, "JSON in the answer of /v1/agent/reports"),
    ],
    ids=["empty", "another format", "deep"],
)
def test_malformed_answers(world: World, answer: bytes, sentence: str) -> None:
    controller = world.controller()
    world.start(controller)
    until_counted(controller, 0)
    controller.answer = answer
    until("the answer is refused", lambda: sentence in world.said.read_text(), SECONDS)
    controller.answer = None
    count = len(controller.reports)
    until("it goes on", lambda: len(controller.reports) > count + 1, SECONDS)
    world.stop()


def test_the_unit_s_capabilities_suffice(world: World) -> None:
    """As another user with nothing but what the unit gives; without that, all connections are listed instead."""
    controller = world.controller(service() | {"twoBuckets": True})
    controller.asks = {"asksSignals": True}
    for capabilities, mode in ((unit_capabilities("fairlead-agent.service"), "events"), ([], "dumps")):
        world.start(controller, user=world.as_nobody(capabilities))
        until_counted(controller, 0)
        assert controller.reports[-1]["mode"] == mode, world.said.read_text()
        assert ("signals" in controller.of("web")) == (mode == "events")
        until("a reading", lambda: "busy" in controller.of("web")["load"], SECONDS)
        assert ("listed by sock_diag, which is not exact" in world.said.read_text()) == (mode == "dumps")
        world.stop()
        controller.reports.clear()
    assert "CAP_BPF and CAP_PERFMON are missing" in world.said.read_text()


def certificate(directory: Path, name: str) -> tuple[Path, Path]:
    cert, key = directory / f"{name}.pem", directory / f"{name}.key"
    words = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", f"/CN={name}"]
    words += ["-addext", "subjectAltName=IP:127.0.0.1", "-keyout", str(key), "-out", str(cert)]
    subprocess.run(words, check=True, capture_output=True)
    return cert, key


def test_certificates(world: World) -> None:
    server, client = certificate(world.directory, "controller"), certificate(world.directory, "agent")
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(*server)
    tls.load_verify_locations(client[0])
    tls.verify_mode = ssl.CERT_REQUIRED
    controller = world.controller(tls=tls)
    own = ("--client-cert", str(client[0]), "--client-key", str(client[1]))
    world.start(controller, words=own, token=False)
    until("it refuses what it has no CA for", lambda: "certificate" in world.said.read_text(), SECONDS)
    world.stop()
    world.start(controller, words=("--ca-file", str(server[0]), *own), token=False)
    until_counted(controller, 0)
    assert controller.tokens[-1] is None
    world.stop()


def test_a_token_travels_in_clear_text_only_if_that_is_allowed(world: World) -> None:
    """Off loopback; on it no flag is needed, as everywhere else here."""
    controller = world.controller(address=OWN)
    for words in ((), ("--controller-clear-text", "off")):
        world.start(controller, words=words)
        assert world.agent.wait(SECONDS) == 2
        assert f"--controller: '{controller.url}' is not allowed; allowed: https" in world.said.read_text()
    assert controller.connections == 0
    world.start(controller, words=("--controller-clear-text", "on"))
    until_counted(controller, 0)
    assert controller.tokens[-1] == "Bearer secret"
    world.stop()


def test_a_redirect_takes_the_token_nowhere(world: World) -> None:
    controller, other = world.controller(), world.controller(port=8081)
    controller.elsewhere = other.url
    world.start(controller)
    until("it asks a second time", lambda: len(controller.tokens) >= 2, SECONDS)
    assert other.connections == 0
    controller.elsewhere = None
    until_counted(controller, 0)
    world.stop()


COMPLETE = ["--controller", "https://10.1.0.5", "--address", OWN, "--token-file", "/missing"]
REFUSALS = [
    ([], "--controller: '' is not allowed"),
    (["--controller", "ftp://10.1.0.5", "--address", OWN], "--controller: 'ftp://10.1.0.5' is not allowed"),
    (["--controller", "http://10.1.0.5/v1", "--address", OWN], "allowed: URLs without a path"),
    (["--controller", "http://u:p@10.1.0.5", "--address", OWN], "allowed: URLs without a path"),
    (["--controller", "http://10.1.0.5,", "--address", OWN], "--controller"),
    (["--controller", "http://10.1.0.5"], "--address: '' is not allowed"),
    (["--controller", "http://10.1.0.5", "--address", "10.1.0.1,10.1.0.2"], "or one of each family"),
    (["--controller", "http://10.1.0.5", "--address", "server7"], "--address: 'server7' is not allowed"),
    (["--controller", "http://10.1.0.5", "--address", OWN], "--token-file: '' is not allowed"),
    (COMPLETE, "a file that can be read"),
    (["--controller", "http://127.0.0.1.example", *COMPLETE[2:]], "'http://127.0.0.1.example' is not allowed"),
    (["--controller", "http://localhost:1,http://[::2]:1", *COMPLETE[2:]], "'http://[::2]:1' is not allowed"),
    (["--controller", "http://LocalHost,http://127.1.2.3,http://[::1]:1", *COMPLETE[2:]], "a file that can be read"),
    ([*COMPLETE, "--controller-clear-text", "yes"], "--controller-clear-text: 'yes' is not allowed; allowed: on, off"),
    (["--controller", "http://10.1.0.5", "--address", OWN, "--client-cert", "x"], "only together with --client-key"),
    ([*COMPLETE, "--interface", "a name that is too long"], "--interface: 'a name that is too long' is not allowed"),
    ([*COMPLETE, "--form", "module", "--interface", "eth0"], "--interface: 'eth0' is not allowed"),
    ([*COMPLETE, "--form", "xdp"], "--form: 'xdp' is not allowed; allowed: bpf, module"),
    ([*COMPLETE, "--busy", "load"], "--busy: 'load' is not allowed; allowed: connections, nginx=URL"),
    ([*COMPLETE, "--busy", ""], "--busy: '' is not allowed"),
    ([*COMPLETE, "--busy", "psi=1"], "--busy: 'psi=1' is not allowed"),
    ([*COMPLETE, "--busy", "nginx"], "--busy: 'nginx' is not allowed"),
    ([*COMPLETE, "--busy", "nginx=ftp://127.0.0.1/"], "http or https"),
    ([*COMPLETE, "--busy", "apache=http://u:p@127.0.0.1/"], "without user and password"),
    ([*COMPLETE, "--busy", "command=busy"], "PATH: absolute"),
    ([*COMPLETE, "--busy-interval-ms", "9"], "--busy-interval-ms: '9' is not allowed"),
    ([*COMPLETE, "--busy-interval-ms", "1001"], "a whole number from 10 to 1000"),
    (["now"], "allowed: flags only"),
]


@pytest.mark.parametrize(("words", "sentence"), REFUSALS, ids=[" ".join(words) or "nothing" for words, _ in REFUSALS])
def test_refusals(request: pytest.FixtureRequest, words: list[str], sentence: str) -> None:
    command = request.config.getoption("--build").resolve() / "server" / "fairlead-server"
    done = subprocess.run([command, "agent", *words], capture_output=True, text=True, timeout=SECONDS, check=False)
    assert (done.returncode, done.stdout) == (2, "")
    assert sentence in done.stderr, done.stderr


@pytest.mark.parametrize(
    ("mode", "text", "sentence"),
    [
        (0o644, "secret", "mode '0644' is not allowed"),
        (0o600, "", "a file with one token"),
        (0o600, "two words", "a file with one token"),
        (0o600, "x" * 2000, "a file with one token"),
    ],
    ids=["readable by all", "empty", "two words", "long"],
)
def test_token_files(world: World, mode: int, text: str, sentence: str) -> None:
    world.token.write_text(text)
    world.token.chmod(mode)
    words = ["agent", "--controller", "http://127.0.0.1:9", "--address", OWN, "--token-file", str(world.token)]
    done = subprocess.run([world.command, *words], capture_output=True, text=True, timeout=SECONDS, check=False)
    assert done.returncode == 2 and sentence in done.stderr, done.stderr
