# SPDX-License-Identifier: Apache-2.0
"""Virtual machines to run the kernel module in, for the lab and for the module's own tests.

kernel.py has Debian's kernels and the module built for them, image.py the initramfs, machine.py QEMU and its command
line, channel.py the way to run commands inside (its other end is agent.c). None of it needs hardware support.
"""
