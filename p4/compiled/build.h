/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Builds a pipeline of the program, which DPDK runs by executing the instructions of the .spec one by one. Or C of them
 * runs in their place, on the same registers and tables (compiled.h).
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

#endif
