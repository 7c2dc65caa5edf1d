/* SPDX-License-Identifier: Apache-2.0 */
#include "control/lag_withdrawal.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

enum { PATH_MAX_LEN = 512 };

struct lag_withdrawal {
	struct zk_client *zk;
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
static void finish(struct lag_withdrawal *withdrawal)
{
	json_decref(withdrawal->others);
	withdrawal->others = withdrawal->coming;
	withdrawal->coming = NULL;
	withdrawal->is_reading = false;
	withdrawal->is_fresh = !withdrawal->failed;
}

static void on_node(void *context, const struct zk_reply *reply)
{
	struct lag_withdrawal *withdrawal = context;
	json_t *node = NULL;
	const char *id;

	if (reply->rc == ZOK)
		node = json_loadb((const char *)reply->data, reply->len, JSON_REJECT_DUPLICATES, NULL);
	id = json_string_value(json_object_get(node, "id"));
	if (id && strcmp(id, withdrawal->id))
		json_array_append(withdrawal->coming, node);
	json_decref(node);
	if (reply->rc != ZOK && reply->rc != ZNONODE && reply->rc != ZNOAUTH)
		withdrawal->failed = true;
	if (!--withdrawal->asked)
		finish(withdrawal);
}

static void on_list(void *context, const struct zk_reply *reply)
{
	struct lag_withdrawal *withdrawal = context;

	if (reply->rc != ZOK) {
		withdrawal->is_reading = false;
		return;
	}
	withdrawal->coming = json_array();
	withdrawal->failed = false;
	withdrawal->asked = (unsigned)reply->child_count;
	if (!reply->child_count)
		finish(withdrawal);
	for (int i = 0; i < reply->child_count; i++) {
		char path[PATH_MAX_LEN];

		snprintf(path, sizeof(path), "%s/%s", withdrawal->path, reply->children[i]);
		zk_get(withdrawal->zk, path, false, on_node, withdrawal);
	}
}

static void look(struct lag_withdrawal *withdrawal, uint64_t now_ms)
{
	if (withdrawal->is_reading || now_ms < withdrawal->look_at)
		return;
	withdrawal->is_reading = true;
	withdrawal->look_at = now_ms + LAG_WITHDRAWAL_LOOK_MS + zk_jitter(LAG_WITHDRAWAL_LOOK_JITTER_MS);
	zk_children(withdrawal->zk, withdrawal->path, false, on_list, withdrawal);
}

/* The name of a mux that announces the service and is ahead of this generation, NULL: none. */
static const char *ahead(const struct lag_withdrawal *withdrawal, const char *service, uint32_t generation)
{
	size_t i;
	json_t *node;

	json_array_foreach(withdrawal->others, i, node)
	{
		json_t *theirs = json_object_get(json_object_get(node, "services"), service);

		if (json_integer_value(json_object_get(theirs, "generation")) > (json_int_t)generation &&
		    !json_object_get(theirs, "withdrawn"))
			return json_string_value(json_object_get(node, "id"));
	}
	return NULL;
}

static void withdraw(struct published_service *published, const char *who, uint64_t now_ms)
{
	fprintf(stderr, "mux event=withdrawn_behind service=%s generation=%u latest=%u seconds=%" PRIu64 " ahead=%s\n",
		published->name, published->lag.generation, published->lag.latest,
		lag_ms(&published->lag, now_ms) / 1000, who);
	published->withdrawn_for_lag = true;
	published_announce(published);
}

static void come_back(struct published_service *published, const char *why)
{
	fprintf(stderr, "mux event=returned service=%s generation=%u latest=%u why=%s\n", published->name,
		published->lag.generation, published->lag.latest, why);
	published->withdrawn_for_lag = false;
	published_announce(published);
}

/* Looks at one service. True: it was withdrawn or is back. */
static bool judge(struct lag_withdrawal *withdrawal, struct published_service *published, uint64_t now_ms)
{
	bool is_beyond = lag_is_beyond(&published->lag, &withdrawal->limits, now_ms);
	const char *who;

	if (published->withdrawn_for_lag && !lag_generations(&published->lag)) {
		come_back(published, "caught_up");
		return true;
	}
	if (!is_beyond && !published->withdrawn_for_lag)
		return false;
	look(withdrawal, now_ms);
	if (!withdrawal->is_fresh)
		return false;
	who = ahead(withdrawal, published->name, published->lag.generation);
	if (is_beyond && !published->withdrawn_for_lag && who)
		withdraw(published, who, now_ms);
	else if (published->withdrawn_for_lag && !who)
		come_back(published, "nobody_is_ahead");
	else
		return false;
	return true;
}

bool lag_withdrawal_run(struct lag_withdrawal *withdrawal, struct service_sync *const *syncs, unsigned count,
			uint64_t now_ms)
{
	bool changed = false;

	for (unsigned i = 0; i < count; i++)
		changed |= judge(withdrawal, service_sync_published(syncs[i]), now_ms);
	withdrawal->is_fresh = false;
	return changed;
}

struct lag_withdrawal *lag_withdrawal_new(struct zk_client *zk, const char *path, const char *id,
					  const struct lag_limits *limits)
{
	struct lag_withdrawal *withdrawal = calloc(1, sizeof(*withdrawal));

	if (!withdrawal)
		return NULL;
	withdrawal->zk = zk;
	withdrawal->limits = *limits;
	withdrawal->path = strdup(path);
	withdrawal->id = strdup(id);
	if (withdrawal->path && withdrawal->id)
		return withdrawal;
	lag_withdrawal_free(withdrawal);
	return NULL;
}

void lag_withdrawal_free(struct lag_withdrawal *withdrawal)
{
	json_decref(withdrawal->others);
	json_decref(withdrawal->coming);
	free(withdrawal->path);
	free(withdrawal->id);
	free(withdrawal);
}
