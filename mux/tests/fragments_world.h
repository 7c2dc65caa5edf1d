/* SPDX-License-Identifier: Apache-2.0 */
/* Muxes that hand each other fragments: frames go in, what leaves for servers is recorded; the clock is given. */
#ifndef FAIRLEAD_TESTS_FRAGMENTS_WORLD_H
#define FAIRLEAD_TESTS_FRAGMENTS_WORLD_H

#include "fragment/fragments.h"
#include "service/tables.h"
#include "frame.h"

enum { NOW = 1700000100, MUXES = 3, PAYLOAD = 160, PIECE = 64, DATAGRAMS = 200, SEEN_MAX = 4096 };

struct mux {
	struct tables *tables;
	struct rte_ring *ring;
	struct fragments *fragments;
	struct fl_address address;
};

/* A fragment that a mux sent to a server. */
struct seen {
	uint32_t id;
	uint32_t bucket;
};

struct fragments_world {
	struct mux muxes[MUXES];
	struct service *service;
	struct seen seen[SEEN_MAX];
	uint32_t seen_count, counts[VERDICTS_ALL];
	uint16_t told;                        /* the last MTU reported to a sender */
	const struct fl_siphash_key *tag_key; /* NULL: packets to servers have no tag */
};

extern struct fragments_world world;

/* For cmocka: all muxes know each other. */
int world_set_up(void **state);
int world_tear_down(void **state);

/* The mux that an outer IPv4 header is addressed to. */
struct mux *world_mux_at(const uint8_t *ip);

/* A mux without others, which handles all datagrams itself. */
struct mux *world_alone(void);

/* Between workers; its counters, which run modulo 2^32, begin just below their wrap. */
struct rte_ring *world_ring(void);

struct flow world_flow(uint32_t datagram);
/* How many fragments a datagram of the flow has. */
uint32_t world_pieces(const struct flow *flow);
/* One of them: its payload from `at`, PIECE bytes or the rest. */
struct frame world_cut(const struct flow *flow, uint32_t id, uint32_t at);

/* A frame from the wire into a mux; forwarded_in: by another mux. */
void world_give(struct mux *mux, struct rte_mbuf *mbuf, bool forwarded_in, uint64_t now_ms);
void world_give_piece(struct mux *mux, const struct flow *flow, uint32_t id, uint32_t piece, uint64_t now_ms);

/* Sends what is ready, as a worker does once in a loop. */
void world_pump(struct mux *mux, bool forwarded_in, uint64_t now_ms);

#endif
