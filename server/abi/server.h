/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/*
 * What the forms share with the command: the configuration, keys and peers. The configuration is written into an XDP
 * program before it is loaded. A program takes over the maps of the one that it replaces (generations, counters): their
 * layout may change only together with FL_SERVER_LAYOUT. The maps of load.h are taken over if they are there and their
 * values have the same size.
 */
#ifndef FAIRLEAD_SERVER_H
#define FAIRLEAD_SERVER_H

#include <fairlead/hash.h>

#include "counters.h"

#define FL_SERVER_PROGRAM "fairlead_server" /* the program's name in the kernel */

enum fl_server_numbers {
	FL_SERVER_LAYOUT = 4,
	FL_SERVER_SERVICES = 65536,   /* a service id is 16 bits wide */
	FL_SERVER_PEERS_MAX = 1024,   /* prefixes */
	FL_SERVER_COUNTERS_MAX = 64,  /* room for more than are used: a new one at the end needs no new layout */
	FL_SERVER_QUIET_DEFAULT = 70, /* seconds: 10 more than muxes are behind by default before they withdraw */
	FL_SERVER_QUIET_MAX = 3610,   /* 10 more than they can be */
	/* Packets a second and processor (flood.h): to send on so many takes about a fifth of a processor's time. */
	FL_SERVER_FLOOD_RATE_DEFAULT = 1000000,
	FL_SERVER_FLOOD_RATE_MAX = 1000000000,
};

/*
 * Read-only in a loaded program: a new configuration is a new program, which replaces the old one in one step. The module
 * gets and gives it as it is.
 */
struct fl_server_config {
	fl_u32 layout;           /* FL_SERVER_LAYOUT */
	fl_u16 port;             /* of GUE, host order */
	fl_u8 chaining;          /* 0 only to show what happens without it */
	fl_u8 redirect;          /* send on by XDP_REDIRECT even where XDP_TX would do, see form_bpf.c */
	fl_u8 tagged;            /* packets must have a tag */
	fl_u8 mangle;            /* inner destinations become the server's own address; module only */
	fl_u16 ipip_service;     /* of IPIP packets, 0: none are received; module only */
	fl_u32 quiet;            /* seconds from attach or forget on in which nothing is reset */
	fl_u32 flood_rate;       /* packets a second and processor, see flood.h; 0: nothing is dropped as a flood */
	struct fl_address self;  /* our own IPv4 address, the outer destination of our packets; or none */
	struct fl_address self6; /* the same for IPv6 */
};

_Static_assert(sizeof(struct fl_server_config) == 52, "the loader reads it back from a running program");

/* Longest prefix match for both families: an IPv4 prefix /n is ::ffff:0:0/(96 + n). */
struct fl_peer_key {
	fl_u32 prefix_len;
	struct fl_address address;
};

_Static_assert(sizeof(struct fl_peer_key) == 20, "no padding in a trie key");

/* What peers are trusted with: any of them sends packets, muxes tell generations, and servers are next hops. */
enum fl_peer_roles {
	FL_PEER_MUX = 1,
	FL_PEER_SERVER = 2,
	FL_PEER_ANY = FL_PEER_MUX | FL_PEER_SERVER,
};

/* Of prefixes that an address has, the longest counts. */
struct fl_peer {
	struct fl_peer_key prefix;
	fl_u32 roles; /* enum fl_peer_roles */
};

_Static_assert(sizeof(struct fl_peer) == 24, "an array of them is a netlink attribute");

/* The keys of one purpose, by FL_LIST_KEY of the header; who has one key only has it twice. */
struct fl_key_pair {
	struct fl_siphash_key by_bit[2];
};

/* The keys of a service's packets. */
struct fl_service_keys {
	fl_u64 service;
	struct fl_key_pair keys;
};

_Static_assert(sizeof(struct fl_service_keys) == 40, "an array of them is a netlink attribute");

/* The keys of a server. */
struct fl_server_keys {
	struct fl_key_pair notice[2];     /* of notices to its IPv4 and to its IPv6 address */
	struct fl_service_keys *services; /* in the order of services, one of each */
	fl_u32 count;
};

_Static_assert((int)FL_COUNTERS <= (int)FL_SERVER_COUNTERS_MAX, "counters fit their map");

#endif
