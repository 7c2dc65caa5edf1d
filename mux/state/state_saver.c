/* SPDX-License-Identifier: Apache-2.0 */
#include "state/state_saver.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "config/clock.h"

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

/* Leaves room for the header. */
static int begin(struct parts *parts, const struct state_job *job, enum state_kind kind, const char *name,
		 const struct state_folder *folder)
{
	uint8_t header[STATE_FILE_HEADER_LEN] = {0};
	int error;

	*parts = (struct parts){.file = {.kind = kind}};
	if (kind != STATE_ARRAYS) /* the same arrays have the same checksum, so crashes leave them once */
		parts->file.saved = job->saved;
	strcpy(parts->file.cluster, job->cluster);
	error = state_writing_begin(&parts->writing, folder, name);
	return error ? error : state_writing_append(&parts->writing, header, sizeof(header));
}

static int write_header(struct parts *parts, uint32_t *checksum)
{
	uint8_t header[STATE_FILE_HEADER_LEN];

	*checksum = state_file_header(&parts->file, parts->crc, header);
	return state_writing_head(&parts->writing, header, sizeof(header));
}

/* Arrays in a file of their own, unless they are there. */
static int write_arrays(const struct state_job *job, const struct state_folder *folder, const char *service,
			const void *arrays, uint32_t generation, struct arrays_file *file)
{
	char name[STATE_NAME_MAX + 1];
	struct arrays_file written = {0};
	struct parts parts;
	int error;

	state_name_of_arrays(service, generation, file->checksum, name);
	if (!arrays || (file->len && state_folder_has(folder, name, STATE_FILE_HEADER_LEN + file->len)))
		return 0;
	state_name_of_unfinished_arrays(service, name);
	error = begin(&parts, job, STATE_ARRAYS, name, folder);
	if (!error)
		error = job->arrays.method->write(arrays, job->snapshot.service, append, &parts);
	if (!error)
		error = write_header(&parts, &written.checksum);
	if (error) {
		state_writing_abandon(&parts.writing);
		return error;
	}
	written.len = parts.file.parts[0].len;
	state_name_of_arrays(service, generation, written.checksum, name);
	error = state_writing_commit(&parts.writing, name);
	if (!error)
		*file = written;
	return error;
}

static int write_parts(struct state_job *job, struct parts *parts)
{
	uint8_t list[STATE_ARRAYS_PART_MAX];
	size_t list_len = state_arrays_store(&job->arrays, list);
	uint32_t checksum;
	int error = 0;

	for (; !error && parts->at < STATE_FILE_PARTS; parts->at++) {
		if (job->kind == STATE_SERVICE && parts->at == 1)
			error = snapshot_write(&job->snapshot, append, parts);
		else if (job->kind == STATE_SERVICE && parts->at == 2)
			error = append(parts, list, list_len);
		else
			error = append(parts, job->parts[parts->at].data, job->parts[parts->at].len);
	}
	return error ? error : write_header(parts, &checksum);
}

static int write_file(struct state_job *job, const struct state_folder *folder)
{
	struct parts parts;
	int error = begin(&parts, job, job->kind, job->name, folder);

	if (!error)
		error = write_parts(job, &parts);
	if (!error)
		return state_writing_commit(&parts.writing, job->name);
	state_writing_abandon(&parts.writing);
	return error;
}

/* The removal of arrays that a service's file does not name. */
struct cleaning {
	const struct state_folder *folder;
	const char *service;
	char kept[2][STATE_NAME_MAX + 1]; /* of the newest and those before; "": none */
	int error;
};

static void clean_one(void *context, const char *name)
{
	struct cleaning *cleaning = context;
	char service[SERVICE_NAME_MAX + 1];
	int error;

	if (!state_name_is_arrays(name, service) || strcmp(service, cleaning->service) != 0 ||
	    !strcmp(name, cleaning->kept[0]) || !strcmp(name, cleaning->kept[1]))
		return;
	error = state_folder_remove(cleaning->folder, name);
	if (error)
		cleaning->error = error;
}

static int clean(const struct state_job *job, const struct state_folder *folder, const char *service)
{
	struct cleaning cleaning = {.folder = folder, .service = service};
	const struct arrays_set *arrays = &job->arrays;
	int error;

	if (!job->removes && arrays->newest)
		state_name_of_arrays(service, arrays->version.newest, arrays->newest_file.checksum, cleaning.kept[0]);
	if (!job->removes && arrays->previous)
		state_name_of_arrays(service, arrays->version.previous, arrays->previous_file.checksum,
				     cleaning.kept[1]);
	error = state_folder_list(folder, clean_one, &cleaning);
	return error ? error : cleaning.error;
}

int state_job_run(struct state_job *job, const struct state_folder *folder)
{
	struct arrays_set *arrays = &job->arrays;
	char service[SERVICE_NAME_MAX + 1] = "";
	int error = 0;

	if (job->kind == STATE_SERVICE && !state_name_is_ring(job->name, service))
		return -EINVAL;
	if (!job->removes)
		error =
		    write_arrays(job, folder, service, arrays->newest, arrays->version.newest, &arrays->newest_file);
	if (!job->removes && !error)
		error = write_arrays(job, folder, service, arrays->previous, arrays->version.previous,
				     &arrays->previous_file);
	if (!error)
		error = job->removes ? state_folder_remove(folder, job->name) : write_file(job, folder);
	return !error && job->cleans ? clean(job, folder, service) : error;
}

void state_job_free(struct state_job *job)
{
	if (!job)
		return;
	for (int i = 0; i < STATE_FILE_PARTS; i++)
		free(job->parts[i].data);
	delta_free(&job->snapshot);
	arrays_set_clear(&job->arrays);
	free(job);
}

/* Without the lock: the job is the saver's until its result is there. */
static struct state_result run(const struct state_saver *saver, struct state_job *job)
{
	struct state_result result = {.removed = job->removes,
				      .stamp = job->stamp,
				      .service = job->snapshot.service,
				      .generation = job->snapshot.generation};
	uint64_t begun = clock_ms();

	strcpy(result.name, job->name);
	result.error = state_job_run(job, saver->folder);
	result.took_ms = clock_ms() - begun;
	result.arrays = job->arrays;
	job->arrays = (struct arrays_set){0};
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
	if (saver->has_result)
		arrays_set_clear(&saver->result.arrays);
	pthread_cond_destroy(&saver->wake);
	pthread_mutex_destroy(&saver->lock);
	state_folder_close(saver->folder);
	free(saver);
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
