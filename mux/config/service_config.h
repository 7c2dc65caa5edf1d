/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A service's configuration, as control/service/config_node.h has read and checked it: every value is in range, names and keys
 * are well formed. Plain data, copied by value.
 */
#ifndef FAIRLEAD_MUX_SERVICE_CONFIG_H
#define FAIRLEAD_MUX_SERVICE_CONFIG_H

#include <netinet/in.h>

#include <fairlead/hash.h>

#include "config/reason.h"

enum service_config_limits {
	SERVICE_NAME_MAX = 63,
	SERVICE_VIPS_MAX = 64,
	SERVICE_PORTS_MAX = 64,
	SERVICE_MSS_MIN = 536,
	SERVICE_PACKETS_MAX = 1000000000, /* a second */
	SERVICE_QUIC_OFFSET_MAX = 19,     /* a connection id has at most 20 bytes */
};

#define SERVICE_BYTES_MAX 1000000000000 /* a second */

struct encap;
struct steering;

enum affinity {
	AFFINITY_CONNECTION = 1,
	AFFINITY_CLIENT,
};

/* Position of the backend's id in a QUIC connection id. length 0: connection ids hold none. */
struct quic_server_id {
	uint8_t offset;
	uint8_t length;        /* 1 or 2 */
} __attribute__((aligned(2))); /* read as one word */

struct service_port {
	uint8_t protocol; /* IPPROTO_TCP, IPPROTO_UDP */
	uint16_t port;    /* host order, not 0 */
};

/* TCP ports that identify a backend: first + its id. Both 0: the service has none. */
struct mptcp_ports {
	uint16_t first;
	uint16_t last;
};

/* How the load of backends is known, with steering `maat`. */
enum maat_load {
	MAAT_PACKETS,
	MAAT_BYTES,
	MAAT_CONNECTIONS,
	MAAT_AGENTS, /* by the servers' reports */
};

/* Steering `maat`; all zero with other methods. */
struct maat_settings {
	uint32_t load;         /* enum maat_load */
	uint32_t delta;        /* thousandths of the mean load, by which the first bucket's owner must be more loaded */
	uint32_t half_life;    /* milliseconds */
	uint32_t filter_bytes; /* a power of two */
	uint32_t filter_hashes;
};

struct service_config {
	uint16_t id; /* the short id of headers, not 0 */
	char name[SERVICE_NAME_MAX + 1];
	uint32_t vips_count;
	struct fl_address vips[SERVICE_VIPS_MAX];
	uint32_t ports_count;
	struct service_port ports[SERVICE_PORTS_MAX];
	struct mptcp_ports mptcp;
	const struct steering *steering; /* steering.h */
	uint32_t buckets;
	enum fl_hash_kind hash;
	struct fl_siphash_key key;
	enum affinity affinity;
	const struct encap *encap;   /* encap.h */
	struct quic_server_id quic;  /* of its UDP ports */
	uint16_t mss;                /* 0: SYNs are left as they are */
	bool stateless_udp;          /* datagrams name no former owner: each is answered by itself */
	uint32_t window;             /* seconds */
	uint64_t bytes_per_second;   /* that each mux forwards at most, of IP packets; 0: any number */
	uint32_t packets_per_second; /* the same */
	uint32_t hold;               /* seconds, 0: none; a row's move then counts as long as the row has one */
	struct maat_settings maat;
};

/* Whether it is a service's name: a DNS label in lower case, as the controller's API requires. */
bool service_config_is_name(const char *name);

/* Whether buckets and hash agree; otherwise a ring of one can't be used with the other. */
bool service_config_same_ring(const struct service_config *a, const struct service_config *b);

/* Returns -EINVAL and why if a field that is fixed for a service's life differs, such as its buckets. */
int service_config_check_change(const struct service_config *before, const struct service_config *after,
				struct reason *why);

/* Copies everything that may change during a service's life, such as its VIPs. */
void service_config_take_changes(struct service_config *config, const struct service_config *from);

/* Whether a port identifies a backend; port in host order. */
static inline bool mptcp_ports_has(const struct mptcp_ports *mptcp, uint8_t protocol, uint16_t port)
{
	return mptcp->last && protocol == IPPROTO_TCP && port >= mptcp->first && port <= mptcp->last;
}

#endif
