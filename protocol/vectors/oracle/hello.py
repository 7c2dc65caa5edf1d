# SPDX-License-Identifier: Apache-2.0
"""Hellos between muxes (protocol/README.md, 9). A hello is a dict with the keys of `read`."""

from ipaddress import IPv6Address

from . import RefusedError, keys, refuse_if
from .address import sixteen
from .flow import siphash

HEAD, SERVICE, UNIT, TAG = 56, 12, 4, 8
MOST, LENGTH = 97, 1232
HAS_TAG, KEY = 1, 8
ANNOUNCES, BEHIND = 1, 2


def write(hello: dict, cluster: bytes | None, extensions: bytes = b"") -> bytes:
    """With a tag by this cluster's key, unless it is None."""
    flags = 0 if cluster is None else HAS_TAG | (KEY if keys.bit(cluster) else 0)
    data = b"FLH3" + bytes([flags, len(extensions) // UNIT]) + len(hello["services"]).to_bytes(2)
    data += sixteen(hello["sender"]) + bytes.fromhex(hello["cluster"])
    data += hello["boot"].to_bytes(8) + hello["counter"].to_bytes(8)
    for service in hello["services"]:
        data += service["id"].to_bytes(2) + bytes([service["flags"], 0])
        data += service["generation"].to_bytes(4) + service["settled"].to_bytes(4)
    data += extensions
    return data if cluster is None else data + siphash(keys.of_muxes(cluster), data).to_bytes(8)


def _text(address: bytes) -> str:
    found = IPv6Address(address)
    return str(found.ipv4_mapped or found)


def _services(data: bytes, count: int) -> list[dict]:
    parts = [data[at : at + SERVICE] for at in range(HEAD, HEAD + SERVICE * count, SERVICE)]
    return [
        {
            "id": int.from_bytes(part[:2]),
            "flags": part[2],
            "reserved": part[3],
            "generation": int.from_bytes(part[4:8]),
            "settled": int.from_bytes(part[8:]),
        }
        for part in parts
    ]


def _are_right(services: list[dict]) -> bool:
    ids = [service["id"] for service in services]
    if ids != sorted(set(ids)) or 0 in ids:
        return False
    return all(s["flags"] in (0, ANNOUNCES, BEHIND) and not s["reserved"] and s["generation"] for s in services)


def read(data: bytes) -> dict:
    """The fields of a hello, or RefusedError with the first reason in the order of the README."""
    refuse_if(len(data) < HEAD, "truncated")
    refuse_if(data[:4] != b"FLH3", "version_unknown")
    refuse_if(data[4] not in (0, HAS_TAG, HAS_TAG | KEY), "flags_unknown")
    count, has_tag = int.from_bytes(data[6:8]), data[4] & HAS_TAG
    refuse_if(
        count > MOST or len(data) > LENGTH or len(data) != HEAD + SERVICE * count + UNIT * data[5] + TAG * has_tag,
        "length",
    )
    services = _services(data, count)
    refuse_if(not _are_right(services), "service")
    boot, counter = int.from_bytes(data[40:48]), int.from_bytes(data[48:56])
    refuse_if(not boot or not counter, "boot")
    return {
        "sender": _text(data[8:24]),
        "cluster": data[24:40].hex(),
        "boot": boot,
        "counter": counter,
        "services": [{k: s[k] for k in ("id", "flags", "generation", "settled")} for s in services],
        "key": bool(data[4] & KEY),
        "tag": data[-TAG:].hex() if has_tag else None,
    }


def judge(data: bytes, reader: dict) -> str:
    """
    "ok", or the word for which a reader refuses the first hello that it gets: reader is a dict of its `cluster` (None:
    not known yet), `keys` (of the cluster: none to two), `source` (where the packet came from), `peers` and `self`.
    """
    try:
        hello = read(data)
    except RefusedError as refused:
        return refused.args[0]
    known = [bytes.fromhex(key) for key in reader["keys"]]
    if hello["cluster"] != reader["cluster"]:
        return "cluster"
    if sixteen(hello["sender"]) != sixteen(reader["source"]):
        return "sender"
    if known and hello["tag"] is None:
        return "tag_missing"
    key = next((key for key in known if len(known) == 1 or keys.bit(key) == hello["key"]), None)
    if key and bytes.fromhex(hello["tag"]) != siphash(keys.of_muxes(key), data[:-TAG]).to_bytes(8):
        return "tag_wrong"
    if reader["source"] == reader["self"] or (not known and reader["source"] not in reader["peers"]):
        return "peer_unknown"
    return "ok"
