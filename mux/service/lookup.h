/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds a destination's service: an immutable open-addressed hash table of VIPs, each with its sorted ranges of ports.
 * A range of one port is a service's own; a longer one names backends (protocol/README.md, 6).
 *
 *	slot 32	address 16 | first u32 | count u32		ports[first .. first + count): protocol, ports, service
 *	line 64	4 destinations | 4 services			what most packets need, in one cache line and without a branch
 *
 * An empty slot has count 0; at most half of the slots are used, so that misses are quick. Lines hold what an IPv4
 * packet's address, port and protocol find if the port is a service's own, except the few that found no room: whoever
 * asks them asks the slots, too.
 */
#ifndef FAIRLEAD_MUX_LOOKUP_H
#define FAIRLEAD_MUX_LOOKUP_H

#include <fairlead/types.h>

#include "encap/encap.h"

struct peers;
struct service;

struct lookup_port {
	uint32_t first; /* protocol << 16 | port, host order */
	uint32_t last;  /* beyond first only where port - first is a backend's id */
	struct service *service;
};

_Static_assert(sizeof(struct lookup_port) == 16, "four ranges a cache line");

struct lookup_vip {
	uint64_t high; /* the address as two words of its bytes */
	uint64_t low;
	uint32_t first;
	uint32_t count;
	uint64_t self; /* not a VIP: an address of this mux itself */
};

_Static_assert(sizeof(struct lookup_vip) == 32, "two VIPs a cache line");

enum { LOOKUP_LINE = 4 };

struct lists;

struct lookup_line {
	uint64_t destinations[LOOKUP_LINE]; /* address 4 | port 2 | protocol 1, as in a packet; 0: none */
	struct service *services[LOOKUP_LINE];
} __attribute__((aligned(64)));

_Static_assert(sizeof(struct lookup_line) == 64, "one cache line");

struct lookup {
	struct lookup_line *lines;
	uint32_t shift; /* 64 - log2(lines) */
	uint32_t mask;  /* slots - 1 */
	uint32_t vips;
	uint32_t ipv4_first; /* all IPv4 addresses in the slots are from this one, in host order, */
	uint32_t ipv4_last;  /* to this one; below ipv4_first if there is none */
	struct lookup_vip *slots;
	struct lookup_port *ports;
	const struct peers *peers; /* not owned by the lookup */
	const struct lists *lists; /* the same */
	uint32_t encaps_count;
	const struct encap *encaps[FL_ENCAPS_COUNT + 1]; /* of the services */
};

/* The longest header to a server over this line, by any of the services' encapsulations; flags: TAG counts. */
uint32_t lookup_overhead(const struct lookup *lookup, const struct encap_template *line, uint8_t flags);

/*
 * Builds the lookup from the services' VIPs, ports and ranges that name backends; no VIP, protocol and port may occur
 * twice. Addresses of the mux itself are added unless they are VIPs or all zero (none). NULL: no memory.
 */
struct lookup *lookup_new(struct service *const *services, uint32_t count, const struct fl_address *selves,
			  uint32_t selves_count);
void lookup_free(struct lookup *lookup);

/* IPv4 is stored as ::ffff:a.b.c.d: its low word as loaded from memory, from the address as loaded. */
static inline uint64_t lookup_low_of_ipv4(uint32_t address)
{
	return (uint64_t)address << 32 | 0xffff0000U;
}

static inline void lookup_words(const struct fl_address *address, uint64_t *high, uint64_t *low)
{
	__builtin_memcpy(high, address->bytes, 8);
	__builtin_memcpy(low, address->bytes + 8, 8);
}

/*
 * Addresses differ mostly in a word's upper bits, since their last byte is the highest. Multiplication only carries
 * upwards, so the upper bits are folded down first: otherwise all VIPs of one prefix share a slot.
 */
static inline uint32_t lookup_slot(uint64_t high, uint64_t low, uint32_t mask)
{
	uint64_t mixed = low ^ (high * 0x9e3779b97f4a7c15ULL);

	mixed = (mixed ^ mixed >> 32) * 0x9e3779b97f4a7c15ULL;
	return (uint32_t)(mixed >> 32) & mask;
}

/* NULL: not a VIP. */
static inline const struct lookup_vip *lookup_vip(const struct lookup *lookup, uint64_t high, uint64_t low)
{
	uint32_t at = lookup_slot(high, low, lookup->mask);

	for (;;) {
		const struct lookup_vip *slot = &lookup->slots[at];

		if (!slot->count)
			return NULL;
		if (slot->low == low && slot->high == high)
			return slot;
		at = (at + 1) & lookup->mask;
	}
}

/* Whether an IPv4 address, in host order, may be in the table. Nearly all clients' addresses may not. */
static inline bool lookup_may_have_ipv4(const struct lookup *lookup, uint32_t address)
{
	return address >= lookup->ipv4_first && address <= lookup->ipv4_last;
}

static inline uint32_t lookup_key(uint8_t protocol, uint16_t port)
{
	return (uint32_t)protocol << 16 | port;
}

/* NULL: the VIP has no service there. port in host order. */
static inline const struct lookup_port *lookup_port(const struct lookup *lookup, const struct lookup_vip *vip,
						    uint8_t protocol, uint16_t port)
{
	const struct lookup_port *at = lookup->ports + vip->first;
	uint32_t key = lookup_key(protocol, port);
	uint32_t count = vip->count;

	while (count > 1) {
		uint32_t half = count / 2;

		if (at[half].first <= key)
			at += half;
		count -= half;
	}
	return at->first <= key && key <= at->last ? at : NULL;
}

static inline bool lookup_is_by_id(const struct lookup_port *at)
{
	return at->first != at->last;
}

static inline struct lookup_line *lookup_line(const struct lookup *lookup, uint64_t destination)
{
	return &lookup->lines[(destination * 0x9e3779b97f4a7c15ULL) >> lookup->shift];
}

/*
 * The same as lookup_service() for IPv4, sooner; NULL: it may know more. destination: address 4 | port 2 | protocol 1,
 * as loaded from a packet.
 */
static inline struct service *lookup_common(const struct lookup *lookup, uint64_t destination)
{
	typedef uint64_t words __attribute__((vector_size(LOOKUP_LINE * sizeof(uint64_t))));
	const struct lookup_line *line = lookup_line(lookup, destination);
	words destinations, services;
	uintptr_t service;

	__builtin_memcpy(&destinations, line->destinations, sizeof(destinations));
	__builtin_memcpy(&services, line->services, sizeof(services));
	services &= (words)(destinations == destination);
	service = services[0] | services[1] | services[2] | services[3];
	__builtin_prefetch((const void *)service);
	return (struct service *)service;
}

/*
 * The service that packets to this address and port reach by their hash; NULL: none, or the port names backends, or the
 * address is the mux's own. port in host order.
 */
static inline struct service *lookup_service(const struct lookup *lookup, uint64_t high, uint64_t low, uint8_t protocol,
					     uint16_t port)
{
	const struct lookup_vip *vip = lookup_vip(lookup, high, low);
	const struct lookup_port *at;

	if (!vip || vip->self)
		return NULL;
	at = lookup_port(lookup, vip, protocol, port);
	if (!at || lookup_is_by_id(at))
		return NULL;
	__builtin_prefetch(at->service);
	return at->service;
}

#endif
