# SPDX-License-Identifier: Apache-2.0
"""Queries that come whether or not those before have been answered, each over a connection of its own.

Imported, it draws a schedule: the same seed gives the same times, work and source ports. Run in a client's namespace
with HOST PORT, it takes a schedule from standard input as JSON, and prints what became of each query.
"""

import asyncio
import json
import random
import socket
import struct
import sys

PORTS = range(10_000, 64_000)  # of clients; each connection has one, and its hash goes by it
PATIENCE = 120  # seconds for an answer
RTT_AT = 68  # bytes into struct tcp_info: tcpi_rtt, microseconds
HEAD_END = b"\r\n\r\n"


def schedule(seed, rate, seconds, draw):
    """Poisson arrivals. `draw(chance)` gives a query's processor time in seconds and the bytes of its answer."""
    chance = random.Random(seed)
    at, port, queries = 0.0, chance.randrange(len(PORTS)), []
    while (at := at + chance.expovariate(rate)) < seconds:
        work, size = draw(chance)
        port = (port + 1) % len(PORTS)
        queries.append({"at": at, "work": work, "bytes": size, "port": PORTS[port]})
    if len(queries) > len(PORTS):
        sys.exit(f"poisson_arrivals: {len(queries)} queries are too many; allowed: {len(PORTS)}, a port each")
    return queries


async def ask(address, query):
    """Times are of the kernel's handshake, and from before the connection until the end of the answer."""
    loop = asyncio.get_running_loop()
    with socket.socket() as connection:
        connection.setblocking(False)
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        connection.bind(("", query["port"]))
        begun = loop.time()
        await loop.sock_connect(connection, address)
        info = connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, RTT_AT + 4)
        words = f"{round(query['work'] * 1e6)},{query['bytes']}"
        await loop.sock_sendall(connection, f"GET /work?{words} HTTP/1.0\r\n\r\n".encode())
        parts = []
        while part := await loop.sock_recv(connection, 1 << 16):
            parts.append(part)
        ended = loop.time()
    head, _, body = b"".join(parts).partition(HEAD_END)
    server, _, rest = body.partition(b"\n")
    if b" 200 " not in head.partition(b"\r\n")[0] or len(rest) != query["bytes"]:
        raise ValueError(f"{head[:40]!r} and {len(rest)} bytes are no answer; allowed: 200, {query['bytes']} bytes")
    return {
        "server": server.decode(),
        "connect": struct.unpack_from("I", info, RTT_AT)[0] / 1e6,
        "seconds": ended - begun,
    }


async def query_at(address, begun, query):
    loop = asyncio.get_running_loop()
    await asyncio.sleep(begun + query["at"] - loop.time())
    found = {"late": loop.time() - begun - query["at"]}
    try:
        async with asyncio.timeout(PATIENCE):
            return found | await ask(address, query)
    except (OSError, ValueError, TimeoutError) as error:
        return found | {"error": f"{type(error).__name__}: {error}"}


async def replay(address, queries):
    begun = asyncio.get_running_loop().time() + 0.1
    return await asyncio.gather(*(query_at(address, begun, query) for query in queries))


if __name__ == "__main__":
    json.dump(asyncio.run(replay((sys.argv[1], int(sys.argv[2])), json.load(sys.stdin))), sys.stdout)
