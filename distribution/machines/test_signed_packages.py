# SPDX-License-Identifier: Apache-2.0
"""The packages in a signed repository: apt takes them by this key alone, and they have their bills of materials."""

import json
import shutil
import subprocess
import tarfile
from io import BytesIO
from pathlib import Path

import pytest

from distribution.machines import rack
from distribution.tests.test_signed import Apt, make_key, run

pytestmark = pytest.mark.long
ROOT = Path(__file__).resolve().parents[2]
WITH_SBOM = ("fairlead-cli", "fairlead-mux", "fairlead-server")


def sbom(deb: Path, package: str) -> dict:
    tree = subprocess.run(["dpkg-deb", "--fsys-tarfile", deb], capture_output=True, check=True).stdout
    with tarfile.open(fileobj=BytesIO(tree)) as files:
        return json.load(files.extractfile(f"./usr/share/doc/{package}/sbom.cdx.json"))


def test_apt_takes_the_signed_packages(tmp_path: Path) -> None:
    packages, home = tmp_path / "packages", tmp_path / "gnupg"
    packages.mkdir()
    for deb in (ROOT / "build" / "packages").glob("*.deb"):
        shutil.copy(deb, packages)
    fingerprint = make_key(home)
    try:
        done = run(ROOT / "scripts" / "sign-packages", packages, fingerprint, GNUPGHOME=str(home))
        assert done.returncode == 0, done.stderr
    finally:
        run("gpgconf", "--homedir", home, "--kill", "all")
    repository = packages / "repository"
    apt = Apt(tmp_path / "apt", repository, repository / "fairlead.asc")
    updated = apt.update()
    assert updated.returncode == 0, updated.stderr
    names = [f"fairlead-{name}" for name in rack.WANTED]
    done = apt.download(*names)
    assert done.returncode == 0, done.stderr
    taken = {deb.name.partition("_")[0]: deb for deb in (apt.folder / "here").glob("*.deb")}
    assert set(names) <= set(taken)
    for name in WITH_SBOM:
        found = sbom(taken[name], name)
        assert found["metadata"]["component"]["name"] == name
        assert found["components"]
    changed = next(repository.glob("fairlead-mux_*.deb"))
    changed.write_bytes(changed.read_bytes()[:-1] + b"\0")
    shutil.rmtree(apt.folder / "here")
    done = apt.download("fairlead-mux")
    assert done.returncode != 0
    assert "Hash Sum mismatch" in done.stdout + done.stderr
