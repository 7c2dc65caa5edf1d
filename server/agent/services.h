/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The services that this server serves, as the controller describes them (protocol/README.md, 11), and which local
 * addresses and ports are theirs. Immutable once read.
 */
#ifndef FAIRLEAD_AGENT_SERVICES_H
#define FAIRLEAD_AGENT_SERVICES_H

#include <stddef.h>

#include <fairlead/hash.h>

#include "load.h"

enum services_limits {
	SERVICES_MAX = 65535,
	SERVICES_ENDPOINTS_MAX = 65535,
	SERVICES_VERSION_MAX = 64,
	SERVICES_NAME_MAX = 64,
	SERVICES_AGE_SECONDS_MAX = 86400,
};

struct service {
	char name[SERVICES_NAME_MAX + 1];
	fl_u16 id;
	fl_u32 buckets;
	enum fl_hash_kind hash;
	struct fl_siphash_key key;
	bool by_client;     /* affinity "client" */
	fl_u32 age_seconds; /* of connections that are reported one by one (told.h); 0: none is */
	bool two_buckets;   /* a connection belongs to a second bucket, by the high half of its flow hash */
	bool has_hunt;
	struct fl_load_setting hunt; /* policy, threshold, window, epsilon */
	/* Of several services behind one local address and port (--mangle) none can be told: they are never reported. */
	bool ambiguous;
};

/* A local address and a range of ports. None overlaps another. */
struct endpoint {
	struct fl_address local; /* of the sockets: the VIP, or with --mangle the server's own address */
	fl_u16 first, last;
	struct fl_address vip; /* what clients connect to */
	fl_u16 service;        /* its place in the list */
	bool has_bucket;       /* false: a port of mptcpPorts */
};

struct services {
	unsigned others; /* who must free them as well */
	char version[SERVICES_VERSION_MAX + 1];
	bool asks_form;    /* reports are to say whether a server is attached */
	bool asks_signals; /* and how connections fare */
	size_t count;
	struct service *list;
	size_t endpoint_count;
	struct endpoint *endpoints; /* by address, then port */
};

/*
 * The server's own addresses; absent ones are all zero. Only services that have one of them as a backend are kept. With
 * --mangle they replace the VIPs of their family.
 */
struct services_mangle {
	bool enabled;
	struct fl_address ipv4, ipv6;
};

/* NULL after printing why the document is refused. */
struct services *services_read(const char *text, size_t len, const struct services_mangle *mangle);
/* Those that somebody else still has stay. */
void services_free(struct services *services);

/* The same services, for one more to free. */
struct services *services_share(struct services *services);

enum {
	SERVICES_NO_ENDPOINT = 0xffff,
};

/* The place of the endpoint with this address and port, or SERVICES_NO_ENDPOINT. */
unsigned services_endpoint(const struct services *services, const struct fl_address *local, fl_u16 port);

/* Whether connections to the endpoint reach a socket that listens there; [::] has IPv4's unless it is for IPv6 only. */
bool services_listens(const struct endpoint *endpoint, const struct fl_address *address, fl_u16 port, bool ipv6_only);

/* The service with this name and id; NULL: none. */
const struct service *services_find(const struct services *services, const char *name);

/* The flow hash of a connection from remote to the endpoint's VIP: its low bits are the bucket. */
fl_u64 services_flow_hash(const struct services *services, const struct endpoint *endpoint,
			  const struct fl_address *remote, fl_u16 remote_port, fl_u16 local_port);

#endif
