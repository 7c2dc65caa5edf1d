/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A service's backends as workers see them: a table indexed by backend id, with one cache line for each backend, which
 * holds the outer header of its packets. Readers take no lock, so a line that is present never changes except for one
 * byte: whether the backend was removed. A new backend fills an absent line and sets its state last: a reader that sees
 * the state sees the whole line. A changed address or next hop needs a new table; the old one is freed once no reader
 * can hold it.
 *
 * Memory: 64 bytes x the power of two above the highest id; only touched pages are resident.
 */
#ifndef FAIRLEAD_MUX_BACKEND_H
#define FAIRLEAD_MUX_BACKEND_H

#include "encap/encap.h"
#include "ring/delta.h"
#include "host/next_hop.h"
#include "config/reason.h"

enum backend_numbers {
	BACKEND_LINE = 64,
	BACKENDS_IPV6 = 1 << 16, /* of backends.narrowest */
	BACKENDS_UNREADY = 1 << 17,
};

enum backend_state {
	BACKEND_ABSENT = 0,
	BACKEND_NO_NEIGHBOUR, /* known, but its next hop has no MAC address yet */
	BACKEND_LOOP,         /* known, but its address is a VIP or a mux: packets would come back */
	BACKEND_READY,
};

struct backend {
	struct encap_template outer;
	uint8_t state;   /* enum backend_state; atomic */
	uint8_t removed; /* atomic: a bucket may still name it, a port may not */
	uint16_t mtu;    /* of the port and the route */
	uint16_t vlan;   /* 0: frames get no tag */
	uint8_t port;    /* DPDK port id to leave by */
	uint8_t foreign; /* FL_BACKEND_FOREIGN: no packet to it names others */
} __attribute__((aligned(BACKEND_LINE)));

_Static_assert(sizeof(struct backend) == BACKEND_LINE, "a backend is one cache line");

struct backends {
	const struct encap *encap;
	uint32_t size;      /* of rows */
	uint32_t narrowest; /* atomic: the smallest MTU towards one; BACKENDS_IPV6 if any has an IPv6 address,
			       BACKENDS_UNREADY if any is not ready */
	uint32_t count;     /* of list; from here on, used by the writer only */
	uint32_t room;      /* of list */
	struct fl_delta_backend *list; /* by ascending id, including removed ones, which lists still name */
	uint64_t bytes;                /* of all of this */
	uint64_t sum;                  /* backend_list_sum() */
	struct backend rows[];
};

_Static_assert(sizeof(struct backends) == BACKEND_LINE, "readers need one cache line of it");

/*
 * A new table with templates for this service: old's list (NULL: empty) changed by the delta's entries, or replaced by
 * those of a snapshot. NULL, with errno and why: no memory.
 */
struct backends *backends_new(const struct encap *encap, const struct backends *old, const struct delta *delta,
			      const struct next_hops *hops, struct reason *why);

/*
 * Changes the table in place, under readers; the cost depends on what changes, not on the table's size. False: not
 * possible in place (another address or next hop, an id beyond the table, no memory); nothing has changed, and
 * backends_new is needed.
 */
bool backends_change(struct backends *backends, const struct delta *delta, const struct next_hops *hops);

/* The same list with current next hops; NULL if none has changed (*error 0) or memory ran out (-ENOMEM). */
struct backends *backends_refresh(const struct backends *old, uint16_t service, const struct next_hops *hops,
				  int *error);

/* No reader may hold it. NULL is allowed. */
void backends_free(struct backends *backends);

/* A backend's line for packets of a service, reached by this next hop; neither removed nor absent. */
void backend_fill(struct backend *line, const struct encap *encap, uint16_t service, const struct fl_address *address,
		  const struct next_hop *hop);

/* Load the state before the rest of a line: if it is set, the line is complete. */
static inline enum backend_state backend_state(const struct backend *backend)
{
	return (enum backend_state)__atomic_load_n(&backend->state, __ATOMIC_ACQUIRE);
}

static inline bool backend_is_removed(const struct backend *backend)
{
	return __atomic_load_n(&backend->removed, __ATOMIC_RELAXED);
}

/* State, removal, family and form of a header in one load, the lowest byte first; flow/hash.h says which machine. */
static inline uint32_t backend_kind(const struct backend *backend)
{
	const uint8_t *at = (const uint8_t *)backend + offsetof(struct backend, outer.ipv6);

	return __atomic_load_n((const uint32_t *)(const void *)at, __ATOMIC_ACQUIRE);
}

_Static_assert(offsetof(struct backend, outer.plain) == offsetof(struct backend, outer.ipv6) + 1, "backend_kind");
_Static_assert(offsetof(struct backend, state) == offsetof(struct backend, outer.ipv6) + 2, "backend_kind");
_Static_assert(offsetof(struct backend, removed) == offsetof(struct backend, outer.ipv6) + 3, "backend_kind");

/* The kind of a backend that is ready, not removed, and has this plain header (enum encap_plain). */
#define BACKEND_STEADY(plain)                                                                                          \
	((uint32_t)BACKEND_READY << 16 | (uint32_t)(plain) << 8 | ((plain) == ENCAP_PLAIN_SRV6 ? 1 : 0))

/* Whether it may be named as a second bucket's owner by an IPv4 address: ready, even if removed. */
static inline bool backend_is_steady_owner(const struct backend *backend)
{
	return (backend_kind(backend) & 0xff00ff) == BACKEND_READY << 16;
}

/* The template of an id, NULL if there is none. */
static inline const struct backend *backends_get(const struct backends *backends, uint16_t id)
{
	return id < backends->size && backend_state(&backends->rows[id]) != BACKEND_ABSENT ? &backends->rows[id] : NULL;
}

/*
 * The smallest MTU and the widest family of the pool, removed backends included: what a packet that servers send on has to
 * get through. A backend that was added in place is counted before a row names it.
 */
static inline uint32_t backends_narrowest(const struct backends *backends)
{
	return __atomic_load_n(&backends->narrowest, __ATOMIC_RELAXED);
}

/*
 * The largest inner packet with so many candidates and these enum fl_list_flags that fits towards every backend, whether a
 * mux sends it or a server: a server keeps the header's length, and may take another family if it has IPV6.
 */
uint32_t backends_room(const struct backends *backends, uint8_t count, uint8_t flags);

/* The same for whatever moves may do to a connection of this pool later; flags: TAG counts. */
uint32_t backends_room_longest(const struct backends *backends, uint8_t flags);

/* Whether a port may name it: it exists and was not removed. For explain, not for packets. */
bool backends_is_live(const struct backends *backends, uint16_t id);

/* The address of an id, also of a removed one; false if there is none. For explain, not for packets. */
bool backends_address(const struct backends *backends, uint16_t id, struct fl_address *out);

#endif
