/* SPDX-License-Identifier: Apache-2.0 */
#include "fake_store.h"

#include <stdlib.h>
#include <string.h>

struct store {
	uint64_t now_ms;
	bool closing;
	size_t count, room;
	struct fake_request *requests; /* in the order of asking */
};

struct store *fake_store_new(void)
{
	return store_alloc(sizeof(struct store));
}

void fake_store_free(struct store *store)
{
	const struct store_reply closing = {.rc = ZCLOSING};

	store->closing = true;
	while (store->count)
		fake_store_answer(store, 0, &closing);
	free(store->requests);
	free(store);
}

void fake_store_set_now(struct store *store, uint64_t now_ms)
{
	store->now_ms = now_ms;
}

size_t fake_store_count(const struct store *store)
{
	return store->count;
}

const struct fake_request *fake_store_at(const struct store *store, size_t i)
{
	return &store->requests[i];
}

void fake_store_answer(struct store *store, size_t i, const struct store_reply *reply)
{
	struct fake_request request = store->requests[i];

	store->count--;
	memmove(&store->requests[i], &store->requests[i + 1], (store->count - i) * sizeof(request));
	request.fn(request.context, reply);
	free(request.path);
}

static void ask(struct store *store, enum fake_kind kind, const char *path, bool watch, store_fn fn, void *context)
{
	if (store->closing) /* whoever asks in answer to ZCLOSING would be answered for ever */
		return;
	if (store->count == store->room) {
		store->room = 2 * store->room + 8;
		store->requests = realloc(store->requests, store->room * sizeof(*store->requests));
		if (!store->requests)
			abort();
	}
	store->requests[store->count++] =
	    (struct fake_request){.kind = kind, .watch = watch, .path = store_copy(path), .fn = fn, .context = context};
}

void store_get(struct store *store, const char *path, bool watch, store_fn fn, void *context)
{
	ask(store, FAKE_GET, path, watch, fn, context);
}

void store_exists(struct store *store, const char *path, bool watch, store_fn fn, void *context)
{
	ask(store, FAKE_EXISTS, path, watch, fn, context);
}

void store_children(struct store *store, const char *path, bool watch, store_fn fn, void *context)
{
	ask(store, FAKE_CHILDREN, path, watch, fn, context);
}

uint64_t store_now(const struct store *store)
{
	return store->now_ms;
}

uint32_t store_jitter(uint32_t n)
{
	(void)n;
	return 0;
}

void *store_alloc(size_t size)
{
	void *p = calloc(1, size + !size);

	if (!p)
		abort();
	return p;
}

char *store_copy(const char *text)
{
	char *copy = strdup(text);

	if (!copy)
		abort();
	return copy;
}
