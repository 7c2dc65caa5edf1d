/* SPDX-License-Identifier: Apache-2.0 */
#include "control/service_sync.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "control/backoff.h"
#include "control/config_node.h"
#include "control/sabotage.h"
#include "control/service_reads.h"
#include "control/staged_ring.h"
#include "control/sync_state.h"
#include "steering/steering.h"

/* The state of the configuration. */
enum config_state {
	CONFIG_UNKNOWN,
	CONFIG_REJECTED, /* and there was none before it */
	CONFIG_ACCEPTED,
	CONFIG_OUTDATED, /* the one before the rejected one applies */
	CONFIG_DELETED,  /* and the service with it */
};

/* How the published ring gets to the latest generation. */
enum sync_route {
	ROUTE_DELTAS,
	ROUTE_SNAPSHOT, /* a delta could not be applied: a new ring replaces it */
};

/* Nodes that were missing when they were read, while it is not known whether the service is still listed. */
enum sync_unconfirmed {
	UNCONFIRMED_CONFIG = 1,
	UNCONFIRMED_LATEST = 2,
};

struct service_sync {
	char *name;
	const struct service_sync_context *context;
	struct service_reads *reads;

	enum config_state config_state;
	struct service_config config; /* the last one accepted; service->config is the published one */
	uint32_t latest;              /* committed generation, 0: unknown */
	unsigned unconfirmed;         /* enum sync_unconfirmed */

	enum sync_state state;
	enum sync_route route;
	struct published_service published;
	struct staged_ring staged; /* the published ring's replacement, not complete yet */

	struct refusal config_refusal;
	struct refusal ring_refusal;
	uint64_t refused[REFUSAL_REASONS];
	struct backoff backoff;
};

static uint64_t now(const struct service_sync *sync)
{
	return zk_now(sync->context->zk);
}

static void report_change(struct service_sync *sync)
{
	sync->context->changed(sync->context->owner);
}

static bool has_config(const struct service_sync *sync)
{
	return sync->config_state == CONFIG_ACCEPTED || sync->config_state == CONFIG_OUTDATED;
}

static bool is_staging(const struct service_sync *sync)
{
	return staged_ring_generation(&sync->staged);
}

/* --- refusals ------------------------------------------------------------------------------------------------ */

static void refuse(struct service_sync *sync, struct refusal *refusal, unsigned reason, uint32_t generation,
		   const char *why)
{
	sync->refused[reason]++;
	sync->backoff.failures++;
	refusal_open(refusal, sync->name, reason, generation, why);
	report_change(sync);
}

static void clear_refusal(struct service_sync *sync, struct refusal *refusal)
{
	if (refusal_close(refusal, sync->name, service_sync_generation(sync)))
		report_change(sync);
}

static void hold(struct service_sync *sync)
{
	backoff_hold(&sync->backoff, now(sync));
}

/* The published configuration stays. The retry is for conflicts with another service, which may end. */
static void refuse_config(struct service_sync *sync, unsigned reason, const char *why)
{
	refuse(sync, &sync->config_refusal, reason, 0, why);
	backoff_schedule(&sync->backoff, now(sync));
}

static void refuse_number(struct service_sync *sync, const char *node, const struct zk_reply *reply)
{
	char why[160];

	snprintf(why, sizeof(why), "%s is '%.*s'; allowed: 1..%u", node, reply->len < 20 ? (int)reply->len : 20,
		 (const char *)reply->data, UINT32_MAX);
	refuse(sync, &sync->ring_refusal, REFUSAL_NUMBER, 0, why);
	hold(sync);
}

/* Publishes the staged ring. Returns false if it was refused: then everything is held. */
static bool publish(struct service_sync *sync)
{
	struct reason why = {""};
	int error =
	    published_load(&sync->published, &sync->config, &sync->staged.image, staged_ring_blob(&sync->staged), &why);

	if (!error) {
		report_change(sync);
		return true;
	}
	if (!sync->published.service)
		refuse(sync, &sync->config_refusal, error == -EEXIST ? (unsigned)REFUSAL_CONFIG : refusal_of(error), 0,
		       why.text);
	else
		refuse(sync, &sync->ring_refusal, refusal_of(error), staged_ring_generation(&sync->staged), why.text);
	hold(sync);
	return false;
}

/*
 * A generation can't be used. A staged ring is published, complete or not, if it is newer than the published one. The
 * first refusal in a row tries the snapshot at once, further ones after a backoff.
 */
static void refuse_generation(struct service_sync *sync, unsigned reason, uint32_t generation, const char *why)
{
	refuse(sync, &sync->ring_refusal, reason, generation, why);
	if (is_staging(sync) && (!published_has_ring_of(&sync->published, &sync->config) ||
				 staged_ring_generation(&sync->staged) > service_sync_generation(sync)))
		publish(sync);
	staged_ring_drop(&sync->staged);
	sync->route = ROUTE_SNAPSHOT;
	if (sync->backoff.failures > 1)
		hold(sync);
}

/* --- transitions --------------------------------------------------------------------------------------------- */

/* The generation that the next delta leads to. */
static uint32_t next_generation(const struct service_sync *sync)
{
	return sabotage_next(is_staging(sync) ? staged_ring_generation(&sync->staged) : service_sync_generation(sync),
			     sync->latest);
}

static enum sync_state next_state(const struct service_sync *sync)
{
	const struct sync_facts facts = {
	    .has_config = has_config(sync),
	    .holds = sync->backoff.holds,
	    .leads_on = sync->route == ROUTE_DELTAS && published_has_ring_of(&sync->published, &sync->config),
	    .latest = sync->latest,
	    .published = service_sync_generation(sync),
	    .staged = staged_ring_generation(&sync->staged),
	};

	return sync_state_next(sync->state, &facts);
}

static void note_lag(struct service_sync *sync)
{
	lag_note(&sync->published.lag, service_sync_generation(sync), sync->latest, now(sync));
}

static void become_current(struct service_sync *sync)
{
	sync->state = SYNC_CURRENT;
	note_lag(sync);
	clear_refusal(sync, &sync->ring_refusal);
	if (!sync->config_refusal.is_open)
		sync->backoff.failures = 0;
	if (sync->published.announce_error)
		published_announce(&sync->published);
	if (sync->published.announce_error)
		backoff_schedule_once(&sync->backoff, now(sync));
}

static void publish_staged(struct service_sync *sync)
{
	bool is_published = publish(sync);

	staged_ring_drop(&sync->staged);
	if (!is_published) {
		sync->state = SYNC_HELD;
		return;
	}
	sync->route = ROUTE_DELTAS;
	if (sync->config_state == CONFIG_ACCEPTED)
		clear_refusal(sync, &sync->config_refusal);
	become_current(sync);
}

/* The node of the steering method's blob, NULL: it has none. */
static const char *blob_node(const struct service_sync *sync, enum service_read what)
{
	bool is_published = what == READ_DELTA && !is_staging(sync) && sync->published.service;

	return (is_published ? &sync->published.service->config : &sync->config)->steering->blob;
}

static void read_generation(struct service_sync *sync, enum service_read what, uint32_t generation)
{
	sync->state = what == READ_SNAPSHOT ? SYNC_READING_SNAPSHOT : SYNC_READING_DELTA;
	service_reads_generation(sync->reads, what, generation, blob_node(sync, what));
}

static void enter(struct service_sync *sync, enum sync_state state)
{
	sync->state = state;
	switch (state) {
	case SYNC_FINDING_SNAPSHOT:
		service_reads_node(sync->reads, READ_SNAPSHOT_NUMBER);
		break;
	case SYNC_READING_DELTA:
		read_generation(sync, READ_DELTA, next_generation(sync));
		break;
	case SYNC_PUBLISHING:
		publish_staged(sync);
		break;
	case SYNC_CURRENT:
		become_current(sync);
		break;
	default:
		break;
	}
}

/* Changes VIPs, ports and window under the published ring. */
static void apply_config(struct service_sync *sync)
{
	struct reason why = {""};

	if (published_change_config(&sync->published, &sync->config, &why))
		refuse_config(sync, REFUSAL_CONFIG, why.text);
	else if (sync->config_state == CONFIG_ACCEPTED)
		clear_refusal(sync, &sync->config_refusal);
}

/* After each event that may let the ring go on: at most one snapshot or delta is being read. */
static void advance(struct service_sync *sync)
{
	if (!has_config(sync) || !sync->latest)
		return;
	note_lag(sync);
	if (published_has_ring_of(&sync->published, &sync->config))
		apply_config(sync);
	if (sync_state_is_reading(sync->state))
		return;
	if (!sync->backoff.holds && !staged_ring_is_of(&sync->staged, &sync->config))
		staged_ring_drop(&sync->staged);
	enter(sync, next_state(sync));
}

/* --- answers: configuration and numbers ---------------------------------------------------------------------- */

/* A read failed for a reason unrelated to the stored data: a lost connection or a server in trouble. */
static void retry_read(struct service_sync *sync)
{
	backoff_schedule_once(&sync->backoff, now(sync));
}

/* Returns whether the node was read. If not, handles the failure. */
static bool is_there(struct service_sync *sync, const struct zk_reply *reply, unsigned unconfirmed)
{
	sync->unconfirmed &= ~unconfirmed;
	if (reply->rc == ZNONODE) {
		sync->unconfirmed |= unconfirmed;
		sync->context->vanished(sync->context->owner);
	} else if (reply->rc != ZOK) {
		retry_read(sync);
	}
	return reply->rc == ZOK;
}

static void on_config(struct service_sync *sync, const struct service_answer *answer)
{
	const struct zk_reply *reply = answer->reply;
	struct service_config config;
	struct reason why = {""};

	if (!is_there(sync, reply, UNCONFIRMED_CONFIG))
		return;
	if (sync->config_state == CONFIG_DELETED)
		service_reads_node(sync->reads, READ_LATEST);
	if (config_node_parse((const char *)reply->data, reply->len, sync->name, &config, &why)) {
		sync->config_state = has_config(sync) ? CONFIG_OUTDATED : CONFIG_REJECTED;
		refuse_config(sync, REFUSAL_CONFIG, why.text);
		return;
	}
	memcpy(&sync->config, &config, sizeof(config));
	sync->config_state = CONFIG_ACCEPTED;
	advance(sync);
}

/* A generation that goes back belongs to another service of the same name; its configuration must be read first. */
static void forget_config(struct service_sync *sync)
{
	if (sync->config_state == CONFIG_ACCEPTED)
		sync->config_state = CONFIG_UNKNOWN;
	else if (sync->config_state == CONFIG_OUTDATED)
		sync->config_state = CONFIG_REJECTED;
	service_reads_node(sync->reads, READ_CONFIG);
}

static void on_latest(struct service_sync *sync, const struct service_answer *answer)
{
	uint32_t latest = service_reads_number(answer->reply);

	if (!is_there(sync, answer->reply, UNCONFIRMED_LATEST))
		return;
	if (!latest) {
		sync->latest = 0;
		refuse_number(sync, "latest_gen", answer->reply);
		return;
	}
	if (latest < sync->latest)
		forget_config(sync);
	sync->latest = latest;
	lag_confirm(&sync->published.lag);
	advance(sync);
}

/* Resets everything to the initial state, except counters and an outstanding read. */
static void end_service(struct service_sync *sync)
{
	fprintf(stderr, "mux event=deleted service=%s\n", sync->name);
	published_remove(&sync->published);
	staged_ring_drop(&sync->staged);
	sync->config_state = CONFIG_DELETED;
	sync->latest = 0;
	sync->route = ROUTE_DELTAS;
	sync->config_refusal = (struct refusal){0};
	sync->ring_refusal = (struct refusal){0};
	backoff_reset(&sync->backoff);
	if (!sync_state_is_reading(sync->state))
		sync->state = SYNC_WAITING;
	report_change(sync);
}

/* Without a config, the watch set by this read reports when it is created. */
static void on_config_exists(struct service_sync *sync, const struct service_answer *answer)
{
	bool is_deleted = sync->config_state == CONFIG_DELETED;

	if (answer->reply->rc == ZOK) {
		service_reads_node(sync->reads, READ_CONFIG);
		if (!is_deleted)
			service_reads_node(sync->reads, READ_LATEST);
	} else if (answer->reply->rc != ZNONODE) {
		retry_read(sync);
	} else if (!is_deleted) {
		end_service(sync);
	}
}

static void on_snapshot_number(struct service_sync *sync, const struct service_answer *answer)
{
	const struct zk_reply *reply = answer->reply;
	uint32_t generation = reply->rc == ZOK ? service_reads_number(reply) : 0;

	sync->state = SYNC_WAITING;
	if (generation) {
		if (generation > sync->latest)
			sync->latest = generation; /* it is committed; the watch on latest_gen has yet to fire */
		read_generation(sync, READ_SNAPSHOT, generation);
	} else if (reply->rc == ZOK) {
		refuse_number(sync, "latest_snapshot", reply);
	} else if (reply->rc == ZNONODE) {
		refuse_generation(sync, REFUSAL_MISSING, 0, "latest_snapshot does not exist");
		advance(sync);
	} else {
		retry_read(sync);
	}
}

/* --- answers: snapshots and deltas --------------------------------------------------------------------------- */

/* Returns whether the chunks of the ring or of the blob were read. If not, handles the failure. */
static bool is_complete(struct service_sync *sync, uint32_t generation, const struct zk_reply *chunks)
{
	switch (chunks->rc) {
	case ZOK:
		return true;
	case ZNONODE:
	case ZBADARGUMENTS:
		refuse_generation(sync, REFUSAL_MISSING, generation, "its chunks are not 0000, 0001, ...");
		break;
	case ZMARSHALLINGERROR:
		refuse_generation(sync, FL_DELTA_LENGTH, generation, "the chunks exceed the maximum length");
		break;
	default:
		staged_ring_drop(&sync->staged);
		retry_read(sync);
		return false;
	}
	advance(sync);
	return false;
}

/* Returns whether all of the generation was read: with its blob, if the configuration's method has one by now. */
static bool is_whole(struct service_sync *sync, const struct service_answer *answer)
{
	if (!is_complete(sync, answer->generation, answer->reply))
		return false;
	if (!answer->blob == !blob_node(sync, answer->what))
		return !answer->blob || is_complete(sync, answer->generation, answer->blob);
	advance(sync);
	return false;
}

/* Applies a delta to the staged ring if there is one, else to the published ring. */
static void apply_delta(struct service_sync *sync, const struct service_answer *answer)
{
	struct reason why = {"no memory"};
	unsigned reason =
	    is_staging(sync)
		? staged_ring_fold(&sync->staged, answer->generation, answer->reply, answer->blob, &why)
		: published_update(&sync->published, answer->generation, answer->reply, answer->blob, &why);

	if (reason)
		refuse_generation(sync, reason, answer->generation, why.text);
	else if (!is_staging(sync))
		report_change(sync);
}

/* Whether the delta can no longer be applied, or was read ahead and is not committed. */
static bool is_obsolete(const struct service_sync *sync, uint32_t generation)
{
	return generation != next_generation(sync) || generation > sync->latest;
}

static void on_delta(struct service_sync *sync, const struct service_answer *answer)
{
	int rc = answer->reply->rc;

	sync->state = SYNC_WAITING;
	if ((rc == ZOK || rc == ZNONODE) && is_obsolete(sync, answer->generation)) {
		advance(sync);
	} else if (rc == ZNONODE && !is_staging(sync)) {
		sync->route = ROUTE_SNAPSHOT; /* old generations are deleted: the snapshot is newer than the ring */
		advance(sync);
	} else if (is_whole(sync, answer)) {
		apply_delta(sync, answer);
		advance(sync);
	}
}

static void on_snapshot(struct service_sync *sync, const struct service_answer *answer)
{
	struct reason why = {""};
	unsigned reason;

	sync->state = SYNC_WAITING;
	if (!is_whole(sync, answer))
		return;
	reason = staged_ring_start(&sync->staged, &sync->config, answer->generation, answer->reply, answer->blob, &why);
	if (reason)
		refuse_generation(sync, reason, answer->generation, why.text);
	advance(sync);
}

static void on_answer(void *context, const struct service_answer *answer)
{
	static void (*const handlers[])(struct service_sync * sync, const struct service_answer *answer) = {
	    [READ_CONFIG] = on_config,     [READ_CONFIG_EXISTS] = on_config_exists,
	    [READ_LATEST] = on_latest,     [READ_SNAPSHOT_NUMBER] = on_snapshot_number,
	    [READ_SNAPSHOT] = on_snapshot, [READ_DELTA] = on_delta,
	};

	handlers[answer->what](context, answer);
}

/* --- events from the cluster's synchronisation --------------------------------------------------------------- */

void service_sync_refresh(struct service_sync *sync)
{
	backoff_resume(&sync->backoff);
	service_reads_node(sync->reads, READ_CONFIG);
	service_reads_node(sync->reads, READ_LATEST);
}

void service_sync_changed(struct service_sync *sync, const char *tail)
{
	enum service_read what;

	if (!service_reads_find(tail, &what))
		return;
	service_reads_node(sync->reads, what);
	/* Usually it moves by one, so the delta is requested along with the number. Answers arrive in the order of
	 * requests: by the time of the delta's answer it is known whether the delta is committed. */
	if (what == READ_LATEST && next_state(sync) == SYNC_CURRENT)
		read_generation(sync, READ_DELTA, sync->latest + 1);
}

/* The config may have been missing only because the list was missing as well: it is read once more. */
void service_sync_confirm(struct service_sync *sync)
{
	if (sync->unconfirmed & UNCONFIRMED_CONFIG) {
		service_reads_node(sync->reads, READ_CONFIG_EXISTS);
	} else if (sync->unconfirmed && sync->config_state != CONFIG_DELETED) {
		refuse(sync, &sync->ring_refusal, REFUSAL_MISSING, 0, "latest_gen does not exist");
		backoff_schedule(&sync->backoff, now(sync));
	}
	sync->unconfirmed = 0;
}

struct service_sync *service_sync_new(const struct service_sync_context *context, const char *name)
{
	struct service_sync *sync = calloc(1, sizeof(*sync));

	if (!sync)
		return NULL;
	sync->name = strdup(name);
	sync->reads = service_reads_new(context->zk, context->root, name, on_answer, sync);
	if (!sync->name || !sync->reads) {
		if (sync->reads)
			service_reads_end(sync->reads);
		free(sync->name);
		free(sync);
		return NULL;
	}
	sync->context = context;
	sync->published.place = &context->place;
	sync->published.name = sync->name;
	backoff_reset(&sync->backoff);
	return sync;
}

void service_sync_end(struct service_sync *sync)
{
	published_remove(&sync->published);
	service_reads_end(sync->reads);
	staged_ring_drop(&sync->staged);
	free(sync->name);
	free(sync);
}

/* --- the present state --------------------------------------------------------------------------------------- */

uint64_t service_sync_deadline(const struct service_sync *sync)
{
	return sync->backoff.retry_at;
}

bool service_sync_is_deleted(const struct service_sync *sync)
{
	return sync->config_state == CONFIG_DELETED;
}

const char *service_sync_name(const struct service_sync *sync)
{
	return sync->name;
}

enum service_state service_sync_state(const struct service_sync *sync)
{
	if (!published_ring(&sync->published))
		return SERVICE_LOADING;
	return sync->ring_refusal.is_open || sync->config_refusal.is_open ? SERVICE_STALE : SERVICE_SERVING;
}

uint32_t service_sync_generation(const struct service_sync *sync)
{
	const struct ring *ring = published_ring(&sync->published);

	return ring ? ring_generation(ring) : 0;
}

struct published_service *service_sync_published(struct service_sync *sync)
{
	return &sync->published;
}

const struct published_service *service_sync_view_published(const struct service_sync *sync)
{
	return &sync->published;
}

uint64_t service_sync_refused(const struct service_sync *sync, unsigned reason)
{
	return sync->refused[reason];
}
