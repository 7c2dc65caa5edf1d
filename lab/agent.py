# SPDX-License-Identifier: Apache-2.0
"""The agent of a server: fairlead-server agent, which reports the server's connections to all controllers in turn."""

from lab import topology
from lab.process import Process
from lab.server import Server
from lab.tokens import agent_token, token_file


def agent(server: Server, controllers: int, token: str | None = None) -> Process:
    """Not yet started. `token`: in place of the server's own."""
    urls = [f"http://{topology.controller_address(n)}:{topology.REST_PORT}" for n in range(1, controllers + 1)]
    token = agent_token(server.number) if token is None else token
    words = [
        *(server.command, "agent", "--controller", ",".join(urls)),
        *("--token-file", str(token_file(server.directory, token))),
        *("--address", f"{server.address},{server.address6}"),
    ]
    return server.program("agent", words)
