# SPDX-License-Identifier: Apache-2.0
"""Load: long-lived connections that send a request at an interval, idle ones, and short ones at a rate.

A long-lived connection that breaks is counted, reported and replaced; with a mean life it is also closed in order and
replaced after a time of exponential distribution. An idle one is long-lived, too: it sends a
request when it is opened, is silent for a chosen time, and sends the next one; before it is closed it sends a last one,
so that each silence ends with an answer or a break. Short ones are opened, send one request and are closed. Output is a
line of statistics each second, a line for each broken connection at once, and totals at the end.
Orders are JSON lines on standard input:

    {"do": "renew", "server": "server2"}    close server2's connections in order and open new ones (a drain's last step)
    {"do": "talk"}                          end the silence of all idle connections now
    {"do": "stop"}                          wait for outstanding answers, close all connections in order, print totals
"""

import asyncio
import contextlib
import json
import random
import socket
import sys
import time
from collections import Counter
from dataclasses import dataclass, field
from typing import Any, Literal

from lab.client.connection import Connection
from lab.client.counts import Counts

REQUEST = b"GET / HTTP/1.1\r\nHost: fairlead\r\n\r\n"
SWEEP_SECONDS = 0.5
REPLACE_SECONDS = 0.2


def say(**line: Any) -> None:
    sys.stdout.write(json.dumps(line) + "\n")
    sys.stdout.flush()


@dataclass(frozen=True)
class Pace:
    """How a connection sends: short ones once, others again `seconds` after each request, idle ones also at first."""

    kind: Literal["talking", "idle", "short"]
    seconds: float = 0.0


SHORT = Pace("short")


@dataclass
class Options:
    host: str
    port: int
    long: int
    interval: float
    short_rate: float
    timeout: float
    protocol: int = socket.IPPROTO_TCP
    idle: int = 0
    silences: tuple[float, ...] = ()  # of idle connections, in turn
    life: float = 0.0  # mean seconds of those that talk; 0: until the end


@dataclass(eq=False)
class Load:
    options: Options
    second: Counts = field(default_factory=Counts)
    total: Counts = field(default_factory=Counts)
    live: dict[Connection, Pace] = field(default_factory=dict)
    opening: dict[asyncio.Task[None], float] = field(default_factory=dict)  # since when
    stopping: bool = False

    # What connections report.

    def answered(self, connection: Connection, server: str, seconds: float, first: bool) -> None:
        self.second.answered(server, seconds, first)
        if self.live.get(connection) == SHORT:
            connection.close()

    def ended(self, connection: Connection, broken: str | None) -> None:
        pace = self.live.pop(connection, SHORT)
        if broken:
            self._broken(broken, connection)
        if pace != SHORT and not self.stopping:
            asyncio.get_running_loop().call_later(REPLACE_SECONDS if broken else 0, self._open, pace)

    def _broken(self, kind: str, connection: Connection) -> None:
        self.second.broken[kind] += 1
        if connection.waiting_since is not None:
            self.second.waited(time.monotonic() - connection.waiting_since)
        say(
            event="broken",
            kind=kind,
            server=connection.server,
            local=connection.local,
            age=round(time.monotonic() - connection.opened, 3),
            silent=round(connection.silent, 3),
        )

    # Opening and pacing.

    def _open(self, pace: Pace) -> None:
        if not self.stopping:
            task = asyncio.get_running_loop().create_task(self._connect(pace))
            self.opening[task] = time.monotonic()
            task.add_done_callback(lambda done: self.opening.pop(done, None))

    async def _connect(self, pace: Pace) -> None:
        loop = asyncio.get_running_loop()
        connection = Connection(self, REQUEST)
        self.second.connections += 1
        try:
            async with asyncio.timeout(self.options.timeout):
                await self._connect_socket(loop, connection)
        except TimeoutError:
            self._unopened("timeout", connection, pace)
            return
        except OSError:
            self._unopened("refused", connection, pace)
            return
        self.second.waited(time.monotonic() - connection.opened)
        if connection.over:  # broke since the handshake; already counted
            self._replace(pace)
            return
        self.live[connection] = pace
        if self.stopping and pace != SHORT:
            connection.close()
        elif pace.kind == "talking":
            loop.call_later(random.uniform(0, pace.seconds), self._next, connection, pace)
            if self.options.life:
                loop.call_later(random.expovariate(1 / self.options.life), connection.close)
        else:
            self._next(connection, pace)

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

    def _unopened(self, kind: str, connection: Connection, pace: Pace) -> None:
        self.second.waited(time.monotonic() - connection.opened)
        self._broken(kind, connection)
        self._replace(pace)

    def _replace(self, pace: Pace) -> None:
        if pace != SHORT:
            asyncio.get_running_loop().call_later(REPLACE_SECONDS, self._open, pace)

    def _next(self, connection: Connection, pace: Pace) -> None:
        """Sends, unless the last answer is still missing; again after the pace's time."""
        self._talk(connection)
        if connection.usable and pace != SHORT:
            asyncio.get_running_loop().call_later(pace.seconds, self._next, connection, pace)

    @staticmethod
    def _talk(connection: Connection) -> None:
        if connection.usable and connection.waiting_since is None:
            connection.send()

    def _close(self, connection: Connection) -> None:
        """Closes it in order; an idle one after a last request."""
        if self.live[connection].kind == "idle":
            self._talk(connection)
        connection.close()

    def _next_short(self) -> None:
        if not self.stopping:
            self._open(SHORT)
            asyncio.get_running_loop().call_later(1 / self.options.short_rate, self._next_short)

    # Running.

    async def run(self) -> None:
        loop = asyncio.get_running_loop()
        for index in range(self.options.long):
            loop.call_later(index * 0.002, self._open, Pace("talking", self.options.interval))
        for index in range(self.options.idle):
            pace = Pace("idle", self.options.silences[index % len(self.options.silences)])
            loop.call_later((self.options.long + index) * 0.002, self._open, pace)
        if self.options.short_rate > 0:
            self._next_short()
        orders = asyncio.create_task(self._orders())
        sweep = asyncio.create_task(self._sweep())
        report = asyncio.create_task(self._report())
        await orders
        self.stopping = True
        for connection in list(self.live):
            self._close(connection)
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
                        self._close(connection)
                case "talk":
                    for connection in [c for c, pace in self.live.items() if pace.kind == "idle"]:
                        self._talk(connection)
                case unknown:
                    raise ValueError(f"unknown order '{unknown}'; allowed: renew, talk, stop")

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
            held = Counter(c.server or "none" for c, pace in self.live.items() if pace != SHORT)
            idle = Counter(c.server or "none" for c, pace in self.live.items() if pace.kind == "idle")
            say(
                event="second",
                open=held.total(),
                held=dict(held),
                idle=dict(idle),
                waiting_since=min([time.monotonic(), *since, *self.opening.values()]),
                **counts.document(),
            )
