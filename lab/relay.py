# SPDX-License-Identifier: Apache-2.0
"""Passes connections from a port of this machine on to a program in a namespace, for a browser outside of the lab.

    browser ──▶ 127.0.0.1:PORT   a socket of the machine's own network
                     │           this process, inside the controller's namespace
                     ▼
                controller's API

The process gets the listening socket from its parent, which is outside. It ends with the namespace.
"""

import socket
import subprocess
import sys
import threading

from lab import build
from lab.interrupt import held
from lab.namespace import Namespace

PIECE = 65_536


def start(namespace: Namespace, host: str, port: int) -> str:
    """Starts a relay to host:port in the namespace; returns where to connect on this machine, ADDRESS:PORT."""
    with socket.create_server(("127.0.0.1", 0)) as listener, held():
        command = [sys.executable, "-m", "lab.relay", str(listener.fileno()), host, str(port)]
        subprocess.Popen(
            namespace.enter(command),
            cwd=build.ROOT,
            pass_fds=[listener.fileno()],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        address, number = listener.getsockname()
        return f"{address}:{number}"


def pour(source: socket.socket, sink: socket.socket) -> None:
    """Until the source ends, or either is gone; then the sink is told that no more comes."""
    try:
        while piece := source.recv(PIECE):
            sink.sendall(piece)
        sink.shutdown(socket.SHUT_WR)
    except OSError:  # one side is gone: so is the other
        for end in (source, sink):
            try:
                end.shutdown(socket.SHUT_RDWR)
            except OSError:  # it was closed already
                continue


def serve(client: socket.socket, host: str, port: int) -> None:
    with client:
        try:
            server = socket.create_connection((host, port), 5)
        except OSError:  # the controller is down: the browser tries again
            return
        with server:
            server.settimeout(None)
            answer = threading.Thread(target=pour, args=(server, client), daemon=True)
            answer.start()
            pour(client, server)
            answer.join()


def main() -> None:
    listener = socket.socket(fileno=int(sys.argv[1]))
    while True:
        client, _ = listener.accept()
        threading.Thread(target=serve, args=(client, sys.argv[2], int(sys.argv[3])), daemon=True).start()


if __name__ == "__main__":
    main()
