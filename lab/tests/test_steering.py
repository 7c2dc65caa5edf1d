# SPDX-License-Identifier: Apache-2.0
"""Where connections go: shares by weight, and to the server that `explain` reports."""

import math
import random
from collections import Counter

import pytest

from lab import Lab
from lab.events import active
from lab.traffic import flows

CONNECTIONS = 20_000
WEIGHTS = (80, 90, 110, 120)
FLOWS = 1_000
DEVIATIONS = 5.5  # standard deviations: 4e-8 of a normal distribution is beyond


@pytest.fixture
def sources(session_lab: Lab) -> dict[str, str]:
    """A new source address for each client, with no port used so far. The last octet grows with each use."""
    fresh = {}
    for node in session_lab.clients:
        prefix = node.address.rpartition(".")[0]
        used = node.run("ip", "-brief", "address", "show", "dev", "eth0").split()[2:]
        fresh[node.name] = f"{prefix}.{10 + len(used)}"
        node.add_address(fresh[node.name])
    return fresh


def test_shares_follow_weights_over_20_000_connections(lab: Lab, sources: dict[str, str]) -> None:
    """Real connections, half from each client; the bound is exceeded by chance once in a million runs."""
    servers = active(lab)
    weights = {number: WEIGHTS[index % len(WEIGHTS)] for index, number in enumerate(servers)}
    lab.weights(weights)
    lab.wait_applied()
    each = CONNECTIONS // len(lab.clients)
    wanted = {name: [(address, port) for port in range(20_000, 20_000 + each)] for name, address in sources.items()}
    answers = flows(lab.clients, wanted, seconds=120)
    assert len(answers) == CONNECTIONS
    counted = Counter(answers.values())
    for number, weight in weights.items():
        share = weight / sum(weights.values())
        expected, deviation = CONNECTIONS * share, math.sqrt(CONNECTIONS * share * (1 - share))
        got = counted[lab.servers[number].name]
        assert (
            abs(got - expected) <= DEVIATIONS * deviation
        ), f"server{number}: {got} connections, by weight {expected:.0f}"


def test_explain_names_the_server_of_1_000_random_flows(lab: Lab, sources: dict[str, str]) -> None:
    seed = random.SystemRandom().getrandbits(32)
    print(f"seed {seed}")
    draw = random.Random(seed)
    lab.weights({number: draw.randrange(20, 200) for number in active(lab)})
    lab.wait_applied()
    wanted = {
        name: [(address, port) for port in draw.sample(range(1024, 65536), FLOWS // len(sources))]
        for name, address in sources.items()
    }
    answers = flows(lab.clients, wanted, seconds=60)
    assert len(answers) == FLOWS
    wrong = []
    for (address, port), server in answers.items():
        explained = [lab.explain(address, port)]
        explained += [lab.mux_explain(number, address, port) for number in lab.muxes]
        said = [f"server{explanation['current']['id']}" for explanation in explained]
        buckets = {(explanation["bucket"], explanation["hash"]) for explanation in explained}
        if set(said) != {server} or len(buckets) != 1:
            wrong.append(f"{address}:{port} was answered by {server}; controller and muxes say {said} {buckets}")
    assert not wrong, f"{len(wrong)} of {FLOWS}:\n" + "\n".join(wrong[:5])
