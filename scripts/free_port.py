# SPDX-License-Identifier: Apache-2.0
"""
A TCP port for a server that a test or benchmark starts.

A port that bind(0) returned is in the kernel's ephemeral range: once released, any outgoing connection may take it
before the server binds it. Ports here are outside that range, and each is claimed until this process ends, so that test
runs side by side do not pick the same one.
"""

import random
import socket
from pathlib import Path

EPHEMERAL = Path("/proc/sys/net/ipv4/ip_local_port_range")
LOWEST = 10_000
TRIES = 1000
_claims: list[socket.socket] = []


def free_port() -> int:
    low, high = map(int, EPHEMERAL.read_text().split())
    ports: list[int] = [*range(LOWEST, low), *range(high + 1, 65536)]
    for _ in range(TRIES if ports else 0):
        port = random.choice(ports)
        if _claim(port):
            return port
    raise RuntimeError(f"no free port from {LOWEST} to 65535 outside {low}..{high}, the range in {EPHEMERAL}")


def _claim(port: int) -> bool:
    """The claim is an abstract Unix socket: like a port it belongs to one network namespace and to one process."""
    claim = socket.socket(socket.AF_UNIX)
    try:
        claim.bind(f"\0fairlead-port-{port}")
        with socket.socket() as probe:
            probe.bind(("0.0.0.0", port))
    except OSError:
        claim.close()
        return False
    _claims.append(claim)
    return True
