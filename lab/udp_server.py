# SPDX-License-Identifier: Apache-2.0
"""Answers each datagram with a line: its own name, and the length and SHA-256 of the datagram.

python3 -m lab.udp_server PORT NAME ADDRESS...
"""

import hashlib
import selectors
import socket
import sys


def main() -> None:
    port, name, *addresses = sys.argv[1:]
    selector = selectors.DefaultSelector()
    sockets: dict[int, socket.socket] = {}
    for address in addresses:
        sock = socket.socket(socket.AF_INET6 if ":" in address else socket.AF_INET, socket.SOCK_DGRAM)
        sock.bind((address, int(port)))
        selector.register(sock, selectors.EVENT_READ)
        sockets[sock.fileno()] = sock
    while True:
        for key, _ in selector.select():
            sock = sockets[key.fd]
            data, client = sock.recvfrom(65535)
            line = f"{name} {len(data)} {hashlib.sha256(data).hexdigest()}\n"
            sock.sendto(line.encode(), client)


if __name__ == "__main__":
    main()
