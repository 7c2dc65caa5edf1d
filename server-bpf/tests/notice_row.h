/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The rows of notice.json as packets into the rig, for the runners of both forms, and what a row must teach: what one
 * packet of each of its buckets would.
 */
#ifndef FAIRLEAD_TESTS_NOTICE_ROW_H
#define FAIRLEAD_TESTS_NOTICE_ROW_H

#include <fairlead/notice.h>

#include "rig.h"
#include "vectors.h"

struct notice_row_move {
	fl_u32 bucket;
	struct fl_bucket_memory memory; /* all zero: not remembered */
};

/* Of a server that remembered nothing. */
struct notice_row_taught {
	fl_u16 service;
	fl_u32 generation;
	fl_u64 learned; /* moves, and the removed server */
	size_t removed; /* servers: 0 or 1 */
	size_t count;   /* of different buckets */
	struct notice_row_move moves[FL_NOTICE_BUCKETS_MAX];
};

/* A row of `valid`; config: rig_config_both()'s. */
void notice_row_teach(const json_t *row, const struct config *config, fl_u64 now, struct notice_row_taught *taught);

/* The row's bytes from a mux, over an outer header of this family, with `padding` bytes behind the packet. */
struct packet notice_row_packet(const json_t *row, enum rig_family family, size_t padding);

/* The counter of a row of `malformed`. */
enum fl_counter notice_row_malformed(const json_t *row);

/* The counter of a row of `tags`, for a server with the key. */
enum fl_counter notice_row_tagged(const json_t *row);

#endif
