/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whether what a mux sends is well-formed and right for what it received. Read as a router, a server, a client and
 * another mux would, without any code of the packet path.
 */
#ifndef FAIRLEAD_MUX_TESTS_CHECK_OUTPUT_H
#define FAIRLEAD_MUX_TESTS_CHECK_OUTPUT_H

#include <fairlead/hash.h>

#include "host/next_hop.h"
#include "service/tables.h"
#include "frame.h"

enum output {
	OUTPUT_STEERED,
	OUTPUT_FORWARDED,
	OUTPUT_ECHO,
	OUTPUT_TOO_BIG,
	OUTPUTS,
};

struct output_world {
	const struct tables *tables;
	const struct next_hops *hops;
	const struct fl_siphash_key *tag_key; /* NULL: packets carry no tag */
	uint32_t now;                         /* Unix seconds, within a minute */
};

/*
 * Takes the received frame and the one sent to the wire. Returns what was sent; -1 and *complaint if it is wrong.
 */
int check_output(const struct output_world *world, const struct frame *in, const uint8_t *out, uint32_t len,
		 const char **complaint);

/* Whether a frame that was passed to the kernel is for a VIP after all. */
bool check_is_ours(const struct output_world *world, const struct frame *in);

#endif
