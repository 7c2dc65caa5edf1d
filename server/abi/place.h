/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/*
 * Where a TCP connection is, and whether a segment with its two ends can be of it. A client uses a port again: another
 * host has the new connection, and this one may still have a socket of the old one.
 */
#ifndef FAIRLEAD_PLACE_H
#define FAIRLEAD_PLACE_H

#include <fairlead/types.h>

enum fl_place_numbers {
	FL_PLACE_ACKNOWLEDGED = 1 << 24, /* bytes by which an acknowledgement may be outdated */
	FL_PLACE_AGAIN = 1 << 26,        /* bytes by which a sequence may be, of what is sent again */
	FL_PLACE_AHEAD = 1 << 20,        /* bytes by which they may be ahead of what is read of the socket */
};

/* What a socket says of it, in the kernel's terms. */
struct fl_place {
	fl_u32 snd_una; /* the first that is not acknowledged */
	fl_u32 snd_nxt; /* the next to be sent */
	fl_u32 rcv_nxt; /* the next to be received */
	fl_u32 rcv_wnd; /* what the other end was told that it may send */
};

/* Whether a number is between two of a connection, or about there. They may be read while the stack moves them. */
FL_INLINE bool fl_place_is_about(fl_u32 number, fl_u32 first, fl_u32 last, fl_u32 behind)
{
	return number - (first - behind) <= (last - first) + behind + FL_PLACE_AHEAD;
}

/*
 * Whether the other end can have sent a segment with this sequence: it sends no more than it was told, and all of that may
 * have come, with every acknowledgement lost, so that it sends the first again. Of a window that has shrunk since, rcv_wnd
 * says nothing; kernels offer 32 MiB at most unless they are set to more.
 */
FL_INLINE bool fl_place_continues(const struct fl_place *place, fl_u32 sequence)
{
	return fl_place_is_about(sequence, place->rcv_nxt, place->rcv_nxt + place->rcv_wnd, FL_PLACE_AGAIN);
}

/*
 * Whether it can have acknowledged this number (RFC 5961, section 5.2, has the window in place of 16 MiB). An
 * outdated one is not sent again, and what a RST says about it is behind the client's window. A host's stack may send a
 * segment before it moves its snd_nxt. Of the segments of other connections with the same ends one in 15,000 passes both,
 * and one in 6,500 with 15 MiB each under way and in the window.
 */
FL_INLINE bool fl_place_acknowledges(const struct fl_place *place, fl_u32 number)
{
	return fl_place_is_about(number, place->snd_una, place->snd_nxt, FL_PLACE_ACKNOWLEDGED);
}

/* What kind of TCP socket has the segment's two ends. */
enum fl_place_of {
	FL_PLACE_HALF_OPEN, /* of its place only snd_nxt is known, behind its SYN-ACK */
	FL_PLACE_TIME_WAIT, /* snd_una is not known; snd_nxt is behind its FIN */
	FL_PLACE_OPENING,   /* it has sent a SYN itself, and received nothing yet */
	FL_PLACE_OPEN,
};

/*
 * Whether a segment with the socket's two ends is of another connection, which another host has:
 *
 *	half-open	another SYN-ACK: the client's SYN was sent again and came here after its bucket had moved, and the
 *			client uses the connection that was answered first
 *	TIME-WAIT	another FIN, or what acknowledges nothing and is not where it would continue: the client uses the port
 *			again, and its new connection began elsewhere
 *	any other	what fl_place_acknowledges() or fl_place_continues() refuses: the same, after the old connection's end was
 *			lost
 */
FL_INLINE bool fl_place_is_other(enum fl_place_of of, const struct fl_place *place, bool is_ack, fl_u32 acknowledged,
				 fl_u32 sequence)
{
	if (of == FL_PLACE_HALF_OPEN || (of == FL_PLACE_TIME_WAIT && is_ack))
		return is_ack && acknowledged != place->snd_nxt;
	if (is_ack && !fl_place_acknowledges(place, acknowledged))
		return true;
	return of != FL_PLACE_OPENING && !fl_place_continues(place, sequence);
}

#endif
