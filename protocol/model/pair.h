/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Two buckets of one service, the servers that own them in turn, and two muxes whose packets name both: what codes.h and
 * choices.h have in common. Steps and results are those of world.h.
 *
 *	ring		a generation moves a bucket, as in world.h
 *	notices		while packets name a second bucket, all owners get those of each generation; all servers that of one
 *			that removes a dead server, which it names
 *	server		what it remembers of both buckets, and the highest generation it has seen
 *	connection	its server (home), WORLD_NONE before there is one
 *
 * Packets go through the real fl_verdict_decide() and fl_verdict_promote(), hop by hop.
 */
#ifndef FAIRLEAD_MODEL_PAIR_H
#define FAIRLEAD_MODEL_PAIR_H

#include <stddef.h>
#include <stdio.h>

#include "world.h"

enum pair_numbers {
	PAIR_SERVERS = 5,
	PAIR_BUCKETS = 2,
	PAIR_MOVES_MAX = 4,
	PAIR_WINDOW_MAX = 8,   /* ticks */
	PAIR_GENERATIONS = 10, /* no further ones are committed that the late mux lacks */
};

/* Fixed for a run of the explorer. */
struct pair_setting {
	enum world_notices notices;
	unsigned servers;               /* 3 to PAIR_SERVERS; those that never owned a bucket are alike */
	unsigned moves;                 /* at most PAIR_MOVES_MAX */
	uint8_t window;                 /* ticks, at most PAIR_WINDOW_MAX */
	bool behind;                    /* the late mux may be late; else both are current */
	bool hold;                      /* muxes name a previous owner until the controller releases the bucket */
	bool rooted;                    /* server 0 owns further buckets, which never move and are not in the model */
	bool death;                     /* one server may die, and is then removed with --dead */
	bool forgetting;                /* one server may forget all that it remembers, and keeps its connections */
	bool unnamed;                   /* no notice says which server was removed */
	int server_ticks[PAIR_SERVERS]; /* error of each server's clock */
	int mux_ticks[2];               /* and of each mux's */
};

struct pair_generation {
	uint8_t owner[PAIR_BUCKETS];
	uint8_t previous[PAIR_BUCKETS]; /* WORLD_NONE: 0 */
	uint8_t age[PAIR_BUCKETS];      /* of the move that the row tells of */
	uint8_t committed;              /* ticks ago; codes.h */
	uint8_t arrays;                 /* codes.h */
	uint8_t has_second;             /* its muxes name a second bucket */
	uint8_t told;                   /* a bit for each server that gets its notice */
	uint8_t told_move; /* a bit for each bucket whose loser is told of the move that gave it the bucket */
};

struct pair_server {
	uint8_t seen;
	uint8_t lost;         /* ticks ago, a bucket or, by new arrays, codes; the window or more: not lately */
	uint8_t told_removed; /* whether a notice has named the dead server as removed */
	struct server_memory memory[PAIR_BUCKETS];
};

/* No padding: states are compared and hashed as bytes. */
struct pair {
	uint8_t newest;
	uint8_t late;
	uint8_t moves;
	uint8_t home;
	uint8_t dead;    /* a server, or WORLD_NONE */
	uint8_t removed; /* the generation that removed it, or 0 */
	struct pair_generation generation[PAIR_GENERATIONS];
	struct pair_server server[PAIR_SERVERS];
	uint8_t forgot; /* the server that did, or WORLD_NONE; what it would know: */
	struct pair_server forgotten;
};

_Static_assert(sizeof(struct pair) == 7 + 11 * PAIR_GENERATIONS + 9 * (PAIR_SERVERS + 1), "no padding");

/* Steps of both models. */
enum pair_action {
	PAIR_TIME,     /* a tick passes */
	PAIR_MOVE,     /* + pair_place(): the bucket moves there; the current mux applies it at once */
	PAIR_CATCH_UP, /* the late mux applies one generation */
	PAIR_OTHER,    /* + pair_place() of a mux: another client's SYN in the bucket */
	PAIR_NEWS,     /* + server: it sees the newest generation on a packet of another bucket */
	PAIR_NOTICE,   /* + pair_notice(): it arrives, again or for the first time */
	PAIR_DEATH,    /* + server: it never answers again */
	PAIR_REMOVE,   /* + server: `backend remove --dead` of the dead one, whose buckets go there */
	PAIR_FORGET,   /* + server: it forgets what it remembers */
	PAIR_SETTLE,   /* the dead server is removed, all muxes become current and the client sends again and again; the
			   last step of a sequence */
	PAIR_ACTIONS,
};

enum { PAIR_STEPS_MAX = 1 + 2 * PAIR_BUCKETS + PAIR_SERVERS * (2 + PAIR_GENERATIONS) }; /* of pair_steps() */

/* A packet on its way, and where it ended. */
struct pair_way {
	struct fl_steer steer;
	enum fl_packet_class packet[PAIR_SERVERS]; /* what it is at each server */
	bool refuses;                              /* who refuses it does so by its second bucket, too: it is dropped */
	bool unmarked;                             /* nobody says that it is a late mux's */
	bool stops;                                /* nothing is passed on from a server to itself */
	enum fl_verdict verdict;                   /* the last server's: neither CHAIN nor PASS; a dead one drops */
	uint8_t end;
};

/* The first state: bucket 0 is server 0's; bucket 1's owner is named. */
struct pair pair_first(const struct pair_setting *setting, uint8_t second_owner);

static inline const struct pair_generation *pair_newest(const struct pair *pair)
{
	return &pair->generation[pair->newest];
}

/* What a mux has applied. */
static inline const struct pair_generation *pair_applied(const struct pair *pair, uint8_t mux)
{
	return &pair->generation[mux == WORLD_LATE ? pair->late : pair->newest];
}

static inline uint8_t pair_place(uint8_t bucket, uint8_t server_or_mux)
{
	return (uint8_t)(bucket * PAIR_SERVERS + server_or_mux);
}

static inline uint8_t pair_notice(uint8_t generation, uint8_t server)
{
	return (uint8_t)(generation * PAIR_SERVERS + server);
}

/* Whether the server owns any bucket by this generation. */
bool pair_owns(const struct pair_setting *setting, const struct pair_generation *g, uint8_t server);

/*
 * Whether the server lost the bucket, by a generation, after the ring last named no previous owner: with a hold, packets
 * are sent back to it.
 */
bool pair_is_in_line(const struct pair *pair, unsigned generation, uint8_t bucket, uint8_t server);

/* How many servers have owned a bucket, and one of those that have not: these are alike. */
uint8_t pair_servers(const struct pair_setting *setting, const struct pair *pair);

/* Whether the dead server has not been removed. */
bool pair_is_removal_due(const struct pair *pair);

/* A copy of the newest generation to be changed: pair_commit() makes it the newest, and sends its notices. */
struct pair_generation *pair_begin(struct pair *pair);
void pair_commit(const struct pair_setting *setting, struct pair *pair);

/* The late mux applies the next generation. */
void pair_catch_up(const struct pair_setting *setting, struct pair *pair);

/* Steps of packets to other buckets, notices, death and forgetting; the late mux's. Returns how many. */
unsigned pair_steps(const struct pair_setting *setting, const struct pair *pair, struct world_step *steps);

/* Takes one of the steps that pair_steps() returned but PAIR_CATCH_UP, or lets time pass. */
void pair_take(const struct pair_setting *setting, struct pair *pair, struct world_step step);

/* Says it in words, without an end of line. */
void pair_tell_step(FILE *out, struct world_step step);
const char *pair_mux(uint8_t mux);

/* One tick more, up to a number of them. */
void pair_grow(uint8_t *age, uint8_t max);

/* The header that a mux writes for a bucket, and for a second one, which may be the same: then it names one only. */
struct fl_steer pair_header(const struct pair_setting *setting, const struct pair *pair, uint8_t mux, uint8_t b1,
			    uint8_t b2);

/* A packet that no server refuses: a SYN, or a segment that one server knows, or WORLD_NONE; `steer` is to be set. */
struct pair_way pair_way(bool is_syn, uint8_t home);

/* Takes a packet from a mux to the server where it ends. */
void pair_walk(const struct pair_setting *setting, struct pair *pair, uint8_t mux, struct pair_way *way);

/* Another client's SYN in the bucket. */
void pair_other(const struct pair_setting *setting, struct pair *pair, uint8_t bucket, uint8_t mux);

/* A server reads the notice of a generation; all that are told it do; that of every generation. */
void pair_read(const struct pair_setting *setting, struct pair *pair, uint8_t g, uint8_t server);
void pair_tell_of(const struct pair_setting *setting, struct pair *pair, uint8_t g);
void pair_tell(const struct pair_setting *setting, struct pair *pair);

/* The server that forgot learns anew what it would know. */
void pair_remind(struct pair *pair);

#endif
