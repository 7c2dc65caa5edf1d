/* SPDX-License-Identifier: Apache-2.0 */
/* What muxes send in state.h, and what servers make of it, by the real fl_decide(). */
#ifndef FAIRLEAD_MODEL_LIST_PACKET_H
#define FAIRLEAD_MODEL_LIST_PACKET_H

#include "state.h"

enum result { IDLE, DELIVERED, DROPPED, BROKEN, ENDED, SENT };

/* What its servers make of a packet. */
enum how {
	BUSY = 1,   /* refused, if it is a SYN that opens something */
	COOKIE = 2, /* a SYN is answered by a cookie */
	SKIP = 4,   /* the next candidate cannot be sent to */
	SKIP2 = 8,  /* of a whole way: not that of the first hop, but of the second */
};

/* One hop of a packet at the head of its path. SENT: it goes on. */
enum result packet_hop(struct state *t, struct flight *p, unsigned how, enum cause *cause);

/* Mux m's; order: which bucket is first; ahead: its list is of so much newer a generation than its number. */
struct flight packet_of(const struct state *t, int m, int order, int ahead);

/* What its servers make of a packet at this hop of its way, from 0. */
unsigned packet_how(unsigned how, int hop);

/* All hops of a packet, and of its fragments. */
enum result packet_walk(struct state *t, struct flight *p, unsigned how, enum cause *cause);

#endif
