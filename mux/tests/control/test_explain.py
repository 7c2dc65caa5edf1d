# SPDX-License-Identifier: Apache-2.0
"""`fairlead-mux explain` queries a running mux and answers like the controller: its output and exit codes."""

import json
import os
import subprocess

from mux_process import MuxProcess
from test_arrays import PORTS, Arrays
from test_follow import served
from tree import Tree

FLOW = ["web", "tcp", "10.2.1.2:4000", "10.99.0.1:80"]


def explain(*arguments: str, **environment: str) -> subprocess.CompletedProcess:
    command = [os.environ["FAIRLEAD_MUX"], "explain", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False, env=os.environ | environment)


def test_answers(tree: Tree, mux: MuxProcess):
    served(tree, mux)
    done = explain("--http", mux.http, "-o", "json", *FLOW)
    assert (done.returncode, done.stderr) == (0, "")
    answer = json.loads(done.stdout)
    assert answer == mux.explain()[1] and answer["steering"] == "ring"
    done = explain(*FLOW, FAIRLEAD_MUX_HTTP=mux.http)
    assert done.returncode == 0
    lines = dict(line.split(maxsplit=1) for line in done.stdout.splitlines())
    assert lines["bucket"] == str(answer["bucket"])
    assert lines["current"] == f"{answer['current']['id']} ({answer['current']['address']})"
    assert lines["to"] == f"{answer['current']['id']} ({answer['current']['address']}): has the bucket"
    assert "then" not in lines


def test_names_arrays_and_the_second_bucket(tree: Tree, mux: MuxProcess):
    arrays = Arrays(tree)
    arrays.commit(arrays.fresh())
    arrays.until_steering(mux)
    port = next(port for port, pair in zip(PORTS, arrays.expected(), strict=True) if pair[1] is not None)
    flow = ["web", "tcp", f"10.2.1.2:{port}", "10.99.0.1:80"]
    assert said(mux, flow)["arrays"] == "of generation 3, before none: the hash's low bits"
    arrays.commit(arrays.changed(100))
    arrays.until_steering(mux)
    for port, (first, second) in zip(PORTS, arrays.expected(), strict=True):
        lines = said(mux, ["web", "tcp", f"10.2.1.2:{port}", "10.99.0.1:80"])
        answer = mux.explain(sourcePort=port)[1]
        assert answer["arrays"] == {"generation": 4, "previous": 3}
        assert lines["arrays"] == "of generation 4, before of 3"
        assert lines["bucket"] == str(first) and lines.get("second") == (None if second is None else str(second))
        if second is not None:
            assert answer["second"]["current"]["id"] == 1 + (second >= 128)
            assert lines["second current"].startswith(f"{1 + (second >= 128)} (")
    arrays.settle()
    arrays.until_steering(mux)
    assert said(mux, flow)["arrays"] == "of generation 4, settled"


def said(mux: MuxProcess, flow: list[str]) -> dict[str, str]:
    """The lines of the answer; those about the second bucket with its name in front."""
    done = explain("--http", mux.http, *flow)
    assert (done.returncode, done.stderr) == (0, "")
    lines, prefix = {}, ""
    for key, value in (line.split(maxsplit=1) for line in done.stdout.splitlines()):
        lines[prefix + key] = value
        if key == "second":
            prefix = "second "
    return lines


def test_refused_by_the_mux(tree: Tree, mux: MuxProcess):
    served(tree, mux)
    done = explain("--http", mux.http, "unknown", *FLOW[1:])
    assert done.returncode == 1 and "service 'unknown' is refused" in done.stderr and not done.stdout
    done = explain("--http", mux.http, "web", "tcp", "10.2.1.2:4000", "[2001:db8::1]:80")
    assert done.returncode == 1 and "source" in done.stderr


def test_not_reachable():
    done = explain("--http", "127.0.0.1:1", *FLOW)
    assert done.returncode == 3 and "127.0.0.1:1" in done.stderr


def test_bad_usage():
    rows = [[], FLOW[:3], [*FLOW, "more"], ["--colour", *FLOW], ["--http"], ["-o", "xml", *FLOW]]
    rows += [["w" * 64, *FLOW[1:]], ["", *FLOW[1:]], ["web", "t" * 2000, *FLOW[2:]], ["--http", "h" * 300, *FLOW]]
    rows += [[*FLOW[:2], "10.2.1.2", FLOW[3]], [*FLOW[:3], "10.99.0.1"], [*FLOW[:3], ":80"]]
    for arguments in rows:
        done = explain(*arguments)
        assert done.returncode == 2 and "usage" in done.stderr, arguments


def test_help():
    for flag in ("--help", "-h"):
        done = explain(flag)
        assert (done.returncode, done.stderr) == (0, "") and done.stdout.startswith("usage: fairlead-mux explain")
