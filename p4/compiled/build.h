/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Builds a pipeline of the program, and runs it by one of two ways. Interpreted: DPDK executes the instructions of the
 * .spec one by one. Compiled: C of them runs in their place, on the same registers and tables (compiled.h).
 */
#ifndef FAIRLEAD_P4_COMPILED_BUILD_H
#define FAIRLEAD_P4_COMPILED_BUILD_H

#include <stdio.h>

#include <rte_swx_pipeline.h>

#include "config/reason.h"
#include "ends.h"

/* mux.spec, as the build has put it here (spec_text.py). */
extern const char spec_text[];
extern const unsigned spec_text_len;

/* Of the .spec, with these ports and the hash function siphash. *out is the caller's. Negative errno and why. */
int p4_build_interpreted(struct rte_swx_pipeline **out, const char *name, const struct p4_ends *ends, FILE *spec,
			 struct reason *why);

/* Of the mux.spec that this program was built with. */
int p4_build_compiled(struct rte_swx_pipeline **out, const char *name, const struct p4_ends *ends, struct reason *why);

/* Of a compiled pipeline: takes all packets that its input ports have through it. */
void p4_run_compiled(struct rte_swx_pipeline *pipeline);

#endif
