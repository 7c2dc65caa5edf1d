// SPDX-License-Identifier: Apache-2.0
#include "follower.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "diag.h"
#include "events.h"
#include "signals.h"

enum numbers {
	LIST_SECONDS = 240, /* between lists, where there are events */
	RETRY_SECONDS = 1,
	MISSING_MAX = 1024, /* looked up between two reads of events */
};

static void open_signals(struct follower *follower)
{
	static const char *const names[AGENT_SIGNALS] = {[SIGNAL_REFUSED] = "refused connections",
							 [SIGNAL_RESETS_SENT] = "resets sent",
							 [SIGNAL_RESETS_RECEIVED] = "resets received",
							 [SIGNAL_RETRANSMITTED] = "retransmissions",
							 [SIGNAL_SEGMENTS] = "segments",
							 [SIGNAL_RTT_SAMPLES] = "round-trip times"};
	const char *why;

	follower->signals = signals_open(follower->events, &why);
	if (!follower->signals)
		fprintf(stderr, "fairlead-server: agent: counts no signals, as %s\n", why);
	for (int signal = 0; follower->signals && signal < AGENT_SIGNALS; signal++)
		if (names[signal] && !(follower_signals(follower) >> signal & 1))
			fprintf(stderr, "fairlead-server: agent: the kernel does not tell of %s\n", names[signal]);
}

struct follower *follower_new(struct census *census, bool with_events)
{
	struct follower *follower = calloc(1, sizeof(*follower));
	const char *why = "--no-events";

	if (!follower)
		return NULL;
	follower->census = census;
	follower->list = diag_open();
	follower->sweep = diag_open();
	follower->lookup = diag_open();
	if (!follower->list || !follower->sweep || !follower->lookup) {
		fprintf(stderr, "fairlead-server: agent: cannot ask the kernel for sockets: %s\n", strerror(errno));
		follower_free(follower);
		return NULL;
	}
	if (with_events)
		follower->events = events_open(&why);
	if (follower->events)
		fprintf(stderr, "fairlead-server: agent: follows connections by events\n");
	else
		fprintf(stderr, "fairlead-server: agent: lists connections before each report: no events, as %s\n",
			why);
	if (follower->events)
		open_signals(follower);
	return follower;
}

void follower_free(struct follower *follower)
{
	if (!follower)
		return;
	signals_close(follower->signals);
	events_close(follower->events);
	diag_close(follower->list);
	diag_close(follower->sweep);
	diag_close(follower->lookup);
	free(follower);
}

fl_u64 follower_lost(const struct follower *follower)
{
	return follower->events ? events_lost(follower->events) : 0;
}

unsigned follower_signals(const struct follower *follower)
{
	return follower->signals ? signals_known(follower->signals) : 0;
}

int follower_fd(const struct follower *follower)
{
	return follower->events ? events_fd(follower->events) : -1;
}

/* Changes whenever something may have been missed. */
static fl_u64 losses(const struct follower *follower)
{
	return follower_lost(follower) + follower->read_failures;
}

static void fail(const char *what, int err)
{
	fprintf(stderr, "fairlead-server: agent: cannot %s: %s; tried again after a second\n", what, strerror(-err));
}

void follower_read_signals(struct follower *follower)
{
	int err = follower->signals ? signals_read(follower->signals, follower->census) : 0;

	if (err)
		fail("read signals", err);
}

void follower_serve(struct follower *follower)
{
	int err = 0;

	/* before the list begins, so that no connection opens between the two unseen */
	if (follower->events)
		err = events_serve(follower->events, follower->census->services);
	if (err) {
		fail("tell the kernel which events matter", err);
		census_lose(follower->census);
	}
	follower->failed = err != 0;
	follower->is_listing = false;
	follower->next_list_ns = 0;
}

static void end_list(struct follower *follower, bool complete, fl_u64 now_ns)
{
	bool lost = losses(follower) != follower->losses_before;

	census_dump_end(follower->census, complete && !lost && !follower->failed);
	follower->is_listing = false;
	follower->next_list_ns = now_ns + (complete && !lost ? LIST_SECONDS : RETRY_SECONDS) * SECOND_NS;
}

static void take(void *context, const struct diag_socket *socket)
{
	struct census *census = context;

	if (socket->kind == DIAG_LISTENER)
		census_listener(census, &socket->listener);
	else if (socket->kind == DIAG_HALF_OPEN)
		census_half_open(census, &socket->name);
	else
		census_record(census, &socket->name);
}

/* Looks up some of the missing connections; ends the list once there are none. */
static void settle(struct follower *follower, fl_u64 now_ns)
{
	struct connection_key keys[MISSING_MAX];
	size_t count = census_missing(follower->census, keys, MISSING_MAX);

	for (size_t i = 0; i < count; i++) {
		struct socket_name name = census_name(follower->census, &keys[i]);
		int exists = diag_exists(follower->lookup, &name);

		if (exists < 0) {
			fail("look a connection up", exists);
			end_list(follower, false, now_ns);
			return;
		}
		census_settle(follower->census, &keys[i], exists);
	}
	if (!count)
		end_list(follower, true, now_ns);
}

void follower_list(struct follower *follower, fl_u64 now_ns)
{
	int err;

	if (follower->failed && follower->events) {
		err = events_serve(follower->events, follower->census->services);
		follower->failed = err != 0;
	}
	follower->losses_before = losses(follower);
	census_dump_begin(follower->census, now_ns);
	follower->is_listing = true;
	follower->records_read = false;
	err = diag_begin(follower->list, DIAG_CONNECTIONS);
	if (err) {
		fail("list sockets", err);
		end_list(follower, false, now_ns);
	}
}

static void list_on(struct follower *follower, fl_u64 now_ns)
{
	int more;

	if (follower->records_read) {
		settle(follower, now_ns);
		return;
	}
	more = diag_step(follower->list, take, follower->census);
	if (more < 0) {
		fail("list sockets", more);
		end_list(follower, false, now_ns);
	}
	/* what closed or opened before the list's end has been sent; it is read before the first look-up */
	follower->records_read = more == 0;
}

static void read_events(struct follower *follower)
{
	int err = follower->events ? events_read(follower->events, follower->census) : 0;

	if (err < 0) {
		fail("read events", err);
		follower->read_failures++;
	}
	if (losses(follower) != follower->losses_seen)
		census_lose(follower->census);
	follower->losses_seen = losses(follower);
}

void follower_step(struct follower *follower, fl_u64 now_ns)
{
	if (!follower->census->services)
		return;
	read_events(follower);
	if (follower->is_listing)
		list_on(follower, now_ns);
	else if (follower->events && follower->next_list_ns <= now_ns)
		follower_list(follower, now_ns);
	else if (follower->events && census_needs_dump(follower->census) &&
		 follower->next_list_ns > now_ns + RETRY_SECONDS * SECOND_NS)
		follower->next_list_ns = now_ns + RETRY_SECONDS * SECOND_NS;
}

fl_u64 follower_deadline(const struct follower *follower, fl_u64 now_ns)
{
	if (follower->is_listing)
		return now_ns;
	return follower->events && follower->census->services ? follower->next_list_ns : ~0ULL;
}

int follower_sweep_begin(struct follower *follower)
{
	int err = diag_begin(follower->sweep, DIAG_SWEEP);

	census_sweep_begin(follower->census);
	if (err)
		fail("list half-open connections", err);
	return err ? err : 1;
}

int follower_sweep_step(struct follower *follower)
{
	int more = diag_step(follower->sweep, take, follower->census);

	if (more < 0)
		fail("list half-open connections", more);
	/* a connection that the sweep missed, as it was established meanwhile, is in an event */
	if (!more) {
		read_events(follower);
		census_sweep_end(follower->census);
	}
	return more;
}
