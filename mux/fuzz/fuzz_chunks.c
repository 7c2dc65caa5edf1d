/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A folder of chunks with any names, and any answers in any order. The result is delivered once: the concatenated
 * chunks if they are exactly 0000, 0001, ... and within the maximum length, otherwise an error code. No request follows
 * it.
 *
 * Input: names as lines up to an empty one; then two bytes for each answer: which request and whether it fails, and the
 * length.
 */
#include <stdlib.h>
#include <string.h>

#include "tree/chunks.h"
#include "../tests/fake_tree.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { NAMES_MAX = 64, LEN_MAX = 2000, FAILS = 0x80 };

static void require(bool property)
{
	if (!property)
		__builtin_trap();
}

struct run {
	unsigned answers;
	enum tree_result result;
	char *names[NAMES_MAX];
	int count;
	bool listed, failed;
	size_t len[NAMES_MAX], total; /* of each answered chunk */
};

/* Chunk i is len[i] bytes of value i + 1. */
static void on_whole(void *context, const struct tree_reply *reply)
{
	struct run *run = context;
	size_t at = 0;

	require(!run->answers++);
	run->result = reply->result;
	if (reply->result != TREE_OK)
		return;
	require(run->listed && !run->failed && run->count && reply->len == run->total && run->total <= LEN_MAX);
	for (int i = 0; i < run->count; i++)
		for (size_t n = 0; n < run->len[i]; n++)
			require(reply->data[at++] == i + 1);
}

/* Whether the names are 0000 .. count - 1. */
static bool are_names(const struct run *run)
{
	for (int i = 0; i < run->count; i++) {
		char name[8];
		bool found = false;

		snprintf(name, sizeof(name), "%04d", i);
		for (int j = 0; j < run->count; j++)
			found = found || !strcmp(run->names[j], name);
		if (!found)
			return false;
	}
	return true;
}

static const uint8_t *read_names(struct run *run, const uint8_t *at, const uint8_t *end)
{
	while (at < end && *at != '\n' && run->count < NAMES_MAX) {
		const uint8_t *stop = memchr(at, '\n', (size_t)(end - at));
		size_t len = (size_t)((stop ? stop : end) - at);
		char *name = strndup((const char *)at, len);
		bool twice = false;

		require(name != NULL);
		for (int i = 0; i < run->count; i++)
			twice = twice || !strcmp(run->names[i], name); /* children of a node have unique names */
		if (twice)
			free(name);
		else
			run->names[run->count++] = name;
		at += len + !!stop;
	}
	return at < end && *at == '\n' ? at + 1 : at;
}

static void answer(struct tree *tree, struct run *run, size_t i, bool fails, size_t len)
{
	const struct fake_request *request = fake_tree_at(tree, i);
	struct tree_reply reply = {.result = fails ? TREE_FAILED : TREE_OK};
	uint8_t bytes[256];

	run->failed |= fails;
	if (request->kind == FAKE_CHILDREN) {
		run->listed = true;
		reply.children = run->names;
		reply.child_count = fails ? 0 : run->count;
		run->failed |= !are_names(run);
	} else {
		unsigned long chunk = strtoul(strrchr(request->path, '/') + 1, NULL, 10);

		require(chunk == 0 || (run->listed && chunk < (unsigned long)run->count));
		if (chunk == 0 && run->listed && !run->count)
			reply.result = TREE_MISSING;
		memset(bytes, (int)chunk + 1, sizeof(bytes));
		reply.data = bytes;
		reply.len = len;
		run->len[chunk] = len;
		run->total += len;
	}
	fake_tree_answer(tree, i, &reply);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const uint8_t *at, *end = data + size;
	struct tree *tree = fake_tree_new();
	struct run run = {0};

	at = read_names(&run, data, end);
	chunks_read(tree, "/ring/gen/0000000001/delta", LEN_MAX, on_whole, &run);
	while (fake_tree_count(tree)) {
		uint8_t op = at < end ? *at++ : 0, len = at < end ? *at++ : 0;

		require(!run.answers && fake_tree_count(tree) <= CHUNKS_IN_FLIGHT + 1);
		answer(tree, &run, (op & 15) % fake_tree_count(tree), op & FAILS, len);
	}
	require(run.answers == 1 && (run.result == TREE_OK || run.failed || !run.count || run.total > LEN_MAX));
	for (int i = 0; i < run.count; i++)
		free(run.names[i]);
	fake_tree_free(tree);
	return 0;
}
