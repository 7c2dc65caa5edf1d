/* SPDX-License-Identifier: Apache-2.0 */
#include "control/chunks.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A directory of chunks that is being read. */
struct chunks {
	struct zk_client *zk;
	char *path;
	zk_fn fn;
	void *context;
	int rc;     /* first failure */
	bool named; /* count is known, 1 until then */
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
	struct zk_reply reply = {.rc = all->rc};
	uint8_t *whole = NULL;
	size_t at = 0;

	if (all->rc == ZOK) {
		whole = zk_alloc(all->len);
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

static void on_chunk(void *context, const struct zk_reply *reply);

/* Keeps CHUNKS_IN_FLIGHT requests under way until all chunks are requested or one has failed. */
static void ask(struct chunks *all)
{
	char path[512];

	while (all->rc == ZOK && all->asked < all->count && all->asked - all->answered < CHUNKS_IN_FLIGHT) {
		snprintf(path, sizeof(path), "%s/%04d", all->path, all->asked);
		zk_get(all->zk, path, false, on_chunk, chunk_at(all, all->asked));
		all->asked++;
	}
	if (all->named && all->asked == all->answered)
		finish(all);
}

static void on_chunk(void *context, const struct zk_reply *reply)
{
	struct chunk *chunk = context;
	struct chunks *all = chunk->all;

	all->answered++;
	if (reply->rc != ZOK && all->rc == ZOK)
		all->rc = reply->rc;
	if (reply->rc == ZOK && reply->len > all->max_len - all->len)
		all->rc = ZMARSHALLINGERROR;
	if (all->rc == ZOK) {
		chunk->data = zk_alloc(reply->len);
		chunk->len = reply->len;
		memcpy(chunk->data, reply->data, reply->len);
		all->len += reply->len;
	}
	ask(all);
}

/* Children have unique names, so count names below count are exactly 0000 .. count - 1. */
static int check_names(const struct zk_reply *reply)
{
	if (reply->child_count == 0)
		return ZNONODE;
	if (reply->child_count > CHUNKS_MAX)
		return ZBADARGUMENTS;
	for (int i = 0; i < reply->child_count; i++) {
		const char *name = reply->children[i];

		if (strlen(name) != 4 || strspn(name, "0123456789") != 4)
			return ZBADARGUMENTS;
		if (strtol(name, NULL, 10) >= reply->child_count)
			return ZNONODE;
	}
	return ZOK;
}

static void on_chunk_names(void *context, const struct zk_reply *reply)
{
	struct chunks *all = context;

	int rc = reply->rc == ZOK ? check_names(reply) : reply->rc;

	all->named = true;
	if (rc != ZOK)
		all->rc = rc;
	if (all->rc == ZOK) {
		all->count = reply->child_count;
		all->chunk = zk_alloc(sizeof(*all->chunk) * (size_t)all->count);
		for (int i = 1; i < all->count; i++)
			all->chunk[i].all = all;
	}
	ask(all);
}

void chunks_read(struct zk_client *zk, const char *path, size_t max_len, zk_fn fn, void *context)
{
	struct chunks *all = zk_alloc(sizeof(*all));

	all->zk = zk;
	all->path = zk_copy(path);
	all->fn = fn;
	all->context = context;
	all->max_len = max_len;
	all->count = 1;
	all->first.all = all;
	zk_children(zk, path, false, on_chunk_names, all);
	ask(all);
}
