# SPDX-License-Identifier: Apache-2.0
"""A real controller on a real ZooKeeper, and its command line."""

import json
import subprocess
import urllib.error
import urllib.request
from pathlib import Path

from deadline import until
from free_port import free_port
from zookeeper_process import ROOT

BIN = ROOT / "controller" / "bin"


class ControllerProcess:
    def __init__(self, zookeeper: str, folder: Path, *options: str):
        self.zookeeper, self.options, self.log_path = zookeeper, options, folder / "controller.log"
        self.api = f"http://127.0.0.1:{free_port()}"
        self.process: subprocess.Popen | None = None

    def start(self) -> None:
        command = [BIN / "fairlead-controller", "--zookeeper", self.zookeeper, "--listen", self.api.split("//")[1]]
        command += self.options
        with self.log_path.open("ab") as log:
            self.process = subprocess.Popen(command, stdout=log, stderr=log)
        until(lambda: self.health().get("leader"), 120, "the controller to lead")

    def health(self) -> dict:
        assert self.process.poll() is None, self.log()
        try:
            with urllib.request.urlopen(f"{self.api}/healthz", timeout=5) as answer:
                return json.loads(answer.read())
        except (urllib.error.URLError, OSError):
            return {}

    def write(self, method: str, path: str, body: dict) -> int:
        """As `ctl`, without the start of a program. Returns the service's generation."""
        headers = {"Content-Type": "application/json"}
        request = urllib.request.Request(f"{self.api}/v1/{path}", json.dumps(body).encode(), headers, method=method)
        with urllib.request.urlopen(request, timeout=20) as answer:
            return json.loads(answer.read()).get("generation", 0)

    def stop(self) -> None:
        if self.process:
            self.process.terminate()
            self.process.wait(60)
            self.process = None

    def log(self) -> str:
        return self.log_path.read_text(errors="replace")

    def restore(self, backup: Path) -> str:
        command = [BIN / "fairlead-controller", "--zookeeper", self.zookeeper, "--restore", backup]
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def ctl(self, *words: str) -> str:
        command = [BIN / "fairleadctl", "--api", self.api, *words]
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout
