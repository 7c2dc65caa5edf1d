# SPDX-License-Identifier: Apache-2.0
"""
scripts/install-deps leaves no service enabled that it has installed, and leaves those alone that were there before.
What it installs for the demo is all that the demo needs, and nothing of tests. It takes one option at most.

Runs the script with a package manager that only adds unit files, among units of its own.
"""

import ast
import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
SCRIPT = ROOT / "scripts/install-deps"

# Every package is installed except those of a pattern.
DPKG_QUERY = r"""#!/bin/sh
for last; do :; done
case $last in {missing}) exit 1 ;; esac
case "$*" in *Package*) echo "installed $last" ;; *Version*) echo "installed 1:10.0" ;; *) printf installed ;; esac
"""
# Installing adds each package's service and enables it, as Debian's packages do.
APT_GET = r"""#!/bin/sh
[ "$1" = install ] || exit 0
for package; do
  case $package in dpdk) service=dpdk ;; nginx-light) service=nginx ;; *) continue ;; esac
  printf '[Service]\nExecStart=/bin/true\n[Install]\nWantedBy=multi-user.target\n' >/lib/systemd/system/$service.service
  systemctl --root=/ --quiet enable $service.service
done
"""
# The machine's own units, init scripts and policy-rc.d stay out of reach.
APART = r"""
set -e
for folder in /etc/systemd/system /lib/systemd/system /etc/init.d; do mount -t tmpfs tmpfs $folder; done
mount -t tmpfs tmpfs "$1" && mkdir "$1/upper" "$1/work"
mount -t overlay overlay -o lowerdir=/usr/sbin,upperdir="$1/upper",workdir="$1/work" /usr/sbin
for unit in $2; do
  printf '[Service]\nExecStart=/bin/true\n[Install]\nWantedBy=multi-user.target\n' >/lib/systemd/system/$unit.service
  systemctl --root=/ --quiet enable $unit.service
done
tools=$3
shift 3
PATH=$tools:$PATH "$@"
echo enabled: $(systemctl --root=/ list-unit-files --state=enabled --no-legend --plain '*.service' | cut -d' ' -f1)
"""
# The package of each command that lab/build or the lab runs, or that the lab prints; None: every machine has it.
PACKAGE_OF = {
    "meson": "meson",
    "ninja": "ninja-build",
    "mvn": "maven",
    "ip": "iproute2",
    "ethtool": "ethtool",
    "nsenter": None,
    "ss": "iproute2",
    "nginx": "nginx-light",
    "mptcpize": "mptcpize",
    "vtysh": "frr",
    "java": "openjdk-17-jdk-headless",
    "curl": "curl",
}


def run(tmp_path: Path, before: str, *options: str, missing: str = "dpdk|nginx-light") -> subprocess.CompletedProcess:
    """Prints what the script says, and the services that are then enabled."""
    tools, layer = tmp_path / "tools", tmp_path / "layer"
    tools.mkdir()
    layer.mkdir()
    for name, text in (("dpkg-query", DPKG_QUERY.replace("{missing}", missing)), ("apt-get", APT_GET)):
        (tools / name).write_text(text)
        (tools / name).chmod(0o755)
    command = ["unshare", "--mount", "sh", "-c", APART, "sh", layer, before, tools, SCRIPT, *options]
    return subprocess.run(command, text=True, capture_output=True, timeout=120, check=False)


def install(tmp_path: Path, before: str, *options: str, **more: str) -> list[str]:
    done = run(tmp_path, before, *options, **more)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


@pytest.mark.parametrize(
    ("before", "enabled", "disabled"),
    [
        ("", "", ["dpdk", "nginx"]),
        ("frr prometheus", "frr.service prometheus.service", ["dpdk", "nginx"]),
        ("nginx", "nginx.service", ["dpdk"]),
        ("dpdk nginx", "dpdk.service nginx.service", []),
    ],
)
def test_only_what_is_new_is_disabled(tmp_path: Path, before: str, enabled: str, disabled: list[str]) -> None:
    said = install(tmp_path, before)
    assert "install-deps: installing nginx-light dpdk" in said
    assert re.findall(r"^install-deps: disabled (\w+), newly installed", "\n".join(said), re.M) == disabled
    assert said[-1] == f"enabled: {enabled}".rstrip()


def test_the_demo_needs_no_package_of_tests(tmp_path: Path) -> None:
    said = install(tmp_path, "", "--demo", missing="*")
    assert said[0].startswith("install-deps: installing ")
    installed = set(said[0].split()[2:])
    assert installed and not installed & (array("test_packages") | array("module_packages"))
    assert not [line for line in said if "Python" in line]
    assert said[-1] == "enabled:"


def test_the_demo_needs_no_other_package(tmp_path: Path) -> None:
    installed = set(install(tmp_path, "", "--demo", missing="*")[0].split())
    [commands] = re.findall(r"^COMMANDS = (.*)$", (ROOT / "lab/build.py").read_text(), re.M)
    for command in ("meson", "ninja", "mvn", *ast.literal_eval(commands), "curl"):
        package = PACKAGE_OF[command]
        assert package is None or package in installed, command


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (["--demo", "--p4-compiled"], "'--demo --p4-compiled' is more than one option"),
        (["--demo", "--arm64"], "'--demo --arm64' is more than one option"),
        (["--p4-compiled", "--packages"], "'--p4-compiled --packages' is more than one option"),
        (["--list", "--demo"], "'--list --demo' is more than one option"),
        (["--no-module"], "unknown option '--no-module'"),
    ],
)
def test_options_that_are_refused(tmp_path: Path, options: list[str], sentence: str) -> None:
    done = run(tmp_path, "", *options)
    allowed = "allowed: none, or one of --list, --demo, --p4-compiled, --packages, --debian-zookeeper, --arm64"
    assert (done.returncode, done.stderr, done.stdout) == (1, f"install-deps: {sentence}; {allowed}\n", "")


def array(name: str) -> set[str]:
    """The words of an array of the script."""
    [text] = re.findall(rf"^{name}=\(([^)]*)\)", SCRIPT.read_text(), re.M)
    return set(re.sub(r"#.*", "", text).split())
