/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any sequence of events and answers for the cluster's seed: sessions, watches, time, muxes that know it or not, a node
 * with any bytes, failures in any order. The tables are told the seed of the last node that was read, or zero if it is
 * no 32 hex digits, if there is none, or if a mux does not know it; and nothing twice.
 */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "control/cluster/seed_watch.h"
#include "../tests/fake_tree.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct fl_siphash_key last, told;
static bool no_memory;

static void require(bool property)
{
	if (!property)
		__builtin_trap();
}

static bool same(const struct fl_siphash_key *a, const struct fl_siphash_key *b)
{
	return a->k0 == b->k0 && a->k1 == b->k1;
}

int tables_set_seed(struct tables *tables, const struct fl_siphash_key *seed)
{
	(void)tables;
	require(!same(seed, &told));
	if (no_memory)
		return -1;
	told = *seed;
	return 0;
}

/* Parses by the C library what seed_watch.c parses by itself. */
static struct fl_siphash_key expected(const uint8_t *text, size_t len)
{
	static const struct fl_siphash_key none;
	uint8_t bytes[16];

	if (len != 2 * sizeof(bytes))
		return none;
	for (size_t i = 0; i < len; i++)
		if (!isxdigit(text[i]) || isupper(text[i]))
			return none;
	for (size_t i = 0; i < sizeof(bytes); i++) {
		char digits[3] = {(char)text[2 * i], (char)text[2 * i + 1], 0};

		bytes[i] = (uint8_t)strtoul(digits, NULL, 16);
	}
	return fl_siphash_key_load(bytes);
}

static void answer(struct tree *tree, uint8_t op, const uint8_t **at, const uint8_t *end)
{
	static const enum tree_result results[] = {TREE_OK,     TREE_MISSING,       TREE_FAILED, TREE_FAILED,
						   TREE_DENIED, TREE_LOGIN_REFUSED, TREE_FAILED, TREE_OK};
	struct tree_reply reply = {.result = results[op & 7]};
	const struct fl_siphash_key before = last;
	bool was_get;
	static const struct fl_siphash_key none;
	uint8_t *text = NULL;

	if (fake_tree_at(tree, 0)->kind == FAKE_GET && reply.result == TREE_OK) {
		reply.len = *at < end ? *(*at)++ % 40 : 0;
		if (reply.len > (size_t)(end - *at))
			reply.len = (size_t)(end - *at);
		text = tree_alloc(reply.len + 1);
		memcpy(text, *at, reply.len);
		*at += reply.len;
		reply.data = text;
		last = expected(text, reply.len);
	} else if (fake_tree_at(tree, 0)->kind == FAKE_GET && reply.result == TREE_MISSING) {
		last = none;
	}
	was_get = fake_tree_at(tree, 0)->kind == FAKE_GET;
	fake_tree_answer(tree, 0, &reply);
	if (was_get && fake_tree_count(tree) && fake_tree_at(tree, fake_tree_count(tree) - 1)->kind == FAKE_GET)
		last = before; /* the node had changed again: only the next answer counts */
	free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const uint8_t *at = data, *end = data + size;
	struct tree *tree = fake_tree_new();
	struct seed_watch *watch = seed_watch_new(tree, "/fairlead", NULL);
	static const struct fl_siphash_key none;
	uint64_t now = 0;

	require(watch != NULL);
	last = told = none;
	no_memory = false;
	while (at < end) {
		uint8_t op = *at++;
		bool is_held = op & 16, was_read = false;
		struct fl_siphash_key used;

		if (op >= 64) {
			if (fake_tree_count(tree))
				answer(tree, op, &at, end);
			continue;
		}
		switch (op % 8) {
		case 0:
			watched_node_read(&watch->node);
			break;
		case 1:
			watched_node_fired(&watch->node, "/fairlead/fragment_seed");
			break;
		case 2:
			watched_node_fired(&watch->node, "/fairlead/cluster");
			break;
		case 3:
			no_memory = op & 8;
			break;
		default:
			now += 50U * op;
			fake_tree_set_now(tree, now);
			watched_node_run(&watch->node, now);
			if (!is_held)
				seed_watch_apply(watch);
			was_read = !is_held && !no_memory;
		}
		if (was_read)
			require(same(&told, &last));
		used = watch->used;
		require(same(&used, &told));
		require(fake_tree_count(tree) <= 8);
	}
	fake_tree_free(tree);
	seed_watch_free(watch);
	return 0;
}
