/* SPDX-License-Identifier: Apache-2.0 */
#include "control/behind.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

enum { PATH_MAX_LEN = 512 };

struct behind {
	struct store *store;
	char *path;
	char *id;
	struct lag_limits limits;
	json_t *others; /* what other muxes' nodes say, of the last reading */
	json_t *coming; /* of the one under way */
	unsigned asked; /* nodes whose answer is not there yet */
	bool failed;    /* one of them was not read: what that mux has is not known */
	bool is_reading;
	bool is_fresh;    /* others has not been judged by */
	uint64_t look_at; /* not before */
};

/* Everything is answered. By a part of the muxes nothing is judged: the next look is another one. */
static void finish(struct behind *behind)
{
	json_decref(behind->others);
	behind->others = behind->coming;
	behind->coming = NULL;
	behind->is_reading = false;
	behind->is_fresh = !behind->failed;
}

static void on_node(void *context, const struct store_reply *reply)
{
	struct behind *behind = context;
	json_t *node = NULL;
	const char *id;

	if (reply->rc == ZOK)
		node = json_loadb((const char *)reply->data, reply->len, JSON_REJECT_DUPLICATES, NULL);
	id = json_string_value(json_object_get(node, "id"));
	if (id && strcmp(id, behind->id))
		json_array_append(behind->coming, node);
	json_decref(node);
	if (reply->rc != ZOK && reply->rc != ZNONODE && reply->rc != ZNOAUTH)
		behind->failed = true;
	if (!--behind->asked)
		finish(behind);
}

static void on_list(void *context, const struct store_reply *reply)
{
	struct behind *behind = context;

	if (reply->rc != ZOK) {
		behind->is_reading = false;
		return;
	}
	behind->coming = json_array();
	behind->failed = false;
	behind->asked = (unsigned)reply->child_count;
	if (!reply->child_count)
		finish(behind);
	for (int i = 0; i < reply->child_count; i++) {
		char path[PATH_MAX_LEN];

		snprintf(path, sizeof(path), "%s/%s", behind->path, reply->children[i]);
		store_get(behind->store, path, false, on_node, behind);
	}
}

static void look(struct behind *behind, uint64_t now_ms)
{
	if (behind->is_reading || now_ms < behind->look_at)
		return;
	behind->is_reading = true;
	behind->look_at = now_ms + BEHIND_LOOK_MS + store_jitter(BEHIND_LOOK_JITTER_MS);
	store_children(behind->store, behind->path, false, on_list, behind);
}

/* The name of a mux that announces the service and is ahead of this generation, NULL: none. */
static const char *ahead(const struct behind *behind, const char *service, uint32_t generation)
{
	size_t i;
	json_t *node;

	json_array_foreach(behind->others, i, node)
	{
		json_t *theirs = json_object_get(json_object_get(node, "services"), service);

		if (json_integer_value(json_object_get(theirs, "generation")) > (json_int_t)generation &&
		    !json_object_get(theirs, "withdrawn"))
			return json_string_value(json_object_get(node, "id"));
	}
	return NULL;
}

static void withdraw(struct serving *serving, const char *who, uint64_t now_ms)
{
	fprintf(stderr, "mux event=withdrawn_behind service=%s generation=%u latest=%u seconds=%" PRIu64 " ahead=%s\n",
		serving->name, serving->lag.generation, serving->lag.latest, lag_ms(&serving->lag, now_ms) / 1000, who);
	serving->is_behind = true;
	serving_announce(serving);
}

static void come_back(struct serving *serving, const char *why)
{
	fprintf(stderr, "mux event=returned service=%s generation=%u latest=%u why=%s\n", serving->name,
		serving->lag.generation, serving->lag.latest, why);
	serving->is_behind = false;
	serving_announce(serving);
}

/* Looks at one service. True: it was withdrawn or is back. */
static bool judge(struct behind *behind, struct serving *serving, uint64_t now_ms)
{
	bool is_beyond = lag_is_beyond(&serving->lag, &behind->limits, now_ms);
	const char *who;

	if (serving->is_behind && !lag_generations(&serving->lag)) {
		come_back(serving, "caught_up");
		return true;
	}
	if (!is_beyond && !serving->is_behind)
		return false;
	look(behind, now_ms);
	if (!behind->is_fresh)
		return false;
	who = ahead(behind, serving->name, serving->lag.generation);
	if (is_beyond && !serving->is_behind && who)
		withdraw(serving, who, now_ms);
	else if (serving->is_behind && !who)
		come_back(serving, "nobody_is_ahead");
	else
		return false;
	return true;
}

bool behind_run(struct behind *behind, struct feed *const *feeds, unsigned count, uint64_t now_ms)
{
	bool changed = false;

	for (unsigned i = 0; i < count; i++)
		changed |= judge(behind, feed_serving(feeds[i]), now_ms);
	behind->is_fresh = false;
	return changed;
}

struct behind *behind_new(struct store *store, const char *path, const char *id, const struct lag_limits *limits)
{
	struct behind *behind = calloc(1, sizeof(*behind));

	if (!behind)
		return NULL;
	behind->store = store;
	behind->limits = *limits;
	behind->path = strdup(path);
	behind->id = strdup(id);
	if (behind->path && behind->id)
		return behind;
	behind_free(behind);
	return NULL;
}

void behind_free(struct behind *behind)
{
	json_decref(behind->others);
	json_decref(behind->coming);
	free(behind->path);
	free(behind->id);
	free(behind);
}
