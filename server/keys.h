/* SPDX-License-Identifier: Apache-2.0 */
/* The keys that a form gets: of the packets of services, and of notices to the server's own addresses (fairlead/keys.h). */
#ifndef FAIRLEAD_SERVER_KEYS_H
#define FAIRLEAD_SERVER_KEYS_H

#include <server.h>

struct keys {
	struct fl_key_pair notices[2];    /* to the own IPv4 address, and to the IPv6 one */
	struct fl_service_keys *services; /* in their order, one of each */
	fl_u32 service_count;
};

/*
 * Makes the keys of all services and of these addresses, of which one may be none, of the cluster's key, or of its two
 * while it is replaced. Returns 0 or -ENOMEM.
 */
int keys_derive(struct keys *keys, const struct fl_siphash_key *cluster, unsigned int count,
		const struct fl_address self[2]);

/* Also of keys that are all zero. */
void keys_free(struct keys *keys);

#endif
