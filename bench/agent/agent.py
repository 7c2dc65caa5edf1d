# SPDX-License-Identifier: Apache-2.0
"""What the agent costs on a server: its table in process, and itself beside real connections in a namespace."""

import argparse
import contextlib
import json
import os
import pathlib
import subprocess
import tempfile
import time

from bench.lib.command import RESULTS, ROOT, check, die, keep
from lab.deadline import until
from lab.namespace import Namespace
from server.tests.net.fake_controller import FakeController

VIP, PORT, SECONDS = "10.99.0.1", 443, 600
STATS = pathlib.Path("/proc/sys/kernel/bpf_stats_enabled")
SERVICE = {"name": "web", "id": 1, "vips": [VIP], "ports": [{"protocol": "tcp", "port": PORT}], "buckets": 65536}
SERVICE |= {"hash": "siphash", "hashKey": "000102030405060708090a0b0c0d0e0f", "affinity": "connection"}
SERVICE |= {"windowSeconds": 240, "holdSeconds": 0, "backends": [{"id": 1, "address": "10.1.0.21"}]}
ALL = {"name": "web", "question": "all", "buckets": "AICABA=="}


def cpu(pid):
    """Seconds of processor time of all threads, in user and kernel mode."""
    tasks = pathlib.Path(f"/proc/{pid}/task").glob("*/schedstat")
    return sum(int(task.read_text().split()[0]) for task in tasks) / 1e9


def memory(pid, key):
    lines = pathlib.Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(key))


def programs(pid):
    """Runs and nanoseconds of the agent's programs in the kernel."""
    texts = [path.read_text() for path in pathlib.Path(f"/proc/{pid}/fdinfo").iterdir()]
    fields = [dict(line.split(":\t") for line in text.splitlines()) for text in texts if "prog_type" in text]
    return sum(int(one["run_cnt"]) for one in fields), sum(int(one["run_time_ns"]) for one in fields)


@contextlib.contextmanager
def statistics():
    before = STATS.read_text()
    STATS.write_text("1\n")
    try:
        yield
    finally:
        STATS.write_text(before)


def phase(agent, controller, load, seconds, questions):
    """Opens and closes connections for some seconds: what that costs the agent and, in all processes, its programs."""
    controller.questions = questions
    lost = controller.reports[-1]["lostEvents"]
    time.sleep(2)  # a report or two with the question
    runs, before, begun, wall = programs(agent.pid), cpu(agent.pid), len(controller.reports), time.monotonic()
    load.stdin.write(f"{seconds}\n")
    load.stdin.flush()
    count = int(load.stdout.readline())
    wall = time.monotonic() - wall
    used, after = cpu(agent.pid) - before, programs(agent.pid)
    return {
        "opened": count,
        "perSecond": round(count / wall),
        "agentCores": round(used / wall, 4),
        "agentNsAConnection": round(used / count * 1e9) if count else None,
        "programRunsAConnection": round((after[0] - runs[0]) / count, 1) if count else None,
        "programNsAConnection": round((after[1] - runs[1]) / count) if count else None,
        "reports": len(controller.reports) - begun,
        "lostEvents": controller.reports[-1]["lostEvents"] - lost,
    }


def idle(agent, controller, seconds, questions):
    controller.questions = questions
    time.sleep(2)
    before, begun, wall = cpu(agent.pid), len(controller.reports), time.monotonic()
    time.sleep(seconds)
    used = cpu(agent.pid) - before
    return {"agentCores": round(used / (time.monotonic() - wall), 4), "reports": len(controller.reports) - begun}


def real(args, held, stack):
    namespace = Namespace(f"flbench{os.getpid()}")
    namespace.create()
    stack.callback(namespace.delete)
    namespace.ip("link set lo up", f"addr add {VIP}/32 dev lo", "route add local 198.18.0.0/15 dev lo")
    namespace.sysctl(core__somaxconn=4096, ipv4__ip_local_port_range="1024 65535")
    controller = FakeController(namespace, 8080, [SERVICE])
    controller.asks = {"asksSignals": True}
    stack.callback(controller.close)
    directory = pathlib.Path(stack.enter_context(tempfile.TemporaryDirectory()))
    token = directory / "token"
    token.write_text("bench\n")
    token.chmod(0o600)
    command = [args.build / "bench/agent/agent_connections", VIP, str(PORT), str(held)]
    load = subprocess.Popen(namespace.enter(list(map(str, command))), stdin=-1, stdout=-1, text=True)
    stack.callback(load.wait)
    stack.callback(load.kill)
    if load.stdout.readline() != "held\n":
        die("connections cannot be opened, see above")
    command = [args.build / "server/fairlead-server", "agent", "--controller", controller.url, "--address", "10.1.0.21"]
    command += ["--token-file", token]
    begun = time.monotonic()
    agent = subprocess.Popen(namespace.enter(list(map(str, command))))
    stack.callback(agent.wait)
    stack.callback(agent.kill)
    until("the first list", lambda: controller.of("web"), SECONDS, pause=0.005)
    found = {"held": held, "established": controller.of("web")["established"]}
    if found["established"] != held:
        die(f"{found['established']} connections are reported; allowed: {held}")
    found |= {"firstListSeconds": round(time.monotonic() - begun, 3), "firstListCpuSeconds": round(cpu(agent.pid), 3)}
    found["idle"] = idle(agent, controller, args.seconds, [])
    found["asked"] = idle(agent, controller, args.seconds, [ALL])
    found["churn"] = phase(agent, controller, load, args.seconds, [])
    found["churnAsked"] = phase(agent, controller, load, args.seconds, [ALL])
    found |= {"residentKb": memory(agent.pid, "VmRSS:"), "peakKb": memory(agent.pid, "VmHWM:")}
    return found


@contextlib.contextmanager
def status_page(namespace, directory):
    """nginx in the namespace; gives its own figures at the URL."""
    config, port = directory / "nginx.conf", 8081
    config.write_text(
        f"daemon off; worker_processes 1; pid {directory}/pid; error_log stderr crit; events {{}}\n"
        f"http {{ access_log off; client_body_temp_path {directory}/b; proxy_temp_path {directory}/p;\n"
        f"fastcgi_temp_path {directory}/f; uwsgi_temp_path {directory}/u; scgi_temp_path {directory}/s;\n"
        f"keepalive_requests 1000000; server {{ listen 127.0.0.1:{port}; location / {{ stub_status; }} }} }}\n"
    )

    def listens():
        try:
            return namespace.connect("127.0.0.1", port, 1).close() is None
        except OSError:
            return False

    running = subprocess.Popen(namespace.enter(["nginx", "-e", "stderr", "-c", str(config)]))
    try:
        until("nginx listens", listens, SECONDS)
        yield f"nginx=http://127.0.0.1:{port}/"
    finally:
        running.terminate()
        running.wait()


def readings(args, connections):
    """What readings of how busy the server is cost beside so many connections."""
    with contextlib.ExitStack() as stack:
        namespace = Namespace(f"flbench{os.getpid()}r{connections}")
        namespace.create()
        stack.callback(namespace.delete)
        namespace.ip("link set lo up", f"addr add {VIP}/32 dev lo", "route add local 198.18.0.0/15 dev lo")
        directory = pathlib.Path(stack.enter_context(tempfile.TemporaryDirectory()))
        sources = ["psi", "accept-queue", stack.enter_context(status_page(namespace, directory))]
        words = [args.build / "bench/agent/agent_readings", connections, args.readings, *sources]
        return json.loads(namespace.run(*map(str, words)))


def table(args, *hashes):
    words = [args.build / "bench/agent/agent_census", args.connections, 2 * args.connections, args.seed, *hashes]
    return json.loads(subprocess.run(list(map(str, words)), check=True, capture_output=True, text=True).stdout)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build/bench", help="of meson, release")
    parser.add_argument("--connections", type=int, default=1_000_000, help="in the table, in process")
    parser.add_argument("--held", type=int, nargs="+", default=[1000, 200_000], help="real connections")
    parser.add_argument("--readings", type=int, default=400, help="of how busy the server is, by each source")
    parser.add_argument("--seconds", type=int, default=10, help="of each phase")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--json", type=pathlib.Path, default=RESULTS / "agent.json")
    args = parser.parse_args()
    programs = [args.build / "bench/agent" / name for name in ("agent_census", "agent_connections", "agent_readings")]
    check(*programs, args.build / "server/fairlead-server")
    found = {"benchmark": "agent", "cores": os.cpu_count(), "kernel": os.uname().release, "table": table(args)}
    found |= {"told": [table(args, "siphash"), table(args, "crc32")], "real": []}
    for held in args.held:
        with statistics(), contextlib.ExitStack() as stack:
            found["real"].append(real(args, held, stack))
    found["readings"] = [readings(args, connections) for connections in (1, 1000, 8000)]
    keep(args.json, found)
    print(json.dumps(found, indent=1))


if __name__ == "__main__":
    main()
