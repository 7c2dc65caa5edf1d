/* SPDX-License-Identifier: Apache-2.0 */
/* What can happen next in state.h, and what then is. */
#ifndef FAIRLEAD_MODEL_LIST_STEPS_H
#define FAIRLEAD_MODEL_LIST_STEPS_H

#include "packet.h"

enum { STEPS_MAX = 256 };

/*
 * What can happen, and its sentence, which has what the step's argument is:
 *
 *	@s @B @m	all of it: a server, a bucket, a mux. A_REMOVE's is the server that takes the dead one's bucket
 *	@S @p		its low three bits: a server; or a mux in two, and above it whether the other bucket is first
 *	@b @n		what is above these: a bucket; or a number, of A_SEND enum how
 *	@g @N		generations: of the mux @p, of the ring
 *	@l @L		lists: of the ring, or of the mux @m, after the step
 */
/* clang-format off */
#define MODEL_ACTIONS(ACTION) \
	ACTION(A_MOVE, "@b moves to @S@l") \
	ACTION(A_CLOSE, "the window of @B's oldest entry is over@l") \
	ACTION(A_REPORT, "@S reports no connection of @b, and it counts") \
	ACTION(A_RELEASE, "@S is released from @b@l") \
	ACTION(A_DEATH, "@s dies") \
	ACTION(A_REMOVE, "the dead server is removed@l") \
	ACTION(A_APPLY, "mux @m applies the next generation@L") \
	ACTION(A_JUMP, "mux @m loads a snapshot of the newest") \
	ACTION(A_AWAY, "mux @m withdraws, being behind") \
	ACTION(A_BACK, "mux @m is back, with the newest") \
	ACTION(A_NOTICE, "@S gets the notice of generation +@n of +@N") \
	ACTION(A_NEWS, "@s learns the muxes' highest generation by another packet") \
	ACTION(A_FORMER, "@s learns a generation of the service that had the id before, which is above all of this one") \
	ACTION(A_REPEAT, "@s gets the repeated notice") \
	ACTION(A_CALM, "@s's quiet time is over") \
	ACTION(A_RESTART, "@s's packet path restarts and forgets the generation") \
	ACTION(A_REVIVE, "the dead server is back") \
	ACTION(A_SEND, "mux @p (generation +@g of +@N) sends a ") \
	ACTION(A_HOP, "the ") \
	ACTION(A_LOSE, "the packet under way is lost") \
	ACTION(A_TAKE, "the client continues with @s") \
	ACTION(A_EXPIRE, "@s's half-open copy expires") \
	ACTION(A_EMPTY, "@s is said to be empty") \
	ACTION(A_SWITCH, "the empty server is switched off") \
	ACTION(A_ARRAYS, "new arrays: the connection has another bucket") \
	ACTION(A_DROP, "the arrays before are dropped") \
	ACTION(A_KNOW, "the controller is told of the connection") \
	ACTION(A_END, "@S's entry in @b ends@l") \
	ACTION(A_SHORT, "mux @p (generation +@g), whose clock says that the @n oldest entries are over, sends a packet") \
	ACTION(A_DEADLINE, "the deadline of @s's drain is over, and it is removed@l") \
	ACTION(A_LEAVE, "@s is removed from the pool") \
	ACTION(A_HUSH, "mux @n's notice ends @S's quiet time") \
	ACTION(A_SAVE, "mux @m has what it has applied in its file") \
	ACTION(A_FALL, "mux @m restarts from its file") \
	ACTION(A_RETURN, "mux @m announces again what it had withdrawn") \
	ACTION(A_HOLD, "a hold begins") \
	ACTION(A_RESTORE, "a backup is restored@l") \
	ACTION(A_TORN, "mux @p, which is applying a generation, sends a packet with its list and the number before, +@g")
/* clang-format on */

enum action {
#define ACTION(action, sentence) action,
	MODEL_ACTIONS(ACTION)
#undef ACTION
};

struct step {
	uint8_t action, arg;
};

extern uint64_t cramped; /* states whose generations have no room for another */

/* The last generation by which s lost the bucket, or 0 if no mux that gets packets may lack it. */
int steps_loss(const struct state *t, int b, int s);

bool steps_all_have(const struct state *t, int g);

/* Whether a list has the dead server. */
bool steps_removal_due(const struct state *t);

/* At most STEPS_MAX. */
unsigned steps_of(const struct state *t, struct step *out);
enum result steps_take(struct state *t, struct step step, enum cause *cause);

/* BROKEN: never delivered, although all muxes become current and the client sends again and again. */
enum result steps_settle(struct state t, enum cause *cause);

#endif
