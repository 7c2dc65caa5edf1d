# SPDX-License-Identifier: Apache-2.0
"""Planted violations of what scripts/lint checks by itself are found and named. So is a wrong argument of build.mjs."""

import importlib.machinery
import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]

loader = importlib.machinery.SourceFileLoader("lint", str(ROOT / "scripts" / "lint"))
lint = importlib.util.module_from_spec(importlib.util.spec_from_loader("lint", loader))
sys.modules["lint"] = lint
sys.dont_write_bytecode = True
loader.exec_module(lint)

CONTROLLER = "controller/src/main/java/io/fairlead/controller"
PLAN, SERVICE, STORE = (f"{CONTROLLER}/{package}/A.java" for package in ("plan", "service", "store"))


@pytest.mark.parametrize(
    ("check", "planted", "found"),
    [
        (
            "check_circles",
            {"mux/a/a.h": '#include "b/b.h"', "mux/b/b.h": '#include "c/c.h"', "mux/c/c.h": '#include "a/a.h"'},
            [
                "mux/a/a.h:1: circle of includes: mux/a -> mux/b -> mux/c -> mux/a",
                "mux/a/a.h:1: circle of includes: mux/a/a -> mux/b/b -> mux/c/c -> mux/a/a",
                "mux/a/a.h:1: circle of includes: mux/a/a.h -> mux/b/b.h -> mux/c/c.h -> mux/a/a.h",
            ],
        ),
        (
            "check_circles",
            {"mux/a/a.h": '#include "a/b.h"', "mux/a/b.h": "", "mux/a/b.c": '\n#include "a.h"'},
            ["mux/a/a.h:1: circle of includes: mux/a/a -> mux/a/b -> mux/a/a"],
        ),
        ("check_circles", {"mux/a/a.h": '#include "b/b.h"', "mux/b/b.h": "", "mux/b/test_b.c": '#include "a/a.h"'}, []),
        (
            "check_packages",
            {PLAN: "package a;\nimport io.fairlead.controller.store.Store;"},
            [
                f"{PLAN}:2: 'import io.fairlead.controller.store.Store;'; "
                "allowed in plan: no store, service, leader, http, cli"
            ],
        ),
        (
            "check_packages",
            {SERVICE: "import io.fairlead.controller.plan.Moves;\nimport io.fairlead.controller.leader.Term;"},
            [f"{SERVICE}:2: 'import io.fairlead.controller.leader.Term;'; allowed in service: no leader, http, cli"],
        ),
        (
            "check_packages",
            {STORE: "\timport static org.apache.zookeeper.KeeperException.*;"},
            [f"{STORE}:1: 'import static org.apache.zookeeper.KeeperException.*;'; allowed in store/zookeeper alone"],
        ),
        ("check_packages", {f"{CONTROLLER}/store/zookeeper/A.java": "import org.apache.curator.RetryLoop;"}, []),
        ("check_packages", {STORE: "import io.fairlead.controller.store.zookeeper.ZooKeeperStore;"}, []),
    ],
)
def test_a_planted_violation_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, check: str, planted: dict[str, str], found: list[str]
):
    monkeypatch.setattr(lint, "ROOT", tmp_path)
    for name, text in planted.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text + "\n")
    assert list(getattr(lint, check)([lint.File(name) for name in planted])) == found


@pytest.mark.parametrize("words", [(), ("--tests",), ("build/console", "--test")])
def test_the_build_of_the_console_refuses_other_arguments(words: tuple[str, ...]):
    command = ["node", ROOT / "console" / "build.mjs", *words]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    told = "console: wrong arguments; allowed: FOLDER, or one of --test, --format, --check\n"
    assert (done.returncode, done.stderr) == (1, told)
