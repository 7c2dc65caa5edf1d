# SPDX-License-Identifier: Apache-2.0
"""The tokens that a lab's controllers require: of operators, a viewer, and each server's agent."""

from pathlib import Path

from lab import topology

OPERATOR = "operator-of-the-lab"  # fixed: nothing outside the lab's namespaces reaches its controllers
VIEWER = "viewer-of-the-lab"
OF_ANOTHER = "operator-of-another-service"
NAME = "token"


def agent_token(number: int) -> str:
    return f"agent-of-server-{number:03}"


def controllers_file(directory: Path) -> Path:
    """Who may call the controllers, for --tokens: operators, a viewer, an operator of a service that is not there, each
    server's agent about its own addresses."""
    lines = [f"lab admin plain:{OPERATOR}", f"reader viewer plain:{VIEWER}"]
    lines.append(f"neighbour operator=another plain:{OF_ANOTHER}")
    for number in range(1, topology.SERVERS_MAX + 1):
        address = topology.server_address(number)
        own = f"{address},{topology.rack_address6(address)}"
        lines.append(f"server{number} server={own} plain:{agent_token(number)}")
    return _secret(directory / "tokens", lines)


def token_file(directory: Path, token: str) -> Path:
    return _secret(directory / NAME, [token])


def _secret(path: Path, lines: list[str]) -> Path:
    """A file that no other user can read, as the programs require."""
    path.touch(mode=0o600)
    path.write_text("".join(f"{line}\n" for line in lines))
    return path
