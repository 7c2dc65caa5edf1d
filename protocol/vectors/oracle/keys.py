# SPDX-License-Identifier: Apache-2.0
"""The keys that are made of a cluster's key (protocol/include/fairlead/keys.h). All are 16 bytes."""

from .address import sixteen
from .flow import siphash


def _derived(cluster: bytes, purpose: bytes) -> bytes:
    """The part is the first byte behind the purpose."""
    texts = [purpose + bytes([part]) for part in (0, 1)]
    return b"".join(siphash(cluster, text + bytes(-len(text) % 8)).to_bytes(8, "little") for text in texts)


def of_service(cluster: bytes, service: int) -> bytes:
    return _derived(cluster, b"list key" + service.to_bytes(2))


def of_server(cluster: bytes, address: str) -> bytes:
    return _derived(cluster, b"told key" + sixteen(address))


def of_muxes(cluster: bytes) -> bytes:
    return _derived(cluster, b"muxs key")


def bit(cluster: bytes) -> bool:
    """Whether tags by it have KEY."""
    return bool(cluster[0] & 1)
