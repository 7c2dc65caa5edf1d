/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/*
 * The counters of both forms: the one list that numbers and names come from. Each packet increments exactly one of
 * them where it leaves; those of fl_counter_is_exit() alone count packets.
 *
 * `show` and Prometheus print what is in the list, so a new reason to drop is a line here, and the place that bumps it.
 * The numbers are slots of a map that outlives the XDP program, and of the module's netlink answer: one that is inserted
 * or removed needs a new FL_SERVER_LAYOUT.
 */
#ifndef FAIRLEAD_COUNTERS_H
#define FAIRLEAD_COUNTERS_H

#include <fairlead/list.h>
#include <fairlead/decide.h>

/* clang-format off */
#define FL_COUNTER_LIST(COUNTER)											\
	/* not sent to our address in a received format: untouched, to the kernel */					\
	COUNTER(PASS_NOT_OURS, "pass_not_ours")										\
	/* a new connection */												\
	COUNTER(DELIVER_SYN, "deliver_syn")										\
	/* a new connection, completed by a SYN cookie of this host */							\
	COUNTER(DELIVER_COOKIE_ACK, "deliver_cookie_ack")								\
	/* a connection of this host */											\
	COUNTER(DELIVER_LOCAL_SOCKET, "deliver_local_socket")								\
	/* a datagram to an unconnected socket, or a later fragment: no local state, and no RST would answer it */	\
	COUNTER(DELIVER_NO_RESET, "deliver_no_reset")									\
	/* no local socket: the kernel answers with a RST */								\
	COUNTER(DELIVER_UNKNOWN, "deliver_unknown")									\
	/* sent on to another server of the packet's list */								\
	COUNTER(CHAIN, "chain")												\
	/* the same, routed by the kernel because the neighbour was not resolved yet */					\
	COUNTER(CHAIN_BY_KERNEL, "chain_by_kernel")									\
	/* a notice of a mux, which the server has learned from and returned as its acknowledgement */			\
	COUNTER(NOTICE, "notice")											\
	/* from a mux that lags behind, or to a server that has just started; the client retransmits */			\
	COUNTER(DROP_STALE, "drop_stale")										\
	/* the sender is not among the peers; of a notice: not among the muxes */					\
	COUNTER(DROP_UNTRUSTED_SENDER, "drop_untrusted_sender")								\
	/* the next server of the list is not among the peers that are servers */					\
	COUNTER(DROP_UNTRUSTED_NEXT, "drop_untrusted_next")								\
	/* a tag is required and the packet has none */									\
	COUNTER(DROP_UNTRUSTED_TAG_MISSING, "drop_untrusted_tag_missing")						\
	/* the tag is of another key, or of another packet */								\
	COUNTER(DROP_UNTRUSTED_TAG_WRONG, "drop_untrusted_tag_wrong")							\
	/* this server has no key for the packet's service */								\
	COUNTER(DROP_UNTRUSTED_KEY_MISSING, "drop_untrusted_key_missing")						\
	/* one for each of enum fl_list_error, in its order, which says what each means */				\
	COUNTER(DROP_MALFORMED_TRUNCATED, "drop_malformed_truncated")							\
	COUNTER(DROP_MALFORMED_GUE_VERSION, "drop_malformed_gue_version")						\
	COUNTER(DROP_MALFORMED_GUE_CONTROL, "drop_malformed_gue_control")						\
	COUNTER(DROP_MALFORMED_GUE_FLAGS, "drop_malformed_gue_flags")							\
	COUNTER(DROP_MALFORMED_INNER_PROTOCOL, "drop_malformed_inner_protocol")						\
	COUNTER(DROP_MALFORMED_LENGTH, "drop_malformed_length")								\
	COUNTER(DROP_MALFORMED_VERSION_UNKNOWN, "drop_malformed_version_unknown")					\
	COUNTER(DROP_MALFORMED_COUNT, "drop_malformed_count")								\
	COUNTER(DROP_MALFORMED_LEFT, "drop_malformed_left")								\
	COUNTER(DROP_MALFORMED_KEY_ALONE, "drop_malformed_key_alone")							\
	COUNTER(DROP_MALFORMED_GENERATION_ZERO, "drop_malformed_generation_zero")					\
	COUNTER(DROP_MALFORMED_FAMILY, "drop_malformed_family")								\
	COUNTER(DROP_MALFORMED_NOTICE, "drop_malformed_notice")								\
	COUNTER(DROP_MALFORMED_FLAGS_UNKNOWN, "drop_malformed_flags_unknown")						\
	COUNTER(DROP_MALFORMED_SEGMENTS, "drop_malformed_segments")							\
	/* the outer packet is a fragment; muxes never fragment */							\
	COUNTER(DROP_MALFORMED_OUTER_FRAGMENT, "drop_malformed_outer_fragment")						\
	/* IP options, or a wrong header checksum */									\
	COUNTER(DROP_MALFORMED_OUTER_HEADER, "drop_malformed_outer_header")						\
	/* IP, UDP and frame lengths contradict each other */								\
	COUNTER(DROP_MALFORMED_OUTER_LENGTH, "drop_malformed_outer_length")						\
	/* no complete inner IP packet of the family that the header names */						\
	COUNTER(DROP_MALFORMED_INNER, "drop_malformed_inner")								\
	/* the inner destination is no address of this host: the VIP is missing on lo */				\
	COUNTER(DROP_VIP_NOT_LOCAL, "drop_vip_not_local")								\
	/* XDP: the driver refused to move the packet's head; module: no memory, or a full queue */			\
	COUNTER(DROP_NO_ROOM, "drop_no_room")										\
	/* the outer packet is marked CE, the inner sender has no ECN (RFC 6040) */					\
	COUNTER(DROP_CONGESTED, "drop_congested")									\
	/* both ends already have a connection here, direct or through another VIP */					\
	COUNTER(DROP_MANGLE_CONFLICT, "drop_mangle_conflict")								\
	/* a generation that was not learned, as it is too far above the highest seen (fairlead/generation.h) */	\
	COUNTER(GENERATION_JUMP, "generation_jump")									\
	/* a server of a packet's list that the packet could not be sent to */						\
	COUNTER(SKIPPED, "skipped")											\
	/* TCP, or an error about it, that a server has sent here and one more was to be tried: too many (flood.h) */	\
	COUNTER(DROP_FLOOD, "drop_flood")
/* clang-format on */

#define FL_COUNTER_NUMBER(NAME, name) FL_COUNTER_##NAME,

enum fl_counter {
	FL_COUNTER_LIST(FL_COUNTER_NUMBER) FL_COUNTERS,
};

#undef FL_COUNTER_NUMBER

_Static_assert((int)FL_COUNTER_DROP_MALFORMED_SEGMENTS - (int)FL_COUNTER_DROP_MALFORMED_TRUNCATED ==
		       (int)FL_LIST_SEGMENTS - (int)FL_LIST_TRUNCATED &&
		   (int)FL_LIST_SEGMENTS + 1 == (int)FL_LIST_ERRORS,
	       "one counter per error, in the same order");

/* Whether it counts packets; the others count what came before their exit. */
FL_INLINE bool fl_counter_is_exit(enum fl_counter counter)
{
	return counter != FL_COUNTER_GENERATION_JUMP && counter != FL_COUNTER_SKIPPED;
}

FL_INLINE enum fl_counter fl_counter_of_list_error(enum fl_list_error error)
{
	return (enum fl_counter)(FL_COUNTER_DROP_MALFORMED_TRUNCATED + error - FL_LIST_TRUNCATED);
}

/* The counter of a packet that is delivered. */
FL_INLINE enum fl_counter fl_counter_of_delivery(enum fl_packet_class packet)
{
	switch (packet) {
	case FL_PACKET_SYN:
	case FL_PACKET_REFUSED:
		return FL_COUNTER_DELIVER_SYN;
	case FL_PACKET_COOKIE_ACK:
		return FL_COUNTER_DELIVER_COOKIE_ACK;
	case FL_PACKET_LOCAL_SOCKET:
		return FL_COUNTER_DELIVER_LOCAL_SOCKET;
	case FL_PACKET_NO_RESET:
		return FL_COUNTER_DELIVER_NO_RESET;
	default:
		return FL_COUNTER_DELIVER_UNKNOWN;
	}
}

/* The names as `fairlead-server show` prints them; userspace only. */
extern const char *const fl_counter_names[FL_COUNTERS];

#endif
