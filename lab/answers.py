# SPDX-License-Identifier: Apache-2.0
"""What programs of a lab answer, as JSON: the fields that the lab and its tests read."""

from typing import NotRequired, TypedDict


class Change(TypedDict):
    """One change of a service's pool, of an order to the controller."""

    op: str  # add, weight, remove
    id: int
    address: NotRequired[str]
    weight: NotRequired[int]


class Moved(TypedDict):
    """What a generation moves."""

    generation: int
    movedBuckets: int


class Backend(TypedDict):
    id: int
    address: str
    weight: int
    buckets: int


class Service(TypedDict):
    id: int
    name: str
    buckets: int
    generation: int


class AgentState(TypedDict):
    """What the controllers know of the agent of a service's backend."""

    service: str
    backend: int
    state: str
    established: NotRequired[int]


class HealthOfBackend(TypedDict, total=False):
    """Empty for one that is not checked."""

    backend: int
    state: str
    up: int
    down: int
    silent: int
    faults: dict[str, str]
    times: int
    returns: str


class HealthOfService(TypedDict):
    """While no controller leads, only that none acts."""

    acting: bool
    service: NotRequired[str]
    backends: NotRequired[list[HealthOfBackend]]


class Owner(TypedDict):
    id: int


class Steered(TypedDict):
    """Where a flow is steered, as a controller or a mux explains it."""

    bucket: int
    hash: str
    current: Owner
    former: list[Owner]


class ServerSide(TypedDict):
    """`fairlead-server show -o json`."""

    counters: dict[str, int]
    services: dict[str, object]  # by id


class Controlling(TypedDict, total=False):
    """/healthz of a controller; empty while it does not answer."""

    leader: bool
    leaderUrl: str


class Sample(TypedDict):
    """A series of Prometheus at one time."""

    metric: dict[str, str]
    value: tuple[float, str]
