# SPDX-License-Identifier: Apache-2.0
"""The container images that scripts/images has made run: a controller with ZooKeeper inside, a mux, and a server side.

Containers are in this network namespace, where two interfaces are plugged into each other: one is the mux's, the other
the server's.
"""

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from lab.deadline import LabError, until
from lab.vm.kernel import ROOT, run

pytestmark = pytest.mark.long
VERSION = (ROOT / "VERSION").read_text().strip()
SECONDS = 300.0
MUX, SERVER = "10.1.0.11", "10.1.0.21"
# Limits that any host allows.
HERE = ("--network", "host", "--ulimit", "nofile=1024:1024", "--ulimit", "nproc=1000:1000")
# The namespace's interfaces, routes, TUN devices and XDP hooks are what mux and server work on.
PRIVILEGED = ("--privileged", "--volume", "/sys/fs/bpf:/sys/fs/bpf")


class Podman:
    def __init__(self, folder: Path) -> None:
        self._words = ("podman", "--root", folder / "store", "--runroot", folder / "run", "--storage-driver", "vfs")
        self._words += ("--runtime", "runc", "--cgroup-manager", "cgroupfs", "--events-backend", "none")

    def __call__(self, *words: str | Path) -> str:
        return run(*self._words, *words)

    def image(self, part: str) -> str:
        self("load", "--quiet", "--input", ROOT / "build" / "images" / f"fairlead-{part}-{VERSION}.tar")
        return f"localhost/fairlead-{part}:{VERSION}"

    def start(self, part: str, *words: str | Path) -> None:
        self("run", "--detach", "--name", part, *HERE, "--log-driver", "k8s-file", *words, self.image(part))

    def logs(self, part: str) -> str:
        words = [str(word) for word in (*self._words, "logs", part)]
        return subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False).stdout

    def lives(self, part: str) -> None:
        if part not in self("ps", "--format", "{{.Names}}").split():
            raise LabError(f"the container {part} has ended: {self.logs(part)}")

    def ctl(self, *words: str) -> str:
        return self("exec", "controller", "fairleadctl", *words)


@pytest.fixture(scope="module")
def podman(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Podman]:
    podman = Podman(tmp_path_factory.mktemp("podman"))
    run("ip", "link", "add", "mux-port", "mtu", "1600", "type", "veth", "peer", "name", "server-port", "mtu", "1600")
    for name, address in (("mux-port", MUX), ("server-port", SERVER)):
        run("ip", "address", "add", f"{address}/24", "dev", name)
        run("ip", "link", "set", name, "up")
    run("sysctl", "-q", "-w", "net.ipv4.ip_forward=1")  # chained packets need it
    yield podman
    for part in podman("ps", "--all", "--format", "{{.Names}}").split():
        print(f"-- {part}:\n{podman.logs(part)}")
        podman("rm", "--force", "--time", "10", part)


def test_images_work_together(podman: Podman, tmp_path: Path) -> None:
    """fairleadctl finds the token that the controller has made."""
    podman.start("controller", "--env", "FAIRLEAD_CONTROLLER_ZOOKEEPER=embedded:/var/lib/fairlead/controller/zookeeper")
    until("the controller serves", lambda: answers(podman, "health"), SECONDS, pause=1)
    podman.ctl("cluster", "set", "--vip-range", "10.99.0.0/16")
    podman.ctl("service", "create", "web", "--vip", "10.99.0.1", "--port", "tcp:80", "--max-backends", "4")
    podman.ctl("backend", "add", "web", "1", SERVER)
    added = json.loads(podman.ctl("mux", "add", "lb1", "-o", "json"))
    login = tmp_path / "zookeeper-auth"
    login.touch(mode=0o600)
    login.write_text("".join(f"{line}\n" for line in added["login"]))
    settings = {"ID": "lb1", "ZOOKEEPER": "127.0.0.1:2181", "ZOOKEEPER_AUTH": "/run/zookeeper-auth"}
    settings |= {"PORT": "af_packet:mux-port", "NO_HUGE": "true", "MEMORY": "128"}
    options = [f"--env=FAIRLEAD_MUX_{name}={value}" for name, value in settings.items()]
    options += ["--volume", f"{login}:/run/zookeeper-auth:ro"]
    podman.start("mux", *PRIVILEGED, *options)
    until("the mux serves", lambda: serving(podman), SECONDS, pause=1)


def answers(podman: Podman, *words: str) -> bool:
    podman.lives("controller")
    try:
        return bool(podman.ctl(*words))
    except LabError:
        return False


def serving(podman: Podman) -> bool:
    podman.lives("mux")
    muxes = json.loads(podman.ctl("muxes", "-o", "json"))
    return {mux["id"]: mux["services"].get("web", {}).get("generation") for mux in muxes} == {"lb1": 2}


def test_server_attaches(podman: Podman, tmp_path: Path) -> None:
    (tmp_path / "server.json").write_text(json.dumps({"address": SERVER, "peers": ["10.1.0.0/24"], "untagged": True}))
    words = ("run", "--rm", *HERE, *PRIVILEGED)
    words += ("--volume", f"{tmp_path}:/etc/fairlead", podman.image("server"))
    podman(*words, "attach", "--interface", "server-port", "--config", "/etc/fairlead/server.json")
    assert "prog/xdp" in run("ip", "-details", "link", "show", "server-port")
    assert '"tagRequired": false' in podman(*words, "show", "--interface", "server-port", "-o", "json")
    podman(*words, "detach", "--interface", "server-port")
    assert "prog/xdp" not in run("ip", "-details", "link", "show", "server-port")


def test_controller_is_nobody(podman: Podman) -> None:
    assert podman("exec", "controller", "id", "-u").strip() == "65534"
