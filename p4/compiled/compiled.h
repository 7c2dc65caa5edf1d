/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mux.spec as C, for builds with -Dp4_compiled=true.
 *
 *	mux.spec -> translate.py -> mux_run.c, with run.h and run_loop.h -> compiled_run()
 *	mux.spec -> spec_build() -> a pipeline of SWX: its registers, tables and ports
 *
 * DPDK makes C of a .spec, too, by rte_swx_pipeline_codegen(). That stays in SWX's loop, in which 16 packets take turns,
 * a function ends at each table, and a packet's metadata are memory. compiled_run() takes a packet through the whole
 * program at once, with all of its metadata in local variables: a packet costs half as much.
 *
 * SWX has no public way to registers but by their names, so one internal header of DPDK is needed, from the source package
 * of the installed version (scripts/install-deps --p4-compiled). Whatever that says holds for one build of DPDK's
 * pipeline library; its build id is kept beside the code, and another one is refused.
 */
#ifndef FAIRLEAD_P4_COMPILED_H
#define FAIRLEAD_P4_COMPILED_H

#include <rte_swx_pipeline.h>

#include "config/reason.h"
#include "ends.h"

/* -ENOTSUP if this program was built without it, -ENOEXEC if it was compiled for another build of DPDK than is loaded. */
int compiled_check(struct reason *why);

/* Of the mux.spec that this program was built with; *out is the caller's. Negative errno, NULL and why. */
int compiled_build(struct rte_swx_pipeline **out, const char *name, const struct p4_ends *ends, struct reason *why);

/* Takes all packets that the input ports of such a pipeline have through it. */
void compiled_run(struct rte_swx_pipeline *pipeline);

#endif
