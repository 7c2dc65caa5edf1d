# SPDX-License-Identifier: Apache-2.0
"""The agent of a server: fairlead-server agent, which reports the server's connections to all controllers in turn."""

import shlex

from lab import topology
from lab.machine_server import MachineServer
from lab.process import Process
from lab.server import Server
from lab.tokens import agent_token, token_file

MACHINE_TOKEN = "/run/agent-token"
MACHINE_LOG = "/run/agent.log"


def agent(server: Server, controllers: int, token: str | None = None) -> Process:
    """Not yet started. `token`: in place of the server's own."""
    token = agent_token(server.number) if token is None else token
    return server.program("agent", _command(server, controllers, str(token_file(server.directory, token))))


def start_in_machine(server: MachineServer, controllers: int) -> None:
    """Starts it in the virtual machine, where it runs until that ends."""
    command = shlex.join(_command(server, controllers, MACHINE_TOKEN))
    server.run("sh", "-c", f"umask 077 && echo {agent_token(server.number)} >{MACHINE_TOKEN}")
    server.run("sh", "-c", f"setsid {command} </dev/null >{MACHINE_LOG} 2>&1 &")


def _command(server: Server, controllers: int, token: str) -> list[str]:
    hosts = [server.variant.rack_address(topology.controller_address(number)) for number in range(1, controllers + 1)]
    urls = [f"http://{topology.endpoint(host, topology.REST_PORT)}" for host in hosts]
    addresses = ",".join(dict.fromkeys((server.address, server.address6)))
    words = ["--controller", ",".join(urls), "--token-file", token, "--address", addresses]
    words += server.variant.clear_text("controller")
    words += server.form  # which is told how busy the server is (steering hunt)
    return [server.command, "agent", *words]
