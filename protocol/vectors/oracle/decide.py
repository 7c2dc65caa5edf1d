# SPDX-License-Identifier: Apache-2.0
"""What a server decides (protocol/README.md, 3), on dicts as in decide.json."""

KNOWN = ("syn", "cookie_ack", "local_socket")


def _on(given: dict, candidates: list[str], late: bool) -> dict:
    """Of a packet that is not known here, if these are left."""
    rest = list(candidates)
    while rest and rest[0] in given["self"]:
        rest.pop(0)
    if rest:
        return {"verdict": "chain", "next": rest[0], "left": len(rest) - 1, "late": late}
    stale = given["packet"] == "unknown" and late
    return {"verdict": "drop_stale" if stale else "deliver", "next": None, "left": None, "late": None}


def _ended(verdict: str) -> dict:
    return {"verdict": verdict, "next": None, "left": None, "late": None}


def decide(given: dict) -> dict:
    """Verdict, where the packet goes and what its header says then, and the highest generation seen afterwards."""
    if not given["trusted"]:
        return _ended("drop_untrusted") | {"seen": given["seen"]}
    if given["malformed"]:
        return _ended("drop_malformed") | {"seen": given["seen"]}
    seen = {"seen": max(given["seen"], given["generation"])}
    if given["packet"] in KNOWN:
        return _ended("deliver") | seen
    late = given["late"] or given["quiet"] or given["generation"] < given["seen"]
    left = given["candidates"][len(given["candidates"]) - given["left"] :]
    return _on(given, left, late) | seen


def skip(given: dict, out: dict) -> dict:
    """The same if the packet cannot be sent to `next`."""
    count = len(given["candidates"])
    return _on(given, given["candidates"][count - out["left"] :], True)
