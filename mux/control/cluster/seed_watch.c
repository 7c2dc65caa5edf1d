/* SPDX-License-Identifier: Apache-2.0 */
#include "control/cluster/seed_watch.h"

#include <stdio.h>
#include <stdlib.h>

#include "config/hex.h"

static const struct fl_siphash_key none;

static bool parse(const struct tree_reply *reply, struct fl_siphash_key *out)
{
	uint8_t bytes[HEX_BYTES];

	if (!hex_parse((const char *)reply->data, reply->len, HEX_LOWER, bytes))
		return false;
	*out = fl_siphash_key_load(bytes);
	return true;
}

static void on_seed(void *context, const struct tree_reply *reply)
{
	struct seed_watch *watch = context;
	bool is_malformed;

	if (reply->result != TREE_OK && reply->result != TREE_MISSING)
		return;
	watch->is_read = true;
	watch->known = none;
	if (reply->result == TREE_MISSING) /* controllers that don't know of it */
		return;
	is_malformed = !parse(reply, &watch->known);
	if (is_malformed && !watch->is_malformed)
		fprintf(stderr, "mux event=ignored path=%s why=\"%zu bytes; allowed: %d hex digits in lower case\"\n",
			watch->node.path, reply->len, HEX_DIGITS);
	watch->is_malformed = is_malformed;
}

/* Returns whether it was changed. */
static bool use(struct seed_watch *watch, const struct fl_siphash_key *seed)
{
	if (seed->k0 == watch->used.k0 && seed->k1 == watch->used.k1)
		return false;
	if (tables_set_seed(watch->tables, seed)) /* no memory: tried again by the next decision */
		return false;
	watch->used = *seed;
	return true;
}

void seed_watch_apply(struct seed_watch *watch)
{
	if (watch->is_read && use(watch, &watch->known))
		fprintf(stderr, "mux event=fragment_seed from=%s\n",
			watch->used.k0 | watch->used.k1 ? watch->node.path : "zero");
}

void seed_watch_restore(struct seed_watch *watch, const struct fl_siphash_key *seed)
{
	if (use(watch, seed))
		fprintf(stderr, "mux event=fragment_seed from=disk\n");
}

struct seed_watch *seed_watch_new(struct tree *tree, const char *root, struct tables *tables)
{
	struct seed_watch *watch = tree_alloc(sizeof(*watch));

	watched_node_begin(&watch->node, tree, tree_path(root, "fragment_seed"), on_seed, watch);
	watch->tables = tables;
	return watch;
}

void seed_watch_free(struct seed_watch *watch)
{
	if (watch)
		free(watch->node.path);
	free(watch);
}
