# SPDX-License-Identifier: Apache-2.0
"""health.json: nodes of probes, as the probe writes them and as controllers read or refuse them."""

import copy

from oracle.report import read_set, runs_of, set_bytes, set_text

IDS = 65_536


def group(reason: str, backends: list[int], vip: str = "10.99.0.1", protocol: str = "tcp", port: int = 80) -> dict:
    return {"reason": reason, "vip": vip, "protocol": protocol, "port": port, "backends": backends}


def found(config: int, up: list[int], down: list[dict], silent: list[int], **more: object) -> dict:
    return {"id": 5, "config": config, "kind": "tcp", "up": up, "down": down, "silent": silent} | more


BARE = {"format": 1, "id": "mux1", "version": "1", "services": {}}
# What probe/tests/test_pool.c has its pool find.
DOWN = [group("timeout", [2, 4]), group("timeout", [3], "2001:db8:99::1"), group("refused", [65535])]
WRITTEN = BARE | {
    "services": {
        "other": {"config": 0, "unprobed": "check", "why": "healthCheck.kind is 'icmp'"},
        "web": found(1234567890123, [1], DOWN, [2, 4]),
    }
}
UNREACHED = {"web": found(7, [], [group("timeout", [1, 2])], [1, 2])}
ANSWERED = {"web": found(7, [], [group("of_a_later_version", [1, 2], protocol="udp", port=53)], [1])}
WHY = "backend 2 at 2001:db8::22: the probe has no address of its family; allowed: with --address"
PARTLY = {"web": found(7, [1], [], [], skipped=[2, 65535], why=WHY)}


def text(ids: list[int]) -> str:
    return set_text(set_bytes(runs_of(set(ids))))


def encoded(node: dict) -> dict:
    node = copy.deepcopy(node)
    for service in node["services"].values():
        for key in ("up", "silent", "skipped"):
            if key in service:
                service[key] = text(service[key])
        for one in service.get("down", []):
            one["backends"] = text(one["backends"])
    return node


def row(name: str, node: dict) -> dict:
    """With what a reader knows by it."""
    known = {}
    for service, one in node["services"].items():
        down = {str(each): of["reason"] for of in one.get("down", []) for each in of["backends"]}
        known[service] = {key: one.get(key, []) for key in ("up", "silent", "skipped")} | {"down": down}
    reaches = any(one["up"] or any(int(each) not in one["silent"] for each in one["down"]) for one in known.values())
    return {"name": name, "node": encoded(node), "services": known, "reaches": reaches}


def malformed() -> list[dict]:
    """What has no place in a node of mux1, by the field that is refused."""
    node = encoded(WRITTEN)

    def with_web(**changes: object) -> dict:
        web = node["services"]["web"] | changes
        return node | {"services": node["services"] | {"web": {k: v for k, v in web.items() if v is not None}}}

    def with_group(**changes: object) -> dict:
        return with_web(down=[group("status", text([9])) | changes])

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
