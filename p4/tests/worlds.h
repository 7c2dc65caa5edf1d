/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Worlds of test_random.c: a service for each VIP of random_frame.h, whose first one has both families, and in each world
 * another hash, affinity and steering: `ring` with each hash and affinity, each hash with `hunt`, with `maat`, and with
 * `othello` and each kind of its arrays.
 */
#ifndef FAIRLEAD_P4_TESTS_WORLDS_H
#define FAIRLEAD_P4_TESTS_WORLDS_H

#include "image.h"
#include "service/tables.h"

enum {
	WORLD_HUNT = 4,    /* the first of two whose connections have a second bucket */
	WORLD_MAAT = 6,    /* the same, and an order */
	WORLD_OTHELLO = 8, /* the first of two of each kind of arrays */
	WORLDS = 18,
	WORLD_NOW = 1700000100,
	WORLD_BACKENDS = 40,
};

/* A service's arrays and those before. */
enum arrays_kind {
	ARRAYS_SAME_PLACES,
	ARRAYS_OTHER_PLACES,
	ARRAYS_LOW_BITS_BEFORE,
	ARRAYS_SETTLED,
	ARRAYS_NONE_YET,
};

bool world_is_maat(unsigned world);

/* Adds the services, with rings of which a third moved recently and a third long ago. */
void world_serve(struct tables *tables, unsigned world, struct chance *chance);

/* By the last digit of a backend's address: 7 is unresolved, 5 has a VLAN, 3 an MTU of 600, 2 leaves by wire 1. */
void world_hop(void *context, const struct fl_address *address, struct next_hop *out);

#endif
