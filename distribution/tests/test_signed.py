# SPDX-License-Identifier: Apache-2.0
"""apt takes packages from a repository that scripts/sign-packages signed, and nothing that was changed afterwards."""

import os
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
CONTROL = "Package: fairlead-dummy\nVersion: {version}\nArchitecture: all\nMaintainer: Nobody <nobody@example.com>\n"


def run(*command: str | Path, cwd: Path | None = None, **environment: str) -> subprocess.CompletedProcess[str]:
    merged = {**os.environ, **environment, "LC_ALL": "C"}
    return subprocess.run(list(map(str, command)), cwd=cwd, env=merged, text=True, capture_output=True, check=False)


def make_key(home: Path) -> str:
    """A key that lives as long as the test; its fingerprint."""
    home.mkdir(mode=0o700)
    made = run(
        "gpg", "--batch", "--passphrase", "", "--quick-gen-key", "test", "ed25519", "sign", "1d", GNUPGHOME=str(home)
    )
    assert made.returncode == 0, made.stderr
    listed = run("gpg", "--batch", "--with-colons", "--list-keys", GNUPGHOME=str(home)).stdout
    return next(line.split(":")[9] for line in listed.splitlines() if line.startswith("fpr"))


def package(folder: Path, version: str) -> Path:
    tree = folder / f"tree-{version}"
    (tree / "DEBIAN").mkdir(parents=True)
    (tree / "DEBIAN" / "control").write_text(CONTROL.format(version=version) + "Description: dummy\n")
    built = run("dpkg-deb", "--build", "--root-owner-group", tree, folder)
    assert built.returncode == 0, built.stderr
    shutil.rmtree(tree)
    return folder / f"fairlead-dummy_{version}_all.deb"


class Apt:
    """apt with sources, lists and a status of its own, which trusts what it is given and no key of the machine's."""

    def __init__(self, folder: Path, repository: Path, key: Path):
        self.folder = folder
        for name in ("lists/partial", "cache/archives/partial", "empty"):
            (folder / name).mkdir(parents=True)
        (folder / "status").touch()
        (folder / "sources.list").write_text(f"deb [signed-by={key}] file:{repository} ./\n")
        settings = {
            "Dir::Etc::SourceList": f"{folder}/sources.list",
            "Dir::Etc::SourceParts": "-",
            "Dir::Etc::TrustedParts": f"{folder}/empty",
            "Dir::Etc::Trusted": "/dev/null",
            "Dir::State::Lists": f"{folder}/lists",
            "Dir::State::Status": f"{folder}/status",
            "Dir::Cache": f"{folder}/cache",
            "APT::Sandbox::User": "root",
        }
        self.options = [word for name, value in settings.items() for word in ("-o", f"{name}={value}")]

    def update(self) -> subprocess.CompletedProcess[str]:
        return run("apt-get", *self.options, "-o", "APT::Update::Error-Mode=any", "update")

    def download(self, *packages: str) -> subprocess.CompletedProcess[str]:
        """Into the folder `here`; apt compares each with the signed list."""
        here = self.folder / "here"
        here.mkdir(exist_ok=True)
        return run("apt-get", *self.options, "download", *packages, cwd=here)


@pytest.fixture
def signed(tmp_path: Path) -> Iterator[tuple[Path, Apt]]:
    home, packages = tmp_path / "gnupg", tmp_path / "packages"
    packages.mkdir()
    package(packages, "1.0")
    fingerprint = make_key(home)
    done = run(ROOT / "scripts" / "sign-packages", packages, fingerprint, GNUPGHOME=str(home))
    assert done.returncode == 0, done.stderr
    repository = packages / "repository"
    yield repository, Apt(tmp_path / "apt", repository, repository / "fairlead.asc")
    run("gpgconf", "--homedir", home, "--kill", "all")


def test_apt_takes_what_the_key_signed(signed: tuple[Path, Apt]) -> None:
    _, apt = signed
    assert apt.update().returncode == 0
    done = apt.download("fairlead-dummy")
    assert done.returncode == 0, done.stderr
    assert [deb.name for deb in (apt.folder / "here").iterdir()] == ["fairlead-dummy_1.0_all.deb"]


def change_package(repository: Path) -> None:
    deb = repository / "fairlead-dummy_1.0_all.deb"
    text = bytearray(deb.read_bytes())
    text[-1] ^= 1
    deb.write_bytes(text)


def newer_package(repository: Path) -> None:
    """A package that was put in afterwards, with an index that has it."""
    package(repository, "2.0")
    (repository / "Packages.xz").unlink()
    (repository / "Packages").write_text(run("apt-ftparchive", "packages", repository).stdout)


def change_release(repository: Path) -> None:
    for name in ("Release", "InRelease"):
        path = repository / name
        path.write_text(path.read_text().replace("Suite: stable", "Suite: tricky"))


def drop_signature(repository: Path) -> None:
    (repository / "InRelease").unlink()
    (repository / "Release.gpg").unlink()


def other_key(repository: Path) -> None:
    """Signed again by somebody else, whose key the host does not have."""
    key = (repository / "fairlead.asc").read_bytes()
    home = repository.parent / "other"
    fingerprint = make_key(home)
    done = run(ROOT / "scripts" / "sign-packages", repository.parent, fingerprint, GNUPGHOME=str(home))
    assert done.returncode == 0, done.stderr
    run("gpgconf", "--homedir", home, "--kill", "all")
    (repository / "fairlead.asc").write_bytes(key)


@pytest.mark.parametrize(
    ("change", "at_update", "said"),
    [
        (change_package, False, "Hash Sum mismatch"),
        (newer_package, True, "Hash Sum mismatch"),
        (change_release, True, "signatures were invalid: BADSIG"),
        (drop_signature, True, "is not signed"),
        (other_key, True, "NO_PUBKEY"),
    ],
)
def test_apt_refuses_what_was_changed(
    signed: tuple[Path, Apt], change: Callable[[Path], None], at_update: bool, said: str
) -> None:
    repository, apt = signed
    change(repository)
    updated = apt.update()
    assert (updated.returncode != 0) == at_update, updated.stderr
    done = updated if at_update else apt.download("fairlead-dummy")
    assert done.returncode != 0
    assert said in done.stdout + done.stderr
    assert not list((apt.folder / "here").glob("*.deb"))


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([], "wrong arguments ''; allowed: FOLDER KEY"),
        (["."], "wrong arguments '.'; allowed: FOLDER KEY"),
        (["empty", "key"], "empty has no *.deb: run scripts/package"),
        (["full", "nobody"], "GnuPG has no secret key 'nobody'"),
    ],
)
def test_what_cannot_be_signed_is_named(tmp_path: Path, monkeypatch, arguments: list[str], said: str) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "a.deb").touch()
    (tmp_path / "gnupg").mkdir(mode=0o700)
    monkeypatch.chdir(tmp_path)
    done = run(ROOT / "scripts" / "sign-packages", *arguments, GNUPGHOME=str(tmp_path / "gnupg"))
    assert done.returncode == 1
    assert said in done.stderr
    assert not (tmp_path / "full" / "repository").exists()
