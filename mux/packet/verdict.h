/* SPDX-License-Identifier: Apache-2.0 */
/* What becomes of a packet: one word for code, metrics and tests. docs/mux.md explains each. */
#ifndef FAIRLEAD_MUX_VERDICT_H
#define FAIRLEAD_MUX_VERDICT_H

#include <stdbool.h>

/* First what is done with a packet, then why it is dropped; names in verdict_name(). */
enum verdict {
	VERDICT_SERVICE = 0,        /* steer it */
	VERDICT_NOT_OURS,           /* for the kernel */
	VERDICT_FROM_KERNEL,        /* came from an exception port (port.h), sent through the port it belongs to */
	VERDICT_ECHO,               /* an echo request to a VIP, to be answered */
	VERDICT_FRAGMENT_FORWARDED, /* sent to the mux where the fragments of its datagram meet */

	/* to a VIP, but malformed */
	VERDICT_IP_TRUNCATED,     /* the frame ends within the IP header */
	VERDICT_IP_HEADER_LENGTH, /* ihl below 5 */
	VERDICT_IP_TOTAL_LENGTH,  /* below the header's, or beyond the frame */
	VERDICT_IP_CHECKSUM,
	VERDICT_IP_TTL,    /* 0 */
	VERDICT_IP_SOURCE, /* no host may send from it: unspecified, loopback, multicast, ..., the VIP itself; UDP: any
			      VIP */
	VERDICT_IP_EXTENSION,  /* IPv6 extension headers: cut short, too many, out of order, not at their end */
	VERDICT_TCP_TRUNCATED, /* shorter than its header */
	VERDICT_TCP_OFFSET,    /* data offset below 5 or beyond the packet */
	VERDICT_TCP_PORT_ZERO, /* source port */
	VERDICT_UDP_TRUNCATED,
	VERDICT_UDP_LENGTH,     /* below 8, or more than IP carries */
	VERDICT_ICMP_TRUNCATED, /* shorter than its header, or an error whose quote ends before the ports */
	VERDICT_SEGMENTED,      /* not all of the frame is in its first buffer */

	/* well-formed, but not served */
	VERDICT_FRAGMENT_ALONE,  /* the first fragment of its datagram did not come in time */
	VERDICT_FRAGMENT_FULL,   /* no room for another waiting fragment */
	VERDICT_PEER_UNKNOWN,    /* to this mux in the form that muxes send fragments, but not from a mux */
	VERDICT_PEER_MALFORMED,  /* from a mux, but without a fragment inside */
	VERDICT_PROTOCOL,        /* neither TCP, UDP nor ICMP */
	VERDICT_ICMP_TYPE,       /* neither an echo request nor an error */
	VERDICT_ICMP_QUOTE,      /* an error about a packet that no service here has sent */
	VERDICT_NO_SERVICE_PORT, /* a VIP, but no service at this protocol and port */
	VERDICT_NO_RING,         /* the service's ring is not loaded */
	VERDICT_NO_BACKEND,      /* the bucket has none */
	VERDICT_NO_BACKEND_ID,   /* no backend has the id that the port names, or it was removed */
	VERDICT_NO_NEIGHBOUR,    /* the backend's next hop is not resolved */
	VERDICT_BACKEND_LOOP,    /* the backend's address is a VIP or a mux */
	VERDICT_TOO_BIG,         /* exceeds the port's MTU after encapsulation; reported to the sender */
	VERDICT_TOO_BIG_SILENT,  /* the same, not reported: beyond the limit, or must not be */
	VERDICT_ECHO_LIMIT,      /* an echo request beyond the limit of answers a second */
	VERDICT_NO_HEADROOM,     /* the buffer has no headroom left */
	VERDICT_PORT_FULL,       /* the port did not accept it */
	VERDICT_EXCEPTION_FULL,  /* the kernel's port did not accept it */
	VERDICT_PEER_UNTRUSTED,  /* a fragment from another mux whose tag is missing or wrong */
	VERDICTS,

	/* not final, and never counted */
	VERDICT_FRAGMENT = VERDICTS, /* to be brought together with the others of its datagram (fragments.h) */
	VERDICT_PEER,                /* comes from another mux */
	VERDICTS_ALL,
};

/* The word for metrics, logs and tests: "service", "not_ours", "ip_checksum", ... */
const char *verdict_name(enum verdict verdict);

static inline bool verdict_is_drop(enum verdict verdict)
{
	return verdict > VERDICT_FRAGMENT_FORWARDED;
}

#endif
