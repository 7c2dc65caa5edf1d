# SPDX-License-Identifier: Apache-2.0
"""A mux: fairlead-mux on its rack port, and FRR that announces the VIPs whose routes the mux owns."""

from pathlib import Path

from lab import topology
from lab.cluster_key import key_file
from lab.deadline import LabError
from lab.frr import Frr, mux_config
from lab.instance import Instance
from lab.node import Node, wire
from lab.process import options
from lab.rest import Rest, samples
from lab.router import Router
from lab.variant import USUAL, Variant
from lab.zookeeper import connect_string, login_file

PORTS = ("af_xdp", "af_packet")
HTTP_PORT = 9108
ZOOKEEPER_CUT = f"""\
table inet cut {{
  chain out {{
    type filter hook output priority 0
    tcp dport {topology.ZOOKEEPER_PORT} reject with tcp reset
  }}
}}
"""


class Mux(Node):
    def __init__(
        self, instance: Instance, router: Router, number: int, port: str, zookeepers: int, variant: Variant = USUAL
    ) -> None:
        if port not in PORTS:
            raise LabError(f"unknown mux port '{port}'; allowed: {', '.join(PORTS)}")
        usual = topology.mux_address(number)
        super().__init__(instance, f"mux{number}", variant.rack_address(usual), topology.rack_address6(usual))
        self.number = number
        wire(self, router, self.name, topology.RACK_MTU, self.interface_addresses)
        router.plug(self.name)
        self.namespace.ip(*(f"route add {gateway}" for gateway in router.gateways()))
        routers = list(dict.fromkeys((router.address, router.address6)))
        self.frr = Frr(self, mux_config(topology.mux_as(number), usual, routers))
        state = self.directory / "state"
        state.mkdir(mode=0o700, exist_ok=True)
        words = {
            "--id": self.name,
            "--zookeeper": connect_string(max(1, zookeepers), variant),
            "--zookeeper-auth": self.login("mux"),
            "--port": f"{port}:eth0",
            "--withdraw-wait": 1,
            "--state-dir": state,
            "--http": f"0.0.0.0:{HTTP_PORT}",
            "--http-open": "on",
        }
        if variant.tagged:
            words["--tag-key"] = key_file(self.directory)
        argv = [str(variant.mux_of(number)), *options(words), "--no-huge", *variant.clear_text("zookeeper")]
        self.process = self.program("mux", [*argv, *variant.mux_options], variant.environment)
        self.http = Rest(self.namespace, "127.0.0.1", HTTP_PORT)

    def login(self, part: str) -> Path:
        """Where the mux, or its probe, looks for its logins to ZooKeeper."""
        return self.directory / f"{part}-login"

    def take_logins(self, added: dict[str, list[str]]) -> None:
        """Of the mux and its probe, as the controllers gave them; none in a cluster without logins."""
        for part, field in (("mux", "login"), ("probe", "probeLogin")):
            if field in added:
                login_file(self.login(part), *added[field])

    def start(self) -> None:
        self.instance.start(self.process)

    def kill(self) -> None:
        self.process.kill()

    def stop(self) -> None:
        """Stops it in order: it withdraws its VIPs, serves packets that still arrive, and ends."""
        self.process.stop()
        if self.process.exit_code not in (0, None):
            raise LabError(
                f"{self.name} ended with {self.process.exit_code}; its log ends with:\n{self.process.tail()}"
            )

    def cut_from_zookeeper(self) -> None:
        """It serves on with the rings that it has: its connection is reset, and so is each attempt at a new one."""
        self.namespace.run("nft", "-f", "-", stdin=ZOOKEEPER_CUT)

    def mend_zookeeper(self) -> None:
        self.namespace.run("nft", "delete", "table", "inet", "cut")

    def generation(self, service: str) -> int:
        """That its workers steer by; 0 without a ring."""
        rings = self.http("GET", "/rings")["rings"]
        return next((ring["generation"] for ring in rings if ring["service"] == service), 0)

    def metrics(self) -> dict[str, float]:
        """Every sample of /metrics by its name and labels, as printed there."""
        return samples(self.http("GET", "/metrics"))
