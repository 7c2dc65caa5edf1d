# SPDX-License-Identifier: Apache-2.0
"""A controller that gives the agent's test its services and questions, keeps its reports, and what it knows by them."""

import gzip
import json
import ssl
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from lab.namespace import Namespace

sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "protocol" / "vectors"))

from oracle.known import Known


class FakeController:
    def __init__(
        self,
        namespace: Namespace,
        port: int,
        services: list[dict],
        tls: ssl.SSLContext | None = None,
        address: str = "127.0.0.1",
    ) -> None:
        self.version, self.services = "v1", services
        self.asks: dict[str, bool] = {}  # what it wants in reports, which older controllers refuse
        self.questions: list[dict] = []
        self.known: dict[str, Known] = {}  # of services whose connections it asks for
        self.refuses: str | None = None  # why it refuses all connections
        self.marks = 0
        self.status = 200  # of answers to reports
        self.wanted: str | None = None  # reports about services of another version are refused by 403
        self.answer: bytes | None = None  # in place of the right one
        self.elsewhere: str | None = None  # a URL to which all requests are redirected
        self.reports: list[dict] = []  # those that were answered
        self.refused: list[dict] = []
        self.tokens: list[str | None] = []
        self.connections = 0
        controller = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def setup(self) -> None:
                super().setup()
                controller.connections += 1

            def log_message(self, *words: object) -> None:
                pass

            def reply(self, data: bytes, status: int = 200) -> None:
                self.send_response(status)
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            def redirect(self) -> None:
                self.send_response(307)
                self.send_header("Location", controller.elsewhere + self.path)
                self.send_header("Content-Length", "0")
                self.end_headers()

            def do_GET(self) -> None:
                controller.tokens.append(self.headers.get("Authorization"))
                if controller.elsewhere:
                    return self.redirect()
                assert self.path == "/v1/agent/services", self.path
                served = {
                    "format": 1,
                    "version": controller.version,
                    **controller.asks,
                    "services": controller.services,
                }
                self.reply(json.dumps(served).encode())

            def do_POST(self) -> None:
                assert self.path == "/v1/agent/reports", self.path
                data = self.rfile.read(int(self.headers["Content-Length"]))
                if self.headers.get("Content-Encoding") == "gzip":
                    data = gzip.decompress(data)
                controller.tokens.append(self.headers.get("Authorization"))
                report = json.loads(data)
                refuses = controller.wanted is not None and report["servicesVersion"] != controller.wanted
                status = 403 if refuses else controller.status
                (controller.reports if status == 200 else controller.refused).append(report)
                answer = {"format": 1, "servicesVersion": controller.version, "nextSeconds": 1}
                answer["questions"] = controller.questions
                if status == 200 and controller.known:
                    answer["connections"] = controller.hear(report)
                self.reply(json.dumps(answer).encode() if controller.answer is None else controller.answer, status)

        class Server(ThreadingHTTPServer):
            daemon_threads = True

            def handle_error(self, request: object, client: object) -> None:
                """A handshake that fails is a case of the tests."""

        with namespace.inside():
            self.server = Server((address, port), Handler)
        self.url = f"{'https' if tls else 'http'}://{address}:{port}"
        if tls:
            self.server.socket = tls.wrap_socket(self.server.socket, server_side=True, do_handshake_on_connect=False)
        threading.Thread(target=self.server.serve_forever, args=(0.05,), daemon=True).start()

    def close(self) -> None:
        self.server.shutdown()
        self.server.server_close()

    def hear(self, report: dict) -> list[dict]:
        """Takes what the report says about connections; returns what the answer does."""
        self.marks += 1
        for service in report["services"] if self.refuses is None else []:
            if "connections" in service and report["servicesVersion"] == self.version:
                self.known[service["name"]].hear(service["connections"])
        refused = {} if self.refuses is None else {"refused": self.refuses}
        return [
            {"name": name, "memory": known.memory, "mark": f"k{self.marks}"} | refused
            for name, known in self.known.items()
        ]

    def of(self, name: str) -> dict | None:
        """The service in the last report; None: it is not in it, or there is no report."""
        services = self.reports[-1]["services"] if self.reports else []
        return next((service for service in services if service["name"] == name), None)
