/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Builds a DPDK SWX pipeline from a .spec as p4c-dpdk writes it. DPDK 22.11 has no public function for that. What
 * muxes need is read: structs, headers, metadata, register arrays, actions, tables of exact matches, instructions;
 * any other word is an error with its line.
 */
#ifndef FAIRLEAD_P4_SPEC_H
#define FAIRLEAD_P4_SPEC_H

#include <stdio.h>

#include <rte_swx_pipeline.h>

#include "config/reason.h"

/* The pipeline has its ports, and nothing else yet. Negative errno and why. */
int spec_build(struct rte_swx_pipeline *pipeline, FILE *spec, struct reason *why);

#endif
