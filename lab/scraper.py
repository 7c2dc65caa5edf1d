# SPDX-License-Identifier: Apache-2.0
"""Prometheus itself, on the first controller's machine. It asks the controller what to scrape.

Servers listen nowhere: what `fairlead-server show -o prometheus` says at the start is served as a file.
"""

import json
import urllib.parse

from lab import topology
from lab.answers import Sample
from lab.deadline import until
from lab.lab import Lab
from lab.rest import Refused, Rest, Unreachable
from lab.tokens import VIEWER

PORT, FILES_PORT = 9090, 9100
SCRAPES = 3  # of each target, before rates of a minute are known
NOT_READY = 503  # what it answers while it starts


class Scraper:
    def __init__(self, lab: Lab) -> None:
        node = lab.controller
        folder = node.directory / "prometheus"
        self.instance = node.instance
        self.servers = [server.name for server in lab.servers.values()]
        (folder / "servers").mkdir(parents=True, exist_ok=True)
        for server in lab.servers.values():
            (folder / "servers" / server.name).write_text(
                server.run(server.command, "show", *server.form, "-o", "prometheus")
            )
        api = f"http://{node.address}:{topology.REST_PORT}/v1/metrics/targets"
        pages = [
            {"targets": [f"127.0.0.1:{FILES_PORT}"], "labels": {"__metrics_path__": f"/{name}", "instance": name}}
            for name in self.servers
        ]
        by = {"authorization": {"type": "Bearer", "credentials": VIEWER}}  # 2.42 forgets the type when it discovers
        jobs = [
            {"job_name": "fairlead", "http_sd_configs": [{"url": api, "refresh_interval": "1s", **by}], **by},
            {"job_name": "servers", "static_configs": pages},
        ]
        config = {"global": {"scrape_interval": "1s", "scrape_timeout": "1s"}, "scrape_configs": jobs}
        (folder / "prometheus.yml").write_text(json.dumps(config))  # JSON is YAML, too
        words = [f"--config.file={folder}/prometheus.yml", f"--storage.tsdb.path={folder}/data"]
        words += [f"--web.listen-address=127.0.0.1:{PORT}", "--log.level=warn"]
        self.processes = [
            node.program("prometheus", ["prometheus", *words]),
            node.program(
                "server-files",
                [
                    "python3",
                    "-m",
                    "http.server",
                    "--bind",
                    "127.0.0.1",
                    "--directory",
                    f"{folder}/servers",
                    f"{FILES_PORT}",
                ],
            ),
        ]
        self.http = Rest(node.namespace, "127.0.0.1", PORT)

    def __enter__(self) -> "Scraper":
        for process in self.processes:
            self.instance.start(process)
        return self

    def __exit__(self, *_: object) -> None:
        for process in self.processes:
            process.stop()

    def wait(self, wanted: set[str], seconds: float = 60) -> None:
        """Until each of these instances, and no other one, has been scraped often enough."""

        def scraped() -> bool:
            counts = self.query(f"sum by (instance) (sum_over_time(up[2m])) >= {SCRAPES}")
            return {each["metric"]["instance"] for each in counts} == wanted

        until(f"Prometheus scrapes {', '.join(sorted(wanted))}", scraped, seconds, pause=0.3)

    def query(self, expression: str) -> list[Sample]:
        """Empty while it does not answer or reads its own data first; a malformed expression is an error."""
        try:
            answer = self.http("GET", f"/api/v1/query?query={urllib.parse.quote(expression)}")
        except Unreachable:
            return []
        except Refused as refused:
            if refused.status != NOT_READY:
                raise
            return []
        found: list[Sample] = answer["data"]["result"]
        return found
