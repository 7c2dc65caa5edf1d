/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Keeps a census current: reads events, lists sockets when something is unknown, when events were lost, and every few
 * minutes, and looks up by itself each connection that a list did not have.
 */
#ifndef FAIRLEAD_AGENT_FOLLOWER_H
#define FAIRLEAD_AGENT_FOLLOWER_H

#include "census.h"

struct events;
struct signals;
struct diag;

struct follower {
	struct census *census;
	struct events *events;   /* NULL: there are none */
	struct signals *signals; /* as well */
	struct diag *list, *sweep, *lookup;
	bool is_listing, records_read, failed;
	fl_u64 read_failures;
	fl_u64 losses_before; /* the list under way */
	fl_u64 losses_seen;
	fl_u64 next_list_ns;
};

/* NULL: the reason was printed. with_events false: none are asked for. */
struct follower *follower_new(struct census *census, bool with_events);
void follower_free(struct follower *follower);

fl_u64 follower_lost(const struct follower *follower);

/* A bit for each signal that is counted, by its number. */
unsigned follower_signals(const struct follower *follower);

/* Adds what signals were counted since the last call to the census. */
void follower_read_signals(struct follower *follower);

/* The census serves others than before. */
void follower_serve(struct follower *follower);

/* To be polled for reading; -1: none. */
int follower_fd(const struct follower *follower);

/* Reads events, and one message of what is being listed. */
void follower_step(struct follower *follower, fl_u64 now_ns);

/* When to step again at the latest: now_ns while something is being listed. */
fl_u64 follower_deadline(const struct follower *follower, fl_u64 now_ns);

/* Lists all connections: the follower does so by itself only if there are events. */
void follower_list(struct follower *follower, fl_u64 now_ns);

/* Counts half-open connections and accept queues: begins; reads on. Both return 1: not yet, 0: done, negative: failed. */
int follower_sweep_begin(struct follower *follower);
int follower_sweep_step(struct follower *follower);

#endif
