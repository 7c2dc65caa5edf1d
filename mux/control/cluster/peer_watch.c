/* SPDX-License-Identifier: Apache-2.0 */
#include "control/cluster/peer_watch.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "config/address.h"
#include "control/member/registration.h"

enum { PATH_MAX_LEN = 512 };

/* A mux that is added. */
struct peer_node {
	struct peer_watch *watch;
	char *id;
	bool is_listed;  /* otherwise it goes with the answer that is missing */
	bool is_reading; /* whether it is alive, and its node */
	bool again;      /* requested meanwhile */
	bool is_known;   /* and nothing has changed since */
	bool has_node;   /* of whatever kind */
	bool is_hidden;  /* by its access list: no watch can be set, so it is read again and again */
	bool is_alive;
	bool is_peer; /* it has an address */
	struct hello_node node;
};

static void read_peer(struct peer_node *peer);

static int compare(const void *left, const void *right)
{
	return memcmp(left, right, sizeof(struct fl_address));
}

static void hand_on(struct peer_watch *watch)
{
	bool same;

	if (watch->found_count) /* none: found is NULL, which qsort does not allow */
		qsort(watch->found, watch->found_count, sizeof(*watch->found), compare);
	same = watch->found_count == watch->count &&
	       (!watch->count || !memcmp(watch->found, watch->addresses, watch->count * sizeof(*watch->found)));
	if (!same && tables_set_peers(watch->tables, watch->found, watch->found_count)) {
		watched_node_retry(&watch->list);
	} else if (!same) {
		free(watch->addresses);
		watch->addresses = watch->found;
		watch->count = watch->found_count;
		watch->found = NULL;
		fprintf(stderr, "mux event=peers muxes=%u\n", watch->count);
	}
}

static bool is_found(const struct peer_watch *watch, const struct fl_address *address)
{
	for (uint32_t i = 0; i < watch->found_count; i++)
		if (fl_address_equal(&watch->found[i], address))
			return true;
	return false;
}

/* Room for so many, of which none is found yet. */
static void clear_found(struct peer_watch *watch, uint32_t count)
{
	free(watch->found);
	free(watch->found_nodes);
	watch->found = tree_alloc((count + 1U) * sizeof(*watch->found));
	watch->found_nodes = tree_alloc((count + 1U) * sizeof(*watch->found_nodes));
	watch->found_count = 0;
}

/* Once all are known. After a partial reading the last set stays. */
static void finish(struct peer_watch *watch)
{
	if (watch->is_held || watch->list.is_reading || !watch->is_listed)
		return;
	for (unsigned i = 0; i < watch->peers_count; i++)
		if (watch->peers[i]->is_listed && !watch->peers[i]->is_known)
			return;
	clear_found(watch, watch->peers_count);
	watch->alive = 0;
	for (unsigned i = 0; i < watch->peers_count; i++) {
		const struct peer_node *peer = watch->peers[i];

		watch->alive += peer->is_listed && peer->is_alive;
		if (!peer->is_listed || !peer->is_peer)
			continue;
		if (is_found(watch, &peer->node.address))
			continue;
		watch->found[watch->found_count] = peer->node.address;
		watch->found_nodes[watch->found_count++] = peer->node;
	}
	if (watch->hello)
		hello_peers_set_nodes(watch->hello->peers, watch->found_nodes, watch->found_count,
				      tree_now(watch->list.tree));
	hand_on(watch);
}

/* As --id allows it; longer ones and other characters do not get into logs and metrics. */
static bool is_id(const char *id)
{
	size_t len = strlen(id);

	return len && len <= HELLO_ID_MAX &&
	       strspn(id, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_.") == len;
}

/* What a mux's node says. Without an address it is no peer. */
static void take_node(struct peer_node *peer, const struct tree_reply *reply)
{
	json_t *node = json_loadb((const char *)reply->data, reply->len, JSON_REJECT_DUPLICATES, NULL);
	const char *address = json_string_value(json_object_get(node, "address"));
	const char *address6 = json_string_value(json_object_get(node, "address6"));

	peer->is_peer = (address && address_parse(address, &peer->node.address)) ||
			(!address && address6 && address_parse(address6, &peer->node.address));
	snprintf(peer->node.id, sizeof(peer->node.id), "%s", is_id(peer->id) ? peer->id : "");
	json_decref(node);
}

static void drop_peer(struct peer_node *peer)
{
	struct peer_watch *watch = peer->watch;

	for (unsigned i = 0; i < watch->peers_count; i++)
		if (watch->peers[i] == peer)
			watch->peers[i--] = watch->peers[--watch->peers_count];
	free(peer->id);
	free(peer);
}

/* The peer is read: result is TREE_OK if it is known now. */
static void end_peer(struct peer_node *peer, enum tree_result result)
{
	struct peer_watch *watch = peer->watch;

	peer->is_reading = false;
	if (!peer->is_listed) {
		drop_peer(peer);
	} else if (peer->again) {
		read_peer(peer);
		return;
	} else if (result == TREE_OK) {
		peer->is_known = true;
		if (peer->is_hidden)
			watched_node_retry(&watch->list);
	} else { /* it may be alive */
		watched_node_retry(&watch->list);
	}
	finish(watch);
}

/*
 * The watch is set. Of a node that is there: on the children that an ephemeral node cannot have, for when it goes; else on
 * the node, for when it comes, or one that says nothing changes. If it has come or gone since, it is read again.
 */
static void on_watched(void *context, const struct tree_reply *reply)
{
	struct peer_node *peer = context;
	bool has_changed = peer->is_alive ? reply->result == TREE_MISSING : reply->result == TREE_OK && !peer->has_node;

	peer->again |= has_changed || reply->result == TREE_DENIED;
	end_peer(peer, reply->result == TREE_MISSING || reply->result == TREE_DENIED ? TREE_OK : reply->result);
}

static void on_node(void *context, const struct tree_reply *reply)
{
	struct peer_node *peer = context;
	char path[PATH_MAX_LEN];

	peer->is_alive = reply->result == TREE_OK && reply->owner;
	peer->is_peer = false;
	peer->has_node = reply->result != TREE_MISSING;
	peer->is_hidden = reply->result == TREE_DENIED;
	snprintf(path, sizeof(path), "%s/%s/" REGISTRATION_NODE, peer->watch->list.path, peer->id);
	if (peer->is_alive) {
		take_node(peer, reply);
		tree_children(peer->watch->list.tree, path, true, on_watched, peer);
	} else if (reply->result == TREE_OK || reply->result == TREE_MISSING) {
		tree_exists(peer->watch->list.tree, path, true, on_watched, peer);
	} else {
		end_peer(peer, peer->is_hidden ? TREE_OK : reply->result);
	}
}

/* Controllers can't delete an entry with nodes that its mux has made and hidden. */
static bool is_removed(const struct tree_reply *reply)
{
	json_t *entry = json_loadb((const char *)reply->data, reply->len, JSON_REJECT_DUPLICATES, NULL);
	bool removed = json_is_true(json_object_get(entry, "removed"));

	json_decref(entry);
	return removed;
}

static void on_entry(void *context, const struct tree_reply *reply)
{
	struct peer_node *peer = context;
	char path[PATH_MAX_LEN];

	if (reply->result == TREE_OK && !is_removed(reply)) {
		snprintf(path, sizeof(path), "%s/%s/" REGISTRATION_NODE, peer->watch->list.path, peer->id);
		tree_get(peer->watch->list.tree, path, false, on_node, peer);
		return;
	}
	peer->is_alive = false;
	peer->is_peer = false;
	end_peer(peer,
		 reply->result == TREE_MISSING ? TREE_OK : reply->result); /* removed since: so the list reports it */
}

/*
 * A mux writes its node often, which wakes each watch on its data. That it goes, a watch on its children tells; of a
 * hidden one ZooKeeper does not tell it, so the entry is watched, which controllers write when they end the mux. The
 * entry's children are never listed: its mux may make as many as it likes.
 */
static void read_peer(struct peer_node *peer)
{
	char path[PATH_MAX_LEN];

	peer->again = peer->is_reading;
	peer->is_known = false;
	if (peer->is_reading)
		return;
	peer->is_reading = true;
	peer->is_hidden = false;
	snprintf(path, sizeof(path), "%s/%s", peer->watch->list.path, peer->id);
	tree_get(peer->watch->list.tree, path, true, on_entry, peer);
}

static struct peer_node *find_peer(const struct peer_watch *watch, const char *id, size_t len)
{
	for (unsigned i = 0; i < watch->peers_count; i++)
		if (strlen(watch->peers[i]->id) == len && !memcmp(watch->peers[i]->id, id, len))
			return watch->peers[i];
	return NULL;
}

static struct peer_node *add_peer(struct peer_watch *watch, const char *id)
{
	struct peer_node **more = tree_alloc((watch->peers_count + 1U) * sizeof(*more));
	struct peer_node *peer = tree_alloc(sizeof(*peer));

	if (watch->peers_count)
		memcpy(more, watch->peers, watch->peers_count * sizeof(*more));
	free(watch->peers);
	watch->peers = more;
	peer->watch = watch;
	peer->id = tree_copy(id);
	return watch->peers[watch->peers_count++] = peer;
}

static void on_list(void *context, const struct tree_reply *reply)
{
	struct peer_watch *watch = context;

	if (reply->result != TREE_OK)
		return;
	for (unsigned i = 0; i < watch->peers_count; i++)
		watch->peers[i]->is_listed = false;
	for (int i = 0; i < reply->child_count; i++) {
		struct peer_node *peer = find_peer(watch, reply->children[i], strlen(reply->children[i]));

		peer = peer ? peer : add_peer(watch, reply->children[i]);
		peer->is_listed = true;
	}
	watch->is_listed = true;
	for (unsigned i = watch->peers_count; i-- > 0;) {
		struct peer_node *peer = watch->peers[i];

		if (!peer->is_listed && !peer->is_reading)
			drop_peer(peer);
		else if (peer->is_listed && (!peer->is_known || peer->is_hidden) && !peer->is_reading)
			read_peer(peer);
	}
	if (!watch->list.again)
		finish(watch);
}

void peer_watch_connected(struct peer_watch *watch)
{
	watch->is_listed = false;
	for (unsigned i = 0; i < watch->peers_count; i++)
		watch->peers[i]->is_known = false;
	watched_node_read(&watch->list);
}

void peer_watch_release(struct peer_watch *watch)
{
	if (!watch->is_held)
		return;
	watch->is_held = false;
	finish(watch);
}

void peer_watch_watched(struct peer_watch *watch, const char *path)
{
	size_t len = strlen(watch->list.path), id;
	struct peer_node *peer;

	watched_node_fired(&watch->list, path);
	if (strncmp(path, watch->list.path, len) != 0 || path[len] != '/')
		return;
	path += len + 1;
	id = strcspn(path, "/");
	peer = !path[id] || !strcmp(path + id, "/" REGISTRATION_NODE) ? find_peer(watch, path, id) : NULL;
	if (peer)
		read_peer(peer);
}

void peer_watch_restore(struct peer_watch *watch, const struct fl_address *addresses, uint32_t count)
{
	clear_found(watch, count);
	for (uint32_t i = 0; i < count; i++) {
		watch->found[i] = addresses[i];
		watch->found_nodes[i].address = addresses[i];
	}
	watch->found_count = count;
	if (watch->hello)
		hello_peers_set_nodes(watch->hello->peers, watch->found_nodes, count, tree_now(watch->list.tree));
	hand_on(watch);
}

struct peer_watch *peer_watch_new(struct tree *tree, const char *path, struct tables *tables, struct hello *hello)
{
	struct peer_watch *watch = tree_alloc(sizeof(*watch));

	watched_node_begin(&watch->list, tree, tree_copy(path), on_list, watch);
	watch->list.is_list = true;
	watch->tables = tables;
	watch->hello = hello;
	return watch;
}

void peer_watch_free(struct peer_watch *watch)
{
	while (watch->peers_count)
		drop_peer(watch->peers[watch->peers_count - 1]);
	free(watch->peers);
	free(watch->found);
	free(watch->found_nodes);
	free(watch->addresses);
	free(watch->list.path);
	free(watch);
}
