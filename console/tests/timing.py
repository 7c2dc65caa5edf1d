# SPDX-License-Identifier: Apache-2.0
"""How long a page takes, as its user sees it: until it has drawn what was asked for.

A sample ends with the second animation frame behind the change, so that layout and paint are in it. For the first page
the clock starts with the navigation; it ends when the table of backends has rows.
"""

import statistics
from dataclasses import dataclass

from console.tests.browser import Visit

FIRST_PAGE_MS = 2_000
REACTION_MS = 100
FREEZE_MS = 250  # of which a person notices that the page did not react
STEPS = 30

# Counts from the input until two frames later, as then the frame with the change is on the screen.
REACTIONS = """async ([what, steps]) => {
    const frame = () => new Promise(requestAnimationFrame);
    const box = document.querySelector('.table-box:has(table[aria-rowcount])');
    const filter = document.querySelector('.table input[type=search]');
    const taken = [];
    for (let step = 0; step < steps; step++) {
        await frame();
        const begun = performance.now();
        if (what === 'scroll') {
            box.scrollTop = Math.floor((box.scrollHeight - box.clientHeight) * ((step * 7919) % steps) / steps);
        } else {
            filter.value = ['1', '12', '10.200.3', '', '77', 'zz', '10.200.255.25'][step % 7];
            filter.dispatchEvent(new Event('input', {bubbles: true}));
        }
        await frame();
        await frame();
        taken.push(performance.now() - begun);
    }
    return taken;
}"""


@dataclass(frozen=True)
class Timing:
    first_page: float  # milliseconds
    scroll: list[float]
    filter: list[float]

    def line(self) -> str:
        def said(name: str, values: list[float]) -> str:
            return f"{name}: median {statistics.median(values):.0f} ms, slowest {max(values):.0f} ms"

        return f"first page {self.first_page:.0f} ms; {said('scroll', self.scroll)}; {said('filter', self.filter)}"


def measure(visit: Visit, service: str, rows: int) -> Timing:
    """Of the service's page: `rows` are those that its table must have."""
    visit.page.goto("about:blank")
    visit.page.goto(f"{visit.url}/#/service/{service}", wait_until="commit")
    table = visit.page.locator(f'table[aria-rowcount="{rows + 1}"] tbody tr:not(.gap)')
    table.first.wait_for(timeout=120_000)
    first = visit.page.evaluate("() => new Promise(done => requestAnimationFrame(() => done(performance.now())))")
    return Timing(
        first,
        visit.page.evaluate(REACTIONS, ["scroll", STEPS]),
        visit.page.evaluate(REACTIONS, ["filter", STEPS]),
    )


# The longest times for which the page's thread was busy at once: whatever a person does then has to wait.
BUSY = """async (millis) => {
    const found = [];
    const observer = new PerformanceObserver(list => list.getEntries().forEach(each => found.push(each.duration)));
    observer.observe({type: 'longtask'});
    await new Promise(done => setTimeout(done, millis));
    observer.disconnect();
    return found;
}"""


def busy(visit: Visit, route: str, shown: str, seconds: float) -> list[float]:
    """Milliseconds of each task above 50 ms while a page is watched; `shown` are words that it has once it is drawn."""
    visit.open(route)
    visit.page.locator("#main").get_by_text(shown).first.wait_for(timeout=60_000)
    return visit.page.evaluate(BUSY, 1000 * seconds)
