# SPDX-License-Identifier: Apache-2.0
"""The lab's command: up, down, status, exec, and kill and start of single programs."""

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Callable
from typing import BinaryIO

from lab import build, interrupt, mux, topology
from lab.deadline import LabError
from lab.instance import Instance
from lab.lab import SERVICE, Lab
from lab.tokens import NAME, OPERATOR
from lab.vm import machine
from lab.vm.channel import Channel

Action = Callable[[argparse.Namespace], int]


def up(options: argparse.Namespace) -> int:
    lab = Lab(
        options.servers,
        options.muxes,
        options.port,
        options.window,
        options.embedded,
        vm_servers=options.vm_servers,
        vm_kernel=options.vm_kernel,
        zookeepers=options.zookeepers,
        controllers=options.controllers,
    )
    lab.up_or_undone()
    lab.open_console()
    lab.detach()
    print(f"lab {lab.instance.name} is up; logs and state in {lab.instance.directory}")
    print(instructions(lab.instance))
    return 0


def instructions(up: Instance) -> str:
    """Commands to try on a lab that is up."""
    instance = up.name
    run = f"lab/lab exec --instance {instance}"
    ctl = f"{run} controller controller/bin/fairleadctl"
    return f"""\
  the console          {up.state["settings"]["console"]}, token {OPERATOR}
  the service          {run} client1 curl -s http://{topology.VIP}/
  the controller       {ctl} backend list {SERVICE}
  drain a server       {ctl} backend drain {SERVICE} 1
  a mux's metrics      {run} mux1 curl -s http://127.0.0.1:{mux.HTTP_PORT}/metrics
{_counters(up, run)}
  routes to the VIP    {run} router ip route show {topology.VIP}
  kill -9 a mux        lab/lab kill --instance {instance} mux1/mux
  start it again       lab/lab start --instance {instance} mux1/mux
  all of it            lab/lab status --instance {instance}
  the end              lab/lab down --instance {instance}"""


def _counters(up: Instance, run: str) -> str:
    """Commands that show the counters of a server of each kind in the lab."""
    shown: dict[str, str] = {}
    for node in (record["node"] for record in up.state["namespaces"] if record["node"].startswith("server")):
        if isinstance(up.find(node), Channel):
            shown.setdefault("  a machine's counters ", f"{run} {node} fairlead-server show --form module")
        else:
            command = f"{os.path.relpath(build.SERVER, build.ROOT)} show --interface eth0"
            shown.setdefault("  a server's counters  ", f"{run} {node} {command}")
    return "\n".join(what + how for what, how in shown.items())


def down(options: argparse.Namespace) -> int:
    chosen = Instance.all() if options.all else [Instance.choose(options.instance)]
    for instance in chosen:
        instance.undo()
        print(f"lab {instance.name} is undone")
    return 0


def status(options: argparse.Namespace) -> int:
    chosen = Instance.all() if options.instance is None else [Instance.load(options.instance)]
    if options.output == "json":
        print(json.dumps([{**i.state, "abandoned": i.abandoned, "running": _running(i)} for i in chosen], indent=1))
        return 0
    if not chosen:
        print("no lab is up")
    for instance in chosen:
        print(f"lab {instance.name}{'  LEFT BY A DEAD RUN' if instance.abandoned else ''}  {instance.directory}")
        for process in instance.processes():
            print(f"  {process.name:<24} {'process ' + str(process.pid) if process.alive else 'not running'}")
    return 0


def _running(instance: Instance) -> dict[str, bool]:
    return {process.name: process.alive for process in instance.processes()}


def execute(options: argparse.Namespace) -> int:
    command = options.command[1:] if options.command[:1] == ["--"] else options.command
    if not command:
        raise LabError("exec needs a command: lab/lab exec NODE COMMAND ...")
    instance = Instance.choose(options.instance)
    where = instance.find(options.node)
    if isinstance(where, Channel):
        instance.process(f"{options.node}/machine").expect_alive()
        return where.stream(command, _writer(sys.stdout.buffer), _writer(sys.stderr.buffer))
    environment = os.environ | _as_operator(instance, options.node)
    return subprocess.run(where.enter(command), check=False, env=environment).returncode


def _as_operator(instance: Instance, node: str) -> dict[str, str]:
    """What fairleadctl needs to know on a controller's machine."""
    if not node.startswith("controller"):
        return {}
    address = topology.controller_address(int(node.removeprefix("controller") or 1))
    api = f"http://{topology.endpoint(address, topology.REST_PORT)}"
    token = str(instance.node_directory(node) / NAME)
    return {"FAIRLEAD_API": api, "FAIRLEAD_API_CLEAR_TEXT": "on", "FAIRLEAD_TOKEN_FILE": token}


def _writer(stream: BinaryIO) -> Callable[[bytes], None]:
    def write(data: bytes) -> None:
        stream.write(data)
        stream.flush()

    return write


def kill(options: argparse.Namespace) -> int:
    instance = Instance.choose(options.instance)
    process = instance.process(options.process)
    if not process.alive:
        raise LabError(f"{process.name} is not running")
    process.kill()
    print(f"{process.name} (process {process.pid}) is killed")
    return 0


def start(options: argparse.Namespace) -> int:
    instance = Instance.choose(options.instance)
    process = instance.process(options.process)
    with instance.changing():
        instance.start(process)
    if isinstance(where := instance.find(process.name.partition("/")[0]), Channel):
        machine.wait(where.directory)
    print(f"{process.name} runs as process {process.pid}; its log is {process.log}")
    return 0


def add_machine_arguments(parser: argparse.ArgumentParser, which: str) -> None:
    parser.add_argument(
        "--vm-servers",
        type=int,
        default=0,
        metavar="N",
        help=f"{which} that are virtual machines with the kernel module (%(default)s)",
    )
    parser.add_argument(
        "--vm-kernel",
        metavar="RELEASE",
        help="their kernel, a release or series whose headers are installed (the oldest: Debian 12's own)",
    )


def parse(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="lab", description="a small datacenter in network namespaces; runs as root")
    verbs = parser.add_subparsers(dest="verb", required=True)

    def verb(name: str, action: Action, what: str) -> argparse.ArgumentParser:
        added = verbs.add_parser(name, help=what, description=what)
        added.set_defaults(action=action)
        if name != "up":
            added.add_argument("--instance", help="which lab, when several are up")
        return added

    making = verb("up", up, "bring a lab up and leave it running")
    making.add_argument("--servers", type=int, default=4, help="servers with the XDP program (%(default)s)")
    add_machine_arguments(making, "besides, servers")
    making.add_argument("--muxes", type=int, default=2)
    making.add_argument("--port", choices=mux.PORTS, default="af_xdp", help="how the muxes get at their packets")
    making.add_argument("--window", type=int, default=240, help="seconds for which packets name former owners")
    making.add_argument("--zookeepers", type=int, default=1, help="several are an ensemble (%(default)s)")
    making.add_argument("--controllers", type=int, default=1, help="one leads, the others follow (%(default)s)")
    making.add_argument("--embedded", action="store_true", help="ZooKeeper inside the controller")
    verb("down", down, "undo a lab, also one whose run crashed").add_argument("--all", action="store_true")
    verb("status", status, "what is up").add_argument("-o", "--output", choices=("table", "json"), default="table")
    running = verb("exec", execute, "run a command on a node; in a virtual machine without standard input")
    running.add_argument("node")
    running.add_argument("command", nargs=argparse.REMAINDER)
    programs = "as status lists it: mux1/mux; a virtual machine is server5/machine"
    verb("kill", kill, "kill -9 a program").add_argument("process", help=programs)
    verb("start", start, "start a program again").add_argument("process", help=programs)
    return parser.parse_args(arguments)


def main() -> int:
    interrupt.listen()
    options = parse(sys.argv[1:])
    if os.geteuid() != 0:
        raise LabError("the lab makes network namespaces and must run as root (try sudo)")
    action: Action = options.action
    return action(options)


if __name__ == "__main__":
    try:
        sys.exit(main())
    except LabError as error:
        sys.exit(f"lab: {error}")
    except interrupt.Interrupted as interrupted:
        sys.exit(interrupted.exit_code)
