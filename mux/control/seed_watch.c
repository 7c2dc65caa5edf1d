/* SPDX-License-Identifier: Apache-2.0 */
#include "control/seed_watch.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config/hex.h"

struct seed_watch {
	struct zk_client *zk;
	struct tables *tables;
	char *path;
	bool is_reading;
	bool again; /* requested while it was being read */
	uint64_t retry_at;
	bool is_read;                /* since the start; the node may be missing */
	struct fl_siphash_key known; /* as it was read; zero: none */
	struct fl_siphash_key used;  /* as the tables have it */
	bool is_malformed;           /* as last logged */
};

static void read_seed(struct seed_watch *watch);

static bool parse(const struct zk_reply *reply, struct fl_siphash_key *out)
{
	uint8_t bytes[HEX_BYTES];

	if (!hex_parse((const char *)reply->data, reply->len, HEX_LOWER, bytes))
		return false;
	*out = fl_siphash_key_load(bytes);
	return true;
}

static bool is_none(const struct fl_siphash_key *seed)
{
	return !(seed->k0 | seed->k1);
}

static void on_exists(void *context, const struct zk_reply *reply)
{
	struct seed_watch *watch = context;

	if (reply->rc != ZNONODE) /* otherwise the watch reports when it is created */
		watch->retry_at = zk_now(watch->zk) + (reply->rc == ZOK ? 0 : SEED_WATCH_RETRY_MS);
}

static void on_seed(void *context, const struct zk_reply *reply)
{
	static const struct fl_siphash_key none;
	struct seed_watch *watch = context;
	bool is_malformed;

	watch->is_reading = false;
	if (watch->again) {
		read_seed(watch);
		return;
	}
	if (reply->rc == ZNONODE) { /* controllers that don't know of it */
		watch->is_read = true;
		watch->known = none;
		zk_exists(watch->zk, watch->path, true, on_exists, watch);
		return;
	}
	if (reply->rc != ZOK) {
		watch->retry_at = zk_now(watch->zk) + SEED_WATCH_RETRY_MS;
		return;
	}
	watch->is_read = true;
	is_malformed = !parse(reply, &watch->known);
	if (is_malformed)
		watch->known = none;
	if (is_malformed && !watch->is_malformed)
		fprintf(stderr, "mux event=ignored path=%s why=\"%zu bytes; allowed: %d hex digits in lower case\"\n",
			watch->path, reply->len, HEX_DIGITS);
	watch->is_malformed = is_malformed;
}

static void read_seed(struct seed_watch *watch)
{
	watch->again = watch->is_reading;
	if (watch->is_reading)
		return;
	watch->is_reading = true;
	watch->retry_at = UINT64_MAX;
	zk_get(watch->zk, watch->path, true, on_seed, watch);
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

void seed_watch_connected(struct seed_watch *watch)
{
	read_seed(watch);
}

void seed_watch_watched(struct seed_watch *watch, const char *path)
{
	if (!strcmp(path, watch->path))
		read_seed(watch);
}

uint64_t seed_watch_deadline(const struct seed_watch *watch)
{
	return watch->retry_at;
}

void seed_watch_run(struct seed_watch *watch, uint64_t now_ms)
{
	if (now_ms >= watch->retry_at)
		read_seed(watch);
}

void seed_watch_apply(struct seed_watch *watch)
{
	if (watch->is_read && use(watch, &watch->known))
		fprintf(stderr, "mux event=fragment_seed from=%s\n", is_none(&watch->used) ? "zero" : watch->path);
}

void seed_watch_restore(struct seed_watch *watch, const struct fl_siphash_key *seed)
{
	if (use(watch, seed))
		fprintf(stderr, "mux event=fragment_seed from=disk\n");
}

struct fl_siphash_key seed_watch_used(const struct seed_watch *watch)
{
	return watch->used;
}

struct seed_watch *seed_watch_new(struct zk_client *zk, const char *root, struct tables *tables)
{
	struct seed_watch *watch = calloc(1, sizeof(*watch));

	if (!watch)
		return NULL;
	watch->zk = zk;
	watch->tables = tables;
	watch->retry_at = UINT64_MAX;
	if (asprintf(&watch->path, "%s/fragment_seed", root) >= 0)
		return watch;
	free(watch);
	return NULL;
}

void seed_watch_free(struct seed_watch *watch)
{
	if (watch)
		free(watch->path);
	free(watch);
}
