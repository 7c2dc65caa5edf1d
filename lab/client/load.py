# SPDX-License-Identifier: Apache-2.0
"""Load: a number of long-lived connections that send a request at an interval, and short ones at a rate.

A long-lived connection that breaks is counted, reported and replaced. Short ones are opened, send one request and are
closed. Output is a line of statistics each second, a line for each broken connection at once, and totals at the end.
Orders are JSON lines on standard input:

    {"do": "renew", "server": "server2"}    close server2's connections in order and open new ones (a drain's last step)
    {"do": "stop"}                          wait for outstanding answers, close all connections in order, print totals
"""

import asyncio
import contextlib
import json
import random
import socket
import sys
import time
from dataclasses import dataclass, field
from typing import Any

from lab.client.connection import Connection
from lab.client.counts import Counts

REQUEST = b"GET / HTTP/1.1\r\nHost: fairlead\r\n\r\n"
SWEEP_SECONDS = 0.5
REPLACE_SECONDS = 0.2


def say(**line: Any) -> None:
    sys.stdout.write(json.dumps(line) + "\n")
    sys.stdout.flush()


@dataclass
class Options:
    host: str
    port: int
    long: int
    interval: float
    short_rate: float
    timeout: float
    protocol: int = socket.IPPROTO_TCP


@dataclass(eq=False)
class Load:
    options: Options
    second: Counts = field(default_factory=Counts)
    total: Counts = field(default_factory=Counts)
    live: set[Connection] = field(default_factory=set)
    short: set[Connection] = field(default_factory=set)
    opening: dict[asyncio.Task, float] = field(default_factory=dict)  # since when
    stopping: bool = False

    # What connections report.

    def answered(self, connection: Connection, server: str, seconds: float, first: bool) -> None:
        self.second.answered(server, seconds, first)
        if connection in self.short:
            connection.close()

    def ended(self, connection: Connection, broken: str | None) -> None:
        was_long = connection in self.live and connection not in self.short
        self.live.discard(connection)
        self.short.discard(connection)
        if broken:
            self._broken(broken, connection)
        if was_long and not self.stopping:
            asyncio.get_running_loop().call_later(REPLACE_SECONDS if broken else 0, self._open, True)

    def _broken(self, kind: str, connection: Connection) -> None:
        self.second.broken[kind] += 1
        say(
            event="broken",
            kind=kind,
            server=connection.server,
            local=connection.local,
            age=round(time.monotonic() - connection.opened, 3),
        )

    # Opening and pacing.

    def _open(self, long: bool) -> None:
        if not self.stopping:
            task = asyncio.get_running_loop().create_task(self._connect(long))
            self.opening[task] = time.monotonic()
            task.add_done_callback(lambda done: self.opening.pop(done, None))

    async def _connect(self, long: bool) -> None:
        loop = asyncio.get_running_loop()
        connection = Connection(self, REQUEST)
        self.second.connections += 1
        try:
            async with asyncio.timeout(self.options.timeout):
                await self._connect_socket(loop, connection)
        except TimeoutError:
            self._unopened("timeout", connection, long)
            return
        except OSError:
            self._unopened("refused", connection, long)
            return
        if connection.over:  # broke since the handshake; already counted
            self._replace(long)
            return
        self.live.add(connection)
        if not long:
            self.short.add(connection)
            connection.send()
        elif self.stopping:
            connection.close()
        else:
            loop.call_later(random.uniform(0, self.options.interval), self._next, connection)

    async def _connect_socket(self, loop: asyncio.AbstractEventLoop, connection: Connection) -> None:
        address = (self.options.host, self.options.port)
        if self.options.protocol == socket.IPPROTO_TCP:
            await loop.create_connection(lambda: connection, *address)
            return
        mine = socket.socket(socket.AF_INET, socket.SOCK_STREAM, self.options.protocol)
        try:
            mine.settimeout(self.options.timeout)
            await asyncio.to_thread(mine.connect, address)  # asyncio itself resolves no address for MPTCP
            mine.setblocking(False)
            await loop.create_connection(lambda: connection, sock=mine)
        except BaseException:
            mine.close()
            raise

    def _unopened(self, kind: str, connection: Connection, long: bool) -> None:
        self._broken(kind, connection)
        self._replace(long)

    def _replace(self, long: bool) -> None:
        if long:
            asyncio.get_running_loop().call_later(REPLACE_SECONDS, self._open, True)

    def _next(self, connection: Connection) -> None:
        """Sends on a long-lived connection, unless the last answer is still missing; again after the interval."""
        if not connection.usable:
            return
        if connection.waiting_since is None:
            connection.send()
        asyncio.get_running_loop().call_later(self.options.interval, self._next, connection)

    def _next_short(self) -> None:
        if not self.stopping:
            self._open(False)
            asyncio.get_running_loop().call_later(1 / self.options.short_rate, self._next_short)

    # Running.

    async def run(self) -> None:
        loop = asyncio.get_running_loop()
        for index in range(self.options.long):
            loop.call_later(index * 0.002, self._open, True)
        if self.options.short_rate > 0:
            self._next_short()
        orders = asyncio.create_task(self._orders())
        sweep = asyncio.create_task(self._sweep())
        report = asyncio.create_task(self._report())
        await orders
        self.stopping = True
        for connection in list(self.live):
            connection.close()
        while self.live or self.opening:  # bounded: the sweep ends connections without an answer
            await asyncio.sleep(0.02)
        for task in (sweep, report):
            task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await task
        self.total.add(self.second)
        say(event="total", **self.total.document())

    async def _orders(self) -> None:
        """Returns on the order to stop and at the end of standard input."""
        reader = asyncio.StreamReader()
        await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
        while line := await reader.readline():
            order = json.loads(line)
            match order["do"]:
                case "stop":
                    return
                case "renew":
                    for connection in [c for c in self.live if c.server == order["server"]]:
                        connection.close()
                case unknown:
                    raise ValueError(f"unknown order '{unknown}'; allowed: renew, stop")

    async def _sweep(self) -> None:
        while True:
            await asyncio.sleep(SWEEP_SECONDS)
            now = time.monotonic()
            for connection in list(self.live):
                since = connection.waiting_since
                if since is not None and now - since > self.options.timeout:
                    connection.fail("timeout")

    async def _report(self) -> None:
        started = time.monotonic()
        number = 0
        while True:
            number += 1
            await asyncio.sleep(max(0.0, started + number - time.monotonic()))
            counts, self.second = self.second, Counts()
            self.total.add(counts)
            since = [c.waiting_since for c in self.live if c.waiting_since is not None]
            held = {}
            for connection in self.live - self.short:
                held[connection.server or "none"] = held.get(connection.server or "none", 0) + 1
            say(
                event="second",
                open=len(self.live - self.short),
                held=held,
                waiting_since=min([time.monotonic(), *since, *self.opening.values()]),
                **counts.document(),
            )
