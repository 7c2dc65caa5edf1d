# SPDX-License-Identifier: Apache-2.0
"""reproduce: which figures it knows, its data files, its options, and that it continues after an interruption."""

import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import pytest

from bench.lib.command import ROOT
from bench.papers import page, redrawn
from bench.papers.redrawn import CANNOT, REDRAWN, STANDS_IN, Row, beamer, concury, kth, maat, sixlb
from bench.papers.steps import STEPS, State, Step

REPRODUCE = (ROOT / "bench" / "run", "reproduce")

FIGURES = (*beamer.FIGURES, *concury.FIGURES, *maat.FIGURES, *sixlb.FIGURES, *kth.FIGURES)
DEMANDED = {
    "beamer": {"5", *map(str, range(13, 26)), "Table 1", "Table A.3", "6.2 scaling", "6.2 flood", "6.1 overhead"},
    "concury": {*map(str, range(5, 21)), "25", "26"},
    "maat": {*map(str, range(8, 14)), "Table II"},
    "6lb": set(map(str, range(7, 13))),
    "kth": {f"5.{n}" for n in range(1, 8)},
}
PATIENCE = 300  # seconds


def reproduce(*words: object, code: int = 0) -> subprocess.CompletedProcess:
    command = [*REPRODUCE, *map(str, words)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, check=False)
    assert done.returncode == code, done.stdout + done.stderr
    return done


def test_every_figure_demanded_is_known_once():
    found = [(figure.paper, figure.number) for figure in FIGURES]
    assert len(found) == len(set(found))
    assert set(found) == {(paper, number) for paper, numbers in DEMANDED.items() for number in numbers}


def test_every_figure_has_its_paper_numbers_and_its_reasons():
    papers = redrawn.papers()
    for figure in FIGURES:
        assert figure.number in papers[figure.paper]["figures"], figure.name
        assert figure.state in (REDRAWN, STANDS_IN, CANNOT), figure.name
        assert all(step in STEPS for step in figure.steps), figure.name
        assert bool(figure.steps) == (figure.state != CANNOT), figure.name
        if figure.state != REDRAWN:
            assert figure.reason and figure.stands_in, figure.name
        else:
            assert figure.why, figure.name


def test_no_data_file_has_a_figure_that_is_not_redrawn():
    known = {(figure.paper, figure.number) for figure in FIGURES}
    for name, paper in redrawn.papers().items():
        assert {(name, number) for number in paper["figures"]} <= known


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"source": ""}, "source"),
        ({"figures": {"5": {"values": {}}}}, "figures.5.read"),
        ({"figures": {"5": {"read": "text", "values": {"a": {"value": "6", "unit": "s", "where": "1"}}}}}, "a.value"),
        ({"figures": {"5": {"read": "text", "values": {"a": {"value": 6, "unit": "s"}}}}}, "a.where"),
        ({"figures": {"5": {"read": "x", "series": {"a": {"unit": "s", "where": "1", "points": []}}}}}, "a.points"),
        (
            {"figures": {"5": {"read": "text", "series": {"a": {"unit": "s", "where": "1", "points": [[1]]}}}}},
            "a.points",
        ),
    ],
)
def test_a_data_file_without_sources_is_refused(change: dict, field: str):
    good = {"paper": "x", "source": "a paper", "figures": {"5": {"read": "text"}}}
    redrawn.check(Path("x.json"), good)
    with pytest.raises(redrawn.PaperError, match=field.replace(".", r"\.")):
        redrawn.check(Path("x.json"), good | change)


@pytest.mark.parametrize(
    ("row", "agrees"),
    [
        (Row("a", 4, 5), True),
        (Row("a", 4, 5.1), False),
        (Row("a", 4, 3.1), False),
        (Row("a", 0, 0), True),
        (Row("a", 0, 1), False),
        (Row("a", 4, 3, rule="below"), True),
        (Row("a", 4, 3, rule="above"), False),
        (Row("a", (2, 4), 4, rule="between"), True),
        (Row("a", (2, 4), 4.1, rule="between"), False),
        (Row("a", 4, 7, factor=2), True),
    ],
)
def test_when_numbers_agree(row: Row, agrees: bool):
    assert row.agrees == agrees
    assert row.to_json()["agrees"] == agrees


def test_a_number_that_is_not_there_is_null():
    row = Row("a", 4, float("inf"), rule="below").to_json()
    assert (row["ours"], row["ratio"], row["agrees"]) == (None, None, False)


def test_list_names_every_figure_with_its_state():
    listed = {line.split()[0]: line for line in reproduce("--list").stdout.splitlines()[1:]}
    assert set(listed) == {figure.name for figure in FIGURES}
    assert all(figure.state in listed[figure.name] for figure in FIGURES)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--only", "beamer/99"], "--only: 'beamer/99' is not allowed; allowed: beamer, concury, maat, 6lb, kth"),
        (["--quick", "--kept"], "--kept: is not allowed with --quick"),
        (["--kept", "--again"], "--again: is not allowed with --kept"),
        (["--kept", "--json", "/nowhere/x.json"], "--json: /nowhere is no folder"),
        (["--kept", "--page", "/nowhere/x.md"], "--page: /nowhere is no folder"),
        (["--quick", "--state", "/dev/null"], "--state: /dev/null is no folder"),
    ],
)
def test_malformed_options_are_refused_with_a_reason(words: list[str], message: str):
    done = reproduce(*words, code=1)
    assert message in done.stderr


def test_kept_results_are_drawn_with_the_papers_numbers(tmp_path: Path):
    found = tmp_path / "found.json"
    only = ["beamer/Table 1", "beamer/15", "concury/9", "6lb"]
    reproduce("--kept", "--only", *only, "--state", tmp_path / "state", "--json", found)
    result = json.loads(found.read_text())
    assert {"benchmark", "mode", "machine", "commit", "load", "figures"} <= set(result)
    entries = {entry["name"]: entry for entry in result["figures"]}
    assert {"beamer/Table-1", "beamer/15", "concury/9"} < set(entries)
    for entry in entries.values():
        assert {"paper", "figure", "state", "svg"} <= set(entry)
        assert (entry["svg"] is None) == (entry["state"] == CANNOT), entry
        if entry["svg"]:
            assert Path(entry["svg"]).read_text().startswith("<?xml")
            data = json.loads(Path(entry["data"]).read_text())
            assert data["panels"] and data["seeds"]
    data = json.loads(Path(entries["beamer/15"]["data"]).read_text())
    assert {series["whose"] for series in data["panels"][0]["series"]} == {"here", "paper"}
    text = (tmp_path / "state" / "kept" / "reproduction.md").read_text()
    assert all(len(line) <= 120 for line in text.splitlines())
    assert "Beamer, Table 1" in text and "paper 2.27, here" in text


def test_a_quick_figure_runs_is_interrupted_and_continues(tmp_path: Path):
    """The command is ended while its benchmark runs: nothing counts as finished; then it finishes, and runs no more."""
    words = ["--quick", "--only", "beamer/Table 1", "--state", tmp_path, "--json", tmp_path / "j"]
    command = [*REPRODUCE, *words]
    first = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    wait(lambda: (tmp_path / "quick" / "running" / "assignment" / "log").exists())
    first.send_signal(signal.SIGTERM)
    _, told = first.communicate(timeout=60)
    assert first.returncode == 1
    assert "interrupted; the same command continues" in told
    assert not (tmp_path / "quick" / "done").exists()
    done = reproduce(*words)
    assert "[1/1] assignment" in done.stdout
    entry = json.loads((tmp_path / "j").read_text())["figures"][0]
    assert entry["state"] == "redrawn" and not entry["steps"][0]["kept"]
    assert Path(entry["svg"]).exists()
    done = reproduce(*words)
    assert "assignment: has finished before" in done.stdout
    assert "[1/1]" not in done.stdout


@dataclass(frozen=True)
class Told(Step):
    """A step that appends its name to a file; `slow` ones then wait."""

    slow: bool = False

    def missing(self):
        return ""

    def command(self, quick, result):
        pause = "import time; time.sleep(60)" if self.slow else "pass"
        code = f"open('ran', 'a').write('{self.name} '); {pause}; open({str(result)!r}, 'w').write('{{}}')"
        return [sys.executable, "-c", f"import os; os.chdir({os.environ['TOLD']!r}); {code}"]


def test_only_what_has_not_finished_runs_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("TOLD", str(tmp_path))
    first, second = Told("first", [], [], (1, 1)), Told("second", [], [], (1, 1))
    state = State(tmp_path, True)
    child = os.fork()
    if not child:
        # A process that is killed outright in its second step, and leaves no chance to clean up.
        try:
            state.run([first, Told("second", [], [], (1, 1), slow=True)])
        finally:
            os._exit(1)
    wait(lambda: "second" in (tmp_path / "ran").read_text() if (tmp_path / "ran").exists() else False)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    assert state.done(first) and not state.done(second)
    assert state.run([first, second]) == {}
    assert (tmp_path / "ran").read_text().split() == ["first", "second", "second"]
    assert state.run([first, second]) == {}
    state.forget([first])
    assert state.run([first, second]) == {}
    assert (tmp_path / "ran").read_text().split() == ["first", "second", "second", "first"]


def test_other_words_make_a_step_run_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("TOLD", str(tmp_path))
    state = State(tmp_path, True)
    assert state.run([Told("first", ["--runs", "1"], [], (1, 1))]) == {}
    assert not state.done(Told("first", ["--runs", "2"], [], (1, 1)))


def test_a_step_that_fails_says_why_and_is_not_finished(tmp_path: Path):
    class Failing(Step):
        def missing(self):
            return ""

        def command(self, quick, result):
            return ["sh", "-c", "echo no such ring; exit 3"]

    step, state = Failing("failing", [], [], (1, 1)), State(tmp_path, True)
    assert state.run([step])["failing"].endswith("ends with: no such ring")
    assert not state.done(step)
    missing = Step("no_such_benchmark", [], [], (1, 1))
    assert state.run([missing]) == {"no_such_benchmark": "there is no benchmark no_such_benchmark"}


@pytest.mark.parametrize(
    ("value", "text"), [(0, "0"), (1234.5, "1,234"), (0.12345, "0.123"), ((2, 3), "2 to 3"), (None, "none")]
)
def test_how_numbers_are_written(value: object, text: str):
    assert page.number(value) == text


def wait(condition) -> None:
    end = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < end, "the step has not begun"
        time.sleep(0.02)
