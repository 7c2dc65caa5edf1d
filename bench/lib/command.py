# SPDX-License-Identifier: Apache-2.0
"""A benchmark as a command: the tree that it measures, how it complains, and how it reads and keeps figures."""

import json
import pathlib
import subprocess
import sys
from typing import Any, NoReturn

ROOT = pathlib.Path(__file__).resolve().parents[2]
RESULTS = ROOT / "bench/results"
JAR = ROOT / "controller/target/fairlead-controller.jar"


def die(complaint: object) -> NoReturn:
    sys.exit(f"{pathlib.Path(sys.argv[0]).stem}: {complaint}")


def check(*needed: pathlib.Path) -> None:
    """Dies unless these, which builds make, are there."""
    for path in needed:
        if not path.exists():
            shown = path.relative_to(ROOT) if path.is_relative_to(ROOT) else path
            die(f"{shown} is missing: bench/README.md says how to build it")


def load(path: pathlib.Path, option: str = "", remedy: str = "") -> Any:
    """The figures of a file; `option` names it, and `remedy` says where they come from, if they are not readable."""
    try:
        return json.loads(path.read_text())
    except (OSError, ValueError) as error:
        die(f"{option and option + ': '}{path} is not readable as JSON: {error}{remedy and '; ' + remedy}")


def keep(path: pathlib.Path, figures: object, indent: int | None = 1) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(figures, indent=indent) + "\n")


def cpu_model() -> str:
    lines = pathlib.Path("/proc/cpuinfo").read_text().splitlines()
    return next((line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")), "unknown")


def git(*words: str, tree: pathlib.Path = ROOT) -> str | None:
    """What git prints of a tree, also of another user's; None if it fails."""
    command = ["git", "-C", str(tree), "-c", f"safe.directory={tree}", *words]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return done.stdout.strip() if done.returncode == 0 else None
