# SPDX-License-Identifier: Apache-2.0
"""An HTTP server that speaks MPTCP: answers its own name, and to `GET /N` also N bytes more.

Usage: python3 -m lab.mptcp_server ADDRESS PORT NAME
"""

import asyncio
import re
import socket
import sys

PIECE = b"." * 65_536
MOST = 1 << 30


async def serve(address: str, port: int, name: str) -> None:
    first = f"{name}\n".encode()

    async def answer(head: bytes, writer: asyncio.StreamWriter) -> None:
        wanted = re.match(rb"GET /(\d{1,10}) ", head)
        more = min(int(wanted[1]), MOST) if wanted else 0
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s" % (len(first) + more, first))
        while more:
            piece = PIECE[:more]
            writer.write(piece)
            await writer.drain()
            more -= len(piece)
        await writer.drain()

    async def converse(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while True:
                await answer(await reader.readuntil(b"\r\n\r\n"), writer)
        except (asyncio.IncompleteReadError, OSError):
            writer.close()

    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_MPTCP)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listener.bind((address, port))
    async with await asyncio.start_server(converse, sock=listener, backlog=4096) as server:
        await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(serve(sys.argv[1], int(sys.argv[2]), sys.argv[3]))
