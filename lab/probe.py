# SPDX-License-Identifier: Apache-2.0
"""Probes of backends: fairlead-probe on a mux's machine. lab/findings.py reads what it writes into ZooKeeper."""

from pathlib import Path

from lab import build
from lab.cluster_key import key_file
from lab.mux import Mux
from lab.rest import Rest, samples
from lab.variant import USUAL
from lab.zookeeper import connect_string

HTTP_PORT = 9109


class Probe:
    def __init__(self, mux: Mux, commands: Path | None = None, zookeepers: int = 1) -> None:
        """`commands`: the folder that health checks may name files of."""
        self.mux = mux
        words = [
            "--id",
            mux.name,
            "--zookeeper",
            connect_string(zookeepers),
            *USUAL.clear_text("zookeeper"),
            "--http",
            f"0.0.0.0:{HTTP_PORT}",
            "--http-open",
            "on",
        ]
        words += ["--address", mux.address, "--address", mux.address6, "--tag-key", str(key_file(mux.directory))]
        words += ["--commands", str(commands)] if commands else []
        words += ["--zookeeper-auth", str(mux.login("probe"))]
        self.process = mux.program("probe", [str(build.PROBE), *words])
        self.http = Rest(mux.namespace, "127.0.0.1", HTTP_PORT)

    def start(self) -> None:
        self.mux.instance.start(self.process)

    def metrics(self) -> dict[str, float]:
        return samples(self.http("GET", "/metrics"))
