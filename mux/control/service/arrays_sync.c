/* SPDX-License-Identifier: Apache-2.0 */
#include "control/service/arrays_sync.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

/* Who frees a job: the last of the two threads. */
enum job_state { JOB_RUNS, JOB_ENDED, JOB_ABANDONED };

/*
 * Checks and unpacks arrays in a thread of its own: those of 10 million connections take 0.2 to 0.7 s, for which the
 * control thread would send no hello. One thread for each job; there is one job of a service at a time, and arrays are
 * rare. The control thread polls.
 */
struct arrays_job {
	enum job_state state; /* atomic; all below is the thread's while the job runs */
	const struct steering_arrays *method;
	struct steering_arrays_expected expected;
	char *service;
	void *base;
	uint8_t *data;
	size_t len;
	unsigned error;
	void *made;
	struct reason why;
};

static void job_free(struct arrays_job *job)
{
	if (job->base)
		job->method->free(job->base);
	if (job->made)
		job->method->free(job->made);
	free(job->service);
	free(job->data);
	free(job);
}

/* Whether the job was still running until now. */
static bool leave(struct arrays_job *job, enum job_state state)
{
	enum job_state runs = JOB_RUNS;

	return __atomic_compare_exchange_n(&job->state, &runs, state, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);
}

static void *run(void *context)
{
	struct arrays_job *job = context;

	job->error = job->method->parse(&job->expected, job->base, job->data, job->len, &job->made, &job->why);
	if (job->error)
		job->made = NULL;
	if (!leave(job, JOB_ENDED))
		job_free(job);
	return NULL;
}

static bool start_thread(struct arrays_job *job)
{
	pthread_attr_t attributes;
	pthread_t thread;
	bool started;

	if (pthread_attr_init(&attributes))
		return false;
	pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
	started = !pthread_create(&thread, &attributes, run, job);
	pthread_attr_destroy(&attributes);
	return started;
}

/* Copies the bytes and keeps base. NULL: no memory, or no thread. */
static struct arrays_job *job_start(const struct steering_arrays *method,
				    const struct steering_arrays_expected *expected, void *base, const uint8_t *data,
				    size_t len)
{
	struct arrays_job *job = calloc(1, sizeof(*job));

	if (!job)
		return NULL;
	job->method = method;
	job->expected = *expected;
	job->service = strdup(expected->service);
	job->expected.service = job->service;
	job->base = base ? method->keep(base) : NULL;
	job->len = len;
	job->data = malloc(len + !len);
	if (job->data)
		memcpy(job->data, data, len);
	if (job->data && job->service && start_thread(job))
		return job;
	job_free(job);
	return NULL;
}

/* The result is not wanted any more; does not wait. */
static void job_abandon(struct arrays_job *job)
{
	if (job && !leave(job, JOB_ABANDONED))
		job_free(job);
}

static void drop_made(const struct arrays_sync *sync, struct arrays_reading *reading)
{
	if (reading->made)
		sync->ready.method->free(reading->made);
	reading->made = NULL;
	reading->generation = 0;
}

static void keep_made(const struct arrays_sync *sync, struct arrays_reading *reading, void *made, uint32_t generation)
{
	drop_made(sync, reading);
	reading->made = made;
	reading->generation = generation;
}

/* What was complete of another version may be on the way to this one. */
static void drop_ready(struct arrays_sync *sync)
{
	const struct steering_arrays *method = sync->ready.method;

	if (sync->ready.newest)
		keep_made(sync, &sync->latest, method->keep(sync->ready.newest), sync->ready.version.newest);
	else if (sync->ready.previous && !sync->latest.made)
		keep_made(sync, &sync->latest, method->keep(sync->ready.previous), sync->ready.version.previous);
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
	sync->ahead_is_failed = false;
}

void arrays_sync_forget(struct arrays_sync *sync)
{
	const struct arrays_refusals refusals = sync->refusals;
	uint64_t took_ms = sync->took_ms;
	bool is_asked = sync->ahead_is_asked; /* its answer comes all the same */

	job_abandon(sync->latest.job);
	job_abandon(sync->ahead.job);
	drop_made(sync, &sync->latest);
	drop_made(sync, &sync->ahead);
	arrays_set_clear(&sync->ready);
	*sync = (struct arrays_sync){.took_ms = took_ms, .refusals = refusals, .ahead_is_asked = is_asked};
}

static void *find_made(const struct arrays_reading *reading, uint32_t generation)
{
	return reading->made && reading->generation == generation ? reading->made : NULL;
}

/* Arrays that are held by anything, without a new reference. */
static void *find(const struct arrays_sync *sync, const struct arrays_set *held, uint32_t generation)
{
	void *found = find_made(&sync->latest, generation);

	if (!found)
		found = find_made(&sync->ahead, generation);
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
	drop_made(sync, &sync->latest);
	if (!list->ahead.whole)
		drop_made(sync, &sync->ahead);
	return false;
}

bool arrays_sync_next_ahead(struct arrays_sync *sync, const struct service_config *config,
			    const struct arrays_set *held, struct arrays_step *step)
{
	uint32_t wanted = arrays_source_end(&sync->list.ahead);
	void *made;

	if (!wanted || sync->ahead.generation == wanted)
		return false;
	sync->ready.method = config->steering->arrays;
	if (!build(sync, held, &sync->list.ahead, wanted, &made, step))
		return true;
	keep_made(sync, &sync->ahead, made, wanted);
	return false;
}

uint32_t arrays_sync_newest(const struct arrays_sync *sync, const struct arrays_set *held)
{
	uint32_t wanted = arrays_source_end(&sync->list.ahead);

	return wanted && sync->ahead.generation == wanted ? wanted : held->version.newest;
}

static struct arrays_result end_step(const struct arrays_sync *sync, struct arrays_reading *reading, unsigned error,
				     void *made, struct arrays_result result)
{
	if (error) {
		result.taken = ARRAYS_REFUSED;
		result.word = sync->ready.method->name(error);
	} else {
		result.taken = ARRAYS_TAKEN;
		keep_made(sync, reading, made, result.generation);
	}
	return result;
}

struct arrays_result arrays_sync_take(const struct arrays_sync *sync, struct arrays_reading *reading,
				      const struct service_config *config, const struct arrays_step *step,
				      const uint8_t *data, size_t len)
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
	struct arrays_result result = {.generation = step->generation};
	void *made = NULL;
	unsigned error;

	if (len >= ARRAYS_JOB_BYTES)
		reading->job = job_start(method, &expected, step->base, data, len);
	if (reading->job)
		return result;
	error = method->parse(&expected, step->base, data, len, &made, &result.why);
	return end_step(sync, reading, error, made, result);
}

struct arrays_result arrays_sync_poll(const struct arrays_sync *sync, struct arrays_reading *reading)
{
	struct arrays_job *job = reading->job;
	struct arrays_result result = {0};

	if (!job || __atomic_load_n(&job->state, __ATOMIC_ACQUIRE) != JOB_ENDED)
		return result;
	result.generation = job->expected.generation;
	result.why = job->why;
	result = end_step(sync, reading, job->error, job->made, result);
	job->made = NULL;
	job_free(job);
	reading->job = NULL;
	return result;
}

bool arrays_sync_is_checking(const struct arrays_sync *sync)
{
	return sync->latest.job || sync->ahead.job;
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
