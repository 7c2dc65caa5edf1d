/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* As much of the kernel's own <linux/types.h> as the protocol's headers may rely on; the userspace one has no bool. */
#ifndef FAIRLEAD_TESTS_KERNEL_LINUX_TYPES_H
#define FAIRLEAD_TESTS_KERNEL_LINUX_TYPES_H

typedef unsigned char __u8;
typedef unsigned short __u16;
typedef unsigned int __u32;
typedef unsigned long long __u64;
typedef _Bool bool;

enum { false = 0, true = 1 };

#endif
