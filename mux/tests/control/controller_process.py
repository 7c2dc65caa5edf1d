# SPDX-License-Identifier: Apache-2.0
"""A real controller on a real ZooKeeper, and its command line."""

import json
import os
import subprocess
import urllib.error
import urllib.request
from pathlib import Path

from deadline import until
from free_port import free_port
from zookeeper_process import ROOT

BIN = ROOT / "controller" / "bin"
CONTROLLERS_LOGIN = "controllers:the-controllers-password"
READERS_LOGIN = "readers:the-readers-password"


def secret(path: Path, *lines: str) -> Path:
    path.touch(mode=0o600)
    path.write_text("".join(f"{line}\n" for line in lines))
    return path


class ControllerProcess:
    def __init__(self, zookeeper: str, folder: Path, *options: str):
        self.zookeeper, self.options, self.log_path = zookeeper, options, folder / "controller.log"
        self.secrets = folder / "secrets"
        self.secrets.mkdir(mode=0o700)
        # Where it looks for them. It makes the admin's token itself.
        secret(self.secrets / "zookeeper-auth", CONTROLLERS_LOGIN, READERS_LOGIN)
        self.environment = os.environ | {"FAIRLEAD_CONTROLLER_SECRETS": str(self.secrets)}
        self.api = f"http://127.0.0.1:{free_port()}"
        self.process: subprocess.Popen | None = None

    def start(self) -> None:
        command = [BIN / "fairlead-controller", "--zookeeper", self.zookeeper, "--listen", self.api.split("//")[1]]
        command += self.options
        with self.log_path.open("ab") as log:
            self.process = subprocess.Popen(command, stdout=log, stderr=log, env=self.environment)
        until(lambda: self.health().get("leader"), 120, "the controller to lead")

    def health(self) -> dict:
        assert self.process.poll() is None, self.log()
        try:
            with urllib.request.urlopen(f"{self.api}/healthz", timeout=5) as answer:
                return json.loads(answer.read())
        except (urllib.error.URLError, OSError):
            return {}

    @property
    def authorization(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {(self.secrets / 'admin-token').read_text().strip()}"}

    def write(self, method: str, path: str, body: dict) -> int:
        """As `ctl`, without the start of a program. Returns the service's generation."""
        return self.ask(method, path, body).get("generation", 0)

    def login(self, mux_id: str) -> Path:
        """The file of a mux's logins, once it was added."""
        return self.log_path.parent / f"{mux_id}-login"

    def add_mux(self, mux_id: str) -> Path:
        return secret(self.login(mux_id), *self.ask("PUT", f"muxes/{mux_id}", {})["login"])

    def ask(self, method: str, path: str, body: dict) -> dict:
        headers = {"Content-Type": "application/json", **self.authorization}
        request = urllib.request.Request(f"{self.api}/v1/{path}", json.dumps(body).encode(), headers, method=method)
        with urllib.request.urlopen(request, timeout=20) as answer:
            return json.loads(answer.read())

    def stop(self) -> None:
        if self.process:
            self.process.terminate()
            self.process.wait(60)
            self.process = None

    def log(self) -> str:
        return self.log_path.read_text(errors="replace")

    def restore(self, backup: Path) -> str:
        command = [BIN / "fairlead-controller", "--zookeeper", self.zookeeper, "--restore", backup]
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60, env=self.environment)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def ctl(self, *words: str) -> str:
        command = [BIN / "fairleadctl", "--api", self.api, *words]
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60, env=self.environment)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout
