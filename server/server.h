/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/*
 * What the XDP program and its loader share: the configuration that is burnt into a program before it is loaded, the
 * keys of the maps, and the counters. A program takes over the maps of the one that it replaces (memory, generations,
 * counters): their layout may only change together with FL_SERVER_LAYOUT.
 */
#ifndef FAIRLEAD_SERVER_H
#define FAIRLEAD_SERVER_H

#include <fairlead/tag.h>
#include <fairlead/verdict.h>

#define FL_SERVER_PROGRAM "fairlead_server" /* name of the program as the kernel knows it */

enum fl_server_numbers {
	FL_SERVER_LAYOUT = 2,
	FL_SERVER_SERVICES = 65536,          /* a service id is 16 bits wide */
	FL_SERVER_MEMORY_CAPACITY = 1 << 20, /* buckets that are remembered at the same time */
	FL_SERVER_PEERS_MAX = 1024,          /* prefixes */
	FL_SERVER_COUNTERS_MAX = 64,         /* more than are used: new ones need no new layout */
	FL_SERVER_WINDOW_MAX = 86400,        /* seconds */
};

/* Read-only in a loaded program; another configuration is another program, swapped in as one step. */
struct fl_server_config {
	fl_u32 layout;           /* FL_SERVER_LAYOUT */
	fl_u32 window;           /* seconds that a bucket is chained after it moved */
	fl_u64 clock_offset;     /* nanoseconds that CLOCK_TAI is ahead of CLOCK_REALTIME (wraps below zero) */
	fl_u16 port;             /* of GUE, host order */
	fl_u8 chaining;          /* 0 only to show what happens without */
	fl_u8 redirect;          /* chain by XDP_REDIRECT also where XDP_TX would do, see host.h */
	fl_u8 tagged;            /* packets must have a tag of tag_key */
	fl_u8 mangle;            /* inner destinations become the server's own address; the module's alone */
	fl_u16 ipip_service;     /* of packets in the paper's format, 0 if none are received; the module's alone */
	struct fl_address self;  /* outer destination of packets that are ours: IPv4, or none */
	struct fl_address self6; /* the same: IPv6, or none */
	struct fl_siphash_key tag_key;
};

_Static_assert(sizeof(struct fl_server_config) == 72, "the loader reads it back from a running program");

struct fl_memory_key {
	fl_u32 service;
	fl_u32 bucket;
};

_Static_assert(sizeof(struct fl_memory_key) == 8, "no padding in a hash key");

/* Longest prefix match over both families: an IPv4 prefix /n is ::ffff:0:0/(96 + n). */
struct fl_peer_key {
	fl_u32 prefix_len;
	struct fl_address address;
};

_Static_assert(sizeof(struct fl_peer_key) == 20, "no padding in a trie key");

/*
 * Every way out of the program has exactly one counter; LEARNED and LEARN_FAILED are no exits. Only append: the
 * numbers are slots of a map that outlives the program.
 */
enum fl_counter {
	FL_COUNTER_PASS_NOT_OURS,            /* not GUE to our address and port: untouched, to the kernel */
	FL_COUNTER_DELIVER_SYN,              /* a new connection */
	FL_COUNTER_DELIVER_COOKIE_ACK,       /* a new connection, completed by a SYN cookie of this host */
	FL_COUNTER_DELIVER_LOCAL_SOCKET,     /* a connection of this host */
	FL_COUNTER_DELIVER_UNKNOWN,          /* a connection of nobody: the kernel answers with a RST */
	FL_COUNTER_CHAIN,                    /* sent to the bucket's previous owner */
	FL_COUNTER_CHAIN_BY_KERNEL,          /* same, routed by the kernel: its neighbour had to be resolved first */
	FL_COUNTER_DROP_STALE,               /* of a mux that lags behind; the client retransmits */
	FL_COUNTER_DROP_UNTRUSTED_SENDER,    /* not among the peers */
	FL_COUNTER_DROP_MALFORMED_TRUNCATED, /* this and the following: enum fl_steer_error, same order */
	FL_COUNTER_DROP_MALFORMED_GUE_VERSION,
	FL_COUNTER_DROP_MALFORMED_GUE_CONTROL,
	FL_COUNTER_DROP_MALFORMED_GUE_FLAGS,
	FL_COUNTER_DROP_MALFORMED_INNER_PROTOCOL,
	FL_COUNTER_DROP_MALFORMED_LENGTH,
	FL_COUNTER_DROP_MALFORMED_VERSION_UNKNOWN,
	FL_COUNTER_DROP_MALFORMED_FLAGS_UNKNOWN,
	FL_COUNTER_DROP_MALFORMED_PREVIOUS6_ALONE,
	FL_COUNTER_DROP_MALFORMED_GENERATION_ZERO,
	FL_COUNTER_DROP_MALFORMED_OUTER_FRAGMENT, /* muxes never fragment */
	FL_COUNTER_DROP_MALFORMED_OUTER_HEADER,   /* IP options, or a wrong header checksum */
	FL_COUNTER_DROP_MALFORMED_OUTER_LENGTH,   /* IP, UDP and frame lengths contradict each other */
	FL_COUNTER_DROP_MALFORMED_INNER,          /* no whole IP packet of the family that GUE says */
	FL_COUNTER_DROP_VIP_NOT_LOCAL,            /* inner destination is no address of this host: VIP missing on lo */
	FL_COUNTER_DROP_CHAIN_UNROUTABLE,         /* no route to the previous owner, or forwarding is off */
	FL_COUNTER_DROP_CHAIN_TOO_BIG,            /* larger than the MTU towards the previous owner */
	FL_COUNTER_DROP_CHAIN_FAMILY,             /* we have no address of the previous owner's family */
	FL_COUNTER_DROP_NO_ROOM,                  /* the driver refused to move the packet's head */
	FL_COUNTER_LEARNED,                       /* a bucket's move was remembered */
	FL_COUNTER_LEARN_FAILED,                  /* a bucket's move could not be remembered: memory is full */
	FL_COUNTER_DROP_CONGESTED,                /* outer packet marked CE, inner sender without ECN (RFC 6040) */
	FL_COUNTER_DROP_UNTRUSTED_TAG_MISSING,    /* we have the cluster's key, the packet has no tag */
	FL_COUNTER_DROP_UNTRUSTED_TAG_WRONG,      /* it has one of another key, or for another packet */
	FL_COUNTER_DROP_MANGLE_CONFLICT,          /* its two ends have another connection, direct or by another VIP */
	FL_COUNTERS,
};

_Static_assert((int)FL_COUNTERS <= (int)FL_SERVER_COUNTERS_MAX, "counters fit their map");
_Static_assert(FL_COUNTER_DROP_MALFORMED_GENERATION_ZERO - FL_COUNTER_DROP_MALFORMED_TRUNCATED ==
		   FL_STEER_GENERATION_ZERO - FL_STEER_TRUNCATED,
	       "one counter a steer error, in their order");

FL_INLINE enum fl_counter fl_counter_of_steer_error(enum fl_steer_error error)
{
	return (enum fl_counter)(FL_COUNTER_DROP_MALFORMED_TRUNCATED + error - FL_STEER_TRUNCATED);
}

#endif
