/* SPDX-License-Identifier: Apache-2.0 */
/*
 * SYNs to a server whose load is known, and what becomes of them: rows for the tests of both forms. A runner sets the load
 * of RIG_SERVICE, whose highest generation is RIG_GENERATION, sends the row's packet, and has the rest checked.
 */
#ifndef FAIRLEAD_TESTS_REFUSE_ROW_H
#define FAIRLEAD_TESTS_REFUSE_ROW_H

#include "rig.h"

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
	const char *next;  /* the only candidate; NULL: there is none */
	fl_u32 generation; /* 0: RIG_GENERATION, the highest seen */
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

struct fl_list refuse_row_list(const struct refuse_row *row, enum rig_family family);
struct packet_tcp refuse_row_inner(const struct refuse_row *row, enum rig_family family);

/* The packet as a mux sends it. */
struct packet refuse_packet(const struct fl_list *list, const struct packet_tcp *tcp);

void refuse_check_counts(const struct fl_load_state *state, const struct refuse_counts *expected);

/* Checks a packet that was sent on: to the candidate, and with RIG_SELF in its place. */
void refuse_row_check_sent_on(const struct refuse_row *row, const struct packet *sent, const struct packet *onward);

#endif
