# SPDX-License-Identifier: Apache-2.0
"""Fault injection; see README.md."""
