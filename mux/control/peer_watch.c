/* SPDX-License-Identifier: Apache-2.0 */
#include "control/peer_watch.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "config/address.h"

enum { PATH_MAX_LEN = 512 };

struct peer_watch {
	struct zk_client *zk;
	struct tables *tables;
	struct hello *hello; /* NULL: no hellos */
	char *path;
	bool is_reading;
	bool again; /* requested while it was being read */
	uint64_t retry_at;
	int asked;        /* nodes without an answer yet */
	bool failed;      /* one of them could not be read: that mux may be alive */
	bool found_older; /* of this reading: a mux that does not know the seed */
	bool is_read;     /* all of them, since the start */
	bool know_seed;   /* at the last whole reading */
	uint32_t found_count;
	struct fl_address *found;       /* of this reading, */
	struct hello_node *found_nodes; /* and in the order of answers */
	uint32_t listed;                /* at the last reading, with the same address or not */
	uint32_t count;
	struct fl_address *addresses; /* as the tables have them */
};

static void read_list(struct peer_watch *watch);

static int compare(const void *left, const void *right)
{
	return memcmp(left, right, sizeof(struct fl_address));
}

/* Passes the set on if it has changed. */
static void hand_on(struct peer_watch *watch)
{
	bool same;

	if (watch->found_count) /* none: found is NULL, which qsort does not allow */
		qsort(watch->found, watch->found_count, sizeof(*watch->found), compare);
	same = watch->found_count == watch->count &&
	       (!watch->count || !memcmp(watch->found, watch->addresses, watch->count * sizeof(*watch->found)));
	if (!same && tables_set_peers(watch->tables, watch->found, watch->found_count)) {
		watch->retry_at = zk_now(watch->zk) + PEER_WATCH_RETRY_MS;
	} else if (!same) {
		free(watch->addresses);
		watch->addresses = watch->found;
		watch->count = watch->found_count;
		watch->found = NULL;
		fprintf(stderr, "mux event=peers muxes=%u\n", watch->count);
	}
}

/* All nodes are answered. After a partial reading the last set stays until all nodes can be read. */
static void finish(struct peer_watch *watch)
{
	watch->is_reading = false;
	if (!watch->failed && watch->hello)
		hello_set_nodes(watch->hello, watch->found_nodes, watch->found_count, zk_now(watch->zk));
	if (watch->failed) {
		watch->retry_at = zk_now(watch->zk) + PEER_WATCH_RETRY_MS;
	} else {
		watch->is_read = true;
		watch->know_seed = !watch->found_older;
		hand_on(watch);
	}
	if (watch->again)
		read_list(watch);
}

/* As --id allows it; longer ones and other characters do not get into logs and metrics. */
static bool is_id(const char *id)
{
	size_t len = strlen(id);

	return len && len <= HELLO_ID_MAX &&
	       strspn(id, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_.") == len;
}

/* A mux's node; false: it has no address. is_older is set if the mux does not know the seed. */
static bool read_node(const struct zk_reply *reply, struct hello_node *out, bool *is_older)
{
	json_t *node = json_loadb((const char *)reply->data, reply->len, JSON_REJECT_DUPLICATES, NULL);
	const char *id = json_string_value(json_object_get(node, "id"));
	const char *address = json_string_value(json_object_get(node, "address"));
	const char *address6 = json_string_value(json_object_get(node, "address6"));
	bool found = (address && address_parse(address, &out->address)) ||
		     (!address && address6 && address_parse(address6, &out->address));

	*is_older |= found && !json_is_true(json_object_get(node, "fragmentSeed"));
	snprintf(out->id, sizeof(out->id), "%s", id && is_id(id) ? id : "");
	json_decref(node);
	return found;
}

static bool is_found(const struct peer_watch *watch, const struct fl_address *address)
{
	for (uint32_t i = 0; i < watch->found_count; i++)
		if (fl_address_equal(&watch->found[i], address))
			return true;
	return false;
}

static void on_node(void *context, const struct zk_reply *reply)
{
	struct peer_watch *watch = context;
	struct hello_node node;

	if (reply->rc == ZOK && read_node(reply, &node, &watch->found_older) && !is_found(watch, &node.address)) {
		watch->found[watch->found_count] = node.address;
		watch->found_nodes[watch->found_count++] = node;
	} else if (reply->rc != ZOK && reply->rc != ZNONODE) {
		watch->failed = true;
	}
	if (--watch->asked == 0)
		finish(watch);
}

static void on_folder(void *context, const struct zk_reply *reply)
{
	struct peer_watch *watch = context;

	if (reply->rc != ZNONODE) /* otherwise the watch reports when it is created */
		watch->retry_at = zk_now(watch->zk);
}

static void on_list(void *context, const struct zk_reply *reply)
{
	struct peer_watch *watch = context;
	char path[PATH_MAX_LEN];

	if (reply->rc == ZNONODE)
		zk_exists(watch->zk, watch->path, true, on_folder, watch);
	else if (reply->rc != ZOK)
		watch->retry_at = zk_now(watch->zk) + PEER_WATCH_RETRY_MS;
	if (reply->rc != ZOK) {
		watch->is_reading = false;
		return;
	}
	free(watch->found);
	free(watch->found_nodes);
	watch->found = zk_alloc(((size_t)reply->child_count + 1) * sizeof(*watch->found));
	watch->found_nodes = zk_alloc(((size_t)reply->child_count + 1) * sizeof(*watch->found_nodes));
	watch->found_count = 0;
	watch->failed = false;
	watch->found_older = false;
	watch->listed = (uint32_t)reply->child_count;
	watch->asked = reply->child_count;
	if (!reply->child_count)
		finish(watch);
	for (int i = 0; i < reply->child_count; i++) {
		snprintf(path, sizeof(path), "%s/%s", watch->path, reply->children[i]);
		zk_get(watch->zk, path, false, on_node, watch);
	}
}

static void read_list(struct peer_watch *watch)
{
	watch->again = watch->is_reading;
	if (watch->is_reading)
		return;
	watch->is_reading = true;
	watch->retry_at = UINT64_MAX;
	zk_children(watch->zk, watch->path, true, on_list, watch);
}

void peer_watch_connected(struct peer_watch *watch)
{
	read_list(watch);
}

void peer_watch_watched(struct peer_watch *watch, const char *path)
{
	if (!strcmp(path, watch->path))
		read_list(watch);
}

uint32_t peer_watch_count(const struct peer_watch *watch)
{
	return watch->listed;
}

const struct fl_address *peer_watch_addresses(const struct peer_watch *watch, uint32_t *count)
{
	*count = watch->count;
	return watch->addresses;
}

void peer_watch_restore(struct peer_watch *watch, const struct fl_address *addresses, uint32_t count)
{
	free(watch->found);
	watch->found = zk_alloc((count + 1U) * sizeof(*watch->found));
	if (count)
		memcpy(watch->found, addresses, count * sizeof(*watch->found));
	watch->found_count = count;
	if (watch->hello) {
		free(watch->found_nodes);
		watch->found_nodes = zk_alloc((count + 1U) * sizeof(*watch->found_nodes));
		for (uint32_t i = 0; i < count; i++)
			watch->found_nodes[i].address = addresses[i];
		hello_set_nodes(watch->hello, watch->found_nodes, count, zk_now(watch->zk));
	}
	hand_on(watch);
}

bool peer_watch_is_read(const struct peer_watch *watch)
{
	return watch->is_read;
}

bool peer_watch_know_seed(const struct peer_watch *watch)
{
	return watch->know_seed;
}

uint64_t peer_watch_deadline(const struct peer_watch *watch)
{
	return watch->retry_at;
}

void peer_watch_run(struct peer_watch *watch, uint64_t now_ms)
{
	if (now_ms >= watch->retry_at)
		read_list(watch);
}

struct peer_watch *peer_watch_new(struct zk_client *zk, const char *path, struct tables *tables, struct hello *hello)
{
	struct peer_watch *watch = calloc(1, sizeof(*watch));

	if (!watch)
		return NULL;
	watch->zk = zk;
	watch->tables = tables;
	watch->hello = hello;
	watch->retry_at = UINT64_MAX;
	watch->path = strdup(path);
	if (watch->path)
		return watch;
	free(watch);
	return NULL;
}

void peer_watch_free(struct peer_watch *watch)
{
	free(watch->found);
	free(watch->found_nodes);
	free(watch->addresses);
	free(watch->path);
	free(watch);
}
