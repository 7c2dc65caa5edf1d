/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/*
 * The counters of both forms: the one list that numbers and names come from. Each packet increments exactly one of
 * them where it leaves; those of fl_counter_is_exit() alone count packets.
 *
 * `show` and Prometheus print what is in the list, so a new reason to drop is a line here, and the place that bumps it.
 * Append only: the numbers are slots of a map that outlives the XDP program, and of the module's netlink answer.
 */
#ifndef FAIRLEAD_COUNTERS_H
#define FAIRLEAD_COUNTERS_H

#include <fairlead/list.h>
#include <fairlead/verdict.h>

/* clang-format off */
#define FL_COUNTER_LIST(COUNTER)                                                                                       \
	/* not sent to our address in a received format: untouched, to the kernel */                                    \
	COUNTER(PASS_NOT_OURS, "pass_not_ours")                                                                         \
	/* a new connection */                                                                                          \
	COUNTER(DELIVER_SYN, "deliver_syn")                                                                             \
	/* a new connection, completed by a SYN cookie of this host */                                                  \
	COUNTER(DELIVER_COOKIE_ACK, "deliver_cookie_ack")                                                               \
	/* a connection of this host */                                                                                 \
	COUNTER(DELIVER_LOCAL_SOCKET, "deliver_local_socket")                                                           \
	/* no local socket: the kernel answers with a RST */                                                            \
	COUNTER(DELIVER_UNKNOWN, "deliver_unknown")                                                                     \
	/* sent to the bucket's previous owner */                                                                       \
	COUNTER(CHAIN, "chain")                                                                                         \
	/* the same, routed by the kernel because the neighbour was not resolved yet */                                 \
	COUNTER(CHAIN_BY_KERNEL, "chain_by_kernel")                                                                     \
	/* from a mux that lags behind; the client retransmits */                                                       \
	COUNTER(DROP_STALE, "drop_stale")                                                                               \
	/* the sender is not among the peers */                                                                         \
	COUNTER(DROP_UNTRUSTED_SENDER, "drop_untrusted_sender")                                                         \
	/* ten in the order of enum fl_steer_error, which says what each means */                                       \
	COUNTER(DROP_MALFORMED_TRUNCATED, "drop_malformed_truncated")                                                   \
	COUNTER(DROP_MALFORMED_GUE_VERSION, "drop_malformed_gue_version")                                               \
	COUNTER(DROP_MALFORMED_GUE_CONTROL, "drop_malformed_gue_control")                                               \
	COUNTER(DROP_MALFORMED_GUE_FLAGS, "drop_malformed_gue_flags")                                                   \
	COUNTER(DROP_MALFORMED_INNER_PROTOCOL, "drop_malformed_inner_protocol")                                         \
	COUNTER(DROP_MALFORMED_LENGTH, "drop_malformed_length")                                                         \
	COUNTER(DROP_MALFORMED_VERSION_UNKNOWN, "drop_malformed_version_unknown")                                       \
	COUNTER(DROP_MALFORMED_FLAGS_UNKNOWN, "drop_malformed_flags_unknown")                                           \
	COUNTER(DROP_MALFORMED_PREVIOUS6_ALONE, "drop_malformed_previous6_alone")                                       \
	COUNTER(DROP_MALFORMED_GENERATION_ZERO, "drop_malformed_generation_zero")                                       \
	/* the outer packet is a fragment; muxes never fragment */                                                      \
	COUNTER(DROP_MALFORMED_OUTER_FRAGMENT, "drop_malformed_outer_fragment")                                         \
	/* IP options, or a wrong header checksum */                                                                    \
	COUNTER(DROP_MALFORMED_OUTER_HEADER, "drop_malformed_outer_header")                                             \
	/* IP, UDP and frame lengths contradict each other */                                                           \
	COUNTER(DROP_MALFORMED_OUTER_LENGTH, "drop_malformed_outer_length")                                             \
	/* no complete inner IP packet of the family that the header names */                                           \
	COUNTER(DROP_MALFORMED_INNER, "drop_malformed_inner")                                                           \
	/* the inner destination is no address of this host: the VIP is missing on lo */                                \
	COUNTER(DROP_VIP_NOT_LOCAL, "drop_vip_not_local")                                                               \
	/* no route to the previous owner, or forwarding is off */                                                      \
	COUNTER(DROP_CHAIN_UNROUTABLE, "drop_chain_unroutable")                                                         \
	/* larger than the MTU towards the previous owner */                                                            \
	COUNTER(DROP_CHAIN_TOO_BIG, "drop_chain_too_big")                                                               \
	/* this server has no address of the previous owner's family */                                                 \
	COUNTER(DROP_CHAIN_FAMILY, "drop_chain_family")                                                                 \
	/* XDP: the driver refused to move the packet's head; module: no memory, or a full queue */                     \
	COUNTER(DROP_NO_ROOM, "drop_no_room")                                                                           \
	/* a bucket's move was remembered */                                                                            \
	COUNTER(LEARNED, "learned")                                                                                     \
	/* a bucket's move could not be remembered: memory is full */                                                   \
	COUNTER(LEARN_FAILED, "learn_failed")                                                                           \
	/* the outer packet is marked CE, the inner sender has no ECN (RFC 6040) */                                     \
	COUNTER(DROP_CONGESTED, "drop_congested")                                                                       \
	/* a tag is required and the packet has none */                                                                 \
	COUNTER(DROP_UNTRUSTED_TAG_MISSING, "drop_untrusted_tag_missing")                                               \
	/* the tag is of another key, or of another packet */                                                           \
	COUNTER(DROP_UNTRUSTED_TAG_WRONG, "drop_untrusted_tag_wrong")                                                   \
	/* both ends already have a connection here, direct or through another VIP */                                   \
	COUNTER(DROP_MANGLE_CONFLICT, "drop_mangle_conflict")                                                           \
	/* a notice of a mux, which the server has learned from; consumed */                                            \
	COUNTER(NOTICE, "notice")                                                                                       \
	/* FL_STEER_NOTICE, FL_LIST_NOTICE: a notice whose header, flags and payload contradict each other */           \
	COUNTER(DROP_MALFORMED_NOTICE, "drop_malformed_notice")                                                         \
	/* a generation that was not learned, as it is too far above the highest seen (fairlead/generation.h) */        \
	COUNTER(GENERATION_JUMP, "generation_jump")                                                                     \
	/* a move that is more than FL_FUTURE_MAX seconds ahead of our clock (clock.h) */                               \
	COUNTER(MOVE_AHEAD, "move_ahead")                                                                               \
	/* a datagram to an unconnected socket, or a later fragment: no local state, and no RST would answer it */      \
	COUNTER(DELIVER_NO_RESET, "deliver_no_reset")                                                                   \
	/* three in the order of enum fl_steer_error, which says what each means */                                     \
	COUNTER(DROP_MALFORMED_SECOND6_ALONE, "drop_malformed_second6_alone")                                           \
	COUNTER(DROP_MALFORMED_MOVED2_ALONE, "drop_malformed_moved2_alone")                                             \
	COUNTER(DROP_MALFORMED_PREVIOUS2_6_ALONE, "drop_malformed_previous2_6_alone")                                   \
	/* sent to the owner of the second bucket that the packet names */                                              \
	COUNTER(PASS_ON, "pass_on")                                                                                     \
	/* the same, routed by the kernel because the neighbour was not resolved yet */                                 \
	COUNTER(PASS_ON_BY_KERNEL, "pass_on_by_kernel")                                                                 \
	/* this server owns the second bucket: it was decided once more by that one */                                  \
	COUNTER(PROMOTED, "promoted")                                                                                   \
	/* FL_STEER_SEGMENTS: as many segments left as no packet of ours has */                                         \
	COUNTER(DROP_MALFORMED_SEGMENTS, "drop_malformed_segments")                                                     \
	/* four of enum fl_list_error, which says what each means; its others have those of enum fl_steer_error */       \
	COUNTER(DROP_MALFORMED_COUNT, "drop_malformed_count")                                                           \
	COUNTER(DROP_MALFORMED_LEFT, "drop_malformed_left")                                                             \
	COUNTER(DROP_MALFORMED_KEY_ALONE, "drop_malformed_key_alone")                                                   \
	COUNTER(DROP_MALFORMED_FAMILY, "drop_malformed_family")                                                         \
	/* a candidate of a list that the packet could not be sent to */                                                \
	COUNTER(SKIPPED, "skipped")                                                                                     \
	/* a notice of version 2, which the server has learned from and returned as its acknowledgement */              \
	COUNTER(NOTICE_ACKNOWLEDGED, "notice_acknowledged")
/* clang-format on */

#define FL_COUNTER_NUMBER(NAME, name) FL_COUNTER_##NAME,

enum fl_counter {
	FL_COUNTER_LIST(FL_COUNTER_NUMBER) FL_COUNTERS,
};

#undef FL_COUNTER_NUMBER

_Static_assert(FL_COUNTER_DROP_MALFORMED_GENERATION_ZERO - FL_COUNTER_DROP_MALFORMED_TRUNCATED ==
		   FL_STEER_GENERATION_ZERO - FL_STEER_TRUNCATED,
	       "one counter per steer error, in the same order");
_Static_assert((int)FL_STEER_GENERATION_ZERO + 1 == (int)FL_STEER_NOTICE &&
		   (int)FL_STEER_NOTICE + 1 == (int)FL_STEER_SECOND6_ALONE &&
		   (int)FL_STEER_PREVIOUS2_6_ALONE + 1 == (int)FL_STEER_SEGMENTS &&
		   (int)FL_STEER_SEGMENTS + 1 == (int)FL_STEER_ERRORS,
	       "the last errors have their counters at the end of the list");
_Static_assert(FL_COUNTER_DROP_MALFORMED_PREVIOUS2_6_ALONE - FL_COUNTER_DROP_MALFORMED_SECOND6_ALONE ==
		   FL_STEER_PREVIOUS2_6_ALONE - FL_STEER_SECOND6_ALONE,
	       "one counter per steer error, in the same order");

/* Whether it counts packets; the others count what packets taught, or what came before their exit. */
FL_INLINE bool fl_counter_is_exit(enum fl_counter counter)
{
	return counter != FL_COUNTER_LEARNED && counter != FL_COUNTER_LEARN_FAILED &&
	       counter != FL_COUNTER_GENERATION_JUMP && counter != FL_COUNTER_MOVE_AHEAD &&
	       counter != FL_COUNTER_PROMOTED && counter != FL_COUNTER_SKIPPED;
}

FL_INLINE enum fl_counter fl_counter_of_steer_error(enum fl_steer_error error)
{
	if (error == FL_STEER_NOTICE)
		return FL_COUNTER_DROP_MALFORMED_NOTICE;
	if (error == FL_STEER_SEGMENTS)
		return FL_COUNTER_DROP_MALFORMED_SEGMENTS;
	if (error >= FL_STEER_SECOND6_ALONE)
		return (enum fl_counter)(FL_COUNTER_DROP_MALFORMED_SECOND6_ALONE + error - FL_STEER_SECOND6_ALONE);
	return (enum fl_counter)(FL_COUNTER_DROP_MALFORMED_TRUNCATED + error - FL_STEER_TRUNCATED);
}

_Static_assert((int)FL_LIST_TRUNCATED == (int)FL_STEER_TRUNCATED &&
		   (int)FL_LIST_VERSION_UNKNOWN == (int)FL_STEER_VERSION_UNKNOWN,
	       "the first errors of lists are those of steer headers");
_Static_assert(FL_COUNTER_DROP_MALFORMED_KEY_ALONE - FL_COUNTER_DROP_MALFORMED_COUNT ==
		   FL_LIST_KEY_ALONE - FL_LIST_COUNT,
	       "one counter per list error, in the same order");

FL_INLINE enum fl_counter fl_counter_of_list_error(enum fl_list_error error)
{
	if (error == FL_LIST_GENERATION_ZERO)
		return FL_COUNTER_DROP_MALFORMED_GENERATION_ZERO;
	if (error == FL_LIST_FAMILY)
		return FL_COUNTER_DROP_MALFORMED_FAMILY;
	if (error == FL_LIST_NOTICE)
		return FL_COUNTER_DROP_MALFORMED_NOTICE;
	if (error >= FL_LIST_COUNT)
		return (enum fl_counter)(FL_COUNTER_DROP_MALFORMED_COUNT + error - FL_LIST_COUNT);
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

/* The counter of a packet whose verdict is to drop it. malformed: what the verdict was given. */
FL_INLINE enum fl_counter fl_counter_of_drop(enum fl_verdict verdict, enum fl_steer_error malformed)
{
	switch (verdict) {
	case FL_VERDICT_DROP_STALE:
		return FL_COUNTER_DROP_STALE;
	case FL_VERDICT_DROP_UNTRUSTED:
		return FL_COUNTER_DROP_UNTRUSTED_SENDER;
	default:
		return fl_counter_of_steer_error(malformed);
	}
}

/* The names as `fairlead-server show` prints them; userspace only. */
extern const char *const fl_counter_names[FL_COUNTERS];

#endif
