/* SPDX-License-Identifier: Apache-2.0 */
#include "hello/hello_peers.h"

#include <stdlib.h>
#include <string.h>

struct hello_peers *hello_peers_new(const struct fl_address *self, const struct tag_keys *keys)
{
	struct hello_peers *peers = calloc(1, sizeof(*peers));

	if (!peers)
		return NULL;
	peers->self = *self;
	peers->has_key = keys;
	if (keys)
		peers->keys = *keys;
	return peers;
}

void hello_peers_free(struct hello_peers *peers)
{
	for (unsigned i = 0; i < peers->count; i++)
		free(peers->list[i].entries);
	free(peers);
}

void hello_peers_join(struct hello_peers *peers, const uint8_t *cluster)
{
	peers->has_cluster = cluster;
	if (cluster)
		memcpy(peers->cluster, cluster, sizeof(peers->cluster));
}

struct hello_peer *hello_peers_find(const struct hello_peers *peers, const struct fl_address *address)
{
	for (unsigned i = 0; i < peers->count; i++)
		if (fl_address_equal(&peers->list[i].node.address, address))
			return (struct hello_peer *)(uintptr_t)&peers->list[i];
	return NULL;
}

static void drop(struct hello_peers *peers, struct hello_peer *peer)
{
	free(peer->entries);
	*peer = peers->list[--peers->count];
}

/* Makes room by forgetting the peer without a node that was known the longest ago; false: all have nodes. */
static bool make_room(struct hello_peers *peers)
{
	struct hello_peer *oldest = NULL;

	if (peers->count < HELLO_PEERS_MAX)
		return true;
	for (unsigned i = 0; i < peers->count; i++) {
		struct hello_peer *peer = &peers->list[i];

		if (!peer->has_node && (!oldest || peer->known_ms < oldest->known_ms))
			oldest = peer;
	}
	if (oldest)
		drop(peers, oldest);
	return oldest;
}

/* NULL: no room. */
static struct hello_peer *add(struct hello_peers *peers, const struct fl_address *address)
{
	struct hello_peer *peer;

	if (!make_room(peers))
		return NULL;
	peer = &peers->list[peers->count++];
	*peer = (struct hello_peer){.node = {.address = *address}};
	return peer;
}

/* Those that are known come first, so that no new one takes their room. */
void hello_peers_set_nodes(struct hello_peers *peers, const struct hello_node *nodes, unsigned count, uint64_t now_ms)
{
	for (unsigned i = 0; i < peers->count; i++)
		peers->list[i].has_node = false;
	for (int adds = 0; adds < 2; adds++)
		for (unsigned i = 0; i < count; i++) {
			struct hello_peer *peer = hello_peers_find(peers, &nodes[i].address);

			if (!peer && adds && !fl_address_equal(&nodes[i].address, &peers->self))
				peer = add(peers, &nodes[i].address);
			if (!peer)
				continue;
			peer->node = nodes[i];
			peer->has_node = true;
			peer->known_ms = now_ms;
		}
}

void hello_peers_expire(struct hello_peers *peers, uint64_t now_ms)
{
	for (unsigned i = peers->count; i-- > 0;) {
		struct hello_peer *peer = &peers->list[i];

		if (peer->has_node)
			peer->known_ms = now_ms;
		else if (now_ms - peer->known_ms > HELLO_FORGET_MS)
			drop(peers, peer);
	}
}

bool hello_peer_is_heard(const struct hello_peer *peer, uint64_t now_ms)
{
	return peer->was_heard && now_ms - peer->heard_ms <= HELLO_SILENT_MS;
}

static bool is_fresh(const struct hello_entry *entry, uint64_t now_ms)
{
	return now_ms - entry->heard_ms <= HELLO_SILENT_MS;
}

static int compare(const void *id, const void *entry)
{
	return (int)*(const uint16_t *)id - (int)((const struct hello_entry *)entry)->service.id;
}

static const struct hello_entry *entry_of(const struct hello_peer *peer, uint16_t service)
{
	return peer->count ? bsearch(&service, peer->entries, peer->count, sizeof(*peer->entries), compare) : NULL;
}

const struct hello_service *hello_peer_service(const struct hello_peer *peer, uint16_t service, uint64_t now_ms)
{
	const struct hello_entry *entry = entry_of(peer, service);

	return entry && is_fresh(entry, now_ms) ? &entry->service : NULL;
}

bool hello_peer_said_since(const struct hello_peer *peer, uint16_t service, uint64_t since_ms)
{
	const struct hello_entry *entry = entry_of(peer, service);

	return entry && entry->heard_ms >= since_ms;
}

/* Without a key the last hello's numbers may be forged: they count no longer than what it says. */
static bool is_replayed(const struct hello_peers *peers, const struct hello_peer *peer, const struct hello_head *head,
			uint64_t now_ms)
{
	uint64_t silent_ms = now_ms - peer->heard_ms;

	if (!peer->was_heard || head->boot > peer->boot)
		return false;
	if (!peers->has_key && silent_ms > HELLO_SILENT_MS)
		return false;
	if (head->boot < peer->boot)
		return silent_ms <= HELLO_REBOOT_MS;
	return head->counter <= peer->counter;
}

/* Everything that parsing leaves open, except the sender's being a peer. */
static enum hello_error judge(const struct hello_peers *peers, const struct fl_address *source, const uint8_t *data,
			      const struct hello_head *head)
{
	if (!peers->has_cluster || memcmp(head->cluster, peers->cluster, sizeof(peers->cluster)))
		return HELLO_CLUSTER;
	if (!fl_address_equal(&head->sender, source))
		return HELLO_SENDER;
	if (peers->has_key && !head->has_tag)
		return HELLO_TAG_MISSING;
	if (peers->has_key && !hello_tag_is_right(data, head, tag_keys_of(&peers->keys, head->key)))
		return HELLO_TAG_WRONG;
	return HELLO_OK;
}

/* Merges the packet's services with those heard lately; what is neither is dropped. False: no memory. */
static bool merge(struct hello_peers *peers, struct hello_peer *peer, const uint8_t *data, unsigned count,
		  uint64_t now_ms)
{
	struct hello_entry *merged = malloc((peer->count + count + 1) * sizeof(*merged));
	unsigned old = 0, new = 0, kept = 0;

	if (!merged)
		return false;
	while ((old < peer->count || new < count) && kept < HELLO_ENTRIES_MAX) {
		struct hello_service service = {0};

		if (new < count)
			service = hello_service_at(data, new);
		if (new < count && (old == peer->count || service.id <= peer->entries[old].service.id)) {
			if (old < peer->count && service.id == peer->entries[old].service.id) {
				peers->asks += (service.flags & ~peer->entries[old].service.flags & HELLO_BEHIND) != 0;
				old++;
			}
			new ++;
			merged[kept++] = (struct hello_entry){.service = service, .heard_ms = now_ms};
		} else {
			if (is_fresh(&peer->entries[old], now_ms))
				merged[kept++] = peer->entries[old];
			old++;
		}
	}
	free(peer->entries);
	peer->entries = merged;
	peer->count = kept;
	return true;
}

enum hello_error hello_peers_hear(struct hello_peers *peers, const struct fl_address *source, const uint8_t *data,
				  size_t len, uint64_t now_ms)
{
	struct hello_head head;
	struct hello_peer *peer;
	enum hello_error error = hello_parse(data, len, &head);

	if (!error)
		error = judge(peers, source, data, &head);
	if (error)
		return error;
	if (fl_address_equal(source, &peers->self))
		return HELLO_PEER_UNKNOWN;
	peer = hello_peers_find(peers, source);
	if (!peer && peers->has_key)
		peer = add(peers, source);
	if (!peer)
		return HELLO_PEER_UNKNOWN;
	if (is_replayed(peers, peer, &head, now_ms))
		return HELLO_REPLAYED;
	if (peer->was_heard && head.boot != peer->boot)
		peer->count = 0; /* what it said before it was started again */
	peers->starts += !peer->was_heard || head.boot != peer->boot;
	if (!merge(peers, peer, data, head.count, now_ms))
		return HELLO_OK; /* without memory as if it were lost: the next one is a second away */
	peer->was_heard = true;
	peer->boot = head.boot;
	peer->counter = head.counter;
	peer->heard_ms = now_ms;
	peer->known_ms = now_ms;
	return HELLO_OK;
}
