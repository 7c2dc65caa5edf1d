# SPDX-License-Identifier: Apache-2.0
"""The code behind jepsen/bin: a cluster's nodes and programs, and the faults on them."""
