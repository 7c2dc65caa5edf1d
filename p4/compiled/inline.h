/* SPDX-License-Identifier: Apache-2.0 */
/*
 * In front of DPDK's generated code. DPDK's internal header has a function for each instruction, which takes the
 * instruction as an argument. Only where it is inlined do offsets and masks become constants, and the compiler leaves
 * most calls as they are; so all of that header's functions are inlined always. That makes the code smaller, too.
 */
#include <inttypes.h>
#include <string.h>
#include <sys/queue.h>

#include <rte_byteorder.h>
#include <rte_common.h>
#include <rte_cycles.h>
#include <rte_meter.h>
#include <rte_prefetch.h>
#include <rte_swx_ctl.h>
#include <rte_swx_pipeline.h>
#include <rte_swx_table_learner.h>
#include <rte_swx_table_selector.h>

#define inline inline __attribute__((always_inline))
