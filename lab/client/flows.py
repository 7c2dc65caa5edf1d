# SPDX-License-Identifier: Apache-2.0
"""Flows: one real connection for each line `address port` of standard input, and which server answered it.

Output: {"source": …, "port": …, "server": …} or {…, "error": …} for each flow, in the order in which they end.
"""

import asyncio
import sys

from lab.client.connection import Connection
from lab.client.load import REQUEST, say


class Answer:
    """The first answer of one connection."""

    def __init__(self) -> None:
        self.done: asyncio.Future[str] = asyncio.get_running_loop().create_future()

    def answered(self, connection: Connection, server: str, _: float, __: bool) -> None:
        if not self.done.done():
            self.done.set_result(server)
        connection.close()

    def ended(self, _: Connection, broken: str | None) -> None:
        if not self.done.done():
            self.done.set_exception(ConnectionError(broken or "closed"))


async def run(host: str, port: int, concurrency: int, timeout: float) -> None:
    flows = [(address, int(source_port)) for address, source_port in (line.split() for line in sys.stdin)]
    todo = iter(flows)

    async def work() -> None:
        for address, source_port in todo:
            try:
                server = await asyncio.wait_for(_ask(host, port, address, source_port), timeout)
                say(source=address, port=source_port, server=server)
            except (OSError, TimeoutError) as error:
                say(source=address, port=source_port, error=str(error) or type(error).__name__)

    await asyncio.gather(*(work() for _ in range(concurrency)))


async def _ask(host: str, port: int, address: str, source_port: int) -> str:
    answer = Answer()
    connection = Connection(answer, REQUEST)
    loop = asyncio.get_running_loop()
    await loop.create_connection(lambda: connection, host, port, local_addr=(address, source_port))
    connection.send()
    return await answer.done
