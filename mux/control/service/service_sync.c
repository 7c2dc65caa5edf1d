/* SPDX-License-Identifier: Apache-2.0 */
#include "control/service/service_sync.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "control/service/config_node.h"
#include "control/service/ring_arrays.h"
#include "control/service/ring_steps.h"
#include "steering/maat/maat.h"

enum sync_unconfirmed {
	UNCONFIRMED_CONFIG = 1,
	UNCONFIRMED_LATEST = 2,
};

/* Returns whether the node was read. If not, handles the failure. */
static bool is_there(struct service_sync *sync, const struct tree_reply *reply, unsigned unconfirmed)
{
	sync->unconfirmed &= ~unconfirmed;
	if (reply->result == TREE_MISSING) {
		sync->unconfirmed |= unconfirmed;
		sync->context->vanished(sync->context->owner);
	} else if (reply->result != TREE_OK) {
		ring_sync_retry(&sync->ring);
	}
	return reply->result == TREE_OK;
}

static void on_config(struct service_sync *sync, const struct service_answer *answer)
{
	const struct tree_reply *reply = answer->reply;
	struct service_config config;
	struct reason why = {""};

	if (!is_there(sync, reply, UNCONFIRMED_CONFIG))
		return;
	if (sync->is_deleted)
		ring_sync_read_latest(&sync->ring);
	sync->is_deleted = false;
	if (config_node_parse((const char *)reply->data, reply->len, sync->name, &config, &why)) {
		sync->ring.config_is_outdated = sync->ring.has_config;
		ring_sync_refuse_config(&sync->ring, REFUSAL_CONFIG, why.text);
		return;
	}
	ring_steps_configure(&sync->ring, &config);
	if (config.maat.load == MAAT_AGENTS)
		service_reads_node(sync->reads, READ_LOADS);
}

static void on_latest(struct service_sync *sync, const struct service_answer *answer)
{
	uint32_t latest = service_reads_number(answer->reply);

	if (!is_there(sync, answer->reply, UNCONFIRMED_LATEST))
		return;
	if (!latest) {
		sync->ring.latest = 0;
		ring_sync_refuse_number(&sync->ring, "latest_gen", answer->reply);
		return;
	}
	ring_steps_latest(&sync->ring, latest, answer->list);
}

static void end_service(struct service_sync *sync)
{
	fprintf(stderr, "mux event=deleted service=%s\n", sync->name);
	sync->is_deleted = true;
	ring_steps_forget(&sync->ring);
}

/* Without a config, the watch set by this read reports when it is created. */
static void on_config_exists(struct service_sync *sync, const struct service_answer *answer)
{
	bool is_deleted = sync->is_deleted;

	if (answer->reply->result == TREE_OK) {
		service_reads_node(sync->reads, READ_CONFIG);
		if (!is_deleted)
			ring_sync_read_latest(&sync->ring);
	} else if (answer->reply->result != TREE_MISSING) {
		ring_sync_retry(&sync->ring);
	} else if (!is_deleted) {
		end_service(sync);
	}
}

/* To read the same loads again makes them no younger. */
static void take_loads(struct service_sync *sync, struct maat_loads *by, const float loads[MAAT_IDS], int64_t written)
{
	if (by == sync->loads_taken && written == sync->loads_written)
		return;
	maat_loads_report(by, loads, tree_now(sync->context->tree));
	sync->loads_taken = by;
	sync->loads_written = written;
}

/* The last good loads count until they are too old (steering/maat/loads.h). */
static void on_loads(struct service_sync *sync, const struct service_answer *answer)
{
	static float loads[MAAT_IDS];
	const struct tree_reply *reply = answer->reply;
	const struct service *service = sync->ring.published.service;
	const struct maat *maat = service ? maat_of(service) : NULL;
	struct reason why = {""};

	if (reply->result == TREE_MISSING)
		service_reads_node(sync->reads, READ_LOADS_EXISTS);
	else if (reply->result != TREE_OK)
		ring_sync_retry(&sync->ring);
	if (reply->result != TREE_OK)
		return;
	if (loads_node_parse((const char *)reply->data, reply->len, loads, &why)) {
		sync->ring.refused[REFUSAL_LOADS]++;
		refusal_open(&sync->loads_refusal, "mux", sync->name, REFUSAL_LOADS, 0, why.text);
		return;
	}
	refusal_close(&sync->loads_refusal, "mux", sync->name, ring_sync_generation(&sync->ring));
	sync->loads_early = !maat;
	if (maat)
		take_loads(sync, maat->loads, loads, reply->written_ms);
}

/* Without loads, the watch set by this read reports when they are created. */
static void on_loads_exists(struct service_sync *sync, const struct service_answer *answer)
{
	if (answer->reply->result == TREE_OK)
		service_reads_node(sync->reads, READ_LOADS);
	else if (answer->reply->result != TREE_MISSING)
		ring_sync_retry(&sync->ring);
}

static void on_answer(void *context, const struct service_answer *answer)
{
	static void (*const handlers[])(struct service_sync * sync, const struct service_answer *answer) = {
	    [READ_CONFIG] = on_config, [READ_CONFIG_EXISTS] = on_config_exists, [READ_LATEST] = on_latest,
	    [READ_LOADS] = on_loads,   [READ_LOADS_EXISTS] = on_loads_exists,
	};
	struct service_sync *sync = context;

	if (answer->what <= READ_LOADS_EXISTS)
		handlers[answer->what](sync, answer);
	else
		ring_steps_answer(&sync->ring, answer);
}

void service_sync_refresh(struct service_sync *sync)
{
	backoff_resume(&sync->ring.backoff);
	service_reads_node(sync->reads, READ_CONFIG);
	ring_sync_read_latest(&sync->ring);
}

void service_sync_run(struct service_sync *sync, uint64_t now_ms)
{
	ring_steps_poll(&sync->ring);
	if (sync->loads_early && sync->ring.published.service && maat_of(sync->ring.published.service)) {
		sync->loads_early = false;
		service_reads_node(sync->reads, READ_LOADS);
	}
	if (now_ms >= sync->ring.backoff.retry_at)
		service_sync_refresh(sync);
}

void service_sync_changed(struct service_sync *sync, const char *tail)
{
	enum service_read what;

	if (!service_reads_find(tail, &what))
		return;
	if (what == READ_LATEST)
		ring_steps_read_changed(&sync->ring);
	else
		service_reads_node(sync->reads, what);
}

/* The config may have been missing only because the list was missing as well: it is read once more. */
void service_sync_confirm(struct service_sync *sync)
{
	if (sync->unconfirmed & UNCONFIRMED_CONFIG) {
		service_reads_node(sync->reads, READ_CONFIG_EXISTS);
	} else if (sync->unconfirmed && !sync->is_deleted) {
		ring_sync_refuse(&sync->ring, &sync->ring.ring_refusal, REFUSAL_MISSING, 0,
				 "latest_gen does not exist");
		backoff_schedule(&sync->ring.backoff, tree_now(sync->context->tree));
	}
	sync->unconfirmed = 0;
}

struct service_sync *service_sync_new(const struct service_sync_context *context, const char *name)
{
	struct service_sync *sync = tree_alloc(sizeof(*sync));

	sync->name = tree_copy(name);
	sync->reads = service_reads_new(context->tree, context->root, name, on_answer, sync);
	sync->context = context;
	sync->ring.name = sync->name;
	sync->ring.context = context;
	sync->ring.reads = sync->reads;
	sync->ring.published.place = &context->place;
	sync->ring.published.name = sync->name;
	backoff_reset(&sync->ring.backoff);
	return sync;
}

void service_sync_end(struct service_sync *sync)
{
	published_remove(&sync->ring.published);
	service_reads_end(sync->reads);
	ring_steps_drop(&sync->ring);
	ring_arrays_forget(&sync->ring);
	free(sync->name);
	free(sync);
}

uint64_t service_sync_deadline(const struct service_sync *sync)
{
	uint64_t poll_at = arrays_sync_is_checking(&sync->ring.arrays)
			       ? tree_now(sync->context->tree) + ARRAYS_JOB_POLL_MS
			       : UINT64_MAX;

	return poll_at < sync->ring.backoff.retry_at ? poll_at : sync->ring.backoff.retry_at;
}

enum service_state service_sync_state(const struct service_sync *sync)
{
	if (!published_ring(&sync->ring.published))
		return SERVICE_LOADING;
	return sync->ring.ring_refusal.is_open || sync->ring.config_refusal.is_open ? SERVICE_STALE : SERVICE_SERVING;
}

const struct refusal *service_sync_refusal(const struct service_sync *sync)
{
	if (sync->ring.config_refusal.is_open)
		return &sync->ring.config_refusal;
	return sync->ring.ring_refusal.is_open ? &sync->ring.ring_refusal : NULL;
}

bool service_sync_is_reading(const struct service_sync *sync)
{
	return sync_state_is_reading(sync->ring.state) || service_reads_are_open(sync->reads);
}

/* Other muxes may have said more since ZooKeeper was read. */
uint32_t service_sync_latest(const struct service_sync *sync)
{
	uint32_t heard = sync->ring.published.lag.latest;

	return sync->ring.latest && heard > sync->ring.latest ? heard : sync->ring.latest;
}

void service_sync_refuse_settled(struct service_sync *sync, uint32_t settled)
{
	char why[160];

	if (settled == sync->ring.published.settled_refused)
		return;
	sync->ring.published.settled_refused = settled;
	if (!settled) {
		refusal_close(&sync->settled_refusal, "mux", sync->name, ring_sync_generation(&sync->ring));
		return;
	}
	snprintf(why, sizeof(why), "generation %u is settled; allowed: at most %u, the latest one", settled,
		 service_sync_latest(sync));
	sync->ring.refused[REFUSAL_SETTLED]++;
	refusal_open(&sync->settled_refusal, "mux", sync->name, REFUSAL_SETTLED, settled, why);
}
