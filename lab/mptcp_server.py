# SPDX-License-Identifier: Apache-2.0
"""An HTTP server that speaks MPTCP: answers its own name. Usage: python3 -m lab.mptcp_server ADDRESS PORT NAME"""

import asyncio
import socket
import sys


async def serve(address: str, port: int, name: str) -> None:
    body = f"{name}\n".encode()
    answer = b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body)

    async def converse(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while True:
                await reader.readuntil(b"\r\n\r\n")
                writer.write(answer)
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            writer.close()

    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_MPTCP)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listener.bind((address, port))
    async with await asyncio.start_server(converse, sock=listener, backlog=4096) as server:
        await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(serve(sys.argv[1], int(sys.argv[2]), sys.argv[3]))
