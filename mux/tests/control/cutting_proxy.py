# SPDX-License-Identifier: Apache-2.0
"""A proxy to ZooKeeper that breaks the connection at a given request, before or after the server gets it."""

import contextlib
import socket
import threading

WORD = b"/delta/"  # in requests for the chunks of deltas


class CuttingProxy:
    def __init__(self, port: int, host: str = "127.0.0.1"):
        self.port = port
        self.cuts: list[
            tuple[int, bool]
        ] = []  # pending: the number of the request in its connection, whether the server gets it
        self.done = 0
        self.is_closed = False  # rejects new connections
        self.closes_then = False  # sets is_closed at the next cut
        self.connections: list[Connection] = []
        self.listener = socket.create_server((host, 0))
        self.address = f"{host}:{self.listener.getsockname()[1]}"
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self) -> None:
        while True:
            try:
                client, _ = self.listener.accept()
            except OSError:
                return
            try:
                server = None if self.is_closed else socket.create_connection(("127.0.0.1", self.port))
            except OSError:
                server = None
            if server is None:
                client.close()
                continue
            connection = Connection(self, client, server)
            self.connections.append(connection)
            threading.Thread(target=connection.upward, daemon=True).start()
            threading.Thread(target=connection.downward, daemon=True).start()

    def cut_now(self) -> None:
        for connection in self.connections:
            connection.end()

    def close(self) -> None:
        self.listener.close()
        self.cut_now()


class Connection:
    def __init__(self, proxy: CuttingProxy, client: socket.socket, server: socket.socket):
        self.proxy, self.client, self.server = proxy, client, server
        self.requests = 0
        self.is_cut = False  # the server's answers are dropped from now on
        self.lost = threading.Event()

    def upward(self) -> None:
        """Requests."""
        with contextlib.suppress(OSError):
            while data := self.client.recv(65536):
                self.requests += data.count(WORD)
                cut = self.proxy.cuts[0] if self.proxy.cuts else None
                if cut and self.requests >= cut[0]:
                    self.proxy.cuts.pop(0)
                    self.proxy.is_closed = self.proxy.closes_then
                    self.is_cut = True
                    if cut[1]:
                        self.server.sendall(data)
                        self.lost.wait(20)
                    self.proxy.done += 1
                    break
                self.server.sendall(data)
        self.end()

    def downward(self) -> None:
        """Answers."""
        with contextlib.suppress(OSError):
            while data := self.server.recv(65536):
                if self.is_cut:
                    self.lost.set()
                    break
                self.client.sendall(data)
        self.end()

    def end(self) -> None:
        for end in (self.client, self.server):
            with contextlib.suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
            end.close()
