# SPDX-License-Identifier: Apache-2.0
"""Bills of materials have what CycloneDX requires, name what is in the jar, and are the same each time."""

import json
import os
import re
import subprocess
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
JAR = ROOT / "controller" / "target" / "fairlead-controller.jar"
SUBSTVARS = "shlibs:Depends=libc6 (>= 2.34), zlib1g (>= 1:1.2.0) | other\nmisc:Depends=ucf\n"
PURL = re.compile(r"pkg:(maven|npm|deb)/[\w.%/~+-]+@[\w.%~-]+(\?[\w=&.%-]+)?")
LENGTHS = {"SHA-256": 64, "SHA-384": 96, "SHA-512": 128}


def make(
    tmp_path: Path, package: str, substvars: str = "", epoch: str = "1700000000"
) -> subprocess.CompletedProcess[str]:
    (tmp_path / "substvars").write_text(substvars)
    parts = ["--substvars", tmp_path / "substvars"] if package == "fairlead-mux" else ["--jar", JAR]
    command = [ROOT / "distribution" / "sbom.py", package, *parts, "--out", tmp_path / "sbom"]
    environment = {**os.environ, "SOURCE_DATE_EPOCH": epoch}
    return subprocess.run(command, env=environment, text=True, capture_output=True, check=False)


def read(tmp_path: Path, package: str, substvars: str = "") -> dict:
    done = make(tmp_path, package, substvars)
    assert done.returncode == 0, done.stderr
    return json.loads((tmp_path / "sbom").read_text())


@pytest.mark.parametrize(("package", "substvars"), [("fairlead-cli", ""), ("fairlead-mux", SUBSTVARS)])
def test_has_what_cyclonedx_requires(tmp_path: Path, package: str, substvars: str) -> None:
    found = read(tmp_path, package, substvars)
    assert (found["bomFormat"], found["specVersion"], found["version"]) == ("CycloneDX", "1.6", 1)
    assert found["metadata"]["timestamp"] == "2023-11-14T22:13:20Z"
    about = found["metadata"]["component"]
    assert (about["type"], about["name"], about["version"]) == (
        "application",
        package,
        (ROOT / "VERSION").read_text().strip(),
    )
    refs = [entry["bom-ref"] for entry in found["components"]]
    assert refs and len(set(refs)) == len(refs)
    for entry in found["components"]:
        assert entry["type"] == "library" and entry["name"] and entry["version"]
        assert PURL.fullmatch(entry["purl"]), entry["purl"]
        for entry_hash in entry.get("hashes", []):
            assert re.fullmatch(r"[0-9a-f]+", entry_hash["content"])
            assert len(entry_hash["content"]) == LENGTHS[entry_hash["alg"]]
    assert found["dependencies"] == [{"ref": about["bom-ref"], "dependsOn": refs}]


# Libraries that are in another one's jar: netty-common's and curator-client's.
COPIED = {"org.jctools", "com.google.guava"}


def test_names_what_is_in_the_jar_and_no_tool(tmp_path: Path) -> None:
    components = read(tmp_path, "fairlead-cli")["components"]
    found = {(entry.get("group", ""), entry["name"], entry["version"]) for entry in components}
    inside = set()
    with zipfile.ZipFile(JAR) as jar:
        for name in jar.namelist():
            if re.fullmatch(r"META-INF/maven/.*/pom\.properties", name):
                own = dict(re.findall(r"^(\w+)=(\S+)", jar.read(name).decode(), re.MULTILINE))
                inside.add((own["groupId"], own["artifactId"], own["version"]))
        licences = jar.read("io/fairlead/controller/console/licences.txt").decode()
    inside = {entry for entry in inside if entry[0] != "io.fairlead"}
    assert len(inside) > 10
    assert inside <= found
    assert {entry["group"] for entry in components if "hashes" not in entry} <= COPIED
    console = re.findall(r"^(?:(@[\w-]+)/)?([\w.-]+) (\d\S*), \w", licences, re.MULTILINE)
    assert console
    assert set(console) <= found
    assert not {"typescript", "esbuild", "junit-jupiter-api"} & {name for _, name, _ in found}


def test_names_debian_packages_as_they_are_installed(tmp_path: Path) -> None:
    found = {entry["name"]: entry for entry in read(tmp_path, "fairlead-mux", SUBSTVARS)["components"]}
    assert found.keys() == {"libc6", "zlib1g"}
    command = ["dpkg-query", "-W", "-f", "${Version}", "zlib1g"]
    version = subprocess.run(command, text=True, capture_output=True, check=True).stdout
    assert found["zlib1g"]["version"] == version
    assert found["zlib1g"]["purl"].startswith(f"pkg:deb/debian/zlib1g@{version.replace(':', '%3A')}?arch=")


def test_is_the_same_each_time(tmp_path: Path) -> None:
    read(tmp_path, "fairlead-cli")
    first = (tmp_path / "sbom").read_bytes()
    read(tmp_path, "fairlead-cli")
    assert (tmp_path / "sbom").read_bytes() == first


@pytest.mark.parametrize(
    ("substvars", "epoch", "said"),
    [
        ("", "", "SOURCE_DATE_EPOCH is '', must be seconds since 1970"),
        ("", "now", "SOURCE_DATE_EPOCH is 'now'"),
        ("shlibs:Depends=libnone9 (>= 1)\n", "1", "the Debian package libnone9 is not installed"),
    ],
)
def test_what_is_wrong_is_named(tmp_path: Path, substvars: str, epoch: str, said: str) -> None:
    done = make(tmp_path, "fairlead-mux", substvars, epoch)
    assert done.returncode != 0
    assert said in done.stderr
    assert not (tmp_path / "sbom").exists()
