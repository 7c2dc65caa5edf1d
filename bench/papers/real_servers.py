# SPDX-License-Identifier: Apache-2.0
"""Real servers in a lab, each with a part of a processor: Apache with workers that answer after so much work.

    with RealServers(12, part=0.05, late=0.01) as servers:
        servers.service("one", steering="ring")
        answers, used = servers.run("one", queries)     # queries: poisson_arrivals.schedule()

All services of a run have one VIP, and a port each. Apache is as in 6LB: mpm_prefork with 32 workers, a backlog of 128,
and a connection beyond that is reset. A worker works until its own processor time is what the query says; an answer of
several blocks is sent block by block, with its part of the work before each. Only Apache has the part: agents,
muxes, the XDP programs and the network run beside, on what is left of the machine.
"""

import contextlib
import json
import os
import pathlib
import shutil
import statistics
import subprocess
import sys

from bench.lib.command import ROOT, die
from bench.papers.cpu_share import CpuShare
from lab import topology
from lab.agent import agent
from lab.deadline import LabError, until
from lab.lab import Lab

FIRST_PORT, PORTS = 8001, 4
STATUS_PORT = 8081
READY_SECONDS = 60
RUN_SLACK_SECONDS = 180
RUNS = 4
MODULES = "mpm_prefork", "authz_core", "status", "lua"
CONFIG = """\
{modules}ServerRoot {directory}
DefaultRuntimeDir {directory}
PidFile {directory}/pid
ErrorLog /dev/stderr
ServerName {name}
User nobody
Group nogroup
{listen}Listen 127.0.0.1:{status}
ListenBacklog 128
ServerLimit 32
MaxRequestWorkers 32
StartServers 32
MinSpareServers 32
MaxSpareServers 32
KeepAliveTimeout 600
MaxKeepAliveRequests 0
LuaScope thread
LuaMapHandler ^/work$ {directory}/work.lua
<Location /status>
SetHandler server-status
</Location>
"""
WORK = """\
local block = ("x"):rep(8192)
function handle(request)
  local begun = os.clock()
  local work, bytes = request.args:match("^(%d+),(%d+)$")
  work, bytes = work / 1e6, tonumber(bytes)
  local blocks = math.max(1, math.ceil(bytes / #block))
  for n = 1, blocks do
    while os.clock() - begun < work * n / blocks do end
    if n == 1 then request:write("{name}\\n") end
    request:write(block:sub(1, math.min(#block, bytes - (n - 1) * #block)))
    if blocks > 1 then request:flush() end
  end
  return apache2.OK
end
"""


def apache(server):
    """The command that runs it on the server's VIPs, which are on its loopback."""
    directory = server.directory / "apache"
    directory.mkdir()
    ports = range(FIRST_PORT, FIRST_PORT + PORTS)
    (directory / "conf").write_text(
        CONFIG.format(
            modules="".join(f"LoadModule {m}_module /usr/lib/apache2/modules/mod_{m}.so\n" for m in MODULES),
            listen="".join(f"Listen {topology.VIP}:{port}\n" for port in ports),
            directory=directory,
            name=server.name,
            status=STATUS_PORT,
        )
    )
    (directory / "work.lua").write_text(WORK.replace("{name}", server.name))
    return ["apache2", "-DFOREGROUND", "-f", str(directory / "conf")]


class RealServers:
    def __init__(self, count, part, late, busy=()):
        """`part`: of a processor, for each server; `late`: how late queries may be in the mean, in seconds; `busy`:
        further words of agents.
        """
        self.count, self.part, self.late, self.busy = count, part, late, busy
        self.shares, self.ports = [], {}

    def __enter__(self):
        with contextlib.ExitStack() as stack:
            for number in range(1, self.count + 1):
                name = f"fairlead-bench-{os.getpid()}-{number}"
                self.shares.append(stack.enter_context(CpuShare(name, self.part)))
            self.lab = stack.enter_context(Lab(servers=self.count, muxes=1))
            for server, share in zip(self.lab.servers.values(), self.shares, strict=True):
                server.namespace.sysctl(ipv4__tcp_abort_on_overflow=1)
                self.lab.instance.start(server.program("apache", share.command(apache(server))))
                process = agent(server, 1)
                process.argv += self.busy
                self.lab.instance.start(process)
            for server in self.lab.servers.values():
                until(f"Apache listens on {server.name}", lambda server=server: listens(server), READY_SECONDS)
            self.lab.wait_reporting()
            self._stack = stack.pop_all()
        return self

    def __exit__(self, *error):
        return self._stack.__exit__(*error)

    def service(self, name, steering, **settings):
        """A service of all servers; with hunt and maat, once all of them are known to read how busy they are."""
        port = self.ports[name] = FIRST_PORT + len(self.ports)
        self.lab.api("POST", "/v1/services", {
            "name": name, "vips": [topology.VIP], "ports": [{"protocol": "tcp", "port": port}],
            "hashKey": "000102030405060708090a0b0c0d0e0f", "windowSeconds": self.lab.window, "steering": steering,
            **settings,
        })  # fmt: skip
        added = [{"op": "add", "id": n, "address": s.address, "weight": 100} for n, s in self.lab.servers.items()]
        self.lab.change(*added, service=name)
        self.lab.wait_applied(service=name)
        if steering != "ring":
            until(
                f"the agents of all backends of {name} report how busy they are",
                lambda: sum("busy" in each.get("load", {}) for each in self.agents(name)) == self.count,
                READY_SECONDS,
                pause=0.5,
            )

    def counts(self, name):
        """Connections that the servers' programs have been offered since they were attached: taken, and passed on."""
        number = str(self.lab.service(name)["id"])
        loads = [each.show()["services"].get(number, {}).get("load", {}) for each in self.lab.servers.values()]
        return [sum(load.get(key, 0) for load in loads) for key in ("taken", "passed")]

    def agents(self, name):
        return [each for each in self.lab.api("GET", "/v1/agents?limit=1000") if each["service"] == name]

    def run(self, name, queries):
        """What became of each query, and of the run: idle part of the machine, use of each server's part.

        A run in which even the client waited for a processor says nothing about servers; it is repeated.
        """
        for repeated in range(RUNS):
            found, run = self._run(name, queries)
            if run["lateMean"] <= self.late:
                return found, run | {"repeated": repeated}
            print(f"{name}: queries were {run['lateMean']:.3f} s late, so the machine has no time: again", flush=True)
        raise LabError(f"{name}: queries were late in {RUNS} runs; allowed: {self.late} s in the mean")

    def _run(self, name, queries):
        command = [sys.executable, str(ROOT / "bench/papers/poisson_arrivals.py"), topology.VIP, str(self.ports[name])]
        taken, passed = self.counts(name)
        before, idle = [share.seconds() for share in self.shares], idle_seconds()
        done = subprocess.run(
            self.lab.clients[0].namespace.enter(command),
            input=json.dumps(queries),
            stdout=subprocess.PIPE,
            text=True,
            timeout=queries[-1]["at"] + RUN_SLACK_SECONDS,
            check=True,
        )
        found = [query | answer for query, answer in zip(queries, json.loads(done.stdout), strict=True)]
        length = max(each["at"] + each.get("seconds", 0) for each in found)
        used = [share.seconds() - begun for share, begun in zip(self.shares, before, strict=True)]
        taken, passed = (now - then for now, then in zip(self.counts(name), (taken, passed), strict=True))
        return found, {
            "passed": passed / (taken + passed) if taken + passed else 0.0,
            "idle": (idle_seconds() - idle) / length / os.cpu_count(),
            "loadAverage": os.getloadavg()[0],
            "used": [seconds / length / self.part for seconds in used],
            "lateMean": statistics.mean(each["late"] for each in found),
        }


def idle_seconds():
    """Of all processors of the machine."""
    fields = pathlib.Path("/proc/stat").read_text().split("\n", 1)[0].split()
    return int(fields[4]) / os.sysconf("SC_CLK_TCK")


def listens(server):
    return len(server.run("ss", "-Hltn", "sport", "=", f":{FIRST_PORT}").splitlines()) == 1


def answered(found, warm, run):
    """The answers to queries that came after the warm-up; dies if too many have none."""
    counted = [each for each in found if each["at"] >= warm]
    failed = [each["error"] for each in counted if "error" in each]
    if len(failed) > len(counted) // 50:
        die(f"{run}: {len(failed)} of {len(counted)} queries have no answer, for instance {failed[0]}; allowed: 2 %")
    return [each for each in counted if "error" not in each], len(failed)


def percentile(values, part):
    return sorted(values)[min(len(values) - 1, int(part * len(values)))]


def times(values):
    return {
        "mean": statistics.mean(values),
        "median": statistics.median(values),
        "percentile95": percentile(values, 0.95),
        "percentile99": percentile(values, 0.99),
    }


@contextlib.contextmanager
def servers(args, busy=()):
    if not shutil.which("apache2"):
        die("the command 'apache2' is missing: run scripts/install-deps")
    try:
        with RealServers(args.servers, args.part, args.late_ms / 1000, busy) as up:
            yield up
    except LabError as error:
        die(error)


def add_arguments(parser):
    parser.add_argument("--servers", type=int, default=12)
    parser.add_argument("--part", type=float, default=0.05, help="of a processor, for each server (default 0.05)")
    parser.add_argument("--load", type=float, default=0.85, help="of these parts (default 0.85)")
    parser.add_argument("--work-ms", type=float, default=9.5, help="mean processor time of a query (default 9.5)")
    parser.add_argument("--warm", type=float, default=20, help="seconds of a run that do not count (default 20)")
    parser.add_argument("--seconds", type=float, default=60, help="of a run that count (default 60)")
    parser.add_argument("--late-ms", type=float, default=10, help="of queries: else a run is repeated (default 10)")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--seeds", type=int, default=3, help="runs of each method (default 3)")


def check_arguments(args):
    allowed = {
        "servers": (2, topology.SERVERS_MAX),
        "part": (0.01, 1),
        "load": (0.05, 0.95),
        "work_ms": (1, 1000),
        "warm": (0, 3600),
        "seconds": (1, 3600),
        "late_ms": (1, 60_000),
        "seeds": (1, 100),
    }
    for name, (least, most) in allowed.items():
        value = getattr(args, name)
        if not least <= value <= most:
            die(f"--{name.replace('_', '-')}: {value:g} is not allowed; allowed: {least:g} to {most:g}")


def rate(args):
    """Queries a second."""
    return args.servers * args.part * args.load / (args.work_ms / 1000)


def parameters(args):
    names = ("servers", "part", "load", "work_ms", "warm", "seconds", "seed", "seeds")
    return {"cores": os.cpu_count(), "kernel": os.uname().release} | {name: getattr(args, name) for name in names}
