/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which connections there are: the table, kept by events and reconciled by dumps, and what of it is known.
 *
 * A dump is no snapshot: sockets open and close while the kernel lists them, and earlier events wait to be read. So
 * while a dump is under way
 *	- each connection that a record or an event names gets the dump's mark,
 *	- one that closes stays as CLOSED, so that a record read before its end cannot bring it back,
 *	- at its end, a live connection without the mark is missing: its close was not seen, or the kernel skipped it,
 *	  as it may when a hash chain changes between two of its messages. The caller looks each of these up by itself.
 * Events that the kernel sent before the dump's end must have been read before census_dump_end().
 *
 * Where connections are reported one by one, a connection that was told also stays as CLOSED until its end is (told.h).
 *
 * A service is known once a dump that began after the service did has ended, and unless events have been lost since.
 * Half-open connections have no events. They, and accept queues, are counted by a sweep: a short dump before each report.
 */
#ifndef FAIRLEAD_AGENT_CENSUS_H
#define FAIRLEAD_AGENT_CENSUS_H

#include "connections.h"
#include "question.h"
#include "services.h"
#include "signals.bpf.h"
#include "told.h"

/* What reports tell of a service by differences. */
enum tally_what {
	TALLY_OPENED,
	TALLY_CLOSED,
	TALLY_OFFERED, /* SYNs that were offered to the server, and what became of them (readings.h) */
	TALLY_TAKEN,
	TALLY_PASSED,
	TALLY_NUMBERS,
};

struct tally_number {
	fl_u64 all;        /* since the agent started */
	fl_u64 told, sent; /* of these, in reports that were answered; in the one that was written last */
};

struct tally_load {
	bool has_busy;
	fl_u32 busy;
	bool has_seen;
	fl_u64 seen[TALLY_NUMBERS]; /* in the form, of SYNs */
};

/* What is counted of a service. */
struct tally {
	fl_u64 established;
	struct tally_number numbers[TALLY_NUMBERS];
	fl_u64 half_open, listeners, queue_length, queue_limit; /* by the last sweep */
	fl_u64 last_listener;                                   /* that was counted */
	struct agent_counts signals;                            /* since the service is counted */
	fl_u64 drops, drops_before;                             /* of listeners: by this sweep, by the last one */
	bool is_full, was_full;                                 /* a queue of theirs, likewise */
	bool has_drops;                                         /* of the last one */
	bool dumped;
	struct question question;
	fl_u64 step; /* the last one completed, if is_aging: aging.h */
	fl_u8 steps_due;
	bool is_aging;
	struct told told;
	struct tally_load load;
};

/* A socket, as an event or a record of a dump names it. */
struct socket_name {
	struct fl_address local, remote;
	fl_u16 local_port, remote_port;
};

struct listener {
	struct fl_address local; /* 0.0.0.0 as ::ffff:0.0.0.0 */
	fl_u16 port;
	bool ipv6_only;
	fl_u32 length, limit;
	fl_u32 drops; /* of packets that would have opened a connection, since it listens */
};

struct census {
	struct fl_siphash_key seed;
	struct services *services; /* NULL: not read yet */
	struct tally *tallies;     /* of each of them */
	struct connections *table;
	bool dumping, lost, out_of_memory;
	fl_u8 mark;       /* of the last dump */
	fl_u64 begun_ns;  /* of the dump under way */
	fl_u64 dumped_ns; /* the beginning of the last complete one; 0: there was none, or it is no longer valid */
	fl_u64 listener;  /* number of the last one */
};

/* NULL: no memory. There are no services at first. */
struct census *census_new(const struct fl_siphash_key *seed);
void census_free(struct census *census);

/*
 * Replaces the services, which the census frees later. Connections, counts, questions and what was told of those that
 * remain as they were are kept; all others are unknown until the next dump. A dump under way is given up. False: no
 * memory; nothing has changed, and the services are freed.
 */
bool census_serve(struct census *census, struct services *services);

/* Completes the steps of ages that are over (aging.h). To be called before connections that have opened are counted. */
void census_age(struct census *census, fl_u64 now_ns);

/* Everything known of the service may be reported. */
bool census_knows(const struct census *census, size_t service);

/* It opened at opened_ns, by the agent's monotonic clock. */
void census_open(struct census *census, const struct socket_name *name, fl_u64 opened_ns);
void census_close(struct census *census, const struct socket_name *name);

/* Events were lost: nothing is known until a dump that begins from now on has ended. */
void census_lose(struct census *census);

void census_dump_begin(struct census *census, fl_u64 now_ns);
void census_record(struct census *census, const struct socket_name *name);

/* Fills in missing connections; returns how many, 0: none is left. Each must be settled before the next call. */
size_t census_missing(struct census *census, struct connection_key *keys, size_t max);
struct socket_name census_name(const struct census *census, const struct connection_key *key);
void census_settle(struct census *census, const struct connection_key *key, bool exists);

/* complete: all records were read, and no event was lost since the dump began. */
void census_dump_end(struct census *census, bool complete);

/* Something is unknown that a dump would tell. */
bool census_needs_dump(const struct census *census);

void census_sweep_begin(struct census *census);
void census_half_open(struct census *census, const struct socket_name *name);
void census_listener(struct census *census, const struct listener *listener);

/*
 * What listeners dropped since the last sweep counts as refused if a queue was full in either sweep. Otherwise
 * queues had room: a listener also drops the reset of a client that leaves before its connection is established, as
 * health checks by TCP do each time.
 */
void census_sweep_end(struct census *census);

/* Adds the counts of a local address and port to the service that has them. */
void census_signals(struct census *census, const struct fl_address *local, fl_u16 port,
		    const struct agent_counts *counts);

#endif
