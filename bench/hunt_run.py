# SPDX-License-Identifier: Apache-2.0
"""Runs one of the programs of bench/hunting, which need the controller's jar, and draws what it found."""

import json
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
JAR = ROOT / "controller/target/fairlead-controller.jar"
SOURCES = ROOT / "bench/hunting"


def die(text):
    sys.exit(f"{pathlib.Path(sys.argv[0]).name}: {text}")


def run(program, *words):
    """Compiles all of bench/hunting, since `java` alone takes a program of one file only; returns what it printed."""
    if not JAR.exists():
        die(f"{JAR.relative_to(ROOT)} is missing: mvn -q package -DskipTests")
    with tempfile.TemporaryDirectory() as classes:
        java("javac", "-cp", JAR, "-d", classes, *sorted(SOURCES.glob("*.java")))
        # One core is enough, and all there is to collect are the arrays of the run before.
        path = f"{JAR}:{classes}"
        return json.loads(java("java", "-XX:+UseSerialGC", "-Xmx1g", "-cp", path, program, *map(str, words)))


def java(*command):
    try:
        done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)
    except FileNotFoundError:
        die(f"the command '{command[0]}' is missing: run scripts/install-deps")
    if done.returncode:
        die(f"{command[0]} ended with {done.returncode}")
    return done.stdout


def keep(result, path):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(result) + "\n")
    print(f"\n{path} has every figure")
