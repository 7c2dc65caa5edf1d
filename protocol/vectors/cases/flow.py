# SPDX-License-Identifier: Apache-2.0
"""siphash.json and hash.json."""

import random
import zlib

from oracle.flow import bucket, crc32, flow_hash, flow_hash64, flow_key, outer_source_port, siphash

PAPER_KEY = bytes(range(16))
OTHER_KEY = bytes.fromhex("9f3b5c0de1724a68f00dcafe5eed1234")
BUCKETS = (256, 4096, 65536, 8388608)


def siphash_vectors() -> dict:
    """The 64 published vectors: inputs 00 01 02 ... of 0 to 63 bytes under the key 00 01 ... 0f."""
    rows = []
    for length in range(64):
        data = bytes(range(length))
        rows.append({"name": f"{length} bytes", "data": data.hex(), "hash": f"{siphash(PAPER_KEY, data):016x}"})
    assert rows[15]["hash"] == "a129ca6149be45e5"  # appendix A of the paper
    return {"key": PAPER_KEY.hex(), "rows": rows}


def _flow(name: str, source: str, source_port: int, destination: str, destination_port: int, protocol: int) -> dict:
    return {
        "name": name,
        "protocol": protocol,
        "source": source,
        "sourcePort": source_port,
        "destination": destination,
        "destinationPort": destination_port,
    }


FLOWS = [
    _flow("TCP over IPv4", "198.51.100.7", 49152, "10.99.0.1", 80, 6),
    _flow("the next port of the same client", "198.51.100.7", 49153, "10.99.0.1", 80, 6),
    _flow("source and destination exchanged", "10.99.0.1", 80, "198.51.100.7", 49152, 6),
    _flow("UDP between the same addresses and ports", "198.51.100.7", 49152, "10.99.0.1", 80, 17),
    _flow("IPv4, all zero", "0.0.0.0", 0, "0.0.0.0", 0, 0),
    _flow("IPv4, all ones", "255.255.255.255", 65535, "255.255.255.255", 65535, 255),
    _flow("IPv4, each byte another", "1.2.3.4", 0x0506, "7.8.9.10", 0x0B0C, 13),
    _flow("TCP over IPv6", "2001:db8::7", 49152, "2001:db8:99::1", 443, 6),
    _flow("UDP over IPv6", "2001:db8::7", 49152, "2001:db8:99::1", 443, 17),
    _flow("IPv6, all zero", "::", 0, "::", 0, 0),
    _flow("IPv6, each byte another", "1:203:405:607:809:a0b:c0d:e0f", 0x1011, "1213:1415:1617:1819::2021", 0x2223, 36),
]


def both_buckets(flow: dict, buckets: int) -> dict:
    first, second = flow_hash(flow), flow_hash64(flow) >> 32
    return {"buckets": buckets, "bucket": bucket(first, buckets), "second": bucket(second, buckets)}


def answer(flow: dict) -> dict:
    hash32 = flow_hash(flow)
    return {
        "key": flow_key(flow).hex(),
        "flowHash": hash32,
        "flowHash64": f"{flow_hash64(flow):016x}",
        "outerSourcePort": outer_source_port(hash32),
        "buckets": [both_buckets(flow, n) for n in BUCKETS],
    }


def nat(kind: str) -> dict:
    """One address with all its ports: nothing may clump, though only 16 bits of the key differ."""
    rule = {
        "name": f"one client address with all its source ports, {kind}",
        "hash": kind,
        "hashKey": OTHER_KEY.hex(),
        "affinity": "connection",
        "protocol": 6,
        "source": "203.0.113.9",
        "firstSourcePort": 0,
        "lastSourcePort": 65535,
        "destination": "10.99.0.1",
        "destinationPort": 80,
        "buckets": 256,
    }
    histogram = [0] * rule["buckets"]
    hashes = bytearray()
    for port in range(65536):
        hash32 = flow_hash(rule | {"sourcePort": port})
        histogram[bucket(hash32, rule["buckets"])] += 1
        hashes += hash32.to_bytes(4)
    return rule | {"histogram": histogram, "flowHashesCrc32": zlib.crc32(hashes)}


def hash_vectors() -> dict:
    rows = []
    for affinity in ("connection", "client"):
        for kind, key in (("siphash", PAPER_KEY), ("siphash", OTHER_KEY), ("crc32", PAPER_KEY)):
            for flow in FLOWS:
                how = {"hash": kind, "hashKey": key.hex(), "affinity": affinity}
                name = f"{flow['name']}, {kind}, affinity {affinity}, key {key.hex()[:4]}.."
                rows.append(flow | how | {"name": name} | answer(flow | how))
    return {"rows": rows, "nat": [nat("siphash"), nat("crc32")], "crc32": _crc32_rows()}


def _crc32_rows() -> list[dict]:
    texts = ["", "a", "123456789", "The quick brown fox jumps over the lazy dog"]
    return [{"name": f"CRC-32 of {t!r}", "data": t.encode().hex(), "crc32": crc32(t.encode())} for t in texts]


def _address(draw: random.Random, ipv6: bool) -> str:
    if not ipv6:
        return ".".join(str(draw.randrange(256)) for _ in range(4))
    return ":".join(["2001", "db8"] + [f"{draw.randrange(1, 65536):x}" for _ in range(6)])


def drawn_hash(draw: random.Random) -> dict:
    rows = []
    for number in range(300):
        ipv6 = draw.random() < 0.5
        flow = {
            "name": f"random flow {number}",
            "hash": draw.choice(["siphash", "crc32"]),
            "hashKey": draw.randbytes(16).hex(),
            "affinity": draw.choice(["connection", "client"]),
            "protocol": draw.choice([6, 17, draw.randrange(256)]),
            "source": _address(draw, ipv6),
            "sourcePort": draw.randrange(65536),
            "destination": _address(draw, ipv6),
            "destinationPort": draw.randrange(65536),
        }
        rows.append(flow | answer(flow))
    return {"rows": rows, "nat": [nat("crc32")], "crc32": _drawn_crc32(draw)}


def _drawn_crc32(draw: random.Random) -> list[dict]:
    texts = [draw.randbytes(draw.randrange(80)) for _ in range(50)]
    return [{"name": f"random text {n}", "data": t.hex(), "crc32": crc32(t)} for n, t in enumerate(texts)]
