/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A hello: what a mux tells the other muxes once a second about the services that it serves (protocol/README.md,
 * section 9). A packet is complete in itself; with more services than fit, a mux sends several, each with others.
 *
 *	 0  magic 4		"FLH3"
 *	 4  flags 1		bit 0 TAG, bit 3 KEY: which key (fairlead/keys.h)
 *	 5  extensions 1	their length in units of 4 bytes
 *	 6  services 2		how many follow the head
 *	 8  sender 16		the mux's outer address; IPv4 as ::ffff:a.b.c.d
 *	24  cluster 16		its name
 *	40  boot 8		when the mux was started, Unix milliseconds
 *	48  counter 8		rises with each packet since then, from 1
 *	56  services × 12	id 2 | flags 1 | 0 1 | generation 4 | settled generation 4, by ascending id
 *	extensions		type 1 | length 1 | ...: in units of 4 bytes, this head included; there are none yet, and
 *				readers skip what they do not know
 *	if TAG: tag 8		SipHash-2-4(key of muxes, everything before it)
 */
#ifndef FAIRLEAD_MUX_HELLO_PACKET_H
#define FAIRLEAD_MUX_HELLO_PACKET_H

#include <stdbool.h>
#include <stddef.h>

#include <fairlead/keys.h>

enum hello_numbers {
	HELLO_HEAD_LEN = 56,
	HELLO_SERVICE_LEN = 12,
	HELLO_UNIT = 4, /* of extensions */
	HELLO_TAG_LEN = 8,
	HELLO_CLUSTER_LEN = 16,
	HELLO_LEN_MAX = 1232, /* with IPv6 and UDP it is IPv6's smallest MTU */
	HELLO_SERVICES_MAX = (HELLO_LEN_MAX - HELLO_HEAD_LEN - HELLO_TAG_LEN) / HELLO_SERVICE_LEN,
};

enum hello_flags {
	HELLO_TAG = 0x01,
	HELLO_KEY = 0x08,
};

enum hello_service_flags {
	HELLO_ANNOUNCES = 0x01, /* the service's VIPs are announced */
	HELLO_BEHIND = 0x02,    /* they are withdrawn, or soon will be, as behind or sick; never both */
};

/* Why a hello is refused, in the words of vectors and metrics. Order of checks: protocol/README.md, 9. */
enum hello_error {
	HELLO_OK = 0,
	HELLO_TRUNCATED,
	HELLO_VERSION_UNKNOWN,
	HELLO_FLAGS_UNKNOWN,
	HELLO_LENGTH,
	HELLO_SERVICE, /* an entry: id, flags or generation; or the order of ids */
	HELLO_BOOT,    /* boot or counter is 0 */
	HELLO_CLUSTER, /* another cluster's, or this mux does not know its own yet */
	HELLO_SENDER,  /* sender is not the address that the packet came from */
	HELLO_TAG_MISSING,
	HELLO_TAG_WRONG,
	HELLO_PEER_UNKNOWN, /* the address is no mux's */
	HELLO_REPLAYED,     /* as old as one heard before, or older */
	HELLO_ERRORS,
};

struct hello_service {
	uint16_t id;
	uint8_t flags;
	uint32_t generation;
	uint32_t settled; /* no mux announces an older ring, as far as the sender knows; 0: any */
};

struct hello_head {
	bool has_tag;
	bool key;           /* KEY of the tag */
	uint8_t extensions; /* their length in units */
	uint16_t count;     /* services in this packet */
	struct fl_address sender;
	uint8_t cluster[HELLO_CLUSTER_LEN];
	uint64_t boot;
	uint64_t counter;
};

/* The word of an error; "ok". */
const char *hello_error_name(enum hello_error error);

/*
 * Checks the form of a packet and fills in *head, only if HELLO_OK. Errors up to HELLO_BOOT. The rest of the checks
 * takes more than the packet: hello_peers.h.
 */
enum hello_error hello_parse(const uint8_t *data, size_t len, struct hello_head *head);

/* The i-th service of a packet that hello_parse() has accepted. */
struct hello_service hello_service_at(const uint8_t *data, unsigned i);

/* Whether the tag of a packet that has one is right, by this key of the cluster. */
bool hello_tag_is_right(const uint8_t *data, const struct hello_head *head, const struct fl_siphash_key *cluster);

/*
 * Writes a packet with head->count services (at most HELLO_SERVICES_MAX, ids ascending), and a tag by this key of the
 * cluster if it is not NULL; has_tag, key and extensions of the head are ignored. out has room for HELLO_LEN_MAX bytes.
 * Returns the length.
 */
size_t hello_write(const struct hello_head *head, const struct hello_service *services,
		   const struct fl_siphash_key *cluster, uint8_t *out);

/* Reads a cluster's name, 32 hex digits; false: it is something else. */
bool hello_cluster_parse(const char *name, uint8_t out[HELLO_CLUSTER_LEN]);

#endif
