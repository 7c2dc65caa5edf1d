# SPDX-License-Identifier: Apache-2.0
"""One HTTP/1.1 connection: sends requests on demand, parses the answers, and notices each way of breaking."""

import asyncio
import time
from typing import Protocol


class Watcher(Protocol):
    """The observer of a connection."""

    def answered(self, connection: "Connection", server: str, seconds: float, first: bool) -> None:
        """An answer arrived, `seconds` after its request; `first` on this connection or not."""

    def ended(self, connection: "Connection", broken: str | None) -> None:
        """Called once; `broken` is a kind of counts.BROKEN, or None when we closed it ourselves."""


class Connection(asyncio.Protocol):
    def __init__(self, watcher: Watcher, request: bytes) -> None:
        self.watcher = watcher
        self.request = request
        self.server: str | None = None  # that answered first
        self.waiting_since: float | None = None
        self.opened = self.answered_at = time.monotonic()
        self.local = ""
        self._transport: asyncio.Transport | None = None
        self._received = b""
        self.over = False  # ended, in whichever way
        self._closing = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        host, port, *_ = transport.get_extra_info("sockname")  # IPv6 has more fields
        self.local = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"

    @property
    def usable(self) -> bool:
        return self._transport is not None and not self.over and not self._closing

    @property
    def silent(self) -> float:
        """Seconds since the last answer, or since it was opened; not counting those of a wait for an answer."""
        return (self.waiting_since or time.monotonic()) - self.answered_at

    def send(self) -> None:
        """Sends a request; the previous one must have been answered."""
        assert self._transport is not None and self.waiting_since is None
        self.waiting_since = time.monotonic()
        self._transport.write(self.request)

    def close(self) -> None:
        """Closes it in order: at once, or after the answer that is still outstanding."""
        self._closing = True
        if self.waiting_since is None:
            self._end(None)

    def fail(self, broken: str) -> None:
        self._end(broken)

    def data_received(self, data: bytes) -> None:
        self._received += data
        head_end = self._received.find(b"\r\n\r\n")
        if head_end < 0:
            return
        head = self._received[:head_end]
        length_at = head.lower().find(b"content-length:")
        if not head.startswith(b"HTTP/1.1 200 ") or length_at < 0 or self.waiting_since is None:
            self._end("bad_answer")
            return
        length = int(head[length_at + 15 :].split(b"\r\n", 1)[0])
        body_at = head_end + 4
        if len(self._received) < body_at + length:
            return
        server = self._received[body_at : body_at + length].decode("ascii", "replace").strip()
        self._received = self._received[body_at + length :]
        self.answered_at = time.monotonic()
        seconds, self.waiting_since = self.answered_at - self.waiting_since, None
        first = self.server is None
        if first:
            self.server = server
        elif self.server != server:
            self._end("another_server")
            return
        self.watcher.answered(self, server, seconds, first)
        if self._closing:
            self._end(None)

    def connection_lost(self, error: Exception | None) -> None:
        if isinstance(error, TimeoutError):
            self._end("timeout")
        else:
            self._end("reset" if error else "eof")

    def _end(self, broken: str | None) -> None:
        if self.over:
            return
        self.over = True
        if self._transport is not None:
            if broken:
                self._transport.abort()
            else:
                self._transport.close()
        self.watcher.ended(self, broken)
