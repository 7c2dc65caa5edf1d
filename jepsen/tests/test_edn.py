# SPDX-License-Identifier: Apache-2.0
"""Plain EDN, as the executables read it."""

import pytest

from jepsen.faults import edn
from lab.deadline import LabError


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("nil", None),
        ('[1 -2 3.5 1e3 true false :a-b "c\\"d\\n"]', [1, -2, 3.5, 1000.0, True, False, "a-b", 'c"d\n']),
        ("{:a {1 #{:x :y}}, ; why\n :b ()}", {"a": {1: frozenset({"x", "y"})}, "b": []}),
    ],
)
def test_edn(text: str, value: object) -> None:
    assert edn.parse(text) == value


@pytest.mark.parametrize("text", ["", "{:a}", "[1", "]", "1 2", '"open', "#inst 1", "sym", "{:a 1", ":"])
def test_edn_refuses(text: str) -> None:
    with pytest.raises(LabError, match="EDN:1: "):
        edn.parse(text)
