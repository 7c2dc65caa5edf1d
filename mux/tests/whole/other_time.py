# SPDX-License-Identifier: Apache-2.0
"""A ZooKeeper server with a clock of its own, where only the controllers' clock node and a mux's entry can be read."""

import socket
import struct
import threading
import time

CHILDREN, DATA, EXISTS, NO_NODE = 8, 4, 3, -101
ENTRY = b'{"format":1}'
PASSWORD = bytes(16)
SESSION = struct.pack(">iiqi", 0, 10_000, 1, len(PASSWORD)) + PASSWORD + b"\0"


class OtherTime:
    """
    ahead: by which the server's clock is ahead of this machine's, in seconds. every: how often the node is written;
    None: never again, the last time a while ago; 0: it does not exist.
    """

    def __init__(self, address: str, ahead: float, every: float | None) -> None:
        self.server = socket.create_server((address, 0))
        self.clients: list[socket.socket] = []
        self.ahead, self.every, self.started = ahead, every, time.time()
        threading.Thread(target=self.accept, daemon=True).start()

    def __enter__(self) -> str:
        return "{}:{}".format(*self.server.getsockname())

    def __exit__(self, *_: object) -> None:
        self.server.shutdown(socket.SHUT_RDWR)
        for each in (self.server, *self.clients):
            each.close()

    def accept(self) -> None:
        while True:
            try:
                client, _ = self.server.accept()
            except OSError:
                return
            self.clients.append(client)
            threading.Thread(target=self.serve, args=(client,), daemon=True).start()

    def serve(self, client: socket.socket) -> None:
        stream = client.makefile("rwb")
        try:
            self.take(stream)
            self.give(stream, SESSION)
            while True:
                xid, kind = struct.unpack(">ii", self.take(stream)[:8])
                error, body = self.answer(kind)
                self.give(stream, struct.pack(">iqi", xid, 1, error) + body)
        except (OSError, ValueError, struct.error):
            return

    def answer(self, kind: int) -> tuple[int, bytes]:
        if kind == CHILDREN:
            return 0, struct.pack(">i", 0)
        if kind == DATA:
            return 0, struct.pack(">i", len(ENTRY)) + ENTRY + bytes(68)
        if kind != EXISTS:
            return 0, b""
        if self.every == 0:
            return NO_NODE, b""
        written = self.started - 100
        if self.every:
            written = time.time() // self.every * self.every
        milliseconds = int((written + self.ahead) * 1000)
        return 0, struct.pack(">qqqqiiiqiiq", 1, 1, 0, milliseconds, 1, 0, 0, 0, 2, 0, 1)

    @staticmethod
    def take(stream: object) -> bytes:
        return stream.read(struct.unpack(">i", stream.read(4))[0])

    @staticmethod
    def give(stream: object, frame: bytes) -> None:
        stream.write(struct.pack(">i", len(frame)) + frame)
        stream.flush()
