# SPDX-License-Identifier: Apache-2.0
"""
What probing a large service costs: processor time of fairlead-probe, by kind of check, and with all backends dead.

    this namespace: ZooKeeper, controller, probe 10.1.0.11 ── veth ── all servers: an XDP program decapsulates for any
                                                                      address of 10.8.0.0/13; nginx, and a UDP server

On a veth the sender's processor also runs the receiver's half of the network: the probe is charged for much of what the
servers' kernel does, which on a wire it is not.
"""

import argparse
import ctypes
import os
import pathlib
import subprocess
import sys
import time
import urllib.request

from bench.lib.command import JAR, RESULTS, ROOT, check, die, keep
from bench.lib.ensemble import Controller, processes, start_ensemble, until

CLONE_NEWNET = 0x40000000
PROBE, SERVERS, VIP = "10.1.0.11", "10.1.0.12", "10.99.0.1"
UDP_PORT, TLS_PORT = 5300, 8443
IPS = 2**16 - 1
KINDS = {
    "tcp": {"kind": "tcp", "port": 80},
    "http": {"kind": "http", "port": 80, "expect": {"body": "fine"}},
    "udp": {"kind": "udp", "port": UDP_PORT, "send": "6869", "expect": {"hex": "6869"}},
    "https": {"kind": "https", "port": TLS_PORT, "host": "www.example.org"},
}
SLOWER = {"https": 6}  # as often as its servers, on the other core, answer
NGINX = """\
daemon off; master_process off; pid {folder}/nginx.pid; error_log stderr crit; worker_rlimit_nofile 65536;
events {{ worker_connections 32768; }}
http {{
  access_log off; client_body_temp_path {folder}/b; proxy_temp_path {folder}/p; fastcgi_temp_path {folder}/f;
  uwsgi_temp_path {folder}/u; scgi_temp_path {folder}/s;
  server {{
    listen {vip}:80 backlog=16384; listen {vip}:{tls} ssl backlog=16384;
    ssl_certificate {folder}/certificate; ssl_certificate_key {folder}/key;
    return 200 "fine\\n";
  }}
}}
"""
ECHO = """\
import socket, sys
one = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
one.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 22)
one.bind((sys.argv[1], int(sys.argv[2])))
while True:
    one.sendto(*one.recvfrom(2048))
"""


def parse():
    parser = argparse.ArgumentParser(description=__doc__.strip().splitlines()[0])
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build" / "bench")
    parser.add_argument("--backends", type=int, default=10_000)
    parser.add_argument("--interval", type=int, default=5000, help="milliseconds")
    parser.add_argument("--seconds", type=int, default=30, help="of each measurement")
    parser.add_argument("--kinds", default=",".join(KINDS))
    parser.add_argument("--json", type=pathlib.Path, default=RESULTS / "probe.json")
    args = parser.parse_args()
    check(JAR, args.build / "probe" / "fairlead-probe", args.build / "bench/mux/decapsulate.bpf.o")
    if not 1 <= args.backends <= IPS or not set(args.kinds.split(",")) <= set(KINDS):
        die(f"--backends is 1..{IPS}, --kinds of {','.join(KINDS)}")
    return args


def run(*words):
    subprocess.run([str(word) for word in words], check=True)


def own_network():
    """This process, and all that it starts, get a network of their own."""
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.unshare(CLONE_NEWNET):
        die(f"no network namespace: {os.strerror(ctypes.get_errno())}")
    run("ip", "link", "set", "lo", "up")


class Servers:
    """Another network, with all servers in it."""

    def __init__(self, started, args):
        self.started = started
        holder = started.start("servers", ["unshare", "--net", "sleep", "infinity"])
        until("the servers' network", lambda: self.network(holder.pid) != self.network("self"), 10)
        self.enter = ["nsenter", f"--net=/proc/{holder.pid}/ns/net", "--"]
        run("ip", "link", "add", "rack", "type", "veth", "peer", "name", "rack", "netns", holder.pid)
        for prefix, address in (([], PROBE), (self.enter, SERVERS)):
            run(*prefix, "ip", "link", "set", "lo", "up")
            run(*prefix, "ip", "address", "add", f"{address}/24", "dev", "rack")
            run(*prefix, "ip", "link", "set", "rack", "up")
        run("ip", "route", "add", "10.8.0.0/13", "via", SERVERS)
        self.inside("ip", "address", "add", f"{VIP}/32", "dev", "lo")
        self.inside("sysctl", "-q", "-w", "net.core.somaxconn=16384", "net.ipv4.tcp_max_syn_backlog=16384")
        program = args.build / "bench/mux/decapsulate.bpf.o"
        self.inside("ip", "link", "set", "dev", "rack", "xdp", "obj", program, "sec", "xdp")
        self.serve()

    @staticmethod
    def network(pid):
        return os.readlink(f"/proc/{pid}/ns/net")

    def inside(self, *words):
        run(*self.enter, *words)

    def serve(self):
        folder = self.started.folder
        words = ["-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-subj", "/CN=bench"]
        subprocess.run(
            ["openssl", "req", *words, "-keyout", folder / "key", "-out", folder / "certificate"],
            check=True,
            capture_output=True,
        )
        (folder / "nginx.conf").write_text(NGINX.format(folder=folder, vip=VIP, tls=TLS_PORT))
        self.started.start("nginx", [*self.enter, "nginx", "-e", "stderr", "-c", folder / "nginx.conf"])
        self.started.start("echo", [*self.enter, sys.executable, "-c", ECHO, VIP, UDP_PORT])

    def die(self):
        self.inside("ip", "link", "set", "lo", "down")
        self.inside("ip", "address", "del", f"{VIP}/32", "dev", "lo")
        self.inside("ip", "route", "add", "blackhole", f"{VIP}/32")


class Probe:
    def __init__(self, started, args, zookeeper, login):
        command = [args.build / "probe" / "fairlead-probe", "--id", "bench", "--zookeeper", zookeeper]
        command += ["--zookeeper-auth", login]
        self.process = started.start("probe", [*command, "--address", PROBE])

    def metrics(self):
        """By name and labels."""
        if self.process.poll() is not None:
            die(f"the probe ended with {self.process.returncode}")
        try:
            with urllib.request.urlopen("http://127.0.0.1:9109/metrics", timeout=20) as answer:
                lines = answer.read().decode().splitlines()
        except OSError:
            return {}
        return {line.rpartition(" ")[0]: float(line.rpartition(" ")[2]) for line in lines if not line.startswith("#")}

    def known(self, health):
        return self.metrics().get(f'fairlead_probe_backends{{service="web",health="{health}"}}', 0)

    def seconds(self):
        """Processor seconds of all threads."""
        tasks = pathlib.Path(f"/proc/{self.process.pid}/task").iterdir()
        return sum(int((task / "schedstat").read_text().split()[0]) for task in tasks) / 1e9

    def resident_megabytes(self):
        status = pathlib.Path(f"/proc/{self.process.pid}/status").read_text()
        return int(status.partition("VmRSS:")[2].split()[0]) / 1024


def total(metrics, name):
    return {key.partition('"')[2].rpartition('"')[0]: value for key, value in metrics.items() if key.startswith(name)}


def measure(what, probe, args):
    before, used, begun = probe.metrics(), probe.seconds(), time.monotonic()
    time.sleep(args.seconds)
    after, used, took = probe.metrics(), probe.seconds() - used, time.monotonic() - begun
    done = {
        key: after[f'fairlead_probe_results_total{{outcome="{key}"}}'] - count
        for key, count in total(before, "fairlead_probe_results_total").items()
    }
    void = {
        key: after[f'fairlead_probe_void_total{{reason="{key}"}}'] - count
        for key, count in total(before, "fairlead_probe_void_total").items()
    }
    attempts = sum(done.values())
    return {
        "what": what,
        "seconds": took,
        "attemptsPerSecond": attempts / took,
        "processorShare": used / took,
        "processorMicrosecondsPerAttempt": used / max(1, attempts) * 1e6,
        "results": {key: count for key, count in done.items() if count},
        "void": {key: count for key, count in void.items() if count},
        "residentMegabytes": probe.resident_megabytes(),
    }


def show(row):
    print(
        f"{row['what']:12} {row['attemptsPerSecond']:7.0f} attempts/s  {row['processorShare']:5.3f} of a core  "
        f"{row['processorMicrosecondsPerAttempt']:6.1f} us each  {row['residentMegabytes']:5.1f} MB  {row['results']} "
        f"{row['void'] or ''}",
        flush=True,
    )


def main():
    args = parse()
    own_network()
    rows = []
    with processes() as started:
        servers = Servers(started, args)
        zookeeper = start_ensemble(started)
        controller = Controller(started, zookeeper, "1g")
        controller.start()
        pool = [
            {"id": n, "address": f"10.{8 + (n >> 16)}.{n >> 8 & 255}.{n & 255}"} for n in range(1, args.backends + 1)
        ]
        ports = [{"protocol": "tcp", "port": 80}]
        web = {"vips": [VIP], "vipRanges": [f"{VIP}/32"], "ports": ports, "buckets": 65536, "pool": pool}
        controller("PUT", "/v1/services/web", web)
        probe = Probe(started, args, zookeeper, controller.add_mux("bench", "probeLogin"))
        for kind in args.kinds.split(","):
            interval = args.interval * SLOWER.get(kind, 1)
            times = {"intervalMillis": interval, "timeoutMillis": min(interval, 2000), "rise": 1, "fall": 2}
            controller("PATCH", "/v1/services/web", {"healthCheck": {**KINDS[kind], **times}})
            until(f"all to be up by {kind}", lambda: probe.known("up") == args.backends)
            rows.append(measure(kind, probe, args))
            show(rows[-1])
        controller("PATCH", "/v1/services/web", {"healthCheck": {**KINDS["tcp"], "intervalMillis": args.interval}})
        until("all to be up once more", lambda: probe.known("up") == args.backends)
        servers.die()
        until("all to be down", lambda: probe.known("down") == args.backends)
        rows.append(measure("all dead", probe, args))
        show(rows[-1])
    result = {
        "benchmark": "probe", "cores": os.cpu_count(), "backends": args.backends, "intervalMillis": args.interval,
        "rows": rows,
    }  # fmt: skip
    keep(args.json, result)


if __name__ == "__main__":
    main()
