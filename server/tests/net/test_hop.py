# SPDX-License-Identifier: Apache-2.0
"""
A connection that is chained goes on when the way to its owner changes, though servers remember ways for a moment.

    mux -> b, whose bucket moved from a: sent on to a, directly or by c's kernel
"""

import json
import time

import pytest
from forms import SECONDS
from rack import SERVERS, SERVERS6, Client, Rack

from lab.deadline import until

FOLLOWED = 1.0  # seconds from the change; besides what a request takes
NEW_MAC = "02:00:00:00:5a:21"


@pytest.fixture(params=["IPv4", "IPv6"])
def is_ipv6(request: pytest.FixtureRequest) -> bool:
    return request.param == "IPv6"


def chained(rack: Rack, is_ipv6: bool) -> Client:
    """A connection of a's that b gets and chains to a's address of that family."""
    rack.attach_both()
    if is_ipv6:
        rack.mux.addresses |= SERVERS6
    client = rack.connect()
    assert client.ask() == "a"
    rack.mux.move("b")
    assert client.ask() == "a"
    until("b knows the way", lambda: client.ask() == "a" and rack["b"].counter("chain") > 1, SECONDS)
    return client


def goes_on(client: Client) -> None:
    """
    At once or by packets that are sent again: a stale way that lasted longer than FOLLOWED would cost a second time-out
    of TCP's, which doubles. After that every request is answered.
    """
    begun = time.monotonic()
    while time.monotonic() - begun < FOLLOWED:
        assert client.ask() == "a"
    for _ in range(20):
        assert client.ask() == "a"


def mac_of(rack: Rack, name: str) -> str:
    return json.loads(rack[name].namespace.run("ip", "-json", "link", "show", "eth0"))[0]["address"]


def forwarded(rack: Rack, is_ipv6: bool) -> int:
    """Packets that c's kernel has forwarded."""
    text = rack["c"].namespace.run("cat", "/proc/net/snmp6" if is_ipv6 else "/proc/net/snmp")
    if is_ipv6:
        return next(int(line.split()[1]) for line in text.splitlines() if line.startswith("Ip6OutForwDatagrams"))
    names, values = (line.split() for line in text.splitlines() if line.startswith("Ip:"))
    return int(values[names.index("ForwDatagrams")])


def test_owner_has_another_mac(rack: Rack, is_ipv6: bool) -> None:
    """A card was replaced; the neighbours are told, as a gratuitous ARP does."""
    client = chained(rack, is_ipv6)
    assert mac_of(rack, "a") != NEW_MAC
    rack["a"].namespace.ip(f"link set eth0 address {NEW_MAC}")
    for name in ("b", "c"):
        rack[name].namespace.ip(
            f"neigh replace {SERVERS['a']} lladdr {NEW_MAC} nud reachable dev eth0",
            f"neigh replace {SERVERS6['a']} lladdr {NEW_MAC} nud reachable dev eth0",
        )
    goes_on(client)


def test_way_leads_over_another_host(rack: Rack, is_ipv6: bool) -> None:
    """The route to a leads over c, and back again when that is over."""
    client = chained(rack, is_ipv6)
    target, via = (f"{SERVERS6['a']}/128", SERVERS6["c"]) if is_ipv6 else (f"{SERVERS['a']}/32", SERVERS["c"])
    before = forwarded(rack, is_ipv6)
    rack["b"].namespace.ip(f"route add {target} via {via} dev eth0")
    goes_on(client)
    over_c = forwarded(rack, is_ipv6)
    assert over_c >= before + 20
    rack["b"].namespace.ip(f"route del {target}")
    goes_on(client)
    after = forwarded(rack, is_ipv6)
    for _ in range(20):
        assert client.ask() == "a"
    assert forwarded(rack, is_ipv6) == after


def test_owner_is_not_resolved_any_more(rack: Rack, is_ipv6: bool) -> None:
    """The neighbour is forgotten: the kernel asks for it, and sends the packets meanwhile."""
    client = chained(rack, is_ipv6)
    rack["b"].namespace.ip(f"neigh del {SERVERS6['a'] if is_ipv6 else SERVERS['a']} dev eth0")
    goes_on(client)
