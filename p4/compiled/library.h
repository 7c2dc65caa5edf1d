/* SPDX-License-Identifier: Apache-2.0 */
/* What libfairlead-p4-compiled.so has besides the functions that rte_swx_pipeline_build_from_lib() looks up. */
#ifndef FAIRLEAD_P4_COMPILED_LIBRARY_H
#define FAIRLEAD_P4_COMPILED_LIBRARY_H

#include <rte_swx_pipeline.h>

#include "ends.h"

enum { BUILD_ID_MAX = 129 }; /* hex digits and the end */

#define COMPILED_LIBRARY "libfairlead-p4-compiled.so"
#define COMPILED_STANDIN "jhash" /* for the hash function siphash */

/* Of the DPDK library that this one was compiled for. */
extern const char compiled_for[];

/* What its code takes a pipeline to have (own.h). */
extern const unsigned compiled_structs, compiled_metadata_bytes;

/* Gives a built pipeline these ports, and SipHash in place of COMPILED_STANDIN. -ENOMEM, or -EINVAL of
 * another pipeline than this library's, and it must be freed. */
int compiled_attach(struct rte_swx_pipeline *pipeline, const struct p4_ends *ends);

/* Of DPDK's pipeline library in this process; empty: it has none. */
void build_id_read(char out[BUILD_ID_MAX]);

#endif
