# SPDX-License-Identifier: Apache-2.0
"""nginx on a server: answers its own name on the VIPs, and never ends a connection by itself."""

from pathlib import Path

from lab import topology
from lab.namespace import Namespace
from lab.node import Node

CONFIG = """\
daemon off;
master_process off;
pid {directory}/nginx.pid;
error_log stderr warn;
worker_rlimit_nofile 16384;
events {{
  worker_connections 8192;
}}
http {{
  access_log off;
  default_type text/plain;
  keepalive_requests 1000000000;
  keepalive_timeout 24h;
  keepalive_time 24h;
  client_body_temp_path {directory}/body;
  proxy_temp_path {directory}/proxy;
  fastcgi_temp_path {directory}/fastcgi;
  uwsgi_temp_path {directory}/uwsgi;
  scgi_temp_path {directory}/scgi;
  server {{
{listen}
    return 200 "{name}\\n";
  }}
}}
"""


def config(directory: Path, name: str) -> str:
    """nginx's configuration; `directory` is for its files, `name` is its answer."""
    vips = (topology.VIP, topology.DUAL_VIP, f"[{topology.DUAL_VIP6}]")
    listen = "\n".join(f"    listen {vip}:{topology.VIP_PORT} backlog=4096;" for vip in vips)
    return CONFIG.format(directory=directory, listen=listen, name=name)


def command(directory: Path, mptcp: bool = False) -> list[str]:
    """Runs nginx in the foreground with the `nginx.conf` in `directory`; nginx itself cannot ask for MPTCP."""
    by_mptcp = ["mptcpize", "run"] if mptcp else []
    return [
        *by_mptcp,
        "nginx",
        "-e",
        "stderr",
        "-p",
        str(directory),
        "-c",
        str(directory / "nginx.conf"),
    ]


def clients(node: Node | Namespace) -> set[str]:
    """The remote address:port of each connection to a VIP that this machine holds now."""
    listed = node.run("ss", "-Htn", "state", "established", "sport", "=", f":{topology.VIP_PORT}")
    return {line.split()[3] for line in listed.splitlines()}
