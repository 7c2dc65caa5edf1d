# SPDX-License-Identifier: Apache-2.0
"""What the agent reports of how connections fare: real refusals, resets, retransmissions and round-trip times."""

import fcntl
import socket
import struct
import sys
import termios

import pytest
from agent_world import SECONDS, UNREACHED, VIP, VIP2, VIP6, World, service, until_counted, world
from fake_controller import FakeController

from lab.deadline import LabError, until
from lab.namespace import Namespace

__all__ = ["world"]

RESET_BY_CLOSE = struct.pack("ii", 1, 0)  # SO_LINGER
BYTES = 400_000


def known(controller: FakeController, name: str = "web") -> dict:
    """The signals of the last report; empty if it has none."""
    return (controller.of(name) or {}).get("signals", {})


def until_signals(controller: FakeController, name: str = "web", **least: int) -> dict:
    """Returns the first that are at least these."""
    try:
        until(
            f"signals of {name}, {least}",
            lambda: all(known(controller, name).get(key, -1) >= number for key, number in least.items()),
            SECONDS,
        )
    except LabError as error:
        raise LabError(f"{error}; last report: {controller.reports[-1:]}") from None
    return known(controller, name)


def counted(signals: dict) -> tuple[int, ...]:
    """Opened, refused, and resets sent and received."""
    return tuple(signals[key] for key in ("opened", "refused", "resetsSent", "resetsReceived"))


def start(world: World, *services: dict) -> FakeController:
    controller = world.controller(*services)
    controller.asks = {"asksSignals": True}
    world.start(controller)
    until_counted(controller, 0)
    return controller


def reset(end: socket.socket) -> None:
    end.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET_BY_CLOSE)
    end.close()


def refused(world: World, address: str, port: int = 80) -> None:
    with pytest.raises(ConnectionRefusedError):
        world.namespace.connect(address, port, SECONDS)


@pytest.mark.parametrize("vip", [VIP, VIP6])
def test_resets(world: World, vip: str) -> None:
    """A server that resets all connections, clients that do, and no listener; other ports and VIPs do not count."""
    controller = start(world, service(), service("api", 2, (VIP2,)))
    assert set(known(controller)) == {
        *("opened", "refused", "resetsSent", "resetsReceived"),
        *("retransmitted", "segments", "rttSamples", "rttMicroseconds"),
    }, world.said.read_text()
    assert not any(known(controller).values())
    for _ in range(3):
        refused(world, vip)
    refused(world, vip, 81)
    assert until_signals(controller, refused=3)["refused"] == 3
    listener = world.listen(vip)
    for _ in range(20):
        client, end = world.connect(listener, vip)
        reset(end)
        with pytest.raises(ConnectionResetError):
            client.recv(1)
    first = until_signals(controller, resetsSent=20, rttSamples=20)
    assert counted(first) == (20, 3, 20, 0)
    for _ in range(5):
        client, end = world.connect(listener, vip)
        reset(client)
        end.close()
    second = until_signals(controller, resetsReceived=5, opened=25, rttSamples=25)
    assert (*counted(second), second["rttSamples"]) == (25, 3, 20, 5, 25)
    assert not any(known(controller, "api").values()), "connections of another service"
    world.stop()


def test_strays(world: World) -> None:
    """Packets of connections that the server does not have, with a listener and without."""
    controller = start(world)

    def stray(*flags: str) -> None:
        code = "from scapy.all import IP, TCP, conf, send, L3RawSocket; conf.L3socket = L3RawSocket\n"
        code += f"ip = IP(src='{UNREACHED}', dst='{VIP}')\n"
        code += f"send([ip / TCP(sport=50001, dport=80, flags=each) for each in {flags}])"
        world.namespace.run(sys.executable, "-c", code)

    stray("A", "R", "S", "SA")
    assert counted(until_signals(controller, resetsSent=2, refused=1)) == (0, 1, 2, 0)
    listener = world.listen(VIP)
    stray("PA", "FA")
    assert counted(until_signals(controller, resetsSent=4)) == (0, 1, 4, 0)
    listener.close()
    world.stop()


def test_health_checks(world: World) -> None:
    """A check by TCP resets before it acknowledges: that is no connection, and nothing is refused."""
    controller = start(world)
    listener = world.listen(VIP)
    for _ in range(20):
        with world.namespace.inside():
            client = socket.socket()
        client.setsockopt(socket.IPPROTO_TCP, socket.TCP_QUICKACK, 0)
        client.connect((VIP, 80))
        reset(client)
    client, end = world.connect(listener, VIP)
    reset(end)
    assert counted(until_signals(controller, opened=1, resetsSent=1)) == (1, 0, 1, 0)
    listener.close()
    world.stop()


def test_full_queue(world: World) -> None:
    """What a listener drops as its queue is full counts as refused, but not what it dropped before the agent."""
    listener = world.listen(VIP, backlog=1)

    def overflow() -> None:
        with world.namespace.inside():
            made = [world.open.enter_context(socket.socket()) for _ in range(8)]
        for one in made:
            one.setblocking(False)
            one.connect_ex((VIP, 80))

    def dropped() -> int:
        text = world.namespace.run("ss", "-ltnmH", "sport = :80")
        return int(text.rpartition(",d")[2].partition(")")[0])

    overflow()
    until("the queue overflows", lambda: dropped() >= 3, SECONDS)
    before = dropped()
    controller = world.controller()
    controller.asks = {"asksSignals": True}
    world.start(controller)
    until("a report", lambda: "refused" in known(controller), SECONDS)
    overflow()
    until("the queue overflows again", lambda: dropped() > before + 3, SECONDS)
    least = dropped() - before
    assert until_signals(controller, refused=least)["refused"] <= dropped() - before
    listener.close()
    world.stop()


def test_retransmissions(world: World) -> None:
    """Packets of one VIP are lost on their way: of a connection that goes on."""
    world.namespace.run("nft", "add table inet lossy")
    world.namespace.run("nft", "add chain inet lossy lost { type filter hook input priority 0; }")
    world.namespace.run("nft", f"add rule inet lossy lost ip saddr {VIP} tcp sport 80 numgen random mod 100 < 10 drop")
    controller = start(world, service(), service("api", 2, (VIP2,)))
    for vip in (VIP, VIP2):
        listener = world.listen(vip)
        client, end = world.connect(listener, vip)
        client.settimeout(SECONDS)
        end.settimeout(SECONDS)
        left = BYTES
        while left:
            end.sendall(b"x" * 4000)
            got = len(client.recv(4000, socket.MSG_WAITALL))
            left -= got
    lossy = until_signals(controller, retransmitted=5)
    assert lossy["segments"] >= 20 * lossy["retransmitted"] / 10, "it is counted while the connection is open"
    assert lossy["rttSamples"] == 0
    client.close()
    end.close()
    healthy = until_signals(controller, "api", segments=BYTES // 4000, rttSamples=1)
    assert healthy["retransmitted"] == 0
    assert 0.01 < lossy["retransmitted"] / lossy["segments"] < 0.5
    world.stop()


def unacknowledged(end: socket.socket) -> int:
    return struct.unpack("i", fcntl.ioctl(end, termios.TIOCOUTQ, bytes(4)))[0]


def round_trip(end: socket.socket) -> int:
    """Microseconds, by the kernel: tcpi_rtt."""
    return struct.unpack_from("I", end.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 72), 68)[0]


def test_round_trip_times(world: World) -> None:
    """Clients of one VIP acknowledge late, by the kernel's timer for such: 40 ms."""
    controller = start(world, service(), service("api", 2, (VIP2,)))
    for vip in (VIP, VIP2):
        listener = world.listen(vip)
        client, end = world.connect(listener, vip)
        for _ in range(12):
            client.setsockopt(socket.IPPROTO_TCP, socket.TCP_QUICKACK, vip == VIP2)
            end.sendall(b"x")
            until("the client acknowledges", lambda end=end: unacknowledged(end) == 0, SECONDS)
            client.recv(1)
        if vip == VIP:
            at_last = round_trip(end)
        client.close()
        end.close()
    late = until_signals(controller, rttSamples=1)
    soon = until_signals(controller, "api", rttSamples=1)
    assert (late["rttSamples"], soon["rttSamples"]) == (1, 1)
    assert late["rttMicroseconds"] > 10_000 > soon["rttMicroseconds"] > 0
    assert at_last / 2 < late["rttMicroseconds"] < 2 * at_last, "the end of the connection is one more measurement"
    world.stop()


def test_signals_stay_with_their_service(world: World) -> None:
    """When the services change, what was counted goes on, and what comes counts for the new ones."""
    controller = start(world, service())
    refused(world, VIP)
    until_signals(controller, refused=1)
    controller.version, controller.services = "v2", [service(vips=(VIP, VIP6)), service("api", 2, (VIP2,))]
    until("the new services", lambda: controller.of("api"), SECONDS)
    assert known(controller)["refused"] == 1
    refused(world, VIP2)
    assert until_signals(controller, "api", refused=1)["refused"] == 1
    assert known(controller)["refused"] == 1
    world.stop()


def test_other_namespaces(world: World) -> None:
    """The same addresses elsewhere on the machine are not this server's."""
    controller = start(world)
    other = Namespace(f"{world.namespace.name}x")
    other.create()
    world.open.callback(other.delete)
    other.ip("link set lo up", f"addr add {VIP}/32 dev lo")
    with pytest.raises(ConnectionRefusedError):
        other.connect(VIP, 80, SECONDS)
    with other.inside():
        listener = world.open.enter_context(socket.create_server((VIP, 80)))
    client = world.open.enter_context(other.connect(VIP, 80, SECONDS))
    reset(listener.accept()[0])
    with pytest.raises(ConnectionResetError):
        client.recv(1)
    refused(world, VIP)
    assert counted(until_signals(controller, refused=1)) == (0, 1, 0, 0)
    assert known(controller)["rttSamples"] == 0
    world.stop()


@pytest.mark.parametrize("why", ["not asked", "no events"])
def test_no_signals(world: World, why: str) -> None:
    """Older controllers would refuse them; without events none are counted, which is not zero."""
    controller = world.controller()
    controller.asks = {"asksSignals": why == "no events"}
    world.start(controller, words=("--no-events",) if why == "no events" else ())
    until_counted(controller, 0)
    refused(world, VIP)
    count = len(controller.reports)
    until("two more reports", lambda: len(controller.reports) >= count + 2, SECONDS)
    assert "signals" not in controller.of("web")
    world.stop()
