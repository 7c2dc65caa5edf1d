/* SPDX-License-Identifier: Apache-2.0 */
/* A GUE packet's outer header as the protocol says, computed from scratch: without templates or shortcuts. */
#ifndef FAIRLEAD_MUX_TESTS_GUE_BYTES_H
#define FAIRLEAD_MUX_TESTS_GUE_BYTES_H

#include <fairlead/hash.h>
#include <fairlead/list.h>

enum { GUE_BYTES_MAX = 14 + 4 + 40 + 8 + FL_LIST_MAX_LEN };

struct gue_bytes {
	const struct fl_list *list; /* TAG in its flags: the tag is computed */
	struct fl_address source, to;
	uint8_t mac[6]; /* the next hop's; the source is 02:00:00:00:00:01 */
	uint16_t vlan;  /* 0: no tag */
	uint8_t tos;
	uint32_t hash;
	const struct fl_siphash_key *tag_key; /* the cluster's */
	const uint8_t *inner;
	uint16_t inner_len;
};

/* Ethernet and all up to the inner packet; returns the length. out: GUE_BYTES_MAX. */
uint32_t gue_bytes_build(const struct gue_bytes *wanted, uint8_t *out);

#endif
