/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a packet is: one verdict, from the packet's bytes and the VIPs alone.
 *
 *	Ethernet type IPv4? -> destination a VIP? -> header sound? -> fragment? -> TCP or UDP, sound? -> a service
 *there? no: not ours          no: not ours  | everything before this line passes to the kernel, everything after it is
 *dropped under its own name
 */
#ifndef FAIRLEAD_MUX_CLASSIFY_H
#define FAIRLEAD_MUX_CLASSIFY_H

#include <fairlead/types.h>

struct lookup;
struct service;

/* Order: what is done first, then why something is dropped; names in verdict_name(). */
enum verdict {
	VERDICT_SERVICE = 0, /* steer it */
	VERDICT_NOT_OURS,    /* the kernel's */

	/* malformed, though for a VIP */
	VERDICT_IP_TRUNCATED,     /* the frame ends within the IP header */
	VERDICT_IP_HEADER_LENGTH, /* ihl below 5 */
	VERDICT_IP_TOTAL_LENGTH,  /* below the header's, or beyond the frame */
	VERDICT_IP_CHECKSUM,
	VERDICT_IP_TTL,        /* 0 */
	VERDICT_IP_SOURCE,     /* no host may send from it: 0.0.0.0/8, 127/8, 224/3, the VIP itself */
	VERDICT_TCP_TRUNCATED, /* shorter than its header */
	VERDICT_TCP_OFFSET,    /* data offset below 5 or beyond the packet */
	VERDICT_TCP_FLAGS,     /* none, or SYN with FIN or RST */
	VERDICT_UDP_TRUNCATED,
	VERDICT_UDP_LENGTH, /* below 8, or not what IP carries */
	VERDICT_PORT_ZERO,
	VERDICT_SEGMENTED, /* headers not in the first buffer */

	/* sound, but not to be served */
	VERDICT_FRAGMENT,
	VERDICT_PROTOCOL,        /* neither TCP nor UDP */
	VERDICT_NO_SERVICE_PORT, /* a VIP, but no service at this protocol and port */
	VERDICT_NO_RING,         /* the service's ring is not loaded */
	VERDICT_NO_BACKEND,      /* the bucket has none */
	VERDICT_NO_NEIGHBOUR,    /* the backend's next hop is not resolved */
	VERDICT_TOO_BIG,         /* would not fit the port's MTU after encapsulation */
	VERDICT_NO_HEADROOM,     /* the buffer has no room in front */
	VERDICT_PORT_FULL,       /* the port did not take it */
	VERDICT_EXCEPTION_FULL,  /* the kernel's port did not take it */
	VERDICTS,
};

/* What classification found; only verdict is set unless VERDICT_SERVICE. */
struct packet {
	enum verdict verdict;
	uint16_t ip_len; /* IPv4 total length */
	uint8_t tos;
	uint8_t key[16]; /* src 4 | dst 4 | sport 2 | dport 2 | proto 1, and three zero bytes */
	struct service *service;
};

/* len: contiguous bytes at data, which is the Ethernet header; frame_len: of the whole frame. */
void classify(const struct lookup *lookup, const uint8_t *data, uint32_t len, uint32_t frame_len, struct packet *out);

/* The word for metrics, logs and tests: "service", "not_ours", "ip_checksum", ... */
const char *verdict_name(enum verdict verdict);

static inline bool verdict_is_drop(enum verdict verdict)
{
	return verdict > VERDICT_NOT_OURS;
}

#endif
