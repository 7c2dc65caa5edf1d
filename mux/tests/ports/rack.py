# SPDX-License-Identifier: Apache-2.0
"""A rack of two network namespaces: this one has the servers and the router, the other one has the mux.

    here:  fls0  10.1.0.1, .21 ..  ======= veth, MTU 1676 =======  flm0  10.1.0.11  :mux's namespace, still_mux
                 2001:db8:1::1, ::21 ..                                  2001:db8:1::11

Everything is undone in reverse order, even after a failure.
"""

import contextlib
import json
import os
import pathlib
import socket
import struct
import subprocess
import time

from oracle.notice import PROTOCOL
from scapy.all import ICMP, IP, TCP, UDP, Ether, Raw

VIP = "10.99.0.1"
MUX = "10.1.0.11"
CLIENT = "203.0.113.7"
BUCKETS = 1024
BACKENDS = ["10.1.0.21", "10.1.0.22", "10.1.0.23"]
VIP6 = "2001:db8:99::1"
MUX6 = "2001:db8:1::11"
CLIENT6 = "2001:db8:7::7"
BACKENDS6 = ["2001:db8:1::21", "2001:db8:1::22", "2001:db8:1::23"]
OUTSIDE = "fls0"
INSIDE = "flm0"
MTU = 1676
SETTLING_FLOWS = 40
PATIENCE = 100  # seconds; anything slower is considered lost, even on a loaded machine
LAST = b"the last one before the test"
ETH_P_ALL = 3
SO_RCVBUFFORCE = 33
SOL_PACKET = 263
PACKET_AUXDATA = 8
TP_STATUS_VLAN_VALID = 1 << 4
AUXILIARY = struct.Struct("IIIHHHH")  # tpacket_auxdata


def run(*words):
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"{' '.join(words)}: {done.stderr.strip()}")
    return done.stdout


def until(what, condition, seconds=PATIENCE):
    """Waits until a condition is true and returns its value."""
    end = time.monotonic() + seconds
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > end:
            raise AssertionError(f"not within {seconds} s: {what}")
        time.sleep(0.05)


class Rack:
    def __init__(self, undo):
        self.namespace = f"flports-{os.getpid()}"
        run("ip", "netns", "add", self.namespace)
        undo.callback(run, "ip", "netns", "del", self.namespace)
        run("ip", "link", "add", OUTSIDE, "type", "veth", "peer", "name", INSIDE)
        undo.callback(run, "ip", "link", "del", OUTSIDE)
        run("ip", "link", "set", INSIDE, "netns", self.namespace)
        for side in ([], ["ip", "netns", "exec", self.namespace]):
            name = INSIDE if side else OUTSIDE
            run(*side, "ethtool", "-K", name, "tx", "off", "tso", "off", "gso", "off")
            run(*side, "ip", "link", "set", name, "mtu", str(MTU), "up")
            run(*side, "ip", "link", "set", "lo", "up")
        for address in ["10.1.0.1", *BACKENDS]:
            run("ip", "address", "add", f"{address}/24", "dev", OUTSIDE)
        for address in ["2001:db8:1::1", *BACKENDS6]:
            run("ip", "address", "add", f"{address}/64", "dev", OUTSIDE, "nodad")
        self.mac = self.outside_mac()
        self.mux_mac = self.inside_link(INSIDE)["address"]
        self.socket = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(ETH_P_ALL))
        undo.callback(self.socket.close)
        self.socket.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, 16 << 20)
        self.socket.setsockopt(SOL_PACKET, PACKET_AUXDATA, 1)
        self.socket.bind((OUTSIDE, ETH_P_ALL))

    def inside(self, *words):
        return run("ip", "netns", "exec", self.namespace, *words)

    def inside_link(self, name):
        """An interface as iproute2 reports it: address, stats64, ..."""
        return json.loads(self.inside("ip", "-json", "-stats", "link", "show", "dev", name))[0]

    @staticmethod
    def outside_mac():
        return json.loads(run("ip", "-json", "link", "show", "dev", OUTSIDE))[0]["address"]

    def to_vip(self, sport, payload=b"", **fields):
        """A TCP SYN from the client to the VIP, as the router would send it to the mux."""
        ip = IP(src=CLIENT, dst=VIP, **fields)
        return Ether(src=self.mac, dst=self.mux_mac) / ip / TCP(sport=sport, dport=80, flags="S") / Raw(payload)

    def send(self, packets):
        for frame in [bytes(packet) for packet in packets]:  # built first, so that they are sent back to back
            self.socket.send(frame)

    def receive(self, wanted, count, seconds=PATIENCE):
        """Up to count frames from the mux that the predicate accepts; fewer if none arrives for these seconds."""
        end = time.monotonic() + seconds
        found = []
        while len(found) < count and (left := end - time.monotonic()) > 0:
            self.socket.settimeout(left)
            with contextlib.suppress(TimeoutError):
                data = self._frame()
                if data[6:12] != bytes.fromhex(self.mux_mac.replace(":", "")):
                    continue
                frame = Ether(data)
                if wanted(frame):
                    found.append(frame)
                    end = time.monotonic() + seconds  # scapy is slow for each frame
        return found

    def _frame(self):
        """One frame, with the VLAN tag that the kernel has stripped put back."""
        data, notes, _, _ = self.socket.recvmsg(65535, socket.CMSG_SPACE(AUXILIARY.size))
        for _, kind, note in notes:
            status, *_, tci, tpid = AUXILIARY.unpack(note[: AUXILIARY.size])
            if kind == PACKET_AUXDATA and status & TP_STATUS_VLAN_VALID:
                data = data[:12] + struct.pack("!HH", tpid or 0x8100, tci) + data[12:]
        return data

    def drain(self):
        self.socket.setblocking(False)
        with contextlib.suppress(BlockingIOError):
            while True:
                self.socket.recv(65535)


def is_tunnel(frame):
    """Whether it has a packet inside, which notices have not: these come beside packets, at any time."""
    return UDP in frame and frame[UDP].dport == 6080 and bytes(frame[UDP].payload)[1:2] != bytes([PROTOCOL])


def is_echo_reply(frame):
    return ICMP in frame and frame[ICMP].type == 0


class Mux:
    """still_mux in the mux's namespace."""

    def __init__(self, rack, port, backends, *more, vips=VIP):
        command = ["ip", "netns", "exec", rack.namespace, os.environ["FAIRLEAD_STILL_MUX"], "--port", port, *more]
        self.rack = rack
        self.process = subprocess.Popen(
            [*command, vips, "80", str(BUCKETS), *backends],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )  # fmt: skip
        line = self.process.stdout.readline()
        if not line:
            raise RuntimeError(f"still_mux: {self.process.stderr.read().strip()}")
        assert json.loads(line) == {"ready": True}
        self.process.stdout.readline()

    def counters(self):
        """The counts since the last call, without zeros."""
        self.process.stdin.write("\n")
        self.process.stdin.flush()
        counts = json.loads(self.process.stdout.readline())
        return {name: n for name, n in counts.items() if n and name != "seconds"}

    def settle(self):
        """Waits until all backends' neighbours are known: all of enough flows to reach each of them are steered."""

        def steered():
            self.counters()
            self.rack.send([self.rack.to_vip(sport) for sport in range(100, 100 + SETTLING_FLOWS)])
            seen = {}

            def counted():
                for name, n in self.counters().items():
                    seen[name] = seen.get(name, 0) + n
                return seen.get("service", 0) + seen.get("no_neighbour", 0) >= SETTLING_FLOWS

            until("the settling packets are counted", counted)
            return seen.get("service") == SETTLING_FLOWS

        until("the backends' neighbours are found", steered)
        self.pass_by()

    def all_out(self, wanted):
        """The output so far that the predicate accepts; a marker packet, which comes out last, shows the end."""
        found = []

        def is_last(frame):
            if LAST in bytes(frame):
                return True
            if wanted(frame):
                found.append(frame)
            return False

        self.rack.send([self.rack.to_vip(99, LAST)])
        assert self.rack.receive(is_last, 1)
        return found

    def pass_by(self):
        """Waits until all packets sent so far have come out, and discards them."""
        self.all_out(lambda _: False)
        self.counters()
        self.rack.drain()

    def cpu_seconds(self):
        fields = pathlib.Path(f"/proc/{self.process.pid}/stat").read_text().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def stop(self):
        if self.process.poll() is None:
            self.process.terminate()
        self.process.communicate(timeout=PATIENCE)
        return self.process.returncode

    def kill(self):
        self.process.kill()
        self.process.communicate(timeout=PATIENCE)


@contextlib.contextmanager
def mux(rack, port, backends=BACKENDS, *more, settled=True, vips=VIP):
    one = Mux(rack, port, backends, *more, vips=vips)
    try:
        if settled:
            one.settle()
        yield one
    finally:
        one.stop()


def drops(counts):
    return {name: n for name, n in counts.items() if name not in ("service", "not_ours", "from_kernel")}


def send_and_count(rack, one, packets):
    """Sends frames and waits until the mux has counted as many, not counting ARP and the like."""
    packets = list(packets)
    rack.drain()
    one.counters()
    rack.send(packets)
    seen = {}

    def counted():
        for name, n in one.counters().items():
            seen[name] = seen.get(name, 0) + n
        return sum(n for name, n in seen.items() if name not in ("not_ours", "from_kernel")) >= len(packets)

    until(f"{len(packets)} packets like {packets[-1].summary()} counted", counted)
    return seen
