/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Services, snapshots and deltas generated for tests and benchmarks; random ones from a seed.
 */
#ifndef FAIRLEAD_MUX_TESTS_IMAGE_H
#define FAIRLEAD_MUX_TESTS_IMAGE_H

#include "ring/delta.h"
#include "host/next_hop.h"
#include "config/service_config.h"

/* A xorshift64* sequence; state must not be 0. */
struct chance {
	uint64_t state;
};

uint64_t chance_next(struct chance *chance);
uint32_t chance_below(struct chance *chance, uint32_t bound);

struct othello_arrays;

/* Either family. */
struct fl_address image_address(const char *text);

/* Service "web": id, one VIP, TCP port 80, a fixed SipHash key, window 240. */
struct service_config image_config(uint16_t id, const char *vip, uint32_t buckets);

/* Buckets dealt in turn to backends 1..n at 10.1.0.21 upwards, never moved. image_free() ends it. */
struct delta image_snapshot(uint16_t service, uint32_t generation, uint32_t buckets, uint16_t backends);

/* Gives a bucket of a snapshot to a backend, 0: none; its history stays. */
void image_own(struct delta *snapshot, uint32_t bucket, uint16_t owner);
/* Makes this its history: one former owner, 0: none. */
void image_was(struct delta *snapshot, uint32_t bucket, uint16_t previous, uint32_t since);
/* Whether some history has the most entries: then its bucket cannot move to any backend without a release. */
bool image_has_full_history(const struct delta *snapshot);
/* The newest entry of its history, 0: there is none. */
uint16_t image_previous(const struct delta *snapshot, uint32_t bucket);
uint32_t image_since(const struct delta *snapshot, uint32_t bucket);

/*
 * Moves count buckets from start on to a backend, so that the owner that they leave is all of their history; as a delta of
 * the snapshot. image_free() ends it.
 */
struct delta image_move(const struct delta *snapshot, uint32_t generation, uint32_t start, uint32_t count,
			uint16_t current, uint32_t committed);

void image_free(struct delta *delta);

struct ring;

/* A ring with the snapshot's backends and buckets, where no window ends. ring_free() ends it. */
struct ring *image_ring(const struct delta *snapshot);

/* Arrays of steering othello with random cells, and one reference. */
struct othello_arrays *image_arrays(struct chance *chance, uint32_t generation, uint32_t na, uint32_t nb,
				    enum fl_hash_kind hash, uint32_t buckets);
/* Changes a cell of arrays that nothing else reads. */
void image_set_cell(struct othello_arrays *arrays, uint32_t place, uint32_t cell);

/*
 * All addresses by one port: MAC 02:00:00:00:00:01 to 02:00 and the address's last four bytes; the source of an IPv6
 * address is 2001:db8:1::11. context: struct next_hop.
 */
void image_hop(void *context, const struct fl_address *address, struct next_hop *out);

/* Port 2 with an MTU of 1600, which a test may change; and all addresses by it. */
extern struct next_hop image_wire;
extern const struct next_hops image_hops;

#endif
