# SPDX-License-Identifier: Apache-2.0
"""Tests of the console in Chromium. Failed assertions of its helpers are shown with their values."""

import pytest

pytest.register_assert_rewrite("console.tests.browser")
