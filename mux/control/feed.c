/* SPDX-License-Identifier: Apache-2.0 */
#include "control/feed.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "control/chunks.h"
#include "control/sabotage.h"

enum { FEED_PATH_MAX = 1024 };

struct feed {
	char *name;
	const struct feed_context *context;
	unsigned requests; /* under way */
	bool ended;

	bool has_config;
	bool bad_config;              /* what was read last was refused: config is what was read before */
	struct service_config config; /* as wanted; service->config is as served */
	uint32_t latest;              /* generation as wanted, 0 before it is known */
	bool config_missing;          /* not there when it was read, */
	bool latest_missing;          /* and not yet known whether the service is */
	bool deleted;                 /* known */

	struct serving serving;
	bool fetching;      /* a snapshot or delta is being read */
	uint32_t asked;     /* its generation */
	bool from_snapshot; /* the ring that serves can't be led on: build one aside */
	bool building;      /* image holds a snapshot, or more */
	struct delta image;

	struct refusal config_refusal;
	struct refusal ring_refusal;
	uint64_t refused[REFUSAL_REASONS];
	unsigned failures; /* since a ring was complete */
	bool held;         /* until retry_at */
	uint64_t retry_at;
};

static void step(struct feed *feed);
static void read_config(struct feed *feed);
static void read_latest(struct feed *feed);

static void drop_image(struct feed *feed)
{
	if (feed->building)
		delta_free(&feed->image);
	feed->building = false;
}

static void retry_later(struct feed *feed)
{
	uint32_t wait = FEED_RETRY_MIN_MS;

	for (unsigned i = 1; i < feed->failures && wait < FEED_RETRY_MAX_MS; i++)
		wait *= 2;
	feed->retry_at = store_now(feed->context->store) + wait / 2 + store_jitter(wait / 2);
}

static void refuse(struct feed *feed, struct refusal *refusal, unsigned reason, uint32_t generation, const char *why)
{
	feed->refused[reason]++;
	feed->failures++;
	refusal_stand(refusal, feed->name, reason, generation, why);
	feed->context->changed(feed->context->owner);
}

static void make_good(struct feed *feed, struct refusal *refusal)
{
	if (refusal_end(refusal, feed->name, feed_generation(feed)))
		feed->context->changed(feed->context->owner);
}

/* The configuration stays as served; asked for again after a while, since what is in its way may go. */
static void refuse_config(struct feed *feed, unsigned reason, const char *why)
{
	refuse(feed, &feed->config_refusal, reason, 0, why);
	retry_later(feed);
}

/* False: refused, and tried again later from the snapshot. */
static bool publish(struct feed *feed)
{
	struct why why = {""};
	int error = serving_publish(&feed->serving, &feed->config, &feed->image, &why);

	if (!error) {
		feed->context->changed(feed->context->owner);
		return true;
	}
	if (!feed->serving.service)
		refuse(feed, &feed->config_refusal, error == -EEXIST ? (unsigned)REFUSAL_CONFIG : refusal_of(error), 0,
		       why.text);
	else
		refuse(feed, &feed->ring_refusal, refusal_of(error), feed->image.generation, why.text);
	feed->held = true;
	retry_later(feed);
	return false;
}

/* The ring that serves is as good as it gets for now; once more from the snapshot, then after a while. */
static void refuse_ring(struct feed *feed, unsigned reason, uint32_t generation, const char *why)
{
	refuse(feed, &feed->ring_refusal, reason, generation, why);
	if (feed->building &&
	    (!serving_has_ring_of(&feed->serving, &feed->config) || feed->image.generation > feed_generation(feed)))
		publish(feed);
	drop_image(feed);
	feed->from_snapshot = true;
	if (feed->failures > 1) {
		feed->held = true;
		retry_later(feed);
	}
}

/* A request was answered. True if nobody waits for it any more. */
static bool answered(struct feed *feed)
{
	feed->requests--;
	if (!feed->ended)
		return false;
	if (feed->requests)
		return true;
	drop_image(feed);
	free(feed->name);
	free(feed);
	return true;
}

/* A read failed for a reason that says nothing about what is stored: a lost connection or a server in trouble. */
static void try_again(struct feed *feed)
{
	if (feed->retry_at == UINT64_MAX)
		retry_later(feed);
}

static void refuse_number(struct feed *feed, const char *node, const struct store_reply *reply)
{
	char why[160];

	snprintf(why, sizeof(why), "%s is '%.*s'; allowed: 1..%u", node, reply->len < 20 ? (int)reply->len : 20,
		 (const char *)reply->data, UINT32_MAX);
	refuse(feed, &feed->ring_refusal, REFUSAL_NUMBER, 0, why);
	feed->held = true;
	retry_later(feed);
}

/* Whether config or latest_gen was read. If not, what follows from that is done. */
static bool is_there(struct feed *feed, const struct store_reply *reply, bool *missing)
{
	*missing = reply->rc == ZNONODE;
	if (*missing)
		feed->context->vanished(feed->context->owner);
	else if (reply->rc != ZOK)
		try_again(feed);
	return reply->rc == ZOK;
}

static void on_config(void *context, const struct store_reply *reply)
{
	struct feed *feed = context;
	struct service_config config;
	struct why why = {""};

	if (answered(feed) || !is_there(feed, reply, &feed->config_missing))
		return;
	if (feed->deleted)
		read_latest(feed);
	feed->deleted = false;
	feed->bad_config = service_config_parse((const char *)reply->data, reply->len, feed->name, &config, &why);
	if (feed->bad_config) {
		refuse_config(feed, REFUSAL_CONFIG, why.text);
		return;
	}
	memcpy(&feed->config, &config, sizeof(config));
	feed->has_config = true;
	step(feed);
}

static void on_latest(void *context, const struct store_reply *reply)
{
	struct feed *feed = context;
	uint32_t latest = store_reply_number(reply);

	if (answered(feed) || !is_there(feed, reply, &feed->latest_missing))
		return;
	if (!latest) {
		feed->latest = 0;
		refuse_number(feed, "latest_gen", reply);
		return;
	}
	/* A generation that goes back is another service of the same name: what it is comes first. */
	if (latest < feed->latest) {
		feed->has_config = false;
		read_config(feed);
	}
	feed->latest = latest;
	step(feed);
}

/* Whether the chunks of a snapshot or delta came. If not, what follows from that is done. */
static bool arrived(struct feed *feed, const struct store_reply *reply)
{
	switch (reply->rc) {
	case ZOK:
		return true;
	case ZNONODE:
	case ZBADARGUMENTS:
		refuse_ring(feed, REFUSAL_MISSING, feed->asked, "its chunks are not 0000, 0001, ...");
		break;
	case ZMARSHALLINGERROR:
		refuse_ring(feed, FL_DELTA_LENGTH, feed->asked, "the chunks are longer than any can be");
		break;
	default:
		drop_image(feed);
		try_again(feed);
		return false;
	}
	step(feed);
	return false;
}

/* Into the image aside, or into the ring that serves. */
static void apply(struct feed *feed, const struct store_reply *reply)
{
	struct delta_expected expected = {.generation = feed->asked};
	enum fl_delta_error refused;
	struct delta delta;
	struct why why = {"no memory"};
	int error;

	if (feed->building) {
		expected.service = feed->image.service;
		expected.buckets = feed->image.buckets;
		expected.backends = feed->image.backends;
		expected.backends_count = feed->image.backends_count;
		expected.count = delta_count;
		expected.base = &feed->image;
	} else {
		serving_expect(&feed->serving, &expected);
	}
	refused = delta_decode(reply->data, reply->len, &expected, &delta, &why);
	if (refused) {
		refuse_ring(feed, refused, feed->asked, why.text);
		return;
	}
	if (!feed->building)
		sabotage_delta(&delta, service_ring(feed->serving.service));
	error = feed->building ? delta_fold(&feed->image, &delta) : serving_apply(&feed->serving, &delta, &why);
	delta_free(&delta);
	if (error)
		refuse_ring(feed, refusal_of(error), feed->asked, why.text);
	else if (!feed->building)
		feed->context->changed(feed->context->owner);
}

static void on_delta(void *context, const struct store_reply *reply)
{
	struct feed *feed = context;

	feed->fetching = false;
	if (answered(feed))
		return;
	if (reply->rc == ZOK || reply->rc == ZNONODE) {
		uint32_t at = feed->building ? feed->image.generation : feed_generation(feed);

		/* what it was for has gone meanwhile, or it was asked ahead and is not committed */
		if (feed->asked != sabotage_next(at, feed->latest) || feed->asked > feed->latest) {
			step(feed);
			return;
		}
	}
	if (reply->rc == ZNONODE && !feed->building) {
		feed->from_snapshot = true; /* old generations are deleted: then a snapshot is newer than the ring */
		step(feed);
	} else if (arrived(feed, reply)) {
		apply(feed, reply);
		step(feed);
	}
}

static void on_snapshot(void *context, const struct store_reply *reply)
{
	struct feed *feed = context;
	struct delta_expected expected = {
	    .snapshot = true,
	    .service = feed->config.id,
	    .generation = feed->asked,
	    .buckets = feed->config.buckets,
	};
	enum fl_delta_error refused;
	struct why why = {""};

	feed->fetching = false;
	if (answered(feed))
		return;
	if (!arrived(feed, reply))
		return;
	refused = delta_decode(reply->data, reply->len, &expected, &feed->image, &why);
	if (refused)
		refuse_ring(feed, refused, feed->asked, why.text);
	else
		feed->building = true;
	step(feed);
}

static const char *path_of(const struct feed *feed, const char *tail, char path[FEED_PATH_MAX])
{
	snprintf(path, FEED_PATH_MAX, "%s/services/%s/%s", feed->context->root, feed->name, tail);
	return path;
}

static void read_config(struct feed *feed)
{
	char path[FEED_PATH_MAX];

	feed->requests++;
	store_get(feed->context->store, path_of(feed, "config", path), true, on_config, feed);
}

static void read_latest(struct feed *feed)
{
	char path[FEED_PATH_MAX];

	feed->requests++;
	store_get(feed->context->store, path_of(feed, "ring/latest_gen", path), true, on_latest, feed);
}

static void read_generation(struct feed *feed, uint32_t generation, const char *kind, store_fn fn)
{
	char tail[64], path[FEED_PATH_MAX];

	snprintf(tail, sizeof(tail), "ring/gen/%010u/%s", generation, kind);
	feed->asked = generation;
	feed->fetching = true;
	feed->requests++;
	chunks_read(feed->context->store, path_of(feed, tail, path), DELTA_BYTES_MAX, fn, feed);
}

static void on_snapshot_number(void *context, const struct store_reply *reply)
{
	struct feed *feed = context;
	uint32_t generation;

	feed->fetching = false;
	if (answered(feed))
		return;
	generation = reply->rc == ZOK ? store_reply_number(reply) : 0;
	if (generation) {
		if (generation > feed->latest)
			feed->latest = generation; /* it is committed; the watch on latest_gen is on its way */
		read_generation(feed, generation, "snapshot", on_snapshot);
		return;
	}
	if (reply->rc == ZOK) {
		refuse_number(feed, "latest_snapshot", reply);
	} else if (reply->rc == ZNONODE) {
		refuse_ring(feed, REFUSAL_MISSING, 0, "latest_snapshot is not there");
		step(feed);
	} else {
		try_again(feed);
	}
}

static void read_snapshot(struct feed *feed)
{
	char path[FEED_PATH_MAX];

	feed->fetching = true;
	feed->requests++;
	store_get(feed->context->store, path_of(feed, "ring/latest_snapshot", path), false, on_snapshot_number, feed);
}

/* VIPs, ports, window: may change under a ring that goes on. */
static void apply_config(struct feed *feed)
{
	struct why why = {""};

	if (serving_change(&feed->serving, &feed->config, &why))
		refuse_config(feed, REFUSAL_CONFIG, why.text);
	else if (!feed->bad_config)
		make_good(feed, &feed->config_refusal);
}

static void note_lag(struct feed *feed)
{
	lag_note(&feed->serving.lag, feed_generation(feed), feed->latest, store_now(feed->context->store));
}

static void caught_up(struct feed *feed)
{
	note_lag(feed);
	make_good(feed, &feed->ring_refusal);
	if (!feed->config_refusal.standing)
		feed->failures = 0;
	if (feed->serving.announce_error)
		serving_announce(&feed->serving);
	if (feed->serving.announce_error && feed->retry_at == UINT64_MAX)
		retry_later(feed);
}

/* Does what is next: at most one read of a snapshot or delta is under way. */
static void step(struct feed *feed)
{
	bool is_same = serving_has_ring_of(&feed->serving, &feed->config);

	if (!feed->has_config || !feed->latest)
		return;
	note_lag(feed);
	if (is_same)
		apply_config(feed);
	if (feed->fetching || feed->held)
		return;
	if (feed->building && (feed->image.service != feed->config.id || feed->image.buckets != feed->config.buckets))
		drop_image(feed);
	if (feed->building && feed->image.generation >= feed->latest) {
		bool done = publish(feed);

		drop_image(feed);
		if (!done)
			return;
		feed->from_snapshot = false;
		if (!feed->bad_config)
			make_good(feed, &feed->config_refusal);
	} else if (feed->building) {
		read_generation(feed, feed->image.generation + 1, "delta", on_delta);
		return;
	} else if (!is_same || feed->from_snapshot || feed_generation(feed) > feed->latest) {
		read_snapshot(feed);
		return;
	}
	if (feed_generation(feed) < feed->latest)
		read_generation(feed, sabotage_next(feed_generation(feed), feed->latest), "delta", on_delta);
	else
		caught_up(feed);
}

void feed_refresh(struct feed *feed)
{
	feed->retry_at = UINT64_MAX;
	feed->held = false;
	read_config(feed);
	read_latest(feed);
}

/*
 * The generation moves: mostly by one, so the delta is asked for along with the number, in one round trip. Answers come
 * in the order of requests: when the delta's does, it is known whether it was committed.
 */
static void read_ahead(struct feed *feed)
{
	bool is_idle = !feed->fetching && !feed->held && !feed->building && !feed->from_snapshot;

	read_latest(feed);
	if (is_idle && feed->has_config && serving_has_ring_of(&feed->serving, &feed->config) &&
	    feed_generation(feed) == feed->latest)
		read_generation(feed, feed->latest + 1, "delta", on_delta);
}

void feed_changed(struct feed *feed, const char *tail)
{
	if (!strcmp(tail, "config"))
		read_config(feed);
	else if (!strcmp(tail, "ring/latest_gen"))
		read_ahead(feed);
}

/* Back to the beginning, but for what was counted. */
static void end_service(struct feed *feed)
{
	fprintf(stderr, "mux event=deleted service=%s\n", feed->name);
	serving_remove(&feed->serving);
	drop_image(feed);
	feed->deleted = true;
	feed->has_config = false;
	feed->bad_config = false;
	feed->latest = 0;
	feed->from_snapshot = false;
	feed->config_refusal = (struct refusal){0};
	feed->ring_refusal = (struct refusal){0};
	feed->failures = 0;
	feed->held = false;
	feed->retry_at = UINT64_MAX;
	feed->context->changed(feed->context->owner);
}

/* If there is none, the watch tells when there is. */
static void on_config_exists(void *context, const struct store_reply *reply)
{
	struct feed *feed = context;

	if (answered(feed))
		return;
	if (reply->rc == ZOK) {
		read_config(feed);
		if (!feed->deleted)
			read_latest(feed);
	} else if (reply->rc != ZNONODE) {
		try_again(feed);
	} else if (!feed->deleted) {
		end_service(feed);
	}
}

/* It was missing when it was read; that may have been before the list was there again. */
static void look_for_config(struct feed *feed)
{
	char path[FEED_PATH_MAX];

	feed->requests++;
	store_exists(feed->context->store, path_of(feed, "config", path), true, on_config_exists, feed);
}

void feed_confirm(struct feed *feed)
{
	if (feed->config_missing)
		look_for_config(feed);
	else if (feed->latest_missing && !feed->deleted) {
		refuse(feed, &feed->ring_refusal, REFUSAL_MISSING, 0, "latest_gen is not there");
		retry_later(feed);
	}
	feed->config_missing = false;
	feed->latest_missing = false;
}

struct serving *feed_serving(struct feed *feed)
{
	return &feed->serving;
}

struct feed *feed_new(const struct feed_context *context, const char *name)
{
	struct feed *feed = calloc(1, sizeof(*feed));

	if (feed)
		feed->name = strdup(name);
	if (!feed || !feed->name) {
		free(feed);
		return NULL;
	}
	feed->context = context;
	feed->serving.place = &context->place;
	feed->serving.name = feed->name;
	feed->retry_at = UINT64_MAX;
	return feed;
}

void feed_end(struct feed *feed)
{
	serving_remove(&feed->serving);
	feed->ended = true;
	feed->requests++;
	answered(feed);
}

uint64_t feed_deadline(const struct feed *feed)
{
	return feed->retry_at;
}

bool feed_is_deleted(const struct feed *feed)
{
	return feed->deleted;
}

const char *feed_name(const struct feed *feed)
{
	return feed->name;
}

enum feed_state feed_state(const struct feed *feed)
{
	if (!serving_ring(&feed->serving))
		return FEED_LOADING;
	return feed->ring_refusal.standing || feed->config_refusal.standing ? FEED_STALE : FEED_SERVING;
}

uint32_t feed_generation(const struct feed *feed)
{
	const struct ring *ring = serving_ring(&feed->serving);

	return ring ? ring_generation(ring) : 0;
}

const struct serving *feed_served(const struct feed *feed)
{
	return &feed->serving;
}

uint64_t feed_refused(const struct feed *feed, unsigned reason)
{
	return feed->refused[reason];
}
