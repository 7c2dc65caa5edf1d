/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The other muxes and what their hellos said: which generation of each service they serve, and whether they announce
 * it. Pure: depends only on nodes, packets and the given clock.
 *
 *	its node is in ZooKeeper	a peer
 *	its node is gone		still a peer for HELLO_FORGET_MS since its last hello: a mux that loses ZooKeeper
 *					loses its node, and is the one that needs the others' hellos
 *	it sends the right tag		a peer too, in the same way: after a restart of this mux nothing else tells of a
 *					mux without a node
 *
 * Counters that do not rise are replayed. A mux that starts again has a later boot; an earlier one is believed only if
 * nothing was heard for HELLO_REBOOT_MS, as after a restart with a clock that went back. Without a key anyone who sees
 * hellos can forge one with the greatest numbers: there any is believed once nothing was heard for HELLO_SILENT_MS.
 *
 * What was heard counts for HELLO_SILENT_MS: each service by its own packet, so that a lost packet delays what it
 * carried and nothing else.
 */
#ifndef FAIRLEAD_MUX_HELLO_PEERS_H
#define FAIRLEAD_MUX_HELLO_PEERS_H

#include "config/tag_key.h"
#include "hello/hello_packet.h"

enum hello_peers_numbers {
	HELLO_INTERVAL_MS = 1000,
	HELLO_SILENT_MS = 5000,
	HELLO_REBOOT_MS = 60000,
	HELLO_FORGET_MS = 24 * 3600 * 1000,
	HELLO_PEERS_MAX = 1024,
	HELLO_ENTRIES_MAX = 4096, /* services of one peer; a mux serves no more */
	HELLO_ID_MAX = 63,
};

/* A mux's node in ZooKeeper. */
struct hello_node {
	struct fl_address address;
	char id[HELLO_ID_MAX + 1];
};

struct hello_entry {
	struct hello_service service;
	uint64_t heard_ms;
};

struct hello_peer {
	struct hello_node node; /* its last one; id "": it never had one */
	bool has_node;
	bool was_heard;
	uint64_t boot, counter; /* of the last hello */
	uint64_t heard_ms;      /* if was_heard */
	uint64_t known_ms;      /* of the last hello or node */
	unsigned count;
	struct hello_entry *entries; /* by ascending id */
};

struct hello_peers {
	struct fl_address self;
	bool has_key;
	struct tag_keys keys;
	bool has_cluster;
	uint8_t cluster[HELLO_CLUSTER_LEN];
	unsigned starts; /* how often a peer was heard that was not before, or not since it was started */
	unsigned asks;   /* how often a peer began to say that a service is withdrawn */
	unsigned count;
	struct hello_peer list[HELLO_PEERS_MAX]; /* in no particular order */
};

/* self: this mux's address; keys of the cluster, NULL: tags are not checked. Both are copied. NULL: no memory. */
struct hello_peers *hello_peers_new(const struct fl_address *self, const struct tag_keys *keys);
void hello_peers_free(struct hello_peers *peers);

/* Which cluster's hellos are accepted; NULL: none are, as at first. */
void hello_peers_join(struct hello_peers *peers, const uint8_t *cluster);

/* The nodes that there are now; this mux's own may be among them. */
void hello_peers_set_nodes(struct hello_peers *peers, const struct hello_node *nodes, unsigned count, uint64_t now_ms);

/* Judges a packet that came from source and records what it says. HELLO_OK, or why it is refused. */
enum hello_error hello_peers_hear(struct hello_peers *peers, const struct fl_address *source, const uint8_t *data,
				  size_t len, uint64_t now_ms);

/* Forgets muxes that have been gone for long; call it now and then. */
void hello_peers_expire(struct hello_peers *peers, uint64_t now_ms);

/* NULL: none has this address. */
struct hello_peer *hello_peers_find(const struct hello_peers *peers, const struct fl_address *address);

/* Whether a hello of the peer was accepted within HELLO_SILENT_MS. */
bool hello_peer_is_heard(const struct hello_peer *peer, uint64_t now_ms);
/* What the peer said lately about a service; NULL: nothing. */
const struct hello_service *hello_peer_service(const struct hello_peer *peer, uint16_t service, uint64_t now_ms);
/* Whether it said the last of it then or later. */
bool hello_peer_said_since(const struct hello_peer *peer, uint16_t service, uint64_t since_ms);

#endif
