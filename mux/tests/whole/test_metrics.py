# SPDX-License-Identifier: Apache-2.0
"""/metrics as Prometheus reads it: its own parser finds each family once, typed and described, with correct counts."""

import re
import signal
from pathlib import Path

from deadline import until
from prometheus_client.parser import text_string_to_metric_families
from rack import CLIENT, INSIDE, VIP, Rack
from scapy.all import IP, TCP, UDP, Ether, Raw
from tree import Service, backend
from whole_mux import WholeMux

ALERTS = Path(__file__).resolve().parents[3] / "docs" / "alerts.yaml"


def test_every_family_is_well_formed(mux: WholeMux):
    text = mux.get("/metrics")
    families = list(text_string_to_metric_families(text))
    assert len({family.name for family in families}) == len(families)
    for family in families:
        assert family.name.startswith("fairlead_mux_")
        assert family.type in ("counter", "gauge") and family.documentation.endswith("."), family
        assert text.count(f"# TYPE {family.name}") >= 1
        keys = [(sample.name, tuple(sorted(sample.labels.items()))) for sample in family.samples]
        assert len(set(keys)) == len(keys), family.name
        for sample in family.samples:
            assert sample.name.endswith("_total") == (family.type == "counter"), sample
            assert sample.value >= 0


def test_alerts_name_what_is_there(new_mux, service: Service, tmp_path: Path):
    mux = new_mux("--state-dir", str(tmp_path))
    mux.start()
    mux.settle(service)
    text = mux.get("/metrics")
    wanted = set(re.findall(r"fairlead_mux_\w+", ALERTS.read_text()))
    assert wanted and not {name for name in wanted if f"# TYPE {name} " not in text}


def test_what_does_not_protect_it_is_named(new_mux, tmp_path: Path):
    key = tmp_path / "key"
    key.touch(mode=0o600)
    key.write_text("000102030405060708090a0b0c0d0e0f\n")
    mux = new_mux("--tag-key", str(key))
    mux.start()
    names = ("tag_key", "zookeeper_login", "zookeeper_transport", "http")
    assert {what: mux.metric("unprotected", what=what) for what in names} == dict(zip(names, (0, 1, 1, 1), strict=True))


def service_counts(mux: WholeMux, rack: Rack, packets: list) -> dict[str, float]:
    """The service's counts for these packets."""

    def now() -> dict[str, float]:
        counts = {"packets": mux.metric("service_packets_total", service="web")}
        counts["bytes"] = mux.metric("service_bytes_total", service="web")
        for family in text_string_to_metric_families(mux.get("/metrics")):
            if family.name == "fairlead_mux_service_drops":
                counts |= {sample.labels["reason"]: sample.value for sample in family.samples}
        return counts

    before, arrived = now(), mux.arrived()
    rack.send(packets)
    until(lambda: mux.arrived() >= arrived + len(packets), 60, f"{len(packets)} packets counted")
    return {name: value - before.get(name, 0) for name, value in now().items() if value != before.get(name, 0)}


def test_packets_and_bytes_by_service(mux: WholeMux, rack: Rack):
    sent = [rack.to_vip(sport, b"x" * (sport % 700)) for sport in range(2000, 2200)]
    size = sum(len(IP(bytes(packet[IP]))) for packet in sent)
    assert service_counts(mux, rack, sent) == {"packets": 200, "bytes": size}


def test_drops_by_service_and_reason(mux: WholeMux, rack: Rack, service: Service):
    big = [rack.to_vip(2000, b"x" * 1620)] * 3
    assert service_counts(mux, rack, big) == {"too_big": 3}
    # packets without a service count for none
    ether = Ether(src=rack.mac, dst=rack.mux_mac)
    unmatched = [
        ether / IP(src=CLIENT, dst=VIP) / UDP(sport=1, dport=80) / Raw(b"x"),
        ether / IP(src=CLIENT, dst=VIP) / TCP(sport=1, dport=81),
    ]
    assert service_counts(mux, rack, unmatched) == {}
    service.commit([], [{"start": 0, "count": 256, "current": 0}])
    until(lambda: mux.metric("generation", service="web") == service.image["generation"], 60, mux.log())
    assert service_counts(mux, rack, [rack.to_vip(2000)] * 5) == {"no_backend": 5}
    service.commit([backend(1, "10.1.0.99")], [
        {"start": 0, "count": 256, "current": 1}
    ])  # fmt: skip
    until(lambda: mux.metric("generation", service="web") == service.image["generation"], 60, mux.log())
    assert service_counts(mux, rack, [rack.to_vip(2000)] * 2) == {"no_neighbour": 2}


def test_a_service_s_counts_begin_with_it(mux: WholeMux, rack: Rack, service: Service):
    assert service_counts(mux, rack, [rack.to_vip(2000, b"x" * 1620)]) == {"too_big": 1}
    service.delete()
    until(lambda: mux.metric("generation", service="web") is None, 60, mux.log())
    service.create()
    until(lambda: mux.metric("generation", service="web") == service.image["generation"], 60, mux.log())
    assert mux.samples("service_drops_total", service="web") == []
    assert mux.metric("service_packets_total", service="web") == mux.metric("service_bytes_total", service="web") == 0


def test_what_finds_the_port_s_ring_full_is_told(service: Service, new_mux, rack: Rack):
    """Twice what a ring holds, while the mux is stopped. (DPDK's packet socket does not report it.)"""
    mux = new_mux(port="af_xdp")
    mux.start()
    until(lambda: mux.metric("generation", service="web") == service.image["generation"], 60, mux.log())
    assert mux.metric("rx_missed_total", port=INSIDE) == 0
    mux.signal(signal.SIGSTOP)
    try:
        rack.send([rack.to_vip(2000)] * 4096)
    finally:
        mux.signal(signal.SIGCONT)
    until(lambda: mux.metric("rx_missed_total", port=INSIDE) > 0, 60, "what was missed to be told")
    assert mux.metric("rx_no_buffer_total", port=INSIDE) == mux.metric("rx_errors_total", port=INSIDE) == 0
