# SPDX-License-Identifier: Apache-2.0
"""A controller that gives the agent's test its services and questions, and keeps its reports."""

import gzip
import json
import ssl
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from lab.namespace import Namespace


class FakeController:
    def __init__(
        self, namespace: Namespace, port: int, services: list[dict], tls: ssl.SSLContext | None = None
    ) -> None:
        self.version, self.services = "v1", services
        self.questions: list[dict] = []
        self.status = 200  # of answers to reports
        self.wanted: str | None = None  # reports about services of another version are refused by 403
        self.answer: bytes | None = None  # in place of the right one
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

            def do_GET(self) -> None:
                assert self.path == "/v1/agent/services", self.path
                served = {"format": 1, "version": controller.version, "services": controller.services}
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
                self.reply(json.dumps(answer).encode() if controller.answer is None else controller.answer, status)

        class Server(ThreadingHTTPServer):
            daemon_threads = True

            def handle_error(self, request: object, client: object) -> None:
                """A handshake that fails is a case of the tests."""

        with namespace.inside():
            self.server = Server(("127.0.0.1", port), Handler)
        self.url = f"{'https' if tls else 'http'}://127.0.0.1:{port}"
        if tls:
            self.server.socket = tls.wrap_socket(self.server.socket, server_side=True, do_handshake_on_connect=False)
        threading.Thread(target=self.server.serve_forever, args=(0.05,), daemon=True).start()

    def close(self) -> None:
        self.server.shutdown()
        self.server.server_close()

    def of(self, name: str) -> dict | None:
        """The service in the last report; None: it is not in it, or there is no report."""
        services = self.reports[-1]["services"] if self.reports else []
        return next((service for service in services if service["name"] == name), None)
