/* SPDX-License-Identifier: Apache-2.0 */
#include "sync_world.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "control/service/service_sync.h"
#include "tell/teller.h"
#include "../delta_bytes.h"
#include "../fake_tree.h"
#include "../image.h"

enum { TEXT_MAX = 512, BUCKETS = 256, BACKENDS = 4 };

struct world {
	struct tree *tree;
	struct service_sync_context context;
	struct service_sync *sync; /* NULL: ended */
	uint64_t now;
	struct service *rival;
	unsigned vanished;
	uint32_t told; /* the newest generation that servers were told, 0: none */
	int announce_error;
	FILE *stderr_before;
	char *log;
	size_t log_len, log_seen;
};

static struct world *world;

int announce_service(struct announcer *announcer, uint32_t service, const struct fl_address *vips, unsigned count)
{
	(void)announcer, (void)service, (void)vips, (void)count;
	return world->announce_error;
}

static void on_changed(void *owner)
{
	(void)owner;
}

static void on_vanished(void *owner)
{
	(void)owner;
	world->vanished++;
}

static uint64_t on_clock(void *clock)
{
	(void)clock;
	return world->now;
}

static int on_notice(void *context, const struct fl_address *to, const uint8_t *bytes, uint32_t len)
{
	struct fl_notice notice = {0};

	(void)context, (void)to;
	assert_int_equal(fl_notice_parse(bytes, bytes + len, len, &notice), FL_LIST_OK);
	assert_true(notice.generation >= world->told);
	world->told = notice.generation;
	return 0;
}

static void tell(void)
{
	const struct teller_options options = {.sink = {NULL, on_notice}, .now_ms = on_clock};

	world->context.place.teller = teller_new(&options);
	assert_non_null(world->context.place.teller);
}

static void set_up(void)
{
	world = calloc(1, sizeof(*world));
	assert_non_null(world);
	world->tree = fake_tree_new();
	world->context = (struct service_sync_context){
	    .tree = world->tree,
	    .place = {.tables = tables_new(1, &image_hops),
		      .counters = counters_new(1),
		      .announcer = (struct announcer *)world,
		      .changes = change_log_new()},
	    .root = "/fairlead",
	    .changed = on_changed,
	    .vanished = on_vanished,
	};
	world->sync = service_sync_new(&world->context, "web");
	assert_non_null(world->sync);
	world->stderr_before = stderr;
	stderr = open_memstream(&world->log, &world->log_len);
	assert_non_null(stderr);
}

static void tear_down(void)
{
	if (world->sync)
		service_sync_end(world->sync);
	teller_free(world->context.place.teller);
	fake_tree_free(world->tree);
	fclose(stderr);
	stderr = world->stderr_before;
	free(world->log);
	free(world->context.place.changes);
	tables_free(world->context.place.tables);
	counters_free(world->context.place.counters);
	free(world);
}

/* --- state ----------------------------------------------------------------------------------------------------- */

static void append(char text[TEXT_MAX], const char *more)
{
	snprintf(text + strlen(text), TEXT_MAX - strlen(text), "%s", more);
}

/* The path below the service's. Outputs the generation that it names, 0 for none. */
static const char *tail_of(const struct fake_request *request, uint32_t *generation)
{
	static const char service[] = "/fairlead/services/web/";
	const char *tail = request->path + strlen(service);

	assert_memory_equal(request->path, service, strlen(service));
	if (sscanf(tail, "ring/gen/%u/", generation) != 1)
		*generation = 0;
	return tail;
}

static bool ends_with(const char *text, const char *end)
{
	return strlen(text) >= strlen(end) && !strcmp(text + strlen(text) - strlen(end), end);
}

/* Snapshot, delta, arrays or patch. */
static char kind_of(const char *tail)
{
	return ends_with(tail, "/snapshot") ? 'S'
	       : ends_with(tail, "/delta")  ? 'D'
	       : ends_with(tail, "/arrays") ? 'A'
					    : 'P';
}

static void describe_request(const struct fake_request *request, char name[32])
{
	uint32_t generation;
	const char *tail = tail_of(request, &generation);

	if (generation && request->kind == FAKE_CHILDREN)
		snprintf(name, 32, "%c%u", kind_of(tail), generation);
	else if (generation)
		name[0] = 0; /* a chunk, requested together with the names */
	else
		snprintf(name, 32, "%s%s", request->kind == FAKE_EXISTS ? "exists " : "",
			 !strcmp(tail, "config")                 ? "config"
			 : !strcmp(tail, "ring/latest_gen")      ? "latest"
			 : !strcmp(tail, "ring/latest_arrays")   ? "list"
			 : !strcmp(tail, "ring/latest_snapshot") ? "number"
								 : tail);
	if (request->watch)
		strcat(name, "*");
}

/* The events logged since the last call. */
static void describe_log(char text[TEXT_MAX])
{
	char name[64];

	fflush(stderr);
	for (const char *line = world->log + world->log_seen; line && *line; line = strchr(line, '\n') + 1) {
		assert_int_equal(sscanf(line, "mux event=%63s", name), 1);
		append(text, " ");
		append(text, name);
	}
	world->log_seen = world->log_len;
}

static void describe(char text[TEXT_MAX])
{
	char name[96];

	text[0] = 0;
	for (size_t i = 0; i < fake_tree_count(world->tree); i++) {
		describe_request(fake_tree_at(world->tree, i), name);
		append(text, name);
		append(text, *name ? " " : "");
	}
	if (!world->sync) {
		append(text, "| ended");
		describe_log(text);
		return;
	}
	snprintf(name, sizeof(name), "| %s %u%s", service_state_name(service_sync_state(world->sync)),
		 ring_sync_generation(&world->sync->ring), world->sync->is_deleted ? " deleted" : "");
	append(text, name);
	append(text, " |");
	if (service_sync_deadline(world->sync) != UINT64_MAX) {
		snprintf(name, sizeof(name), " +%d", (int)(service_sync_deadline(world->sync) - world->now));
		append(text, name);
	}
	for (unsigned reason = 1; reason < REFUSAL_REASONS; reason++)
		if (world->sync->ring.refused[reason]) {
			snprintf(name, sizeof(name), " %s:%u", refusal_name(reason),
				 (unsigned)world->sync->ring.refused[reason]);
			append(text, name);
		}
	if (world->vanished) {
		snprintf(name, sizeof(name), " listed:%u", world->vanished);
		append(text, name);
	}
	if (world->told && teller_told(world->context.place.teller, 1)) {
		snprintf(name, sizeof(name), " told:%u", world->told);
		append(text, name);
	}
	describe_log(text);
}

/* --- events -------------------------------------------------------------------------------------------------- */

/* The index of the first waiting request with this name, -1: none. */
static int find(const char *wanted)
{
	for (size_t i = 0; i < fake_tree_count(world->tree); i++) {
		char name[32];

		describe_request(fake_tree_at(world->tree, i), name);
		if (!strncmp(name, wanted, strlen(wanted)))
			return (int)i;
	}
	return -1;
}

static void answer(int i, enum tree_result result, const void *data, size_t len)
{
	const struct tree_reply reply = {.result = result, .data = data, .len = len};

	fake_tree_answer(world->tree, (size_t)i, &reply);
}

/* The code of a failed answer, TREE_OK for anything else. */
static int code_of(const char *how)
{
	return !strcmp(how, "none") ? TREE_MISSING : !strcmp(how, "lost") ? TREE_FAILED : TREE_OK;
}

static void answer_config(int i, const char *how)
{
	static const char format[] =
	    "{\"format\": %d, \"id\": %d, \"name\": \"web\", \"vips\": [\"10.99.0.%d\"], \"ports\": [{\"protocol\": "
	    "\"tcp\", \"port\": 80}], \"steering\": \"%s\", \"buckets\": %d, \"hash\": \"siphash\", \"hashKey\": "
	    "\"000102030405060708090a0b0c0d0e0f\", \"affinity\": \"connection\", \"encap\": \"gue\", "
	    "\"windowSeconds\": 240}";
	char text[TEXT_MAX];

	snprintf(text, sizeof(text), format, strcmp(how, "bad") ? 1 : 99, strcmp(how, "other") ? 1 : 2,
		 strcmp(how, "vip") ? 1 : 7, strcmp(how, "labels") ? "ring" : "labels",
		 strcmp(how, "other") ? BUCKETS : 2 * BUCKETS);
	answer(i, code_of(how), text, strlen(text));
}

/* Each generation from 2 on moves one bucket to backend 2. */
static struct delta image_at(bool is_other, uint32_t generation)
{
	uint32_t buckets = is_other ? 2 * BUCKETS : BUCKETS;
	struct delta image = image_snapshot(is_other ? 2 : 1, generation, buckets, BACKENDS);

	for (uint32_t i = 2; i <= generation && i < 2 + BUCKETS; i++) {
		uint32_t bucket = i % BUCKETS;

		if (image.image.current[bucket] != 2)
			image_was(&image, bucket, image.image.current[bucket], 1700000000);
		image_own(&image, bucket, 2);
	}
	image.image.committed = 1700000000;
	return image;
}

/* An encoded delta or snapshot of the generation. "damaged": its frame is none; "astray": of another image. */
static uint8_t *generation_bytes(uint32_t generation, bool snapshot, const char *how, size_t *len)
{
	bool is_other = !strcmp(how, "other");
	struct delta image = image_at(is_other, snapshot ? generation : generation - 1);
	struct delta move = image_move(&image, generation, generation % BUCKETS, 1, 2, 1700000000);
	size_t body_len;
	uint8_t *body, *bytes;

	if (!strcmp(how, "astray"))
		move.base_sum++;
	body = delta_bytes_body(snapshot ? &image : &move, &body_len);
	bytes = delta_bytes_wrap(snapshot ? &image : &move, body, body_len, len);
	if (!strcmp(how, "damaged"))
		bytes[FL_DELTA_HEADER_LEN] ^= 1; /* no frame any more */
	free(body);
	image_free(&image);
	image_free(&move);
	return bytes;
}

/* Arrays as labels.h has them. how: of a patch, its base. */
static uint8_t *arrays_bytes(uint32_t generation, bool is_patch, const char *how, size_t *len)
{
	char *text = calloc(1, ARRAYS_JOB_BYTES + 32);

	assert_non_null(text);
	*len = (size_t)snprintf(text, 32, "%s%s%u", is_patch ? how : "", is_patch ? ">" : "", generation);
	if (!strcmp(how, "damaged") || !strcmp(how, "largebad"))
		text[*len - 1] = '?';
	if (!strncmp(how, "large", 5)) {
		memset(text + *len, ' ', ARRAYS_JOB_BYTES);
		*len += ARRAYS_JOB_BYTES;
	}
	return (uint8_t *)text;
}

/* Answers the request for the names, then the one for the only chunk. */
static void answer_chunks(int i, const char *how)
{
	char *good = "0000", *bad = "one";
	uint32_t generation;
	char kind = kind_of(tail_of(fake_tree_at(world->tree, (size_t)i), &generation));
	struct tree_reply names = {
	    .result = code_of(how), .children = strcmp(how, "misnamed") ? &good : &bad, .child_count = 1};
	size_t len;
	uint8_t *bytes = kind == 'A' || kind == 'P' ? arrays_bytes(generation, kind == 'P', how, &len)
						    : generation_bytes(generation, kind == 'S', how, &len);

	fake_tree_answer(world->tree, (size_t)i, &names);
	answer(i, code_of(how), bytes, len);
	free(bytes);
}

/* "WHOLE" or "WHOLE,PATCH,..." as two keys. */
static void print_source(char *text, const char *whole_key, const char *patches_key, const char *how)
{
	const char *patches = strchr(how, ',');
	int whole = (int)(patches ? (size_t)(patches - how) : strlen(how));

	sprintf(text, ", \"%s\": %.*s, \"%s\": [%s]", whole_key, whole, how, patches_key, patches ? patches + 1 : "");
}

/* latest_arrays; sync_world.h has the form of how. */
static void answer_list(int i, const char *how)
{
	char text[TEXT_MAX], newest[64], previous[16] = "", source[64], before[64] = "", *at = text;
	const char *ahead = strchr(how, '+');

	if (code_of(how) != TREE_OK || strchr(how, '{')) {
		answer(i, code_of(how), how, strlen(how));
		return;
	}
	assert_true(sscanf(how, "%15[^:=]:%15[^=]=%63[^;+];%63[^+]", newest, previous, source, before) >= 3 ||
		    sscanf(how, "%15[^:=]=%63[^;+]", newest, source) == 2);
	at += sprintf(at, "{\"format\": 1, \"generation\": %s", newest);
	if (*previous)
		at += sprintf(at, ", \"previous\": %s", previous);
	print_source(at, "whole", "patches", source);
	if (*before)
		print_source(text + strlen(text), "previousWhole", "previousPatches", before);
	if (ahead)
		print_source(text + strlen(text), "aheadWhole", "aheadPatches", ahead + 1);
	strcat(text, "}");
	answer(i, TREE_OK, text, strlen(text));
}

/* Another service takes the VIP 10.99.0.HOW; "goes": it is removed. */
static void rival(const char *how)
{
	struct reason why = {""};
	struct service_config config;
	char vip[32];

	if (!strcmp(how, "goes")) {
		tables_remove(world->context.place.tables, world->rival);
		return;
	}
	snprintf(vip, sizeof(vip), "10.99.0.%s", how);
	config = image_config(9, vip, BUCKETS);
	strcpy(config.name, "rival");
	assert_int_equal(tables_add(world->context.place.tables, &config, &world->rival, &why), 0);
}

/* Until no arrays are being checked aside, or for 10 s. */
static void wait_for_work(void)
{
	static const struct timespec pause = {.tv_nsec = 1000 * 1000};

	for (int i = 0; i < 10000 && arrays_sync_is_checking(&world->sync->ring.arrays); i++) {
		nanosleep(&pause, NULL);
		service_sync_run(world->sync, world->now);
	}
	assert_false(arrays_sync_is_checking(&world->sync->ring.arrays));
}

/* The servers, or all but the last one, acknowledge a generation of service 1. */
static void acknowledge(const char *generation, bool all)
{
	struct fl_notice notice = {.flags = FL_NOTICE_ACK, .service = 1, .generation = (uint32_t)atoi(generation)};
	struct delta image = image_snapshot(1, 1, BUCKETS, BACKENDS);
	uint8_t bytes[FL_NOTICE_MAX_LEN];
	uint32_t len = fl_notice_write(&notice, bytes);

	for (uint32_t i = 0; i < image.backends_count - !all; i++)
		teller_receive(world->context.place.teller, &image.backends[i].address, bytes, len);
	image_free(&image);
	service_sync_run(world->sync, world->now);
}

static void pass(unsigned milliseconds)
{
	world->now += milliseconds;
	fake_tree_set_now(world->tree, world->now);
	teller_run(world->context.place.teller);
	service_sync_run(world->sync, world->now);
}

static bool act(const char *event);

/* Configuration and latest generation are read; the latter twice where the list of arrays is wanted only then. */
static bool act_read(const char *generation, const char *config, const char *list)
{
	char read[48], latest[48], arrays[80];

	snprintf(read, sizeof(read), "config %s", config);
	snprintf(latest, sizeof(latest), "latest %s", generation);
	snprintf(arrays, sizeof(arrays), "list %s", list);
	if (!act(read) || !act(latest))
		return false;
	while (find("latest") >= 0)
		act(latest);
	return strcmp(config, "labels") || act(arrays);
}

/* A first load: the snapshot is the latest generation, and brings arrays if there is a list of them. */
static bool act_load(const char *generation, const char *config, const char *list)
{
	char number[48], snapshot[48], arrays[48];

	snprintf(number, sizeof(number), "number %s", generation);
	snprintf(snapshot, sizeof(snapshot), "S%s ok", generation);
	snprintf(arrays, sizeof(arrays), "A%s ok", generation);
	return act("refresh") && act_read(generation, config, list) && act(number) && act(snapshot) &&
	       (!strcmp(list, "none") || act(arrays));
}

static bool act(const char *event)
{
	char what[16], how[64] = "", config[32] = "ok", list[64] = "none";
	int i;

	if (sscanf(event, "%15s %63s %31s %63s", what, how, config, list) < 1)
		return false;
	if (!strcmp(what, "refresh"))
		service_sync_refresh(world->sync);
	else if (!strcmp(what, "watch"))
		service_sync_changed(world->sync, strcmp(how, "latest") ? how : "ring/latest_gen");
	else if (!strcmp(what, "work"))
		wait_for_work();
	else if (!strcmp(what, "confirm"))
		service_sync_confirm(world->sync);
	else if (!strcmp(what, "asked"))
		return act("refresh") && act_read(how, config, list);
	else if (!strcmp(what, "loaded"))
		return act_load(how, config, list);
	else if (!strcmp(what, "told"))
		tell();
	else if (!strcmp(what, "answer"))
		acknowledge(how, strcmp(config, "but"));
	else if (!strcmp(what, "pass"))
		pass((unsigned)atoi(how));
	else if (!strcmp(what, "rival"))
		rival(how);
	else if (!strcmp(what, "announce"))
		world->announce_error = strcmp(how, "works") ? -ENODEV : 0;
	else if (!strcmp(what, "retry")) {
		world->now = service_sync_deadline(world->sync);
		fake_tree_set_now(world->tree, world->now);
		service_sync_refresh(world->sync);
		return !*how || act_read(how, config, list);
	} else if (!strcmp(what, "end")) {
		service_sync_end(world->sync);
		world->sync = NULL;
	} else {
		i = find(what);
		if (i < 0)
			return false;
		if (strchr("SDAP", *what))
			answer_chunks(i, how);
		else if (!strcmp(what, "list"))
			answer_list(i, how);
		else if (!strcmp(what, "config") || !strcmp(what, "exists"))
			answer_config(i, how);
		else
			answer(i, code_of(how), how, strlen(how));
	}
	return true;
}

static void play(const struct sync_row *row, size_t i)
{
	char text[TEXT_MAX];

	if (!act(row->event))
		fail_msg("row %zu: nothing waits for '%s'", i, row->event);
	describe(text);
	if (strcmp(text, row->after))
		fail_msg("row %zu, after '%s':\n  %s\nexpected\n  %s", i, row->event, text, row->after);
}

void sync_world_play(void **state)
{
	const struct sync_case *all = *state;

	set_up();
	for (size_t i = 0; i < all->count; i++)
		play(&all->rows[i], i);
	tear_down();
}
