# SPDX-License-Identifier: Apache-2.0
"""control_mux as a process, and its HTTP interface."""

import contextlib
import json
import os
import re
import signal
import subprocess
import urllib.error
import urllib.parse
import urllib.request
from pathlib import Path

from deadline import until
from free_port import free_port
from tree import sum_of

HTTP_SECONDS = 15


class MuxProcess:
    def __init__(
        self,
        zookeeper: str,
        folder: Path,
        mux_id: str = "mux1",
        announce: str = "none",
        login: Path | None = None,
        state: Path | None = None,
    ):
        self.zookeeper, self.id, self.announce = zookeeper, mux_id, announce
        port = free_port()
        self.log_path = folder / f"{mux_id}-{port}.log"
        self.http = f"127.0.0.1:{port}"
        self.folder = state
        self.login = [str(login)] if login else []
        self.process: subprocess.Popen | None = None

    def start(self) -> None:
        program = os.environ["FAIRLEAD_CONTROL_MUX"]
        with self.log_path.open("ab") as log:
            self.process = subprocess.Popen(
                [*self.arguments(program), *self.login],
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
            )
        assert self.process.stdout.readline() == "ready\n", self.log()

    def arguments(self, program: str) -> list[str]:
        return [program, self.id, self.zookeeper, self.http.split(":")[1], self.announce, str(self.folder or "none")]

    def stop(self) -> None:
        """Stops it gracefully; fails if the sanitizers reported an error."""
        if not self.process:
            return
        with contextlib.suppress(ProcessLookupError):
            self.process.send_signal(signal.SIGCONT)
        self.process.terminate()
        code = self.process.wait(60)
        self.process.stdout.close()
        self.process = None
        assert code == 0, f"ended with {code}:\n{self.log()}"

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()
        self.process.stdout.close()
        self.process = None

    def log(self) -> str:
        return self.log_path.read_text(errors="replace")

    def logged(self, **fields: object) -> int:
        """How many log lines have all these key=value pairs."""
        pairs = [f"{key}={value}" for key, value in fields.items()]
        return sum(all(pair in line.split() for pair in pairs) for line in self.log().splitlines())

    def get(self, path: str, **query: object) -> tuple[int, str]:
        url = f"http://{self.http}{path}" + (f"?{urllib.parse.urlencode(query)}" if query else "")
        try:
            with urllib.request.urlopen(url, timeout=HTTP_SECONDS) as answer:
                return answer.status, answer.read().decode()
        except urllib.error.HTTPError as error:
            with error:
                return error.code, error.read().decode()

    def metric(self, name: str, **labels: str) -> float | None:
        """None if the metric does not exist."""
        wanted = "{" + ",".join(f'{key}="{value}"' for key, value in labels.items()) + "}" if labels else ""
        status, text = self.get("/metrics")
        assert status == 200
        found = re.search(rf"^fairlead_mux_{re.escape(name + wanted)} (\S+)$", text, re.M)
        return float(found[1]) if found else None

    def refused(self, reason: str, service: str = "web") -> float:
        return self.metric("refused_total", service=service, reason=reason) or 0

    def generation(self, service: str = "web") -> float | None:
        return self.metric("generation", service=service)

    def state(self, service: str = "web") -> str | None:
        for state in ("loading", "serving", "stale"):
            if self.metric("service_state", service=service, state=state) == 1:
                return state
        return None

    def ring(self, service: str = "web") -> dict[str, str]:
        """Empty if there is no ring."""
        status, text = self.get("/ring", service=service)
        return dict(line.split() for line in text.splitlines()) if status == 200 else {}

    def explain(self, **other: object) -> tuple[int, dict]:
        query = {"service": "web", "protocol": "tcp", "source": "10.2.1.2", "sourcePort": 4000}
        query |= {"destination": "10.99.0.1", "destinationPort": 80} | other
        status, text = self.get("/explain", **query)
        return status, json.loads(text)

    def serves(self, image: dict, service: str = "web") -> bool:
        """Whether /ring reports exactly this image."""
        return self.ring(service) == ring_of(image, service)

    def until_serving(self, image: dict, service: str = "web", seconds: float = 60) -> None:
        until(lambda: self.serves(image, service), seconds, f"{ring_of(image, service)}\n{self.log()}")


def ring_of(image: dict, service: str = "web") -> dict[str, str]:
    """The /ring answer expected for an image of the oracle."""
    return {
        "service": service,
        "generation": str(image["generation"]),
        "buckets": str(image["buckets"]),
        "sum": sum_of(image),
    }
