/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tells servers about changes of rings without a client's packet (protocol/README.md, 2). One for all services of a
 * mux; control thread only.
 *
 *	before a change		what notice_plan_make() lists, as far as the burst allows; the rest right after:
 *				to those that lose buckets and those that lost some within window and hold before; of
 *				dead servers that it removes, to all backends
 *	1 s after its end	the same once more
 *	every 10 s		the generation, and the removals within window and hold, to the owners that have lost
 *				buckets within them
 *
 * A mux tells a server only if it is among the two muxes of the highest weight for it (peers_tells()), so the cost for a
 * server does not grow with the number of muxes, and one of the two may be behind or lose a packet.
 *
 * A server that knows the new generation early drops unknown packets of muxes that still have the old ring as stale. It
 * had nothing for them but a RST, so that is no loss: the client sends them again, by then to the new owner.
 *
 * Packets are limited by a token bucket. What was not sent waits; what cannot wait because too much does is dropped and
 * counted. The caller passes the time; the sink sends (sender.h).
 */
#ifndef FAIRLEAD_MUX_NOTICES_H
#define FAIRLEAD_MUX_NOTICES_H

#include "notice/losses.h"
#include "notice/sender.h"
#include "service/service.h"

struct tables;

enum notices_numbers {
	NOTICES_SENDERS = 2,    /* muxes that tell a server */
	NOTICES_RATE = 10000,   /* packets a second */
	NOTICES_BURST = 1000,   /* packets at once */
	NOTICES_RESERVED = 500, /* of the burst, for the next change: what waits does not use them */
	NOTICES_REPEAT_MS = 1000,
	NOTICES_REFRESH_MS = 10000,
	NOTICES_PAUSE_MS = 10,                 /* until more is sent of what waits */
	NOTICES_HELD_BUCKETS = FL_BUCKETS_MAX, /* in the lists that wait, of all services */
};

/* What became of a notice, in the words of metrics. */
enum notice_result {
	NOTICE_SENT,
	NOTICE_REPEATED,
	NOTICE_REFRESHED,
	NOTICE_LIMITED, /* dropped: too much was waiting */
	NOTICE_RESULTS,
};

struct notice_sink {
	void *context;
	int (*send)(void *context, const struct fl_address *to, const uint8_t *bytes, uint32_t len);
};

struct notices_options {
	const struct tables *tables;
	const struct fl_siphash_key *tag_key; /* NULL: the cluster has none */
	struct notice_sink sink;
	uint64_t (*now_ms)(void *clock); /* monotonic */
	uint32_t (*now)(void *clock);    /* Unix seconds */
	void *clock;
};

struct notices;

/* NULL: no memory. */
struct notices *notices_new(const struct notices_options *options);
void notices_free(struct notices *notices);

/*
 * all_lose: all owners count as losers, since packets of late muxes may get to each of them: packets have two buckets
 * by the hash's halves, or arrays say so (arrays_set.h).
 *
 * Call before a delta is applied to the service's ring, or an image replaces it (or is the first). Both must be what
 * tables_check() accepts. Returns after at most NOTICES_BURST packets.
 */
void notices_before(struct notices *notices, const struct service *service, const struct delta *change, bool all_lose);

/* The service is removed: nothing more is sent for it. */
void notices_forget(struct notices *notices, uint16_t service);

/* Sends what is due. */
void notices_run(struct notices *notices);
/* When notices_run() has something to do; UINT64_MAX: never. */
uint64_t notices_deadline(const struct notices *notices);

uint64_t notices_count(const struct notices *notices, enum notice_result result);
uint64_t notices_errors(const struct notices *notices, enum notice_error error);
/* Moves of buckets that were told, repetitions included. */
uint64_t notices_moves(const struct notices *notices);
/* Packets that wait for the limit or for their repetition; service 0: of all. */
uint64_t notices_waiting(const struct notices *notices, uint16_t service);
/* Whether this mux is one of those that send notices to a backend of the ring. */
bool notices_tells(const struct notices *notices, const struct ring *ring, uint16_t id);
/* The owners that are told the generation every 10 s, by ascending id; those whose window is over may still be there. */
const struct notice_owner *notices_owners(const struct notices *notices, uint16_t service, uint32_t *count);

#endif
