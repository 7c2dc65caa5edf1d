# SPDX-License-Identifier: Apache-2.0
"""Tests of the packages in virtual machines with Debian and systemd: scripts/test packages."""
