# SPDX-License-Identifier: Apache-2.0
"""How sure a count of breaks is: the highest chance of a break that explains so few of them with 5 % probability.

It is the upper bound of Clopper and Pearson ("The use of confidence or fiducial limits illustrated in the case of the
binomial", Biometrika 26, 1934), one-sided at 95 %. Without a break it is 1 - 0.05^(1/n), or about 3/n. It assumes that
connections break independently of each other. jepsen/bounds.edn pins it, also in the runners in Go and Clojure.
"""

import math

RISK = 0.05
STEPS = 60  # of halving: more than a double's digits


def at_most(broke: int, connections: int) -> float:
    """The chance p for which `broke` or fewer of so many connections break with probability RISK; 1 if all did."""
    if not 0 <= broke <= connections:
        raise ValueError(f"{broke} of {connections} connections broke; allowed: 0 to all of them")
    if broke == connections:
        return 1.0
    low, high = 0.0, 1.0
    for _ in range(STEPS):
        middle = (low + high) / 2
        if _probability(broke, connections, middle) > RISK:
            low = middle
        else:
            high = middle
    return high


def _probability(broke: int, connections: int, chance: float) -> float:
    """That at most so many break, 0 < chance < 1. In logarithms, as (1 - chance)^connections may be too small."""
    term = connections * math.log1p(-chance)
    total = math.exp(term)
    for count in range(1, broke + 1):
        term += math.log((connections - count + 1) / count) + math.log(chance) - math.log1p(-chance)
        total += math.exp(term)
    return total
