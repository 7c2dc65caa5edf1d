# SPDX-License-Identifier: Apache-2.0
"""Lock files are read as they are written, versions compare as their registries do, and a planted advisory is found."""

import datetime
import glob
import importlib.machinery
import importlib.util
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts"))

import locks  # noqa: E402
import versions  # noqa: E402

loader = importlib.machinery.SourceFileLoader("advisories", str(ROOT / "scripts" / "advisories"))
advisories = importlib.util.module_from_spec(importlib.util.spec_from_loader("advisories", loader))
sys.modules["advisories"] = advisories
sys.dont_write_bytecode = True
loader.exec_module(advisories)

SNAPSHOT = ROOT / "scripts" / "advisories.json"
TODAY = datetime.date(2026, 12, 8)
# Rising; `=` where two are the same.
ORDERS = {
    "Maven": [
        "1.0-alpha-1",
        "1.0-beta",
        "1.0-rc1 = 1.0-cr1",
        "1.0-SNAPSHOT",
        "1 = 1.0 = 1.0.0.Final = 1.0.RELEASE",
        "1.0-sp",
        "1.0-1",
        "1.0.1",
        "4.2.0.Alpha1",
        "4.2.0.Final",
        "4.2.2.Final",
        "4.2.13.Final",
        "5.0.0.M1",
        "5.0.0",
    ],
    "PyPI": ["1.0.dev1", "1.0a1", "1.0rc1", "1.0 = 1.0.0", "1.0.post1", "1.9", "1.10", "2026.6", "1!0.1"],
    "npm": ["1.0.0-alpha", "1.0.0-alpha.1", "1.0.0-alpha.beta", "1.0.0-2 = 1.0.0-2+x", "1.0.0", "1.9.0", "1.10.0"],
    "Go": ["0.0.0-20201019073823-d3554ca0b0a3", "0.1.0", "1.2.3 = 1.2.3+incompatible", "1.17.9", "1.17.11"],
    "Debian": ["1.0~rc1-1", "1.0-1", "1.0-1+deb12u1", "1.0-1+deb12u10", "1.0-2", "1:0.1-1"],
}
ORDERS["npm"] = ["1.0.0-2 = 1.0.0-2+x", *(v for v in ORDERS["npm"] if "=" not in v)]  # numbers are before words


@pytest.mark.parametrize("ecosystem", ORDERS)
def test_versions_are_in_order(ecosystem: str) -> None:
    ranked = [(rank, word) for rank, row in enumerate(ORDERS[ecosystem]) for word in row.split(" = ")]
    for rank, one in ranked:
        for other_rank, other in ranked:
            a, b = versions.key(ecosystem, one), versions.key(ecosystem, other)
            assert ((a > b) - (a < b)) == ((rank > other_rank) - (rank < other_rank)), f"{one} against {other}"


def test_maven_orders_versions_alike(tmp_path: Path) -> None:
    """Maven's own class is asked about each pair."""
    odd = [
        "1.x",
        "1-x",
        "1.x1",
        "2-b",
        "2.0.0.M1",
        "3.sp",
        "3rc",
        "1-",
        "1..2",
        "33.4.8-jre",
        "33.4.8-android",
        "1.5.7-3",
    ]
    words = [*(word for row in ORDERS["Maven"] for word in row.split(" = ")), *odd]
    pairs = [(one, other) for one in words for other in words]
    (tmp_path / "C.java").write_text(
        "import org.apache.maven.artifact.versioning.ComparableVersion;\n"
        "class C { public static void main(String[] a) { for (int i = 0; i < a.length; i += 2)\n"
        "System.out.println(new ComparableVersion(a[i]).compareTo(new ComparableVersion(a[i + 1]))); } }"
    )
    jars = [
        *glob.glob("/usr/share/maven/lib/maven-artifact*.jar"),
        *glob.glob("/usr/share/maven/lib/commons-lang3*.jar"),
    ]
    assert len(jars) == 2, f"Maven's libraries are not where Debian's package maven has them: {jars}"
    command = ["java", "-cp", ":".join(jars), tmp_path / "C.java", *(word for pair in pairs for word in pair)]
    told = subprocess.run(command, text=True, capture_output=True, check=True).stdout.split()
    for (one, other), said in zip(pairs, told, strict=True):
        a, b = versions.key("Maven", one), versions.key("Maven", other)
        assert (a > b) - (a < b) == (int(said) > 0) - (int(said) < 0), f"{one} against {other}"


@pytest.mark.parametrize(
    ("ecosystem", "version"),
    [
        ("Maven", ""),
        ("Maven", "1 0"),
        ("PyPI", "latest"),
        ("npm", "1.2"),
        ("npm", "^1.2.3"),
        ("Go", "v1"),
        ("Debian", "x"),
    ],
)
def test_what_is_no_version_is_named(ecosystem: str, version: str) -> None:
    with pytest.raises(versions.VersionError, match="is not a version"):
        versions.key(ecosystem, version)


def record(*events: dict, name: str = "a:b", ecosystem: str = "Maven", **more: object) -> dict:
    span = {"type": "ECOSYSTEM", "events": list(events)}
    return {"id": "X-1", "affected": [{"package": {"ecosystem": ecosystem, "name": name}, "ranges": [span]}], **more}


FROM, FIXED = {"introduced": "0"}, {"fixed": "2.0"}


@pytest.mark.parametrize(
    ("events", "version", "fixed"),
    [
        ([FROM, FIXED], "1.9", "2.0"),
        ([FROM, FIXED], "2.0", None),
        ([FIXED, FROM], "1.9", "2.0"),
        ([FROM], "9", ""),
        ([{"introduced": "1.0"}, FIXED], "0.9", None),
        ([{"introduced": "1.0"}, FIXED], "1.0", "2.0"),
        ([FROM, {"last_affected": "1.5"}], "1.5", ""),
        ([FROM, {"last_affected": "1.5"}], "1.6", None),
        ([FROM, {"fixed": "1.2"}, {"introduced": "1.4"}, {"fixed": "1.6"}], "1.3", None),
        ([FROM, {"fixed": "1.2"}, {"introduced": "1.4"}, {"fixed": "1.6"}], "1.5", "1.6"),
        ([FROM, {"limit": "3"}], "2", ""),
        ([FROM, {"limit": "3"}], "3", None),
    ],
)
def test_ranges(tmp_path: Path, events: list[dict], version: str, fixed: str | None) -> None:
    (tmp_path / "x.json").write_text(json.dumps(record(*events)))
    hits, count = advisories.compare([locks.Package("lock", "Maven", "a:b", version)], tmp_path)
    assert count == 1
    assert [hit.fixed for hit in hits] == ([] if fixed is None else [fixed])


def test_names_and_versions_that_hit(tmp_path: Path) -> None:
    rows = [
        record(FROM, name="Foo_Bar", ecosystem="PyPI", aliases=["GHSA-1", "CVE-1"], summary="bad"),
        record(FROM, name="a:b", withdrawn="2026-01-01T00:00:00Z"),
        record(FROM, name="a:b", ecosystem="crates.io"),
        record(FROM, name="a:c"),
        {"id": "X-2", "affected": [{"package": {"ecosystem": "Debian:12", "name": "dpdk"}, "versions": ["22.11-1"]}]},
    ]
    (tmp_path / "list.json").write_text(json.dumps(rows))
    used = [locks.Package("l", "PyPI", "foo-bar", "1"), locks.Package("l", "Maven", "a:b", "1", "tool")]
    used.append(locks.Package("dpkg", "Debian", "dpdk", "22.11-1"))
    hits, _ = advisories.compare(used, tmp_path / "list.json")
    assert list(map(str, hits)) == [
        "dpkg: dpdk 22.11-1: X-2: no fixed version: no summary",
        "l: foo-bar 1: X-1, CVE-1: no fixed version: bad",
    ]


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("", "cannot be read as JSON"),
        ("7", "must be a record, an array of records"),
        ('["x"]', "must be a record, an array of records"),
        ('{"vulns": {}}', "'vulns' is {}, must be list"),
        ('{"affected": []}', "record 0: 'id' is null, must be str"),
        ('{"id": "X"}', "X: 'affected' is null, must be list"),
        ('{"id": "X", "affected": [7]}', "X: 'package' is null, must be dict"),
        ('{"id": "X", "affected": [{"package": {"name": "a:b"}}]}', "'ecosystem' is null, must be str"),
        (json.dumps(record()), "no event has 'introduced'"),
        (json.dumps(record({"introduced": 0})), "'introduced' is 0, must be a string"),
        (json.dumps(record({"opened": "1"})), 'event {"opened": "1"}, must have one of introduced, fixed'),
        (json.dumps(record(FROM, {"fixed": "a b"})), "X-1: 'a b' is not a version of Maven's"),
        ('{"snapshot": "yesterday", "vulns": []}', "'snapshot': Invalid isoformat string"),
    ],
)
def test_a_malformed_list_says_nothing(tmp_path: Path, capsys, content: str, said: str) -> None:
    (tmp_path / "x.json").write_text(content)
    packages = [locks.Package("lock", "Maven", "a:b", "1")]
    with pytest.raises(advisories.RecordError) as raised:
        advisories.compare(packages, tmp_path / "x.json")
        advisories.age(tmp_path / "x.json", TODAY)
    assert said in str(raised.value)
    if "record 0" not in said and "a:b" not in content:  # else no package of the real lock files is named
        assert advisories.main([str(tmp_path / "x.json")], TODAY) == 2


OLD = {
    "controller/maven.lock": ("io/netty/netty-codec-http/", "4.2.2.Final", "GHSA-xxqh-mfjm-7mv9, CVE-2026-42581"),
    "console/package-lock.json": ("node_modules/preact", "10.26.9", "GHSA-36hm-qxxp-pg3m, CVE-2026-22028"),
    "scripts/requirements.txt": ("pytest==", "8.4.2", "GHSA-6w46-j5rx-g56g, CVE-2025-71176"),
}


def plant(lock: str, text: str) -> str:
    """The lock file with an older version of one package."""
    start, version, _ = OLD[lock]
    if lock.endswith(".json"):
        content = json.loads(text)
        content["packages"][start]["version"] = version
        return json.dumps(content)
    lines = text.splitlines()
    for place, line in enumerate(lines):
        if lock.endswith(".lock") and start in line and line.endswith(".jar"):
            digest, path = line.split()
            *folder, have, name = path.split("/")
            lines[place] = f"{digest}  {'/'.join(folder)}/{version}/{name.replace(have, version)}"
        elif line.startswith(start):
            lines[place] = f"{start}{version} \\"
    return "\n".join(lines) + "\n"


@pytest.mark.parametrize("old", OLD)
def test_an_old_version_is_found_in_the_snapshot(tmp_path: Path, monkeypatch, capsys, old: str) -> None:
    for lock in locks.LOCKS:
        (tmp_path / lock).parent.mkdir(parents=True, exist_ok=True)
        text = (ROOT / lock).read_text()
        (tmp_path / lock).write_text(plant(lock, text) if lock == old else text)
    wanted = (ROOT / locks.WANTED).read_text()
    if old == "scripts/requirements.txt":
        wanted = re.sub(r"^pytest==.*", f"pytest=={OLD[old][1]}", wanted, flags=re.MULTILINE)
    (tmp_path / locks.WANTED).write_text(wanted)
    monkeypatch.setattr(advisories, "ROOT", tmp_path)
    assert advisories.main([str(SNAPSHOT)], TODAY) == 1
    said = capsys.readouterr().out
    assert f"{old}: " in said
    assert OLD[old][1] in said
    assert f"{OLD[old][2]}: fixed in " in said


def test_the_tree_has_no_hit_and_the_age_is_told(capsys) -> None:
    assert advisories.main([str(SNAPSHOT)], TODAY) == 0
    assert "a snapshot of 2026-" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("lock", "text", "said"),
    [
        ("scripts/requirements.txt", "a==1\n    # via b\n", "a 1 has no hash"),
        ("scripts/requirements.txt", "a>=1 \\\n    --hash=sha256:" + "0" * 64, "'a>=1 \\' is not '<name>==<version>'"),
        ("console/package-lock.json", '{"packages": {"node_modules/a": {"version": "1"}}}', "a has no hash"),
        ("console/package-lock.json", '{"packages": {"node_modules/a": {"link": true}}}', "a has no version"),
        ("console/package-lock.json", "{}", "not a package-lock.json of version 2 or 3"),
        ("jepsen/harness/go.sum", "a v1.0.0\n", "go.sum:1: 'a v1.0.0' is not"),
        ("controller/maven.lock", "a/b/1/b-1.jar\n", "maven.lock:1: 'a/b/1/b-1.jar' is not"),
    ],
)
def test_a_lock_without_a_hash_is_refused(lock: str, text: str, said: str) -> None:
    with pytest.raises(locks.LockError) as raised:
        list(locks.LOCKS[lock](lock, text))
    assert said in str(raised.value)


def test_each_lock_names_what_is_known_to_be_used() -> None:
    found = {(package.ecosystem, package.name) for package in locks.locked(ROOT)}
    wanted = {
        ("Maven", "io.netty:netty-codec-http"),
        ("Maven", "org.clojure:clojure"),
        ("PyPI", "scapy"),
        ("npm", "preact"),
    }
    assert {*wanted, ("Go", "github.com/anishathalye/porcupine")} <= found


def test_requirements_that_are_not_locked_are_named(tmp_path: Path) -> None:
    for lock in (*locks.LOCKS, locks.WANTED):
        (tmp_path / lock).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / lock).write_text((ROOT / lock).read_text())
    with (tmp_path / locks.WANTED).open("a") as wanted:
        wanted.write("attrs==1.0\n")
    with pytest.raises(locks.LockError, match=r"has attrs==1\.0, and scripts/requirements\.txt does not"):
        locks.locked(tmp_path)
