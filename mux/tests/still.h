/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A static mux: the real ports, workers, neighbours and tables, with one service from the command line instead of
 * ZooKeeper. For tests and benchmarks of the packet side.
 *
 *	still_mux --port P [--port P] [--via N] [--workers N] [--exception yes] [--tag-key FILE] [--encap WORD]
 *		[--steering WORD] [--quic OFFSET:LENGTH] [--mss N] [--changes yes]
 *		[--pipeline MODE] [--memory N] VIP,... PORT BUCKETS BACKEND...
 *
 * The service has the port by TCP and by UDP; by TCP alone with --steering othello, and random arrays for a million
 * connections.
 *
 * --via N: all backends are reached by the N-th port, without asking the kernel (for ports unknown to it).
 * --pipeline interpreted|compiled: of the program with a P4 pipeline. --memory N: MB (256).
 * --changes yes: ten generations a second, of which each moves a tenth of the buckets.
 * --exception yes: raw ports get an exception port, as in fairlead-mux; benchmarks run without.
 * Prints {"ready": true} once packets flow. Each line on its standard input, and the end by SIGTERM or SIGINT, prints
 * one JSON object: what was counted since the last one, and in how many seconds.
 */
#ifndef FAIRLEAD_MUX_TESTS_STILL_H
#define FAIRLEAD_MUX_TESTS_STILL_H

#include "threads/program.h"

/* All of main: a mux of this kind, of which only open and close are used. */
int still_main(const struct mux_kind *kind, int argc, char **argv);

#endif
