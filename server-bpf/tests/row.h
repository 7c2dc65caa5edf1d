/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The rows of verdict.json as packets into the rig, for the runners of both forms: what is sent, and what must come of
 * it. A runner brings a row about (configuration, clock, memory, generation), sends its packet, and has the rest
 * checked.
 *
 * "local_socket" is asked twice, of an established and of a half-open connection, and "unknown" also of a wrong cookie
 * and of a half-open connection whose client acknowledges another host's SYN-ACK. "no_reset" is asked of a datagram to an
 * unconnected socket and of a later fragment. Rows of `passed` whose packet the server would pass to itself have two
 * decisions.
 */
#ifndef FAIRLEAD_TESTS_ROW_H
#define FAIRLEAD_TESTS_ROW_H

#include "rig.h"
#include "verdict_row.h"

/* What is sent in a row's packet: a TCP segment or a datagram. */
struct row_inner {
	const struct packet_tcp *tcp; /* NULL: a datagram */
	const struct packet_flow *udp;
	bool is_later_fragment;
};

/*
 * Runs all rows of the folder's verdict.json, those of one configuration together. run_once() sends this inner packet
 * for the row, and returns false if the clock moved on meanwhile and it must be run again. Rows whose `now` is before
 * `earliest`, which the runner's clock cannot show, are moved there. The rig must be open. Returns what main() returns.
 */
int rows_run(const char *group, const char *folder, fl_u64 earliest,
	     bool (*run_once)(const json_t *row, const struct row_inner *inner));

struct config row_config(const json_t *row);

/* The row's packet as a mux sends it; returns where the inner packet begins. */
size_t row_packet(struct packet *packet, const json_t *row, fl_u16 service, const struct row_inner *inner);

/* The decision that ends the packet, with `in` and `out`: the second of a packet passed to ourselves, else the row. */
const json_t *row_last(const json_t *row);
bool row_is_promoted(const json_t *row);

/* The second bucket's number; its memory is `in.memory` of row_last() if the row is promoted. */
fl_u32 row_second_bucket(const json_t *row);

/* The counter of the exit that the row expects. */
enum fl_counter row_counter(const json_t *row);

/* Checks that a chained packet, or one that is passed on, has the row's destination and header, and the inner packet. */
void row_check_chained(const json_t *row, const struct packet *sent, size_t inner_at, const struct packet *chained);

/* What is remembered afterwards, memory of the first bucket. memory: NULL if nothing is. */
void row_check_state(const json_t *row, fl_u32 generation, fl_u64 learned, const struct fl_bucket_memory *memory);

/* What is remembered of the second bucket of a promoted row. */
void row_check_second(const json_t *row, const struct fl_bucket_memory *memory);

#endif
