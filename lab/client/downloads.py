# SPDX-License-Identifier: Apache-2.0
"""Downloads in closed loops by MPTCP: each loop opens a connection, gets a number of bytes, closes it, and goes on.

Prints a line for each download that ended: when it began, its seconds, the server, and how it failed, if it did. After
a failure its loop waits for a moment. Ends when standard input does; then downloads that still run are given up and not
counted.
"""

import asyncio
import contextlib
import json
import socket
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

AFTER_FAILURE = 0.2  # seconds
STAGGER = 0.01  # seconds between the loops' first connections


@dataclass(frozen=True)
class Wanted:
    host: str
    port: int
    loops: int
    size: int
    timeout: float


async def get(wanted: Wanted) -> str:
    """One download; returns the server's name."""
    mine = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_MPTCP)
    try:
        mine.settimeout(wanted.timeout)
        await asyncio.to_thread(mine.connect, (wanted.host, wanted.port))  # asyncio itself resolves no address
        mine.setblocking(False)
        reader, writer = await asyncio.open_connection(sock=mine)
    except BaseException:
        mine.close()
        raise
    try:
        writer.write(f"GET /{wanted.size} HTTP/1.1\r\nHost: fairlead\r\n\r\n".encode())
        head = (await reader.readuntil(b"\r\n\r\n")).decode("ascii")
        length = int(head.lower().partition("content-length:")[2].split("\r\n", 1)[0])
        if not head.startswith("HTTP/1.1 200 ") or length < wanted.size:
            raise ValueError(f"the answer is {head!r}")
        name = await reader.readline()
        left = length - len(name)
        while left:
            piece = await reader.read(min(left, 1 << 20))
            if not piece:
                raise ConnectionError("the answer ended early")
            left -= len(piece)
        return name.decode("ascii").strip()
    finally:
        writer.close()
        with contextlib.suppress(OSError):
            await writer.wait_closed()


async def loop(wanted: Wanted, number: int) -> None:
    await asyncio.sleep(number * STAGGER)
    while True:
        began, server, failed = time.monotonic(), None, None
        try:
            async with asyncio.timeout(wanted.timeout):
                server = await get(wanted)
        except TimeoutError:
            failed = "timeout"
        except (OSError, asyncio.IncompleteReadError, ValueError) as error:
            failed = f"{type(error).__name__}: {error}"
        seconds = time.monotonic() - began
        line = {"event": "download", "began": began, "seconds": round(seconds, 4), "server": server, "failed": failed}
        print(json.dumps(line), flush=True)
        if failed:
            await asyncio.sleep(AFTER_FAILURE)


async def run(wanted: Wanted) -> None:
    # A thread for each connect, which a SYN that is lost holds for a second and more.
    asyncio.get_running_loop().set_default_executor(ThreadPoolExecutor(wanted.loops))
    loops = [asyncio.create_task(loop(wanted, number)) for number in range(wanted.loops)]
    reader = asyncio.StreamReader()
    await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
    await reader.read()
    for each in loops:
        each.cancel()
    await asyncio.gather(*loops, return_exceptions=True)
