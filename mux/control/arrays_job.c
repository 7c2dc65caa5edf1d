/* SPDX-License-Identifier: Apache-2.0 */
#include "control/arrays_job.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

/* Who frees the job: the last of the two threads. */
enum job_state { JOB_RUNS, JOB_ENDED, JOB_ABANDONED };

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

struct arrays_job *arrays_job_start(const struct steering_arrays *method,
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

bool arrays_job_take(struct arrays_job *job, unsigned *error, void **out, struct reason *why)
{
	if (__atomic_load_n(&job->state, __ATOMIC_ACQUIRE) != JOB_ENDED)
		return false;
	*error = job->error;
	*out = job->made;
	*why = job->why;
	job->made = NULL;
	job_free(job);
	return true;
}

void arrays_job_abandon(struct arrays_job *job)
{
	if (job && !leave(job, JOB_ABANDONED))
		job_free(job);
}
