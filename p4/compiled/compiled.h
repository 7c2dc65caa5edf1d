/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mux.spec as C, for builds with -Dp4_compiled=true.
 *
 *	mux.spec -> generate -> mux_spec.c -+-> libfairlead-p4-compiled.so -> rte_swx_pipeline_build_from_lib()
 *	                        attach.c   -+
 *
 * generate.c calls rte_swx_pipeline_codegen(). What that writes, and attach.c, are compiled with two internal headers of
 * DPDK, from the source package of the installed version (scripts/install-deps --p4-compiled). Whatever they say holds
 * for one build of DPDK's pipeline library; its build id is kept beside the code, and another one is refused.
 *
 * build_from_lib has two gaps. It knows no types of ports but SWX's own, so the pipeline gets ports that lead nowhere
 * and attach.c puts ours in their place, as if they had been configured. It knows no hash functions but SWX's own, so
 * generate.c writes `jhash` for `siphash`, and attach.c puts SipHash in the place of jhash, which the program does not
 * use.
 */
#ifndef FAIRLEAD_P4_COMPILED_H
#define FAIRLEAD_P4_COMPILED_H

#include <rte_swx_pipeline.h>

#include "config/reason.h"
#include "ends.h"

/* -ENOTSUP if this program was built without it, -ENOEXEC if it was compiled for another build of DPDK than is loaded. */
int compiled_check(struct reason *why);

/* p4_build_compiled(). */
int compiled_build(struct rte_swx_pipeline **out, const char *name, const struct p4_ends *ends, struct reason *why);

#endif
