# SPDX-License-Identifier: Apache-2.0
"""health.json: nodes of probes, as the probe writes them and as controllers read or refuse them."""

import copy

from oracle.report import read_set, runs_of, set_bytes, set_text

IDS = 65_536

# What probe/tests/test_pool.c has its pool find.
WRITTEN = {
    "format": 1,
    "id": "mux1",
    "version": "1",
    "services": {
        "other": {"config": 0, "unprobed": "check", "why": "healthCheck.kind is 'icmp'"},
        "web": {
            "id": 5,
            "config": 1234567890123,
            "kind": "tcp",
            "up": [1],
            "down": [
                {"reason": "timeout", "vip": "10.99.0.1", "protocol": "tcp", "port": 80, "backends": [2, 4]},
                {"reason": "timeout", "vip": "2001:db8:99::1", "protocol": "tcp", "port": 80, "backends": [3]},
                {"reason": "refused", "vip": "10.99.0.1", "protocol": "tcp", "port": 80, "backends": [65535]},
            ],
            "silent": [2, 4],
        },
    },
}
BARE = {"format": 1, "id": "mux1", "version": "1", "services": {}}
UNREACHED = {
    "web": {
        "id": 5,
        "config": 7,
        "kind": "tcp",
        "up": [],
        "down": [
            {"reason": "timeout", "vip": "10.99.0.1", "protocol": "tcp", "port": 80, "backends": [1, 2]},
        ],
        "silent": [1, 2],
    },
}
ANSWERED = {
    "web": {
        "id": 5,
        "config": 7,
        "kind": "tcp",
        "up": [],
        "down": [
            {"reason": "of_a_later_version", "vip": "10.99.0.1", "protocol": "udp", "port": 53, "backends": [1, 2]},
        ],
        "silent": [1],
    },
}
PARTLY = {
    "web": {
        "id": 5,
        "config": 7,
        "kind": "tcp",
        "up": [1],
        "down": [],
        "silent": [],
        "skipped": [2, 65535],
        "why": "backend 2 at 2001:db8::22: the probe has no address of its family; allowed: with --address",
    },
}


def text(ids: list[int]) -> str:
    return set_text(set_bytes(runs_of(set(ids))))


def encoded(node: dict) -> dict:
    node = copy.deepcopy(node)
    for service in node["services"].values():
        for key in ("up", "silent", "skipped"):
            if key in service:
                service[key] = text(service[key])
        for group in service.get("down", []):
            group["backends"] = text(group["backends"])
    return node


def row(name: str, node: dict) -> dict:
    """With what a reader knows by it."""
    known = {}
    for service, found in node["services"].items():
        down = {str(each): group["reason"] for group in found.get("down", []) for each in group["backends"]}
        known[service] = {key: found.get(key, []) for key in ("up", "silent", "skipped")} | {"down": down}
    reaches = any(
        found["up"] or any(int(each) not in found["silent"] for each in found["down"]) for found in known.values()
    )
    return {"name": name, "node": encoded(node), "services": known, "reaches": reaches}


def malformed() -> list[dict]:
    """What has no place in a node of mux1, by the field that is refused."""
    node = encoded(WRITTEN)

    def with_web(**changes: object) -> dict:
        changed = copy.deepcopy(node)
        web = changed["services"]["web"]
        for key, value in changes.items():
            if value is None:
                del web[key]
            else:
                web[key] = value
        return changed

    def with_group(**changes: object) -> dict:
        group = {"reason": "status", "vip": "10.99.0.1", "protocol": "tcp", "port": 80, "backends": text([9])}
        return with_web(down=[group | changes])

    rows = [
        ("a list", "node", []),
        ("another format", "format", node | {"format": 2}),
        ("no format", "format", {key: value for key, value in node.items() if key != "format"}),
        ("another mux", "id", node | {"id": "mux2"}),
        ("no services", "services", {key: value for key, value in node.items() if key != "services"}),
        ("services as a list", "services", node | {"services": []}),
        ("a service as text", "services.web", node | {"services": {"web": "up"}}),
        ("no id", "services.web.id", with_web(id=None)),
        ("id 0", "services.web.id", with_web(id=0)),
        ("an id with a fraction", "services.web.id", with_web(id=5.5)),
        ("no time", "services.web.config", with_web(config=None)),
        ("a time before 1970", "services.web.config", with_web(config=-1)),
        ("a time beyond 64 bits", "services.web.config", with_web(config=1e30)),
        ("no up", "services.web.up", with_web(up=None)),
        ("up as a list", "services.web.up", with_web(up=[1])),
        ("up that is no base64", "services.web.up", with_web(up="A*")),
        ("backend 0", "services.web.up", with_web(up=text([0]))),
        ("a backend beyond the last", "services.web.up", with_web(up="gIAEAQ==")),
        ("no down", "services.web.down", with_web(down=None)),
        ("no silent", "services.web.silent", with_web(silent=None)),
        ("a backend both up and down", "services.web.down", with_group(backends=text([1]))),
        ("a backend down twice", "services.web.down", with_web(down=with_group()["services"]["web"]["down"] * 2)),
        ("no reason", "services.web.down.reason", with_group(reason=None)),
        ("a reason with a space", "services.web.down.reason", with_group(reason="not so")),
        ("a reason beyond 32 letters", "services.web.down.reason", with_group(reason="a" * 33)),
        ("another protocol", "services.web.down.protocol", with_group(protocol="sctp")),
        ("port 0", "services.web.down.port", with_group(port=0)),
        ("a port beyond 65535", "services.web.down.port", with_group(port=65536)),
        ("no VIP", "services.web.down.vip", with_group(vip=None)),
        ("skipped as a list", "services.web.skipped", with_web(skipped=[7])),
        ("a backend both up and skipped", "services.web.skipped", with_web(skipped=text([1, 7]))),
        ("a backend both down and skipped", "services.web.skipped", with_web(skipped=text([2]))),
        ("unprobed as a number", "services.web.unprobed", with_web(unprobed=1)),
    ]
    return [{"name": name, "field": field, "node": value} for name, field, value in rows]


def health_vectors() -> dict:
    assert read_set("gIAEAQ==", IDS * 2) == {IDS}
    return {
        "nodes": [
            row("what the probe's test finds", WRITTEN),
            row("no service", BARE),
            row("a probe that reaches nothing", BARE | {"services": UNREACHED}),
            row("a backend that answered, for a reason that is unknown", BARE | {"services": ANSWERED}),
            row("backends that are not probed", BARE | {"services": PARTLY}),
        ],
        "malformed": malformed(),
    }
