# SPDX-License-Identifier: Apache-2.0
"""A fresh rack for every test."""

import contextlib
import pathlib
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).parents[3] / "protocol" / "vectors"))  # the oracle of the test vectors

import rack as racks


@pytest.fixture
def rack():
    with contextlib.ExitStack() as undo:
        yield racks.Rack(undo)


@pytest.fixture(params=["af_xdp", "af_packet"])
def port(request):
    return f"{request.param}:{racks.INSIDE}"
