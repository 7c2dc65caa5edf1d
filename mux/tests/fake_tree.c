/* SPDX-License-Identifier: Apache-2.0 */
#include "fake_tree.h"

#include <stdlib.h>
#include <string.h>

struct tree {
	uint64_t now_ms;
	bool closing;
	size_t count, room;
	struct fake_request *requests; /* in the order of the requests */
};

struct tree *fake_tree_new(void)
{
	return tree_alloc(sizeof(struct tree));
}

void fake_tree_free(struct tree *tree)
{
	const struct tree_reply closing = {.result = TREE_FAILED};

	tree->closing = true;
	while (tree->count)
		fake_tree_answer(tree, 0, &closing);
	free(tree->requests);
	free(tree);
}

void fake_tree_set_now(struct tree *tree, uint64_t now_ms)
{
	tree->now_ms = now_ms;
}

size_t fake_tree_count(const struct tree *tree)
{
	return tree->count;
}

const struct fake_request *fake_tree_at(const struct tree *tree, size_t i)
{
	return &tree->requests[i];
}

void fake_tree_answer(struct tree *tree, size_t i, const struct tree_reply *reply)
{
	struct fake_request request = tree->requests[i];

	tree->count--;
	memmove(&tree->requests[i], &tree->requests[i + 1], (tree->count - i) * sizeof(request));
	request.fn(request.context, reply);
	free(request.path);
}

static void ask(struct tree *tree, enum fake_kind kind, const char *path, bool watch, tree_fn fn, void *context)
{
	if (tree->closing) /* a callback that sends another request after TREE_FAILED would never end */
		return;
	if (tree->count == tree->room) {
		tree->room = 2 * tree->room + 8;
		tree->requests = realloc(tree->requests, tree->room * sizeof(*tree->requests));
		if (!tree->requests)
			abort();
	}
	tree->requests[tree->count++] =
	    (struct fake_request){.kind = kind, .watch = watch, .path = tree_copy(path), .fn = fn, .context = context};
}

void tree_get(struct tree *tree, const char *path, bool watch, tree_fn fn, void *context)
{
	ask(tree, FAKE_GET, path, watch, fn, context);
}

void tree_exists(struct tree *tree, const char *path, bool watch, tree_fn fn, void *context)
{
	ask(tree, FAKE_EXISTS, path, watch, fn, context);
}

void tree_children(struct tree *tree, const char *path, bool watch, tree_fn fn, void *context)
{
	ask(tree, FAKE_CHILDREN, path, watch, fn, context);
}

void tree_set(struct tree *tree, const char *path, const char *text, tree_fn fn, void *context)
{
	(void)text;
	ask(tree, FAKE_SET, path, false, fn, context);
}

void tree_create_ephemeral(struct tree *tree, const char *path, const char *text, tree_fn fn, void *context)
{
	(void)text;
	ask(tree, FAKE_CREATE, path, false, fn, context);
}

int tree_session_ms(const struct tree *tree)
{
	(void)tree;
	return TREE_SESSION_MS;
}

bool tree_is_connected(const struct tree *tree)
{
	return !tree->closing;
}

int64_t tree_session(const struct tree *tree)
{
	return tree_is_connected(tree) ? 1 : 0;
}

uint64_t tree_now(const struct tree *tree)
{
	return tree->now_ms;
}

uint32_t tree_jitter(uint32_t n)
{
	(void)n;
	return 0;
}

void *tree_alloc(size_t size)
{
	void *p = calloc(1, size + !size);

	if (!p)
		abort();
	return p;
}
