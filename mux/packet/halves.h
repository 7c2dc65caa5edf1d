/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The second bucket of a packet by the high half of its hash (protocol/README.md, 1). It is known as soon as the hash
 * is, so that both rows are fetched while the next eight packets are classified.
 */
#ifndef FAIRLEAD_MUX_HALVES_H
#define FAIRLEAD_MUX_HALVES_H

#include <netinet/in.h>

#include <rte_branch_prediction.h>

#include "packet/packet.h"
#include "ring/ring.h"

/*
 * Whether servers pass a packet on, if they do not know its connection: a TCP segment, or an ICMP error about one. Call
 * it while the packet has its key; IPv6 has the protocol there, too.
 */
static inline bool halves_may_pass(const struct packet *packet)
{
	return (uint8_t)(packet->key[1] >> 32) == IPPROTO_TCP && packet->at_l4;
}

/*
 * Sets the second bucket of a packet, beside its first one, and prefetches its row; 0: it has none. Ends the packet's
 * key.
 */
static inline uint32_t halves_fetch(struct packet *packet, const struct ring *ring, uint32_t first)
{
	uint32_t second = ring_second_bucket(ring, packet->hash);

	if (unlikely(!halves_may_pass(packet)))
		return 0;
	__builtin_prefetch(&ring->rows[second]);
	packet->second = second;
	return second != first;
}

#endif
