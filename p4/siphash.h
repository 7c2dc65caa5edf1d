/* SPDX-License-Identifier: Apache-2.0 */
/* The hash function `siphash` of the P4 mux: SWX has none that a client can't compute. */
#ifndef FAIRLEAD_P4_SIPHASH_H
#define FAIRLEAD_P4_SIPHASH_H

#include <stdint.h>

struct rte_swx_pipeline;

/* Registers it, before the pipeline is built from mux.spec. 0 or a negative errno. */
int p4_siphash_register(struct rte_swx_pipeline *pipeline);

/*
 * A half of SipHash-2-4 of flow_h of headers.p4, which also says which. The same function gives places of cells by
 * cells_h (cells.h), since the pipeline as C can stand in for one function only. length: 54 or P4_CELLS_LEN, which says
 * of which of both; seed: unused.
 */
uint32_t p4_siphash(const void *input, uint32_t length, uint32_t seed);

#endif
