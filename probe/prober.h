/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Makes probes when they are due, gives each an end, and tells their judges.
 *
 *	due --source port, attempt of the check's kind--> under way --answer, error or timeout--> judged, due again
 *
 * An attempt says nothing about a backend, and is void, if it could not be made, if none of its packets passed the
 * tunnel, or if this program itself did not run for a while: answers may then have come too late, or not been read.
 */
#ifndef FAIRLEAD_PROBE_PROBER_H
#define FAIRLEAD_PROBE_PROBER_H

#include <sys/epoll.h>

#include "pool.h"
#include "ports.h"
#include "tunnel.h"

enum prober_numbers {
	PROBER_STALL_MS = 300,     /* longer without running than was meant makes attempts void */
	PROBER_POSTPONE_MS = 100,  /* without a free source port */
	PROBER_STEP_MS = 20,       /* probes that are due within this time are made together */
	PROBER_COMMANDS_MAX = 64,  /* that run at once */
	PROBER_ATTEMPTS_MAX = 256, /* that are begun between two looks at sockets */
};

/*
 * A descriptor in the epoll set; embedded, and the first member of what it belongs to. It is buried, not freed: events of
 * it may have been fetched already.
 */
struct waiter {
	void (*ready)(struct waiter *waiter, uint32_t events); /* NULL: it is buried */
	struct waiter *next;                                   /* that is buried */
};

/* X(name, what the metric's help says) */
#define PROBER_COUNTERS(X)                                                                                             \
	X(postponed, "probes for which there was no free source port or room for a command")                           \
	X(not_made, "attempts that this host could not begin, such as without a free descriptor")                      \
	X(not_sent, "attempts of which no packet passed the tunnel, such as without the VIP's route")                  \
	X(stalled, "attempts that were under way while this program did not run")

struct prober_counters {
	uint64_t outcomes[OUTCOMES_COUNT];
#define PROBER_COUNTER(name, help) uint64_t name;
	PROBER_COUNTERS(PROBER_COUNTER)
#undef PROBER_COUNTER
};

struct https_client;
struct prober;

/* An attempt as the prober knows it; the first member of a kind's own. */
struct attempt {
	struct waiter waiter;
	const struct attempt_kind *kind;
	struct prober *prober;
	struct probe *probe;
};

struct attempt_kind {
	/* Begins one, at most until probe->due; NULL: it can't be made. It may not end before this returns. */
	struct attempt *(*begin)(struct prober *prober, struct probe *probe);
	/* Frees everything; resets a connection. */
	void (*end)(struct attempt *attempt);
	/* What it is if it takes too long. */
	enum outcome (*late)(const struct attempt *attempt);
	uint32_t rest_ms; /* of its source port */
};

extern const struct attempt_kind attempt_tcp, attempt_udp, attempt_http, attempt_https, attempt_command;

struct prober_options {
	struct fl_address inner[2]; /* sources, by family */
	uint16_t first_port, last_port;
	const char *commands; /* folder of commands; NULL: none are allowed */
	const char *ca_file;  /* certificates to trust; NULL: the system's */
	int epoll;
	void (*changed)(void *context, struct probed *service); /* what is known of its backends */
	void *context;
};

struct prober {
	struct prober_options options;
	struct schedule schedule;
	struct ports *ports;
	struct https_client *https; /* NULL until the first one */
	unsigned commands;          /* that run */
	struct waiter *buried;
	uint64_t now_ms;
	uint64_t random;
	struct prober_counters counters;
};

/* 0 or -ENOMEM. prober_close() undoes it, also after an error. */
int prober_open(struct prober *prober, const struct prober_options *options);
/* The pool must be empty. */
void prober_close(struct prober *prober);

/* As the pool's listener. */
struct pool_listener prober_listener(struct prober *prober);
/* As the tunnel's. */
extern const struct tunnel_events prober_tunnel_events;

/* Milliseconds until prober_run() has something to do, at most limit. */
int prober_wait(const struct prober *prober, int limit);
/* Begins what is due, and ends what took too long: call it when all sockets that were ready have been served. */
void prober_run(struct prober *prober, uint64_t now_ms);
/* Sets the clock, before sockets are served; slept_ms: for how long it was meant to sleep. */
void prober_wake(struct prober *prober, uint64_t now_ms, int slept_ms);

/*
 * Takes an attempt's descriptor out of the epoll set and closes it. Closing alone may leave it there: for a moment a
 * program that is being started has it too, until it is executed, and its events would be of an attempt that is freed.
 */
void prober_close_fd(const struct prober *prober, int fd);

/* Has what the waiter belongs to freed by prober_reap(), which is called when all events that were fetched are served. */
void prober_bury(struct prober *prober, struct waiter *waiter);
void prober_reap(struct prober *prober);

/* Of kinds: an attempt's result, which ends and frees it. */
void prober_done(struct attempt *attempt, enum outcome outcome);
/* The same for one that says nothing of its backend; counts it there. */
void prober_void(struct attempt *attempt, uint64_t *counter);
/*
 * A socket from the probe's source to its VIP and port, not blocking and bound, not connected; closing it resets a
 * connection. Returns the descriptor or -errno.
 */
int prober_socket(struct prober *prober, struct probe *probe, int type);
/* Has packets from the probe's source port go to its backend; prober_socket() does so, too. */
void prober_lead(struct prober *prober, const struct probe *probe);
/* The outcome that a socket's error stands for. */
enum outcome prober_outcome(int error);
/* A number below n. */
uint32_t prober_draw(struct prober *prober, uint32_t n);

/* The handling of HTTPS between attempts (https.c). */
void https_client_free(struct https_client *client);
/* Milliseconds until https_client_run() is due, at most limit. */
int https_client_wait(const struct https_client *client, uint64_t now_ms, int limit);
void https_client_run(struct https_client *client, uint64_t now_ms);

#endif
