/* SPDX-License-Identifier: Apache-2.0 */
#include "control/service_sync.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "control/chunks.h"
#include "control/sabotage.h"
#include "ring/fold.h"

enum { SERVICE_PATH_MAX = 1024 };

struct service_sync {
	char *name;
	const struct service_sync_context *context;
	unsigned requests; /* under way */
	bool ended;

	bool has_config;
	bool bad_config;              /* what was read last was refused: config is what was read before */
	struct service_config config; /* as wanted; service->config is as served */
	uint32_t latest;              /* generation as wanted, 0 before it is known */
	bool config_missing;          /* not there when it was read, */
	bool latest_missing;          /* and not yet known whether the service is */
	bool deleted;                 /* known */

	struct published_service published;
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

static void step(struct service_sync *sync);
static void read_config(struct service_sync *sync);
static void read_latest(struct service_sync *sync);

/* The data as a decimal scalar, 1 .. 2^32 - 1; 0 for anything else. */
static uint32_t parse_number(const struct zk_reply *reply)
{
	uint64_t value = 0;

	if (reply->len > 10)
		return 0;
	for (size_t i = 0; i < reply->len; i++) {
		if (reply->data[i] < '0' || reply->data[i] > '9')
			return 0;
		value = value * 10 + (uint64_t)(reply->data[i] - '0');
	}
	return value <= UINT32_MAX ? (uint32_t)value : 0;
}

static void drop_image(struct service_sync *sync)
{
	if (sync->building)
		delta_free(&sync->image);
	sync->building = false;
}

static void retry_later(struct service_sync *sync)
{
	uint32_t wait = SERVICE_SYNC_RETRY_MIN_MS;

	for (unsigned i = 1; i < sync->failures && wait < SERVICE_SYNC_RETRY_MAX_MS; i++)
		wait *= 2;
	sync->retry_at = zk_now(sync->context->zk) + wait / 2 + zk_jitter(wait / 2);
}

static void refuse(struct service_sync *sync, struct refusal *refusal, unsigned reason, uint32_t generation,
		   const char *why)
{
	sync->refused[reason]++;
	sync->failures++;
	refusal_stand(refusal, sync->name, reason, generation, why);
	sync->context->changed(sync->context->owner);
}

static void make_good(struct service_sync *sync, struct refusal *refusal)
{
	if (refusal_end(refusal, sync->name, service_sync_generation(sync)))
		sync->context->changed(sync->context->owner);
}

/* The configuration stays as served; asked for again after a while, since what is in its way may go. */
static void refuse_config(struct service_sync *sync, unsigned reason, const char *why)
{
	refuse(sync, &sync->config_refusal, reason, 0, why);
	retry_later(sync);
}

/* False: refused, and tried again later from the snapshot. */
static bool publish(struct service_sync *sync)
{
	struct why why = {""};
	int error = published_load(&sync->published, &sync->config, &sync->image, &why);

	if (!error) {
		sync->context->changed(sync->context->owner);
		return true;
	}
	if (!sync->published.service)
		refuse(sync, &sync->config_refusal, error == -EEXIST ? (unsigned)REFUSAL_CONFIG : refusal_of(error), 0,
		       why.text);
	else
		refuse(sync, &sync->ring_refusal, refusal_of(error), sync->image.generation, why.text);
	sync->held = true;
	retry_later(sync);
	return false;
}

/* The ring that serves is as good as it gets for now; once more from the snapshot, then after a while. */
static void refuse_ring(struct service_sync *sync, unsigned reason, uint32_t generation, const char *why)
{
	refuse(sync, &sync->ring_refusal, reason, generation, why);
	if (sync->building && (!published_has_ring_of(&sync->published, &sync->config) ||
			       sync->image.generation > service_sync_generation(sync)))
		publish(sync);
	drop_image(sync);
	sync->from_snapshot = true;
	if (sync->failures > 1) {
		sync->held = true;
		retry_later(sync);
	}
}

/* A request was answered. True if nobody waits for it any more. */
static bool answered(struct service_sync *sync)
{
	sync->requests--;
	if (!sync->ended)
		return false;
	if (sync->requests)
		return true;
	drop_image(sync);
	free(sync->name);
	free(sync);
	return true;
}

/* A read failed for a reason that says nothing about what is stored: a lost connection or a server in trouble. */
static void try_again(struct service_sync *sync)
{
	if (sync->retry_at == UINT64_MAX)
		retry_later(sync);
}

static void refuse_number(struct service_sync *sync, const char *node, const struct zk_reply *reply)
{
	char why[160];

	snprintf(why, sizeof(why), "%s is '%.*s'; allowed: 1..%u", node, reply->len < 20 ? (int)reply->len : 20,
		 (const char *)reply->data, UINT32_MAX);
	refuse(sync, &sync->ring_refusal, REFUSAL_NUMBER, 0, why);
	sync->held = true;
	retry_later(sync);
}

/* Whether config or latest_gen was read. If not, what follows from that is done. */
static bool is_there(struct service_sync *sync, const struct zk_reply *reply, bool *missing)
{
	*missing = reply->rc == ZNONODE;
	if (*missing)
		sync->context->vanished(sync->context->owner);
	else if (reply->rc != ZOK)
		try_again(sync);
	return reply->rc == ZOK;
}

static void on_config(void *context, const struct zk_reply *reply)
{
	struct service_sync *sync = context;
	struct service_config config;
	struct why why = {""};

	if (answered(sync) || !is_there(sync, reply, &sync->config_missing))
		return;
	if (sync->deleted)
		read_latest(sync);
	sync->deleted = false;
	sync->bad_config = service_config_parse((const char *)reply->data, reply->len, sync->name, &config, &why);
	if (sync->bad_config) {
		refuse_config(sync, REFUSAL_CONFIG, why.text);
		return;
	}
	memcpy(&sync->config, &config, sizeof(config));
	sync->has_config = true;
	step(sync);
}

static void on_latest(void *context, const struct zk_reply *reply)
{
	struct service_sync *sync = context;
	uint32_t latest = parse_number(reply);

	if (answered(sync) || !is_there(sync, reply, &sync->latest_missing))
		return;
	if (!latest) {
		sync->latest = 0;
		refuse_number(sync, "latest_gen", reply);
		return;
	}
	/* A generation that goes back is another service of the same name: what it is comes first. */
	if (latest < sync->latest) {
		sync->has_config = false;
		read_config(sync);
	}
	sync->latest = latest;
	step(sync);
}

/* Whether the chunks of a snapshot or delta came. If not, what follows from that is done. */
static bool arrived(struct service_sync *sync, const struct zk_reply *reply)
{
	switch (reply->rc) {
	case ZOK:
		return true;
	case ZNONODE:
	case ZBADARGUMENTS:
		refuse_ring(sync, REFUSAL_MISSING, sync->asked, "its chunks are not 0000, 0001, ...");
		break;
	case ZMARSHALLINGERROR:
		refuse_ring(sync, FL_DELTA_LENGTH, sync->asked, "the chunks are longer than any can be");
		break;
	default:
		drop_image(sync);
		try_again(sync);
		return false;
	}
	step(sync);
	return false;
}

/* Into the image aside, or into the ring that serves. */
static void apply(struct service_sync *sync, const struct zk_reply *reply)
{
	struct delta_expected expected = {.generation = sync->asked};
	enum fl_delta_error refused;
	struct delta delta;
	struct why why = {"no memory"};
	int error;

	if (sync->building) {
		expected.service = sync->image.service;
		expected.buckets = sync->image.buckets;
		expected.backends = sync->image.backends;
		expected.backends_count = sync->image.backends_count;
		expected.count = delta_count;
		expected.base = &sync->image;
	} else {
		published_expect(&sync->published, &expected);
	}
	refused = delta_decode(reply->data, reply->len, &expected, &delta, &why);
	if (refused) {
		refuse_ring(sync, refused, sync->asked, why.text);
		return;
	}
	if (!sync->building)
		sabotage_delta(&delta, service_ring(sync->published.service));
	error = sync->building ? delta_fold(&sync->image, &delta) : published_apply(&sync->published, &delta, &why);
	delta_free(&delta);
	if (error)
		refuse_ring(sync, refusal_of(error), sync->asked, why.text);
	else if (!sync->building)
		sync->context->changed(sync->context->owner);
}

static void on_delta(void *context, const struct zk_reply *reply)
{
	struct service_sync *sync = context;

	sync->fetching = false;
	if (answered(sync))
		return;
	if (reply->rc == ZOK || reply->rc == ZNONODE) {
		uint32_t at = sync->building ? sync->image.generation : service_sync_generation(sync);

		/* what it was for has gone meanwhile, or it was asked ahead and is not committed */
		if (sync->asked != sabotage_next(at, sync->latest) || sync->asked > sync->latest) {
			step(sync);
			return;
		}
	}
	if (reply->rc == ZNONODE && !sync->building) {
		sync->from_snapshot = true; /* old generations are deleted: then a snapshot is newer than the ring */
		step(sync);
	} else if (arrived(sync, reply)) {
		apply(sync, reply);
		step(sync);
	}
}

static void on_snapshot(void *context, const struct zk_reply *reply)
{
	struct service_sync *sync = context;
	struct delta_expected expected = {
	    .snapshot = true,
	    .service = sync->config.id,
	    .generation = sync->asked,
	    .buckets = sync->config.buckets,
	};
	enum fl_delta_error refused;
	struct why why = {""};

	sync->fetching = false;
	if (answered(sync))
		return;
	if (!arrived(sync, reply))
		return;
	refused = delta_decode(reply->data, reply->len, &expected, &sync->image, &why);
	if (refused)
		refuse_ring(sync, refused, sync->asked, why.text);
	else
		sync->building = true;
	step(sync);
}

static const char *path_of(const struct service_sync *sync, const char *tail, char path[SERVICE_PATH_MAX])
{
	snprintf(path, SERVICE_PATH_MAX, "%s/services/%s/%s", sync->context->root, sync->name, tail);
	return path;
}

static void read_config(struct service_sync *sync)
{
	char path[SERVICE_PATH_MAX];

	sync->requests++;
	zk_get(sync->context->zk, path_of(sync, "config", path), true, on_config, sync);
}

static void read_latest(struct service_sync *sync)
{
	char path[SERVICE_PATH_MAX];

	sync->requests++;
	zk_get(sync->context->zk, path_of(sync, "ring/latest_gen", path), true, on_latest, sync);
}

static void read_generation(struct service_sync *sync, uint32_t generation, const char *kind, zk_fn fn)
{
	char tail[64], path[SERVICE_PATH_MAX];

	snprintf(tail, sizeof(tail), "ring/gen/%010u/%s", generation, kind);
	sync->asked = generation;
	sync->fetching = true;
	sync->requests++;
	chunks_read(sync->context->zk, path_of(sync, tail, path), DELTA_BYTES_MAX, fn, sync);
}

static void on_snapshot_number(void *context, const struct zk_reply *reply)
{
	struct service_sync *sync = context;
	uint32_t generation;

	sync->fetching = false;
	if (answered(sync))
		return;
	generation = reply->rc == ZOK ? parse_number(reply) : 0;
	if (generation) {
		if (generation > sync->latest)
			sync->latest = generation; /* it is committed; the watch on latest_gen is on its way */
		read_generation(sync, generation, "snapshot", on_snapshot);
		return;
	}
	if (reply->rc == ZOK) {
		refuse_number(sync, "latest_snapshot", reply);
	} else if (reply->rc == ZNONODE) {
		refuse_ring(sync, REFUSAL_MISSING, 0, "latest_snapshot is not there");
		step(sync);
	} else {
		try_again(sync);
	}
}

static void read_snapshot(struct service_sync *sync)
{
	char path[SERVICE_PATH_MAX];

	sync->fetching = true;
	sync->requests++;
	zk_get(sync->context->zk, path_of(sync, "ring/latest_snapshot", path), false, on_snapshot_number, sync);
}

/* VIPs, ports, window: may change under a ring that goes on. */
static void apply_config(struct service_sync *sync)
{
	struct why why = {""};

	if (published_change_config(&sync->published, &sync->config, &why))
		refuse_config(sync, REFUSAL_CONFIG, why.text);
	else if (!sync->bad_config)
		make_good(sync, &sync->config_refusal);
}

static void note_lag(struct service_sync *sync)
{
	lag_note(&sync->published.lag, service_sync_generation(sync), sync->latest, zk_now(sync->context->zk));
}

static void caught_up(struct service_sync *sync)
{
	note_lag(sync);
	make_good(sync, &sync->ring_refusal);
	if (!sync->config_refusal.standing)
		sync->failures = 0;
	if (sync->published.announce_error)
		published_announce(&sync->published);
	if (sync->published.announce_error && sync->retry_at == UINT64_MAX)
		retry_later(sync);
}

/* Does what is next: at most one read of a snapshot or delta is under way. */
static void step(struct service_sync *sync)
{
	bool is_same = published_has_ring_of(&sync->published, &sync->config);

	if (!sync->has_config || !sync->latest)
		return;
	note_lag(sync);
	if (is_same)
		apply_config(sync);
	if (sync->fetching || sync->held)
		return;
	if (sync->building && (sync->image.service != sync->config.id || sync->image.buckets != sync->config.buckets))
		drop_image(sync);
	if (sync->building && sync->image.generation >= sync->latest) {
		bool done = publish(sync);

		drop_image(sync);
		if (!done)
			return;
		sync->from_snapshot = false;
		if (!sync->bad_config)
			make_good(sync, &sync->config_refusal);
	} else if (sync->building) {
		read_generation(sync, sync->image.generation + 1, "delta", on_delta);
		return;
	} else if (!is_same || sync->from_snapshot || service_sync_generation(sync) > sync->latest) {
		read_snapshot(sync);
		return;
	}
	if (service_sync_generation(sync) < sync->latest)
		read_generation(sync, sabotage_next(service_sync_generation(sync), sync->latest), "delta", on_delta);
	else
		caught_up(sync);
}

void service_sync_refresh(struct service_sync *sync)
{
	sync->retry_at = UINT64_MAX;
	sync->held = false;
	read_config(sync);
	read_latest(sync);
}

/*
 * The generation moves: mostly by one, so the delta is asked for along with the number, in one round trip. Answers come
 * in the order of requests: when the delta's does, it is known whether it was committed.
 */
static void read_ahead(struct service_sync *sync)
{
	bool is_idle = !sync->fetching && !sync->held && !sync->building && !sync->from_snapshot;

	read_latest(sync);
	if (is_idle && sync->has_config && published_has_ring_of(&sync->published, &sync->config) &&
	    service_sync_generation(sync) == sync->latest)
		read_generation(sync, sync->latest + 1, "delta", on_delta);
}

void service_sync_changed(struct service_sync *sync, const char *tail)
{
	if (!strcmp(tail, "config"))
		read_config(sync);
	else if (!strcmp(tail, "ring/latest_gen"))
		read_ahead(sync);
}

/* Back to the beginning, but for what was counted. */
static void end_service(struct service_sync *sync)
{
	fprintf(stderr, "mux event=deleted service=%s\n", sync->name);
	published_remove(&sync->published);
	drop_image(sync);
	sync->deleted = true;
	sync->has_config = false;
	sync->bad_config = false;
	sync->latest = 0;
	sync->from_snapshot = false;
	sync->config_refusal = (struct refusal){0};
	sync->ring_refusal = (struct refusal){0};
	sync->failures = 0;
	sync->held = false;
	sync->retry_at = UINT64_MAX;
	sync->context->changed(sync->context->owner);
}

/* If there is none, the watch tells when there is. */
static void on_config_exists(void *context, const struct zk_reply *reply)
{
	struct service_sync *sync = context;

	if (answered(sync))
		return;
	if (reply->rc == ZOK) {
		read_config(sync);
		if (!sync->deleted)
			read_latest(sync);
	} else if (reply->rc != ZNONODE) {
		try_again(sync);
	} else if (!sync->deleted) {
		end_service(sync);
	}
}

/* It was missing when it was read; that may have been before the list was there again. */
static void look_for_config(struct service_sync *sync)
{
	char path[SERVICE_PATH_MAX];

	sync->requests++;
	zk_exists(sync->context->zk, path_of(sync, "config", path), true, on_config_exists, sync);
}

void service_sync_confirm(struct service_sync *sync)
{
	if (sync->config_missing)
		look_for_config(sync);
	else if (sync->latest_missing && !sync->deleted) {
		refuse(sync, &sync->ring_refusal, REFUSAL_MISSING, 0, "latest_gen is not there");
		retry_later(sync);
	}
	sync->config_missing = false;
	sync->latest_missing = false;
}

struct published_service *service_sync_published(struct service_sync *sync)
{
	return &sync->published;
}

struct service_sync *service_sync_new(const struct service_sync_context *context, const char *name)
{
	struct service_sync *sync = calloc(1, sizeof(*sync));

	if (sync)
		sync->name = strdup(name);
	if (!sync || !sync->name) {
		free(sync);
		return NULL;
	}
	sync->context = context;
	sync->published.place = &context->place;
	sync->published.name = sync->name;
	sync->retry_at = UINT64_MAX;
	return sync;
}

void service_sync_end(struct service_sync *sync)
{
	published_remove(&sync->published);
	sync->ended = true;
	sync->requests++;
	answered(sync);
}

uint64_t service_sync_deadline(const struct service_sync *sync)
{
	return sync->retry_at;
}

bool service_sync_is_deleted(const struct service_sync *sync)
{
	return sync->deleted;
}

const char *service_sync_name(const struct service_sync *sync)
{
	return sync->name;
}

enum service_state service_sync_state(const struct service_sync *sync)
{
	if (!published_ring(&sync->published))
		return SERVICE_LOADING;
	return sync->ring_refusal.standing || sync->config_refusal.standing ? SERVICE_STALE : SERVICE_SERVING;
}

uint32_t service_sync_generation(const struct service_sync *sync)
{
	const struct ring *ring = published_ring(&sync->published);

	return ring ? ring_generation(ring) : 0;
}

const struct published_service *service_sync_view_published(const struct service_sync *sync)
{
	return &sync->published;
}

uint64_t service_sync_refused(const struct service_sync *sync, unsigned reason)
{
	return sync->refused[reason];
}
