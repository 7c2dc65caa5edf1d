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

/* Moves count buckets from start on to a backend; each had another owner before. image_free() ends it. */
struct delta image_move(const struct delta *snapshot, uint32_t generation, uint32_t start, uint32_t count,
			uint16_t current, uint16_t previous, uint32_t committed);

void image_free(struct delta *delta);

/* Arrays of steering othello with random cells, and one reference. */
struct othello_arrays *image_arrays(struct chance *chance, uint32_t generation, uint32_t na, uint32_t nb,
				    enum fl_hash_kind hash, uint32_t buckets);

/*
 * All addresses by one port: MAC 02:00:00:00:00:01 to 02:00 and the address's last four bytes; the source of an IPv6
 * address is 2001:db8:1::11. context: struct next_hop.
 */
void image_hop(void *context, const struct fl_address *address, struct next_hop *out);

/* Port 2 with an MTU of 1600, which a test may change; and all addresses by it. */
extern struct next_hop image_wire;
extern const struct next_hops image_hops;

#endif
