/* SPDX-License-Identifier: Apache-2.0 */
/* SipHash-2-4 of each lane: the rounds of fairlead/hash.h, on vectors instead of words. */
#ifndef FAIRLEAD_MUX_FLOW_LANES_SIPHASH_H
#define FAIRLEAD_MUX_FLOW_LANES_SIPHASH_H

#include <fairlead/hash.h>

#include "flow/vec.h"

struct lanes_siphash {
	vec v0, v1, v2, v3;
};

VEC_INLINE struct lanes_siphash lanes_siphash_begin(vec k0, vec k1)
{
	return (struct lanes_siphash){
	    vec_xor(k0, vec_all(0x736f6d6570736575)), vec_xor(k1, vec_all(0x646f72616e646f6d)),
	    vec_xor(k0, vec_all(0x6c7967656e657261)), vec_xor(k1, vec_all(0x7465646279746573))};
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
	s->v2 = vec_xor(s->v2, vec_all(0xff));
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
	x->v2 = vec_xor(x->v2, vec_all(0xff));
	y->v2 = vec_xor(y->v2, vec_all(0xff));
	lanes_siphash_rounds_two(x, y, 4);
}

#endif
