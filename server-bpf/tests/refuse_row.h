/* SPDX-License-Identifier: Apache-2.0 */
/*
 * SYNs to a server whose load is known, and what becomes of them: rows for the tests of both forms. A runner sets the load
 * of RIG_SERVICE, whose highest generation is RIG_GENERATION, sends the row's packet, and has the rest checked.
 */
#ifndef FAIRLEAD_TESTS_REFUSE_ROW_H
#define FAIRLEAD_TESTS_REFUSE_ROW_H

#include "rig.h"

enum refuse_numbers {
	REFUSE_SECOND_BUCKET = 4712,
};

enum refuse_inner {
	SYN,
	SYN_OF_HALF_OPEN,
	SYN_OF_ESTABLISHED,
	SYN_OF_TIME_WAIT,
	SYN_WITHOUT_LISTENER,
	ACK_UNKNOWN,
	ACK_ESTABLISHED,
	SYN_ACK,
};

/* Of struct fl_load_state. */
struct refuse_counts {
	fl_u64 taken, passed, unasked;
};

struct refuse_row {
	const char *name;
	enum refuse_inner inner;
	const char *second; /* the second bucket's owner; NULL: there is none */
	bool is_moved;      /* the second bucket, from another server */
	fl_u32 generation;  /* 0: RIG_GENERATION, the highest seen */
	const struct fl_load_setting *setting;
	enum fl_counter counter;
	struct refuse_counts counts;
};

/* Ends with one without a name. */
extern const struct refuse_row refuse_rows[];

/*
 * The offer of a SYN that another server would take, too, in each family; the same with one that does not answer; and a
 * setting by which they are refused.
 */
extern const struct refuse_row refuse_offer, refuse_offer6, refuse_silent, refuse_silent6;
extern const struct fl_load_setting refuse_full;

struct fl_steer refuse_row_steer(const struct refuse_row *row, enum rig_family family);
struct packet_tcp refuse_row_inner(const struct refuse_row *row, enum rig_family family);

/* The packet as a mux sends it. */
struct packet refuse_packet(const struct fl_steer *steer, const struct packet_tcp *tcp);

void refuse_check_counts(const struct fl_load_state *state, const struct refuse_counts *expected);

/* Checks a packet that was passed on: to the second bucket's owner, with the header that a mux would send by that bucket. */
void refuse_row_check_passed(const struct refuse_row *row, const struct packet *sent, const struct packet *passed);

#endif
