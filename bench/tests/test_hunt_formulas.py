# SPDX-License-Identifier: Apache-2.0
"""6LB's analytic model: the formulas agree with each other, with the equilibrium, and with what the paper prints."""

import math

import pytest

from bench.papers import hunt_formulas as formulas

POINTS = [(load, c) for load in (0.05, 0.3, 0.5, 0.7, 0.88, 0.95, 0.99) for c in (1, 2, 4, 8, 16)]


@pytest.mark.parametrize(("load", "c"), POINTS)
def test_the_root_solves_equation_5_and_is_not_the_spurious_one(load: float, c: int):
    s = formulas.at_least_c(load, c)
    assert s * (1 - load * s) == pytest.approx((1 - load) * (load * (1 + s)) ** c, abs=1e-12)
    assert 0 <= s < load
    assert s != pytest.approx((1 - load) / load, rel=1e-6)


@pytest.mark.parametrize(("load", "c"), POINTS)
def test_servers_are_in_equilibrium(load: float, c: int):
    """Equation (2): as many servers come to have n queries as end to have them."""
    states = [*formulas.at_least(load, c), 0.0]
    for n in range(1, len(states) - 1):
        rate = load * (states[c] + (1 if n <= c else 0))
        arrive, leave = rate * (states[n - 1] - states[n]), states[n] - states[n + 1]
        assert arrive == pytest.approx(leave, abs=1e-9), n
    assert states[1] == pytest.approx(load, abs=1e-9)


@pytest.mark.parametrize(("load", "c"), POINTS)
def test_the_mean_is_equation_6(load: float, c: int):
    assert formulas.mean(load, c) == pytest.approx(formulas.equation6(load, c), rel=1e-6)


@pytest.mark.parametrize(("load", "c"), [(0.3, 2), (0.7, 1), (0.7, 4), (0.88, 4)])
def test_the_mean_is_that_of_the_distribution(load: float, c: int):
    step, most = 0.1, 40
    area = step * sum(formulas.longer(load, c, (n + 0.5) * step) for n in range(int(most / step)))
    assert area == pytest.approx(formulas.mean(load, c), rel=1e-3)


@pytest.mark.parametrize("load", [0.1, 0.5, 0.9])
def test_one_choice_is_a_plain_queue(load: float):
    assert formulas.mean(load, 0) == pytest.approx(1 / (1 - load))
    assert formulas.fairness(load, 0) == pytest.approx(load / (1 + load))
    assert formulas.percentile(load, 0, 90) == pytest.approx(math.log(10) / (1 - load))


def test_what_the_paper_prints():
    assert formulas.mean(0.982, 8) > formulas.mean(0.982, 4)
    assert formulas.mean(0.983, 8) < formulas.mean(0.983, 4)
    assert formulas.wrongly_passed(0.9, 4) < 0.045
    assert formulas.servers_needed(6, 4) == pytest.approx(0.71, abs=0.005)
    for load, c in POINTS:
        assert formulas.mean_with_delay(load, c, 1) <= 1 / (1 - load) + 1e-12  # Theorem 1
