# SPDX-License-Identifier: Apache-2.0
"""The lab: the whole topology, and its API.

    with Lab(servers=4, muxes=2) as lab:
        lab.api("GET", "/v1/services/web")
        with lab.traffic(long=200) as traffic:
            traffic.wait_open()
            lab.kill_mux(1)

Leaving the block undoes everything; leaving it by an exception first shows the relevant logs, and keeps them.
"""

import sys
import threading
from collections.abc import Iterable
from types import TracebackType
from typing import Any

from lab import build, relay, topology
from lab.agent import agent, start_in_machine
from lab.answers import AgentState, Backend, Change, Moved, Service, Steered
from lab.client_node import ClientNode
from lab.controller import Controller
from lab.deadline import LabError, until
from lab.instance import Instance, Settings
from lab.interrupt import held
from lab.machine_server import MachineServer, archive
from lab.mux import Mux
from lab.process import Process
from lab.rest import Refused
from lab.router import Router
from lab.runner import Runner
from lab.server import Server, XdpServer
from lab.traffic import ANSWER_SECONDS, MACHINE_ANSWER_SECONDS, TestClient, Traffic, syn_flood
from lab.variant import USUAL, Variant
from lab.vm import kernel as vm
from lab.zookeeper import ZooKeeper

SERVICE = "web"
HASH_KEY = "000102030405060708090a0b0c0d0e0f"  # fixed, so that a run can be repeated
CLIENTS = 2
SILENCES = (0.02, 0.1, 0.3, 0.9)  # of idle connections, as parts of the window


class Lab:
    def __init__(
        self,
        servers: int = 4,
        muxes: int = 2,
        port: str = "af_xdp",
        window: int = 240,
        embedded: bool = False,
        buckets: int | None = None,
        vm_servers: int = 0,
        vm_kernel: str | None = None,
        zookeepers: int = 1,
        controllers: int = 1,
        variant: Variant = USUAL,
    ) -> None:
        """`window`: seconds for which packets name former owners; `embedded`: ZooKeeper inside the controller.

        Of the servers, `servers` have the XDP program and the `vm_servers` after them are virtual machines with the
        module; `vm_kernel` is a release or a series ("6.1") of those whose headers are installed. Several `zookeepers`
        are an ensemble that requires logins. `variant`: see lab/variant.py.
        """
        if embedded and (zookeepers, controllers) != (1, 1):
            raise LabError(
                "an embedded ZooKeeper is alone with its controller; allowed: one of each, or embedded=False"
            )
        for name, value, least, most in (
            ("vm-servers", vm_servers, 0, topology.VM_SERVERS_MAX),
            ("servers", servers, 0 if vm_servers else 1, topology.SERVERS_MAX - vm_servers),
            ("muxes", muxes, 1, topology.MUXES_MAX),
            ("zookeepers", zookeepers, 1, topology.CONTROLLERS_MAX),
            ("controllers", controllers, 1, topology.CONTROLLERS_MAX),
        ):
            if not least <= value <= most:
                raise LabError(f"{name} '{value}' is refused; allowed: {least}..{most}")
        self.wanted_vm_servers = vm_servers
        self.vm_kernel = vm.choose(vm_kernel) if vm_servers or vm_kernel else None
        self.variant = variant
        self.port = port
        self.window = window
        self.embedded = embedded
        self.buckets = buckets
        self.settings: Settings = {}  # what else the state file has about this lab
        self.wanted_servers = servers
        self.wanted_muxes = muxes
        self.wanted_zookeepers = 0 if embedded else zookeepers
        self.wanted_controllers = controllers
        self.machines: list[Controller] = []  # of controllers and ZooKeeper servers
        self.servers: dict[int, Server] = {}
        self.muxes: dict[int, Mux] = {}
        self.clients: list[ClientNode] = []
        self._numbered = 0  # a number is never used twice
        self._chained_by_former = 0
        self._chained_lock = threading.Lock()
        self._detached = False

    @property
    def has_machines(self) -> bool:
        """Whether servers are, or may become, virtual machines."""
        return self.vm_kernel is not None

    # Up and down.

    def __enter__(self) -> "Lab":
        self.up_or_undone()
        return self

    def __exit__(self, _: type[BaseException] | None, error: BaseException | None, __: TracebackType | None) -> None:
        if not self._detached:
            self._abandon(error)

    def _abandon(self, error: BaseException | None) -> None:
        """Undoes the lab. After a failure (an interrupt is none) it shows the ends of the logs, and keeps all logs."""
        if not hasattr(self, "instance"):
            return
        if not isinstance(error, Exception):
            self.instance.undo()
            return
        print(self.instance.tails(), file=sys.stderr)
        kept = self.instance.undo(keep_logs=True)
        print(f"lab: undone; all logs are in {kept}", file=sys.stderr)

    def up_or_undone(self) -> None:
        try:
            self.up()
        except BaseException as error:
            self._abandon(error)
            raise

    def up(self) -> None:
        """Brings everything up, creates the service, and waits until the router has the VIP through every mux."""
        build.check(self.has_machines)
        settings: Settings = {
            **self.settings,
            "port": self.port,
            "quiet": self.variant.quiet,
            "embedded": self.embedded,
        }
        if self.vm_kernel:
            self._archive = archive(self.vm_kernel)
            settings["vmKernel"] = self.vm_kernel.release
        with held():
            self.instance = Instance.create(settings)
        self.router = Router(self.instance, self.variant)
        self.router.frr.start()
        for number in range(1, max(self.wanted_zookeepers, self.wanted_controllers) + 1):
            self.machines.append(Controller(self.instance, self.router, number, self.wanted_zookeepers, self.variant))
        if self.variant.runner:
            self.runner = Runner(self.instance, self.router, self.variant)
        for zookeeper in self.zookeepers:
            zookeeper.start()
        self.clients = [ClientNode(self.instance, self.router, number + 1) for number in range(CLIENTS)]
        if self.variant.mptcp:
            for client in self.clients:
                client.add_second_way(self.router)
        # Virtual machines take longest: they boot while everything else comes up.
        numbers = range(1, self.wanted_servers + self.wanted_vm_servers + 1)
        starting = [self.start_server(number, machine=number > self.wanted_servers) for number in numbers]
        self.router.frr.wait()
        for number in range(1, self.wanted_muxes + 1):
            self.muxes[number] = Mux(
                self.instance, self.router, number, self.port, self.wanted_zookeepers, self.variant
            )
            self.muxes[number].frr.start()
        for zookeeper in self.zookeepers:
            zookeeper.wait()
        for controller in self.controllers:
            controller.start()
        until("a controller leads", lambda: any(each.has_taken_over() for each in self.controllers), 180, pause=0.1)
        for controller in self.controllers:
            controller.wait_serving()
        for server in starting:
            self.wait_server(server)
        self._create_service()
        for mux in self.muxes.values():
            self.add_mux(mux)
            mux.start()
        self.wait_applied()
        self.wait_announced()

    def open_console(self) -> str:
        """Lets browsers of this machine reach the first controller; returns the page's address."""
        at = relay.start(self.controller.namespace, self.controller.address, topology.REST_PORT)
        page = f"http://{at}/"
        self.instance.state["settings"]["console"] = page
        self.instance.save()
        return page

    def add_mux(self, mux: Mux) -> None:
        """To the cluster, as an operator does before it starts."""
        mux.take_logins(self.api("PUT", f"/v1/muxes/{mux.name}", {}))

    def detach(self) -> None:
        """From now on the lab stays up, even when this process ends."""
        with held():
            self.instance.detach()
            self._detached = True

    def down(self) -> None:
        self.instance.undo()

    def _create_service(self) -> None:
        spec: dict[str, object] = {
            "name": SERVICE,
            "vips": [topology.VIP],
            "ports": [{"protocol": "tcp", "port": topology.VIP_PORT}],
            "hashKey": HASH_KEY,
            "windowSeconds": self.window,
        }
        if self.variant.hold is not None:
            spec["holdSeconds"] = self.variant.hold
        if self.variant.steering != "ring":
            spec["steering"] = self.variant.steering
        if self.variant.encap != "gue":
            spec["encap"] = self.variant.encap
        if self.buckets:
            spec["buckets"] = self.buckets
        if self.variant.mptcp:
            spec["mptcpPorts"] = dict(zip(("first", "last"), topology.MPTCP_PORTS, strict=True))
        self.api("PUT", "/v1/cluster", {"vipRanges": [topology.VIPS, topology.VIPS6]})
        self.api("POST", "/v1/services", spec)
        self.change(*(self._addition(server) for _, server in sorted(self.servers.items())))

    def _addition(self, server: Server, weight: int = 100) -> Change:
        return {"op": "add", "id": server.number, "address": self.ring_address(server), "weight": weight}

    def ring_address(self, server: Server) -> str:
        """The address that the ring of web has for a server."""
        return server.address6 if self.variant.encap == "srv6" else server.address

    # The service.

    def api(self, method: str, path: str, body: Any = None, timeout: float | None = None) -> Any:
        """The REST API of the first controller that runs."""
        running = next((each for each in self.controllers if each.process.alive), self.controller)
        return running.api(method, path, body, timeout)

    @property
    def controller(self) -> Controller:
        """The first controller, usually the only one."""
        return self.machines[0]

    @property
    def controllers(self) -> list[Controller]:
        return self.machines[: self.wanted_controllers]

    @property
    def zookeepers(self) -> list[ZooKeeper]:
        return [machine.zookeeper for machine in self.machines if machine.zookeeper]

    def service(self, name: str = SERVICE) -> Service:
        found: Service = self.api("GET", f"/v1/services/{name}")
        return found

    def backends(self) -> dict[int, Backend]:
        return {backend["id"]: backend for backend in self.api("GET", f"/v1/services/{SERVICE}/backends")}

    def change(self, *changes: Change, service: str = SERVICE) -> Moved:
        """Commits the changes as one generation, even if some connections break (tests change more than operators do);
        returns what moved.
        """
        moved: Moved = self.api("POST", f"/v1/services/{service}/changes?force=true", {"changes": list(changes)})
        return moved

    def weights(self, weights: dict[int, int]) -> Moved:
        changes: list[Change] = [{"op": "weight", "id": n, "weight": w} for n, w in sorted(weights.items())]
        return self.change(*changes)

    def explain(self, source: str, port: int) -> Steered:
        steered: Steered = self.api("GET", f"/v1/services/{SERVICE}/explain?{self._flow(source, port)}")
        return steered

    def mux_explain(self, mux: int, source: str, port: int) -> Steered:
        steered: Steered = self.muxes[mux].http("GET", f"/explain?service={SERVICE}&{self._flow(source, port)}")
        return steered

    @staticmethod
    def _flow(source: str, port: int) -> str:
        to = f"destination={topology.VIP}&destinationPort={topology.VIP_PORT}"
        return f"protocol=tcp&source={source}&sourcePort={port}&{to}"

    def running_muxes(self) -> list[Mux]:
        return [mux for mux in self.muxes.values() if mux.process.alive]

    def wait_applied(self, seconds: float = 60, service: str = SERVICE) -> None:
        """Until every running mux serves the service's newest generation."""
        wanted = self.service(service)["generation"]
        running = self.running_muxes()
        names = [mux.name for mux in running]

        def applied() -> bool:
            for mux in running:
                mux.process.expect_alive()
            known = {mux["id"]: mux["services"].get(service, {}) for mux in self.api("GET", "/v1/muxes")}
            return all(known.get(name, {}).get("generation", 0) >= wanted for name in names)

        until(f"{', '.join(sorted(names))} have applied generation {wanted} of {service}", applied, seconds)

    def wait_announced(self, seconds: float = 60, vip: str = topology.VIP) -> None:
        """Until the router sends the VIP to every running mux, and to no other."""
        wanted = sorted(mux.address6 if topology.is_ipv6(vip) else mux.address for mux in self.running_muxes())
        until(
            f"the router's route to {vip} goes by {', '.join(wanted)}",
            lambda: self.router.vip_hops(vip) == wanted,
            seconds,
        )

    # Servers.

    def start_server(self, number: int, machine: bool = False) -> Server:
        """A new server that is starting and not yet known to the controller."""
        server: Server
        if machine:
            if self.vm_kernel is None:
                raise LabError("this lab has no virtual machines; allowed: a lab with vm_servers or a vm_kernel")
            server = MachineServer(self.instance, self.router, number, self.vm_kernel, self._archive, self.variant)
        else:
            server = XdpServer(self.instance, self.router, number, self.variant)
        self._numbered = max(self._numbered, number)
        server.start()
        return server

    def wait_server(self, server: Server) -> None:
        """Waits until it serves; from then on it is one of `servers`."""
        server.wait()
        with self._chained_lock:
            self.servers[server.number] = server
        if self.variant.agents and isinstance(server, MachineServer):
            start_in_machine(server, self.wanted_controllers)
        elif self.variant.agents:
            self.start_agent(server.number)

    def start_agent(self, number: int, token: str | None = None) -> Process:
        """Starts the agent of a server of the XDP form, with another `token` than its own if one is given."""
        server = self.servers[number]
        server.agent = agent(server, self.wanted_controllers, token)
        self.instance.start(server.agent)
        return server.agent

    def agents(self) -> dict[int, AgentState]:
        """What the controllers know of the agents of web's backends, by backend."""
        listed = self.api("GET", "/v1/agents?limit=1000")
        return {each["backend"]: each for each in listed if each["service"] == SERVICE}

    def wait_reporting(self, seconds: float = 30) -> None:
        """Until the controllers hear the agents of all backends, and have their counts."""
        until(
            "all agents report",
            lambda: all(each["state"] == "reporting" for each in self.agents().values()),
            seconds,
        )

    def add_server(self, weight: int = 100, machine: bool = False) -> tuple[Server, Moved]:
        """Adds a new server to the service and waits for the muxes; returns it and what the controller moved for it."""
        server = self.start_server(self._numbered + 1, machine)
        self.wait_server(server)
        plan = self.change(self._addition(server, weight))
        self.wait_applied()
        return server, plan

    def drain(self, number: int) -> Moved:
        plan = self.weights({number: 0})
        self.wait_applied()
        return plan

    def remove_server(self, number: int) -> None:
        """Removes the server from the service; its machine stays, for connections that are still chained to it."""
        self.change({"op": "remove", "id": number})
        self.wait_applied()

    def switch_off(self, number: int) -> None:
        """Deletes the server's machine; the sum of chained_packets() keeps its count.

        The machine is declared gone before, as packets of others' connections come by it while lists name it; if none
        does any more, the API does not know it.
        """
        try:
            self.api("DELETE", f"/v1/services/{SERVICE}/backends/{number}?dead=true")
            self.wait_applied()
        except Refused as refused:
            if refused.status != 404:
                raise
        with self._chained_lock:
            server = self.servers.pop(number)
            self._chained_by_former += server.chained()
        self.instance.remove(server.name)

    def chained_packets(self) -> int:
        """Packets that servers have sent on to other servers, all servers together."""
        with self._chained_lock:
            return sum((server.chained() for server in self.servers.values()), self._chained_by_former)

    def stale_packets(self) -> int:
        """Packets that today's servers have dropped because a newer generation had been seen."""
        return sum(server.show()["counters"]["drop_stale"] for server in self.servers.values())

    def chaining(self, on: bool) -> None:
        for server in self.servers.values():
            server.attach(chaining=on)

    # Faults.

    def kill_mux(self, number: int) -> None:
        self.muxes[number].kill()

    def stop_mux(self, number: int) -> None:
        """Stops it in order; returns once the router's route lacks it."""
        self.muxes[number].stop()
        self.wait_announced()

    def start_mux(self, number: int) -> None:
        """Starts it; returns once it has caught up and is announced."""
        self.muxes[number].start()
        self.wait_applied()
        self.wait_announced()

    def kill_controller(self) -> None:
        self.controller.process.kill()

    def start_controller(self) -> None:
        self.controller.start()
        self.controller.wait()

    def stop_zookeeper(self) -> None:
        self._zookeeper().stop()

    def start_zookeeper(self) -> None:
        self._zookeeper().start()
        self._zookeeper().wait()

    def _zookeeper(self) -> ZooKeeper:
        if self.controller.zookeeper is None:
            raise LabError("ZooKeeper is embedded in the controller here; allowed: a lab with embedded=False")
        return self.controller.zookeeper

    # Traffic.

    def traffic(
        self,
        long: int = 200,
        interval: float = 0.25,
        short_rate: float = 20,
        vip: str = topology.VIP,
        idle: int = 0,
        silences: Iterable[float] | None = None,
        life: float = 0.0,
    ) -> Traffic:
        """`silences` of idle connections, in seconds; by default several values up to nearly the window. `life`: mean
        seconds of the long ones; 0: until the end.
        """
        seconds = MACHINE_ANSWER_SECONDS if self.has_machines else ANSWER_SECONDS
        parts = [part * self.window for part in SILENCES] if silences is None else silences
        return Traffic(
            self.clients,
            long,
            interval,
            short_rate,
            answer_seconds=seconds,
            vip=vip,
            idle=idle,
            silences=parts,
            life=life,
        )

    def retransmitted(self) -> int:
        """TCP segments that clients have retransmitted: the muxes lost no more than these."""
        return sum(client.retransmitted() for client in self.clients)

    def client_ends(self) -> set[str]:
        """Clients' connections by server. A server may hold more: a RST is never retransmitted and can be lost."""
        return {end for client in self.clients for end in client.ends()}

    def syn_flood(self, rate: int = 15_000, seconds: float = 8) -> TestClient:
        return syn_flood(self.clients[-1], topology.client_gateway(len(self.clients)), rate, seconds)
