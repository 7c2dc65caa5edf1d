# SPDX-License-Identifier: Apache-2.0
"""A small datacenter in network namespaces of one machine; lab/topology.py draws it, lab/lab.py is its API."""

from lab.deadline import LabError
from lab.lab import Lab

__all__ = ["Lab", "LabError"]
