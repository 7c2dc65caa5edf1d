# SPDX-License-Identifier: Apache-2.0
"""Carries frames between two interfaces of this network namespace, each delayed by some milliseconds, in order.

    relay.py INTERFACE INTERFACE MILLISECONDS

It replaces tc's netem, which not every kernel has. Frames have their virtio_net_hdr, so that what GRO has merged passes
unchanged. Frames that the far end cannot take at the moment are lost, as on a wire.
"""

import select
import signal
import socket
import sys
import time
from collections import deque

ETH_P_ALL = 3
SOL_PACKET = 263
PACKET_VNET_HDR = 15
PACKET_IGNORE_OUTGOING = 23
FRAME_MAX = 1 << 17
WAITING_MAX = 100_000  # frames of one direction; more are lost


def packets(interface: str) -> socket.socket:
    opened = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0)  # receives nothing before it is bound
    opened.setsockopt(SOL_PACKET, PACKET_VNET_HDR, 1)
    opened.setsockopt(SOL_PACKET, PACKET_IGNORE_OUTGOING, 1)
    opened.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 23)
    opened.bind((interface, ETH_P_ALL))
    opened.setblocking(False)
    return opened


class Direction:
    def __init__(self, source: socket.socket, target: socket.socket, seconds: float) -> None:
        self.source = source
        self.target = target
        self.seconds = seconds
        self.waiting: deque[tuple[float, bytes]] = deque()
        self.lost = 0

    def take(self) -> None:
        due = time.monotonic() + self.seconds
        while True:
            try:
                frame = self.source.recv(FRAME_MAX)
            except BlockingIOError:
                return
            except OSError:  # the interface is down for a moment
                self.lost += 1
                return
            if len(self.waiting) < WAITING_MAX:
                self.waiting.append((due, frame))
            else:
                self.lost += 1

    def send_due(self) -> None:
        now = time.monotonic()
        while self.waiting and self.waiting[0][0] <= now:
            try:
                self.target.send(self.waiting.popleft()[1])
            except OSError:
                self.lost += 1

    def wait(self) -> float:
        return max(0.0, self.waiting[0][0] - time.monotonic()) if self.waiting else 1.0


def main() -> None:
    first, second, seconds = packets(sys.argv[1]), packets(sys.argv[2]), float(sys.argv[3]) / 1000
    directions = [Direction(first, second, seconds), Direction(second, first, seconds)]
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(f"relay: lost {sum(each.lost for each in directions)} frames"))
    while True:
        ready, _, _ = select.select([first, second], [], [], min(each.wait() for each in directions))
        for direction in directions:
            if direction.source in ready:
                direction.take()
            direction.send_due()


if __name__ == "__main__":
    main()
