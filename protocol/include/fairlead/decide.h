/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/*
 * What a server does with a packet from a mux or another server: one pure function, the same source in the kernel module,
 * in eBPF, in the model (protocol/model) and in the tests (after Beamer, NSDI '18, sections 3.2 and 4.2).
 *
 *	trusted? -> well formed? -> learn generation -> local state, or opens a connection? -> next candidate? -> stale? ->
 *	deliver
 *
 * The packet names every server that may know its connection: the one that it is sent to first, and a list of others, to
 * be tried in this order (list.h). `left` says how many of the last have not been tried, and only falls: a packet
 * ends after as many hops as a list has candidates at most. After CHAIN the header is rewritten by fl_list_forward().
 *
 * Of TCP segments, and ICMP errors that quote one, that have come from a server, which did not know them either, and of
 * which candidates are left, a server drops what is beyond a rate (flood.h).
 *
 * A server remembers nothing but the highest generation of a service. One that has just started does not know it: it is
 * quiet, and resets nothing, for as long as a mux may be behind. A notice does not end that: the mux that sent it may be
 * behind itself.
 */
#ifndef FAIRLEAD_DECIDE_H
#define FAIRLEAD_DECIDE_H

#include "list.h"

/* What the host knows about the packet's connection. */
enum fl_packet_class {
	FL_PACKET_SYN = 1,      /* opens a connection (SYN without ACK) */
	FL_PACKET_COOKIE_ACK,   /* ACK that carries a SYN cookie valid here */
	FL_PACKET_LOCAL_SOCKET, /* TCP: one whose connection is where the packet is. Connected UDP */
	FL_PACKET_UNKNOWN,      /* no local state: the stack would answer with a RST */
	FL_PACKET_NO_RESET, /* no local state, and none needed: a datagram to an unconnected socket, a later fragment */
	FL_PACKET_REFUSED,  /* a SYN of which only a listener is known, and the server is busy */
};

enum fl_verdict {
	FL_VERDICT_DELIVER = 1,
	FL_VERDICT_CHAIN, /* to another server */
	FL_VERDICT_DROP_STALE,
	FL_VERDICT_DROP_UNTRUSTED,
	FL_VERDICT_DROP_MALFORMED,
	FL_VERDICT_DROP_FLOOD,
	FL_VERDICTS,
};

struct fl_decide_in {
	enum fl_packet_class packet;
	bool trusted;                 /* sender is an allowed mux or peer, and the tag is right */
	bool quiet;                   /* this server has just started */
	bool flooded;                 /* of TCP, if fl_decide_asks_flooded(): this server sends no more of them on */
	enum fl_list_error malformed; /* the list is valid only if FL_LIST_OK */
	struct fl_list list;
	fl_u32 generation_seen;    /* highest generation seen for the service, 0 for none */
	struct fl_address self[2]; /* this server's addresses; none: all zero */
};

struct fl_decide_out {
	enum fl_verdict verdict; /* CHAIN: on to next */
	fl_u32 generation_seen;  /* the input's, or the packet's if that is higher */
	fl_u8 left;              /* if CHAIN: what the header says then */
	bool late;               /* the same */
	struct fl_address next;
};

/* Whether fl_decide() needs to know if the server is quiet, which costs a look at the clock. */
FL_INLINE bool fl_decide_asks_quiet(enum fl_packet_class packet)
{
	return packet == FL_PACKET_UNKNOWN || packet == FL_PACKET_NO_RESET || packet == FL_PACKET_REFUSED;
}

/* Whether fl_decide_on() needs to know, of TCP, also if quoted, if the server is flooded: another one has sent it here. */
FL_INLINE bool fl_decide_asks_flooded(const struct fl_decide_in *in)
{
	return in->packet == FL_PACKET_UNKNOWN && in->list.left < in->list.count;
}

/* Whether the packet's mux may not have applied a generation that this server, or one before it, has seen. */
FL_INLINE bool fl_decide_is_late(const struct fl_decide_in *in)
{
	return (in->list.flags & FL_LIST_LATE) || in->quiet || in->list.generation < in->generation_seen;
}

/* A candidate `::` is not the address of a family that this server has not. */
FL_INLINE bool fl_decide_is_self(const struct fl_decide_in *in, const struct fl_address *address)
{
	return !fl_address_is_none(address) &&
	       (fl_address_equal(address, &in->self[0]) || fl_address_equal(address, &in->self[1]));
}

/* The next candidate that is not this server itself; false: there is none. */
FL_INLINE bool fl_decide_next(const struct fl_decide_in *in, struct fl_decide_out *out)
{
	int i;

	FL_LIST_UNROLLED (i) {
		const struct fl_address *address = &in->list.candidate[i];

		if (i >= in->list.count || i + out->left < in->list.count)
			continue;
		out->left = (fl_u8)(in->list.count - i - 1);
		if (fl_decide_is_self(in, address))
			continue;
		out->next = *address;
		return true;
	}
	return false;
}

/* At the end of the list, and the packet is not known here. */
FL_INLINE void fl_decide_end(const struct fl_decide_in *in, struct fl_decide_out *out)
{
	out->verdict = in->packet == FL_PACKET_UNKNOWN && out->late ? FL_VERDICT_DROP_STALE : FL_VERDICT_DELIVER;
}

/* Where the packet goes that is not known here. */
FL_INLINE void fl_decide_on(const struct fl_decide_in *in, struct fl_decide_out *out)
{
	if (fl_decide_next(in, out))
		out->verdict = in->flooded ? FL_VERDICT_DROP_FLOOD : FL_VERDICT_CHAIN;
	else
		fl_decide_end(in, out);
}

/*
 * After CHAIN, if the packet cannot be sent to the candidate: the one behind it, or the end, where the packet is stale, as
 * the connection may be the skipped server's.
 */
FL_INLINE void fl_decide_skip(const struct fl_decide_in *in, struct fl_decide_out *out)
{
	out->late = true;
	out->next = (struct fl_address){{0}};
	fl_decide_on(in, out);
}

/*
 * fl_decide() without the candidates, which *in need not have. False: the packet is theirs if they can be sent to, and
 * fl_decide_on() decides.
 */
FL_INLINE bool fl_decide_alone(const struct fl_decide_in *in, struct fl_decide_out *out)
{
	out->generation_seen = in->generation_seen;
	out->left = in->list.left;
	out->late = fl_decide_is_late(in);
	out->next = (struct fl_address){{0}};

	if (!in->trusted) {
		out->verdict = FL_VERDICT_DROP_UNTRUSTED;
		return true;
	}
	if (in->malformed != FL_LIST_OK) {
		out->verdict = FL_VERDICT_DROP_MALFORMED;
		return true;
	}
	if (in->list.generation > in->generation_seen)
		out->generation_seen = in->list.generation;
	if (in->packet == FL_PACKET_SYN || in->packet == FL_PACKET_COOKIE_ACK || in->packet == FL_PACKET_LOCAL_SOCKET)
		out->verdict = FL_VERDICT_DELIVER;
	else if (in->list.left)
		return false;
	else
		fl_decide_end(in, out);
	return true;
}

FL_INLINE void fl_decide(const struct fl_decide_in *in, struct fl_decide_out *out)
{
	if (!fl_decide_alone(in, out))
		fl_decide_on(in, out);
}

#endif
