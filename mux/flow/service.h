/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A service as workers see it: the first cache line is all that a packet needs to find its bucket. Only the control
 * thread writes it; workers hold it between two quiescent states (tables.h).
 */
#ifndef FAIRLEAD_MUX_FLOW_SERVICE_H
#define FAIRLEAD_MUX_FLOW_SERVICE_H

#include <stddef.h>

#include "ring/lists.h"
#include "ring/ring.h"
#include "config/service_config.h"

struct service {
	struct fl_siphash_key key;
	struct ring *ring; /* atomic; NULL until a snapshot is loaded */
	uint16_t id;
	uint8_t hash;               /* enum fl_hash_kind */
	uint8_t affinity;           /* enum affinity */
	uint16_t slot;              /* of its counters, see counters.h */
	uint16_t mss;               /* atomic; limit for SYNs, 0: none */
	uint8_t steering;           /* the number of its method (steering.h) */
	struct quic_server_id quic; /* atomic */
	bool stateless_udp;         /* atomic */
	const struct encap *encap;
	void *steering_data; /* atomic; what the method chooses buckets by, besides the ring; NULL: nothing yet */

	/* of tags; used if packets are tagged */
	struct fl_siphash_key list_key __attribute__((aligned(64)));
	uint64_t bytes_per_second;    /* atomic; the budget of this mux, 0: any number */
	uint32_t packets_per_second;  /* the same */
	struct service_config config; /* workers may read only what tables_change can't change */
} __attribute__((aligned(64)));

_Static_assert(offsetof(struct service, list_key) == 64, "packets without tags need the first cache line only");

/* A connection, addresses as 16 bytes, ports in host order. */
struct flow {
	struct fl_address source;
	struct fl_address destination;
	uint16_t source_port;
	uint16_t destination_port;
	uint8_t protocol;
};

/* A backend that has a bucket, or had it. */
struct explained_owner {
	uint16_t id; /* 0: none */
	struct fl_address address;
	uint32_t since; /* Unix seconds at which it lost the bucket; 0: it has it */
};

/* Whose a bucket is, and whose it was: those that packets name. */
struct explained_bucket {
	uint32_t bucket; /* RING_BUCKET_NONE: there is none */
	struct explained_owner current;
	uint32_t former_count;
	struct explained_owner former[HISTORY_MAX];
};

/* Why a packet names a server. */
enum explained_reason { EXPLAINED_OWNER, EXPLAINED_SECOND_OWNER, EXPLAINED_FORMER, EXPLAINED_SECOND_FORMER };

struct explained_candidate {
	enum explained_reason reason;
	struct explained_owner owner;
};

/* Where a flow's packet goes, and why; field names as in the controller's Explanation. */
struct explanation {
	uint64_t hash;
	uint32_t generation;
	struct explained_bucket first; /* RING_BUCKET_NONE: the port names the backend */
	struct explained_bucket second;
	/* The servers of a segment of an open connection, or of a datagram, in the order in which they get it. */
	uint32_t candidates_count;
	struct explained_candidate candidates[1 + HISTORY_MAX];
	bool is_late;           /* the list was cut */
	uint32_t arrays;        /* steering othello: the newest arrays' generation, 0: none */
	uint32_t arrays_before; /* the generation of those before, 0: the hash's low bits */
	bool has_arrays_before;
	bool is_ordered; /* steering maat: the mux chose which of both buckets is first */
	bool is_noted;   /* by its filter: first is the bucket of the hash's high half */
	/* By the connection id of a QUIC packet, which then goes elsewhere; addresses and ports alone can't show that. */
	bool may_name_a_backend;
};

static inline struct ring *service_ring(const struct service *service)
{
	return __atomic_load_n(&service->ring, __ATOMIC_ACQUIRE);
}

/* Load it after the ring's generation and before rows (ring.h). */
static inline void *service_steering_data(const struct service *service)
{
	return __atomic_load_n(&service->steering_data, __ATOMIC_ACQUIRE);
}

#endif
