/* SPDX-License-Identifier: Apache-2.0 */
#include "control/cluster/state_keeper.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <jansson.h>

#include "config/clock.h"
#include "control/service/config_node.h"
#include "ring/backend.h"
#include "ring/delta_decode.h"
#include "state/state_saver.h"

enum {
	CONFIG_BYTES_MAX = 1 << 20,
	ADDRESS_LEN = sizeof(struct fl_address),
	SEED_LEN = 16,
	SCAN_MS = 250, /* between two looks at all services */
};

/* What there may be of a service in the folder: names' values. */
enum { HAS_RING = 1, HAS_ARRAYS = 2 };

static const size_t arrays_bytes_max = STATE_FILE_HEADER_LEN + (size_t)STEERING_ARRAYS_BYTES_MAX,
		    file_bytes_max =
			STATE_FILE_HEADER_LEN + CONFIG_BYTES_MAX + (size_t)DELTA_BYTES_MAX + STATE_ARRAYS_PART_MAX;
static const char cluster_file[] = "cluster";

static uint64_t unix_seconds(void)
{
	return (uint64_t)time(NULL);
}

static void *copy(const void *from, size_t len)
{
	void *to = malloc(len + 1);

	if (to && len)
		memcpy(to, from, len);
	return to;
}

static json_int_t known_files(const json_t *names, const char *name)
{
	return json_integer_value(json_object_get(names, name));
}

static void note_file(void *context, const char *name)
{
	char service[SERVICE_NAME_MAX + 1], ring[STATE_NAME_MAX + 1];
	bool is_ring = state_name_is_ring(name, service);

	if (!is_ring && !state_name_is_arrays(name, service))
		return;
	state_name_of_ring(service, ring);
	json_object_set_new(context, ring,
			    json_integer(known_files(context, ring) | (is_ring ? HAS_RING : HAS_ARRAYS)));
}

/* Opens the folder if it is not open; a reason is logged once. */
static bool open_folder(struct state_keeper *keeper)
{
	struct reason why = {""};
	int error = 0;

	if (keeper->saver)
		return true;
	keeper->folder = state_folder_open(keeper->path, &why);
	if (!keeper->folder)
		error = errno;
	else
		keeper->saver = state_saver_new(keeper->folder);
	if (keeper->folder && !keeper->saver) {
		state_folder_close(keeper->folder);
		error = ENOMEM;
		snprintf(why.text, sizeof(why.text), "no memory");
	}
	if (error) {
		keeper->folder = NULL;
		if (error != keeper->open_error)
			fprintf(stderr, "mux event=state_unusable why=\"%s\"\n", why.text);
		keeper->open_error = error;
		return false;
	}
	state_folder_list(keeper->folder, note_file, keeper->names);
	fprintf(stderr, "mux event=state_opened folder=%s services=%zu\n", keeper->path,
		json_object_size(keeper->names));
	keeper->open_error = 0;
	return true;
}

struct state_keeper *state_keeper_new(const char *path)
{
	struct state_keeper *keeper = tree_alloc(sizeof(*keeper));

	keeper->path = tree_copy(path);
	keeper->names = json_object();
	open_folder(keeper);
	return keeper;
}

void state_keeper_free(struct state_keeper *keeper)
{
	if (!keeper)
		return;
	state_saver_free(keeper->saver);
	json_decref(keeper->names);
	settled_clear(&keeper->given);
	settled_clear(&keeper->settled);
	free(keeper->muxes);
	free(keeper->path);
	free(keeper);
}

static void refuse(struct state_keeper *keeper, const char *name, enum state_error error, const char *why)
{
	keeper->refused[error]++;
	fprintf(stderr, "mux event=state_refused file=%s/%s reason=%s why=\"%s\"\n", keeper->path, name,
		state_error_name(error), why);
}

/* Reads and checks a file; *data is to be freed. False: it is refused. */
static bool read_file(struct state_keeper *keeper, const char *name, enum state_kind kind, uint8_t **data,
		      struct state_file *file)
{
	const char *cluster = keeper->cluster[0] ? keeper->cluster : NULL;
	struct reason why = {""};
	enum state_error refused;
	size_t len = 0;
	size_t max = kind == STATE_ARRAYS ? arrays_bytes_max : file_bytes_max;
	int error = state_folder_read(keeper->folder, name, max, data, &len);

	if (error) {
		refuse(keeper, name, STATE_UNREADABLE, strerror(-error));
		return false;
	}
	refused = state_file_parse(*data, len, kind, cluster, file, &why);
	if (!refused)
		return true;
	refuse(keeper, name, refused, why.text);
	free(*data);
	*data = NULL;
	return false;
}

static struct fl_siphash_key load_seed(const struct state_part *part)
{
	static const struct fl_siphash_key zero;

	return part->len ? fl_siphash_key_load(part->data) : zero;
}

/* As one part of a file. NULL: no memory. */
static uint8_t *store_seed(const struct fl_siphash_key *seed, size_t *len)
{
	uint8_t bytes[SEED_LEN];

	fl_store_le64(bytes, seed->k0);
	fl_store_le64(bytes + 8, seed->k1);
	*len = seed->k0 | seed->k1 ? SEED_LEN : 0;
	return copy(bytes, *len);
}

static bool read_cluster(struct state_keeper *keeper, const struct state_target *target)
{
	struct reason why = {"no memory"};
	struct fl_address *addresses = NULL;
	struct state_file file;
	const struct state_part *muxes = &file.parts[0], *settled = &file.parts[1], *seed = &file.parts[2];
	uint8_t *data;

	if (!read_file(keeper, cluster_file, STATE_CLUSTER, &data, &file))
		return false;
	if (muxes->len % ADDRESS_LEN || muxes->len / ADDRESS_LEN > UINT16_MAX || (seed->len && seed->len != SEED_LEN))
		reason_set(&why, -EINVAL,
			   "addresses of %zu bytes and a seed of %zu; allowed: %d for each of at most %d muxes, and %d "
			   "or 0",
			   muxes->len, seed->len, ADDRESS_LEN, UINT16_MAX, SEED_LEN);
	else if (!settled_load(settled->data, settled->len, &keeper->settled, &why) &&
		 settled_copy(&keeper->given, &keeper->settled))
		addresses = copy(muxes->data, muxes->len); /* aligned */
	if (addresses) {
		strcpy(keeper->cluster, file.cluster);
		keeper->muxes = addresses;
		keeper->muxes_count = (uint32_t)(muxes->len / ADDRESS_LEN);
		keeper->seed = load_seed(seed);
		target->cluster(target->context, file.cluster, addresses, keeper->muxes_count, &keeper->seed,
				&keeper->settled);
	} else {
		refuse(keeper, cluster_file, STATE_CONTENT, why.text);
	}
	free(data);
	return addresses;
}

static bool read_arrays(void *context, const char *name, uint8_t **data, struct state_file *file)
{
	return read_file(context, name, STATE_ARRAYS, data, file);
}

static int restore_parts(struct state_keeper *keeper, const char *service, const struct state_file *file,
			 const struct state_target *target, uint32_t *generation, struct reason *why)
{
	const struct state_part *snapshot = &file->parts[1];
	struct steering_arrays_expected arrays_expected = {.service = service};
	struct fl_delta_header header = {0};
	struct delta_expected expected = {.snapshot = true};
	struct service_config config;
	struct arrays_set arrays;
	struct delta image;
	int error = config_node_parse((const char *)file->parts[0].data, file->parts[0].len, service, &config, why);

	if (error)
		return error;
	fl_delta_header_parse(snapshot->data, snapshot->len, &header); /* decoding says what is wrong with it */
	expected.service = config.id;
	expected.buckets = config.buckets;
	expected.generation = *generation = header.generation;
	if (delta_decode(snapshot->data, snapshot->len, &expected, &image, why))
		return -EINVAL;
	arrays_expected.id = config.id;
	arrays_expected.buckets = config.buckets;
	arrays_expected.hash = (uint8_t)config.hash;
	error = state_arrays_read(&file->parts[2], config.steering->arrays, &arrays_expected, read_arrays, keeper,
				  &arrays, why);
	if (!error && !image.generation)
		error = reason_set(why, -EINVAL, "generation is 0; allowed: 1 and more");
	if (!error && arrays.version.newest > image.generation)
		error = reason_set(why, -EINVAL, "arrays of generation %u; allowed: at most %u, the ring's",
				   arrays.version.newest, image.generation);
	if (!error)
		error = target->service(target->context, &config, &image, &arrays, why);
	arrays_set_clear(&arrays);
	delta_free(&image);
	return error;
}

static bool restore_service(struct state_keeper *keeper, const char *name, const struct state_target *target)
{
	char service[SERVICE_NAME_MAX + 1];
	struct reason why = {""};
	struct state_file file;
	uint32_t generation = 0;
	uint64_t now = unix_seconds();
	uint8_t *data;
	int error;

	if (!read_file(keeper, name, STATE_SERVICE, &data, &file))
		return false;
	state_name_is_ring(name, service);
	error = restore_parts(keeper, service, &file, target, &generation, &why);
	if (error)
		refuse(keeper, name, STATE_CONTENT, why.text);
	else
		fprintf(stderr, "mux event=restored service=%s generation=%u age_s=%" PRIu64 "\n", service, generation,
			now > file.saved ? now - file.saved : 0);
	free(data);
	return !error;
}

bool state_keeper_restore_cluster(struct state_keeper *keeper, const struct state_target *target)
{
	if (!keeper->is_cluster_read && open_folder(keeper) && json_object_size(keeper->names)) {
		keeper->is_cluster_read = true;
		read_cluster(keeper, target);
	}
	return keeper->cluster[0];
}

int state_keeper_restore(struct state_keeper *keeper, const struct state_target *target)
{
	int restored = 0;
	const char *name;
	json_t *value;

	if (!open_folder(keeper))
		return -EAGAIN;
	if (!state_keeper_restore_cluster(keeper, target))
		return 0;
	json_object_foreach(keeper->names, name, value)
	{
		if (json_integer_value(value) & HAS_RING)
			restored += restore_service(keeper, name, target);
	}
	return restored;
}

static struct state_job *new_job(const struct state_keeper *keeper, enum state_kind kind, const char *name)
{
	struct state_job *job = calloc(1, sizeof(*job));

	if (!job)
		return NULL;
	job->kind = kind;
	job->saved = unix_seconds();
	strcpy(job->cluster, keeper->cluster);
	snprintf(job->name, sizeof(job->name), "%s", name);
	return job;
}

static void give(struct state_keeper *keeper, struct state_job *job)
{
	state_saver_give(keeper->saver, job);
	keeper->is_writing = true;
}

/* The cluster's file, if it is not as it should be. */
static bool write_cluster(struct state_keeper *keeper, const struct state_view *view)
{
	static const struct settled none;
	const struct settled *settled = view->settled ? view->settled : &none;
	size_t len = view->muxes_count * (size_t)ADDRESS_LEN;
	struct fl_address *muxes;
	struct state_job *job;

	if (!strcmp(keeper->cluster, view->cluster) && keeper->muxes_count == view->muxes_count &&
	    (!len || !memcmp(keeper->muxes, view->muxes, len)) && keeper->seed.k0 == view->seed.k0 &&
	    keeper->seed.k1 == view->seed.k1 && settled_equal(&keeper->given, settled))
		return false;
	muxes = copy(view->muxes, len);
	snprintf(keeper->cluster, sizeof(keeper->cluster), "%s", view->cluster);
	job = new_job(keeper, STATE_CLUSTER, cluster_file);
	if (job) {
		job->parts[0] = (struct state_bytes){copy(view->muxes, len), len};
		job->parts[1].data = settled_store(settled, &job->parts[1].len);
		job->parts[2].data = store_seed(&view->seed, &job->parts[2].len);
	}
	if (!muxes || !job || !job->parts[0].data || !job->parts[1].data || !job->parts[2].data ||
	    !settled_copy(&keeper->given, settled)) {
		keeper->cluster[0] = 0; /* so that it is written later */
		free(muxes);
		state_job_free(job);
		return false;
	}
	free(keeper->muxes);
	keeper->muxes = muxes;
	keeper->muxes_count = view->muxes_count;
	keeper->seed = view->seed;
	give(keeper, job);
	return true;
}

/* Copies what is served; this thread alone writes it. */
static struct state_job *service_job(const struct state_keeper *keeper, const struct published_service *published)
{
	const struct service_config *config = &published->service->config;
	const struct ring *ring = published_ring(published);
	const struct backends *backends = ring_backends(ring);
	char *text = config_node_print(config);
	char name[STATE_NAME_MAX + 1];
	struct state_job *job;

	state_name_of_ring(published->name, name);
	job = new_job(keeper, STATE_SERVICE, name);
	if (!job) {
		free(text);
		return NULL;
	}
	job->stamp = published->stamp;
	job->parts[0] = (struct state_bytes){(uint8_t *)text, text ? strlen(text) : 0};
	job->snapshot = (struct delta){
	    .snapshot = true,
	    .service = config->id,
	    .generation = ring_generation(ring),
	    .buckets = ring_buckets(ring),
	    .backends_count = backends->count,
	    .backends = copy(backends->list, backends->count * sizeof(*backends->list)),
	};
	arrays_set_copy(&job->arrays, &published->arrays);
	if (text && job->snapshot.backends && image_copy(&job->snapshot.image, &ring->image))
		return job;
	state_job_free(job);
	return NULL;
}

static bool write_service(struct state_keeper *keeper, const struct state_view *view, uint64_t now_ms)
{
	for (unsigned i = 0; i < view->count; i++) {
		unsigned at = (keeper->next + i) % view->count;
		struct published_service *published = &view->syncs[at]->ring.published;
		struct state_job *job;
		json_int_t files;

		if (!published_is_unsaved(published) || now_ms < published->save_at)
			continue;
		published->save_at = now_ms + STATE_KEEPER_SERVICE_MS;
		keeper->next = at + 1;
		job = service_job(keeper, published);
		if (!job)
			return false;
		files = known_files(keeper->names, job->name) | HAS_RING | (job->arrays.newest ? HAS_ARRAYS : 0);
		job->cleans = files & HAS_ARRAYS;
		json_object_set_new(keeper->names, job->name, json_integer(files));
		give(keeper, job);
		return true;
	}
	return false;
}

/* The files of one service that is not in the list. */
static bool remove_unlisted(struct state_keeper *keeper, const struct state_view *view)
{
	json_t *listed = json_object(), *value;
	const char *name, *found = NULL;
	char file[STATE_NAME_MAX + 1];
	struct state_job *job = NULL;

	for (unsigned i = 0; listed && i < view->count; i++) {
		state_name_of_ring(view->syncs[i]->name, file);
		if (!view->syncs[i]->is_deleted)
			json_object_set_new(listed, file, json_true());
	}
	if (listed && json_object_size(keeper->names) > 0)
		json_object_foreach(keeper->names, name, value) if (!found && !json_object_get(listed, name)) found =
		    name;
	if (found)
		job = new_job(keeper, STATE_SERVICE, found);
	json_decref(listed);
	if (!job)
		return false;
	job->removes = true;
	job->cleans = known_files(keeper->names, job->name) & HAS_ARRAYS;
	give(keeper, job);
	return true;
}

/* Arrays may be on disk although their ring could not be written. */
static void take_saved(const struct state_view *view, const struct state_result *result)
{
	for (unsigned i = 0; i < view->count; i++) {
		struct published_service *published = &view->syncs[i]->ring.published;
		char name[STATE_NAME_MAX + 1];

		state_name_of_ring(published->name, name);
		if (strcmp(name, result->name) != 0)
			continue;
		arrays_set_learn_files(&published->arrays, &result->arrays);
		if (result->error)
			continue;
		published->saved_stamp = result->stamp;
		if (published->service && published->service->id == result->service)
			published->saved = result->generation;
	}
}

static void take(struct state_keeper *keeper, const struct state_view *view, struct state_result *result,
		 uint64_t now_ms)
{
	if (!result->removed)
		take_saved(view, result);
	keeper->is_writing = false;
	keeper->rest_until = now_ms + STATE_KEEPER_REST * result->took_ms;
	keeper->scan_at = keeper->rest_until;
	if (result->error) {
		keeper->failed++;
		keeper->rest_until = keeper->scan_at = now_ms + STATE_KEEPER_RETRY_MS;
		if (!strcmp(result->name, cluster_file))
			keeper->cluster[0] = 0; /* so that it is written again */
		if (result->error != keeper->write_error)
			fprintf(stderr, "mux event=state_write_failed file=%s/%s error=\"%s\"\n", keeper->path,
				result->name, strerror(-result->error));
	} else {
		keeper->written++;
		if (!strcmp(result->name, cluster_file))
			settled_copy(&keeper->settled, &keeper->given);
		if (keeper->write_error)
			fprintf(stderr, "mux event=state_written_again file=%s/%s\n", keeper->path, result->name);
		if (result->removed)
			json_object_del(keeper->names, result->name);
		else if (!result->arrays.newest && known_files(keeper->names, result->name))
			json_object_set_new(keeper->names, result->name,
					    json_integer(HAS_RING)); /* others are removed */
	}
	arrays_set_clear(&result->arrays);
	keeper->write_error = result->error;
}

void state_keeper_run(struct state_keeper *keeper, const struct state_view *view, uint64_t now_ms)
{
	struct state_result result;

	keeper->poll_at = now_ms + STATE_KEEPER_POLL_MS;
	if (!keeper->saver && now_ms >= keeper->open_at) {
		keeper->open_at = now_ms + STATE_KEEPER_RETRY_MS;
		open_folder(keeper);
	}
	if (keeper->is_writing && state_saver_take(keeper->saver, &result))
		take(keeper, view, &result, now_ms);
	if (!keeper->saver || keeper->is_writing || now_ms < keeper->rest_until || now_ms < keeper->scan_at ||
	    !view->cluster[0])
		return;
	if (write_cluster(keeper, view) || write_service(keeper, view, now_ms) ||
	    (view->is_listed && json_object_size(keeper->names) && remove_unlisted(keeper, view)))
		return;
	keeper->scan_at = now_ms + SCAN_MS;
}

/* Each pass takes a result or gives a file to be written; none does once all is written. */
void state_keeper_flush(struct state_keeper *keeper, const struct state_view *view)
{
	static const struct timespec pause = {.tv_nsec = 1000000};
	uint64_t until = clock_ms() + STATE_KEEPER_FLUSH_MS, written, failed = keeper->failed;

	if (!keeper->saver)
		return;
	do {
		for (unsigned i = 0; i < view->count; i++)
			view->syncs[i]->ring.published.save_at = 0;
		keeper->rest_until = keeper->scan_at = 0;
		written = keeper->written;
		state_keeper_run(keeper, view, 0);
		if (keeper->is_writing)
			nanosleep(&pause, NULL);
	} while (clock_ms() < until && keeper->failed == failed && (keeper->is_writing || keeper->written != written));
}

uint64_t state_keeper_deadline(const struct state_keeper *keeper)
{
	return keeper->is_writing ? keeper->poll_at : UINT64_MAX;
}
