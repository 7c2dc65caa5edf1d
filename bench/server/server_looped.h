/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The hot loop: what a program costs a packet, with everything in the first-level cache. The kernel's repetition in
 * BPF_PROG_TEST_RUN hands the packet over as the program left it, and a delivered or chained one has another head then. So
 * server_loop.bpf.c puts it back each time and calls the program. What that costs is measured by an empty program in the
 * same way, and taken off.
 */
#ifndef FAIRLEAD_BENCH_SERVER_LOOPED_H
#define FAIRLEAD_BENCH_SERVER_LOOPED_H

#include "tests/packet.h"

struct looped;

/* Ends the program with a sentence if it cannot be loaded. */
struct looped *looped_open(void);
void looped_close(struct looped *looped);

/* Prepares the loop for a program and a packet; returns the program to run. */
int looped_prepare(struct looped *looped, int program, const struct packet *packet);

#endif
