/* SPDX-License-Identifier: Apache-2.0 */
#include "control/service/ring_arrays.h"

#include <stdio.h>

/* Those that are published, if they are of the configuration's ring. */
static const struct arrays_set *held_arrays(const struct ring_sync *sync)
{
	static const struct arrays_set none;

	return published_has_ring_of(&sync->published, &sync->config) ? &sync->published.arrays : &none;
}

/* As ring_arrays_lack(); *step is the next one. */
static bool find_step(struct ring_sync *sync, struct arrays_step *step)
{
	return ring_sync_has_arrays(sync) && arrays_sync_next(&sync->arrays, &sync->config, held_arrays(sync), step);
}

bool ring_arrays_lack(struct ring_sync *sync)
{
	struct arrays_step step;

	return find_step(sync, &step);
}

uint32_t ring_arrays_newest(const struct ring_sync *sync)
{
	return ring_sync_has_arrays(sync) ? sync->arrays.list.version.newest : 0;
}

bool ring_arrays_are_there(struct ring_sync *sync, uint32_t generation)
{
	return !ring_arrays_newest(sync) || (generation >= ring_arrays_newest(sync) && !ring_arrays_lack(sync));
}

const struct arrays_set *ring_arrays_at(const struct ring_sync *sync, uint32_t generation)
{
	return ring_arrays_newest(sync) && generation >= ring_arrays_newest(sync) ? &sync->arrays.ready : NULL;
}

const struct arrays_set *ring_arrays_new_at(const struct ring_sync *sync, uint32_t generation)
{
	const struct arrays_set *arrays = ring_arrays_at(sync, generation);

	return arrays && !arrays_version_equal(&arrays->version, &sync->published.arrays.version) ? arrays : NULL;
}

bool ring_arrays_lead_on(const struct ring_sync *sync)
{
	uint32_t held = sync->published.arrays.version.newest, newest = ring_arrays_newest(sync);

	return held == newest || (ring_sync_generation(sync) < newest && arrays_list_follows(&sync->arrays.list, held));
}

/* What was read before stays in use. The retry reads latest_arrays again. */
static void refuse_arrays(struct ring_sync *sync, const char *word, uint32_t generation, const char *why)
{
	char text[sizeof(struct reason) + 32];

	snprintf(text, sizeof(text), "%s: %s", word, why);
	arrays_sync_count(&sync->arrays, word);
	ring_sync_refuse(sync, &sync->ring_refusal, REFUSAL_ARRAYS, generation, text);
	backoff_hold(&sync->backoff, ring_sync_now(sync));
}

bool ring_arrays_list(struct ring_sync *sync, const struct tree_reply *reply)
{
	struct reason why = {""};
	struct arrays_list list = {0};

	if (!ring_sync_has_arrays(sync))
		return true;
	if (!reply)
		return false; /* the method is known by now: it is being read */
	if (reply->result != TREE_OK && reply->result != TREE_MISSING) {
		ring_sync_retry(sync);
		return false;
	}
	if (reply->result == TREE_OK && arrays_list_parse((const char *)reply->data, reply->len, &list, &why)) {
		sync->arrays.is_known = false;
		refuse_arrays(sync, "list", 0, why.text);
		return false;
	}
	arrays_sync_set(&sync->arrays, &list);
	return true;
}

void ring_arrays_read(struct ring_sync *sync)
{
	struct arrays_step step = {0};

	find_step(sync, &step);
	arrays_sync_begin(&sync->arrays, ring_sync_now(sync));
	service_reads_generation(sync->reads, step.base_generation ? READ_ARRAYS_PATCH : READ_ARRAYS, step.generation);
}

/* The node is missing. Old ones are deleted once latest_arrays no longer names them: it is read again first. */
static void miss_arrays(struct ring_sync *sync, const struct arrays_step *step)
{
	struct reason why;

	if (sync->arrays.missed != ring_arrays_newest(sync)) {
		sync->arrays.missed = ring_arrays_newest(sync);
		ring_sync_read_latest(sync);
		return;
	}
	reason_set(&why, 0, "generation %u has no %s in chunks 0000, 0001, ...", step->generation,
		   step->base_generation ? "arrays_patch" : "arrays");
	refuse_arrays(sync, "missing", step->generation, why.text);
}

/* What became of the arrays of a generation: they are there, refused, or still being checked. */
static void note_taken(struct ring_sync *sync, const struct arrays_result *result)
{
	struct arrays_step step;
	bool lacks = find_step(sync, &step);

	if (result->taken == ARRAYS_UNDER_WAY)
		sync->state = SYNC_READING_ARRAYS;
	else if (result->taken == ARRAYS_TAKEN && !lacks)
		arrays_sync_end(&sync->arrays, ring_sync_now(sync));
	else if (result->taken == ARRAYS_REFUSED && lacks && step.generation == result->generation)
		refuse_arrays(sync, result->word, step.generation, result->why.text);
}

bool ring_arrays_answer(struct ring_sync *sync, const struct service_answer *answer)
{
	bool is_patch = answer->what == READ_ARRAYS_PATCH;
	struct arrays_result result;
	struct arrays_step step;

	sync->state = SYNC_WAITING;
	if (!find_step(sync, &step) || step.generation != answer->generation || is_patch != !!step.base_generation)
		return true; /* others are latest by now */
	switch (answer->reply->result) {
	case TREE_OK:
		result = arrays_sync_take(&sync->arrays, &sync->arrays.latest, &sync->config, &step,
					  answer->reply->data, answer->reply->len);
		note_taken(sync, &result);
		return true;
	case TREE_MISSING:
	case TREE_MISNAMED:
		miss_arrays(sync, &step);
		return false;
	case TREE_TOO_LONG:
		refuse_arrays(sync, "length", step.generation, "the chunks exceed the maximum length");
		return true;
	default:
		ring_sync_retry(sync);
		return false;
	}
}

static bool find_step_ahead(struct ring_sync *sync, struct arrays_step *step)
{
	return ring_sync_has_arrays(sync) && sync->arrays.is_known &&
	       arrays_sync_next_ahead(&sync->arrays, &sync->config, held_arrays(sync), step);
}

void ring_arrays_read_ahead(struct ring_sync *sync)
{
	struct arrays_sync *arrays = &sync->arrays;
	uint32_t had = arrays->ahead.generation;
	struct arrays_step step;

	if (arrays->ahead_is_asked || arrays->ahead_is_failed || arrays->ahead.job)
		return;
	if (!find_step_ahead(sync, &step)) {
		if (arrays->ahead.generation != had)
			ring_sync_report(sync);
		return;
	}
	arrays->ahead_is_asked = true;
	service_reads_generation(sync->reads, step.base_generation ? READ_AHEAD_PATCH : READ_AHEAD, step.generation);
}

/*
 * What became of them. A failure refuses nothing that is served: they are read again with the next list, or once a
 * generation names them.
 */
static void note_ahead(struct ring_sync *sync, const struct arrays_result *result)
{
	struct arrays_step step;

	if (result->taken == ARRAYS_REFUSED) {
		sync->arrays.ahead_is_failed = true;
		arrays_sync_count(&sync->arrays, result->word);
		fprintf(stderr, "mux event=ahead_refused service=%s generation=%u reason=%s why=\"%s\"\n", sync->name,
			result->generation, result->word, result->why.text);
	} else if (result->taken == ARRAYS_TAKEN && !find_step_ahead(sync, &step)) {
		ring_sync_report(sync);
	}
	ring_arrays_read_ahead(sync);
}

void ring_arrays_answer_ahead(struct ring_sync *sync, const struct service_answer *answer)
{
	bool is_patch = answer->what == READ_AHEAD_PATCH;
	struct arrays_sync *arrays = &sync->arrays;
	enum tree_result found = answer->reply->result;
	struct arrays_result result;
	struct arrays_step step;

	arrays->ahead_is_asked = false;
	if (!find_step_ahead(sync, &step) || step.generation != answer->generation ||
	    is_patch != !!step.base_generation) {
		ring_arrays_read_ahead(sync); /* others are written ahead by now */
	} else if (found == TREE_OK) {
		result = arrays_sync_take(arrays, &arrays->ahead, &sync->config, &step, answer->reply->data,
					  answer->reply->len);
		note_ahead(sync, &result);
	} else if (found == TREE_MISSING || found == TREE_MISNAMED || found == TREE_TOO_LONG) {
		result = (struct arrays_result){ARRAYS_REFUSED,
						step.generation,
						found == TREE_TOO_LONG ? "length" : "missing",
						{"its chunks are not 0000, 0001, ... of the allowed length"}};
		note_ahead(sync, &result);
	} else {
		arrays->ahead_is_failed = true; /* the connection is lost: all is read again */
	}
}

bool ring_arrays_poll(struct ring_sync *sync)
{
	struct arrays_result result = arrays_sync_poll(&sync->arrays, &sync->arrays.ahead);

	if (result.taken != ARRAYS_UNDER_WAY)
		note_ahead(sync, &result);
	result = arrays_sync_poll(&sync->arrays, &sync->arrays.latest);
	if (result.taken == ARRAYS_UNDER_WAY)
		return false;
	sync->state = SYNC_WAITING;
	note_taken(sync, &result);
	return true;
}

void ring_arrays_forget(struct ring_sync *sync)
{
	if (sync->arrays.latest.job)
		sync->state = SYNC_WAITING;
	arrays_sync_forget(&sync->arrays);
}
