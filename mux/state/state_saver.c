/* SPDX-License-Identifier: Apache-2.0 */
#include "state/state_saver.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

enum { NICE = 10 }; /* packets and the control thread come first */

struct state_saver {
	struct state_folder *folder;
	pthread_t thread;
	pthread_mutex_t lock; /* of all below */
	pthread_cond_t wake;
	struct state_job *job; /* under way, NULL: none */
	bool has_result;
	bool ends;
	struct state_result result;
};

/* A file's parts as they are written. */
struct parts {
	struct state_writing writing;
	struct state_file file;
	uint32_t crc;
	int at; /* the part that grows */
};

static int append(void *context, const void *bytes, size_t len)
{
	struct parts *parts = context;

	parts->crc = state_file_sum(parts->crc, bytes, len);
	parts->file.parts[parts->at].len += len;
	return state_writing_append(&parts->writing, bytes, len);
}

static int write_parts(const struct state_job *job, struct parts *parts)
{
	uint8_t header[STATE_FILE_HEADER_LEN] = {0};
	int error = state_writing_append(&parts->writing, header, sizeof(header));

	if (!error)
		error = append(parts, job->first, job->first_len);
	parts->at++;
	if (!error && job->kind == STATE_SERVICE)
		error = snapshot_write(&job->snapshot, append, parts);
	parts->at++;
	if (!error && job->blob_len)
		error = append(parts, job->blob, job->blob_len);
	if (error)
		return error;
	state_file_header(&parts->file, parts->crc, header);
	return state_writing_head(&parts->writing, header, sizeof(header));
}

int state_job_run(const struct state_job *job, const struct state_folder *folder)
{
	struct parts parts = {.file = {.kind = job->kind, .saved = job->saved}};
	int error;

	if (job->removes)
		return state_folder_remove(folder, job->name);
	strcpy(parts.file.cluster, job->cluster);
	error = state_writing_begin(&parts.writing, folder, job->name);
	if (!error)
		error = write_parts(job, &parts);
	if (!error)
		return state_writing_commit(&parts.writing);
	state_writing_abandon(&parts.writing);
	return error;
}

void state_job_free(struct state_job *job)
{
	if (!job)
		return;
	free(job->first);
	free((void *)(uintptr_t)job->snapshot.rows);
	free((void *)(uintptr_t)job->snapshot.backends);
	free(job->blob);
	free(job);
}

static uint64_t clock_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

/* Without the lock: the job is the saver's until its result is there. */
static struct state_result run(const struct state_saver *saver, const struct state_job *job)
{
	struct state_result result = {.removed = job->removes, .stamp = job->stamp};
	uint64_t begin = clock_ms();

	strcpy(result.name, job->name);
	result.error = state_job_run(job, saver->folder);
	result.took_ms = clock_ms() - begin;
	return result;
}

static void *loop(void *context)
{
	struct state_saver *saver = context;

	setpriority(PRIO_PROCESS, 0, NICE); /* of this thread alone, on Linux */
	pthread_mutex_lock(&saver->lock);
	while (!saver->ends) {
		struct state_job *job = saver->job;
		struct state_result result;

		if (!job || saver->has_result) {
			pthread_cond_wait(&saver->wake, &saver->lock);
			continue;
		}
		pthread_mutex_unlock(&saver->lock);
		result = run(saver, job);
		state_job_free(job);
		pthread_mutex_lock(&saver->lock);
		saver->job = NULL;
		saver->result = result;
		saver->has_result = true;
	}
	pthread_mutex_unlock(&saver->lock);
	return NULL;
}

struct state_saver *state_saver_new(struct state_folder *folder)
{
	struct state_saver *saver = calloc(1, sizeof(*saver));

	if (!saver)
		return NULL;
	saver->folder = folder;
	pthread_mutex_init(&saver->lock, NULL);
	pthread_cond_init(&saver->wake, NULL);
	if (!pthread_create(&saver->thread, NULL, loop, saver)) {
		pthread_setname_np(saver->thread, "state");
		return saver;
	}
	pthread_cond_destroy(&saver->wake);
	pthread_mutex_destroy(&saver->lock);
	free(saver);
	return NULL;
}

void state_saver_free(struct state_saver *saver)
{
	if (!saver)
		return;
	pthread_mutex_lock(&saver->lock);
	saver->ends = true;
	pthread_cond_signal(&saver->wake);
	pthread_mutex_unlock(&saver->lock);
	pthread_join(saver->thread, NULL);
	state_job_free(saver->job); /* given, but not begun */
	pthread_cond_destroy(&saver->wake);
	pthread_mutex_destroy(&saver->lock);
	state_folder_close(saver->folder);
	free(saver);
}

bool state_saver_is_busy(struct state_saver *saver)
{
	bool busy;

	pthread_mutex_lock(&saver->lock);
	busy = saver->job || saver->has_result;
	pthread_mutex_unlock(&saver->lock);
	return busy;
}

void state_saver_give(struct state_saver *saver, struct state_job *job)
{
	pthread_mutex_lock(&saver->lock);
	saver->job = job;
	pthread_cond_signal(&saver->wake);
	pthread_mutex_unlock(&saver->lock);
}

bool state_saver_take(struct state_saver *saver, struct state_result *out)
{
	bool has;

	pthread_mutex_lock(&saver->lock);
	has = saver->has_result;
	if (has)
		*out = saver->result;
	saver->has_result = false;
	pthread_mutex_unlock(&saver->lock);
	return has;
}
