# SPDX-License-Identifier: Apache-2.0
"""TAP of tests in Python."""

from collections.abc import Callable, Sequence


def tell(number: int, name: str, wrong: str) -> None:
    """One case: what is wrong with it, or nothing."""
    for line in wrong.splitlines():
        print(f"# {line}")
    print(f"{'not ok' if wrong else 'ok'} {number} - {name}", flush=True)


def run(cases: Sequence[tuple], test: Callable[[tuple], str]) -> int:
    """All cases, each with its name first; test returns what is wrong. Returns the exit code."""
    failed = 0
    print(f"1..{len(cases)}")
    for number, case in enumerate(cases, 1):
        wrong = test(case)
        tell(number, case[0], wrong)
        failed += bool(wrong)
    return 1 if failed else 0
