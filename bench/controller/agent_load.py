# SPDX-License-Identifier: Apache-2.0
"""
Agents as a controller meets them: each has a connection of its own that stays open, a token of its own, and reports its
server's connections, compressed, when the last answer said. They all say that every bucket in question has connections.
"""

import asyncio
import base64
import gzip
import json
import random
import time


class Agent(asyncio.Protocol):
    """One agent. It connects again when its connection is lost, which counts as an error."""

    def __init__(self, load, number, address, token):
        self.load, self.address, self.token = load, address, token
        self.draw = random.Random(f"{load.seed} {number}")
        self.boot = f"{number:032x}"
        self.sequence, self.version, self.services = 0, None, []
        self.asked = {}  # service to the name of its question and its buckets, as text
        self.transport, self.received, self.sent_at, self.timer = None, b"", None, None

    def connection_made(self, transport):
        self.transport, self.received = transport, b""
        self.read_services()

    def connection_lost(self, _):
        if not self.load.is_over:
            self.load.errors += 1

    def _send(self, request, body=b""):
        head = f"{request} HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {self.token}\r\n"
        if body:
            head += f"Content-Type: application/json\r\nContent-Encoding: gzip\r\nContent-Length: {len(body)}\r\n"
        self.sent_at = time.perf_counter()
        self.transport.write(head.encode() + b"\r\n" + body)

    def read_services(self):
        self._send("GET /v1/agent/services")

    def report(self):
        if self.transport.is_closing():
            return
        self.sequence += 1
        services = []
        for name in self.services:
            one = {"name": name, "established": 800 + self.draw.randrange(100), "halfOpen": self.draw.randrange(4)}
            one |= {"acceptQueue": {"length": 0, "limit": 511}}
            one |= {"opened": self.draw.randrange(60), "closed": self.draw.randrange(60)}
            sent = 10_000 * self.sequence
            one["signals"] = {"opened": sent // 20, "refused": 0, "resetsSent": sent // 1000, "resetsReceived": 0}
            one["signals"] |= {"retransmitted": sent // 500, "segments": sent}
            one["signals"] |= {"rttSamples": sent // 20, "rttMicroseconds": 30 * sent}
            if name in self.asked:
                question, buckets = self.asked[name]
                one["answer"] = {"question": question, "connections": 800, "buckets": buckets}
            services.append(one)
        body = {"format": 1, "boot": self.boot, "sequence": self.sequence, "version": "0.1.0", "mode": "events"}
        body |= {"addresses": [self.address], "servicesVersion": self.version, "lostEvents": 0, "services": services}
        self._send("POST /v1/agent/reports", gzip.compress(json.dumps(body).encode(), 6))

    def data_received(self, data):
        self.received += data
        head, separator, rest = self.received.partition(b"\r\n\r\n")
        if not separator:
            return
        lines = head.decode().lower().split("\r\n")
        length = next(int(line[len("content-length:") :]) for line in lines if line.startswith("content-length:"))
        if len(rest) < length:
            return
        self.received = rest[length:]
        self.load.took(self.sent_at, int(lines[0].split()[1]), len(data))
        if lines[0].split()[1] != "200":
            self.later(1)
            return
        self._answered(json.loads(rest[:length]))

    def _answered(self, answer):
        if "services" in answer:
            self.version, self.services = answer["version"], [service["name"] for service in answer["services"]]
            self.later(0.1 + 10 * self.draw.random() if self.sequence == 0 else 1)
            return
        asked = {}
        for each in answer["questions"]:
            known = self.asked.get(each["name"], (None, None))
            asked[each["name"]] = (each["question"], each.get("buckets", known[1]))
        self.asked = asked
        self.load.questions += bool(asked)
        if answer["servicesVersion"] != self.version:
            self.read_services()
        else:
            self.later(answer["nextSeconds"] * self.draw.uniform(0.9, 1.1))

    def later(self, seconds):
        self.load.loop.call_later(seconds, self.report)


class Load:
    """All agents in one process, and how long their requests take."""

    def __init__(self, port, seed):
        self.port, self.seed = port, seed
        self.loop = asyncio.get_running_loop()
        self.is_over = False
        self.reset()

    def reset(self):
        self.delays, self.errors, self.questions, self.refused, self.bytes = [], 0, 0, 0, 0

    def took(self, sent_at, status, received):
        self.delays.append(time.perf_counter() - sent_at)
        self.refused += status != 200
        self.bytes += received

    async def connect(self, servers, at_once=100):
        """Servers are pairs of address and token."""
        slots = asyncio.Semaphore(at_once)

        async def one(number, address, token):
            async with slots:
                agent = Agent(self, number, address, token)
                await self.loop.create_connection(lambda: agent, "127.0.0.1", self.port)

        await asyncio.gather(*(one(number, *server) for number, server in enumerate(servers)))

    async def lag(self, seconds):
        """Sleeps, and returns by how much this process was late at most: its own part of the delays."""
        late, until = 0.0, time.monotonic() + seconds
        while time.monotonic() < until:
            begun = time.monotonic()
            await asyncio.sleep(0.1)
            late = max(late, time.monotonic() - begun - 0.1)
        return late


def server_token(draw):
    return base64.b32encode(draw.randbytes(20)).decode()
