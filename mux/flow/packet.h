/* SPDX-License-Identifier: Apache-2.0 */
/* A packet's state as it goes through a burst (burst.h): what each stage leaves for later ones. */
#ifndef FAIRLEAD_MUX_FLOW_PACKET_H
#define FAIRLEAD_MUX_FLOW_PACKET_H

#include <fairlead/types.h>

#include "flow/verdict.h"

struct backends;
struct othello_pair;
struct ring;
struct service;

enum { BURST_MAX = 32 }; /* packets that go through the stages together */

enum packet_flags {
	PACKET_IPV6 = 0x01,   /* of the inner packet; else IPv4 */
	PACKET_BY_ID = 0x02,  /* the packet names its backend; bucket holds the id until rows are read */
	PACKET_HASHED = 0x04, /* hash is already set */
	PACKET_QUOTE = 0x08,  /* an ICMP error, steered by the packet it quotes */
	PACKET_SYN = 0x10,    /* TCP with SYN */
	PACKET_LATER = 0x40,  /* not the first fragment, or from another mux or worker: not reported to its sender */
	PACKET_ELSE_BUCKET = 0x20, /* by id if a backend has that id, else by bucket */
	PACKET_STATELESS = 0x80,   /* its header names no candidates, so that no server sends it on */
};

/* Classification fills the fields from verdict to service, for VERDICT_SERVICE; later stages fill the rest. */
struct packet {
	uint8_t verdict; /* enum verdict */
	uint8_t flags;   /* enum packet_flags */
	uint8_t at_ip;   /* bytes in front of the IP header: Ethernet and VLAN tags */
	uint8_t tos;     /* or traffic class */
	uint16_t at_l4;  /* from the start of the frame to the TCP or UDP header; 0: a later fragment, which has none */
	uint16_t ip_len; /* of the whole IP packet, header included */
	union {
		uint64_t key[2];           /* IPv4: the key's 13 bytes as loaded from memory, and three zero bytes */
		const uint8_t *addresses6; /* IPv6: source and destination, instead of key[0] */
		uint32_t cells[4];         /* the places of its cells, until its bucket is known (othello_path.h) */
		struct {                   /* of a packet with a second bucket (burst.seconds) */
			union {
				const uint8_t *noted; /* steering maat, until rows are read (maat_path.h) */
				uint64_t second_row;
			};
			uint32_t second;
		};
	};
	struct service *service;
	uint64_t hash; /* the flow hash (fairlead/hash.h) */
	uint32_t bucket;
	uint32_t generation; /* stamped into the header */
	union {
		struct ring *ring; /* until rows are read */
		uint64_t row;
	};
	union {
		const struct backends *backends;
		const struct othello_pair *codes; /* whose cells they are (othello_path.h) */
		struct {                          /* after encapsulation */
			uint8_t port;             /* DPDK port id to leave by */
			uint16_t mtu;             /* TOO_BIG: of the largest packet that fits */
		};
	};
};

_Static_assert(sizeof(struct packet) == 64, "a packet's state is one cache line");

#endif
