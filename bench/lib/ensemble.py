# SPDX-License-Identifier: Apache-2.0
"""The processes of the control plane's benchmarks: three ZooKeeper servers and a controller, on loopback."""

import contextlib
import http.client
import json
import logging
import os
import pathlib
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import uuid
from collections.abc import Callable, Iterator, Sequence
from http import HTTPStatus
from typing import Any

from bench.lib.command import JAR, die
from scripts.free_port import free_port

SERVERS = 3
TIMEOUT_SECONDS = 180
ADMIN = "admin-of-the-benchmark"  # a token; fixed, since only this machine reaches the controller
CONTROLLERS_LOGIN, READERS_LOGIN = "controllers:of-the-benchmark", "readers:of-the-benchmark"
RETRY_SECONDS = 0.2


def until(what: str, true: Callable[[], object], seconds: float = TIMEOUT_SECONDS) -> None:
    deadline = time.monotonic() + seconds
    while not true():
        if time.monotonic() > deadline:
            die(f"gave up after {seconds} s of waiting for {what}")
        time.sleep(0.05)


class Processes:
    """All processes that were started; they are killed in reverse."""

    def __init__(self, folder: pathlib.Path) -> None:
        self.folder = folder
        self.all: list[subprocess.Popen[Any]] = []

    def start(self, name: str, command: Sequence[object], **more: Any) -> subprocess.Popen[Any]:
        log = (self.folder / f"{name}.log").open("ab")
        process = subprocess.Popen([str(word) for word in command], stderr=log, **({"stdout": log} | more))
        self.all.append(process)
        return process

    def end(self, process: subprocess.Popen[Any]) -> None:
        process.terminate()
        process.wait(60)
        self.all.remove(process)

    def kill(self) -> None:
        for process in reversed(self.all):
            process.kill()
            process.wait()


def start_ensemble(processes: Processes, heap: str = "768m") -> str:
    """Three servers with their data on disk, each write synced, and ZooKeeper's defaults except for the heap."""
    ports = [free_port() for _ in range(3 * SERVERS)]
    servers = [f"server.{n}=127.0.0.1:{ports[3 * n + 1]}:{ports[3 * n + 2]}" for n in range(SERVERS)]
    for n in range(SERVERS):
        data = processes.folder / f"zookeeper{n}"
        data.mkdir()
        (data / "myid").write_text(str(n))
        lines = [f"dataDir={data}", f"clientPort={ports[3 * n]}", "clientPortAddress=127.0.0.1", "tickTime=2000"]
        lines += ["initLimit=20", "syncLimit=10", "maxClientCnxns=0", "admin.enableServer=false"]
        lines += ["4lw.commands.whitelist=mntr", *servers]
        (data / "zoo.cfg").write_text("\n".join(lines) + "\n")
        command = ["java", f"-Xmx{heap}", "-XX:+UseSerialGC", "-Dzookeeper.admin.enableServer=false", "-cp", JAR]
        processes.start(
            f"zookeeper{n}", [*command, "org.apache.zookeeper.server.quorum.QuorumPeerMain", data / "zoo.cfg"]
        )
    return ",".join(f"127.0.0.1:{ports[3 * n]}" for n in range(SERVERS))


class Meter:
    """What the ensemble has done since it started: its own counters, and the processor time of its servers."""

    COUNTERS = ("packets_received", "packets_sent", "bytes_received_count")

    def __init__(self, processes: Processes, zookeeper: str) -> None:
        self.pids = [process.pid for process in processes.all[:SERVERS]]
        self.ports = [int(host.rpartition(":")[2]) for host in zookeeper.split(",")]

    def read(self) -> dict[str, float]:
        """Waits until each server serves: one that is still joining the others answers without counters."""
        servers: list[dict[str, str]] = []

        def serving() -> bool:
            servers[:] = [self.counters(port) for port in self.ports]
            return all(bool(server) for server in servers)

        until("counters of all servers of the ensemble", serving)
        total: dict[str, float] = {name: sum(int(server[f"zk_{name}"]) for server in servers) for name in self.COUNTERS}
        return total | {"processor_seconds": sum(processor_seconds(pid) for pid in self.pids)}

    @staticmethod
    def counters(port: int) -> dict[str, str]:
        """What a server reports of itself; empty while it does not serve."""
        with socket.create_connection(("127.0.0.1", port), TIMEOUT_SECONDS) as connection:
            connection.sendall(b"mntr")
            lines = connection.makefile().read().splitlines()
        return dict(line.split("\t", 1) for line in lines if "\t" in line)


def processor_seconds(pid: int) -> float:
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def secret(path: pathlib.Path, *lines: str) -> pathlib.Path:
    """A file that no other user can read, as the programs require."""
    path.touch(mode=0o600)
    path.write_text("".join(f"{line}\n" for line in lines))
    return path


class Controller:
    """One controller in a process of its own, with a limited heap."""

    def __init__(
        self,
        processes: Processes,
        zookeeper: str,
        heap: str,
        flags: Sequence[object] = (),
        tokens: pathlib.Path | None = None,
    ) -> None:
        self.processes, self.zookeeper, self.heap = processes, zookeeper, heap
        tokens = tokens or secret(processes.folder / "tokens", f"admin admin plain:{ADMIN}")
        logins = secret(processes.folder / "logins", CONTROLLERS_LOGIN, READERS_LOGIN)
        self.logins = logins
        self.flags = ["--tokens", tokens, "--zookeeper-auth", logins, *flags]
        self.authorization = {"Authorization": f"Bearer {ADMIN}"}
        self.port = free_port()
        self.gc_log = processes.folder / "gc.log"
        self.process: subprocess.Popen[Any] | None = None

    def start(self) -> float:
        begun = time.monotonic()
        self.process = self.processes.start(
            "controller",
            [
                "java", f"-Xmx{self.heap}", "-XX:+UseSerialGC", f"-Xlog:gc:file={self.gc_log}:time:filecount=0",
                "-cp", JAR, "io.fairlead.controller.Main", "--zookeeper", self.zookeeper,
                "--listen", f"127.0.0.1:{self.port}", *self.flags,
            ],
        )  # fmt: skip
        until("the controller to lead", self.leads)
        return time.monotonic() - begun

    def leads(self) -> bool:
        assert self.process is not None
        if self.process.poll() is not None:
            die(f"the controller ended with {self.process.returncode}: see {self.processes.folder}/controller.log")
        try:
            return bool(self("GET", "/healthz")[0].get("leader"))
        except OSError:
            return False

    def stop(self) -> None:
        assert self.process is not None
        self.processes.end(self.process)

    def __call__(self, method: str, path: str, body: object = None) -> tuple[Any, float]:
        """
        The answer, and the seconds from the first byte sent to the last one received. A controller that lost its
        connection to ZooKeeper is elected again and answers 503 meanwhile: the request is repeated, as
        docs/control-plane.md says, and the seconds count from the first attempt.
        """
        key, begun = str(uuid.uuid4()), time.monotonic()
        while True:
            status, text = self.once(method, path, body, key)
            took = time.monotonic() - begun
            if status < HTTPStatus.BAD_REQUEST or path == "/healthz":
                return json.loads(text), took
            if status != HTTPStatus.SERVICE_UNAVAILABLE or took > TIMEOUT_SECONDS:
                die(f"{method} {path}: {status} {text[:500]}")
            print(f"{method} {path}: {status} {text[:500]}; repeating", file=sys.stderr)
            time.sleep(RETRY_SECONDS)

    def once(self, method: str, path: str, body: object, key: str) -> tuple[int, str]:
        """The status and the text of one attempt."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=TIMEOUT_SECONDS)
        content = None if body is None else json.dumps(body)
        headers = self.authorization | ({"Content-Type": "application/json", "Idempotency-Key": key} if content else {})
        connection.request(method, path, content, headers)
        answer = connection.getresponse()
        text = answer.read().decode()
        connection.close()
        return answer.status, text

    def add_mux(self, mux: str, field: str = "login") -> pathlib.Path:
        """The file of its logins, or of its probe's."""
        return secret(self.processes.folder / f"{mux}-{field}", *self("PUT", f"/v1/muxes/{mux}", {})[0][field])

    def change(self, service: str, changes: Sequence[object]) -> tuple[Any, float]:
        return self("POST", f"/v1/services/{service}/changes?force=true", {"changes": changes})

    def heap_megabytes(self) -> dict[str, int]:
        """The most that was ever in use, and the most that a full collection left."""
        log = self.gc_log.read_text()
        used = [int(mb) for mb in re.findall(r"(\d+)M->\d+M\(", log)]
        live = [int(mb) for mb in re.findall(r"Pause Full.* \d+M->(\d+)M\(", log)]
        return {"used": max(used, default=0), "afterFullCollection": max(live, default=0)}


@contextlib.contextmanager
def processes() -> Iterator[Processes]:
    """A folder for processes and their logs, which is kept after a failure."""
    logging.getLogger("kazoo").setLevel(logging.CRITICAL)  # it logs servers that are not up yet
    folder = pathlib.Path(tempfile.mkdtemp(prefix="fairlead-bench-"))
    started = Processes(folder)
    try:
        yield started
    finally:
        started.kill()
    shutil.rmtree(folder)
