/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Builds a pipeline of the program, by one of two ways. Interpreted: DPDK executes the instructions of the .spec one by
 * one. Compiled: it calls C functions that it made of them when this program was built (compiled.h).
 */
#ifndef FAIRLEAD_P4_COMPILED_BUILD_H
#define FAIRLEAD_P4_COMPILED_BUILD_H

#include <stdio.h>

#include <rte_swx_pipeline.h>

#include "config/reason.h"
#include "ends.h"

/* Of the .spec, with these ports and the hash function siphash. *out is the caller's. Negative errno and why. */
int p4_build_interpreted(struct rte_swx_pipeline **out, const char *name, const struct p4_ends *ends, FILE *spec,
			 struct reason *why);

/* Of the mux.spec that this program was built with. */
int p4_build_compiled(struct rte_swx_pipeline **out, const char *name, const struct p4_ends *ends, struct reason *why);

#endif
