/* SPDX-License-Identifier: Apache-2.0 */
/*
 * CAP_SYS_ADMIN, which it takes to open the XDP program's maps at the start and to find the program at the end. Threads
 * that read what others send, packets, HTTP, hellos and ZooKeeper's answers, have no use for it and give it up. The main
 * thread and DPDK's keep it: they read nothing from outside. Threads share memory, so this is no wall for code that is
 * run in one of them, but what that does by itself has no such right.
 */
#ifndef FAIRLEAD_MUX_PRIVILEGE_H
#define FAIRLEAD_MUX_PRIVILEGE_H

/* The calling thread loses it for good; `name` is for a report if that fails. */
void privilege_drop(const char *name);

#endif
