/* SPDX-License-Identifier: Apache-2.0 */
#include "control/node.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct node {
	struct store *store;
	char *path;
	char *(*render)(void *context);
	void *context;
	bool is_ours;
	bool is_writing;   /* a create, set or look at its owner is under way */
	int64_t taken;     /* session that has it, as last logged */
	uint64_t write_at; /* when what has changed since the last write began is due, UINT64_MAX: nothing has */
	uint64_t retry_at;
};

static void write_node(struct node *node);

static void on_owner(void *context, const struct store_reply *reply)
{
	struct node *node = context;

	node->is_writing = false;
	if (reply->rc == ZNONODE) { /* gone since */
		write_node(node);
		return;
	}
	if (reply->rc != ZOK) {
		node->retry_at = store_now(node->store) + NODE_RETRY_MS;
		return;
	}
	if (reply->owner == store_session(node->store)) {
		node->is_ours = true;
		write_node(node);
		return;
	}
	if (reply->owner != node->taken)
		fprintf(stderr, "mux event=node_taken path=%s session=0x%" PRIx64 "\n", node->path,
			(uint64_t)reply->owner);
	node->taken = reply->owner;
}

static void on_created(void *context, const struct store_reply *reply)
{
	struct node *node = context;

	node->is_writing = false;
	if (reply->rc == ZNODEEXISTS) {
		node->is_writing = true;
		store_exists(node->store, node->path, true, on_owner, node);
		return;
	}
	if (reply->rc == ZOK) {
		node->is_ours = true;
		node->taken = 0;
		fprintf(stderr, "mux event=registered path=%s session=0x%" PRIx64 "\n", node->path,
			(uint64_t)store_session(node->store));
	} else {
		node->retry_at = store_now(node->store) + NODE_RETRY_MS;
	}
}

static void on_set(void *context, const struct store_reply *reply)
{
	struct node *node = context;

	node->is_writing = false;
	if (reply->rc == ZNONODE) { /* somebody deleted it */
		node->is_ours = false;
		write_node(node);
	} else if (reply->rc != ZOK) {
		node->retry_at = store_now(node->store) + NODE_RETRY_MS;
	}
}

static void write_node(struct node *node)
{
	char *text;

	if (node->is_writing || !store_is_connected(node->store))
		return;
	text = node->render(node->context);
	if (!text) {
		node->retry_at = store_now(node->store) + NODE_RETRY_MS;
		return;
	}
	node->is_writing = true;
	node->write_at = UINT64_MAX;
	if (node->is_ours)
		store_set(node->store, node->path, text, on_set, node);
	else
		store_create_ephemeral(node->store, node->path, text, on_created, node);
	free(text);
}

void node_connected(struct node *node)
{
	node->is_ours = false; /* until the server says so: the session may be new */
	write_node(node);
}

void node_changed(struct node *node, uint32_t within_ms)
{
	if (node->write_at == UINT64_MAX)
		node->write_at = store_now(node->store) + (within_ms ? store_jitter(within_ms) : 0);
}

void node_watched(struct node *node, const char *path)
{
	if (!strcmp(path, node->path) && !node->is_ours)
		write_node(node);
}

/* What has changed waits for the write that is under way, and for the node to be ours. */
static uint64_t due(const struct node *node)
{
	return node->is_ours && !node->is_writing && node->write_at < node->retry_at ? node->write_at : node->retry_at;
}

uint64_t node_deadline(const struct node *node)
{
	return due(node);
}

void node_run(struct node *node, uint64_t now_ms)
{
	if (now_ms < due(node))
		return;
	node->retry_at = UINT64_MAX;
	write_node(node);
}

bool node_is_registered(const struct node *node)
{
	return node->is_ours && store_is_connected(node->store);
}

struct node *node_new(struct store *store, const char *path, char *(*render)(void *context), void *context)
{
	struct node *node = calloc(1, sizeof(*node));

	if (!node)
		return NULL;
	node->store = store;
	node->render = render;
	node->context = context;
	node->write_at = UINT64_MAX;
	node->retry_at = UINT64_MAX;
	node->path = strdup(path);
	if (node->path)
		return node;
	free(node);
	return NULL;
}

void node_free(struct node *node)
{
	free(node->path);
	free(node);
}
