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

/*
 * Ports get a copy of SWX's note on a packet: a function that got the address of the thread's own might change all of
 * the thread, as far as the compiler knows (own.h).
 */
#define OWN_NOTE(note)                                                                                                 \
	(&(struct rte_swx_pkt){                                                                                        \
	    .handle = (note)->handle, .pkt = (note)->pkt, .offset = (note)->offset, .length = (note)->length})
#define pkt_tx(object, note)               pkt_tx(object, OWN_NOTE(note))
#define pkt_fast_clone_tx(object, note)    pkt_fast_clone_tx(object, OWN_NOTE(note))
#define pkt_clone_tx(object, note, length) pkt_clone_tx(object, OWN_NOTE(note), length)
