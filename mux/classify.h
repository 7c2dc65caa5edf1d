/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a packet is: one verdict, from the packet's bytes and the VIPs alone.
 *
 *	our MAC, type IPv4?	no: not ours
 *	destination a VIP?	no: not ours
 *	---			from here on, what is not steered is dropped under its own name
 *	header sound? fragment? in one buffer? TCP or UDP, and sound? a service there?
 */
#ifndef FAIRLEAD_MUX_CLASSIFY_H
#define FAIRLEAD_MUX_CLASSIFY_H

#include <fairlead/types.h>

struct backends;
struct lookup;
struct ring;
struct service;

/* Order: what is done first, then why something is dropped; names in verdict_name(). */
enum verdict {
	VERDICT_SERVICE = 0, /* steer it */
	VERDICT_NOT_OURS,    /* the kernel's */
	VERDICT_FROM_KERNEL, /* came by an exception port (port.h), left by the port that it stands for */

	/* malformed, though for a VIP */
	VERDICT_IP_TRUNCATED,     /* the frame ends within the IP header */
	VERDICT_IP_HEADER_LENGTH, /* ihl below 5 */
	VERDICT_IP_TOTAL_LENGTH,  /* below the header's, or beyond the frame */
	VERDICT_IP_CHECKSUM,
	VERDICT_IP_TTL,        /* 0 */
	VERDICT_IP_SOURCE,     /* no host may send from it: 0/8, 127/8, 224/3, the VIP itself */
	VERDICT_TCP_TRUNCATED, /* shorter than its header */
	VERDICT_TCP_OFFSET,    /* data offset below 5 or beyond the packet */
	VERDICT_TCP_PORT_ZERO, /* source port */
	VERDICT_UDP_TRUNCATED,
	VERDICT_UDP_LENGTH, /* below 8, or more than IP carries */
	VERDICT_SEGMENTED,  /* not all of the frame is in its first buffer */

	/* sound, but not to be served */
	VERDICT_FRAGMENT,
	VERDICT_PROTOCOL,        /* neither TCP nor UDP */
	VERDICT_NO_SERVICE_PORT, /* a VIP, but no service at this protocol and port */
	VERDICT_NO_RING,         /* the service's ring is not loaded */
	VERDICT_NO_BACKEND,      /* the bucket has none */
	VERDICT_NO_BACKEND_ID,   /* no backend has the id that the port names, or it was removed */
	VERDICT_NO_NEIGHBOUR,    /* the backend's next hop is not resolved */
	VERDICT_TOO_BIG,         /* would not fit the port's MTU after encapsulation */
	VERDICT_NO_HEADROOM,     /* the buffer has no room in front */
	VERDICT_PORT_FULL,       /* the port did not take it */
	VERDICT_EXCEPTION_FULL,  /* the kernel's port did not take it */
	VERDICTS,
};

/*
 * One packet on its way through a burst (burst.h). Classification fills verdict, and for VERDICT_SERVICE everything up
 * to service, and bucket: FL_STEER_BUCKET_NONE where the port names the backend, which then stands in row. The later
 * stages fill the rest.
 */
struct packet {
	uint8_t verdict; /* enum verdict */
	uint8_t tos;
	uint16_t ip_len;     /* IPv4 total length */
	uint32_t generation; /* stamped into the steer header */
	uint64_t
	    key[2]; /* the 13 bytes src | dst | sport | dport | proto as loaded from memory, and three zero bytes */
	struct service *service;
	uint32_t hash;
	uint32_t bucket;
	struct ring *ring;
	uint64_t row;
	union {
		const struct backends *backends;
		uint8_t port; /* after encapsulation: DPDK port id to leave by */
	};
};

_Static_assert(sizeof(struct packet) == 64, "a packet's state is one cache line");

/* A MAC address as the first six bytes of a word in memory, for one comparison. */
static inline uint64_t mac_word(const uint8_t mac[6])
{
	uint64_t word = 0;

	__builtin_memcpy(&word, mac, 6);
	return word;
}

/*
 * mac: of the port (mac_word); frames for others are not ours. data: the Ethernet header; len: contiguous bytes there;
 * frame_len: of the whole frame.
 */
void classify(const struct lookup *lookup, uint64_t mac, const uint8_t *data, uint32_t len, uint32_t frame_len,
	      struct packet *out);

/* The word for metrics, logs and tests: "service", "not_ours", "ip_checksum", ... */
const char *verdict_name(enum verdict verdict);

static inline bool verdict_is_drop(enum verdict verdict)
{
	return verdict > VERDICT_FROM_KERNEL;
}

#endif
