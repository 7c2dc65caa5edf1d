/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The control thread: everything but packets. It follows ZooKeeper, is the only writer of the tables, polls the
 * neighbours' descriptor (neighbour.h), announces VIPs and answers HTTP.
 */
#ifndef FAIRLEAD_MUX_CONTROL_THREAD_H
#define FAIRLEAD_MUX_CONTROL_THREAD_H

#include "packet/counters.h"
#include "host/neighbour.h"
#include "config/options.h"
#include "host/port.h"
#include "service/tables.h"

/* The parts that main has created; all of them must outlive the control thread. */
struct mux {
	const char *kind;                /* program.h: mux_kind.name; NULL in tests: the usual one */
	const struct mux_serves *serves; /* likewise */
	const struct options *options;
	struct ports *ports;
	struct tables *tables;
	struct neighbours *neighbours; /* NULL in tests without ports */
	struct counters *counters;
	struct sampler *sampler;   /* NULL in tests without workers */
	const struct beat *beats;  /* of options->workers workers; NULL: likewise */
	const char *pipeline;      /* front.h: mode; NULL: no front */
	struct fl_address address; /* outer sources: --address or the first port's; fl_address_is_none: it has none */
	struct fl_address address6;
};

struct control_thread;

/* Starts the thread; returns once it runs, whether ZooKeeper is reachable or not. Negative errno and why. */
int control_thread_start(const struct mux *mux, struct control_thread **out, struct reason *why);

/* Why the mux must end, if it must: a SIGTERM to the process says that this has changed. 0, or negative errno. */
int control_thread_refusal(const struct control_thread *control, struct reason *why);

/* Withdraws the announcements for good; everything else continues. Does not wait for the withdrawal. */
void control_thread_leave(struct control_thread *control);

/* Withdraws the announcements, ends the thread, frees everything. */
void control_thread_stop(struct control_thread *control);

#endif
