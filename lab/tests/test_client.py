# SPDX-License-Identifier: Apache-2.0
"""The client reports each way of breaking, and nothing else: it runs against servers that misbehave on purpose."""

import asyncio
import json
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager

import pytest

from lab import build
from lab.client.counts import BROKEN

Behaviour = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


def answer(name: str, status: str = "200 OK") -> bytes:
    return f"HTTP/1.1 {status}\r\nContent-Length: {len(name) + 1}\r\n\r\n{name}\n".encode()


async def request(reader: asyncio.StreamReader) -> bool:
    """Whether a request arrived; False at the client's orderly end."""
    try:
        await reader.readuntil(b"\r\n\r\n")
    except asyncio.IncompleteReadError as end:
        assert end.partial == b""
        return False
    return True


async def good(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while await request(reader):
        writer.write(answer("server1"))


async def good_in_pieces(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while await request(reader):
        for byte in answer("server1"):
            writer.write(bytes([byte]))
            await writer.drain()
            await asyncio.sleep(0)


async def other_server(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    number = 0
    while await request(reader):
        number += 1
        writer.write(answer(f"server{number}"))


async def reset(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    await request(reader)
    writer.write(answer("server1"))
    await request(reader)
    writer.transport.get_extra_info("socket").setsockopt(1, 13, b"\1\0\0\0\0\0\0\0")  # SO_LINGER 0: a RST
    writer.transport.abort()


async def eof(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    await request(reader)
    writer.write(answer("server1"))
    await writer.drain()


async def silent(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while await request(reader):
        pass


async def bad_status(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while await request(reader):
        writer.write(answer("server1", "503 Service Unavailable"))


@contextmanager
def serving(behaviour: Behaviour) -> Iterator[int]:
    """A server on a free port of 127.0.0.1, in a thread."""
    loop = asyncio.new_event_loop()

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            await behaviour(reader, writer)
        except OSError:  # the client closed the connection, as it should for some of these
            pass
        finally:
            writer.close()

    server = loop.run_until_complete(asyncio.start_server(handle, "127.0.0.1", 0))
    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()
    try:
        yield server.sockets[0].getsockname()[1]
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        server.close()
        loop.close()


def run_client(port: int, *load: str, seconds: int = 2) -> list[dict]:
    """Runs the client until it has reported some seconds, then ends it in order; returns its output."""
    client = subprocess.Popen(
        [
            sys.executable,
            "-m",
            "lab.client",
            "--host",
            "127.0.0.1",
            "--port",
            str(port),
            "--timeout",
            "0.6",
            "load",
            *load,
        ],
        cwd=build.ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert client.stdin is not None and client.stdout is not None
    lines = []
    for line in client.stdout:
        lines.append(json.loads(line))
        if Counter(line["event"] for line in lines)["second"] == seconds and not client.stdin.closed:
            client.stdin.close()
    assert client.wait(10) == 0
    return lines


@pytest.mark.parametrize(
    ("behaviour", "kind"),
    [(other_server, "another_server"), (reset, "reset"), (eof, "eof"), (silent, "timeout"), (bad_status, "bad_answer")],
    ids=lambda value: value if isinstance(value, str) else value.__name__,
)
def test_each_way_of_breaking_is_counted_as_such(behaviour: Behaviour, kind: str) -> None:
    with serving(behaviour) as port:
        lines = run_client(port, "--long", "3", "--interval", "0.05", "--short-rate", "0")
    total = lines[-1]
    assert set(total["by_kind"]) == {kind}
    assert total["by_kind"][kind] >= 3
    broken = [line for line in lines if line["event"] == "broken"]
    assert {line["kind"] for line in broken} == {kind} and len(broken) == total["broken"]
    assert kind in BROKEN


def test_a_refused_connection_is_counted() -> None:
    with serving(good) as port:
        pass
    total = run_client(port, "--long", "2", "--interval", "0.05", "--short-rate", "5")[-1]
    assert set(total["by_kind"]) == {"refused"} and total["requests"] == 0


@pytest.mark.parametrize("behaviour", [good, good_in_pieces], ids=lambda value: value.__name__)
def test_a_good_server_breaks_nothing(behaviour: Behaviour) -> None:
    with serving(behaviour) as port:
        lines = run_client(port, "--long", "5", "--interval", "0.02", "--short-rate", "20")
    total = lines[-1]
    assert total["broken"] == 0 and total["by_kind"] == {}
    assert total["requests"] > 100 and total["servers"] == {"server1": total["requests"]}
    assert total["new"]["server1"] == total["connections"] > 20
    seconds = [line for line in lines if line["event"] == "second"]
    assert all(line["open"] == 5 for line in seconds)


def test_idle_connections_are_silent_and_asked_once_more_before_they_are_closed() -> None:
    with serving(good) as port:
        lines = run_client(port, "--long", "0", "--idle", "3", "--silences", "30", "--short-rate", "0")
    total = lines[-1]
    assert total["broken"] == 0 and total["connections"] == 3 and total["requests"] == 6
    seconds = [line for line in lines if line["event"] == "second"]
    assert sum(line["requests"] for line in seconds) == 3
    assert seconds[-1]["idle"] == seconds[-1]["held"] == {"server1": 3}


def test_idle_connections_have_their_silences_in_turn() -> None:
    with serving(good) as port:
        lines = run_client(port, "--long", "0", "--idle", "4", "--silences", "0.2,30", "--short-rate", "0")
    total = lines[-1]
    assert total["broken"] == 0 and total["connections"] == 4
    assert 12 <= total["requests"] <= 2 * 2 + 2 * 14, "two of them sent every 0.2 s"


def test_what_broke_during_a_silence_is_counted() -> None:
    """The server resets each connection's second request."""
    with serving(reset) as port:
        lines = run_client(port, "--long", "0", "--idle", "3", "--silences", "30", "--short-rate", "0")
    assert lines[-1]["by_kind"] == {"reset": 3} and lines[-1]["connections"] == 3
    assert all(line["silent"] > 1 for line in lines if line["event"] == "broken")


def test_a_silence_of_nothing_is_refused() -> None:
    command = [sys.executable, "-m", "lab.client", "load", "--idle", "1", "--silences", "5,0"]
    done = subprocess.run(command, cwd=build.ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 2 and "silence '0' is refused; allowed: above 0" in done.stderr
