/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a host can know of a packet's connection, and how a packet is then counted if nothing is remembered: for both
 * forms of the server side.
 */
#ifndef FAIRLEAD_TESTS_CLASS_ROW_H
#define FAIRLEAD_TESTS_CLASS_ROW_H

#include "counters.h"
#include "rig.h"

enum class_row_of {
	CLASS_ROW_TCP,  /* of struct rig_packets */
	CLASS_ROW_PAIR, /* of struct rig_connection, once for each pair */
	CLASS_ROW_UDP,
};

struct class_row {
	const char *name;
	enum class_row_of of;
	size_t at; /* in its struct */
	enum fl_counter counter;
};

extern const struct class_row class_rows[];
extern const size_t class_rows_count;

/* How many pairs it has; for a row that is of none, 1. */
int class_row_pairs(const struct class_row *row);
/* What to add to its name; empty if it is of no pair. */
const char *class_row_pair_name(const struct class_row *row, enum rig_pair pair);
/* Writes the row's inner packet, one of these, at the packet's end. */
void class_row_add(struct packet *packet, const struct class_row *row, const struct rig_packets *packets,
		   enum rig_pair pair);

#endif
