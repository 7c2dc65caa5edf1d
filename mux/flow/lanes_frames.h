/* SPDX-License-Identifier: Apache-2.0 */
/* Where the frames of eight lanes are, and sums over their headers. */
#ifndef FAIRLEAD_MUX_FLOW_LANES_FRAMES_H
#define FAIRLEAD_MUX_FLOW_LANES_FRAMES_H

#include <fairlead/types.h>

#include "encap/gue.h"
#include "flow/lanes.h"
#include "flow/vec.h"

enum {
	AT_IP = ENCAP_AT_IP, /* of an untagged frame */
	LANES_SEEN_MAX = 80, /* what is read of a frame at most */
};

/* Sums below 2^35 folded twice: 0xffff if and only if the sum is a multiple of 0xffff and not 0. */
VEC_INLINE vec fold(vec sum)
{
	const vec low16 = vec_all(0xffff);

	sum = vec_add(vec_and(sum, low16), vec_right(sum, 16));
	return vec_add(vec_and(sum, low16), vec_right(sum, 16));
}

VEC_INLINE vec halves_sum(vec v)
{
	return vec_add(vec_and(v, vec_all(0xffffffff)), vec_right(v, 32));
}

/* Room in front of a frame for the longest header that lanes write. */
enum { LANES_ROOM = GUE_PLAIN_LEN + FL_LIST_SHORT_BYTES + FL_LIST_TAG_LEN - AT_IP };

/*
 * Where frames are, and which of them are in one buffer, with room for a header in front, and have the least bytes;
 * others are read from zeros instead.
 */
static inline uint32_t lanes_find_frames(const struct burst *burst, uint32_t first, uint32_t least,
					 const uint8_t *data[LANES], vec *frame_len)
{
	static const uint8_t nothing[LANES_SEEN_MAX] __attribute__((aligned(64)));
	const struct rte_mbuf *const *mbufs = (const struct rte_mbuf *const *)burst->mbufs + first;
	uint32_t usable = 0;
	uint64_t lens[LANES] __attribute__((aligned(64)));

#pragma GCC unroll 8
	for (uint32_t i = 0; i < LANES; i++) {
		uint32_t len = mbufs[i]->data_len;
		bool is_usable = len == mbufs[i]->pkt_len && len >= least && mbufs[i]->data_off >= LANES_ROOM;

		data[i] = is_usable ? rte_pktmbuf_mtod(mbufs[i], const uint8_t *) : nothing;
		usable |= (uint32_t)is_usable << i;
		lens[i] = len;
	}
	*frame_len = vec_load(lens);
	return usable;
}

#endif
