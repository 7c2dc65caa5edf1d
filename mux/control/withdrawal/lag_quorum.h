/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whether enough other muxes are ahead of this one for it to withdraw a service. Pure.
 *
 *	muxes	those that announce the service, those that withdrew it as behind or sick, and this one
 *	ahead	those of them that announce it and serve a higher generation than this one
 *
 *	withdraw while ahead is at least half of muxes, and not 0
 *
 * This mux counts whether or not it announces, and so does another one that withdrew for the same reason: otherwise each
 * withdrawal would make the rest fewer, and one mux that is ahead of all (it alone understands a new format, say) would
 * be left alone step by step. As it is, what a mux decides does not depend on what others decided before: of the muxes in
 * the order of their generations, at least half stay, and those are the ones that are furthest. With equal generations
 * no mux is ahead.
 *
 * Of two muxes the one that is behind withdraws: nothing tells which of them is the exception, and the other one has what
 * is committed.
 */
#ifndef FAIRLEAD_MUX_LAG_QUORUM_H
#define FAIRLEAD_MUX_LAG_QUORUM_H

#include <stdbool.h>
#include <stdint.h>

#include "hello/hello_peers.h"

struct lag_quorum {
	unsigned muxes; /* this one included */
	unsigned ahead;
	uint32_t highest; /* generation that another one serves, announced or not; 0: none does */
};

/* Of one service, as another mux reports it. */
struct lag_view {
	uint32_t generation; /* 0: it serves none */
	bool announces;
	bool is_behind; /* it withdrew the service because it is behind or sick; not announces */
};

/* Before the others are added. */
static inline void lag_quorum_start(struct lag_quorum *quorum)
{
	*quorum = (struct lag_quorum){.muxes = 1};
}

/* Adds another mux; returns whether it is ahead of this one, which serves generation. */
static inline bool lag_quorum_add(struct lag_quorum *quorum, const struct lag_view *other, uint32_t generation)
{
	bool is_ahead = other->announces && other->generation > generation;

	if (!other->generation)
		return false;
	if (other->announces || other->is_behind)
		quorum->muxes++;
	if (other->generation > quorum->highest)
		quorum->highest = other->generation;
	quorum->ahead += is_ahead;
	return is_ahead;
}

static inline bool lag_quorum_withdraws(const struct lag_quorum *quorum)
{
	return quorum->ahead && 2 * quorum->ahead >= quorum->muxes;
}

/*
 * The other muxes as their hellos describe them; peers NULL: none. first_ahead, if not NULL: one that is ahead, NULL if
 * there is none.
 */
struct lag_quorum lag_quorum_heard(const struct hello_peers *peers, uint16_t service, uint32_t generation,
				   uint64_t now_ms, const struct hello_peer **first_ahead);

/*
 * The highest generation that is settled by a hello of a mux which is ahead; 0: none. It must be in the rings of as many as
 * make this one withdraw, and in the sender's: what they serve, this one lacks. Not each of them need say it, as one that
 * has lost ZooKeeper itself may not know.
 */
uint32_t lag_quorum_settled(const struct hello_peers *peers, uint16_t service, uint32_t generation, uint64_t now_ms);

#endif
