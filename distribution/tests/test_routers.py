# SPDX-License-Identifier: Apache-2.0
"""FRR's configurations in docs/howto/routers.md and docs/operating.md, by FRR's own parser (vtysh)."""

import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


def block(page: str, begin: str) -> str:
    """The block of a page that has this text, without its fence."""
    text = (ROOT / "docs" / page).read_text()
    return next(found for found in re.findall(r"^```\w*\n(.*?)^```$", text, re.MULTILINE | re.DOTALL) if begin in found)


def parse(configuration: str, directory: Path) -> subprocess.CompletedProcess[str]:
    path = directory / "frr.conf"
    path.write_text(configuration)
    return subprocess.run(
        ["vtysh", "--dryrun", "--inputfile", path],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )


@pytest.mark.parametrize(
    ("page", "begin"),
    [("howto/routers.md", "bgp listen range"), ("operating.md", "redistribute kernel route-map VIPS")],
)
def test_frr_takes_what_a_page_shows(page: str, begin: str, tmp_path: Path) -> None:
    shown = block(page, begin)
    done = parse(shown, tmp_path)
    assert done.returncode == 0, done.stderr + done.stdout
    broken = parse(shown.replace("prefix-list NOTHING", "prefix-lost NOTHING"), tmp_path)
    assert broken.returncode != 0, "a wrong line is not noticed"
