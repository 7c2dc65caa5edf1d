/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A worker's SWX pipeline, with registers and tables of its own.
 *
 * The worker runs it, burst by burst: a burst has left it whole before pipeline_run() returns, so between two bursts
 * nothing is in it. The control thread writes registers at any time, each by one store. It changes tables only while
 * no worker runs its pipeline: DPDK swaps a table, waits for 100 us and then changes the old one, and a worker that
 * was not scheduled meanwhile would still read that.
 */
#ifndef FAIRLEAD_P4_PIPELINE_H
#define FAIRLEAD_P4_PIPELINE_H

#include "config/options.h"
#include "threads/front.h"

struct pipeline;

/* The worker's, by the .spec that this program was built with, for so many ports. mode: not auto. NULL and why. */
struct pipeline *pipeline_new(unsigned worker, unsigned ports, enum pipeline_mode mode, struct reason *why);
void pipeline_free(struct pipeline *pipeline);

/*
 * The worker: lets packets that came by this wire through. Packets that are left are afterwards the first ones of
 * mbufs; returns how many. *out: those that were steered.
 */
struct pipeline_out {
	uint32_t count;
	struct rte_mbuf **mbufs;
	const uint8_t *wires; /* to leave by */
};
uint32_t pipeline_run(struct pipeline *pipeline, unsigned wire, struct rte_mbuf **mbufs, uint32_t count,
		      struct pipeline_out *out);

/* The register array of a byte's part in CRC-32: at as for p4_crc_part() of crc.h. Returns out. */
const char *pipeline_crc_name(unsigned at, char out[16]);

/* One register, named as in the program. Any thread may; pipeline_new() has checked those of p4/README.md. */
void pipeline_write(struct pipeline *pipeline, const char *name, uint32_t index, uint64_t value);
uint64_t pipeline_read(const struct pipeline *pipeline, const char *name, uint32_t index);

/*
 * Control thread, while no worker runs it. An entry in rte_swx_ctl's text form. All are done by the commit: 0, or
 * negative errno and nothing has changed.
 */
int pipeline_entry_add(struct pipeline *pipeline, const char *table, const char *entry);
int pipeline_entry_delete(struct pipeline *pipeline, const char *table, const char *entry);
int pipeline_commit(struct pipeline *pipeline);

#endif
