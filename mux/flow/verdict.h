/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What becomes of a packet: one word for code, metrics, tests and the console. docs/mux.md explains each. From this list
 * scripts/verdicts makes the numbers in p4/verdicts.p4 and the words in console/src/muxes/verdicts.ts.
 */
#ifndef FAIRLEAD_MUX_FLOW_VERDICT_H
#define FAIRLEAD_MUX_FLOW_VERDICT_H

#include <stdbool.h>

/* In the order in which they are in the list. */
enum verdict_class {
	VERDICT_CLASS_PASSED,     /* not dropped */
	VERDICT_CLASS_NO_SERVICE, /* dropped before its service was found */
	VERDICT_CLASS_OF_SERVICE, /* dropped afterwards, and counted for the service, too */
	VERDICT_CLASS_LATER,      /* dropped where no service matters: by a limit, by a port, from another mux */
	VERDICT_CLASS_NOT_FINAL,  /* never counted */
};

/* VERDICT(name, word, class), each on a line of its own. */
/* clang-format off */
#define VERDICT_LIST(VERDICT) \
	VERDICT(SERVICE, "service", PASSED) /* steer it */ \
	VERDICT(NOT_OURS, "not_ours", PASSED) /* for the kernel */ \
	/* came from an exception port (port.h), sent through the port it belongs to */ \
	VERDICT(FROM_KERNEL, "from_kernel", PASSED) \
	VERDICT(ECHO, "echo", PASSED) /* an echo request to a VIP, to be answered */ \
	/* sent to the mux where the fragments of its datagram meet */ \
	VERDICT(FRAGMENT_FORWARDED, "fragment_forwarded", PASSED) \
	VERDICT(IP_TRUNCATED, "ip_truncated", NO_SERVICE) /* the frame ends within the IP header */ \
	VERDICT(IP_HEADER_LENGTH, "ip_header_length", NO_SERVICE) /* ihl below 5 */ \
	VERDICT(IP_TOTAL_LENGTH, "ip_total_length", NO_SERVICE) /* below the header's, or beyond the frame */ \
	VERDICT(IP_CHECKSUM, "ip_checksum", NO_SERVICE) \
	VERDICT(IP_TTL, "ip_ttl", NO_SERVICE) /* 0 */ \
	/* unspecified, loopback, multicast, ..., the VIP itself; UDP: any VIP */ \
	VERDICT(IP_SOURCE, "ip_source", NO_SERVICE) \
	/* IPv6 extension headers: cut short, too many, out of order, not at their end */ \
	VERDICT(IP_EXTENSION, "ip_extension", NO_SERVICE) \
	VERDICT(TCP_TRUNCATED, "tcp_truncated", NO_SERVICE) /* shorter than its header */ \
	VERDICT(TCP_OFFSET, "tcp_offset", NO_SERVICE) /* data offset below 5 or beyond the packet */ \
	VERDICT(TCP_PORT_ZERO, "tcp_port_zero", NO_SERVICE) /* source port */ \
	VERDICT(UDP_TRUNCATED, "udp_truncated", NO_SERVICE) \
	VERDICT(UDP_LENGTH, "udp_length", NO_SERVICE) /* below 8, or more than IP carries */ \
	/* shorter than its header, or an error whose quote ends before the ports */ \
	VERDICT(ICMP_TRUNCATED, "icmp_truncated", NO_SERVICE) \
	VERDICT(SEGMENTED, "segmented", NO_SERVICE) /* not all of the frame is in its first buffer */ \
	/* the first fragment of its datagram did not come in time */ \
	VERDICT(FRAGMENT_ALONE, "fragment_alone", NO_SERVICE) \
	VERDICT(FRAGMENT_FULL, "fragment_full", NO_SERVICE) /* no room for another waiting fragment */ \
	/* to this mux in the form that muxes send fragments, but not from a mux */ \
	VERDICT(PEER_UNKNOWN, "peer_unknown", NO_SERVICE) \
	VERDICT(PEER_MALFORMED, "peer_malformed", NO_SERVICE) /* from a mux, but without a fragment inside */ \
	VERDICT(PROTOCOL, "protocol", NO_SERVICE) /* neither TCP, UDP nor ICMP */ \
	VERDICT(ICMP_TYPE, "icmp_type", NO_SERVICE) /* neither an echo request nor an error */ \
	VERDICT(ICMP_QUOTE, "icmp_quote", NO_SERVICE) /* an error about a packet that no service here has sent */ \
	VERDICT(NO_SERVICE_PORT, "no_service_port", NO_SERVICE) /* a VIP, but no service at this protocol and port */ \
	VERDICT(NO_RING, "no_ring", OF_SERVICE) /* the service's ring is not loaded */ \
	VERDICT(NO_BACKEND, "no_backend", OF_SERVICE) /* the bucket has none */ \
	/* no backend has the id that the port names, or it was removed */ \
	VERDICT(NO_BACKEND_ID, "no_backend_id", OF_SERVICE) \
	VERDICT(NO_NEIGHBOUR, "no_neighbour", OF_SERVICE) /* the backend's next hop is not resolved */ \
	VERDICT(BACKEND_LOOP, "backend_loop", OF_SERVICE) /* the backend's address is a VIP or a mux */ \
	/* exceeds the port's MTU after encapsulation; reported to the sender */ \
	VERDICT(TOO_BIG, "too_big", OF_SERVICE) \
	/* the same, not reported: beyond the limit, or must not be */ \
	VERDICT(TOO_BIG_SILENT, "too_big_silent", OF_SERVICE) \
	VERDICT(NO_HEADROOM, "no_headroom", OF_SERVICE) /* the buffer has no headroom left */ \
	VERDICT(OVER_BUDGET, "over_budget", OF_SERVICE) /* beyond what the service may have of this mux (budget.h) */ \
	VERDICT(ECHO_LIMIT, "echo_limit", LATER) /* an echo request beyond the limit of answers a second */ \
	VERDICT(PORT_FULL, "port_full", LATER) /* the port did not accept it */ \
	VERDICT(EXCEPTION_FULL, "exception_full", LATER) /* the kernel's port did not accept it */ \
	/* a fragment from another mux whose tag is missing or wrong */ \
	VERDICT(PEER_UNTRUSTED, "peer_untrusted", LATER) \
	/* to be brought together with the others of its datagram (fragments.h) */ \
	VERDICT(FRAGMENT, "fragment", NOT_FINAL) \
	VERDICT(PEER, "peer", NOT_FINAL) /* comes from another mux */
/* clang-format on */

#define VERDICT_NUMBER(name, word, class)      VERDICT_##name,
#define VERDICT_IS_FINAL(name, word, class)    +(VERDICT_CLASS_##class < VERDICT_CLASS_NOT_FINAL)
#define VERDICT_IS_EARLY(name, word, class)    +(VERDICT_CLASS_##class < VERDICT_CLASS_OF_SERVICE)
#define VERDICT_IS_SERVICES(name, word, class) +(VERDICT_CLASS_##class == VERDICT_CLASS_OF_SERVICE)

enum verdict {
	VERDICT_LIST(VERDICT_NUMBER) VERDICTS_ALL,
	VERDICTS = 0 VERDICT_LIST(VERDICT_IS_FINAL), /* those that are counted */
};

/* The verdicts that count for the service too. */
enum {
	SERVICE_DROP_FIRST = 0 VERDICT_LIST(VERDICT_IS_EARLY),
	SERVICE_DROPS = 0 VERDICT_LIST(VERDICT_IS_SERVICES),
};

/* The word for metrics, logs and tests: "service", "not_ours", "ip_checksum", ... */
const char *verdict_name(enum verdict verdict);

enum verdict_class verdict_class(enum verdict verdict);

static inline bool verdict_is_drop(enum verdict verdict)
{
	return verdict_class(verdict) != VERDICT_CLASS_PASSED;
}

static inline bool verdict_is_service_drop(unsigned verdict)
{
	return verdict - SERVICE_DROP_FIRST < SERVICE_DROPS;
}

#endif
