# SPDX-License-Identifier: Apache-2.0
"""HTTP from here to a program in a namespace: JSON for REST, text for metrics."""

import http.client
import json
import re
from typing import Any

from lab.deadline import LabError
from lab.namespace import Namespace


class Refused(LabError):
    """The program answered with an error; `status` and, if it sent one, the problem document (RFC 9457)."""

    def __init__(self, request: str, status: int, problem: Any) -> None:
        detail = problem.get("detail") if isinstance(problem, dict) else problem
        super().__init__(f"{request} was refused with {status}: {detail}")
        self.status = status
        self.problem = problem


class Unreachable(LabError):
    """No complete answer: no listener, or it died meanwhile. The request may or may not have taken effect."""


def samples(metrics: str) -> dict[str, float]:
    """Every sample of the text by its name and labels, as printed there."""
    found = re.findall(r"^([a-z_]+(?:\{[^}]*\})?) (\S+)$", metrics, re.MULTILINE)
    return {name: float(value) for name, value in found}


class Rest:
    def __init__(
        self, namespace: Namespace, host: str, port: int, timeout: float = 20, token: str | None = None
    ) -> None:
        self.namespace = namespace
        self.headers = {"Authorization": f"Bearer {token}"} if token else {}
        self.host = host
        self.port = port
        self.timeout = timeout

    def __call__(
        self,
        method: str,
        path: str,
        body: Any = None,
        timeout: float | None = None,
        headers: dict[str, str] | None = None,
    ) -> Any:
        """The answer's JSON (or text); Refused for a status of 400 and above, Unreachable without an answer."""
        request = f"{method} http://{self.host}:{self.port}{path}"
        content = None if body is None else json.dumps(body).encode()
        sent = {} if body is None else {"Content-Type": "application/json"}
        connection = http.client.HTTPConnection(self.host, self.port, timeout=timeout or self.timeout)
        try:
            connection.sock = self.namespace.connect(self.host, self.port, timeout or self.timeout)
            connection.request(method, path, content, self.headers | sent | (headers or {}))
            answer = connection.getresponse()
            text = answer.read().decode()
        except (OSError, http.client.HTTPException) as error:
            raise Unreachable(f"{request}: {error or type(error).__name__}") from error
        finally:
            connection.close()
        is_json = "json" in answer.headers.get("Content-Type", "")
        value = json.loads(text) if is_json and text else text
        if answer.status >= 400:
            raise Refused(request, answer.status, value)
        return value
