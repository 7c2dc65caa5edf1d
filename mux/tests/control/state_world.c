/* SPDX-License-Identifier: Apache-2.0 */
#include "state_world.h"

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "../fake_tree.h"
#include "../image.h"

enum { WAIT_MS = 30000, KILLS = 60, KILL_MS = 40, AT_CRC = STATE_FILE_HEADER_LEN - 4 };

struct state_world world;
struct restored restored;

int bytes_append(void *context, const void *data, size_t len)
{
	struct bytes *bytes = context;

	bytes->data = realloc(bytes->data, bytes->len + len);
	assert_non_null(bytes->data);
	memcpy(bytes->data + bytes->len, data, len);
	bytes->len += len;
	return 0;
}

static void on_owner(void *owner)
{
	(void)owner;
}

int announce_service(struct announcer *announcer, uint32_t service, const struct fl_address *vips, unsigned count)
{
	(void)announcer, (void)service, (void)vips, (void)count;
	return 0;
}

struct published_service *state_world_published(void)
{
	return &world.sync->ring.published;
}

void state_world_load(uint32_t generation)
{
	struct delta image = image_snapshot(1, generation, WORLD_BUCKETS, WORLD_BACKENDS);
	struct service_config config = image_config(1, "10.99.0.1", WORLD_BUCKETS);
	struct reason why = {""};

	image_was(&image, generation % WORLD_BUCKETS, 1 + (generation + 1) % WORLD_BACKENDS, generation);
	assert_int_equal(published_load(state_world_published(), &config, &image, NULL, &why), 0);
	image_free(&image);
}

int state_world_set_up(void **state)
{
	(void)state;
	world = (struct state_world){.folder = "/tmp/test_state.XXXXXX"};
	assert_non_null(mkdtemp(world.folder));
	world.tree = fake_tree_new();
	world.context = (struct service_sync_context){
	    .tree = world.tree,
	    .place = {.tables = tables_new(1, &image_hops), .counters = counters_new(1), .changes = change_log_new()},
	    .root = "/fairlead",
	    .changed = on_owner,
	    .vanished = on_owner};
	world.sync = service_sync_new(&world.context, "web");
	assert_non_null(world.sync);
	world.now = 1000;
	world.stderr_before = stderr;
	stderr = open_memstream(&world.log, &world.log_len);
	assert_non_null(stderr);
	return 0;
}

void state_world_remove(const char *name)
{
	char path[WORLD_PATH_LEN];

	snprintf(path, sizeof(path), "%s/%s", world.folder, name);
	unlink(path);
	rmdir(path);
}

int state_world_tear_down(void **state)
{
	(void)state;
	service_sync_end(world.sync);
	fake_tree_free(world.tree);
	fclose(stderr);
	stderr = world.stderr_before;
	free(world.log);
	free(world.context.place.changes);
	tables_free(world.context.place.tables);
	counters_free(world.context.place.counters);
	state_world_remove("cluster");
	state_world_remove("lock");
	state_world_remove("web.service");
	state_world_remove("mail.service");
	return rmdir(world.folder);
}

static const struct fl_address *muxes(void)
{
	static struct fl_address addresses[2];

	addresses[0] = image_address("10.1.0.11");
	addresses[1] = image_address("10.1.0.12");
	return addresses;
}

struct state_view state_world_view(void)
{
	return (struct state_view){.cluster = "one",
				   .is_listed = true,
				   .syncs = &world.sync,
				   .count = 1,
				   .muxes = muxes(),
				   .muxes_count = 2,
				   .seed = world.seed,
				   .settled = &world.settled};
}

void state_world_pause(long ms)
{
	const struct timespec pause = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000};

	nanosleep(&pause, NULL);
}

uint32_t state_world_kill(uint64_t seed, uint32_t generation, void (*write)(uint32_t generation),
			  uint32_t (*find)(void))
{
	struct chance chance = {seed};
	uint32_t grown = 0;

	for (int i = 0; i < KILLS; i++) {
		uint32_t found;
		int status;
		pid_t child = fork();

		assert_true(child >= 0);
		if (!child) {
			write(generation + 1);
			_exit(0); /* it should not return */
		}
		state_world_pause((long)chance_below(&chance, KILL_MS));
		kill(child, SIGKILL);
		assert_int_equal(waitpid(child, &status, 0), child);
		assert_true(WIFSIGNALED(status));
		found = find();
		assert_true(found >= generation);
		grown += found > generation;
		generation = found;
	}
	print_message("%u generations written, %u of %d processes wrote one before they were killed\n", generation,
		      grown, KILLS);
	assert_true(grown > 0);
	return generation;
}

/* Runs the keeper at the world's time until no write is under way. */
void state_world_settle(struct state_keeper *keeper)
{
	struct state_view now = state_world_view();

	state_keeper_run(keeper, &now, world.now);
	for (int waited = 0; state_keeper_deadline(keeper) != UINT64_MAX; waited++) {
		assert_true(waited < WAIT_MS);
		state_world_pause(1);
		state_keeper_run(keeper, &now, world.now);
	}
}

struct state_keeper *state_world_keeper(void)
{
	struct state_keeper *keeper = state_keeper_new(world.folder);

	assert_non_null(keeper);
	return keeper;
}

void state_world_write_out(void)
{
	struct state_keeper *keeper = state_world_keeper();

	for (int i = 0; i < 3; i++, world.now += 60000)
		state_world_settle(keeper);
	assert_false(published_is_unsaved(state_world_published()));
	state_keeper_free(keeper);
}

void state_world_save(uint32_t generation)
{
	state_world_load(generation);
	state_world_write_out();
}

static void on_cluster(void *context, const char *name, const struct fl_address *addresses, uint32_t count,
		       const struct fl_siphash_key *seed, const struct settled *settled)
{
	(void)context;
	strcpy(restored.cluster, name);
	restored.settled = settled_find(settled, 1);
	restored.muxes = count;
	restored.seed = *seed;
	assert_memory_equal(addresses, muxes(), count * sizeof(*addresses));
}

static int on_service(void *context, const struct service_config *config, struct delta *image,
		      const struct arrays_set *arrays, struct reason *why)
{
	struct ring *ring = image_ring(image);

	(void)context;
	(void)why;
	assert_null(arrays->newest);
	restored.services++;
	memcpy(&restored.config, config, sizeof(*config));
	restored.generation = image->generation;
	restored.sum = ring_sum(ring);
	ring_free(ring);
	return 0;
}

/* What a mux that starts now restores; returns the reason of the last refusal, NULL: none. */
const char *state_world_restore(void)
{
	const struct state_target target = {NULL, on_cluster, on_service};
	struct state_keeper *keeper = state_world_keeper();
	const char *reason = NULL;
	int count;

	memset(&restored, 0, sizeof(restored));
	count = state_keeper_restore(keeper, &target);
	assert_int_equal(count, restored.services);
	for (enum state_error error = STATE_UNREADABLE; error < STATE_ERRORS; error++)
		if (keeper->refused[error])
			reason = state_error_name(error);
	state_keeper_free(keeper);
	return reason;
}

struct bytes state_world_read(const char *name)
{
	struct bytes file = {malloc(1 << 20), 0};
	char path[WORLD_PATH_LEN];
	ssize_t len;
	int fd;

	snprintf(path, sizeof(path), "%s/%s", world.folder, name);
	fd = open(path, O_RDONLY);
	assert_true(fd >= 0 && file.data);
	len = read(fd, file.data, 1 << 20);
	assert_true(len > 0);
	file.len = (size_t)len;
	close(fd);
	return file;
}

void state_world_write(const char *name, const void *data, size_t len)
{
	char path[WORLD_PATH_LEN];
	int fd;

	snprintf(path, sizeof(path), "%s/%s", world.folder, name);
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, data, len), len);
	close(fd);
}

void state_world_mend(struct bytes *file)
{
	uint32_t crc = state_file_sum(0, file->data + STATE_FILE_HEADER_LEN, file->len - STATE_FILE_HEADER_LEN);

	fl_store_le32(file->data + AT_CRC, state_file_sum(crc, file->data, AT_CRC));
}
