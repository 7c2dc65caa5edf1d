# SPDX-License-Identifier: Apache-2.0
"""`fairlead-server mptcp`: how it sets the kernel's path manager, once or repeatedly, and what it rejects."""

import json
import socket

import pytest
from rack import VIP, Rack

ADD = ("mptcp", "add", "--vip", VIP, "--ports", "20000-20999")


def done(rack: Rack, *words: str) -> str:
    result = rack["a"].invoke(*words)
    assert (result.returncode, result.stderr) == (0, ""), words
    return result.stdout


def refused(rack: Rack, code: int, words: tuple[str, ...], *sentences: str) -> None:
    result = rack["a"].invoke(*words)
    assert (result.returncode, result.stdout) == (code, ""), result
    for sentence in sentences:
        assert sentence in result.stderr


def shown(rack: Rack) -> dict:
    return json.loads(done(rack, "mptcp", "show", "-o", "json"))


def ports(rack: Rack) -> list[str]:
    return [f"{endpoint['address']}:{endpoint['port']}" for endpoint in shown(rack)["endpoints"]]


def kernel(rack: Rack) -> list[str]:
    """The endpoints according to `ip`, independent of our netlink code."""
    return rack["a"].namespace.run("ip", "mptcp", "endpoint", "show").splitlines()


def test_add_show_remove(rack: Rack) -> None:
    rack["a"].namespace.sysctl(mptcp__enabled=0)
    before = shown(rack)
    assert (before["enabled"], before["joinInitialPort"], before["endpoints"]) == (False, True, [])
    done(rack, *ADD, "--id", "7")
    assert shown(rack) == {
        "enabled": True,
        "joinInitialPort": False,
        "subflows": 8,
        "endpoints": [{"id": 1, "address": VIP, "port": 20007}],
    }
    assert [line.split()[:5] for line in kernel(rack)] == [[VIP, "port", "20007", "id", "1"]]
    assert "signal" in kernel(rack)[0]
    assert "subflows 8" in rack["a"].namespace.run("ip", "mptcp", "limits")
    table = done(rack, "mptcp", "show")
    assert f"{VIP}:20007" in table and "forbidden" in table
    done(rack, "mptcp", "remove", "--vip", VIP)
    done(rack, "mptcp", "remove", "--vip", VIP)
    assert kernel(rack) == []


def test_again_changes_nothing_and_another_id_replaces(rack: Rack) -> None:
    rack["a"].namespace.ip("addr add 10.99.0.2/32 dev lo")
    done(rack, *ADD, "--id", "7")
    done(rack, *ADD, "--id", "7", "--subflows", "3")
    assert (ports(rack), shown(rack)["subflows"]) == ([f"{VIP}:20007"], 3)
    done(rack, "mptcp", "add", "--vip", VIP, "--ports", "30000-30099", "--id", "4")
    done(rack, "mptcp", "add", "--vip", "10.99.0.2", "--ports", "20000-20999", "--id", "7")
    done(rack, *ADD, "--id", "999")
    assert sorted(ports(rack)) == ["10.99.0.1:20999", "10.99.0.1:30004", "10.99.0.2:20007"]
    done(rack, "mptcp", "remove", "--vip", VIP)
    assert ports(rack) == ["10.99.0.2:20007"]


def test_limit_of_accepted_addresses_stays(rack: Rack) -> None:
    rack["a"].namespace.run("ip", "mptcp", "limits", "set", "add_addr_accepted", "3")
    done(rack, *ADD, "--id", "7")
    assert "add_addr_accepted 3" in rack["a"].namespace.run("ip", "mptcp", "limits")


def test_endpoints_of_others_stay(rack: Rack) -> None:
    rack["a"].namespace.run("ip", "mptcp", "endpoint", "add", "10.1.0.21", "subflow")
    rack["a"].namespace.run("ip", "mptcp", "endpoint", "add", VIP, "port", "9000", "signal")
    done(rack, *ADD, "--id", "7")
    assert len(kernel(rack)) == 3
    assert sorted(ports(rack)) == [f"{VIP}:20007", f"{VIP}:9000"]


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("mptcp",), "allowed: add, remove, show"),
        (("mptcp", "set"), "'set' is not allowed"),
        (("mptcp", "add", "--ports", "20000-20999", "--id", "7"), "--vip"),
        (("mptcp", "add", "--vip", VIP, "--id", "7"), "--ports"),
        (ADD, "--id"),
        ((*ADD, "--id", "0"), "--id: '0'"),
        ((*ADD, "--id", "65536"), "--id: '65536'"),
        ((*ADD, "--id", "seven"), "--id: 'seven'"),
        ((*ADD, "--id", "7", "--subflows", "0"), "--subflows: '0' is not allowed; allowed: "),
        ((*ADD, "--id", "7", "--subflows", "9"), "1 to 8"),
        ((*ADD, "--id", "7", "more"), "'more'"),
        ((*ADD, "--id", "7", "-o", "json"), "add: 'json'"),
        (("mptcp", "add", "--vip", "2001:db8::1", "--ports", "1-9", "--id", "7"), "--vip: '2001:db8::1'"),
        (("mptcp", "add", "--vip", "0.0.0.0", "--ports", "1-9", "--id", "7"), "--vip: '0.0.0.0'"),
        *(
            (("mptcp", "add", "--vip", VIP, "--ports", range_, "--id", "7"), f"--ports: '{range_}'")
            for range_ in ("", "20000", "20000:20999", "0-9", "9-9", "9-3", "60000-65536", "-9", "200000000-9")
        ),
        (("mptcp", "remove"), "--vip"),
        (("mptcp", "remove", "--vip", VIP, "--id", "7"), "remove: '7'"),
        (("mptcp", "show", "-o", "xml"), "-o: 'xml' is not allowed; allowed: table, json"),
    ],
)
def test_bad_usage(rack: Rack, words: tuple[str, ...], sentence: str) -> None:
    refused(rack, 2, words, sentence)
    assert kernel(rack) == []


def test_what_the_host_refuses(rack: Rack) -> None:
    done(rack, *ADD, "--id", "7")
    refused(rack, 1, (*ADD, "--id", "1000"), "--id: '1000' is not allowed; allowed: 1 to 999")
    elsewhere = ("mptcp", "add", "--vip", "10.99.0.9", "--ports", "20000-20999", "--id", "7")
    refused(rack, 1, elsewhere, "--vip: '10.99.0.9' is not allowed; allowed: an address of this network namespace")
    with rack["a"].namespace.inside():
        taken = socket.create_server((VIP, 20008))
    with taken:
        refused(
            rack,
            1,
            (*ADD, "--id", "8"),
            "--ports: '20008' is not allowed; allowed: a port of the VIP without a listener",
        )
    assert ports(rack) == [f"{VIP}:20007"]


def test_a_refusal_leaves_mptcp_as_it_was(rack: Rack) -> None:
    rack["a"].namespace.sysctl(mptcp__enabled=0)
    refused(rack, 1, ("mptcp", "add", "--vip", "10.99.0.9", "--ports", "20000-20999", "--id", "7"), "--vip")
    assert (shown(rack)["enabled"], shown(rack)["joinInitialPort"]) == (False, True)
