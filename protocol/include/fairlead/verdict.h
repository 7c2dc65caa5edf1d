/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/*
 * What a server does with a packet from a mux or another server: one pure function, the same source in the kernel
 * module, in eBPF and in the tests (Beamer, NSDI '18, sections 3.2 and 4.2).
 *
 *	trusted? -> well formed? -> learn generation and move -> local state? -> moved lately? -> stale? -> deliver
 */
#ifndef FAIRLEAD_VERDICT_H
#define FAIRLEAD_VERDICT_H

#include "steer.h"

enum fl_verdict_numbers {
	FL_WINDOW_DEFAULT = 240, /* seconds that a bucket is chained after it moved */
	FL_FUTURE_MAX = 5,       /* seconds; a move further ahead of our clock is ignored */
};

/* What the host knows about the packet's connection. */
enum fl_packet_class {
	FL_PACKET_SYN = 1,      /* opens a connection (SYN without ACK) */
	FL_PACKET_COOKIE_ACK,   /* ACK that carries a SYN cookie valid here */
	FL_PACKET_LOCAL_SOCKET, /* established TCP, half-open TCP that the packet belongs to, connected UDP */
	FL_PACKET_UNKNOWN,      /* no local state */
};

enum fl_verdict {
	FL_VERDICT_DELIVER = 1,
	FL_VERDICT_CHAIN,
	FL_VERDICT_DROP_STALE,
	FL_VERDICT_DROP_UNTRUSTED,
	FL_VERDICT_DROP_MALFORMED,
	FL_VERDICTS,
};

/* What a server remembers about a bucket of a service. All zero: never moved. */
struct fl_bucket_memory {
	fl_u32 since;               /* Unix seconds */
	fl_u32 generation;          /* of the packet that it was learned from */
	struct fl_address previous; /* never the server itself */
};

_Static_assert(sizeof(struct fl_bucket_memory) == 24, "24 bytes per remembered bucket");

struct fl_verdict_in {
	enum fl_packet_class packet;
	bool trusted;  /* sender is an allowed mux or peer, and the tag is right where one is required */
	bool chaining; /* off only to show what happens without it */
	enum fl_steer_error malformed; /* of fl_steer_parse(); steer is valid only if FL_STEER_OK */
	struct fl_steer steer;
	fl_u32 generation_seen; /* highest generation seen for the service, 0 for none */
	struct fl_bucket_memory memory;
	fl_u32 now;    /* Unix seconds */
	fl_u32 window; /* seconds */
	struct fl_address self;
};

struct fl_verdict_out {
	enum fl_verdict verdict;
	fl_u32 generation_seen; /* to be stored if it differs from the input's */
	bool learned;           /* memory has changed and must be stored */
	struct fl_bucket_memory memory;
	struct fl_address next; /* if CHAIN: where to send the packet, with hops + 1 and MOVED cleared */
};

/* Whether the address is 0.0.0.0 or ::, which a header may contain but no server has. */
FL_INLINE bool fl_verdict_is_unspecified(const struct fl_address *previous)
{
	fl_u8 ipv4 = previous->bytes[12] | previous->bytes[13] | previous->bytes[14] | previous->bytes[15];

	return fl_address_is_none(previous) || (fl_address_is_ipv4(previous) && !ipv4);
}

/* Whether the packet was steered by a bucket. One that was steered by its backend's id teaches no move and is never
 * chained. */
FL_INLINE bool fl_verdict_has_bucket(const struct fl_verdict_in *in)
{
	return in->steer.bucket != FL_STEER_BUCKET_NONE;
}

/*
 * Whether the packet carries a move that is newer than the remembered one: a later time, or the same second in a later
 * generation with another owner (two moves within one second must both be learned).
 */
FL_INLINE bool fl_verdict_is_news(const struct fl_verdict_in *in)
{
	const struct fl_steer *steer = &in->steer;

	if (!fl_verdict_has_bucket(in) || !(steer->flags & FL_STEER_MOVED) ||
	    fl_verdict_is_unspecified(&steer->previous) || fl_address_equal(&steer->previous, &in->self))
		return false;
	if (steer->since > in->now && steer->since - in->now > FL_FUTURE_MAX)
		return false;
	if (steer->since != in->memory.since)
		return steer->since > in->memory.since;
	return steer->generation > in->memory.generation && !fl_address_equal(&steer->previous, &in->memory.previous);
}

FL_INLINE void fl_verdict_decide(const struct fl_verdict_in *in, struct fl_verdict_out *out)
{
	out->generation_seen = in->generation_seen;
	out->learned = false;
	out->memory = in->memory;
	out->next = (struct fl_address){{0}};

	if (!in->trusted) {
		out->verdict = FL_VERDICT_DROP_UNTRUSTED;
		return;
	}
	if (in->malformed != FL_STEER_OK) {
		out->verdict = FL_VERDICT_DROP_MALFORMED;
		return;
	}
	if (in->steer.generation > in->generation_seen)
		out->generation_seen = in->steer.generation;
	if (fl_verdict_is_news(in)) {
		out->learned = true;
		out->memory.since = in->steer.since;
		out->memory.generation = in->steer.generation;
		out->memory.previous = in->steer.previous;
	}
	if (in->packet != FL_PACKET_UNKNOWN) {
		out->verdict = FL_VERDICT_DELIVER;
		return;
	}
	if (in->chaining && fl_verdict_has_bucket(in) && in->steer.hops < FL_STEER_HOPS_MAX &&
	    !fl_address_is_none(&out->memory.previous) && (fl_u64)in->now < (fl_u64)out->memory.since + in->window) {
		out->verdict = FL_VERDICT_CHAIN;
		out->next = out->memory.previous;
		return;
	}
	out->verdict = in->steer.generation < out->generation_seen ? FL_VERDICT_DROP_STALE : FL_VERDICT_DELIVER;
}

#endif
