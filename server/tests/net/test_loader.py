# SPDX-License-Identifier: Apache-2.0
"""The command: attaches, shows, detaches over separate calls; rejects wrong arguments without changing anything."""

import json
import subprocess
from pathlib import Path

import exposition
import pytest
from rack import PEERS, SERVERS, Rack

from lab.deadline import until
from protocol.vectors.oracle import keys

BARE = ("attach", "--interface", "eth0", "--address", SERVERS["a"], "--peers", PEERS)
ATTACH = (*BARE, "--untagged", "on")
KEY = "000102030405060708090a0b0c0d0eFF"
GOOD_CONFIG = {
    "address": SERVERS["a"],
    "port": 7000,
    "quietSeconds": 20,
    "floodRate": 7,
    "peers": ["10.1.0.11", "10.1.0.16/28", "2001:db8::/32"],
    "muxes": ["10.1.0.12"],
    "servers": ["10.1.0.0/24"],
    "untagged": True,
    "chaining": False,
}


def refused(rack: Rack, code: int, words: tuple[str, ...], *sentences: str) -> None:
    done = rack["a"].invoke(*words)
    assert done.returncode == code, done
    assert done.stdout == ""
    for sentence in sentences:
        assert sentence in done.stderr


def is_attached(rack: Rack) -> bool:
    return "xdp" in json.loads(rack["a"].namespace.run("ip", "-json", "link", "show", "eth0"))[0]


@pytest.mark.parametrize("mode", ["native", "generic"])
def test_attach_show_detach(rack: Rack, mode: str) -> None:
    rack["a"].attach("--mode", mode)
    shown = rack["a"].show()
    assert shown["interface"] == "eth0"
    assert shown["config"] == {
        "address": SERVERS["a"],
        "port": 6080,
        "quietSeconds": 0,
        "floodRate": 1000000,
        "peers": [PEERS],
        "muxes": [],
        "servers": [],
        "tagRequired": False,
        "chaining": True,
        "ipipService": None,
        "mangle": False,
        "mode": mode,
    }
    assert set(shown["counters"]) >= {"deliver_syn", "chain", "drop_stale", "skipped", "pass_not_ours"}
    assert (shown["services"], shown["quietSecondsLeft"], shown["flows"]) == ({}, 0, None)
    table = rack["a"].invoke("show", "--interface", "eth0").stdout
    for name in shown["counters"]:
        assert name in table
    detached = rack["a"].invoke("detach", "--interface", "eth0")
    assert (detached.returncode, detached.stderr) == (0, "")
    assert not is_attached(rack)


def test_not_attached(rack: Rack) -> None:
    refused(rack, 1, ("show", "--interface", "eth0"), "eth0: not attached")
    refused(rack, 1, ("detach", "--interface", "eth0"), "eth0: not attached")


def test_attach_again_changes_the_configuration(rack: Rack) -> None:
    rack["a"].attach()
    rack["a"].attach("--quiet", "7", "--no-chaining", "--port", "6081")
    config = rack["a"].show()["config"]
    assert (config["quietSeconds"], config["chaining"], config["port"]) == (7, False, 6081)
    refused(rack, 1, (*ATTACH, "--mode", "generic"), "--mode: 'generic' is not allowed; allowed: native")
    assert rack["a"].show()["config"] == config


def test_file_and_flags(rack: Rack, tmp_path: Path) -> None:
    """A flag overrides the file, which overrides the default."""
    path = tmp_path / "server.json"
    path.write_text(json.dumps(GOOD_CONFIG))
    assert rack["a"].invoke("attach", "--interface", "eth0", "--config", str(path)).returncode == 0
    config = rack["a"].show()["config"]
    assert sorted(config.pop("peers")) == sorted(["10.1.0.11/32", "10.1.0.16/28", "2001:db8::/32"])
    assert (config.pop("muxes"), config.pop("servers")) == (["10.1.0.12/32"], ["10.1.0.0/24"])
    assert config == {key: GOOD_CONFIG[key] for key in ("address", "port", "quietSeconds", "floodRate", "chaining")} | {
        "mode": "native",
        "tagRequired": False,
        "ipipService": None,
        "mangle": False,
    }
    assert rack["a"].invoke("attach", "--interface", "eth0", "--config", str(path), "--quiet", "31").returncode == 0
    assert (rack["a"].show()["config"]["quietSeconds"], rack["a"].show()["config"]["floodRate"]) == (31, 7)
    words = ("--config", str(path), "--peers", "10.1.0.13", "--muxes", "10.1.0.0/24")
    assert rack["a"].invoke("attach", "--interface", "eth0", *words).returncode == 0
    config = rack["a"].show()["config"]
    assert sorted(config["peers"]) == ["10.1.0.0/24", "10.1.0.13/32"]  # a prefix of muxes and of servers is both
    assert (config["muxes"], config["servers"]) == ([], [])


@pytest.mark.parametrize(
    ("key", "value", "sentence"),
    [
        ("address", "10.1.0", "address in {path}: '10.1.0' is not allowed"),
        ("address", "::", "'::' is not allowed; allowed: an address of this host"),
        ("address", "10.1.0.21,", "'10.1.0.21,' is not allowed"),
        (
            "address",
            "10.1.0.21,10.1.0.22",
            "allowed: an address of this host, such as 10.1.0.21, or one of each family",
        ),
        ("address", "2001:db8::1,10.1.0.21,2001:db8::2", "or one of each family"),
        ("address", 5, "address in {path}: '5' is not allowed; allowed: an address of this host"),
        ("tagKeyFile", 5, "tagKeyFile in {path}: '5' is not allowed; allowed: the name of a file"),
        ("tagKeyFile", "/nonexistent", "tagKeyFile in {path}: '/nonexistent' is not allowed; allowed: a file that can"),
        ("port", 0, "port in {path}: '0' is not allowed; allowed: a UDP port from 1 to 65535"),
        ("port", 65536, "'65536'"),
        ("port", "6080", "port in {path}: '\"6080\"' is not allowed"),
        ("untagged", "on", "untagged in {path}: '\"on\"' is not allowed; allowed: true or false"),
        ("untagged", False, "--tag-key: '' is not allowed; allowed: a file with keys, by which packets are tagged; or"),
        ("muxes", ["10.1.0.1/24"], "muxes in {path}: '10.1.0.1/24' is not allowed"),
        ("servers", "10.1.0.0/24", "servers in {path}"),
        (
            "windowSeconds",
            240,
            "'windowSeconds' is not allowed; allowed: the keys address, port, peers, muxes, servers",
        ),
        ("quietSeconds", 3611, "quietSeconds in {path}: '3611' is not allowed; allowed: whole seconds from 0 to 3610"),
        ("quietSeconds", "70", "quietSeconds in {path}: '\"70\"' is not allowed"),
        ("floodRate", -1, "floodRate in {path}: '-1' is not allowed; allowed: packets a second and processor, from 0"),
        ("floodRate", 1000000001, "floodRate in {path}: '1000000001' is not allowed"),
        ("peers", "10.1.0.0/24", "peers in {path}"),
        ("peers", [5], "peers in {path}: '5' is not allowed"),
        ("peers", ["10.1.0.1/24"], "'10.1.0.1/24' is not allowed; allowed: an address, or a prefix without host bits"),
        ("peers", ["10.1.0.0/33"], "'10.1.0.0/33'"),
        ("peers", ["10.1.0.0/"], "'10.1.0.0/'"),
        ("peers", ["10.1.0.0/24", "rack"], "'rack'"),
        ("peers", [f"10.{n // 256}.{n % 256}.1" for n in range(1025)], "allowed: at most 1024 prefixes"),
        ("chaining", "no", "chaining in {path}: '\"no\"' is not allowed; allowed: true or false"),
        (
            "colour",
            "red",
            "'colour' is not allowed; allowed: the keys address, port, peers, muxes, servers, tagKeyFile",
        ),
    ],
)
def test_bad_file(rack: Rack, tmp_path: Path, key: str, value: object, sentence: str) -> None:
    path = tmp_path / "server.json"
    path.write_text(json.dumps(GOOD_CONFIG | {key: value}))
    refused(rack, 2, ("attach", "--interface", "eth0", "--config", str(path)), sentence.format(path=path))
    assert not is_attached(rack)


@pytest.mark.parametrize("text", ["", "{", "[]", '{"port": 1, "port": 2}'])
def test_no_json_object(rack: Rack, tmp_path: Path, text: str) -> None:
    path = tmp_path / "server.json"
    path.write_text(text)
    refused(rack, 2, (*ATTACH, "--config", str(path)), "--config", str(path), "allowed: a")
    assert not is_attached(rack)


@pytest.mark.parametrize(
    ("code", "words", "sentence"),
    [
        (2, (), "usage: fairlead-server attach"),
        (2, ("dance",), "usage: fairlead-server attach"),
        (2, ("attach",), "--interface: '' is not allowed"),
        (2, ("attach", "--interface", "eth0", "--peers", PEERS), "--address: '' is not allowed"),
        (2, ("attach", "--interface", "eth0", "--address", SERVERS["a"]), "--peers: '' is not allowed"),
        (2, (*ATTACH, "--address", "server1"), "--address: 'server1' is not allowed; allowed: an address of this"),
        (2, (*ATTACH, "--port", "http"), "--port: 'http' is not allowed; allowed: a UDP port from 1 to 65535"),
        (2, (*ATTACH, "--port", ""), "--port: '' is not allowed"),
        (
            2,
            BARE,
            "--tag-key: '' is not allowed; allowed: a file with keys, by which packets are tagged; or --untagged on",
        ),
        (2, (*BARE, "--untagged", "yes"), "--untagged: 'yes' is not allowed; allowed: on"),
        (2, (*ATTACH, "--window", "240"), "--window"),
        (2, (*ATTACH, "--clock-error", "1"), "--clock-error"),
        (2, (*ATTACH, "--muxes", "10.1.0.1/24"), "--muxes: '10.1.0.1/24' is not allowed"),
        (2, (*ATTACH, "--servers", "b"), "--servers: 'b' is not allowed"),
        (2, (*ATTACH, "--quiet", "1m"), "--quiet: '1m' is not allowed; allowed: whole seconds from 0 to 3610"),
        (2, (*ATTACH, "--flood-rate", "all"), "--flood-rate: 'all' is not allowed; allowed: packets a second"),
        (2, (*ATTACH, "--peers", "10.1.0.0/24,"), "--peers: '' is not allowed"),
        (
            2,
            (*ATTACH, "--tag-key", "/nonexistent"),
            "--tag-key: '/nonexistent' is not allowed; allowed: a file that can",
        ),
        (2, (*ATTACH, "--tag-key", "/dev"), "--tag-key: '/dev' is not allowed; allowed: a file that can"),
        (2, (*ATTACH, "--mode", "fast"), "--mode: 'fast' is not allowed; allowed: native, generic, auto"),
        (2, (*ATTACH, "--config", "/nonexistent.json"), "--config /nonexistent.json"),
        (2, (*ATTACH, "--colour", "red"), "--colour"),
        (2, (*ATTACH, "more"), "'more' is not allowed"),
        (2, (*ATTACH, "-o", "json"), "'json' is not allowed"),
        (2, ("show", "--interface", "eth0", "-o", "xml"), "-o: 'xml' is not allowed; allowed: table, json, prometheus"),
        (2, ("detach", "--interface", "eth0", "--port", "1"), "is not allowed; allowed: the flags of --help"),
        (1, ("show", "--interface", "eth9"), "--interface: 'eth9' is not allowed; allowed: an interface"),
        (1, ("attach", "--interface", "eth9", *ATTACH[3:]), "--interface: 'eth9' is not allowed"),
        (1, (*ATTACH, "--address", "10.1.0.99"), "--address: '10.1.0.99' is not allowed; allowed: an address of this"),
    ],
)
def test_bad_flags(rack: Rack, code: int, words: tuple[str, ...], sentence: str) -> None:
    refused(rack, code, words, sentence)
    assert not is_attached(rack)


def test_a_bad_change_leaves_what_runs(rack: Rack) -> None:
    rack["a"].attach("--quiet", "9")
    refused(rack, 2, (*ATTACH, "--quiet", "-1"), "--quiet: '-1' is not allowed")
    assert rack["a"].show()["config"]["quietSeconds"] == 9


def test_chaining_needs_forwarding(rack: Rack) -> None:
    rack["a"].namespace.sysctl(ipv4__conf__eth0__forwarding=0)
    refused(rack, 1, ATTACH, "net.ipv4.conf.eth0.forwarding: '0' is not allowed; allowed: 1", "--no-chaining")
    assert not is_attached(rack)
    rack["a"].attach("--no-chaining")


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o620, 0o660, 0o644])
def test_key_that_others_can_reach(rack: Rack, tmp_path: Path, mode: int) -> None:
    path = tmp_path / "key"
    path.write_text("00" * 16)
    path.chmod(mode)
    sentence = f"--tag-key: {path}: mode '{mode:04o}' is not allowed; allowed: 0600 or narrower"
    refused(rack, 2, (*BARE, "--tag-key", str(path)), sentence)
    assert not is_attached(rack)


OTHER = "01" + KEY[2:]  # its first byte differs in the last bit
DERIVED = f"notice {SERVERS['a']} {KEY} {KEY}\nservice 1 {KEY} {KEY}\n"


@pytest.mark.parametrize(
    "text",
    [
        "",
        "00" * 15,
        "00" * 17,
        "0g" * 16,
        "00" * 16 + "\n\n",
        " " + "00" * 16,
        "0x" + "00" * 15,
        KEY + "\0",
        f"current {KEY}\nnext {KEY}\n",
        f"current {KEY}\nnext 02{KEY[2:]}\n",
        f"next {KEY}\n",
        f"current {KEY} \n",
        f"current {KEY}\ncurrent {OTHER}\n",
        f"current {KEY}\nnext {OTHER}\nnext {OTHER}\n",
        f"last {KEY}\n",
        f"{KEY}\n{DERIVED}",
        f"{DERIVED}next {KEY}\n",
        DERIVED + DERIVED,
        f"{DERIVED}service 1 {KEY} {KEY}\n",
        f"service 0 {KEY} {KEY}\n",
        f"service 65536 {KEY} {KEY}\n",
        f"service 1 {KEY}\n",
        "service\n",
        f"service 1 {KEY} {KEY} {KEY}\n",
        f"notice {KEY} {KEY}\n",
        f"notice {SERVERS['a']} {KEY}\n",
    ],
)
def test_key_that_is_none(rack: Rack, tmp_path: Path, text: str) -> None:
    path = tmp_path / "key"
    path.write_text(text)
    path.chmod(0o600)
    refused(rack, 2, (*BARE, "--tag-key", str(path)), "allowed: 32 hex digits; lines `current HEX` and `next HEX`")
    assert not is_attached(rack)


def test_key_and_none(rack: Rack, tmp_path: Path) -> None:
    path = tmp_path / "key"
    path.write_text(KEY)
    path.chmod(0o600)
    refused(
        rack, 2, (*ATTACH, "--tag-key", str(path)), "--untagged: 'on' is not allowed; allowed: only without --tag-key"
    )
    assert not is_attached(rack)


@pytest.mark.parametrize(
    "text", [KEY, f"current {KEY}\n", f"current {KEY}\nnext {OTHER}\n", f"next {OTHER}\ncurrent {KEY}"]
)
def test_keys_of_a_server(rack: Rack, tmp_path: Path, text: str) -> None:
    """Made of the cluster's key: those of its addresses and services, by KEY. The server needs no others."""
    path, derived = tmp_path / "cluster", tmp_path / "derived"
    path.write_text(text)
    path.chmod(0o600)
    words = ("--tag-key", str(path), "--address", f"{SERVERS['a']},2001:db8:1::21", "--services", "7,1")
    done = rack["a"].invoke("keys", *words)
    assert (done.returncode, done.stderr) == (0, "")
    current = bytes.fromhex(KEY)
    by_bit = [current, current]
    if "next" in text:
        by_bit[bytes.fromhex(OTHER)[0] & 1] = bytes.fromhex(OTHER)
    addresses, services = (SERVERS["a"], "2001:db8:1::21"), (7, 1)
    expected = [["notice", one, *(keys.of_server(key, one).hex() for key in by_bit)] for one in addresses]
    expected += [["service", str(one), *(keys.of_service(key, one).hex() for key in by_bit)] for one in services]
    assert [line.split(" ") for line in done.stdout.splitlines()] == expected
    derived.write_text(done.stdout)
    derived.chmod(0o600)
    rack["a"].attach("--tag-key", str(derived))
    assert rack["a"].show()["config"]["tagRequired"] is True
    refused(rack, 2, ("keys", *words[:1], str(derived), *words[2:]), "allowed: a file with the cluster's key")
    other = ("attach", "--interface", "eth0", "--address", SERVERS["b"], "--peers", PEERS)
    refused(rack, 2, (*other, "--tag-key", str(derived)), f"--tag-key: '{SERVERS['b']}' is not allowed; allowed: only")


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("--address", "10.1.0.21", "--services", "1"), "--tag-key: '' is not allowed"),
        (("--tag-key", "KEY", "--services", "1"), "--address: '' is not allowed; allowed: 1 to 16 addresses"),
        (
            ("--tag-key", "KEY", "--address", "10.1.0.21,10.1.0.21", "--services", "1"),
            "--address: '10.1.0.21,10.1.0.21'",
        ),
        (("--tag-key", "KEY", "--address", "a", "--services", "1"), "--address: 'a' is not allowed"),
        (
            ("--tag-key", "KEY", "--address", "10.1.0.21"),
            "--services: '' is not allowed; allowed: ids of services from",
        ),
        (("--tag-key", "KEY", "--address", "10.1.0.21", "--services", "0"), "--services: '0' is not allowed"),
        (("--tag-key", "KEY", "--address", "10.1.0.21", "--services", "1,1"), "--services: '1,1' is not allowed"),
        (("--tag-key", "KEY", "--address", "10.1.0.21", "--services", "1,"), "--services: '1,' is not allowed"),
        (("--tag-key", "KEY", "--port", "1"), "is not allowed; allowed: the flags of --help"),
    ],
)
def test_keys_that_are_refused(rack: Rack, tmp_path: Path, words: tuple[str, ...], sentence: str) -> None:
    path = tmp_path / "cluster"
    path.write_text(KEY)
    path.chmod(0o600)
    refused(rack, 2, ("keys", *(str(path) if word == "KEY" else word for word in words)), sentence)


@pytest.mark.parametrize(("mode", "end"), [(0o600, "\n"), (0o400, "")])
def test_key_is_never_shown(rack: Rack, tmp_path: Path, mode: int, end: str) -> None:
    path = tmp_path / "key"
    path.write_text(KEY + end)
    path.chmod(mode)
    rack["a"].attach("--tag-key", str(path))
    assert rack["a"].show()["config"]["tagRequired"] is True
    assert "0e" not in json.dumps(rack["a"].show()["config"]).lower()


def test_both_families_need_more(rack: Rack) -> None:
    """Each missing sysctl is named; with all of them the server has both addresses."""
    server, both = rack["a"], f"{SERVERS['a']},2001:db8:1::77"
    words = ("attach", "--interface", "eth0", "--address", both, "--peers", PEERS, "--untagged", "on")
    refused(rack, 1, words, "--address: '2001:db8:1::77' is not allowed; allowed: an address of this")
    server.namespace.ip("addr add 2001:db8:1::77/64 dev eth0 nodad")
    server.namespace.sysctl(ipv6__conf__all__forwarding=0, ipv4__conf__eth0__accept_local=0)
    server.namespace.sysctl(ipv6__conf__eth0__forwarding=0)
    refused(rack, 1, words, "net.ipv6.conf.eth0.forwarding: '0' is not allowed; allowed: 1")
    server.namespace.sysctl(ipv6__conf__eth0__forwarding=1)
    refused(rack, 1, words, "net.ipv6.conf.all.forwarding: '0' is not allowed; allowed: 1")
    server.namespace.sysctl(ipv6__conf__all__forwarding=1)
    refused(rack, 1, words, "net.ipv4.conf.eth0.accept_local: '0' is not allowed; allowed: 1")
    assert not is_attached(rack)
    server.namespace.sysctl(ipv4__conf__eth0__accept_local=1)
    assert server.invoke(*words).returncode == 0
    assert server.show()["config"]["address"] == both
    assert server.invoke(*words[:4], "2001:db8:1::77", *words[5:]).returncode == 0
    assert server.show()["config"]["address"] == "2001:db8:1::77"


def compile_program(tmp_path: Path, source: str) -> Path:
    """A foreign XDP program."""
    path = tmp_path / "program.o"
    subprocess.run(
        ["clang", "-O2", "-g", "-target", "bpf", "-x", "c", "-", "-c", "-o", str(path)],
        input=source,
        text=True,
        check=True,
    )
    return path


def test_foreign_program_is_left_alone(rack: Rack, tmp_path: Path) -> None:
    path = compile_program(tmp_path, '__attribute__((section("xdp"))) int other(void *context) { return 2; }')
    rack["a"].namespace.run("ip", "link", "set", "dev", "eth0", "xdp", "object", str(path), "section", "xdp")
    for words in (ATTACH, ("show", "--interface", "eth0"), ("detach", "--interface", "eth0")):
        refused(rack, 1, words, "eth0: another XDP program is attached there")
    assert is_attached(rack)


def test_other_layout_is_refused(rack: Rack, tmp_path: Path) -> None:
    """A program of our name whose maps we don't know: not shown, not taken over, but detached on request."""
    path = compile_program(tmp_path, '__attribute__((section("xdp"))) int fairlead_server(void *context) { return 2; }')
    rack["a"].namespace.run("ip", "link", "set", "dev", "eth0", "xdp", "object", str(path), "section", "xdp")
    for words in (ATTACH, ("show", "--interface", "eth0")):
        refused(rack, 1, words, "another version of fairlead-server", "detach first")
    assert is_attached(rack)
    assert rack["a"].invoke("detach", "--interface", "eth0").returncode == 0
    rack["a"].attach()


def bpftool(*words: str) -> str:
    """bpftool's output as JSON; empty if there is no such object."""
    done = subprocess.run(["bpftool", "--json", *words], capture_output=True, text=True, check=False)
    return "" if '"error"' in done.stdout else done.stdout


def test_nothing_is_left_behind(rack: Rack) -> None:
    """Deleting the namespace frees an attached server, including its maps."""
    rack.attach()
    link = json.loads(rack["a"].namespace.run("ip", "-json", "-details", "link", "show", "eth0"))[0]
    program = link["xdp"]["prog"]["id"]
    maps = json.loads(bpftool("prog", "show", "id", str(program)))["map_ids"]
    assert maps
    rack.delete()
    until("the program is gone", lambda: not bpftool("prog", "show", "id", str(program)), 20)
    until("its maps are gone", lambda: not any(bpftool("map", "show", "id", str(one)) for one in maps), 20)


@pytest.mark.parametrize("command", [(), ("attach",), ("show",), ("mptcp",), ("mptcp", "add"), ("agent",)])
def test_help(rack: Rack, command: tuple[str, ...]) -> None:
    done = rack["a"].invoke(*command, "--help")
    assert done.returncode == 0, done.stderr
    for word in (
        "attach",
        "detach",
        "show",
        "--peers",
        "--muxes",
        "--servers",
        "--no-chaining",
        "--tag-key",
        "--untagged",
        "keys",
        "forwarding",
    ):
        assert word in done.stdout


def test_interface_with_a_quote(rack: Rack) -> None:
    """The kernel allows it in a name; a label's value must be escaped."""
    server, name = rack["a"], 'e"\\t'
    server.namespace.run("ip", "link", "add", name, "type", "veth", "peer", "name", "other")
    attach = ["attach", "--interface", name, "--address", server.address, "--peers", "10.1.0.0/24"]
    done = server.invoke(*attach, "--no-chaining", "--untagged", "on")
    assert done.returncode == 0, done.stderr
    text = server.invoke("show", "--interface", name, "-o", "prometheus").stdout
    assert exposition.read(text)["fairlead_server_chaining", (("interface", name),)] == 0
