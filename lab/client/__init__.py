# SPDX-License-Identifier: Apache-2.0
"""The test client: a process of its own in a client's namespace that counts what a user would notice.

    python3 -m lab.client load  …    long-lived, idle and short connections, statistics every second
    python3 -m lab.client flows …    one connection for each given source address and port: which server answered?
    python3 -m lab.client flood …    a bounded SYN flood

It reports on standard output, one JSON object a line, and ends when its standard input does.
"""
