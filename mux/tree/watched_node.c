/* SPDX-License-Identifier: Apache-2.0 */
#include "tree/watched_node.h"

#include <stdio.h>

static void on_exists(void *context, const struct tree_reply *reply)
{
	struct watched_node *node = context;

	node->is_reading = false;
	if (node->is_held)
		return;
	if (node->again)
		watched_node_read(node);
	else if (reply->result == TREE_OK) /* created meanwhile; otherwise the watch reports it */
		node->retry_at = tree_now(node->tree);
	else if (reply->result != TREE_MISSING)
		watched_node_retry(node);
}

static void on_answer(void *context, const struct tree_reply *reply)
{
	struct watched_node *node = context;

	node->is_reading = false;
	if (node->is_held) {
		node->fn(node->context, reply);
		return;
	}
	if (node->again && !node->is_list) {
		watched_node_read(node);
		return;
	}
	if (reply->result == TREE_MISSING) {
		node->is_reading = true;
		tree_exists(node->tree, node->path, true, on_exists, node);
	} else if (reply->result != TREE_OK) {
		watched_node_retry(node);
	}
	node->fn(node->context, reply);
	if (node->again && !node->is_reading)
		watched_node_read(node);
}

void watched_node_begin(struct watched_node *node, struct tree *tree, char *path, tree_fn fn, void *context)
{
	*node = (struct watched_node){.tree = tree, .path = path, .fn = fn, .context = context, .retry_at = UINT64_MAX};
}

void watched_node_read(struct watched_node *node)
{
	node->again = node->is_reading;
	if (node->is_reading)
		return;
	node->is_reading = true;
	node->retry_at = UINT64_MAX;
	if (node->is_list)
		tree_children(node->tree, node->path, true, on_answer, node);
	else
		tree_get(node->tree, node->path, true, on_answer, node);
}

void watched_node_retry(struct watched_node *node)
{
	node->retry_at = tree_now(node->tree) + WATCHED_NODE_RETRY_MS;
}

void watched_node_hold(struct watched_node *node)
{
	node->is_held = true;
	node->retry_at = UINT64_MAX;
}

void watched_node_release(struct watched_node *node)
{
	node->is_held = false;
	watched_node_read(node);
}

void watched_node_fired(struct watched_node *node, const char *path)
{
	if (!node->is_held && !strcmp(path, node->path))
		watched_node_read(node);
}

void watched_node_run(struct watched_node *node, uint64_t now_ms)
{
	if (!node->is_held && now_ms >= node->retry_at)
		watched_node_read(node);
}

void tree_access_note(struct tree_access *access, const char *path, enum tree_result result, unsigned services)
{
	bool is_denied = result == TREE_DENIED || result == TREE_LOGIN_REFUSED;

	if (is_denied == access->is_denied || (!is_denied && result != TREE_OK))
		return;
	if (is_denied)
		fprintf(stderr, "mux event=zookeeper_denied path=%s services=%u why=\"--zookeeper-auth is %s\"\n", path,
			services, access->has_login ? "wrong" : "missing");
	else
		fprintf(stderr, "mux event=zookeeper_allowed path=%s services=%u\n", path, services);
	access->is_denied = is_denied;
}
