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


def _is_open(given: dict, since: int) -> bool:
    return given["now"] < since + given["window"]


def _previous(given: dict) -> str | None:
    """Who may know the connection: the previous owner by the later of the packet's move and the remembered one."""
    steer, memory = given["steer"], given["memory"]
    if not _has_bucket(steer):
        return None
    told = steer["previous"] if _is_told(given) else None
    followed = told if given["packet"] == "unknown" or _is_open(given, steer["since"] or 0) else None
    if told and (_is_news(given) or steer["since"] > memory["since"]):
        return followed
    if memory["generation"] <= given.get("removed", -1):
        return followed
    is_sent_on = steer["hops"] > 0 or steer["since"] is not None
    if _is_open(given, memory["since"]) and (is_sent_on or steer["generation"] < memory["generation"]):
        return memory["previous"]
    if told:
        return followed
    is_held = not _is_open(given, memory["since"]) and is_sent_on
    is_current = steer["generation"] >= given["generationSeen"]
    return memory["previous"] if is_held and is_current and given["packet"] == "unknown" else None


def _is_late(given: dict) -> bool:
    """Whether this server, or one before, has seen a generation that the packet's mux has not applied."""
    return given["steer"].get("late", False) or given["steer"]["generation"] < given["generationSeen"]


def _is_forgotten(given: dict) -> bool:
    """Whether a mux that is not late says, after the window, that nothing is to be remembered."""
    steer, memory = given["steer"], given["memory"]
    is_of_mux = steer["hops"] == 0 and steer["since"] is None and _has_bucket(steer)
    is_over = not _is_open(given, memory["since"])
    return memory["previous"] is not None and is_of_mux and is_over and not _is_late(given)


def _second_owner(steer: dict) -> str | None:
    """Who owns the second bucket that the packet names, if it names one."""
    second = steer.get("second")
    return second["owner"] if second and second["owner"] not in (None, "0.0.0.0") else None


def promote(given: dict) -> dict:
    """The header that the second bucket's owner decides about."""
    header, second = given["steer"], given["steer"]["second"]
    alone = {"generation": header["generation"], "hops": 0, "since": second["since"], "previous": second["previous"]}
    alone |= {"late": True} if _is_late(given) else {}
    return alone | ({"bucket": None} if second["bucket"] == 0xFFFFFFFF else {})


def decide(given: dict) -> dict:
    out = {
        "verdict": None,
        "next": None,
        "generationSeen": given["generationSeen"],
        "learned": False,
        "memory": dict(given["memory"]),
        "forgotten": False,
        "late": False,
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
    out["forgotten"] = _is_forgotten(given)
    if given["packet"] in ("syn", "cookie_ack", "local_socket"):
        return out | {"verdict": "deliver"}
    previous = _previous(given) if given["packet"] != "refused" else None
    if given["chaining"] and previous is not None and steer["hops"] < 3:
        return out | {"verdict": "chain", "next": previous, "late": _is_late(given)}
    if given["chaining"] and given["packet"] in ("unknown", "refused") and _second_owner(steer):
        return out | {"verdict": "pass", "next": _second_owner(steer), "late": _is_late(given)}
    if given["packet"] == "unknown" and _is_late(given):
        return out | {"verdict": "drop_stale"}
    return out | {"verdict": "deliver"}
