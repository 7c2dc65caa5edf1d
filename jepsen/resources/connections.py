# SPDX-License-Identifier: Apache-2.0
"""Holds connections from a client's node: plain HTTP/1.1, each answer is the server's name.

The suite passes this program as text (`nodes exec client1 -- python3 -c …`), so that nothing has to be installed there.
Standard input has one order a line, standard output one line for each connection that has ended, both JSON. The first
line of output is {"ready": true}, since seconds count from when an order is read:

    {"id": 7, "host": "10.99.0.1", "port": 80, "kind": "tcp", "seconds": 30, "pause": 0.5, "answer": 20}
    {"id": 7, "requests": 60, "servers": ["server3"], "end": "closed", "seconds": 30.01, "last": 29.6, "stalls": []}

A request is sent every `pause` seconds for `seconds`, at least one; then the connection is closed in order. It is
broken if the other side resets, closes or refuses it, or if an answer, or connecting, takes longer than `answer`
seconds; `why` is then the system's error. `servers` are those that answered, each once, in order; `last` is the time of
the last answer, null without one; `stalls` are waits for an answer of 0.2 s and more, [from, to], the first since the
order. A connection of kind "mptcp" asks for MPTCP, and reports in `subflows` the most
further ones that it had at once. One of kind "idle" sends a request at the beginning and another after `seconds`, and
none between. The program ends when its input does.
"""

import asyncio
import errno
import json
import os
import socket
import sys
import time

# From linux/in.h and linux/mptcp.h; the first byte of that option is the number of further subflows.
IPPROTO_MPTCP = 262
SOL_MPTCP = 284
MPTCP_INFO = 1

STALL_SECONDS = 0.2  # TCP sends again after so long, at the earliest


def subflows(plain: socket.socket) -> int:
    """A connection's further subflows now; 0 if it is TCP, asked for or not."""
    try:
        return plain.getsockopt(SOL_MPTCP, MPTCP_INFO, 1)[0]
    except OSError:
        return 0


async def answer(reader: asyncio.StreamReader) -> str:
    """The body of the next answer; ConnectionError if the other side ended the connection."""
    try:
        head = (await reader.readuntil(b"\r\n\r\n")).decode().lower().split("\r\n")
        length = next(int(line.split(":")[1]) for line in head if line.startswith("content-length:"))
        return (await reader.readexactly(length)).decode().strip()
    except asyncio.IncompleteReadError as error:
        raise ConnectionResetError("closed by the other side") from error


async def connect(plain: socket.socket, address: tuple[str, int]) -> None:
    """Connects a socket; asyncio's own `sock_connect` resolves the address first, which fails for MPTCP."""
    loop = asyncio.get_running_loop()
    error = plain.connect_ex(address)
    if error == errno.EINPROGRESS:
        connected = asyncio.Event()
        loop.add_writer(plain, connected.set)
        try:
            await connected.wait()
        finally:
            loop.remove_writer(plain)
        error = plain.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
    if error:
        raise OSError(error, os.strerror(error))


def waited(told: dict, asked: float, begun: float) -> None:
    """Adds a wait that has just ended to the stalls if it was long."""
    now = time.monotonic() - begun
    if now - asked >= STALL_SECONDS:
        told["stalls"].append([round(asked, 6), round(now, 6)])


async def talk(order: dict, told: dict, begun: float) -> str:
    """One connection's life; returns how it ended."""
    plain = socket.socket(socket.AF_INET, socket.SOCK_STREAM, IPPROTO_MPTCP if order["kind"] == "mptcp" else 0)
    plain.setblocking(False)
    writer = None
    asked: float | None = 0.0
    try:
        await asyncio.wait_for(connect(plain, (order["host"], order["port"])), order["answer"])
        reader, writer = await asyncio.open_connection(sock=plain)
        while True:
            writer.write(b"GET / HTTP/1.1\r\nHost: jepsen\r\n\r\n")
            server = await asyncio.wait_for(answer(reader), order["answer"])
            told["requests"] += 1
            if order["kind"] == "mptcp":
                told["subflows"] = max(told.get("subflows", 0), subflows(plain))
            told["last"] = round(time.monotonic() - begun, 6)
            waited(told, asked, begun)
            asked = None
            if server not in told["servers"]:
                told["servers"].append(server)
            left = order["seconds"] - (time.monotonic() - begun)
            if order["kind"] == "idle":
                if told["requests"] > 1:
                    return "closed"
                await asyncio.sleep(max(0, left))
            elif order["pause"] > left:
                return "closed"
            else:
                await asyncio.sleep(order["pause"])
            asked = time.monotonic() - begun
    except TimeoutError:
        return "timeout"
    except ConnectionRefusedError:
        return "refused"
    except OSError as error:
        told["why"] = str(error)
        return "timeout" if error.errno in (110, 113) else "reset"
    finally:
        if asked is not None:
            waited(told, asked, begun)
        if writer:
            writer.close()
        plain.close()


async def hold(order: dict) -> None:
    begun = time.monotonic()
    told = {"id": order["id"], "requests": 0, "servers": [], "last": None, "stalls": []}
    told["end"] = await talk(order, told, begun)
    told["seconds"] = round(time.monotonic() - begun, 6)
    print(json.dumps(told), flush=True)


async def main() -> None:
    orders = asyncio.StreamReader()
    await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(orders), sys.stdin)
    print(json.dumps({"ready": True}), flush=True)
    held = set()
    while line := await orders.readline():
        task = asyncio.create_task(hold(json.loads(line)))
        held.add(task)
        task.add_done_callback(held.discard)


asyncio.run(main())
