/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One connection, one bucket (or two, or arrays that choose one of two), up to 5 servers, up to 3 muxes that each apply
 * generations on their own, and a controller: a packet carries the list of all servers that
 * may know its connection, and servers remember nothing but the highest generation (protocol/include/fairlead/decide.h).
 *
 * No clock: whatever a clock decides (a window's end, the end of a hold, a mux that withdraws) may happen at any moment at
 * which its rule allows it, so windows are of any length. A state is canonical: generations count from the oldest that a
 * mux or a packet still has, and servers are named by where they occur. So a run covers any number of generations with
 * the given number of moves.
 *
 * Broken: a packet of an open connection is reset by a server that does not have it although its server lives, or is
 * never delivered once all muxes are current and the dead server is removed, or its server is switched off as empty.
 */
#ifndef FAIRLEAD_MODEL_LIST_STATE_H
#define FAIRLEAD_MODEL_LIST_STATE_H

#include <stdbool.h>
#include <stdint.h>

enum { S = 5, M = 3, B = 2, G = 12, F = 2, NONE = 7, STATE_PACKED_MAX = 192 };
enum { AWAY = 15 }; /* a mux that has withdrawn the service */

enum notices { OFF, LOSSY, ALL, LAST };
enum order { BY_BUCKET, OWNERS_FIRST };
enum kind { K_NONE, K_SYN, K_SEG, K_LATER };
enum traffic { TCP, UDP_CONNECTED, UDP_OPEN, UDP_FRAGMENTS };

/* What the switch of each rule leaves out, and its word; README.md has what a rule says. */
/* clang-format off */
#define MODEL_RULES(RULE) \
	RULE(R_LATE, "late") RULE(R_STALE, "stale") RULE(R_SKIP, "skip") RULE(R_TOLD, "told") \
	RULE(R_MUXES, "muxes") RULE(R_MARGIN, "margin") RULE(R_COOKIES, "cookies") RULE(R_FRESH, "fresh") \
	RULE(R_ACKS, "acks") RULE(R_SYNLIST, "synlist") RULE(R_SECOND, "second") RULE(R_ONE, "one") \
	RULE(R_ALL_LISTS, "all-lists") RULE(R_QUIET, "quiet") RULE(R_CALM, "calm") RULE(R_REPEAT, "repeat") \
	RULE(R_LIST, "list") RULE(R_FULL, "full") RULE(R_CUT, "cut") RULE(R_HALF_REPORT, "half-report") \
	RULE(R_BOTH_REPORT, "both-report") RULE(R_KEEP, "keep") RULE(R_WAIT, "wait") RULE(R_SETTLE, "settle") \
	RULE(R_NEEDED, "needed") RULE(R_BEFORE, "before") RULE(R_AWAIT, "await") RULE(R_OWN, "own") \
	RULE(R_POOL, "pool") RULE(R_FIRST, "first") RULE(R_WAIT_COOKIES, "wait-cookies") \
	RULE(R_SETTLE_COOKIES, "settle-cookies") RULE(R_AWAIT_COOKIES, "await-cookies") RULE(R_SETTLED, "settled") \
	RULE(R_BEGIN, "begin") RULE(R_CLOCK, "clock") RULE(R_SHRINK, "shrink") RULE(R_ABOVE, "above")
/* clang-format on */

enum rule {
#define RULE(rule, word) rule,
	MODEL_RULES(RULE)
#undef RULE
	    RULES,
};

/* main.c has the options by which these are set, README.md what they mean. */
struct setting {
	int servers, muxes, buckets, moves, K, flight, arrays, room;
	enum notices notices;
	enum order order;
	enum traffic traffic;
	bool begin, busy, close_, cookies, crowd, deadline, deaf, death, force, hold, ipip, jump, leave, lost_mux, maat,
	    mux_clock, news, off, older, plain, reduce, restart, restore, reuse, revive, same, search, skip, torn,
	    withdraw;
	double walk; /* steps of a random walk in place of a search; 0: none */
	uint64_t seed;
	uint64_t rules;
	double gib, seconds;
};

extern struct setting setting;

static inline bool has(enum rule r)
{
	return setting.rules >> r & 1;
}

/* Whether states say by which generation a connection was opened: where causes have to be told apart. */
static inline bool tracks_birth(void)
{
	return setting.close_ || setting.mux_clock || setting.notices != ALL || setting.lost_mux || setting.deaf ||
	       setting.force || setting.restore || !has(R_MUXES);
}

/* How many buckets a segment or datagram names. */
static inline int named_buckets(void)
{
	return setting.traffic != TCP && has(R_ONE) ? 1 : setting.buckets;
}

enum cause {
	C_NONE,
	C_WINDOW,   /* the window was over, by the controller's time or by the mux's */
	C_OVERFLOW, /* the list was full and the move forced, or both buckets' lists do not fit into the packet */
	C_ALONE,    /* a mux that hears no other: it is late, and does not withdraw */
	C_NOTICE,   /* no server on the way has the notice by which it would have known that the mux is late */
	C_DATAGRAM, /* a late mux's, or of an unconnected socket while entries are open; never stale */
	C_IPIP,     /* a server that sent the packet on knew that its mux is late, and the header has no LATE */
	C_RESTORE,  /* the backup did not know of a move, and the ring was lost */
	CAUSES,
};

extern const char *const cause_names[CAUSES];

enum hint {
	LACKED = 1, /* one lacked a notice, and would have marked it */
	KNEW = 2,   /* one knew that its mux is late */
};

/* All bytes; no padding. Lists: 3 bits a server, newest first, server + 1, 0 ends. */
struct flight {
	uint8_t kind, gen, late, hint; /* hint: enum hint of the servers that sent it on, for the cause alone */
	uint16_t path;
};

struct state {
	uint8_t n, moves, home, dead;
	uint8_t half, cookie, fresh, reported[B];
	uint8_t former;      /* servers that have seen a generation above all, of the service that had the id before */
	uint8_t home_cookie; /* the server has no socket for it yet: its agent cannot report it */
	uint8_t removed;     /* the dead server has been removed */
	uint8_t empty;       /* server said to be empty, or NONE */
	uint8_t restarted, memo;
	uint8_t mux[M];
	uint8_t kept[M];    /* which generation a mux that has withdrawn the service could return with, or AWAY */
	uint8_t disk[M];    /* what it could restart with, or AWAY */
	uint8_t settled;    /* below this one no mux announces the service */
	uint8_t held;       /* from this generation on there is a hold, or AWAY */
	uint8_t gone, left; /* servers: removed at a drain's deadline; taken out of the pool. Or NONE */
	uint8_t restored;
	uint8_t seen[S];
	uint8_t
	    lapsed[S]; /* why the server, which has the connection or a copy, is in no list of the oldest generation */
	uint8_t born[S];    /* by which generation the connection, or a copy, was opened there; for the cause alone */
	uint8_t because[G]; /* why a generation takes servers from lists */
	uint8_t code[G];    /* with arrays: bit 0 the bucket, 1 and 2 the one before + 1 or 0, from 3 on which arrays */
	uint8_t known;   /* with arrays: the controller knows the connection; bit 1 on: + 1, which arrays opened it */
	uint8_t renewed; /* new arrays so far */
	struct flight flight[F];
	uint16_t list[B][G];
};

static inline int list_len(uint16_t l)
{
	int n = 0;

	for (; l; l >>= 3)
		n++;
	return n;
}

static inline int list_at(uint16_t l, int i)
{
	int v = l >> (3 * i) & 7;

	return v ? v - 1 : NONE;
}

static inline bool list_has(uint16_t l, int s)
{
	for (; l; l >>= 3)
		if ((l & 7) == s + 1)
			return true;
	return false;
}

static inline uint16_t list_less(uint16_t l, int s)
{
	uint16_t out = 0;
	int n = 0;

	for (; l; l >>= 3)
		if ((l & 7) != s + 1)
			out |= (uint16_t)((l & 7) << (3 * n++));
	return out;
}

static inline uint16_t list_push(uint16_t l, int s) /* to the end, unless it is there */
{
	return list_has(l, s) ? l : (uint16_t)(l | (s + 1) << (3 * list_len(l)));
}

int state_owner(const struct state *t, int b, int g);
int state_mux_max(const struct state *t);

/* The highest generation that a mux or server is known to have had. */
int state_known_max(const struct state *t);

/* Whether the connection is open there, or a copy. */
bool state_has_copy(const struct state *t, int s);

/* Why generation g's lists lack a server that had been in them before; C_NONE: it had not. */
enum cause state_gone(const struct state *t, int s, int g);

/* Who is told before generation g is applied by a mux that has `from`: all servers of the service. */
uint8_t state_to_tell(const struct state *t, int from, int g);

/* What a packet or notice calls generation g: without the rule `above` a restored ring has the numbers of the lost one. */
uint8_t state_number(const struct state *t, int g);

void state_learn(struct state *t, int s, int g);
bool state_lacks_notice(const struct state *t, int s, int g);
void state_cut(struct state *t);

/* Leaves out what cannot matter any more, by reduce.c. */
bool state_is_reduced(void);
void state_reduce(struct state *t);

void state_canonical(struct state *t);
struct state state_first(void);

#endif
