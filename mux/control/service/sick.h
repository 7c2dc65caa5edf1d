/* SPDX-License-Identifier: Apache-2.0 */
/*
 * When a mux that can't forward a service's packets withdraws its VIPs, and when it announces them again. Pure: depends
 * on what it has, on what others say and on a clock.
 *
 *	WELL	it has an ailment, and enough others announce -> ASKS: its hellos say that it withdraws
 *	ASKS	SICK_ASK_MS later, enough have answered -> WITHDRAWN; not enough, as others ask too -> WELL, asks again
 *		later; enough, but they are silent -> waits for their next hellos, then WELL
 *		the ailment is gone -> WELL
 *	WITHDRAWN  the ailment has been gone for a while, twice as long each time -> WELL
 *		not enough others are left -> WELL: a mux that forwards some packets is better than none
 *
 * Enough is what lag_quorum.h calls so: at least half of the muxes announce the service, and this one is not among
 * them. It asks before it withdraws, since the same cause often reaches all muxes in the same moment, and may also
 * cut them off from each other: so only what it hears later than SICK_LATE_MS after it asked speaks for a withdrawal.
 * Others answer (HELLO_ANSWER_MS). Of two that ask, the one that decides last asked last, too: what it hears so late
 * of the other one was sent after that one had asked, if a hello takes less than SICK_LATE_MS. So they never withdraw
 * together what only one of them may, whatever is lost; if all see all others ask, none does, and each tries again
 * after a random time. A hello is repeated every SICK_SAY_MS meanwhile.
 */
#ifndef FAIRLEAD_MUX_SICK_H
#define FAIRLEAD_MUX_SICK_H

#include <stdbool.h>
#include <stdint.h>

/* What keeps a mux from forwarding. */
enum ailment {
	AILMENT_NONE,
	AILMENT_WORKER,    /* a worker hangs (threads/hang.h) */
	AILMENT_PORT,      /* a queue of a port accepts nothing (threads/stuck.h) */
	AILMENT_NEIGHBOUR, /* there is no way to any backend of the service (control/member/unreachable.h) */
	AILMENTS,
};

enum sick_numbers {
	SICK_ASK_MS = 100,
	SICK_SAY_MS = 30,
	SICK_LATE_MS = 30,   /* what comes sooner after it asked may have been on its way */
	SICK_HEAR_MS = 1100, /* it waits for answers for so long, in which each mux says hello without being asked */
	SICK_AGAIN_MIN_MS = 300, /* after a vote without success: at least this, */
	SICK_AGAIN_MS = 1200,    /* and up to this much more at random */
	SICK_WELL_MS = 5000,     /* the first time */
	SICK_WELL_MAX_MS = 320000,
	SICK_FORGET_MS = 600000, /* announced for so long, the next time is the first again */
};

/* Whether enough other muxes announce the service for this one to withdraw it. */
enum sick_others {
	SICK_FEW,
	SICK_SILENT, /* enough, but by what they said before it asked */
	SICK_ENOUGH,
};

enum sick_state {
	SICK_WELL,
	SICK_ASKS,
	SICK_WITHDRAWN,
};

/* Of one service; all zero: well. */
struct sick {
	enum sick_state state;
	enum ailment ailment;       /* of the last call */
	enum ailment withdrawn_for; /* SICK_WITHDRAWN */
	uint64_t asked_ms;          /* SICK_ASKS */
	uint64_t until_ms;          /* SICK_ASKS: the decision; SICK_WELL: not asked before */
	uint64_t well_ms;           /* SICK_WITHDRAWN: since when there is no ailment; 0: there is one */
	uint64_t returned_ms;
	unsigned times; /* that it was withdrawn, each within SICK_FORGET_MS of the last return */
};

/* The word in the mux's node, metrics and logs. */
const char *ailment_name(enum ailment ailment);

/* For how long it must be well before it announces again. */
uint64_t sick_wait_ms(const struct sick *sick);

/* Whether another decision is to be made at once when it is due; UINT64_MAX: none is. */
uint64_t sick_deadline(const struct sick *sick);

/* What others said before then does not speak for a withdrawal. */
uint64_t sick_hears_since(const struct sick *sick);

/* Decides; random: any number. Returns whether the state has changed. */
bool sick_run(struct sick *sick, enum ailment ailment, enum sick_others others, uint64_t now_ms, uint32_t random);

#endif
