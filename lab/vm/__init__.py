# SPDX-License-Identifier: Apache-2.0
"""Virtual machines to run the kernel module in, for the lab and for the module's own tests.

kernel.py has Debian's kernels and the module built for them, image.py the initramfs, machine.py QEMU and its command
line, channel.py runs commands inside (agent.c is the other end). debian.py has whole machines with systemd, for the
tests of the packages. None of it needs hardware support.
"""
