# SPDX-License-Identifier: Apache-2.0
"""The rows of each vector file: inputs are chosen here, results come from the oracle."""
