# SPDX-License-Identifier: Apache-2.0
"""The cluster's key, which muxes have, and what servers have of it: all packets have tags."""

from pathlib import Path

from lab.vm.kernel import run

KEY = "0f1e2d3c4b5a69788796a5b4c3d2e1f0"  # fixed, so that a run can be repeated
NAME = "cluster-key"
SERVER_NAME = "server-keys"
SERVICES = 32  # more than any lab has had


def key_file(directory: Path) -> Path:
    """The file in a machine's directory; no other user can read it, as the programs require."""
    path = directory / NAME
    path.touch(mode=0o600)
    path.write_text(f"{KEY}\n")
    return path


def server_keys(command: Path, directory: Path, addresses: list[str]) -> Path:
    """The file of a server with these addresses: keys of its own, for all services of the lab."""
    path = directory / SERVER_NAME
    path.touch(mode=0o600)
    services = ",".join(str(number) for number in range(1, SERVICES + 1))
    words = ("--tag-key", key_file(directory), "--address", ",".join(addresses), "--services", services)
    path.write_text(run(command, "keys", *words))
    return path
