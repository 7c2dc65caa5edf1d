# SPDX-License-Identifier: Apache-2.0
"""What `nodes list -o json` prints (jepsen/README.md describes it), and what faults read of programs' answers."""

from typing import NotRequired, TypedDict


class Health(TypedDict, total=False):
    """/healthz of a controller or a mux."""

    leader: bool
    leaderUrl: str
    status: str
    registered: bool
    zookeeper: bool
    services: dict[str, str]  # and their states


class AgentState(TypedDict):
    """An agent as a controller lists it, for a service."""

    address: str
    state: str
    version: NotRequired[str]
    openedPerSecond: NotRequired[float]


class ZooKeeperAccess(TypedDict):
    connect: str
    scheme: str | None
    login: str | None  # a file


class About(TypedDict):
    """The whole cluster."""

    switch: str | None
    service: str
    vip: str
    port: int
    zookeeper: ZooKeeperAccess
    token: str | None  # a file


class Described(TypedDict):
    """A node."""

    node: str
    address: str
    roles: list[str]
    programs: dict[str, str]  # and their states
    rest: NotRequired[str]
    http: NotRequired[str]
    show: NotRequired[str]


class Listing(About):
    instance: str
    over: str
    nodes: list[Described]
