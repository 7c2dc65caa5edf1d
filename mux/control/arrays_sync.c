/* SPDX-License-Identifier: Apache-2.0 */
#include "control/arrays_sync.h"

static void drop_last(struct arrays_sync *sync)
{
	if (sync->last)
		sync->ready.method->free(sync->last);
	sync->last = NULL;
	sync->last_generation = 0;
}

static void drop_ready(struct arrays_sync *sync)
{
	const struct steering_arrays *method = sync->ready.method;

	arrays_set_clear(&sync->ready);
	sync->ready.method = method;
}

void arrays_sync_set(struct arrays_sync *sync, const struct arrays_list *list)
{
	if (!arrays_version_equal(&sync->list.version, &list->version))
		drop_ready(sync);
	sync->is_known = true;
	sync->list = *list;
	sync->ready.version = list->version;
}

void arrays_sync_forget(struct arrays_sync *sync)
{
	const struct arrays_refusals refusals = sync->refusals;
	uint64_t took_ms = sync->took_ms;

	arrays_job_abandon(sync->job);
	drop_last(sync);
	arrays_set_clear(&sync->ready);
	*sync = (struct arrays_sync){.took_ms = took_ms, .refusals = refusals};
}

/* Arrays that are held by anything, without a new reference. */
static void *find(const struct arrays_sync *sync, const struct arrays_set *held, uint32_t generation)
{
	void *found = sync->last && sync->last_generation == generation ? sync->last : NULL;

	if (!found)
		found = arrays_set_find(&sync->ready, generation);
	return found || held->method != sync->ready.method ? found : arrays_set_find(held, generation);
}

/* Outputs the arrays of this generation with a new reference if they are held. If not, the step towards them. */
static bool build(const struct arrays_sync *sync, const struct arrays_set *held, const struct arrays_source *source,
		  uint32_t generation, void **out, struct arrays_step *step)
{
	uint32_t base = 0;

	for (uint32_t at = source->whole; at; at = arrays_source_next(source, at))
		if (find(sync, held, at))
			base = at;
	if (base == generation) {
		*out = sync->ready.method->keep(find(sync, held, base));
		return true;
	}
	*step = (struct arrays_step){
	    .generation = arrays_source_next(source, base),
	    .base_generation = base,
	    .base = base ? find(sync, held, base) : NULL,
	};
	return false;
}

bool arrays_sync_next(struct arrays_sync *sync, const struct service_config *config, const struct arrays_set *held,
		      struct arrays_step *step)
{
	const struct arrays_list *list = &sync->list;
	struct arrays_set *ready = &sync->ready;

	if (!list->version.newest)
		return false;
	ready->method = config->steering->arrays;
	if (list->version.previous && !ready->previous &&
	    !build(sync, held, &list->previous, list->version.previous, &ready->previous, step))
		return true;
	if (!ready->newest && !build(sync, held, &list->newest, list->version.newest, &ready->newest, step))
		return true;
	drop_last(sync);
	return false;
}

static void keep_last(struct arrays_sync *sync, void *made, uint32_t generation)
{
	drop_last(sync);
	sync->last = made;
	sync->last_generation = generation;
}

enum arrays_taken arrays_sync_take(struct arrays_sync *sync, const struct service_config *config,
				   const struct arrays_step *step, const uint8_t *data, size_t len, unsigned *error,
				   struct reason *why)
{
	const struct steering_arrays_expected expected = {
	    .service = config->name,
	    .id = config->id,
	    .generation = step->generation,
	    .base = step->base_generation,
	    .buckets = config->buckets,
	    .hash = (uint8_t)config->hash,
	};
	const struct steering_arrays *method = sync->ready.method;
	void *made;

	if (len >= ARRAYS_JOB_BYTES) {
		sync->job = arrays_job_start(method, &expected, step->base, data, len);
		sync->job_generation = step->generation;
	}
	if (sync->job)
		return ARRAYS_UNDER_WAY;
	*error = method->parse(&expected, step->base, data, len, &made, why);
	if (*error)
		return ARRAYS_REFUSED;
	keep_last(sync, made, step->generation);
	return ARRAYS_TAKEN;
}

enum arrays_taken arrays_sync_poll(struct arrays_sync *sync, uint32_t *generation, unsigned *error, struct reason *why)
{
	void *made;

	if (!arrays_job_take(sync->job, error, &made, why))
		return ARRAYS_UNDER_WAY;
	sync->job = NULL;
	*generation = sync->job_generation;
	if (*error)
		return ARRAYS_REFUSED;
	keep_last(sync, made, *generation);
	return ARRAYS_TAKEN;
}

/* Fewer words exist than there is room for. */
void arrays_sync_count(struct arrays_sync *sync, const char *word)
{
	struct arrays_refusals *refusals = &sync->refusals;
	size_t i = 0;

	while (refusals->at[i].word && refusals->at[i].word != word)
		i++;
	refusals->at[i].word = word;
	refusals->at[i].count++;
}

void arrays_sync_begin(struct arrays_sync *sync, uint64_t now_ms)
{
	if (!sync->has_begun)
		sync->began_ms = now_ms;
	sync->has_begun = true;
}

void arrays_sync_end(struct arrays_sync *sync, uint64_t now_ms)
{
	sync->took_ms = now_ms - sync->began_ms;
	sync->has_begun = false;
	sync->missed = 0;
}
