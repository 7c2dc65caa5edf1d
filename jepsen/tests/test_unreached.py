# SPDX-License-Identifier: Apache-2.0
"""A host that SSH does not reach at once, as when a fault loses packets: only the connection is tried again."""

from pathlib import Path

import pytest

from jepsen.faults import ssh_cluster
from jepsen.faults.ssh_cluster import ATTEMPTS, SshCluster
from lab.deadline import LabError

# It fails as often as `fails` says, then ends with `code`; it keeps what it was given.
SSH = """\
#!/bin/sh
cd {folder} || exit 1
echo "$(cat)" >>tried
if [ "$(wc -l <tried)" -le {fails} ]; then
  echo "{says}" >&2
  exit 255
fi
echo done
exit {code}
"""
RESET = "kex_exchange_identification: read: Connection reset by peer"
REFUSED = "ssh: connect to host 10.0.0.11 port 22: Connection refused"
BANNER = "Connection timed out during banner exchange"


@pytest.mark.parametrize(
    ("says", "fails", "code", "tries", "error"),
    [
        (RESET, 0, 0, 1, None),
        (RESET, 2, 0, 3, None),
        (REFUSED, 1, 0, 2, None),
        (BANNER, ATTEMPTS - 1, 0, ATTEMPTS, None),
        (RESET, ATTEMPTS, 0, ATTEMPTS, f"mux1: 'nft -f -' failed with 255: {RESET}"),
        (RESET, 1, 7, 2, "mux1: 'nft -f -' failed with 7: done"),
        (RESET, 0, 255, 1, "mux1: 'nft -f -' failed with 255: done"),
        ("root@10.0.0.11: Permission denied (publickey).", 1, 0, 1, "failed with 255: root@10.0.0.11: Permission"),
        ("client_loop: send disconnect: Broken pipe", 1, 0, 1, "failed with 255: client_loop"),  # it may have begun
    ],
)
def test_only_the_connection_is_tried_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, says: str, fails: int, code: int, tries: int, error: str | None
) -> None:
    ssh = tmp_path / "ssh"
    ssh.write_text(SSH.format(folder=tmp_path, says=says, fails=fails, code=code))
    ssh.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    monkeypatch.setattr(ssh_cluster, "PAUSE_SECONDS", 0)
    described = {"hosts": {"mux1": "10.0.0.11"}, "service": "web", "vip": "10.99.0.1", "port": 80}
    cluster = SshCluster(described, "ssh")
    if error is None:
        assert cluster.run(cluster.node("mux1"), "nft", "-f", "-", stdin="rules") == "done\n"
    else:
        with pytest.raises(LabError) as refused:
            cluster.run(cluster.node("mux1"), "nft", "-f", "-", stdin="rules")
        assert error in str(refused.value)
    assert (tmp_path / "tried").read_text().split() == ["rules"] * tries
