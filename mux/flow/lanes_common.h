/* SPDX-License-Identifier: Apache-2.0 */
/* What the stages of lanes.h share: sums and hashes of eight lanes, and where frames are. */
#ifndef FAIRLEAD_MUX_FLOW_LANES_COMMON_H
#define FAIRLEAD_MUX_FLOW_LANES_COMMON_H

#include <fairlead/hash.h>
#include <fairlead/types.h>

#include "encap/gue.h"
#include "flow/vec.h"

enum {
	AT_IP = ENCAP_AT_IP, /* of an untagged frame */
	LANES_SEEN_MAX = 80, /* what is read of a frame at most */
};

/* Sums below 2^35 folded twice: 0xffff if and only if the sum is a multiple of 0xffff and not 0. */
VEC_INLINE vec fold(vec sum)
{
	const vec low16 = all(0xffff);

	sum = vec_add(vec_and(sum, low16), vec_right(sum, 16));
	return vec_add(vec_and(sum, low16), vec_right(sum, 16));
}

VEC_INLINE vec halves_sum(vec v)
{
	return vec_add(vec_and(v, all(0xffffffff)), vec_right(v, 32));
}

/* SipHash-2-4 of each lane: the rounds of fairlead/hash.h, on vectors instead of words. */
struct lanes_siphash {
	vec v0, v1, v2, v3;
};

VEC_INLINE struct lanes_siphash lanes_siphash_begin(vec k0, vec k1)
{
	return (struct lanes_siphash){vec_xor(k0, all(0x736f6d6570736575)), vec_xor(k1, all(0x646f72616e646f6d)),
				      vec_xor(k0, all(0x6c7967656e657261)), vec_xor(k1, all(0x7465646279746573))};
}

VEC_INLINE void lanes_siphash_rounds(struct lanes_siphash *s, int rounds)
{
	for (int i = 0; i < rounds; i++)
		VEC_EACH FL_SIPROUND_BY(vec_part_rotated, s->v0.part[p], s->v1.part[p], s->v2.part[p], s->v3.part[p]);
}

VEC_INLINE void lanes_siphash_add(struct lanes_siphash *s, vec word)
{
	s->v3 = vec_xor(s->v3, word);
	lanes_siphash_rounds(s, 2);
	s->v0 = vec_xor(s->v0, word);
}

VEC_INLINE vec lanes_siphash_result(const struct lanes_siphash *s)
{
	return vec_xor(vec_xor(s->v0, s->v1), vec_xor(s->v2, s->v3));
}

VEC_INLINE vec lanes_siphash_end(struct lanes_siphash *s)
{
	s->v2 = vec_xor(s->v2, all(0xff));
	lanes_siphash_rounds(s, 4);
	return lanes_siphash_result(s);
}

/*
 * The same for two at once, round by round: each operation waits for the one before, so that one register alone leaves
 * much of a core idle. Of more registers, two are not slower one after the other.
 */
VEC_INLINE void lanes_siphash_rounds_two(struct lanes_siphash *x, struct lanes_siphash *y, int rounds)
{
	if (VEC_PARTS > 1) {
		lanes_siphash_rounds(x, rounds);
		lanes_siphash_rounds(y, rounds);
		return;
	}
	for (int i = 0; i < rounds; i++) {
		lanes_siphash_rounds(x, 1);
		lanes_siphash_rounds(y, 1);
	}
}

VEC_INLINE void lanes_siphash_add_two(struct lanes_siphash *x, vec of_x, struct lanes_siphash *y, vec of_y)
{
	x->v3 = vec_xor(x->v3, of_x);
	y->v3 = vec_xor(y->v3, of_y);
	lanes_siphash_rounds_two(x, y, 2);
	x->v0 = vec_xor(x->v0, of_x);
	y->v0 = vec_xor(y->v0, of_y);
}

/* The hashes are then lanes_siphash_result() of each. */
VEC_INLINE void lanes_siphash_end_two(struct lanes_siphash *x, struct lanes_siphash *y)
{
	x->v2 = vec_xor(x->v2, all(0xff));
	y->v2 = vec_xor(y->v2, all(0xff));
	lanes_siphash_rounds_two(x, y, 4);
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

#define FRAME(i)                                                                                                       \
	do {                                                                                                           \
		uint32_t len = mbufs[i]->data_len;                                                                     \
		bool is_usable = len == mbufs[i]->pkt_len && len >= least && mbufs[i]->data_off >= LANES_ROOM;         \
                                                                                                                       \
		data[i] = is_usable ? rte_pktmbuf_mtod(mbufs[i], const uint8_t *) : nothing;                           \
		usable |= (uint32_t)is_usable << (i);                                                                  \
		lens[i] = len;                                                                                         \
	} while (0)
	FRAME(0);
	FRAME(1);
	FRAME(2);
	FRAME(3);
	FRAME(4);
	FRAME(5);
	FRAME(6);
	FRAME(7);
#undef FRAME
	*frame_len = vec_load(lens);
	return usable;
}

#endif
