# SPDX-License-Identifier: Apache-2.0
"""What `fairlead-server show` says in each format, after real traffic: the same figures everywhere."""

import time

import exposition
from rack import Rack


def expected(shown: dict) -> dict[exposition.Sample, float]:
    """The samples that a document as JSON must become."""
    interface = {"interface": shown["interface"] or ""}
    config, memory = shown["config"], shown["memory"]
    samples = {}

    def add(name: str, value: float, **labels: str) -> None:
        samples[f"fairlead_server_{name}", tuple(sorted((interface | labels).items()))] = value

    labels = {"form": shown["form"], "version": shown["version"]} | {key: config[key] for key in ("mode", "address")}
    add("info", 1, **labels)
    for name, value in shown["counters"].items():
        if name in ("learned", "learn_failed"):
            add(f"{name}_total", value)
        elif name.startswith("drop_"):
            add("drops_total", value, reason=name.removeprefix("drop_"))
        else:
            add("packets_total", value, verdict=name)
    add("memory_buckets", memory["entries"])
    add("memory_buckets_open", memory["open"])
    add("memory_buckets_max", memory["capacity"])
    add("memory_bytes", memory["bytes"])
    for service, state in shown["services"].items():
        add("generation", state["generation"], service=service)
    add("window_seconds", config["windowSeconds"])
    add("chaining", config["chaining"])
    add("tag_required", config["tagRequired"])
    add("clock_error_seconds", shown["clockErrorSeconds"])
    return samples


def test_formats_agree(rack: Rack) -> None:
    rack.attach("--window", "100")
    client = rack.connect()
    rack.mux.move("b", int(time.time()))
    assert client.ask() == "a"
    rack.mux.send_raw(b"", "b")
    assert rack.connect().ask() == "b"
    server = rack["b"]
    shown = server.show()
    assert (shown["form"], shown["version"]) == ("bpf", "0.1.0")
    assert shown["counters"]["deliver_syn"] == 1
    assert shown["counters"]["drop_malformed_truncated"] == 1
    assert shown["services"] == {"1": {"generation": 2}}
    assert shown["memory"].pop("bytes") > 0
    assert shown["memory"] == {"entries": 1, "open": 1, "capacity": 1 << 20}

    def samples() -> dict:
        """Between the two documents packets may come in: neighbours are asked for their addresses."""
        before = server.show()
        text = server.invoke("show", "--interface", "eth0", "-o", "prometheus")
        assert (text.returncode, text.stderr) == (0, "")
        return expected(before) if exposition.read(text.stdout) == expected(before) else {}

    found = samples() or samples() or samples()
    assert found["fairlead_server_packets_total", (("interface", "eth0"), ("verdict", "deliver_syn"))] == 1
    assert found["fairlead_server_window_seconds", (("interface", "eth0"),)] == 100
    table = server.invoke("show", "--interface", "eth0").stdout
    for name in shown["counters"]:
        assert name in table


def test_interface_with_a_quote(rack: Rack) -> None:
    """The kernel allows it in a name; a label's value must escape it."""
    server, name = rack["a"], 'e"\\t'
    server.namespace.run("ip", "link", "add", name, "type", "veth", "peer", "name", "other")
    done = server.invoke(
        *("attach", "--interface", name, "--address", server.address, "--peers", "10.1.0.0/24", "--no-chaining")
    )
    assert done.returncode == 0, done.stderr
    text = server.invoke("show", "--interface", name, "-o", "prometheus").stdout
    assert exposition.read(text)["fairlead_server_chaining", (("interface", name),)] == 0
