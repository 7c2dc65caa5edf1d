# SPDX-License-Identifier: Apache-2.0
"""`fairlead-mux --check` on real interfaces and a real ZooKeeper, and the same checks at each start."""

import json
import os
import re
import socket
import struct
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from deadline import until
from kazoo.security import OPEN_ACL_UNSAFE, make_digest_acl, make_digest_acl_credential
from rack import INSIDE, MUX, Rack, is_tunnel
from tree import Service, Tree
from whole_mux import WholeMux
from zookeeper_process import ZooKeeperProcess

XDP = f"af_xdp:{INSIDE}"


@pytest.fixture
def check(rack: Rack, zookeeper: ZooKeeperProcess) -> Callable:
    """Runs --check in the mux's namespace. Returns the exit code, and (verdict, text) by check."""

    def run(*arguments: str, before: tuple[str, ...] = (), servers: str = f"10.1.0.1:{zookeeper.port}") -> tuple:
        command = ["ip", "netns", "exec", rack.namespace, *before, os.environ["FAIRLEAD_MUX"], "--check"]
        command += ["--output", "json", "--id", "mux1", "--zookeeper", servers, *arguments]
        command += ["--zookeeper-clear-text", "on"]
        if "--memory" not in arguments:
            command += ["--no-huge"]
        if "--state-dir" not in arguments:
            command += ["--state-dir", "none"]
        if "--port" not in arguments:
            command += ["--port", XDP]
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
        assert done.returncode in (0, 1) and done.stdout, f"{done.returncode}: {done.stderr}"
        answer = json.loads(done.stdout)
        assert answer["ready"] == (done.returncode == 0)
        return done.returncode, {one["check"]: (one["verdict"], one["text"]) for one in answer["checks"]}

    return run


def test_a_host_that_is_ready(check, service: Service):
    code, checks = check()
    assert code == 0
    verdicts = {name: verdict for name, (verdict, _) in checks.items()}
    ready = (
        "privileges",
        "tun",
        "hugepages",
        "state",
        "http",
        "interface",
        "queues",
        "offloads",
        "mtu",
        "zookeeper",
        "session",
        "added",
    )
    assert verdicts == {name: "ok" for name in ready} | {"bgp": "warn", "protection": "warn"}
    missing = r"missing: tag_key \(.*\), zookeeper_login \(.*\), zookeeper_transport \(.*\); see docs/security.md"
    assert re.fullmatch(missing, checks["protection"][1])
    assert checks["session"][1] == "/fairlead/services can be read: 1 services"


def test_for_people(rack: Rack, service: Service, new_mux):
    done = new_mux(port="af_xdp").inside(*new_mux(port="af_xdp").command, "--check", text=True)
    lines = done.stdout.splitlines()
    assert done.returncode == 0 and lines[-1].startswith("ready: 14 checks, 0 failed"), done.stdout
    assert f"ok    queues      {XDP}: 1, one for each worker" in lines


@pytest.mark.parametrize(
    ("arguments", "name", "verdict", "words"),
    [
        (["--port", "af_xdp:nosuch0"], "interface", "fail", "no such interface here"),
        (["--workers", "2"], "queues", "fail", f"1 receive queues, --workers 2: .*ethtool -L {INSIDE} combined 2"),
        (["--memory", "1048576"], "hugepages", "fail", "--memory wants 1048576"),
        (["--port", "0000:ff:1f.7"], "driver", "fail", "no such device"),
        (["--announce", "none"], "bgp", "ok", "not asked for"),
        (["--port", "net_null0", "--workers", "2"], "queues", "ok", "2 of .* to receive"),
        (["--port", "net_tap7", "--workers", "32"], "queues", "fail", "at most 16 to receive"),
        (["--port", "net_nosuch0"], "device", "fail", "'net_nosuch0' can't be opened"),
        (["--root", "/elsewhere"], "session", "warn", "/elsewhere/services does not exist"),
    ],
)
def test_what_does_not_suit(check, service: Service, arguments, name, verdict, words):
    code, checks = check(*arguments)
    assert checks[name][0] == verdict and code == (verdict == "fail"), checks
    assert re.search(words, checks[name][1]), checks[name]


def test_an_mtu_without_room(check, rack: Rack, service: Service, tmp_path):
    rack.inside("ip", "link", "set", INSIDE, "mtu", "1500")
    key = tmp_path / "key"
    key.write_text("00" * 16 + "\n")
    key.chmod(0o600)
    # 1500 - a list of six IPv6 addresses; with a tag 8 more
    verdict, text = check()[1]["mtu"]
    assert verdict == "warn" and "1500 leaves 1344 bytes" in text and text.endswith("to 1656; encap srv6: 1668"), text
    tagged = check("--tag-key", str(key))[1]["mtu"][1]
    assert "1500 leaves 1336 bytes" in tagged and tagged.endswith("to 1664; encap srv6: 1676"), tagged
    rack.inside("ip", "address", "flush", "dev", INSIDE, "scope", "global")
    rack.inside("ip", "address", "add", f"{MUX}/24", "dev", INSIDE)
    assert "1500 leaves 1436 bytes" in check()[1]["mtu"][1] and "srv6" not in check()[1]["mtu"][1]


def test_receive_offloads_and_a_link_that_is_down(check, rack: Rack, service: Service):
    rack.inside("ethtool", "-K", INSIDE, "gro", "on")
    verdict, text = check("--port", f"af_packet:{INSIDE}")[1]["offloads"]
    assert verdict == "warn" and f"ethtool -K {INSIDE} gro off" in text
    assert check("--port", XDP)[1]["offloads"][0] == "ok", "XDP comes before GRO"
    rack.inside("ip", "link", "add", "idle0", "type", "veth", "peer", "name", "idle1")
    assert check("--port", "af_packet:idle0")[1]["interface"][0] == "warn"


def test_privileges(check, service: Service):
    drop = ("setpriv", "--bounding-set", "-net_admin,-sys_admin,-bpf", "--inh-caps", "-net_admin,-sys_admin,-bpf")
    code, checks = check(before=drop)
    assert code == 1 and checks["privileges"] == (
        "fail",
        "the process lacks CAP_NET_ADMIN CAP_SYS_ADMIN; see docs/mux.md",
    )


def test_memory_that_may_not_be_pinned(check, service: Service):
    """XDP's sockets need the capability unless memory is unlimited; a packet socket needs neither."""
    few = ("prlimit", "--memlock=65536:65536")
    drop = ("setpriv", "--bounding-set", "-ipc_lock,-sys_resource", "--inh-caps", "-ipc_lock,-sys_resource")
    assert check(before=(*few, *drop))[1]["privileges"] == ("fail", "the process lacks CAP_IPC_LOCK; see docs/mux.md")
    assert check(before=few)[1]["privileges"][0] == "ok"
    assert check("--port", f"af_packet:{INSIDE}", before=(*few, *drop))[1]["privileges"][0] == "ok"


@pytest.mark.parametrize(
    ("small", "large", "verdict", "room"), [(0, 2, "ok", 2048), (3, 0, "fail", 6), (3, 1, "ok", 1030)]
)
def test_huge_pages_of_any_size_count(check, service: Service, tmp_path, small, large, verdict, room):
    for size, free in ((2048, small), (1048576, large)):
        (tmp_path / f"hugepages-{size}kB").mkdir()
        (tmp_path / f"hugepages-{size}kB/free_hugepages").write_text(f"{free}\n")
    bind = f'mount --bind {tmp_path} /sys/kernel/mm/hugepages && exec "$@"'
    found = check("--memory", "512", before=("unshare", "--mount", "sh", "-c", bind, "sh"))[1]["hugepages"]
    assert found[0] == verdict and found[1].startswith(f"{room} MB are free, --memory wants 512"), found


def test_zookeeper_that_is_not_there(check):
    code, checks = check(servers="10.1.0.1:1,nosuch.invalid:2181")
    verdict, text = checks["zookeeper"]
    assert code == 1 and verdict == "fail" and "session" not in checks
    assert "0 of 2 servers are reachable" in text and "10.1.0.1:1 (Connection refused)" in text
    assert "nosuch.invalid:2181 (" in text


def test_one_zookeeper_server_of_two(check, service: Service, zookeeper: ZooKeeperProcess):
    code, checks = check(servers=f"10.1.0.1:1,10.1.0.1:{zookeeper.port}")
    assert code == 0 and checks["zookeeper"][0] == "warn" and checks["session"][0] == "ok"
    assert "1 of 2 servers are reachable; not: 10.1.0.1:1 (Connection refused)" in checks["zookeeper"][1]


def test_a_server_that_says_nothing(check):
    with socket.create_server(("10.1.0.1", 0)) as mute:
        code, checks = check(servers=f"10.1.0.1:{mute.getsockname()[1]}")
    assert code == 1 and checks["zookeeper"][0] == "ok"
    assert checks["session"][0] == "fail" and "none within 5 s" in checks["session"][1]


@pytest.fixture
def begin_session() -> Iterator[Callable]:
    """A server of which each client gets a session, and then this answer to what it asks first. Returns its port."""
    password = bytes(16)
    granted = struct.pack(">iiqi", 0, 600_000, 1, len(password)) + password + b"\0"
    clients: list[socket.socket] = []

    def serve(server: socket.socket, answer: bytes) -> None:
        while True:
            try:
                client, _ = server.accept()
                clients.append(client)
                if client.recv(4096):
                    client.sendall(struct.pack(">i", len(granted)) + granted)
                if answer and client.recv(4096):
                    client.sendall(struct.pack(">i", len(answer)) + answer)
            except OSError:
                return

    def begin(answer: bytes = b"") -> int:
        threading.Thread(target=serve, args=(server, answer), daemon=True).start()
        return server.getsockname()[1]

    with socket.create_server(("10.1.0.1", 0)) as server:
        yield begin
        server.shutdown(socket.SHUT_RDWR)
    for client in clients:
        client.close()


def test_a_server_that_says_no_more_once_there_is_a_session(check, begin_session):
    """The server grants ten minutes, but the check waits only its own five seconds."""
    code, checks = check(servers=f"10.1.0.1:{begin_session()}")
    assert code == 1 and checks["zookeeper"][0] == "ok"
    assert checks["session"] == ("fail", "/fairlead/services is not read within 5 s: operation timeout")


def test_a_login_that_the_server_refuses(check, begin_session, tmp_path: Path):
    login = tmp_path / "login"
    login.write_text("readers:the-readers-secret\nmux-mux1:the-secret-of-mux1\n")
    login.chmod(0o600)
    refused = struct.pack(">iqi", -4, 0, -115)  # of the login, AUTHFAILED
    began = time.monotonic()
    code, checks = check("--zookeeper-auth", str(login), servers=f"10.1.0.1:{begin_session(refused)}")
    assert code == 1 and checks["zookeeper"][0] == "ok"
    assert checks["session"] == ("fail", "the server refuses the login: --zookeeper-auth is missing or wrong")
    assert time.monotonic() - began < 5, "it is known at once"


def test_a_zookeeper_that_does_not_know_us(check, tree: Tree, service: Service):
    tree.client.add_auth("digest", "controllers:secret-of-theirs")
    tree.client.set_acls("/fairlead/services", [make_digest_acl("controllers", "secret-of-theirs", all=True)])
    code, checks = check()
    tree.client.set_acls("/fairlead/services", OPEN_ACL_UNSAFE)  # for the tests to come
    assert code == 1 and checks["session"][0] == "fail" and "--zookeeper-auth" in checks["session"][1]


def test_a_mux_that_is_not_added_and_one_with_another_ones_login(check, tree: Tree, service: Service, tmp_path: Path):
    logins = tmp_path / "logins"
    logins.touch(0o600)
    logins.write_text("readers:the-readers-secret\nmux-mux1:its-own-secret\n")
    for entry, code, verdict, words in (
        (None, 1, "fail", "mux 'mux1' is not added to this cluster, or was removed: fairleadctl mux add mux1"),
        ({"format": 1}, 0, "ok", "mux 'mux1' is added to this cluster"),
        (
            {"format": 1, "login": make_digest_acl_credential("mux-mux1", "another-secret")},
            1,
            "fail",
            "--zookeeper-auth lacks the login of mux 'mux1', which its second line has to be: fairleadctl mux add mux1 "
            "--rotate makes a new one",
        ),
        (
            {"format": 1, "login": make_digest_acl_credential("mux-mux1", "its-own-secret")},
            0,
            "ok",
            "mux 'mux1' is added to this cluster",
        ),
    ):
        tree.remove("mux1")
        if entry:
            tree.client.create("/fairlead/muxes/mux1", json.dumps(entry).encode())
        done, checks = check("--zookeeper-auth", str(logins))
        assert (done, checks["added"]) == (code, (verdict, words))
        if not entry:
            tree.add("mux1")


def test_beside_a_mux_that_runs(check, mux: WholeMux, rack: Rack):
    code, _ = check("--port", f"af_packet:{INSIDE}")
    assert code == 0
    rack.send([rack.to_vip(2000)])
    assert rack.receive(is_tunnel, 1), "the running mux was disturbed"


def test_the_folder_of_the_state(check, tmp_path: Path, service: Service):
    _, checks = check("--state-dir", str(tmp_path))
    assert checks["state"] == ("ok", f"{tmp_path} can be written")
    code, checks = check("--state-dir", str(tmp_path / "missing"))
    assert code == 0 and checks["state"][0] == "warn" and "No such file or directory" in checks["state"][1]
    assert list(tmp_path.iterdir()) == []


def test_each_start_makes_them(new_mux, service: Service, rack: Rack):
    rack.inside("ip", "link", "set", INSIDE, "mtu", "1500")
    mux = new_mux()
    mux.start()
    assert mux.logged(event="preflight", check="mtu", verdict="warn", port=f"af_packet:{INSIDE}") == 1, mux.log()
    assert mux.logged(verdict="fail") == mux.logged(verdict="ok") == 0


def test_a_start_stops_at_one_that_failed(new_mux, service: Service):
    mux = new_mux("--workers", "2", port="af_xdp")
    with pytest.raises(AssertionError, match="queues of af_xdp:flm0: 1 receive queues, --workers 2"):
        mux.start()
    assert mux.wait(60) == 1


def test_a_start_does_not_wait_for_zookeeper(rack: Rack, zookeeper: ZooKeeperProcess, service: Service, new_mux):
    zookeeper.stop()
    try:
        mux = new_mux()
        mux.start()
        until(lambda: mux.logged(event="preflight", check="zookeeper", verdict="fail") == 1, 60, mux.log())
    finally:
        zookeeper.start()
    until(lambda: mux.metric("generation", service="web") == service.image["generation"], 60, mux.log())
