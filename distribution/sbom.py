#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""
Writes a Debian package's bill of materials in CycloneDX 1.6: what of others it has in it, and the Debian packages whose
libraries its programs are linked with, in the versions that they were built with.

The former comes from the lock files, so the build compared it with its hashes, and from what the jar says of libraries
that others have copied into their own, which have no hash; the latter from what dpkg-shlibdeps found. The time stamp
is SOURCE_DATE_EPOCH, and nothing is random: the same sources give the same file.

    distribution/sbom.py fairlead-mux --substvars debian/fairlead-mux.substvars --out sbom.cdx.json
    distribution/sbom.py fairlead-cli --jar controller/target/fairlead-controller.jar --out sbom.cdx.json
"""

import argparse
import base64
import datetime
import json
import os
import re
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any
from urllib.parse import quote

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "scripts"))
from locks import LockError, Package, locked  # noqa: E402

SCHEMA = "http://cyclonedx.org/schema/bom-1.6.schema.json"


def purl(kind: str, name: str, version: str, **qualifiers: str) -> str:
    """A package URL; name is with its group or scope, by `/`."""
    more = "&".join(f"{key}={quote(value, safe='')}" for key, value in sorted(qualifiers.items()) if value)
    return f"pkg:{kind}/{quote(name, safe='/')}@{quote(version, safe='')}{'?' if more else ''}{more}"


def component(url: str, name: str, version: str, **more: Any) -> dict[str, Any]:
    return {"type": "library", "bom-ref": url, "name": name, "version": version, "purl": url, **more}


def from_maven(package: Package) -> dict[str, Any]:
    group, name = package.name.split(":")
    url = purl("maven", f"{group}/{name}", package.version, classifier=package.classifier)
    return component(url, name, package.version, group=group, hashes=[{"alg": "SHA-256", "content": package.digest}])


def from_npm(package: Package) -> dict[str, Any]:
    group, _, name = package.name.rpartition("/")
    algorithm, _, digest = package.digest.partition("-")
    hashes = [{"alg": algorithm.upper().replace("SHA", "SHA-"), "content": base64.b64decode(digest).hex()}]
    more = {"group": group} if group else {}
    return component(purl("npm", package.name, package.version), name, package.version, **more, hashes=hashes)


def bundled(jar: Path) -> list[dict[str, Any]]:
    """What the jar has in it, with the console."""
    shipped = [package for package in locked(ROOT) if package.role == "program" and package.lock != "jepsen/maven.lock"]
    makers = {"Maven": from_maven, "npm": from_npm}
    found = {entry["bom-ref"]: entry for entry in (makers[package.ecosystem](package) for package in shipped)}
    with zipfile.ZipFile(jar) as files:
        for name in files.namelist():
            if re.fullmatch(r"META-INF/maven/.*/pom\.properties", name):
                own = dict(re.findall(r"^(\w+)=(\S+)", files.read(name).decode(), re.MULTILINE))
                group, artifact, version = own["groupId"], own["artifactId"], own["version"]
                url = purl("maven", f"{group}/{artifact}", version)
                if group != "io.fairlead" and not any(url == ref.partition("?")[0] for ref in found):
                    found[url] = component(
                        url, artifact, version, group=group, description="copied into another library"
                    )
    return list(found.values())


def linked(substvars: str) -> list[dict[str, Any]]:
    """Debian packages of a substvars file's dependencies, as they are installed here."""
    names = set()
    for line in substvars.splitlines():
        if line.startswith("shlibs:Depends="):
            names |= {
                re.split(r"[ (|]", entry.strip())[0] for entry in line.partition("=")[2].split(",") if entry.strip()
            }
    found = []
    for name in sorted(name for name in names if not name.startswith("fairlead")):
        form = "${db:Status-Status} ${Version} ${Architecture}\n"
        done = subprocess.run(["dpkg-query", "-W", "-f", form, name], capture_output=True, text=True, check=False)
        installed = [line.split() for line in done.stdout.splitlines() if line.startswith("installed ")]
        if not installed:
            raise LockError(f"the Debian package {name} is not installed, so the version of its library is unknown")
        _, version, architecture = installed[0]
        url = purl("deb", f"debian/{name}", version, arch=architecture, distro="debian-12")
        found.append(component(url, name, version, scope="required"))
    return found


def document(package: str, version: str, parts: list[dict[str, Any]], epoch: int) -> dict[str, Any]:
    components = sorted(parts, key=lambda entry: entry["purl"])
    own = purl("deb", f"fairlead/{package}", version)
    stamp = datetime.datetime.fromtimestamp(epoch, datetime.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    about = {"type": "application", "bom-ref": own, "name": package, "version": version, "purl": own}
    about["licenses"] = [{"license": {"id": "Apache-2.0"}}]
    return {
        "$schema": SCHEMA,
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {"timestamp": stamp, "component": about},
        "components": components,
        "dependencies": [{"ref": own, "dependsOn": [entry["bom-ref"] for entry in components]}],
    }


def main() -> int:
    parser = argparse.ArgumentParser(allow_abbrev=False)
    parser.add_argument("package")
    parser.add_argument("--substvars", type=Path, help="dpkg-shlibdeps' result")
    parser.add_argument("--jar", type=Path, help="the controller's, if the package has it")
    parser.add_argument("--out", type=Path, required=True)
    options = parser.parse_args()
    epoch = os.environ.get("SOURCE_DATE_EPOCH", "")
    if not re.fullmatch(r"\d{1,11}", epoch):
        print(f"sbom: SOURCE_DATE_EPOCH is '{epoch}', must be seconds since 1970", file=sys.stderr)
        return 2
    try:
        parts = linked(options.substvars.read_text()) if options.substvars else []
        parts += bundled(options.jar) if options.jar else []
        made = document(options.package, (ROOT / "VERSION").read_text().strip(), parts, int(epoch))
    except (LockError, OSError, zipfile.BadZipFile) as error:
        print(f"sbom: {error}", file=sys.stderr)
        return 1
    options.out.parent.mkdir(parents=True, exist_ok=True)
    options.out.write_text(json.dumps(made, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
