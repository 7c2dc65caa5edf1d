# SPDX-License-Identifier: Apache-2.0
"""A build stops before anything is built if a jar differs from maven.lock, or if it uses one that maven.lock lacks."""

import hashlib
import os
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
CHECK = ROOT / "scripts" / "maven-lock"
PLUGIN = "org/apache/maven/plugins/maven-dependency-plugin/3.8.1/maven-dependency-plugin-3.8.1.jar"
LIBRARY, POM = "com/example/part/1.0/part-1.0.jar", "com/example/part/1.0/part-1.0.pom"
PROJECT = """<project xmlns="http://maven.apache.org/POM/4.0.0"><properties><it>3.8.1</it></properties><build>
<pluginManagement><plugins>{managed}</plugins></pluginManagement><plugins><plugin>
<artifactId>maven-dependency-plugin</artifactId><version>{version}</version></plugin></plugins></build></project>"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "pom.xml").write_text(PROJECT.format(managed="", version="3.8.1"))
    lines = []
    for name in (LIBRARY, PLUGIN, POM):
        path = tmp_path / "repository" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(name.encode())
        lines.append(f"{hashlib.sha256(name.encode()).hexdigest()}  {name}\n")
    (tmp_path / "maven.lock").write_text("# programs\n" + "".join(lines))
    return tmp_path


def check(project: Path, *entries: str) -> subprocess.CompletedProcess[str]:
    classpath = ":".join([f"{project}/target/classes", *(f"{project}/repository/{name}" for name in entries)])
    command = [CHECK, "check", project, project / "repository", "offline=true", classpath]
    return subprocess.run(command, text=True, capture_output=True, check=False)


def test_what_is_locked_passes(project: Path) -> None:
    done = check(project, LIBRARY)
    assert (done.returncode, done.stderr) == (0, "")


def changed(project: Path) -> None:
    (project / "repository" / PLUGIN).write_bytes(b"other")


def gone(project: Path) -> None:
    (project / "repository" / POM).unlink()


def newer_plugin(project: Path) -> None:
    (project / "pom.xml").write_text(PROJECT.format(managed="", version="3.9.0"))


def managed_plugin(project: Path) -> None:
    """Only its version is given, and no file of it is locked: nothing uses it."""
    plugin = "<plugin><artifactId>maven-site-plugin</artifactId><version>3.21.0</version></plugin>"
    (project / "pom.xml").write_text(PROJECT.format(managed=plugin, version="3.8.1"))


def malformed(line: str):
    def change(project: Path) -> None:
        with (project / "maven.lock").open("a") as lock:
            lock.write(line + "\n")

    return change


@pytest.mark.parametrize(
    ("change", "entries", "said"),
    [
        (changed, [LIBRARY], f"{PLUGIN} has {hashlib.sha256(b'other').hexdigest()}, locked is "),
        (gone, [LIBRARY], f"lacks files of maven.lock:\n  {POM}"),
        (newer_plugin, [LIBRARY], "uses what maven.lock does not name; if that is intended, run scripts/lock maven"),
        (lambda _: None, [LIBRARY, "com/example/other/1/other-1.jar"], "\n  com/example/other/1/other-1.jar"),
        (malformed("feed  a/b.jar"), [LIBRARY], "maven.lock:5: 'feed  a/b.jar' is not '<SHA-256>  <path>'"),
        (malformed("0" * 64 + "  ../../etc/passwd"), [LIBRARY], "is not '<SHA-256>  <path>'"),
        (lambda project: (project / "maven.lock").write_text(""), [LIBRARY], "maven.lock names no file"),
        (lambda project: (project / "maven.lock").unlink(), [LIBRARY], "maven.lock is missing: run scripts/lock maven"),
    ],
)
def test_anything_else_stops_the_build(project: Path, change, entries: list[str], said: str) -> None:
    change(project)
    done = check(project, *entries)
    assert done.returncode == 1
    assert said in done.stderr.replace(f"{project}/maven.lock", "maven.lock")


def test_a_version_for_a_plugin_that_is_not_used_needs_no_lock(project: Path) -> None:
    managed_plugin(project)
    assert check(project, LIBRARY).returncode == 0


def test_maven_builds_nothing_with_a_changed_jar(tmp_path: Path) -> None:
    """The real build, on a local repository of links to the user's, where a library and a part of a plugin differ."""
    source, repository = Path.home() / ".m2" / "repository", tmp_path / "repository"
    names = [line.split()[1] for line in (ROOT / "controller/maven.lock").read_text().splitlines() if line[0] != "#"]
    for name in names:
        folder = repository / Path(name).parent
        folder.mkdir(parents=True, exist_ok=True)
        for entry in (source / name, (source / name).parent / "_remote.repositories"):
            target = folder / entry.name
            if not target.exists():
                assert entry.exists(), f"{entry} is missing: build the controller first"
                os.link(entry, target) if entry.stat().st_dev == tmp_path.stat().st_dev else target.symlink_to(entry)
    chosen = [next(name for name in names if f"/{part}-" in name and name.endswith(".jar")) for part in CHANGED]
    for name in chosen:
        (repository / name).unlink()
        (repository / name).write_bytes((source / name).read_bytes() + b"\0")
    command = ["mvn", "-o", "-q", "-B", "-Dstyle.color=never", f"-Dmaven.repo.local={repository}", "validate"]
    done = subprocess.run(command, cwd=ROOT / "controller", text=True, capture_output=True, check=False)
    assert done.returncode != 0
    for name in chosen:
        assert f"{name} has {hashlib.sha256((repository / name).read_bytes()).hexdigest()}, locked is " in (
            done.stdout + done.stderr
        )


CHANGED = ("picocli", "plexus-compiler-api")
