# SPDX-License-Identifier: Apache-2.0
"""What a count of breaks says of their chance: against the shared vectors, and against exact fractions."""

from fractions import Fraction
from math import comb

import pytest

from jepsen.faults import edn
from lab import build
from lab.bound import RISK, at_most

VECTORS = edn.load(build.ROOT / "jepsen" / "bounds.edn")["at-most"]


@pytest.mark.parametrize(("broke", "connections", "chance"), VECTORS)
def test_the_shared_vectors(broke: int, connections: int, chance: float) -> None:
    assert at_most(broke, connections) == pytest.approx(chance, rel=1e-9)


@pytest.mark.parametrize("connections", [1, 2, 7, 20])
def test_so_few_break_with_that_probability(connections: int) -> None:
    for broke in range(connections):
        chance = Fraction(at_most(broke, connections))
        exact = sum(comb(connections, k) * chance**k * (1 - chance) ** (connections - k) for k in range(broke + 1))
        assert float(exact) == pytest.approx(RISK, rel=1e-9)


def test_without_a_break_it_is_the_rule_of_three() -> None:
    for connections in (100, 8_304, 10_000_000):
        assert at_most(0, connections) == pytest.approx(1 - RISK ** (1 / connections), rel=1e-6)
        assert 0.98 * 3 / connections < at_most(0, connections) < 3 / connections


@pytest.mark.parametrize(("broke", "connections"), [(-1, 3), (4, 3), (0, -1)])
def test_impossible_counts_are_refused(broke: int, connections: int) -> None:
    with pytest.raises(ValueError, match=f"{broke} of {connections} connections broke; allowed: 0 to all of them"):
        at_most(broke, connections)
