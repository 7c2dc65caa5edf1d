/* SPDX-License-Identifier: Apache-2.0 */
/* The blob of a steering method (labels.h) in the state on disk: restored with its generation, or refused with it. */
#include <stdlib.h>
#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "labels.h"
#include "state_world.h"
#include "../image.h"

enum { GENERATION = 12345, AT_LENGTHS = 88 };

static const char digits[] = "12345";

/* A mux that starts: its own tables, and the service as it is served from disk. */
struct starting {
	struct published_place place;
	struct published_service published;
};

static void save(void)
{
	const struct steering_blob blob = {(const uint8_t *)digits, strlen(digits)};
	struct delta image = image_snapshot(1, GENERATION, WORLD_BUCKETS, WORLD_BACKENDS);
	struct service_config config = image_config(1, "10.99.0.1", WORLD_BUCKETS);
	struct reason why = {""};

	config.steering = &labels;
	assert_int_equal(published_load(state_world_published(), &config, &image, &blob, &why), 0);
	image_free(&image);
	state_world_write_out();
}

static void on_cluster(void *context, const char *name, const struct fl_address *muxes, uint32_t count,
		       const struct fl_siphash_key *seed)
{
	(void)context, (void)name, (void)muxes, (void)count, (void)seed;
}

static int on_service(void *context, const struct service_config *config, struct delta *image,
		      const struct steering_blob *blob, struct reason *why)
{
	struct starting *starting = context;

	return published_load(&starting->published, config, image, blob, why);
}

static void start(struct starting *starting)
{
	*starting = (struct starting){
	    .place = {.tables = tables_new(1, &image_hops), .counters = counters_new(1), .changes = change_log_new()}};
	starting->published.place = &starting->place;
	starting->published.name = "web";
}

static void end(struct starting *starting)
{
	published_remove(&starting->published);
	change_log_free(starting->place.changes);
	tables_free(starting->place.tables);
	counters_free(starting->place.counters);
}

/* How many services a mux restores that starts now; why not: the count of refusals as content and by checksum. */
static int restore(struct starting *starting, uint64_t *content, uint64_t *checksum)
{
	const struct state_target target = {starting, on_cluster, on_service};
	struct state_keeper *keeper = state_world_keeper();
	int count = state_keeper_restore(keeper, &target);

	*content = state_keeper_refused(keeper, STATE_CONTENT);
	*checksum = state_keeper_refused(keeper, STATE_CHECKSUM);
	state_keeper_free(keeper);
	return count;
}

static void it_is_restored_with_its_generation(void **state)
{
	struct starting starting;
	uint64_t content, checksum;
	unsigned loaded = 0;

	(void)state;
	save();
	start(&starting);
	assert_int_equal(restore(&starting, &content, &checksum), 1);
	assert_int_equal(content + checksum, 0);
	assert_ptr_equal(starting.published.service->config.steering, &labels);
	assert_int_equal(ring_generation(published_ring(&starting.published)), GENERATION);
	assert_int_equal(starting.published.blob.len, strlen(digits));
	assert_memory_equal(starting.published.blob.data, digits, strlen(digits));
	fflush(stderr);
	for (const char *at = world.log; (at = strstr(at, "event=blob_12345\n")); at++)
		loaded++;
	assert_int_equal(loaded, 2); /* by the mux that saved it, and by this one */
	end(&starting);
}

static void sector_of_zeros(struct bytes *file)
{
	memset(file->data + file->len - strlen(digits), 0, strlen(digits));
}

static void of_another_generation(struct bytes *file)
{
	file->data[file->len - 1]++;
	state_world_mend(file);
}

static void cut_off(struct bytes *file)
{
	file->len -= strlen(digits);
	file->data[AT_LENGTHS + 16] = 0;
	state_world_mend(file);
}

static void longer(struct bytes *file)
{
	bytes_append(file, "6", 1);
	file->data[AT_LENGTHS + 16]++;
	state_world_mend(file);
}

static const struct damage {
	const char *name;
	void (*apply)(struct bytes *file);
	const char *refusal;
} damages[] = {
    {"its last sector was never written", sector_of_zeros, "reason=checksum why="},
    {"another generation's", of_another_generation, "reason=content why=\"the blob is not generation 12345's\""},
    {"none, where the method has one", cut_off, "reason=content why=\"the blob is not generation 12345's\""},
    {"a byte too much", longer, "reason=content why=\"the blob is not generation 12345's\""},
};

static void a_damaged_one_is_refused_by_name(void **state)
{
	char line[2 * WORLD_PATH_LEN];

	(void)state;
	save();
	for (size_t i = 0; i < sizeof(damages) / sizeof(damages[0]); i++) {
		struct bytes whole = state_world_read("web.service"), file = state_world_read("web.service");
		uint64_t content, checksum;
		struct starting starting;
		size_t logged;

		damages[i].apply(&file);
		state_world_write("web.service", file.data, file.len);
		fflush(stderr);
		logged = world.log_len;
		start(&starting);
		if (restore(&starting, &content, &checksum) || content + checksum != 1)
			fail_msg("%s: accepted", damages[i].name);
		assert_null(published_ring(&starting.published));
		end(&starting);
		fflush(stderr);
		snprintf(line, sizeof(line), "event=state_refused file=%s/web.service %s", world.folder,
			 damages[i].refusal);
		if (!strstr(world.log + logged, line))
			fail_msg("%s: '%s' is not logged", damages[i].name, line);
		state_world_write("web.service", whole.data, whole.len);
		free(whole.data);
		free(file.data);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test_setup_teardown(it_is_restored_with_its_generation, state_world_set_up,
					    state_world_tear_down),
	    cmocka_unit_test_setup_teardown(a_damaged_one_is_refused_by_name, state_world_set_up,
					    state_world_tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
