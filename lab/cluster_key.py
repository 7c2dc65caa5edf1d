# SPDX-License-Identifier: Apache-2.0
"""The cluster's key, which muxes and servers share: packets to servers, notices and hellos have tags."""

from pathlib import Path

KEY = "0f1e2d3c4b5a69788796a5b4c3d2e1f0"  # fixed, so that a run can be repeated
NAME = "cluster-key"


def key_file(directory: Path) -> Path:
    """The file in a machine's directory; no other user can read it, as the programs require."""
    path = directory / NAME
    path.touch(mode=0o600)
    path.write_text(f"{KEY}\n")
    return path
