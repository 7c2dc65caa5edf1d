/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Steering `hunt` in the general path (methods/inline.h): the second bucket is that of the hash's high half
 * (protocol/README.md, 1). It is known as soon as the hash is, so that both rows are fetched while the next eight packets
 * are classified.
 */
#ifndef FAIRLEAD_MUX_HUNT_PATH_H
#define FAIRLEAD_MUX_HUNT_PATH_H

#include <netinet/in.h>

#include "steering/ring/ring_path.h"

/*
 * Whether servers pass a packet on, if they do not know its connection: a TCP segment, or an ICMP error about one. Call
 * it while the packet has its key; IPv6 has the protocol there, too.
 */
static inline bool hunt_may_pass(const struct packet *packet)
{
	return (uint8_t)(packet->key[1] >> 32) == IPPROTO_TCP && packet->at_l4;
}

static inline void hunt_path_fetch(struct burst *burst, uint32_t i)
{
	struct packet *packet = &burst->packets[i];
	const uint32_t second = ring_second_bucket(packet->ring, packet->hash);

	ring_path_fetch(burst, i);
	if (unlikely(!hunt_may_pass(packet)))
		return;
	rte_prefetch0(&packet->ring->rows[second]);
	packet->second = second; /* ends its key */
	burst->seconds |= (uint32_t)(second != packet->bucket) << i;
}

static inline void hunt_path_rows(struct burst *burst, uint32_t i)
{
	rows_read_both(&burst->packets[i], burst->seconds >> i & 1);
}

static const struct path_method hunt_path = {.fetch = hunt_path_fetch, .rows = hunt_path_rows};

#endif
