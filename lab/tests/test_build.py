# SPDX-License-Identifier: Apache-2.0
"""
lab/build and scripts/demo in a tree of their own, with the real Meson. Targets are empty files. Those of tests need a
tool that may be missing, as pytest is where only the demo's packages are installed.
"""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from lab import build

TOOL = "tool-of-tests"
DEMO = ("mux/fairlead-mux", "p4/program/fairlead-p4mux", "server/fairlead-server")
TESTS = ("probe/fairlead-probe", "mux/tests/still_mux", "bench/mux/flowtable/stateful_mux", "lab/vm/vm-agent")
LEAF = "custom_target('{name}', output: '{name}', command: ['touch', '@OUTPUT@'])\n"
# Says where the demo would take its programs from.
STAND_IN = "import os\nprint('from', os.environ.get('FAIRLEAD_BUILD_DIR', 'build/lab'))\n"


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """The scripts, a project with the targets of lab/build, and stand-ins for what else they run."""
    tree = tmp_path / "tree"
    lines = ["project('stand-in')"]
    for target in (*DEMO, *TESTS):
        path = tree / target
        path.parent.mkdir(parents=True, exist_ok=True)
        (path.parent / "meson.build").write_text(LEAF.format(name=path.name))
    lines += [f"subdir('{Path(target).parent}')" for target in DEMO]
    lines += ["if get_option('tests')", f"  find_program('{TOOL}')"]
    lines += [f"  subdir('{Path(target).parent}')" for target in TESTS]
    lines += ["endif", ""]
    (tree / "meson.build").write_text("\n".join(lines))
    (tree / "meson_options.txt").write_text("option('tests', type: 'boolean', value: true)\n")
    (tree / "scripts").mkdir()
    for script in ("lab/build", "scripts/demo"):
        shutil.copy(build.ROOT / script, tree / script)
    (tree / "lab" / "__init__.py").touch()
    (tree / "lab" / "demo.py").write_text(STAND_IN)
    for stand_in in (tmp_path / "tools" / "mvn", tree / "scripts" / "install-deps"):
        executable(stand_in)
    return tree


def executable(path: Path) -> None:
    path.parent.mkdir(exist_ok=True)
    path.write_text("#!/bin/sh\n")
    path.chmod(0o755)


def run(tree: Path, *command: str) -> subprocess.CompletedProcess:
    path = f"{tree.parent / 'tools'}:{os.environ['PATH']}"
    command = (str(tree / command[0]), *command[1:])
    environment = os.environ | {"PATH": path}
    return subprocess.run(command, cwd=tree, env=environment, text=True, capture_output=True, check=False)


@pytest.mark.parametrize(
    "steps",
    [
        "demo",
        "full+tool",
        "demo full-fails demo",
        "demo full-fails demo full+tool demo",
        "full-fails demo full-fails demo",
        "demo full+tool",
        "full+tool demo full",
    ],
)
def test_a_demo_and_a_full_build_do_not_meet(tree: Path, steps: str) -> None:
    for step in steps.split():
        if step.endswith("+tool"):
            executable(tree.parent / "tools" / TOOL)
        done = run(tree, "lab/build", *(["--demo"] if step == "demo" else []))
        assert (done.returncode != 0) == (step == "full-fails"), f"{step}: {done.stdout}{done.stderr}"
        if done.returncode:
            assert TOOL in done.stdout
            continue
        folder, targets = ("demo", DEMO) if step == "demo" else ("lab", DEMO + TESTS)
        for target in targets:
            assert (tree / "build" / folder / target).exists(), f"{step}: {target}"


@pytest.mark.parametrize(
    ("arguments", "folder"), [((), "build/demo"), (("--keep",), "build/demo"), (("--vm-servers", "1"), "build/lab")]
)
def test_the_demo_runs_what_it_has_built(tree: Path, arguments: tuple[str, ...], folder: str) -> None:
    executable(tree.parent / "tools" / TOOL)
    done = run(tree, "scripts/demo", *arguments)
    assert done.returncode == 0, done.stderr
    said = done.stdout.splitlines()[-1].removeprefix("from ")
    assert (tree / said).resolve() == tree / folder
    assert (tree / folder / DEMO[0]).exists()
