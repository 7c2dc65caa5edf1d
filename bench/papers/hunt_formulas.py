# SPDX-License-Identifier: Apache-2.0
"""6LB's analytic model (its section V): response times and load under SC and SRc, with infinitely many servers.

Each server answers one query after the other, work is exponential with mean 1, arrivals are Poisson of rate `load` a
server. c = 0 is one choice (SC).
"""

import functools
import math

TAIL = 1e-15


def at_least_c(load, c):
    """s_c, the part of servers with c queries or more: equation (5) without its spurious root (1 - load) / load.

    With u = load (1 + s_c), equation (5) is (u - load)(1 + load - u) = load (1 - load) u^c. The spurious root is u = 1;
    without it load (1 - load) (1 + u + ... + u^(c-1)) + u = 2 load remains, whose left side only rises.
    """
    low, high = load, 2 * load
    for _ in range(100):
        u = (low + high) / 2
        if load * (1 - load) * sum(u**i for i in range(c)) + u < 2 * load:
            low = u
        else:
            high = u
    return low / load - 1


@functools.lru_cache
def at_least(load, c):
    """s_0, s_1, ...: the part of servers with n queries or more, until it is negligible; equations (3) and (4)."""
    states = [1.0]
    if c == 0:
        while states[-1] > TAIL:
            states.append(states[-1] * load)
        return tuple(states)
    accepted = at_least_c(load, c)
    for _ in range(c):
        states.append(load * (states[-1] * (1 + accepted) - accepted))
    states[c] = accepted
    while states[-1] > TAIL:
        states.append(states[-1] * load * accepted)
    return tuple(states)


def mean(load, c):
    """Mean response time, by Little's law."""
    return sum(at_least(load, c)[1:]) / load


def equation6(load, c):
    """The same as the paper writes it, where load (1 + s_c) is not 1."""
    s = at_least_c(load, c)
    return (1 - c * s * (1 - load * s) - load * s * (1 + s)) / ((1 - load * s) * (1 - load * (1 + s)))


def mean_with_delay(load, c, delay):
    """Equation (7): passing a connection on takes `delay`."""
    return mean(load, c) + (delay * at_least_c(load, c) if c else 0)


def fairness(load, c):
    """Jain's index of the numbers of queries at the servers."""
    states = at_least(load, c)
    squares = sum((2 * n - 1) * s for n, s in enumerate(states) if n)
    return sum(states[1:]) ** 2 / squares


def wrongly_passed(load, c):
    """Equation (8): passed on to a server that has more."""
    s = at_least_c(load, c)
    return load * s**3 / (1 + load * s)


def longer(load, c, time):
    """The part of queries that take longer than `time`.

    A query that finds k others takes k + 1 exponential times, the sum of which exceeds `time` if at most k events of a
    Poisson process fall into it; and it finds n or more with probability s_(n+1) / load.
    """
    term, total = math.exp(-time), 0.0
    for n, state in enumerate(at_least(load, c)[1:]):
        total += term * state / load
        term *= time / (n + 1)
    return total


def percentile(load, c, percent):
    low, high = 0.0, 1.0
    while longer(load, c, high) > 1 - percent / 100:
        high *= 2
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if longer(load, c, middle) > 1 - percent / 100 else (low, middle)
    return low


def servers_needed(limit, c):
    """Equation (11): servers under SRc per server under SC that keep 90 % of the responses below `limit`."""
    low, high = 0.0, 1.0
    for _ in range(40):
        middle = (low + high) / 2
        low, high = (middle, high) if percentile(middle, c, 90) < limit else (low, middle)
    return (1 - math.log(10) / limit) / low
