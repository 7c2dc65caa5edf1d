/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The servers of one service, and what each of them has acknowledged. Pure: teller.h has clock, limit and socket.
 *
 *	untold --send--> under way --acknowledged--> knows it: again after TOLD_REFRESH_MS
 *			     |  ^
 *			     +--+ again after TOLD_REPEAT_MS, then twice that, ..., at most TOLD_REFRESH_MS
 *
 * Only the newest generation is told. While a packet is under way, a newer generation waits for its acknowledgement, or
 * for TOLD_REPEAT_MS, so that a server gets no more packets than it answers.
 *
 * A server is silent if it has not acknowledged a generation within TOLD_WAIT_MS. It is told as the others, but nothing
 * waits for it until it acknowledges something.
 */
#ifndef FAIRLEAD_MUX_TELL_TOLD_H
#define FAIRLEAD_MUX_TELL_TOLD_H

#include <stdbool.h>
#include <stdint.h>

#include <fairlead/notice.h>

enum told_numbers {
	TOLD_REPEAT_MS = 100,
	TOLD_REFRESH_MS = 10000,
	TOLD_WAIT_MS = 300,
};

struct told_server {
	struct fl_address address;
	struct fl_siphash_key key; /* of its notices; unused without the cluster's key */
	uint64_t due_ms;           /* when it is told again */
	uint64_t sent_ms;
	uint32_t sent;         /* the generation that it was told last, 0: none */
	uint32_t acknowledged; /* the highest generation that it is known to know, 0: none */
	uint32_t interval_ms;  /* until the next repetition */
	int error;             /* of the last packet: a negative errno; 0: it was sent */
	bool is_silent;
};

struct told {
	struct told *next;
	uint16_t service;
	uint32_t generation; /* that is told, 0: none yet */
	uint64_t due_ms;     /* the earliest of the servers' */
	uint64_t wait_ms;    /* until then an acknowledgement is waited for; 0: for none */
	uint32_t wait_for;   /* of this generation */
	uint32_t at;         /* where told_due() goes on */
	uint32_t count;
	struct told_server *servers; /* by address */
};

/* What an acknowledgement said. */
enum told_news {
	TOLD_KNOWS,   /* the server knows the generation that it was told */
	TOLD_BEHIND,  /* it did not when it answered: it took the generation for a jump, or answers an earlier notice */
	TOLD_UNASKED, /* from an address that was told nothing */
};

/* Sets who the servers are; keeps what is known of those that stay. Sorts the list. -ENOMEM: nothing has changed. */
int told_set_servers(struct told *told, struct fl_address *list, uint32_t count, const struct fl_siphash_key *cluster,
		     uint64_t now_ms);
void told_free_servers(struct told *told);

/* Sets the generation to be told, if it is higher than the last one. */
void told_set_generation(struct told *told, uint32_t generation, uint64_t now_ms);

/* The next server that is due; NULL: none is, and due_ms says when one will be. */
struct told_server *told_due(struct told *told, uint64_t now_ms);

/* It has been sent the generation. */
void told_note_sent(const struct told *told, struct told_server *server, uint64_t now_ms);

/* NULL: this is none of the servers. */
struct told_server *told_find(const struct told *told, const struct fl_address *address);

/* The server, or NULL, has acknowledged this generation. */
enum told_news told_note_acknowledged(struct told *told, struct told_server *server, uint32_t generation,
				      uint64_t now_ms);

/*
 * Whether the mux may apply this generation: all servers but silent ones have acknowledged it, or it was waited for long
 * enough; those that have not are silent from then on, and *newly_silent is how many.
 */
bool told_is_done(struct told *told, uint32_t generation, uint64_t now_ms, uint32_t *newly_silent);

uint32_t told_count_silent(const struct told *told);

#endif
