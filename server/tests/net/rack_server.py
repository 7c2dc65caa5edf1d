# SPDX-License-Identifier: Apache-2.0
"""One server of the rack: its namespace, its application, and the command under test."""

import json
import subprocess

from forms import Form
from steering_mux import SERVERS, SERVERS6, VIP

from lab.namespace import Namespace

PEERS = "10.1.0.0/24"
PEERS_BOTH = "10.1.0.0/24,2001:db8:1::/64"


class Server:
    def __init__(self, form: Form, namespace: Namespace, name: str) -> None:
        self.form, self.namespace, self.name, self.address = form, namespace, name, SERVERS[name]
        self.applications: list[int] = []

    def invoke(self, *words: str) -> subprocess.CompletedProcess:
        """The command by `ip netns exec`, as an operator does; each call has its own mount namespace."""
        return self.form.invoke("ip", "netns", "exec", self.namespace.name, "fairlead-server", *words)

    def attach(self, *words: str) -> None:
        """Untagged unless there is a key, and with no quiet time unless one is given."""
        trust = () if "--tag-key" in words else ("--untagged", "on")
        words = ("--quiet", "0", *trust, *words)
        done = self.invoke("attach", *self.form.where, "--address", self.address, "--peers", PEERS, *words)
        assert done.returncode == 0, done.stderr

    def attach_both(self, *words: str) -> None:
        """With an address of each family."""
        self.attach("--address", f"{self.address},{SERVERS6[self.name]}", "--peers", PEERS_BOTH, *words)

    def detach(self) -> None:
        done = self.invoke("detach", *self.form.where)
        assert done.returncode == 0, done.stderr

    def forget(self, service: int) -> str:
        """What the command says."""
        done = self.invoke("forget", *self.form.where, "--service", str(service))
        assert (done.returncode, done.stderr) == (0, ""), done
        return done.stdout

    def show(self) -> dict:
        return json.loads(self.show_as("json"))

    def show_as(self, output: str) -> str:
        done = self.invoke("show", *self.form.where, "-o", output)
        assert (done.returncode, done.stderr) == (0, ""), done
        return done.stdout

    def counter(self, name: str) -> int:
        return self.show()["counters"][name]

    def chained(self) -> int:
        """Packets that it has chained, including those that the kernel routed while it resolved a neighbour."""
        counters = self.show()["counters"]
        return counters["chain"] + counters["chain_by_kernel"]

    def serve(self, *addresses: str, port: int = 80) -> None:
        """Answers each line of TCP connections with the server's name and the line."""
        self._apply("tcp", str(port), *addresses)

    def serve_datagrams(self, port: int, remote: tuple[str, int] | None = None) -> None:
        """Answers each datagram to the VIP with the server's name and its length; only those of `remote` if given."""
        self._apply("udp", str(port), VIP, *(map(str, remote) if remote else ()))

    def _apply(self, *words: str) -> None:
        self.applications.append(self.form.start(self.namespace, "application", self.name, *words))

    def stop(self) -> None:
        """Ends its applications."""
        for process in self.applications:
            self.form.kill(process)
        self.applications.clear()
