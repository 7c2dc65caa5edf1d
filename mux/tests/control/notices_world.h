/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Notices over a clock and a socket of the test: a service of four backends, and every packet that was sent, read by the
 * parser that servers use.
 */
#ifndef FAIRLEAD_MUX_TESTS_NOTICES_WORLD_H
#define FAIRLEAD_MUX_TESTS_NOTICES_WORLD_H

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <setjmp.h>
#include <cmocka.h>

#include <fairlead/notice.h>

#include "notice/batch.h"
#include "notice/notices.h"
#include "service/tables.h"
#include "../image.h"

enum {
	UNIX = 1700000100,
	START_MS = 5000,
	SERVICE = 1,
	BUCKETS = 1024,
	BIG = 524288,
	BACKENDS = 4,
	PACKETS_MAX = 60000
};

struct packet_seen {
	struct fl_address to;
	struct fl_notice notice;
	uint64_t at_ms;
	uint32_t first; /* bucket */
};

struct world {
	uint64_t now_ms;
	int error; /* of the next packets */
	uint32_t seen_count;
	struct packet_seen *seen;
	uint32_t *told; /* how often each bucket was told */
	const struct fl_siphash_key *key;
	struct tables *tables;
	struct service *service;
	struct notices *notices;
	struct delta image;
};

/* The second of the world's clock. */
uint32_t world_now(void *world);

/* Of the backend with this id. */
struct fl_address world_address(uint16_t id);

/* A ring that is loaded and whose buckets all moved `age` seconds ago, from 1 behind their owner. */
struct world *world_open_held(uint32_t buckets, uint32_t age, const struct fl_siphash_key *key,
			      const struct encap *encap, uint32_t hold);
struct world *world_open(uint32_t buckets, uint32_t age, const struct fl_siphash_key *key, const struct encap *encap);
void world_close(struct world *w);

/* Gives buckets to a backend: what servers are told before, then the change. */
void world_move(struct world *w, uint32_t start, uint32_t count, uint16_t to);

/* Lets time pass as the control thread does: it wakes at deadlines. */
void world_pass(struct world *w, uint64_t ms);

/* Packets to an id from this index on; *moves is how many buckets they tell. */
uint32_t world_packets_to(const struct world *w, uint32_t from, uint16_t id, uint32_t *moves);

#endif
