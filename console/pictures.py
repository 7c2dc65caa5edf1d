# SPDX-License-Identifier: Apache-2.0
"""Pictures of the console for the documents: a lab with traffic, a change under way, and each page as it shows them.

Brings up a lab of its own, as the tests do; run lab/build before, and this as root.
"""

import argparse
import io
import sys
from pathlib import Path

from PIL import Image

from console.tests.browser import Visit, chromium
from console.tests.conftest import VARIANT, origins, url
from lab import Lab, interrupt
from lab.deadline import LabError
from lab.lab import SERVICE
from lab.tokens import OPERATOR

ROOT = Path(__file__).resolve().parents[1]
SIZE = {"width": 1280, "height": 860}
WATCHED_SECONDS = 25  # so that charts have lines
COLOURS = 128
PAGES = {
    "overview": ("overview", "light"),
    "service": (f"service/{SERVICE}", "light"),
    "explain": ("explain?flow=tcp 10.2.1.2:40001 10.99.0.1:80", "light"),
    "muxes": ("muxes", "dark"),
    "audit": ("audit", "light"),
    "change": (f"change/{SERVICE}", "light"),
}


def change(visit: Visit) -> None:
    """A plan that is drawn and not applied."""
    visit.page.get_by_label("Weight of backend 3").fill("40")
    visit.page.get_by_label("Weight of backend 4").fill("140")
    visit.page.get_by_label("Full buckets that would lose a former owner").select_option("force")
    visit.page.get_by_role("button", name="Plan 2 changes").click()
    visit.page.get_by_text("Buckets that move").wait_for()
    visit.page.get_by_role("region", name="Plan").evaluate("plan => plan.scrollIntoView({block: 'end'})")


def sample(visit: Visit) -> None:
    """Packets below the explanation."""
    visit.page.get_by_label("Seconds", exact=True).fill("2")
    visit.page.get_by_role("button", name="Start").click()
    visit.page.get_by_role("region", name="Packets").get_by_role("link", name="service").first.wait_for()


def save(picture: bytes, path: Path) -> None:
    """With a palette, which is a third of the size; pages have few colours, and their letters shades of these."""
    image = Image.open(io.BytesIO(picture)).convert("RGB")
    image.quantize(COLOURS, dither=Image.Dither.NONE).save(path, optimize=True)


def take(lab: Lab, out: Path, names: list[str]) -> None:
    with chromium(lab.runner.namespace, lab.runner.directory) as browser:
        for name in names:
            route, theme = PAGES[name]
            path = out / f"console-{name}.png"
            with Visit(browser, url(lab.controller), origins(lab), color_scheme=theme, viewport=SIZE) as visit:
                visit.open()
                visit.log_in(OPERATOR)
                visit.open(route)
                if name == "change":
                    change(visit)
                if name == "explain":
                    sample(visit)
                visit.page.wait_for_timeout(1000 * (WATCHED_SECONDS if name in ("overview", "service", "muxes") else 3))
                save(visit.page.screenshot(), path)
            print(f"{path}: {path.stat().st_size / 1000:.0f} kB")


def main() -> int:
    parser = argparse.ArgumentParser(prog="console/screenshots", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--out", type=Path, default=ROOT / "docs" / "pictures", help="(%(default)s)")
    parser.add_argument("--only", choices=PAGES, action="append", help="this page, and no other; may be repeated")
    options = parser.parse_args()
    interrupt.listen()
    options.out.mkdir(parents=True, exist_ok=True)
    with Lab(servers=5, muxes=2, window=120, variant=VARIANT) as lab:
        lab.wait_reporting(60)
        with lab.traffic(long=160, interval=0.4, short_rate=20) as traffic:
            traffic.wait_open()
            lab.weights({1: 160, 4: 60})
            lab.api("POST", f"/v1/services/{SERVICE}/drains", {"ids": [5]})
            lab.wait_applied()
            traffic.wait_seconds(3)
            take(lab, options.out, options.only or list(PAGES))
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except LabError as error:
        sys.exit(f"console/screenshots: {error}")
    except interrupt.Interrupted as interrupted:
        sys.exit(interrupted.exit_code)
