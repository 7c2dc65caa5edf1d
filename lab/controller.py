# SPDX-License-Identifier: Apache-2.0
"""A machine of the control plane: a controller, with ZooKeeper inside or beside it; of several, some have only one."""

from pathlib import Path

from lab import build, topology, zookeeper
from lab.answers import Controlling
from lab.deadline import until
from lab.instance import Instance
from lab.node import Node, wire
from lab.rest import Refused, Rest, Unreachable, samples
from lab.router import Router
from lab.tokens import OPERATOR, controllers_file, token_file
from lab.variant import USUAL, Variant
from lab.zookeeper import ZooKeeper


class Controller(Node):
    def __init__(
        self, instance: Instance, router: Router, number: int, zookeepers: int, variant: Variant = USUAL
    ) -> None:
        """`number`: from 1; `zookeepers`: how many there are, on the first machines, or 0 for one inside this one."""
        usual = topology.controller_address(number)
        address, address6 = variant.rack_address(usual), topology.rack_address6(usual)
        super().__init__(instance, topology.controller_name(number), address, address6)
        wire(self, router, self.name, topology.RACK_MTU, self.interface_addresses)
        router.plug(self.name)
        self.namespace.ip(*(f"route add {gateway}" for gateway in router.gateways()))
        self.zookeeper = ZooKeeper(self, number, zookeepers, variant) if number <= zookeepers else None
        if zookeepers:
            self.store = ["--zookeeper", zookeeper.connect_string(zookeepers, variant)]
        else:
            self.store = ["--zookeeper", f"embedded:{self.directory / 'zookeeper-data'}"]
            self.store += ["--zookeeper-listen", topology.endpoint(self.address, topology.ZOOKEEPER_PORT)]
        self.store += variant.clear_text("zookeeper")
        path = self.directory / "zookeeper-login"
        login = zookeeper.login_file(path, zookeeper.CONTROLLERS_LOGIN, zookeeper.READERS_LOGIN)
        self.store += ["--zookeeper-auth", str(login)]
        listen = ["--listen", topology.endpoint(self.address, topology.REST_PORT), *variant.clear_text("listen")]
        listen += ["--tokens", str(controllers_file(self.directory))]
        # Without the optimising compiler it starts in half the time, and it has little to do here.
        env = {"JAVA_OPTS": "-XX:TieredStopAtLevel=1", **variant.environment}
        env["FAIRLEAD_CONTROLLER_ALLOWED_HOST"] = "127.0.0.1"  # the relay's, for browsers (lab/relay.py)
        self.process = self.program("controller", [*variant.controller, *self.store, *listen], env)
        self.api = Rest(self.namespace, self.address, topology.REST_PORT, token=OPERATOR)
        self._token = ["--token-file", str(token_file(self.directory, OPERATOR))]

    def start(self) -> None:
        self.instance.start(self.process)

    def wait(self, seconds: float = 90) -> None:
        """Until it leads and can commit."""
        until("the controller leads", self.has_taken_over, seconds, pause=0.1)

    def wait_serving(self, seconds: float = 120) -> None:
        """Until it leads, or follows a leader."""
        until(f"{self.name} serves", self._serves, seconds, pause=0.1)

    def restore(self, backup: Path) -> str:
        """Rebuilds the cluster in an empty ZooKeeper; returns the controller's output."""
        return self.run(str(build.CONTROLLER), *self.store, "--restore", str(backup))

    def ctl(self, *words: str) -> str:
        """The output of fairleadctl here."""
        api = f"http://{topology.endpoint(self.address, topology.REST_PORT)}"
        return self.run(str(build.CTL), "--api", api, *USUAL.clear_text("api"), *self._token, *words)

    def metrics(self) -> dict[str, float]:
        """Every sample of /metrics by its name and labels, as printed there."""
        return samples(self.api("GET", "/metrics"))

    @property
    def leads(self) -> bool:
        return self.process.alive and bool(self._health().get("leader"))

    def has_taken_over(self) -> bool:
        """Whether it leads; an error if it has ended."""
        self.process.expect_alive()
        return self.leads

    def _serves(self) -> str | None:
        self.process.expect_alive()
        return self._health().get("leaderUrl")

    def _health(self) -> Controlling:
        """Empty while it does not answer, or reports that it does not serve."""
        try:
            answer: Controlling = self.api("GET", "/healthz")
            return answer
        except (Refused, Unreachable):
            return {}
