/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any sequence of events and answers for the list of muxes: sessions, watches, time, nodes with any bytes, failures in
 * any order. Each byte selects the next event; a node's text follows it, up to a zero. Peers are passed on only as a
 * complete set: sorted, without duplicates, no more than are listed, and only if each mux that is listed was read
 * without a failure since a session or a watch of its own last said that it may have changed.
 */
#include <stdlib.h>
#include <string.h>

#include "control/cluster/peer_watch.h"
#include "../tests/fake_tree.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { MUXES_MAX = 12, OPS = 8 };

/* Of each mux: whether its last reading failed, or none has ended since it was requested. */
static bool is_unknown[MUXES_MAX];
static bool no_memory;
static uint32_t listed;

static void require(bool property)
{
	if (!property)
		__builtin_trap();
}

int tables_set_peers(struct tables *tables, const struct fl_address *addresses, uint32_t count)
{
	(void)tables;
	require(count <= listed);
	for (uint32_t i = 0; listed != UINT32_MAX && i < listed; i++)
		require(!is_unknown[i]);
	for (uint32_t i = 1; i < count; i++)
		require(memcmp(&addresses[i - 1], &addresses[i], sizeof(*addresses)) < 0);
	return no_memory ? -1 : 0;
}

/* The node's text: up to a zero. */
static struct tree_reply text_reply(const uint8_t **at, const uint8_t *end, char **text)
{
	const uint8_t *zero = memchr(*at, 0, (size_t)(end - *at));
	size_t len = (size_t)((zero ? zero : end) - *at);

	*text = tree_alloc(len + 1);
	memcpy(*text, *at, len);
	*at += len + !!zero;
	return (struct tree_reply){.result = TREE_OK, .data = (const uint8_t *)*text, .len = len, .owner = 1};
}

static void answer(struct tree *tree, uint8_t op, const uint8_t **at, const uint8_t *end)
{
	static char names[MUXES_MAX][8];
	static char *children[MUXES_MAX], *live[] = {"other", "live"};
	static const enum tree_result results[] = {TREE_OK,     TREE_MISSING,       TREE_FAILED, TREE_FAILED,
						   TREE_DENIED, TREE_LOGIN_REFUSED, TREE_FAILED, TREE_OK};
	size_t i = (op >> 3) % fake_tree_count(tree);
	enum fake_kind kind = fake_tree_at(tree, i)->kind;
	const char *mux = strstr(fake_tree_at(tree, i)->path, "/mux");
	unsigned number = mux && !strncmp(mux + 1, "muxes/mux", 9) ? (unsigned)atoi(mux + 10) : MUXES_MAX;
	struct tree_reply reply = {.result = results[op & 7]};
	char *text = NULL;

	if (kind == FAKE_CHILDREN && reply.result == TREE_OK && number == MUXES_MAX) {
		reply.children = children;
		reply.child_count = *at < end ? *(*at)++ % MUXES_MAX : 0;
		for (int n = 0; n < reply.child_count; n++) {
			snprintf(names[n], sizeof(names[n]), "mux%d", n);
			children[n] = names[n];
		}
		listed = (uint32_t)reply.child_count;
	} else if (kind == FAKE_CHILDREN &&
		   reply.result == TREE_OK) { /* of a node, which may have any: only its end counts */
		reply.children = live;
		reply.child_count = *at < end ? *(*at)++ % 3 : 0;
		is_unknown[number] = false;
	} else if (kind == FAKE_GET && reply.result == TREE_OK) {
		reply = text_reply(at, end, &text);
		is_unknown[number] = false;
	} else if (number < MUXES_MAX) {
		is_unknown[number] = reply.result != TREE_MISSING && (kind != FAKE_GET || reply.result != TREE_DENIED);
	}
	fake_tree_answer(tree, i, &reply);
	free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const uint8_t *at = data, *end = data + size;
	struct tree *tree = fake_tree_new();
	struct peer_watch *watch = peer_watch_new(tree, "/fairlead/muxes", NULL, NULL);
	uint64_t now = 0;

	require(watch != NULL);
	memset(is_unknown, 0, sizeof(is_unknown));
	no_memory = false;
	listed = 0;
	while (at < end) {
		uint8_t op = *at++;

		if (op >= 64) {
			if (fake_tree_count(tree))
				answer(tree, op, &at, end);
			continue;
		}
		switch (op % OPS) {
		case 0:
			peer_watch_connected(watch);
			break;
		case 1:
			peer_watch_watched(watch, "/fairlead/muxes");
			break;
		case 2:
			peer_watch_watched(watch, "/fairlead/muxes/mux1");
			break;
		case 3:
			no_memory = op & 8;
			break;
		default:
			now += 50U * op;
			fake_tree_set_now(tree, now);
			if (now >= watch->list.retry_at)
				watched_node_run(&watch->list, now);
		}
		require(fake_tree_count(tree) <= MUXES_MAX + 1);
	}
	no_memory = false;
	listed = UINT32_MAX;
	fake_tree_free(tree);
	peer_watch_free(watch);
	return 0;
}
