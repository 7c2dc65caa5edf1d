/* SPDX-License-Identifier: Apache-2.0 */
#include "tree/chunks.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A directory of chunks that is being read. */
struct chunks {
	struct tree *tree;
	char *path;
	tree_fn fn;
	void *context;
	enum tree_result result; /* first failure */
	bool named;              /* count is known, 1 until then */
	int count;
	int asked;
	int answered;
	size_t len;
	size_t max_len;
	struct chunk {
		struct chunks *all;
		uint8_t *data;
		size_t len;
	} first, *chunk; /* first is 0000, requested together with the names: usually the only one */
};

static struct chunk *chunk_at(struct chunks *all, int i)
{
	return i ? &all->chunk[i] : &all->first;
}

static void finish(struct chunks *all)
{
	struct tree_reply reply = {.result = all->result};
	uint8_t *whole = NULL;
	size_t at = 0;

	if (all->result == TREE_OK) {
		whole = tree_alloc(all->len);
		for (int i = 0; i < all->count; i++) {
			const struct chunk *chunk = chunk_at(all, i);

			if (chunk->len)
				memcpy(whole + at, chunk->data, chunk->len);
			at += chunk->len;
		}
		reply.data = whole;
		reply.len = at;
	}
	all->fn(all->context, &reply);
	free(whole);
	free(all->first.data);
	for (int i = 1; i < all->count; i++)
		free(all->chunk[i].data);
	free(all->chunk);
	free(all->path);
	free(all);
}

static void on_chunk(void *context, const struct tree_reply *reply);

/* Keeps CHUNKS_IN_FLIGHT requests under way until all chunks are requested or one has failed. */
static void ask(struct chunks *all)
{
	char path[512];

	while (all->result == TREE_OK && all->asked < all->count && all->asked - all->answered < CHUNKS_IN_FLIGHT) {
		snprintf(path, sizeof(path), "%s/%04d", all->path, all->asked);
		tree_get(all->tree, path, false, on_chunk, chunk_at(all, all->asked));
		all->asked++;
	}
	if (all->named && all->asked == all->answered)
		finish(all);
}

static void on_chunk(void *context, const struct tree_reply *reply)
{
	struct chunk *chunk = context;
	struct chunks *all = chunk->all;

	all->answered++;
	if (reply->result != TREE_OK && all->result == TREE_OK)
		all->result = reply->result;
	if (reply->result == TREE_OK && reply->len > all->max_len - all->len)
		all->result = TREE_TOO_LONG;
	if (all->result == TREE_OK) {
		chunk->data = tree_alloc(reply->len);
		chunk->len = reply->len;
		memcpy(chunk->data, reply->data, reply->len);
		all->len += reply->len;
	}
	ask(all);
}

/* Children have unique names, so count names below count are exactly 0000 .. count - 1. */
static enum tree_result check_names(const struct tree_reply *reply)
{
	if (reply->child_count == 0)
		return TREE_MISSING;
	if (reply->child_count > CHUNKS_MAX)
		return TREE_MISNAMED;
	for (int i = 0; i < reply->child_count; i++) {
		const char *name = reply->children[i];

		if (strlen(name) != 4 || strspn(name, "0123456789") != 4)
			return TREE_MISNAMED;
		if (strtol(name, NULL, 10) >= reply->child_count)
			return TREE_MISSING;
	}
	return TREE_OK;
}

static void on_chunk_names(void *context, const struct tree_reply *reply)
{
	struct chunks *all = context;

	enum tree_result result = reply->result == TREE_OK ? check_names(reply) : reply->result;

	all->named = true;
	if (result != TREE_OK)
		all->result = result;
	if (all->result == TREE_OK) {
		all->count = reply->child_count;
		all->chunk = tree_alloc(sizeof(*all->chunk) * (size_t)all->count);
		for (int i = 1; i < all->count; i++)
			all->chunk[i].all = all;
	}
	ask(all);
}

void chunks_read(struct tree *tree, const char *path, size_t max_len, tree_fn fn, void *context)
{
	struct chunks *all = tree_alloc(sizeof(*all));

	all->tree = tree;
	all->path = tree_copy(path);
	all->fn = fn;
	all->context = context;
	all->max_len = max_len;
	all->count = 1;
	all->first.all = all;
	tree_children(tree, path, false, on_chunk_names, all);
	ask(all);
}
