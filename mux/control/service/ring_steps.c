/* SPDX-License-Identifier: Apache-2.0 */
#include "control/service/ring_steps.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "control/service/ring_arrays.h"
#include "control/service/sabotage.h"
#include "ring/delta_decode.h"
#include "ring/fold.h"
#include "steering/steering.h"

static void advance(struct ring_sync *sync);

static bool is_staging(const struct ring_sync *sync)
{
	return sync->staged.generation;
}

static bool is_staged_for(const struct ring_sync *sync)
{
	return sync->staged.service == sync->config.id && sync->staged.buckets == sync->config.buckets;
}

/* A delta or an image, if there is one. */
static void drop(struct delta *change)
{
	if (change->generation)
		delta_free(change);
	*change = (struct delta){0};
}

static void clear_refusal(struct ring_sync *sync, struct refusal *refusal)
{
	if (refusal_close(refusal, "mux", sync->name, ring_sync_generation(sync)))
		ring_sync_report(sync);
}

static void hold(struct ring_sync *sync)
{
	backoff_hold(&sync->backoff, ring_sync_now(sync));
}

void ring_steps_configure(struct ring_sync *sync, const struct service_config *config)
{
	const struct service *served = sync->published.service;

	/* Servers may have been told of a ring that was never served. */
	if (sync->has_config && sync->config.id != config->id && !(served && served->id == sync->config.id))
		published_end_telling(&sync->published, &sync->config);
	if (!sync->has_config || !service_config_same_ring(&sync->config, config) ||
	    sync->config.steering != config->steering)
		ring_arrays_forget(sync);
	memcpy(&sync->config, config, sizeof(*config));
	sync->has_config = true;
	sync->config_is_outdated = false;
	if (ring_sync_has_arrays(sync) && !sync->arrays.is_known)
		ring_sync_read_latest(sync);
	advance(sync);
}

/* A generation that goes back belongs to another service of the same name; its configuration must be read first. */
static void forget_config(struct ring_sync *sync)
{
	sync->has_config = false;
	sync->config_is_outdated = false;
	service_reads_node(sync->reads, READ_CONFIG);
}

/* latest_arrays may be newer than latest_gen, of which the watch has yet to fire. */
void ring_steps_latest(struct ring_sync *sync, uint32_t latest, const struct tree_reply *list)
{
	if (latest < sync->latest)
		forget_config(sync);
	if (!ring_arrays_list(sync, list))
		return;
	sync->latest = latest > ring_arrays_newest(sync) ? latest : ring_arrays_newest(sync);
	lag_confirm(&sync->published.lag);
	advance(sync);
}

/* Publishes the staged ring. Returns false if it was refused: then everything is held. */
static bool publish(struct ring_sync *sync)
{
	struct reason why = {""};
	int error = published_load(&sync->published, &sync->config, &sync->staged,
				   ring_arrays_at(sync, sync->staged.generation), &why);

	if (!error) {
		ring_sync_report(sync);
		return true;
	}
	if (!sync->published.service) {
		published_end_telling(&sync->published, &sync->config); /* it is not served */
		ring_sync_refuse(sync, &sync->config_refusal,
				 error == -EEXIST ? (unsigned)REFUSAL_CONFIG : refusal_of(error), 0, why.text);
	} else {
		ring_sync_refuse(sync, &sync->ring_refusal, refusal_of(error), sync->staged.generation, why.text);
	}
	hold(sync);
	return false;
}

/*
 * A generation can't be used. A staged ring is published, complete or not, if it is newer than the published one. The
 * first refusal in a row tries the snapshot at once, further ones after a backoff.
 */
static void refuse_generation(struct ring_sync *sync, unsigned reason, uint32_t generation, const char *why)
{
	ring_sync_refuse(sync, &sync->ring_refusal, reason, generation, why);
	if (is_staging(sync) && ring_arrays_are_there(sync, sync->staged.generation) &&
	    (!published_has_ring_of(&sync->published, &sync->config) ||
	     sync->staged.generation > ring_sync_generation(sync)))
		publish(sync);
	drop(&sync->staged);
	sync->route = ROUTE_SNAPSHOT;
	if (sync->backoff.failures > 1)
		hold(sync);
}

static uint32_t next_generation(const struct ring_sync *sync)
{
	return sabotage_next(is_staging(sync) ? sync->staged.generation : ring_sync_generation(sync), sync->latest);
}

static enum sync_state next_state(struct ring_sync *sync)
{
	const struct sync_facts facts = {
	    .has_config = sync->has_config && (!ring_sync_has_arrays(sync) || sync->arrays.is_known),
	    .holds = sync->backoff.holds,
	    .leads_on = sync->route == ROUTE_DELTAS && published_has_ring_of(&sync->published, &sync->config) &&
			ring_arrays_lead_on(sync),
	    .lacking = ring_arrays_lack(sync) ? ring_arrays_newest(sync) : 0,
	    .latest = sync->latest,
	    .published = ring_sync_generation(sync),
	    .staged = sync->staged.generation,
	};

	return sync_state_next(sync->state, &facts);
}

static void note_lag(struct ring_sync *sync)
{
	lag_note(&sync->published.lag, ring_sync_generation(sync), sync->latest, ring_sync_now(sync));
}

static void become_current(struct ring_sync *sync)
{
	sync->state = SYNC_CURRENT;
	note_lag(sync);
	clear_refusal(sync, &sync->ring_refusal);
	if (!sync->config_refusal.is_open)
		sync->backoff.failures = 0;
	if (sync->published.announce_error)
		published_announce(&sync->published);
	if (sync->published.announce_error)
		backoff_schedule_once(&sync->backoff, ring_sync_now(sync));
}

static void publish_staged(struct ring_sync *sync)
{
	bool is_published = publish(sync);

	drop(&sync->staged);
	if (!is_published) {
		sync->state = SYNC_HELD;
		return;
	}
	sync->route = ROUTE_DELTAS;
	if (!sync->config_is_outdated)
		clear_refusal(sync, &sync->config_refusal);
	become_current(sync);
}

static void read_generation(struct ring_sync *sync, enum service_read what, uint32_t generation)
{
	sync->state = what == READ_SNAPSHOT ? SYNC_READING_SNAPSHOT : SYNC_READING_DELTA;
	service_reads_generation(sync->reads, what, generation);
}

static void enter(struct ring_sync *sync, enum sync_state state)
{
	sync->state = state;
	switch (state) {
	case SYNC_FINDING_SNAPSHOT:
		service_reads_node(sync->reads, READ_SNAPSHOT_NUMBER);
		break;
	case SYNC_READING_DELTA:
		read_generation(sync, READ_DELTA, next_generation(sync));
		break;
	case SYNC_READING_ARRAYS:
		ring_arrays_read(sync);
		break;
	case SYNC_PUBLISHING:
		if (published_tell(&sync->published, &sync->config, &sync->staged))
			publish_staged(sync);
		else
			sync->state = SYNC_TELLING;
		break;
	case SYNC_CURRENT:
		become_current(sync);
		break;
	default:
		break;
	}
}

/* Changes VIPs, ports and window under the published ring. */
static void apply_config(struct ring_sync *sync)
{
	struct reason why = {""};

	int error = published_change_config(&sync->published, &sync->config, &why);

	if (error)
		ring_sync_refuse_config(sync, error == -EADDRINUSE ? REFUSAL_VIP : REFUSAL_CONFIG, why.text);
	else if (!sync->config_is_outdated)
		clear_refusal(sync, &sync->config_refusal);
}

void ring_steps_guard(struct ring_sync *sync)
{
	struct reason why = {""};

	if (!sync->published.service ||
	    !tables_check_vips(sync->context->place.tables, &sync->published.service->config, &why))
		return;
	published_remove(&sync->published);
	ring_sync_refuse_config(sync, REFUSAL_VIP, why.text);
}

/* After each event that may let the ring go on: at most one snapshot or delta is being read. */
static void advance(struct ring_sync *sync)
{
	if (!sync->has_config || !sync->latest)
		return;
	note_lag(sync);
	if (published_has_ring_of(&sync->published, &sync->config))
		apply_config(sync);
	ring_arrays_read_ahead(sync);
	if (sync_state_is_reading(sync->state))
		return;
	if (!sync->backoff.holds && !is_staged_for(sync))
		drop(&sync->staged);
	enter(sync, next_state(sync));
}

static void on_snapshot_number(struct ring_sync *sync, const struct service_answer *answer)
{
	const struct tree_reply *reply = answer->reply;
	uint32_t generation = reply->result == TREE_OK ? service_reads_number(reply) : 0;

	sync->state = SYNC_WAITING;
	if (generation) {
		if (generation > sync->latest && ring_sync_has_arrays(sync)) {
			ring_sync_read_latest(sync); /* it may have arrays, too */
			return;
		}
		if (generation > sync->latest)
			sync->latest = generation; /* it is committed; the watch on latest_gen has yet to fire */
		read_generation(sync, READ_SNAPSHOT, generation);
	} else if (reply->result == TREE_OK) {
		ring_sync_refuse_number(sync, "latest_snapshot", reply);
	} else if (reply->result == TREE_MISSING) {
		refuse_generation(sync, REFUSAL_MISSING, 0, "latest_snapshot does not exist");
		advance(sync);
	} else {
		ring_sync_retry(sync);
	}
}

/* Returns whether the chunks of a delta or snapshot were read. If not, handles the failure. */
static bool is_complete(struct ring_sync *sync, uint32_t generation, const struct tree_reply *chunks)
{
	switch (chunks->result) {
	case TREE_OK:
		return true;
	case TREE_MISSING:
	case TREE_MISNAMED:
		refuse_generation(sync, REFUSAL_MISSING, generation, "its chunks are not 0000, 0001, ...");
		break;
	case TREE_TOO_LONG:
		refuse_generation(sync, FL_DELTA_LENGTH, generation, "the chunks exceed the maximum length");
		break;
	default:
		drop(&sync->staged);
		ring_sync_retry(sync);
		return false;
	}
	advance(sync);
	return false;
}

static void apply_told(struct ring_sync *sync)
{
	struct reason why = {"no memory"};
	uint32_t generation = sync->told.generation;
	int error = published_apply(&sync->published, &sync->told, ring_arrays_new_at(sync, generation), &why);

	drop(&sync->told);
	if (error)
		refuse_generation(sync, refusal_of(error), generation, why.text);
	else
		ring_sync_report(sync);
}

/* Folds a delta into the staged ring. 0, or a refusal's reason and why; then nothing has changed. */
static unsigned fold(struct delta *staged, uint32_t generation, const struct tree_reply *bytes, struct reason *why)
{
	struct delta_expected expected = delta_expected_by(staged);
	struct delta decoded;
	unsigned reason;
	int error;

	expected.generation = generation;
	reason = delta_decode(bytes->data, bytes->len, &expected, &decoded, why);
	if (reason)
		return reason;
	error = delta_fold(staged, &decoded);
	delta_free(&decoded);
	return error ? refusal_of(error) : 0;
}

/* Folds a delta into the staged ring if there is one; else applies it to the published ring, once servers are told. */
static void take_delta(struct ring_sync *sync, const struct service_answer *answer)
{
	struct reason why = {"no memory"};
	unsigned reason =
	    is_staging(sync) ? fold(&sync->staged, answer->generation, answer->reply, &why)
			     : published_decode(&sync->published, answer->generation, answer->reply, &sync->told, &why);

	if (reason)
		refuse_generation(sync, reason, answer->generation, why.text);
	else if (!is_staging(sync) && published_tell(&sync->published, &sync->config, &sync->told))
		apply_told(sync);
	else if (!is_staging(sync))
		sync->state = SYNC_TELLING;
}

/* Whether the delta can no longer be applied, or was read ahead and is not committed or brings arrays to be read. */
static bool is_obsolete(struct ring_sync *sync, uint32_t generation)
{
	return generation != next_generation(sync) || generation > sync->latest ||
	       (!is_staging(sync) &&
		(!ring_arrays_lead_on(sync) || (generation >= ring_arrays_newest(sync) && ring_arrays_lack(sync))));
}

static void on_delta(struct ring_sync *sync, const struct service_answer *answer)
{
	enum tree_result result = answer->reply->result;

	sync->state = SYNC_WAITING;
	if ((result == TREE_OK || result == TREE_MISSING) && is_obsolete(sync, answer->generation)) {
		advance(sync);
	} else if (result == TREE_MISSING && !is_staging(sync)) {
		sync->route = ROUTE_SNAPSHOT; /* old generations are deleted: the snapshot is newer than the ring */
		advance(sync);
	} else if (is_complete(sync, answer->generation, answer->reply)) {
		take_delta(sync, answer);
		advance(sync);
	}
}

static void on_snapshot(struct ring_sync *sync, const struct service_answer *answer)
{
	const struct delta_expected expected = {.snapshot = true,
						.service = sync->config.id,
						.generation = answer->generation,
						.buckets = sync->config.buckets};
	struct reason why = {""};
	unsigned reason;

	sync->state = SYNC_WAITING;
	if (!is_complete(sync, answer->generation, answer->reply))
		return;
	reason = delta_decode(answer->reply->data, answer->reply->len, &expected, &sync->staged, &why);
	if (reason)
		refuse_generation(sync, reason, answer->generation, why.text);
	advance(sync);
}

static void on_arrays(struct ring_sync *sync, const struct service_answer *answer)
{
	if (ring_arrays_answer(sync, answer))
		advance(sync);
}

void ring_steps_answer(struct ring_sync *sync, const struct service_answer *answer)
{
	static void (*const handlers[])(struct ring_sync * sync, const struct service_answer *answer) = {
	    [READ_SNAPSHOT_NUMBER] = on_snapshot_number,
	    [READ_SNAPSHOT] = on_snapshot,
	    [READ_DELTA] = on_delta,
	    [READ_ARRAYS] = on_arrays,
	    [READ_ARRAYS_PATCH] = on_arrays,
	    [READ_AHEAD] = ring_arrays_answer_ahead,
	    [READ_AHEAD_PATCH] = ring_arrays_answer_ahead,
	};

	handlers[answer->what](sync, answer);
}

void ring_steps_read_changed(struct ring_sync *sync)
{
	ring_sync_read_latest(sync);
	/* Usually it moves by one, so the delta is requested along with the number. Answers arrive in the order of
	 * requests: by the time of the delta's answer it is known whether the delta is committed. */
	if (next_state(sync) == SYNC_CURRENT)
		read_generation(sync, READ_DELTA, sync->latest + 1);
}

/* Its configuration may have changed meanwhile, or the ring be gone. */
void ring_steps_poll(struct ring_sync *sync)
{
	const struct delta *change;

	if (ring_arrays_poll(sync))
		advance(sync);
	change = sync->told.generation ? &sync->told : &sync->staged;
	if (sync->state != SYNC_TELLING)
		return;
	if (change->generation && !published_is_told(&sync->published, &sync->config, change))
		return;
	sync->state = SYNC_WAITING;
	if (sync->told.generation && published_ring(&sync->published) && !is_obsolete(sync, sync->told.generation)) {
		apply_told(sync);
	} else if (!sync->told.generation && is_staged_for(sync) && next_state(sync) == SYNC_PUBLISHING) {
		publish_staged(sync);
		return;
	}
	drop(&sync->told);
	advance(sync);
}

void ring_steps_drop(struct ring_sync *sync)
{
	if (sync->has_config)
		published_end_telling(&sync->published, &sync->config);
	drop(&sync->staged);
	drop(&sync->told);
	if (sync->state == SYNC_TELLING)
		sync->state = SYNC_WAITING;
}

void ring_steps_forget(struct ring_sync *sync)
{
	published_remove(&sync->published);
	ring_steps_drop(sync);
	ring_arrays_forget(sync);
	sync->has_config = false;
	sync->config_is_outdated = false;
	sync->latest = 0;
	sync->route = ROUTE_DELTAS;
	sync->config_refusal = (struct refusal){0};
	sync->ring_refusal = (struct refusal){0};
	backoff_reset(&sync->backoff);
	if (!sync_state_is_reading(sync->state))
		sync->state = SYNC_WAITING;
	ring_sync_report(sync);
}
