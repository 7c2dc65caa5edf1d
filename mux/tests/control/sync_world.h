/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One service's synchronisation, event by event, against a fake ZooKeeper and real tables. Each row of a case is an
 * event and what is true after it:
 *
 *	waiting requests in order (* sets a watch) | state and generation served | everything else
 *
 * D7, S7 and B7 are the chunks of generation 7's delta, snapshot and blob; +250 is when the next retry is due, in milliseconds;
 * then come the refusals counted, how often the service asked whether it is still listed, and the events logged.
 */
#ifndef FAIRLEAD_MUX_TESTS_SYNC_WORLD_H
#define FAIRLEAD_MUX_TESTS_SYNC_WORLD_H

#include <stddef.h>

struct sync_row {
	const char *event;
	const char *after;
};

/* For cmocka: a service that has read nothing yet. */
int sync_world_set_up(void **state);
int sync_world_tear_down(void **state);

/* Plays the rows; fails at the first one that differs. */
void sync_world_play(const struct sync_row *rows, size_t count);

#endif
