# SPDX-License-Identifier: Apache-2.0
"""What jepsen/bin is made of: a cluster's nodes and programs, and what is done to them."""
