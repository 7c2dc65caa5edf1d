# SPDX-License-Identifier: Apache-2.0
"""One machine: the packages are installed, each unit runs as it is written, and removal leaves nothing behind.

Controller, mux and probe run together, with ZooKeeper inside the controller; then the server side and its agent in
the mux's place, since both want the interface's XDP hook.
"""

from collections.abc import Iterator
from pathlib import Path

import pytest

from distribution.machines import rack
from lab.deadline import until
from lab.vm import debian
from lab.vm.debian import shell
from lab.vm.machine import Machine

pytestmark = pytest.mark.long
ADDRESS = "10.1.0.11"
SECONDS = 900.0  # for what a JVM does
INSTALL = "DEBIAN_FRONTEND=noninteractive apt-get -y -q --no-install-recommends"
NAMES = " ".join(f"fairlead-{name}" for name in rack.WANTED)
# All files except logs, the state of apt, dpkg and ucf themselves, and this test's folder.
FILES = "find / -xdev -path /root -prune -o -path /tmp -prune -o -path '/var/log/*' -o -path '/var/lib/dpkg/*' -o"
FILES += " -path '/var/lib/apt/*' -o -path '/var/lib/ucf/*' -o -path '/var/cache/*' -o -path '/var/lib/systemd/*' -o"
FILES += " -print | sort"
USERS = "cut -d: -f1 /etc/passwd /etc/group | sort"
# What a user writes by docs/packages.md. The tokens' file has the digests of two tokens.
CONFIGURE = f"""
umask 077
openssl rand -hex 32 >token; openssl rand -hex 32 >/etc/fairlead/agent-token
digest() {{ tr -d '\\n' <$1 | sha256sum | cut -d' ' -f1; }}
cd /etc/fairlead
echo "admin admin sha256:$(digest /root/token)" >controller-secrets/tokens
echo "server1 server={ADDRESS} sha256:$(digest agent-token)" >>controller-secrets/tokens
printf '%s\\n' controllers:$(openssl rand -hex 16) readers:$(openssl rand -hex 16) >controller-secrets/zookeeper-auth
openssl rand -hex 16 >tag-key
for part in mux probe; do
  cp tag-key $part-secrets/
done
umask 022
C=/run/credentials/fairlead-controller.service/secret_
cat >>controller.env <<END
FAIRLEAD_CONTROLLER_ZOOKEEPER=embedded:/var/lib/fairlead/controller
FAIRLEAD_CONTROLLER_TOKENS=${{C}}tokens
FAIRLEAD_CONTROLLER_ZOOKEEPER_AUTH=${{C}}zookeeper-auth
JAVA_OPTS=-Xmx256m
END
M=/run/credentials/fairlead-mux.service/secret_
cat >>mux.env <<END
FAIRLEAD_MUX_ID=lb1
FAIRLEAD_MUX_ZOOKEEPER=127.0.0.1:2181
FAIRLEAD_MUX_PORT=af_xdp:eth0
FAIRLEAD_MUX_NO_HUGE=true
FAIRLEAD_MUX_MEMORY=128
FAIRLEAD_MUX_TAG_KEY=${{M}}tag-key
FAIRLEAD_MUX_ZOOKEEPER_AUTH=${{M}}zookeeper-auth
END
P=/run/credentials/fairlead-probe.service/secret_
cat >>probe.env <<END
FAIRLEAD_PROBE_ID=lb1
FAIRLEAD_PROBE_ZOOKEEPER=127.0.0.1:2181
FAIRLEAD_PROBE_ADDRESS={ADDRESS}
FAIRLEAD_PROBE_TAG_KEY=${{P}}tag-key
FAIRLEAD_PROBE_ZOOKEEPER_AUTH=${{P}}zookeeper-auth
END
echo INTERFACE=eth0 >>server.env
echo '{{"address": "{ADDRESS}", "peers": ["10.1.0.0/24"], "tagKeyFile": "/etc/fairlead/tag-key"}}' >server.json
cat >>agent.env <<END
CONTROLLERS=http://127.0.0.1:8080
ADDRESS={ADDRESS}
END
"""
API = 'curl -s -f -H "authorization: Bearer $(cat token)" http://127.0.0.1:8080/v1'
JSON = "-H 'content-type: application/json' -d"


@pytest.fixture(scope="module")
def machine(disks: tuple[debian.Disk, Path]) -> Iterator[Machine]:
    rack.bridge("alone")
    with debian.machine("lb1", Path("/run/alone"), *disks, [rack.tap("lb1-alone", "alone")], 1200) as machine:
        assert debian.started(machine) == "running"
        shell(machine, f"ip link set eth0 up; ip address add {ADDRESS}/24 dev eth0; apt-get update -q")
        yield machine
        assert machine.complaints() == []


@pytest.fixture(scope="module")
def before(machine: Machine) -> dict[str, str]:
    return {"files": shell(machine, FILES), "users": shell(machine, USERS)}


@pytest.fixture(scope="module")
def installed(machine: Machine, before: dict[str, str]) -> Machine:
    shell(machine, f"cd /srv/packages; {INSTALL} install {NAMES}", SECONDS)
    return machine


@pytest.fixture(scope="module")
def serving(installed: Machine) -> Machine:
    """Controller, mux and probe run, and a service exists."""
    shell(installed, CONFIGURE)
    shell(installed, "systemctl enable --now fairlead-controller", SECONDS)
    until("the controller leads", lambda: leads(installed), SECONDS, 5)
    shell(installed, "fairleadctl --token-file token mux add lb1 | sh", SECONDS)
    shell(installed, "systemctl enable --now fairlead-mux fairlead-probe", SECONDS)
    shell(installed, f"""{API}/cluster -X PUT {JSON} '{{"vipRanges": ["10.99.0.0/16"], "neverVips": []}}'""")
    service = '{"name": "web", "vips": ["10.99.0.1"], "ports": [{"protocol": "tcp", "port": 80}], "maxBackends": 4}'
    shell(installed, f"{API}/services {JSON} '{service}'")
    # of a server that is not there: a mux announces only what has an owner
    shell(installed, f"""{API}/services/web/backends/2 -X PUT {JSON} '{{"address": "10.1.0.99"}}'""")
    return installed


def test_installation_starts_nothing(installed: Machine) -> None:
    assert shell(installed, "systemctl list-units --all --no-legend 'fairlead*'") == ""
    assert (
        shell(installed, "systemctl is-enabled fairlead-{controller,mux,probe,server,agent} || true").split()
        == ["disabled"] * 5
    )
    assert shell(installed, "systemctl --failed --no-legend") == ""


def test_units_are_accepted(installed: Machine) -> None:
    assert shell(installed, "systemd-analyze verify /lib/systemd/system/fairlead-*.service") == ""


def test_secrets_are_for_root(installed: Machine) -> None:
    said = shell(installed, "stat -c '%a %U %n' /etc/fairlead/*-secrets")
    assert said.split("\n")[:-1] == [
        f"700 root /etc/fairlead/{part}-secrets" for part in ("controller", "mux", "probe")
    ]


def test_sysctls_and_modules_are_for_the_next_boot(installed: Machine) -> None:
    shell(installed, "systemctl restart systemd-sysctl systemd-modules-load")
    said = shell(installed, "cd /proc/sys/net/ipv4/conf/all; cat arp_ignore arp_announce send_redirects")
    assert said.split() == ["1", "2", "0"]
    assert "tun " in shell(installed, "lsmod")


def test_commands_and_pages(installed: Machine) -> None:
    for command in ("fairlead-mux", "fairlead-p4mux", "fairlead-probe", "fairlead-server", "fairlead-frr-config"):
        assert command in shell(installed, f"{command} --version")
    assert "fairleadctl" in shell(installed, "fairleadctl --version", SECONDS)
    assert shell(installed, "ls /usr/share/doc/fairlead-doc/docs/packages.md* /usr/share/man/man8/fairlead-mux.8*")


def test_controller_mux_and_probe_run(serving: Machine) -> None:
    metrics = "curl -s http://127.0.0.1:9108/metrics"
    until(
        "the mux serves, with its login",
        lambda: 'state="serving"} 1' in shell(serving, f"{metrics} | grep service_state || true"),
        SECONDS,
        5,
    )
    until("the mux is listed", lambda: '"id":"lb1"' in shell(serving, f"{API}/muxes || true"), SECONDS, 5)
    until(
        "the probe is registered",
        lambda: "registered 1" in shell(serving, "curl -s http://127.0.0.1:9109/metrics | grep registered || true"),
        SECONDS,
        5,
    )
    assert shell(serving, "systemctl is-active fairlead-{controller,mux,probe}").split() == ["active"] * 3
    until("the mux announces the VIP", lambda: shell(serving, "ip route show 10.99.0.1 proto 199"), SECONDS, 5)
    assert "prog/xdp" in shell(serving, "ip -details link show eth0")


@pytest.mark.parametrize("part", ["controller", "mux", "probe"])
def test_units_are_restricted(serving: Machine, part: str) -> None:
    """They run as users of their own, with a read-only system, and see their own secrets alone."""
    pid = shell(serving, f"systemctl show -P MainPID fairlead-{part}").strip()
    status = dict(
        line.split(":\t", 1) for line in shell(serving, f"cat /proc/{pid}/status").splitlines() if ":\t" in line
    )
    assert 61184 <= int(status["Uid"].split()[0]) <= 65519, "not of systemd's range of dynamic users"
    assert (status["NoNewPrivs"], status["Seccomp"]) == ("1", "2")
    bounds = {"controller": 0, "mux": 1 << 12 | 1 << 13 | 1 << 14 | 1 << 21, "probe": 1 << 12 | 1 << 13}
    assert int(status["CapBnd"], 16) == bounds[part]
    assert " / " in shell(serving, f"grep ' / / ro[, ]' /proc/{pid}/mountinfo")
    modes = shell(serving, f"stat -c %a /run/credentials/fairlead-{part}.service/secret_*").split()
    assert modes
    assert set(modes) <= {"400", "440"}
    user = f"setpriv --reuid {status['Uid'].split()[0]} --clear-groups"
    assert "Permission denied" in shell(serving, f"{user} cat /etc/fairlead/tag-key || true")


def leads(machine: Machine) -> bool:
    return '"leader":true' in shell(machine, "curl -s http://127.0.0.1:8080/healthz || true")


def pids(machine: Machine, *parts: str) -> dict[str, str]:
    said = shell(machine, f"for part in {' '.join(parts)}; do systemctl show -P MainPID fairlead-$part; done")
    return dict(zip(parts, said.split(), strict=True))


def test_upgrade_leaves_the_mux_alone(serving: Machine) -> None:
    """By the same version once more: dpkg runs the scripts of an upgrade. What no connection needs is restarted."""
    before = pids(serving, "controller", "mux", "probe")
    said = shell(serving, f"{INSTALL} --reinstall install fairlead-controller fairlead-mux", SECONDS)
    after = pids(serving, "controller", "mux", "probe")
    assert after["mux"] == before["mux"]
    assert "systemctl restart fairlead-mux" in said
    for part in ("controller", "probe"):
        assert after[part] not in ("0", before[part])
    until("the controller leads again", lambda: leads(serving), SECONDS, 5)


def test_server_and_agent_run(serving: Machine) -> None:
    """The mux ends in order; then the server side has the interface, and a reload keeps the program attached."""
    shell(serving, "systemctl disable --now fairlead-mux fairlead-probe")
    assert "prog/xdp" not in shell(serving, "ip -details link show eth0")
    shell(
        serving,
        "grep -v '^#' /usr/share/doc/fairlead-server/examples/60-fairlead-interface.conf"
        " >/etc/sysctl.d/60-fairlead-interface.conf; systemctl restart systemd-sysctl",
    )
    shell(serving, "systemctl enable --now fairlead-server fairlead-agent")
    assert "prog/xdp" in shell(serving, "ip -details link show eth0")
    shell(serving, "systemctl reload fairlead-server")
    assert '"tagRequired": true' in shell(serving, "fairlead-server show --interface eth0 -o json")
    shell(serving, f"""{API}/services/web/backends/1 -X PUT {JSON} '{{"address": "{ADDRESS}"}}'""")
    until(
        "the agent reports",
        lambda: '"state":"reporting"' in shell(serving, f"{API}/agents || true"),
        SECONDS,
        5,
    )
    assert shell(serving, "systemctl is-active fairlead-{server,agent}").split() == ["active"] * 2
    assert shell(serving, "systemctl --failed --no-legend") == ""


def test_upgrade_leaves_the_server_attached(serving: Machine) -> None:
    began = "systemctl show -P ActiveEnterTimestampMonotonic fairlead-server"
    before = (pids(serving, "agent"), shell(serving, began))
    shell(serving, f"{INSTALL} --reinstall install fairlead-server", SECONDS)
    assert shell(serving, began) == before[1], "the unit was restarted, not reloaded"
    assert pids(serving, "agent") not in (before[0], {"agent": "0"})
    assert '"tagRequired": true' in shell(serving, "fairlead-server show --interface eth0 -o json")


def test_removal_stops_and_detaches(serving: Machine) -> None:
    shell(serving, f"{INSTALL} remove {NAMES}", SECONDS)
    assert shell(serving, "systemctl list-units --no-legend 'fairlead*'") == ""
    assert "prog/xdp" not in shell(serving, "ip -details link show eth0")
    assert shell(serving, "cat /etc/fairlead/controller-secrets/tokens"), "removal keeps configuration and secrets"


def test_purge_leaves_nothing(serving: Machine, before: dict[str, str]) -> None:
    shell(serving, f"{INSTALL} purge {NAMES}; rm /etc/sysctl.d/60-fairlead-interface.conf", SECONDS)
    assert shell(serving, FILES).splitlines() == before["files"].splitlines()
    assert "fairlead" not in shell(serving, "cat /var/lib/ucf/hashfile /var/lib/ucf/registry")
    assert shell(serving, USERS) == before["users"]
    assert shell(serving, "systemctl --failed --no-legend") == ""
