/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A mux whose workers steer by tables of flows (flowtable.h), for the benchmarks mux, downloads and affinity. The
 * linker puts flowtable_steer() in the place of burst_steer() where workers call it (--wrap), so the mux needs no hook.
 *
 *	stateful_mux ... --flows N ...		as fairlead-mux
 *	still_stateful_mux --flows N ...	as still_mux (mux/tests/still.h)
 *
 * --flows N: how many flows of each family each worker's table has room for.
 */
#ifndef FAIRLEAD_BENCH_FLOWTABLE_MUX_H
#define FAIRLEAD_BENCH_FLOWTABLE_MUX_H

#include "threads/program.h"

/* The kind, once --flows N is taken out of the arguments; ends the program if they do not have it. */
const struct mux_kind *flowtable_mux(int *argc, char **argv);

#endif
