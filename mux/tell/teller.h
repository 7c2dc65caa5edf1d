/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tells all servers of each service the newest generation before the mux applies it, by notices, which servers
 * acknowledge (protocol/README.md, 2, Notices). One for all services of a mux; control thread only. told.h says who is
 * told when.
 *
 * A generation is applied once all servers have acknowledged it, or after TOLD_WAIT_MS: then a server that no notice
 * reached may reset connections of muxes that are late. That is rarer by the first repetition, which comes before.
 *
 * Packets are limited by a token bucket. What it holds up is told later, and then only the newest generation of it.
 * Services come in turn. The caller passes the time; the sink sends (teller_socket.h).
 */
#ifndef FAIRLEAD_MUX_TELL_TELLER_H
#define FAIRLEAD_MUX_TELL_TELLER_H

#include "tell/told.h"

enum teller_numbers {
	TELLER_RATE = 10000,  /* packets a second */
	TELLER_BURST = 1000,  /* packets at once */
	TELLER_PAUSE_MS = 10, /* until more is sent of what the limit held up */
};

/* Counts, in the words of metrics: first what was sent, then what came back, then what a generation waited for. */
enum teller_count {
	TELLER_SENT,
	TELLER_REPEATED,
	TELLER_REFRESHED,
	TELLER_SEND_FAILED,
	TELLER_ACKNOWLEDGED,
	TELLER_BEHIND,    /* of a lower generation than the server was told last */
	TELLER_MALFORMED, /* no acknowledgement */
	TELLER_TAG,       /* its tag is wrong or missing */
	TELLER_UNASKED,   /* from an address that was told nothing of this service */
	TELLER_ALL_KNOW,  /* generations that all servers acknowledged, except silent ones */
	TELLER_TOO_LATE,  /* generations that some server did not acknowledge in time */
	TELLER_COUNTS,
};

struct teller_sink {
	void *context;
	/* Negative errno; -EAGAIN: later. */
	int (*send)(void *context, const struct fl_address *to, const uint8_t *bytes, uint32_t len);
};

struct teller_options {
	const struct fl_siphash_key *tag_key; /* the cluster's, to write with; NULL: it has none */
	struct teller_sink sink;
	uint64_t (*now_ms)(void *clock); /* monotonic */
	void *clock;
};

struct teller {
	struct teller_options options;
	struct told *first; /* the service whose turn it is */
	uint64_t tokens;    /* thousandths of a packet */
	uint64_t filled_ms; /* when tokens were last added */
	uint64_t paused_ms; /* until then nothing is sent */
	uint64_t counts[TELLER_COUNTS];
};

/* NULL: no memory. */
struct teller *teller_new(const struct teller_options *options);
/* NULL is allowed. */
void teller_free(struct teller *teller);

/* Who the servers of a service are from now on. Sorts the list. -ENOMEM: as before. */
int teller_set_servers(struct teller *teller, uint16_t service, struct fl_address *list, uint32_t count);
/* Tells the servers a generation if it is higher than the last one. */
void teller_tell(struct teller *teller, uint16_t service, uint32_t generation);
/* Whether the mux may apply the generation, which was told; if not, ask again at teller_deadline(). */
bool teller_is_done(struct teller *teller, uint16_t service, uint32_t generation);
/* The service is removed: nothing more is sent for it. */
void teller_forget(struct teller *teller, uint16_t service);

/* Something came in at the socket. */
void teller_receive(struct teller *teller, const struct fl_address *from, const uint8_t *bytes, uint32_t len);
/* Sends what is due. */
void teller_run(struct teller *teller);
/* When teller_run() or teller_is_done() has something to do; UINT64_MAX: never. */
uint64_t teller_deadline(const struct teller *teller);

/* Servers that nothing waits for, of all services. */
uint32_t teller_silent(const struct teller *teller);
/* NULL: nothing is told of this service. */
struct told *teller_told(const struct teller *teller, uint16_t service);

#endif
