/* SPDX-License-Identifier: Apache-2.0 */
#include "arrays_world.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "../image.h"

int arrays_world_tear_down(void **state)
{
	struct names names = arrays_world_names();

	for (unsigned i = 0; i < names.count; i++)
		if (strstr(names.name[i], ".arrays"))
			state_world_remove(names.name[i]);
	return state_world_tear_down(state);
}

struct arrays_set arrays_world_make(const struct arrays_version *version)
{
	return (struct arrays_set){
	    .method = labels.arrays,
	    .version = *version,
	    .newest = version->newest ? labels_make(version->newest) : NULL,
	    .previous = version->previous ? labels_make(version->previous) : NULL,
	};
}

void arrays_world_load(uint32_t generation, const struct arrays_set *arrays)
{
	struct delta image = image_snapshot(1, generation, WORLD_BUCKETS, WORLD_BACKENDS);
	struct service_config config = image_config(1, "10.99.0.1", WORLD_BUCKETS);
	struct reason why = {""};

	config.steering = &labels;
	assert_int_equal(published_load(state_world_published(), &config, &image, arrays, &why), 0);
	image_free(&image);
}

static void on_cluster(void *context, const char *name, const struct fl_address *muxes, uint32_t count,
		       const struct fl_siphash_key *seed, const struct settled *settled)
{
	(void)context, (void)name, (void)muxes, (void)count, (void)seed, (void)settled;
}

static int on_service(void *context, const struct service_config *config, struct delta *image,
		      const struct arrays_set *arrays, struct reason *why)
{
	struct starting *starting = context;

	return published_load(&starting->published, config, image, arrays, why);
}

int starting_restore(struct starting *starting)
{
	const struct state_target target = {starting, on_cluster, on_service};
	struct state_keeper *keeper = state_world_keeper();
	int count;

	*starting = (struct starting){
	    .place = {.tables = tables_new(1, &image_hops), .counters = counters_new(1), .changes = change_log_new()}};
	starting->published.place = &starting->place;
	starting->published.name = "web";
	count = state_keeper_restore(keeper, &target);
	starting->content = keeper->refused[STATE_CONTENT];
	starting->checksum = keeper->refused[STATE_CHECKSUM];
	for (enum state_error error = STATE_UNREADABLE; error < STATE_ERRORS; error++)
		starting->refused += keeper->refused[error];
	state_keeper_free(keeper);
	return count;
}

void starting_end(struct starting *starting)
{
	published_remove(&starting->published);
	free(starting->place.changes);
	tables_free(starting->place.tables);
	counters_free(starting->place.counters);
}

static int compare(const void *a, const void *b)
{
	return strcmp(a, b);
}

struct names arrays_world_names(void)
{
	struct names names = {0};
	DIR *dir = opendir(world.folder);
	struct dirent *entry;

	assert_non_null(dir);
	while ((entry = readdir(dir))) {
		if (entry->d_name[0] == '.' || !strcmp(entry->d_name, "lock"))
			continue;
		assert_true(names.count < ARRAYS_NAMES_MAX);
		assert_true(strlen(entry->d_name) <= STATE_NAME_MAX);
		strcpy(names.name[names.count++], entry->d_name);
	}
	closedir(dir);
	qsort(names.name, names.count, sizeof(names.name[0]), compare);
	return names;
}

void arrays_world_find(uint32_t generation, char name[STATE_NAME_MAX + 1])
{
	struct names names = arrays_world_names();
	char start[32];
	unsigned found = 0;

	snprintf(start, sizeof(start), "web.%u-", generation);
	for (unsigned i = 0; i < names.count; i++) {
		if (strncmp(names.name[i], start, strlen(start)) != 0)
			continue;
		found++;
		strcpy(name, names.name[i]);
	}
	if (found != 1)
		fail_msg("%u files begin with %s", found, start);
}
