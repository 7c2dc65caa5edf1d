# SPDX-License-Identifier: Apache-2.0
"""The server's verdict as the plain rules of protocol/README.md, 3. Addresses are texts, none is None."""

NO_MEMORY = {"since": 0, "generation": 0, "previous": None}


def _has_bucket(steer: dict) -> bool:
    """A packet whose port named its backend has none: there `bucket` is null."""
    return steer.get("bucket", "some") is not None


def _is_news(given: dict) -> bool:
    steer, memory = given["steer"], given["memory"]
    if not _has_bucket(steer):
        return False
    if steer["since"] is None or steer["previous"] in (None, "0.0.0.0", given["self"]):
        return False
    if steer["since"] > given["now"] + 5:
        return False
    if steer["since"] > memory["since"]:
        return True
    same_second = steer["since"] == memory["since"]
    return same_second and steer["generation"] > memory["generation"] and steer["previous"] != memory["previous"]


def decide(given: dict) -> dict:
    out = {
        "verdict": None,
        "next": None,
        "generationSeen": given["generationSeen"],
        "learned": False,
        "memory": dict(given["memory"]),
    }
    if not given["trusted"]:
        return out | {"verdict": "drop_untrusted"}
    if given["malformed"]:
        return out | {"verdict": "drop_malformed"}
    steer = given["steer"]
    out["generationSeen"] = max(out["generationSeen"], steer["generation"])
    if _is_news(given):
        out["learned"] = True
        out["memory"] = {key: steer[key] for key in ("since", "generation", "previous")}
    if given["packet"] in ("syn", "cookie_ack", "local_socket"):
        return out | {"verdict": "deliver"}
    memory = out["memory"]
    moved_lately = memory["previous"] is not None and given["now"] < memory["since"] + given["window"]
    if given["chaining"] and _has_bucket(steer) and moved_lately and steer["hops"] < 3:
        return out | {"verdict": "chain", "next": memory["previous"]}
    if steer["generation"] < out["generationSeen"]:
        return out | {"verdict": "drop_stale"}
    return out | {"verdict": "deliver"}
