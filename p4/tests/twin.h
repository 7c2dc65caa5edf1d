/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The C mux beside the P4 mux: what becomes of a frame by the C mux's packet path, and what the P4 mux must therefore do
 * with it. This is the list of all differences between both (docs/p4.md).
 */
#ifndef FAIRLEAD_P4_TESTS_TWIN_H
#define FAIRLEAD_P4_TESTS_TWIN_H

#include "frame.h"
#include "service/tables.h"

struct twin {
	const struct tables *tables;
	uint32_t now;
};

/* What the P4 mux must do with a frame. */
struct twin_expected {
	unsigned verdict;                              /* P4's */
	uint16_t slot;                                 /* under which it counts */
	uint8_t port;                                  /* DPDK's, to leave by; with VERDICT_SERVICE */
	bool moved, second, second_first, second_syns; /* as the burst counts it */
	struct frame out;                              /* with VERDICT_SERVICE */
};

/* visible: bytes of the frame in its first buffer. */
void twin_expect(const struct twin *twin, const struct frame *frame, uint32_t visible, struct twin_expected *out);

#endif
