/* SPDX-License-Identifier: Apache-2.0 */
/* What can happen next in state.h, and what then is. */
#ifndef FAIRLEAD_MODEL_LIST_STEPS_H
#define FAIRLEAD_MODEL_LIST_STEPS_H

#include "packet.h"

enum { STEPS_MAX = 256 };

enum action {
	A_MOVE,    /* b * 8 + s */
	A_CLOSE,   /* b: the oldest entry's window is over */
	A_REPORT,  /* b * 8 + s */
	A_RELEASE, /* b * 8 + s */
	A_DEATH,   /* s */
	A_REMOVE,  /* s: who takes buckets of the dead one */
	A_APPLY,   /* m */
	A_JUMP,    /* m */
	A_AWAY,    /* m */
	A_BACK,    /* m */
	A_NOTICE,  /* g * 8 + s */
	A_NEWS,    /* s */
	A_FORMER,  /* s: it learns a higher generation of the service that had the id before */
	A_REPEAT,  /* s: the notice of every 10 s */
	A_CALM,    /* s: the quiet time after a start is over */
	A_RESTART, /* s: it forgets the generation */
	A_REVIVE,  /* the dead server is back, without sockets */
	A_SEND,    /* m | order << 2 | enum how << 3 */
	A_HOP,     /* f | enum how << 3 */
	A_LOSE,    /* f */
	A_TAKE,    /* s */
	A_EXPIRE,  /* s: its half-open copy of a connection that is open elsewhere */
	A_EMPTY,   /* s */
	A_SWITCH,  /* the empty server is switched off */
	A_ARRAYS,  /* new arrays: the connection's bucket */
	A_DROP,    /* the arrays before are dropped */
	A_KNOW,    /* the controller is told of the connection */
	A_END,     /* b * 8 + s: with arrays, an entry is closed */
	A_SHORT, /* m | order << 2 | n << 3: a packet by a mux whose clock says that the n oldest entries' windows are over */
	A_DEADLINE, /* s: removed though it lives, as its drain's deadline is over */
	A_LEAVE,    /* s: removed from the pool; its connections go on */
	A_HUSH,     /* s | m << 3: a mux's notice ends the quiet time of a server */
	A_SAVE,     /* m: its file has what it has applied */
	A_FALL,     /* m: it restarts from its file */
	A_RETURN,   /* m: it announces what it had withdrawn with */
	A_HOLD,     /* a hold begins */
	A_RESTORE,  /* a backup of the oldest generation is restored */
	A_TORN,     /* m | order << 2: a packet with the next generation's list and this one's number */
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
