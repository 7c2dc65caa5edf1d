# SPDX-License-Identifier: Apache-2.0
"""The test client: a process of its own in a client's namespace, which counts what a user would notice.

    python3 -m lab.client load  …    long-lived and short connections, statistics every second
    python3 -m lab.client flows …    one connection for each given source address and port: who answered?
    python3 -m lab.client flood …    a bounded SYN flood

Everything it finds goes to standard output, one JSON object a line. It ends when its standard input does.
"""
