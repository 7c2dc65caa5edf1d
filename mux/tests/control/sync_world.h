/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One service's synchronisation, event by event, against a fake ZooKeeper and real tables. Each row of a case is an
 * event and what is true after it:
 *
 *	waiting requests in order (* sets a watch) | state and generation served | everything else
 *
 * D7, S7, A7 and P7 are the chunks of generation 7's delta, snapshot, arrays and patch of arrays; +250 is when the next
 * retry is due, in milliseconds;
 * then come the refusals counted, how often the service asked whether it is still listed, and the events logged.
 *
 * "told" has the mux tell servers, which then answer by events: "answer 4", all know generation 4; "answer 4 but", all but
 * one. "pass 299" lets milliseconds pass. While servers are told generations, "told:4" says which is the newest.
 *
 * Three events stand for several, with the answer "ok" or the one given to the request for the configuration:
 *
 *	asked 3 [HOW [LIST]]	refresh, config HOW, latest 3; with labels, list LIST
 *	loaded 3 [HOW [LIST]]	the same, number 3, S3 ok; with a list of arrays, A3 ok
 *	retry 3 [HOW [LIST]]	retry, config HOW, latest 3; with labels, list LIST
 *
 * A list of arrays (latest_arrays) is "7=3,5,7": 7's from the whole ones of 3 and patches; "7:5=3,5,7": those of 5 were
 * before; "7:5=7;3,5": they are made of other ones; "+9" or "+3,5,9" at the end: what is written ahead of a later one,
 * "0=0+9": before the first. "none": there is no node. A patch is answered with the generation of the arrays that it
 * changes: "P7 5". "A7 large" and "A7 largebad" are checked in a thread: "work" waits for it.
 */
#ifndef FAIRLEAD_MUX_TESTS_SYNC_WORLD_H
#define FAIRLEAD_MUX_TESTS_SYNC_WORLD_H

#include <stddef.h>

struct sync_row {
	const char *event;
	const char *after;
};

struct sync_case {
	const struct sync_row *rows;
	size_t count;
};

/* For cmocka, as a test whose state is a struct sync_case: plays its rows and fails at the first one that differs. */
void sync_world_play(void **state);

/* A test of an array of rows, with its name. */
#define SYNC_CASE(rows)                                                                                                \
	{                                                                                                              \
#rows, sync_world_play, NULL, NULL, &(struct sync_case){rows, sizeof(rows) / sizeof(rows[0]) },        \
	}

#endif
