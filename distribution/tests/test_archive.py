# SPDX-License-Identifier: Apache-2.0
"""Which archive of classes fairleadctl gives to the JVM, with a JVM that only prints what it was given."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent.parent
CACHE = "/var/cache/fairlead/fairleadctl.jsa"


@pytest.fixture
def installed(tmp_path: Path) -> Path:
    """As packages lay it out, with a link in a folder of commands."""
    share = tmp_path / "usr/share/fairlead/controller"
    for folder in (share / "bin", share / "target", tmp_path / "usr/bin", tmp_path / "jvm/bin"):
        folder.mkdir(parents=True)
    for name in ("fairleadctl", "share-classes"):
        shutil.copy(ROOT / "controller" / "bin" / name, share / "bin")
    (share / "target" / "fairlead-controller.jar").touch()
    (tmp_path / "usr/bin/fairleadctl").symlink_to(share / "bin" / "fairleadctl")
    return tmp_path


def jvm(installed: Path, script: str) -> dict[str, str]:
    java = installed / "jvm/bin/java"
    java.write_text("#!/bin/sh\n" + script)
    java.chmod(0o755)
    return {**os.environ, "JAVA_HOME": str(installed / "jvm")}


def test_fairleadctl_takes_the_archive_beside_the_jar_or_that_of_the_package(installed: Path) -> None:
    environment = jvm(installed, 'printf "%s\\n" "$@"')
    beside = installed / "usr/share/fairlead/controller/target/fairleadctl.jsa"
    for archive in (CACHE, str(beside)):
        done = subprocess.run(
            [installed / "usr/bin/fairleadctl", "health"], env=environment, capture_output=True, text=True, check=True
        )
        flag = next(word for word in done.stdout.split() if word.startswith("-XX:SharedArchiveFile="))
        assert os.path.normpath(flag.partition("=")[2]) == archive
        assert done.stdout.split()[-2:] == ["io.fairlead.controller.CtlMain", "health"]
        beside.touch()


# Writes the files that it is told to.
WRITES = """
for word; do
  case $word in -XX:DumpLoadedClassList=*|-XX:SharedArchiveFile=*) echo "$word" >"${word#*=}" ;; esac
done
"""


def test_share_classes_writes_where_it_is_told(installed: Path) -> None:
    script = installed / "usr/share/fairlead/controller/bin/share-classes"
    target = installed / "cache.jsa"
    target.write_text("older")
    subprocess.run([script, target], env=jvm(installed, WRITES), check=True)
    assert "-XX:SharedArchiveFile=" in target.read_text()
    assert target.stat().st_mode & 0o777 == 0o644
    assert [path.name for path in installed.iterdir() if path.name.startswith("cache")] == ["cache.jsa"]


def test_share_classes_that_fails_leaves_the_older_archive(installed: Path) -> None:
    script = installed / "usr/share/fairlead/controller/bin/share-classes"
    target = installed / "cache.jsa"
    target.write_text("older")
    done = subprocess.run([script, target], env=jvm(installed, "exit 1"), capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "ended with 1 in place of 0" in done.stderr
    assert target.read_text() == "older"
