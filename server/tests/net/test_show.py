# SPDX-License-Identifier: Apache-2.0
"""What `fairlead-server show` prints in each format, after real traffic: the same figures everywhere."""

import re
from pathlib import Path

import exposition
from forms import SECONDS
from rack import Rack

from lab.deadline import until

ROOT = Path(__file__).resolve().parents[3]
ALERTS = ROOT / "docs" / "alerts.yaml"
DOCUMENTED = ROOT / "docs" / "servers.md"


def expected(shown: dict) -> dict[exposition.Sample, float]:
    """The samples that a JSON document must give."""
    interface = {"interface": shown["interface"] or ""}
    config = shown["config"]
    samples = {}

    def add(name: str, value: float, **labels: str) -> None:
        samples[f"fairlead_server_{name}", tuple(sorted((interface | labels).items()))] = value

    labels = {"form": shown["form"], "version": shown["version"]} | {key: config[key] for key in ("mode", "address")}
    add("info", 1, **labels)
    for name, value in shown["counters"].items():
        if name in ("generation_jump", "skipped"):
            add(f"{name}_total", value)
        elif name.startswith("drop_"):
            add("drops_total", value, reason=name.removeprefix("drop_"))
        else:
            add("packets_total", value, verdict=name)
    for service, state in shown["services"].items():
        add("generation", state["generation"], service=service)
        if told := state.get("load"):
            for name in ("busy", "threshold", "expired"):
                add(f"load_{name}", told[name], service=service)
            for name in ("offered", "taken", "passed", "unasked"):
                add(f"load_{name}_total", told[name], service=service)
            add("load_policy", 1, service=service, policy=told["policy"])
    add("quiet_seconds", shown["quietSecondsLeft"])
    add("chaining", config["chaining"])
    add("tag_required", config["tagRequired"])
    add("unprotected", not config["tagRequired"], what="tag_key")
    add(
        "unprotected",
        any(peer.endswith("/0") for key in ("peers", "muxes", "servers") for peer in config[key]),
        what="peers",
    )
    return samples


def test_formats_agree(rack: Rack) -> None:
    rack.attach()
    client = rack.connect()
    rack.mux.move("b")
    assert client.ask() == "a"
    rack.mux.send_raw(b"", "b")
    assert rack.connect().ask() == "b"
    server = rack["b"]
    shown = server.show()
    assert (shown["form"], shown["version"]) == (rack.form.name, (ROOT / "VERSION").read_text().strip())
    assert shown["counters"]["deliver_syn"] == 1
    assert shown["counters"]["drop_malformed_truncated"] == 1
    assert shown["services"] == {"1": {"generation": 2}}

    def samples() -> dict:
        """Packets may arrive between the two documents: neighbour requests."""
        before = server.show()
        return expected(before) if exposition.read(server.show_as("prometheus")) == expected(before) else {}

    found = until("both formats of one state", samples, SECONDS)
    interface = ("interface", shown["interface"] or "")
    assert found["fairlead_server_packets_total", (interface, ("verdict", "deliver_syn"))] == 1
    assert found["fairlead_server_tag_required", (interface,)] == 0
    documented = DOCUMENTED.read_text()
    assert [name for name in shown["counters"] if f"\n| `{name}` |" not in documented] == []
    exposed = {name for name, _ in found}
    alerted = set(re.findall(r"\bfairlead_server_[a-z_]+", ALERTS.read_text()))
    assert len(alerted) >= 3
    assert alerted - exposed == set()
    table = server.show_as("table")
    for name in shown["counters"]:
        assert name in table


def test_quiet(rack: Rack) -> None:
    """For how long it still resets nothing, after it was attached or has forgotten a service."""
    server = rack["b"]
    server.attach("--quiet", "1000")

    def left() -> tuple[int, int]:
        shown = server.show()
        exposed = exposition.read(server.show_as("prometheus"))
        name = ("fairlead_server_quiet_seconds", (("interface", shown["interface"] or ""),))
        assert 0 <= shown["quietSecondsLeft"] - exposed[name] <= SECONDS
        return shown["config"]["quietSeconds"], shown["quietSecondsLeft"]

    seconds, begin = left()
    assert seconds == 1000
    assert seconds - SECONDS <= begin <= seconds
    until("a second has passed", lambda: left()[1] < begin, SECONDS)
    assert re.search(r"\n  quietSecondsLeft +[0-9]+\n", server.show_as("table"))
    before = left()[1]
    rack.mux.notify("b", generation=5)
    until("a generation is known", lambda: server.show()["services"], SECONDS)
    until("two seconds have passed", lambda: left()[1] <= before - 2, SECONDS)
    server.forget(1)
    assert left()[1] >= before - 1
    server.attach("--quiet", "0")
    assert left() == (0, 0)
