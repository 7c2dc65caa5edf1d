/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The method `othello`: the two buckets of pair.h, and one connection whose bucket is a code that arrays give it. All
 * that decides whether the connection breaks, small enough that every reachable state can be visited.
 *
 *	arrays		a generation has arrays K, with a code for the connection; or drops those before, K-1
 *	mux		b1 is the code by the newest arrays that it has applied, b2 by those before, unless they were dropped
 *	controller	codes a connection that it knows so that its server owns the bucket. To any other connection arrays
 *			give any code. It commits K+1 once the late mux has K and all that was opened under K-1 is known
 *	line		a bucket's owners before: the previous one by the ring, and two more that only the controller knows
 *	renewal		a generation that moves nothing and makes a bucket's last move one of now
 *	kept bucket	one that names a server as previous owner, which owns none, for its known connections
 *	report		has all that is open at its server; a leader that does not believe it never hears of it again
 */
#ifndef FAIRLEAD_MODEL_CODES_H
#define FAIRLEAD_MODEL_CODES_H

#include "pair.h"

enum codes_numbers {
	CODES_EARLIER = 2,  /* owners of a line besides the previous one */
	CODES_HOPS_MAX = 3, /* to former owners */
	CODES_ARRAYS_MAX = 3,
	CODES_PROMPT = 1, /* ticks that a mux is late at most, with `renewed` and `timely` */
	CODES_QUIET = 2,  /* ticks after the first generation that it lacks, an absent mux has withdrawn */
};

/* What keeps connections; a setting may turn each off. */
enum codes_rule {
	CODES_RULE_SECOND, /* muxes name the second bucket */
	CODES_RULE_WAIT,   /* new arrays, and dropping those before, wait for muxes and reports */
	CODES_RULE_SETTLE, /* dropping does */
	CODES_RULE_NEEDED, /* moves of known connections' first bucket are renewed, if their server does not own it */
	CODES_RULE_BEFORE, /* and those of their second bucket */
	CODES_RULE_AWAIT,  /* moves are renewed until the previous owner has reported */
	CODES_RULE_LINE,   /* and all others of the line */
	CODES_RULE_MUXES,  /* after all muxes had the move */
	CODES_RULE_CHAINS, /* no bucket moves if its packets then miss an owner of its line */
	CODES_RULE_ABSENT, /* a mux without a session counts as one that lacks a generation, until it has withdrawn */
	CODES_RULE_MEMORY, /* the controller knows a line as long as its last move is open, not for a window each */
	CODES_RULES,
};

/* Fixed for a run of the explorer. */
struct codes_setting {
	struct pair_setting pair;
	unsigned arrays;  /* generations with new ones, at most CODES_ARRAYS_MAX */
	unsigned leaders; /* changes of the leader */
	unsigned without; /* a bit for each rule that is off */
	/* The leader renews before a window ends. Then no window breaks a connection, however late its report is. */
	bool renewed;
	/*
	 * Nothing but kept buckets is renewed. Agents report a connection within a tick, muxes are late by a tick at most, and
	 * the controller commits arrays that are needed as soon as it may, a tick after the ones before. Then no window breaks
	 * a connection.
	 */
	bool timely;
	/*
	 * WORLD_ABSENT: the late mux has no session. It gets packets until CODES_QUIET ticks after the first generation that it
	 * lacks; the leader does not know how far it is. WORLD_LOST: it goes on for ever, and opens connections.
	 */
	enum world_absence absence;
	bool silence; /* a new leader may never hear the connection's agent, and give up */
};

/*
 * No padding: states are compared and hashed as bytes. A generation has a second bucket if it has the arrays before its own;
 * `committed` counts up to CODES_QUIET, if the late mux lacks it.
 */
struct codes {
	struct pair pair;
	uint8_t leaders;
	uint8_t code[CODES_ARRAYS_MAX + 1]; /* [arrays]: the connection's bucket */
	uint8_t opened;                     /* by which arrays */
	uint8_t opened_ago;                 /* ticks, with `timely` */
	uint8_t known;                      /* to the leader */
	uint8_t refused;                    /* the leader did not believe the report */
	uint8_t complete;                   /* the leader has a report of the connection's server */
	uint8_t unawaited;          /* a bit for each bucket of which the leader had the report before it opened */
	uint8_t overdue;            /* an absent mux that has not withdrawn opened it */
	uint8_t silent;             /* 1: the leader has given its agent up; 2: which has reported since */
	uint8_t away[PAIR_BUCKETS]; /* ticks since its server was in reach by the bucket; WORLD_NONE: it never was */
	uint8_t everywhere;         /* with `timely`: ticks since the late mux has applied the newest arrays */
	uint8_t earlier[PAIR_BUCKETS][CODES_EARLIER]; /* the newest generation's; WORLD_NONE: none is known */
	uint8_t earlier_age[PAIR_BUCKETS][CODES_EARLIER];
};

_Static_assert(sizeof(struct codes) == sizeof(struct pair) + 12 + CODES_ARRAYS_MAX + 1 + 8, "no padding");

enum codes_action {
	CODES_ARRAYS = PAIR_ACTIONS, /* + code: new arrays give it to the connection */
	CODES_DROP,                  /* the arrays before the newest are dropped */
	CODES_RENEW,                 /* + bucket: its move is renewed, or the bucket is kept */
	CODES_PACKET,                /* + mux: a packet of the connection; the first one opens it */
	CODES_REPORT,                /* the connection's server reports it */
	CODES_LEADER,                /* another leader knows the ring, the arrays and lines, and no connection */
	CODES_SILENCE,               /* a leader that has never heard the connection's agent gives up */
};

enum { CODES_STEPS_MAX = 16 + PAIR_STEPS_MAX + (PAIR_BUCKETS + 1) * PAIR_SERVERS };

/* The limits that excuse a broken connection (protocol/README.md, 10). */
enum codes_limit {
	CODES_LIMIT_NONE,
	CODES_LIMIT_WINDOW,
	CODES_LIMIT_SILENT,
	CODES_LIMIT_LOST,
	CODES_LIMIT_NOTICE,
	CODES_LIMIT_FORGOTTEN,
	CODES_LIMITS,
};

/* The first state: bucket 0 is server 0's, bucket 1 server 1's, and there is one array set, by which the connection's
 * bucket is 0. */
struct codes codes_first(const struct codes_setting *setting);

/* Every step that is possible now; returns how many. */
unsigned codes_steps(const struct codes_setting *setting, const struct codes *codes,
		     struct world_step steps[CODES_STEPS_MAX]);

/* Takes a step that codes_steps() returned. */
enum world_result codes_take(const struct codes_setting *setting, struct codes *codes, struct world_step step);

/* The connection's buckets by what a mux has applied, equal if there is one only. */
void codes_buckets(const struct codes *codes, uint8_t mux, uint8_t *b1, uint8_t *b2);

/* Whether the late mux has no session, and has lacked the generation for so long that it has withdrawn. */
bool codes_is_quiet(const struct codes_setting *setting, const struct codes *codes, unsigned generation);

/* Whether another generation may be committed now. */
bool codes_has_room(const struct codes_setting *setting, const struct codes *codes);

/* The first limit that covers a connection broken by this step from this state. */
enum codes_limit codes_limit_of(const struct codes_setting *setting, const struct codes *before,
				struct world_step step);

static inline bool codes_has_rule(const struct codes_setting *setting, enum codes_rule rule)
{
	return !(setting->without >> rule & 1);
}

/* A line for each step, from codes_first(), with where each packet ended. The caller frees it. */
char *codes_story(const struct codes_setting *setting, const struct world_step *steps, size_t count);

#endif
