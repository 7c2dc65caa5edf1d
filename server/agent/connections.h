/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A table of connections by remote address, remote port and local port at an endpoint: open addressing with linear
 * probing, 32 bytes a slot, at most three quarters full. A removal moves the entries behind it, so that no slot is
 * ever marked as deleted. The slot is chosen by a keyed hash, as clients choose their ports. A million connections
 * take 64 MB, and 96 MB for the moment in which the table grows to that.
 */
#ifndef FAIRLEAD_AGENT_CONNECTIONS_H
#define FAIRLEAD_AGENT_CONNECTIONS_H

#include <stddef.h>

#include <fairlead/hash.h>

enum connection_state {
	CONNECTION_NONE = 0, /* a free slot, all zero */
	CONNECTION_LIVE,
	/* Closed while a dump is under way, which may still list it, or told as open and not yet as closed. */
	CONNECTION_CLOSED,
};

struct connection_key {
	struct fl_address remote;
	fl_u16 remote_port, local_port;
	fl_u16 endpoint; /* its place in struct services */
};

/* Begins as its key does. */
struct connection {
	struct fl_address remote;
	fl_u16 remote_port, local_port;
	fl_u16 endpoint;
	fl_u8 mark;      /* the dump or event that saw it last: census.h */
	fl_u8 state : 2; /* enum connection_state */
	fl_u8 told : 1;  /* the leader knows it, or learns of it by the part under way: told.h */
	fl_u8 age : 4;   /* aging.h */
	fl_u32 slot_hash;
	fl_u32 flow_hash; /* low half; its low bits are the bucket */
};

_Static_assert(sizeof(struct connection) == 32, "a slot is 32 bytes");

FL_INLINE struct connection_key connection_key(const struct connection *connection)
{
	return (struct connection_key){connection->remote, connection->remote_port, connection->local_port,
				       connection->endpoint};
}

struct connections {
	struct fl_siphash_key seed;
	/*
	 * All of them, free ones included, are walked by index. A walk that removes must look at the same slot again; it may
	 * then see an entry twice, but misses none.
	 */
	struct connection *slots;
	size_t mask; /* of an index: slots there are, less one */
	size_t used;
};

/* NULL: no memory. */
struct connections *connections_new(const struct fl_siphash_key *seed);
void connections_free(struct connections *connections);

struct connection *connections_find(const struct connections *connections, const struct connection_key *key);

/* Adds a live connection, which must not be in the table. NULL: no memory. Pointers into the table become invalid. */
struct connection *connections_add(struct connections *connections, const struct connection_key *key);

/* Pointers into the table become invalid. */
void connections_remove(struct connections *connections, struct connection *connection);

#endif
