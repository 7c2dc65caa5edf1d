/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/*
 * What a server does with a packet from a mux or another server: one pure function, the same source in the kernel
 * module, in eBPF and in the tests (Beamer, NSDI '18, sections 3.2 and 4.2).
 *
 *	trusted? -> well formed? -> learn generation and move -> local state, or opens a connection? -> moved lately? ->
 *	second bucket? -> stale? -> deliver
 *
 * What the packet says of its bucket's move is obeyed whatever the server's clock says: window and hold are the mux's.
 * Clock and window of the server bound what it remembers, and datagrams, which are not held. Beyond the window memory
 * counts for a packet that the ring sends on to a former owner: where the chain begins, the ring says that it is held.
 *
 * A packet that names a second bucket, and whose connection none of the first one's owners knows, is passed on to the
 * owner of the second. There it is a packet of that bucket alone, so it is passed on once. So is a SYN that the server
 * would rather not take; without a second bucket it takes it.
 *
 * A server that was removed as dead is named by notices, with the generation that removed it (notice.h). What was
 * remembered from this or an earlier generation leads to it no more.
 *
 * A server that has seen a higher generation than the packet's mux marks it LATE where it sends it on. So a server that
 * has not seen that generation does not reset what may belong to an owner of which the mux does not know.
 */
#ifndef FAIRLEAD_VERDICT_H
#define FAIRLEAD_VERDICT_H

#include "decide.h"
#include "steer.h"

enum fl_verdict_numbers {
	FL_WINDOW_DEFAULT = 240, /* seconds that a move is remembered */
	FL_FUTURE_MAX = 5,       /* seconds; a move further ahead of our clock is remembered as one of now */
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
	bool chaining; /* and passing on; off only to show what happens without it */
	enum fl_steer_error malformed; /* of fl_steer_parse(); steer is valid only if FL_STEER_OK */
	struct fl_steer steer;
	fl_u32 generation_seen; /* highest generation seen for the service, 0 for none */
	struct fl_bucket_memory memory;
	fl_u32 removed; /* generation that removed memory.previous, which is dead; 0: none did */
	fl_u32 now;     /* Unix seconds */
	fl_u32 window;  /* seconds */
	struct fl_address self;
};

struct fl_verdict_out {
	enum fl_verdict verdict;
	fl_u32 generation_seen; /* to be stored if it differs from the input's */
	bool learned;           /* memory has changed and must be stored */
	struct fl_bucket_memory memory;
	/*
	 * If CHAIN: where to send the packet, rewritten by fl_steer_chain(). If PASS: by fl_steer_promote(). In both cases
	 * by fl_steer_mark_late() if fl_verdict_is_late().
	 */
	struct fl_address next;
};

FL_INLINE bool fl_verdict_is_unspecified(const struct fl_address *previous)
{
	return fl_address_is_unspecified(previous);
}

/* Whether the packet was steered by a bucket. One that was steered by its backend's id teaches no move and is never
 * chained. */
FL_INLINE bool fl_verdict_has_bucket(const struct fl_verdict_in *in)
{
	return in->steer.bucket != FL_STEER_BUCKET_NONE;
}

/* Whether the packet tells of a move: that the bucket came here from another server. */
FL_INLINE bool fl_verdict_is_told(const struct fl_verdict_in *in)
{
	return fl_verdict_has_bucket(in) && in->steer.flags & FL_STEER_MOVED &&
	       !fl_verdict_is_unspecified(&in->steer.previous) && !fl_address_equal(&in->steer.previous, &in->self);
}

/* When the move that the packet tells of took place, for memory: no time of the future. */
FL_INLINE fl_u32 fl_verdict_since(const struct fl_verdict_in *in)
{
	bool is_future = in->steer.since > in->now && in->steer.since - in->now > FL_FUTURE_MAX;

	return is_future ? in->now : in->steer.since;
}

/*
 * Whether a move that a packet tells of is newer than the remembered one: a later time, or the same second in a later
 * generation with another owner (two moves within one second must both be learned).
 */
FL_INLINE bool fl_verdict_is_news(const struct fl_verdict_in *in, fl_u32 since)
{
	if (since != in->memory.since)
		return since > in->memory.since;
	return in->steer.generation > in->memory.generation &&
	       !fl_address_equal(&in->steer.previous, &in->memory.previous);
}

/*
 * What a trusted, well-formed header teaches: changes generation_seen, learned and memory, which hold the input's. A
 * notice teaches by it, too. Returns whether the header tells of a move.
 */
FL_INLINE bool fl_verdict_learn(const struct fl_verdict_in *in, struct fl_verdict_out *out)
{
	bool told = fl_verdict_is_told(in);
	fl_u32 since = fl_verdict_since(in);

	if (in->steer.generation > in->generation_seen)
		out->generation_seen = in->steer.generation;
	if (told && fl_verdict_is_news(in, since)) {
		out->learned = true;
		out->memory.since = since;
		out->memory.generation = in->steer.generation;
		out->memory.previous = in->steer.previous;
	}
	return told;
}

/* Whether the window of a move of this second is open by the server's clock. */
FL_INLINE bool fl_verdict_is_open(const struct fl_verdict_in *in, fl_u32 since)
{
	return (fl_u64)in->now < (fl_u64)since + in->window;
}

/*
 * Whether memory counts for a packet that tells of no later move. Within the window, unless the packet comes without a
 * move from a mux that has applied what memory was learned from: such a mux says that the bucket has no previous owner any
 * more. Beyond it, for a packet that would be reset and that is here because the ring still names a previous owner: a
 * server or the mux sent it on to this one. Not for a late mux's, whose connection may be a newer owner's: the former
 * owners may not know that it is late. Not at all if its server is dead: neither it nor an owner before it would answer.
 */
FL_INLINE bool fl_verdict_recalls(const struct fl_verdict_in *in, bool told)
{
	bool is_sent_on = in->steer.hops || in->steer.flags & FL_STEER_MOVED;

	if (!fl_verdict_has_bucket(in) || (in->removed && in->memory.generation <= in->removed))
		return false;
	if (fl_verdict_is_open(in, in->memory.since))
		return is_sent_on || in->steer.generation < in->memory.generation;
	return is_sent_on && !told && in->packet == FL_PACKET_UNKNOWN && in->steer.generation >= in->generation_seen;
}

/* Whether the packet's mux has not applied a generation that this server, or one that sent the packet on, has seen. */
FL_INLINE bool fl_verdict_is_late(const struct fl_verdict_in *in)
{
	return in->steer.flags & FL_STEER_LATE || in->steer.generation < in->generation_seen;
}

/*
 * Whether the packet, which is trusted and taught nothing, ends what is remembered: a mux that is not late says that the
 * bucket has no previous owner any more, and the window is over.
 */
FL_INLINE bool fl_verdict_forgets(const struct fl_verdict_in *in)
{
	return fl_verdict_has_bucket(in) && !in->steer.hops && !(in->steer.flags & FL_STEER_MOVED) &&
	       !fl_verdict_is_late(in) && !fl_verdict_is_open(in, in->memory.since);
}

/* Whether the move that the packet tells of chains it: a datagram is chained within the window only. */
FL_INLINE bool fl_verdict_follows(const struct fl_verdict_in *in, bool told)
{
	return told && (in->packet != FL_PACKET_NO_RESET || fl_verdict_is_open(in, in->steer.since));
}

/* Whether the packet, which is not known or not wanted here, names another bucket with an owner who may take it. */
FL_INLINE bool fl_verdict_passes(const struct fl_verdict_in *in)
{
	return in->chaining && (in->packet == FL_PACKET_UNKNOWN || in->packet == FL_PACKET_REFUSED) &&
	       in->steer.flags & FL_STEER_SECOND && !fl_verdict_is_unspecified(&in->steer.second.owner);
}

/*
 * If PASS is to one of the server's own addresses, the packet is not sent: its second bucket takes the first one's
 * place, as it would be sent, and the server decides once more. The caller sets memory and self for
 * the bucket and the previous owner that *in then has, and generation_seen, before it does.
 */
FL_INLINE void fl_verdict_promote(struct fl_verdict_in *in)
{
	struct fl_steer *steer = &in->steer;

	steer->flags = fl_steer_promoted(steer->flags) | (steer->flags & FL_STEER_TAG);
	if (fl_verdict_is_late(in))
		steer->flags |= FL_STEER_LATE;
	steer->hops = 0;
	steer->bucket = steer->second.bucket;
	steer->since = steer->second.since;
	steer->previous = steer->second.previous;
	__builtin_memset(&steer->second, 0, sizeof(steer->second));
}

/*
 * Whether fl_verdict_settled() is all that fl_verdict_decide() would say of a trusted, well-formed packet, with nothing
 * learned, if the server remembers nothing of its bucket: a short way for most packets. Both look at the packet's class,
 * its header and the generation only: not at memory, the clock, or what else *in says.
 */
FL_INLINE bool fl_verdict_is_settled(const struct fl_verdict_in *in)
{
	return in->packet >= FL_PACKET_SYN && in->packet <= FL_PACKET_NO_RESET && !(in->steer.flags & FL_STEER_MOVED) &&
	       !(in->packet == FL_PACKET_UNKNOWN && in->steer.flags & FL_STEER_SECOND) &&
	       in->steer.generation <= in->generation_seen;
}

FL_INLINE enum fl_verdict fl_verdict_settled(const struct fl_verdict_in *in)
{
	return in->packet == FL_PACKET_UNKNOWN && fl_verdict_is_late(in) ? FL_VERDICT_DROP_STALE : FL_VERDICT_DELIVER;
}

FL_INLINE void fl_verdict_decide(const struct fl_verdict_in *in, struct fl_verdict_out *out)
{
	bool told;

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
	told = fl_verdict_learn(in, out);
	if (in->packet != FL_PACKET_UNKNOWN && in->packet != FL_PACKET_NO_RESET && in->packet != FL_PACKET_REFUSED) {
		out->verdict = FL_VERDICT_DELIVER;
		return;
	}
	if (in->chaining && in->packet != FL_PACKET_REFUSED && in->steer.hops < FL_STEER_HOPS_MAX) {
		bool is_later = told && (out->learned || in->steer.since > in->memory.since);

		/* The later of both moves counts. */
		if (!is_later && fl_verdict_recalls(in, told))
			out->next = in->memory.previous;
		else if (fl_verdict_follows(in, told))
			out->next = in->steer.previous;
	}
	if (!fl_address_is_none(&out->next)) {
		out->verdict = FL_VERDICT_CHAIN;
		return;
	}
	if (fl_verdict_passes(in)) {
		out->next = in->steer.second.owner;
		out->verdict = FL_VERDICT_PASS;
		return;
	}
	out->verdict =
	    in->packet == FL_PACKET_UNKNOWN && fl_verdict_is_late(in) ? FL_VERDICT_DROP_STALE : FL_VERDICT_DELIVER;
}

#endif
