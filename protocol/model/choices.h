/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The methods `hunt` and `maat`: one connection with the two buckets of pair.h, whose muxes name them in some order.
 *
 *	hunt		bucket 0 is first, bucket 1 second. The first one's owner may refuse a SYN, which the second one's then takes
 *	maat		either is first, whatever was first before: a mux's loads and filter say so. No SYN is refused
 *	both		either is first, and its owner may refuse a SYN
 *	copy		a server that took a SYN, as a half-open connection or by a SYN cookie; of a SYN sent again there may
 *			be several. The client takes any one's SYN-ACK, and that server is the connection's
 *	SYN cookie	a copy that its server does not recognise when the SYN comes again
 */
#ifndef FAIRLEAD_MODEL_CHOICES_H
#define FAIRLEAD_MODEL_CHOICES_H

#include "pair.h"

enum choices_method { CHOICES_HUNT, CHOICES_MAAT, CHOICES_BOTH };

/* What keeps connections; a setting may turn each off. TOLD is needed only without LATE. */
enum choices_rule {
	CHOICES_RULE_SECOND,   /* muxes name the second bucket in every packet, not in SYNs alone */
	CHOICES_RULE_SAME,     /* even if both buckets have one owner */
	CHOICES_RULE_MOVED2,   /* and the second one's move */
	CHOICES_RULE_IN_PLACE, /* a server that would pass a packet on to itself goes on with the second bucket */
	CHOICES_RULE_ONCE,     /* the second one's owner takes every SYN */
	CHOICES_RULE_ACKS,     /* a copy is local state for what acknowledges its own SYN-ACK only */
	CHOICES_RULE_REPORTS,  /* agents report a connection by both of its buckets, not by bucket 0 alone */
	CHOICES_RULE_MUXES,    /* a report counts only once the late mux has the bucket's last move */
	CHOICES_RULE_TOLD,     /* all owners are told every generation, not only those that have lost a bucket */
	CHOICES_RULE_LATE,     /* a server that sends a late mux's packet on says so */
	CHOICES_RULE_NAMED,    /* notices name a server that was removed as dead (pair_setting.unnamed) */
	CHOICES_RULES,
};

/* Fixed for a run of the explorer. */
struct choices_setting {
	struct pair_setting pair;
	enum choices_method method;
	bool same;        /* server 0 owns both buckets at first */
	bool cookies;     /* a server may answer by a SYN cookie */
	unsigned without; /* a bit for each rule that is off */
};

/* No padding: states are compared and hashed as bytes. */
struct choices {
	struct pair pair;
	uint8_t half_open; /* a bit for each server with a copy that is one */
	uint8_t cookies;   /* and that is a SYN cookie */
	uint8_t
	    reported; /* with a hold, a bit for each bucket whose earlier owners had no connection after the window */
};

_Static_assert(sizeof(struct choices) == sizeof(struct pair) + 3, "no padding");

enum choices_action {
	CHOICES_SYN = PAIR_ACTIONS, /* + choices_syn(): the client's SYN, for the first time or again */
	CHOICES_TAKE,               /* + server: the client takes its SYN-ACK */
	CHOICES_SEGMENT,            /* + choices_segment(): of the connection */
	CHOICES_REPORT,             /* + bucket: with a hold, after the window; its earlier owners have no connection */
	CHOICES_RELEASE,            /* + bucket: after such a report the ring names no previous owner any more */
};

enum { CHOICES_STEPS_MAX = 18 + 2 * PAIR_BUCKETS + PAIR_STEPS_MAX + (PAIR_BUCKETS + 2) * PAIR_SERVERS };

/* The limits that excuse a broken connection (protocol/README.md, 10). */
enum choices_limit {
	CHOICES_LIMIT_NONE,
	CHOICES_LIMIT_WINDOW,
	CHOICES_LIMIT_FORGOTTEN,
	CHOICES_LIMIT_NOTICE,
	CHOICES_LIMIT_DEAD,
	CHOICES_LIMIT_RETURN,
	CHOICES_LIMIT_FOURTH_MOVE,
	CHOICES_LIMITS,
};

/* The first state: bucket 0 is server 0's, bucket 1 server 1's or server 0's, too. */
struct choices choices_first(const struct choices_setting *setting);

/* Every step that is possible now; returns how many. */
unsigned choices_steps(const struct choices_setting *setting, const struct choices *choices,
		       struct world_step steps[CHOICES_STEPS_MAX]);

/* Takes a step that choices_steps() returned, and says where its packet ended. */
enum world_result choices_take(const struct choices_setting *setting, struct choices *choices, struct world_step step,
			       uint8_t *end);

/* The first limit that covers a connection broken by this step from this state. */
enum choices_limit choices_limit_of(const struct choices_setting *setting, const struct choices *before,
				    struct world_step step);

static inline bool choices_has_rule(const struct choices_setting *setting, enum choices_rule rule)
{
	return !(setting->without >> rule & 1);
}

/* By which mux, which bucket is first, whether its owner would refuse it, and whether who takes it sends a cookie. */
static inline uint8_t choices_syn(uint8_t mux, uint8_t first, bool is_busy, bool is_cookie)
{
	return (uint8_t)(mux | first << 1 | is_busy << 2 | is_cookie << 3);
}

static inline uint8_t choices_segment(uint8_t mux, uint8_t first)
{
	return (uint8_t)(mux | first << 1);
}

/* A line for each step, from choices_first(), with where each packet ended. The caller frees it. */
char *choices_story(const struct choices_setting *setting, const struct world_step *steps, size_t count);

#endif
