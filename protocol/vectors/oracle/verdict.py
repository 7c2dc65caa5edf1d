# SPDX-License-Identifier: Apache-2.0
"""The server's verdict as the plain rules of protocol/README.md, 3. Addresses are texts, none is None."""

NO_MEMORY = {"since": 0, "generation": 0, "previous": None}


def _has_bucket(steer: dict) -> bool:
    """A packet whose port named its backend has none: there `bucket` is null."""
    return steer.get("bucket", "some") is not None


def _is_told(given: dict) -> bool:
    steer = given["steer"]
    return (
        _has_bucket(steer) and steer["since"] is not None and steer["previous"] not in (None, "0.0.0.0", given["self"])
    )


def _move(given: dict) -> dict:
    """The packet's move as it would be remembered: one of the future as one of now."""
    move = {key: given["steer"][key] for key in ("since", "generation", "previous")}
    if move["since"] > given["now"] + 5:
        move["since"] = given["now"]
    return move


def _is_news(given: dict) -> bool:
    memory = given["memory"]
    if not _is_told(given):
        return False
    move = _move(given)
    if move["since"] != memory["since"]:
        return move["since"] > memory["since"]
    return move["generation"] > memory["generation"] and move["previous"] != memory["previous"]


def _previous(given: dict) -> str | None:
    """Who may know the connection: the previous owner by the later of the packet's move and the remembered one."""
    steer, memory = given["steer"], given["memory"]
    if not _has_bucket(steer):
        return None
    told = steer["previous"] if _is_told(given) else None
    if told and (_is_news(given) or steer["since"] > memory["since"]):
        return told
    from_mux_without_move = steer["hops"] == 0 and steer["since"] is None
    is_ended_by_mux = from_mux_without_move and steer["generation"] >= memory["generation"]
    if given["now"] < memory["since"] + given["window"] and not is_ended_by_mux:
        return memory["previous"]
    return told


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
        out["memory"] = _move(given)
    if given["packet"] in ("syn", "cookie_ack", "local_socket"):
        return out | {"verdict": "deliver"}
    previous = _previous(given)
    if given["chaining"] and previous is not None and steer["hops"] < 3:
        return out | {"verdict": "chain", "next": previous}
    if given["packet"] == "unknown" and steer["generation"] < out["generationSeen"]:
        return out | {"verdict": "drop_stale"}
    return out | {"verdict": "deliver"}
