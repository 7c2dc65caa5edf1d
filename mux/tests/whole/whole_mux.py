# SPDX-License-Identifier: Apache-2.0
"""fairlead-mux in the rack's other namespace, configured through ZooKeeper, with its HTTP interface and its log."""

import json
import os
import signal
import subprocess
import urllib.request
from pathlib import Path

from deadline import until
from prometheus_client.parser import text_string_to_metric_families
from rack import INSIDE, MUX, Rack, is_tunnel
from tree import Service

HTTP = f"{MUX}:9108"
FLOWS = 64


class WholeMux:
    def __init__(
        self,
        rack: Rack,
        zookeeper: str,
        log: Path,
        *arguments: str,
        port: str = "af_packet",
        name: str = "mux1",
        http: str = HTTP,
        token: str = "",
        wall_clock_ahead: int = 0,
    ):
        self.rack, self.log_path, self.http, self.token = rack, log, http, token
        # A packet socket delivers packets after a delay, XDP at once; it makes no difference to most tests.
        self.command = [os.environ["FAIRLEAD_MUX"], "--id", name, "--zookeeper", zookeeper, "--http", http, "--no-huge"]
        self.command += ["--http-open", "on", "--zookeeper-clear-text", "on"]
        self.command += ["--port", f"{port}:{INSIDE}", *arguments]
        self.command += [] if "--state-dir" in arguments else ["--state-dir", "none"]
        self.environment: dict[str, str] = {}
        if wall_clock_ahead:  # the sanitizer's library would have to come first, and need not
            self.environment = {"LD_PRELOAD": os.environ["WALL_CLOCK"], "WALL_CLOCK_AHEAD": str(wall_clock_ahead)}
            self.environment |= {"ASAN_OPTIONS": "verify_asan_link_order=0"}
        self.process: subprocess.Popen | None = None

    def inside(self, *words: str, **named: object) -> subprocess.CompletedProcess:
        """Runs a command in the mux's namespace, regardless of its exit code."""
        command = ["ip", "netns", "exec", self.rack.namespace, *words]
        return subprocess.run(command, capture_output=True, check=False, timeout=60, **named)

    def start(self) -> None:
        with self.log_path.open("ab") as log:
            command = ["ip", "netns", "exec", self.rack.namespace, *self.command]
            self.process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=os.environ | self.environment
            )
        until(self.is_up, 60, f"the mux to answer HTTP\n{self.log()}")

    def is_up(self) -> bool:
        assert self.process.poll() is None, self.log()
        return bool(self.get("/metrics"))

    def settle(self, service: Service) -> None:
        """Waits until it serves the service's newest generation and the neighbours of all backends are known."""
        until(lambda: self.metric("generation", service=service.name) == service.image["generation"], 60, self.log())

        def steered() -> bool:
            before = self.metric("packets_total", verdict="service")
            self.rack.send(self.rack.to_vip(sport) for sport in range(100, 100 + FLOWS))
            until(lambda: self.seen() >= FLOWS, 60, "the settling packets to be counted")
            return self.metric("packets_total", verdict="service") == before + FLOWS

        self._base = self.arrived()
        until(steered, 100, "the backends' neighbours")
        self.rack.receive(is_tunnel, FLOWS, seconds=1)
        self.rack.drain()

    def arrived(self) -> float:
        """The number of packets counted, except those for the kernel."""
        return sum(self.samples("packets_total", verdict="service")) + sum(self.samples("drops_total"))

    def seen(self) -> float:
        """The number of packets that arrived since the last call that saw at least FLOWS."""
        now = self.arrived()
        seen, self._base = now - self._base, now if now - self._base >= FLOWS else self._base
        return seen

    def signal(self, number: int) -> None:
        """Signals the mux itself: `ip netns exec` has replaced itself with it."""
        self.process.send_signal(number)

    def wait(self, seconds: float) -> int:
        return self.process.wait(seconds)

    def stop(self, seconds: float = 60) -> int:
        self.signal(signal.SIGTERM)
        return self.wait(seconds)

    def end(self) -> None:
        if self.process and self.process.poll() is None:
            self.signal(signal.SIGTERM)
            self.signal(signal.SIGTERM)
            code = self.wait(60)
            assert code == 0, f"ended with {code}:\n{self.log()}"

    def log(self) -> str:
        return self.log_path.read_text(errors="replace")

    def logged(self, **fields: object) -> int:
        """How many log lines have all these key=value pairs."""
        pairs = [f"{key}={value}" for key, value in fields.items()]
        return sum(all(pair in line.split() for pair in pairs) for line in self.log().splitlines())

    def get(self, path: str) -> str:
        headers = {"Authorization": f"Bearer {self.token}"} if self.token else {}
        request = urllib.request.Request(f"http://{self.http}{path}", headers=headers)
        with urllib.request.urlopen(request, timeout=60) as answer:
            return answer.read().decode()

    def samples(self, name: str, **labels: str) -> list[float]:
        """Values of all samples of a metric that have these labels, as Prometheus' own parser reads them."""
        wanted = f"fairlead_mux_{name}"
        return [
            sample.value
            for family in text_string_to_metric_families(self.get("/metrics"))
            for sample in family.samples
            if sample.name == wanted and labels.items() <= sample.labels.items()
        ]

    def metric(self, name: str, **labels: str) -> float | None:
        """None if the metric does not exist."""
        found = self.samples(name, **labels)
        assert len(found) <= 1, (name, labels)
        return found[0] if found else None

    def routes(self) -> dict[str, str]:
        """The mux's routes for announced VIPs: destination to device."""
        done = self.rack.inside("ip", "-j", "route", "show", "proto", "199")
        return {route["dst"]: route["dev"] for route in json.loads(done or "[]")}
