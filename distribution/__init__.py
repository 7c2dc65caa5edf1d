# SPDX-License-Identifier: Apache-2.0
"""What the Debian packages have besides the programs; debian/ says what goes into which."""
