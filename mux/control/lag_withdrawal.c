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
	json_t *others; /* the other muxes' nodes at the last complete reading */
	json_t *coming; /* those of the current reading */
	unsigned asked; /* nodes without an answer yet */
	bool failed;    /* one of them could not be read */
	bool is_reading;
	bool is_fresh;    /* others has not been used for a decision */
	uint64_t look_at; /* the next reading is not before */
};

/* All nodes are answered. A partial reading decides nothing; the next one may. */
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

/* The id of a mux that announces the service and is ahead of this generation, NULL: none. */
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

static void withdraw(struct published_service *published, const char *ahead_of_us, uint64_t now_ms)
{
	fprintf(stderr, "mux event=withdrawn_behind service=%s generation=%u latest=%u seconds=%" PRIu64 " ahead=%s\n",
		published->name, published->lag.generation, published->lag.latest,
		lag_ms(&published->lag, now_ms) / 1000, ahead_of_us);
	published->withdrawn_for_lag = true;
	published_announce(published);
}

static void announce_again(struct published_service *published, const char *cause)
{
	fprintf(stderr, "mux event=returned service=%s generation=%u latest=%u why=%s\n", published->name,
		published->lag.generation, published->lag.latest, cause);
	published->withdrawn_for_lag = false;
	published_announce(published);
}

/*
 * Whether a withdrawn service may be announced again, and the cause that is logged; NULL: not yet. others: a mux that
 * is ahead, if the other muxes' nodes were just read.
 */
static const char *may_return(const struct published_service *published, bool is_fresh, const char *others)
{
	if (!lag_generations(&published->lag))
		return "caught_up";
	return is_fresh && !others ? "no_mux_is_ahead" : NULL;
}

/* Decides about one service. Returns whether it was withdrawn or announced again. */
static bool decide(struct lag_withdrawal *withdrawal, struct published_service *published, uint64_t now_ms)
{
	bool is_beyond = lag_is_beyond(&published->lag, &withdrawal->limits, now_ms);
	bool is_caught_up = !lag_generations(&published->lag);
	const char *others = NULL, *cause;

	if (!is_beyond && !published->withdrawn_for_lag)
		return false;
	if (!published->withdrawn_for_lag || !is_caught_up)
		look(withdrawal, now_ms);
	if (withdrawal->is_fresh)
		others = ahead(withdrawal, published->name, published->lag.generation);
	if (published->withdrawn_for_lag) {
		cause = may_return(published, withdrawal->is_fresh, others);
		if (cause)
			announce_again(published, cause);
		return cause;
	}
	if (others)
		withdraw(published, others, now_ms);
	return others;
}

bool lag_withdrawal_run(struct lag_withdrawal *withdrawal, struct service_sync *const *syncs, unsigned count,
			uint64_t now_ms)
{
	bool changed = false;

	for (unsigned i = 0; i < count; i++)
		changed |= decide(withdrawal, service_sync_published(syncs[i]), now_ms);
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
