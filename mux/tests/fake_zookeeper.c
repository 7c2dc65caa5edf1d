/* SPDX-License-Identifier: Apache-2.0 */
#include "fake_zookeeper.h"

#include <stdlib.h>
#include <string.h>

struct zk_client {
	uint64_t now_ms;
	bool closing;
	size_t count, room;
	struct fake_request *requests; /* in the order of the requests */
};

struct zk_client *fake_zk_new(void)
{
	return zk_alloc(sizeof(struct zk_client));
}

void fake_zk_free(struct zk_client *zk)
{
	const struct zk_reply closing = {.rc = ZCLOSING};

	zk->closing = true;
	while (zk->count)
		fake_zk_answer(zk, 0, &closing);
	free(zk->requests);
	free(zk);
}

void fake_zk_set_now(struct zk_client *zk, uint64_t now_ms)
{
	zk->now_ms = now_ms;
}

size_t fake_zk_count(const struct zk_client *zk)
{
	return zk->count;
}

const struct fake_request *fake_zk_at(const struct zk_client *zk, size_t i)
{
	return &zk->requests[i];
}

void fake_zk_answer(struct zk_client *zk, size_t i, const struct zk_reply *reply)
{
	struct fake_request request = zk->requests[i];

	zk->count--;
	memmove(&zk->requests[i], &zk->requests[i + 1], (zk->count - i) * sizeof(request));
	request.fn(request.context, reply);
	free(request.path);
}

static void ask(struct zk_client *zk, enum fake_kind kind, const char *path, bool watch, zk_fn fn, void *context)
{
	if (zk->closing) /* a callback that sends another request after ZCLOSING would never end */
		return;
	if (zk->count == zk->room) {
		zk->room = 2 * zk->room + 8;
		zk->requests = realloc(zk->requests, zk->room * sizeof(*zk->requests));
		if (!zk->requests)
			abort();
	}
	zk->requests[zk->count++] =
	    (struct fake_request){.kind = kind, .watch = watch, .path = zk_copy(path), .fn = fn, .context = context};
}

void zk_get(struct zk_client *zk, const char *path, bool watch, zk_fn fn, void *context)
{
	ask(zk, FAKE_GET, path, watch, fn, context);
}

void zk_exists(struct zk_client *zk, const char *path, bool watch, zk_fn fn, void *context)
{
	ask(zk, FAKE_EXISTS, path, watch, fn, context);
}

void zk_children(struct zk_client *zk, const char *path, bool watch, zk_fn fn, void *context)
{
	ask(zk, FAKE_CHILDREN, path, watch, fn, context);
}

void zk_set(struct zk_client *zk, const char *path, const char *text, zk_fn fn, void *context)
{
	(void)text;
	ask(zk, FAKE_SET, path, false, fn, context);
}

void zk_create_ephemeral(struct zk_client *zk, const char *path, const char *text, zk_fn fn, void *context)
{
	(void)text;
	ask(zk, FAKE_CREATE, path, false, fn, context);
}

int zk_session_ms(const struct zk_client *zk)
{
	(void)zk;
	return ZK_SESSION_MS;
}

bool zk_is_connected(const struct zk_client *zk)
{
	return !zk->closing;
}

int64_t zk_session(const struct zk_client *zk)
{
	return zk_is_connected(zk) ? 1 : 0;
}

uint64_t zk_now(const struct zk_client *zk)
{
	return zk->now_ms;
}

uint32_t zk_jitter(uint32_t n)
{
	(void)n;
	return 0;
}

void *zk_alloc(size_t size)
{
	void *p = calloc(1, size + !size);

	if (!p)
		abort();
	return p;
}

char *zk_copy(const char *text)
{
	char *copy = strdup(text);

	if (!copy)
		abort();
	return copy;
}
