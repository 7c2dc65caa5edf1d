/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What notices cost a mux when half of a ring moves again within the window: the plan, by which a change is published
 * later, and all packets through the kernel, to a socket on loopback. No limit of rate applies here.
 *
 *	mux_notices [--buckets N] [--backends N] [--runs N] [--json FILE]
 */
#include <arpa/inet.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "notice/batch.h"
#include "notice/sender.h"
#include "ring/backend.h"
#include "tests/image.h"

enum { NOW = 1700000100, WINDOW = 240 };

struct figures {
	double number_ms, image_ms; /* to plan a delta of scattered runs, and an image */
	double send_ms;
	uint32_t moves, groups;
	uint64_t packets, bytes, failed;
};

static void *must(void *p)
{
	if (!p) {
		fprintf(stderr, "mux_notices: no memory\n");
		exit(1);
	}
	return p;
}

static double clock_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
}

static void keep_least(double *least, double ms)
{
	if (*least == 0 || ms < *least)
		*least = ms;
}

/* Every bucket moved 60 s ago from a random backend to another one. */
static struct delta random_image(uint32_t buckets, uint16_t backends, struct chance *chance)
{
	struct delta image = image_snapshot(1, 7, buckets, backends);

	for (uint32_t i = 0; i < buckets; i++) {
		image_own(&image, i, (uint16_t)(1 + chance_below(chance, backends)));
		image_was(&image, i, (uint16_t)(1 + chance_below(chance, backends)), NOW - 60);
	}
	return image;
}

/* Every other bucket goes to its owner's successor; the same as an image in *after. */
static struct delta half_of(const struct delta *image, struct delta *after)
{
	struct delta delta = image_move(image, 8, 0, 1, 1, NOW);

	free(delta.runs);
	delta.runs_count = image->buckets / 2;
	delta.runs = must(calloc(delta.runs_count, sizeof(*delta.runs)));
	*after = image_snapshot(1, 8, image->buckets, (uint16_t)image->backends_count);
	for (uint32_t i = 0; i < image->buckets; i++)
		image_own(after, i, image->image.current[i]);
	for (uint32_t i = 0; i < delta.runs_count; i++) {
		uint16_t owner = image->image.current[2 * i];

		image_own(after, 2 * i, (uint16_t)(owner % image->backends_count + 1));
		delta.runs[i] = (struct fl_delta_run){2 * i, 1, after->image.current[2 * i], 0};
	}
	return delta;
}

static struct notice_plan measure_plan(const struct ring *ring, const struct delta *change, double *least)
{
	uint64_t told[(FL_BACKEND_MAX + 1) / 64];
	struct notice_scope scope = {
	    .told = told, .has_moves = true, .now = NOW, .moved_seconds = WINDOW, .owner_seconds = WINDOW};
	struct notice_plan plan;
	double start;

	memset(told, 0xff, sizeof(told));
	start = clock_ms();
	if (notice_plan_make(&plan, ring, change, &scope))
		must(NULL);
	keep_least(least, clock_ms() - start);
	return plan;
}

/* Sends all of it to loopback, whatever the addresses of the servers are. */
static void measure_send(struct batch *batch, struct figures *f)
{
	const struct fl_address self = image_address("127.0.0.1"), none = {{0}}, server = image_address("127.0.0.2");
	struct notice_sender *sender = must(notice_sender_new(&self, &none));
	struct sockaddr_in name = {.sin_family = AF_INET, .sin_port = htons(FL_GUE_PORT)};
	int fd = socket(AF_INET, SOCK_DGRAM, 0);
	uint8_t bytes[FL_NOTICE_MAX_LEN];
	struct fl_address to;
	uint32_t count, len;
	double start;

	memcpy(&name.sin_addr, server.bytes + 12, 4);
	if (fd < 0 || bind(fd, (struct sockaddr *)&name, sizeof(name))) {
		perror("mux_notices: 127.0.0.2:6080");
		exit(1);
	}
	f->packets = f->bytes = f->failed = 0;
	start = clock_ms();
	for (; !batch_is_over(batch); batch_advance(batch)) {
		len = batch_write(batch, NULL, bytes, &to, &count);
		f->failed += notice_sender_send(sender, &server, bytes, len) != 0;
		f->packets++;
		f->bytes += len + 28;
	}
	keep_least(&f->send_ms, clock_ms() - start);
	close(fd);
	notice_sender_free(sender);
}

static void run(uint32_t buckets, uint16_t backends, unsigned runs, struct figures *f)
{
	struct chance chance = {1};
	struct delta image = random_image(buckets, backends, &chance), after, delta = half_of(&image, &after);
	struct ring *ring = must(ring_new(buckets));
	struct reason why = {{0}};
	const struct encap *encap = image_config(1, "10.99.0.1", buckets).encap;
	struct backends *table = must(backends_new(encap, NULL, &image, &image_hops, &why));

	if (ring_load(ring, &image, &why)) {
		fprintf(stderr, "mux_notices: %s\n", why.text);
		exit(1);
	}
	while (runs--) {
		struct notice_plan plan = measure_plan(ring, &after, &f->image_ms);
		struct batch *batch;

		notice_plan_free(&plan);
		plan = measure_plan(ring, &delta, &f->number_ms);
		f->moves = plan.buckets_count;
		f->groups = plan.groups_count;
		batch = must(batch_new(1, &plan, table));
		measure_send(batch, f);
		batch_free(batch);
	}
	backends_free(table);
	ring_free(ring);
	image_free(&image);
	image_free(&after);
	image_free(&delta);
}

static void report(FILE *out, uint32_t buckets, uint32_t backends, const struct figures *f)
{
	fprintf(out,
		"{\"benchmark\": \"mux_notices\", \"buckets\": %u, \"backends\": %u, \"moves\": %u, \"groups\": %u, "
		"\"planDeltaMs\": %.1f, \"planImageMs\": %.1f, \"packets\": %" PRIu64 ", \"bytes\": %" PRIu64
		", \"failed\": %" PRIu64 ", \"sendMs\": %.1f}\n",
		buckets, backends, f->moves, f->groups, f->number_ms, f->image_ms, f->packets, f->bytes, f->failed,
		f->send_ms);
}

/* A number of this range; ends the program otherwise. */
static uint32_t number(const char *flag, const char *text, uint32_t low, uint32_t high)
{
	char *end;
	unsigned long value = strtoul(text, &end, 10);

	if (!*text || *end || value < low || value > high) {
		fprintf(stderr, "mux_notices: --%s: '%s' is not allowed; allowed: %u..%u\n", flag, text, low, high);
		exit(2);
	}
	return (uint32_t)value;
}

int main(int argc, char **argv)
{
	static const struct option flags[] = {{"buckets", required_argument, NULL, 'b'},
					      {"backends", required_argument, NULL, 'n'},
					      {"runs", required_argument, NULL, 'r'},
					      {"json", required_argument, NULL, 'j'},
					      {NULL, 0, NULL, 0}};
	uint32_t buckets = FL_BUCKETS_MAX, backends = 100, runs = 5;
	struct figures figures = {0};
	const char *json = NULL;
	FILE *out;
	int flag;

	while ((flag = getopt_long(argc, argv, "", flags, NULL)) != -1) {
		if (flag == 'b')
			buckets = number("buckets", optarg, FL_BUCKETS_MIN, FL_BUCKETS_MAX);
		else if (flag == 'n')
			backends = number("backends", optarg, 2, 200);
		else if (flag == 'r')
			runs = number("runs", optarg, 1, 1000);
		else if (flag == 'j')
			json = optarg;
		else
			return 2;
	}
	if (buckets & (buckets - 1)) {
		fprintf(stderr, "mux_notices: --buckets: '%u' is not allowed; allowed: powers of two\n", buckets);
		return 2;
	}
	run(buckets, (uint16_t)backends, runs, &figures);
	report(stdout, buckets, backends, &figures);
	if (json) {
		out = fopen(json, "w");
		if (!out) {
			perror(json);
			return 1;
		}
		report(out, buckets, backends, &figures);
		fclose(out);
	}
	return 0;
}
