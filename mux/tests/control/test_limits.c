/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tables at their limits, from bytes to packets: the last backend, bucket, service and VIP work like any other, and one
 * more is rejected with a reason that says what is allowed, and changes nothing.
 */
#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "packet/burst.h"
#include "ring/delta_decode.h"
#include "encap/gue.h"
#include "service/lookup.h"
#include "service/registry.h"
#include "service/tables.h"
#include "host/xdp.h"
#include "../delta_bytes.h"
#include "../frame.h"
#include "../image.h"
#include "../sent.h"

enum {
	NOW = 1700000100,
	GENERATION = 7,
	LAST_BUCKET = FL_BUCKETS_MAX - 1,
	LAST_BACKEND = FL_BACKEND_MAX,
	PROBES = 2000, /* flows to any bucket */
};

static struct service_config named(uint16_t id, uint32_t buckets)
{
	struct service_config config = image_config(id, "10.99.0.0", buckets);

	snprintf(config.name, sizeof(config.name), "service%u", id);
	return config;
}

static struct fl_address vip_at(uint32_t number)
{
	uint8_t bytes[4];

	fl_store_be32(bytes, (10U << 24 | 128U << 16) + number);
	return fl_address_from_ipv4(bytes);
}

static struct service *must_add(struct tables *tables, const struct service_config *config)
{
	struct service *service;
	struct reason why = {{0}};

	if (tables_add(tables, config, &service, &why))
		fail_msg("%s", why.text);
	return service;
}

static struct flow random_flow(struct chance *chance, const struct fl_address *vip)
{
	struct flow flow = frame_flow(IPPROTO_TCP);

	fl_store_be32(flow.source.bytes + 12, 0x0b000000 | (uint32_t)chance_next(chance) >> 8);
	flow.source_port = (uint16_t)(1 + chance_below(chance, 65535));
	flow.destination = *vip;
	return flow;
}

/* A flow of this bucket: in the largest ring one in eight million. */
static struct flow flow_to(const struct service *service, uint32_t bucket, struct chance *chance)
{
	for (;;) {
		struct flow flow = random_flow(chance, &service->config.vips[0]);

		if ((service_flow_hash(service, &flow) & (service->config.buckets - 1)) == bucket)
			return flow;
	}
}

/* Where a packet of the flow is sent, and its header; *bucket: its own. */
static struct sent steered(const struct tables *tables, const struct flow *flow, uint32_t *bucket)
{
	struct frame frame = frame_new(flow, 0);
	struct burst burst = {.lookup = tables_lookup(tables), .mac = mac_word(frame_mac), .now = NOW, .count = 1};
	struct rte_mbuf *mbuf = burst.mbufs[0] = frame_wrap(&frame);
	struct sent sent;

	burst_steer(&burst);
	assert_string_equal(verdict_name(burst.packets[0].verdict), verdict_name(VERDICT_SERVICE));
	assert_true(sent_read(mbuf, &sent));
	*bucket = burst.packets[0].bucket;
	frame_unwrap(mbuf);
	return sent;
}

static void assert_steered(const struct tables *tables, const struct flow *flow, uint32_t bucket, uint32_t generation,
			   const struct fl_address *backend)
{
	uint32_t found;
	struct sent sent = steered(tables, flow, &found);

	assert_int_equal(found, bucket);
	assert_int_equal(sent.list.generation, generation);
	assert_true(fl_address_equal(&sent.to, backend));
}

/* Backends with all ids; buckets are dealt to them in turn, the last bucket to the last one. */
static struct delta largest(void)
{
	struct delta snapshot = image_snapshot(1, GENERATION, FL_BUCKETS_MAX, LAST_BACKEND);

	image_own(&snapshot, LAST_BUCKET, LAST_BACKEND);
	return snapshot;
}

static struct delta decoded(const struct delta *wanted, const struct delta_expected *expected)
{
	size_t body_len, len;
	uint8_t *body = delta_bytes_body(wanted, &body_len);
	uint8_t *bytes = delta_bytes_wrap(wanted, body, body_len, &len);
	struct reason why = {{0}};
	struct delta out;

	if (delta_decode(bytes, len, expected, &out, &why))
		fail_msg("%s", why.text);
	free(body);
	free(bytes);
	return out;
}

/* Moves the last bucket from the last backend to the one before it. */
static void move_the_last(struct tables *tables, struct service *service, const struct delta *image)
{
	struct delta move = image_move(image, GENERATION + 1, LAST_BUCKET, 1, LAST_BACKEND - 1, NOW);
	struct delta_expected expected = delta_expected_by(image);
	struct reason why = {{0}};
	struct delta delta;

	expected.generation = GENERATION + 1;
	delta = decoded(&move, &expected);
	if (tables_apply(tables, service, &delta, NULL, &why))
		fail_msg("%s", why.text);
	image_free(&move);
	delta_free(&delta);
}

static void the_largest_ring_with_all_backends_steers_to_each(void **state)
{
	struct tables *tables = tables_new(1, &image_hops);
	struct service_config config = named(1, FL_BUCKETS_MAX);
	struct service *service = must_add(tables, &config);
	struct delta_expected expected = {
	    .snapshot = true, .service = 1, .generation = GENERATION, .buckets = FL_BUCKETS_MAX};
	struct delta wanted = largest(), image = decoded(&wanted, &expected);
	struct chance chance = {20261122};
	struct flow first, last;
	struct reason why = {{0}};
	struct sent sent;
	uint32_t found;

	(void)state;
	if (tables_load(tables, service, &image, NULL, &why))
		fail_msg("%s", why.text);
	for (int i = 0; i < PROBES; i++) {
		struct flow flow = random_flow(&chance, &config.vips[0]);
		uint32_t bucket = service_flow_hash(service, &flow) & (FL_BUCKETS_MAX - 1);

		assert_steered(tables, &flow, bucket, GENERATION,
			       &wanted.backends[wanted.image.current[bucket] - 1].address);
	}
	first = flow_to(service, 0, &chance);
	last = flow_to(service, LAST_BUCKET, &chance);
	assert_steered(tables, &first, 0, GENERATION, &wanted.backends[0].address);
	assert_steered(tables, &last, LAST_BUCKET, GENERATION, &wanted.backends[LAST_BACKEND - 1].address);
	move_the_last(tables, service, &image);
	sent = steered(tables, &last, &found);
	assert_true(fl_address_equal(&sent.to, &wanted.backends[LAST_BACKEND - 2].address));
	assert_int_equal(sent.list.generation, GENERATION + 1);
	assert_int_equal(sent.list.count, 1);
	assert_true(fl_address_equal(&sent.list.candidate[0], &wanted.backends[LAST_BACKEND - 1].address));
	image_free(&wanted);
	delta_free(&image);
	tables_free(tables);
}

static void assert_refused(const struct delta *delta, const struct delta_expected *expected, enum fl_delta_error reason,
			   const char *word)
{
	size_t body_len, len;
	uint8_t *body = delta_bytes_body(delta, &body_len);
	uint8_t *bytes = delta_bytes_wrap(delta, body, body_len, &len);
	struct delta out, untouched;
	struct reason why = {{0}};

	memset(&out, 0xa5, sizeof(out));
	untouched = out;
	assert_int_equal(delta_decode(bytes, len, expected, &out, &why), reason);
	if (!strstr(why.text, word))
		fail_msg("'%s' does not contain '%s'", why.text, word);
	assert_memory_equal(&out, &untouched, sizeof(out));
	free(body);
	free(bytes);
}

/* Its body is that of a small ring: the check of the header comes first. */
static void a_ring_twice_the_largest_is_rejected(void **state)
{
	struct delta small = image_snapshot(1, GENERATION, FL_BUCKETS_MIN, 2), more = small, out;
	struct delta_expected expected = {
	    .snapshot = true, .service = 1, .generation = GENERATION, .buckets = FL_BUCKETS_MAX * 2};
	size_t body_len, len;
	uint8_t *body = delta_bytes_body(&small, &body_len), *bytes;
	struct reason why = {{0}};

	(void)state;
	more.buckets = FL_BUCKETS_MAX * 2;
	bytes = delta_bytes_wrap(&more, body, body_len, &len);
	assert_int_equal(delta_decode(bytes, len, &expected, &out, &why), FL_DELTA_BUCKETS);
	assert_string_equal(why.text, "buckets 16777216; allowed: powers of two in 256..8388608");
	free(body);
	free(bytes);
	image_free(&small);
}

static void one_backend_or_bucket_more_is_rejected(void **state)
{
	struct delta small = image_snapshot(1, GENERATION, FL_BUCKETS_MIN, 2), more, move;
	struct delta_expected expected = {
	    .snapshot = true, .service = 1, .generation = GENERATION, .buckets = FL_BUCKETS_MIN};

	(void)state;
	/* of backends: the id after the last one does not fit its field; both their number and the ids are checked */
	more = image_snapshot(1, GENERATION, FL_BUCKETS_MIN, LAST_BACKEND);
	more.backends = realloc(more.backends, (LAST_BACKEND + 1U) * sizeof(*more.backends));
	assert_non_null(more.backends);
	more.backends[LAST_BACKEND] = (struct fl_delta_backend){.id = (uint16_t)(LAST_BACKEND + 1)};
	more.backends_count = LAST_BACKEND + 1U;
	assert_refused(&more, &expected, FL_DELTA_BACKEND, "backend id 0 after 65535; allowed: ascending, 1..65535");
	more.backends_count = 3;
	more.backends[2] = more.backends[LAST_BACKEND];
	assert_refused(&more, &expected, FL_DELTA_BACKEND, "backend id 0 after 2; allowed: ascending, 1..65535");
	/* a run that ends behind the last bucket */
	move = image_move(&small, GENERATION + 1, FL_BUCKETS_MIN - 1, 2, 2, NOW);
	expected = delta_expected_by(&small);
	expected.generation = GENERATION + 1;
	assert_refused(&move, &expected, FL_DELTA_RUN, "256");
	image_free(&small);
	image_free(&more);
	image_free(&move);
}

/* The VIPs that the tables reported last. */
struct told {
	uint32_t count;
	struct fl_address *vips;
};

static void tell(void *context, const struct fl_address *vips, uint32_t count)
{
	struct told *told = context;

	free(told->vips);
	told->vips = calloc(count ? count : 1, sizeof(*vips));
	assert_non_null(told->vips);
	memcpy(told->vips, vips, count * sizeof(*vips));
	told->count = count;
}

/* A packet to the VIP goes to the only backend of the service. */
static void assert_serves(struct tables *tables, struct service *service, const struct fl_address *vip)
{
	struct delta snapshot = image_snapshot(service->id, GENERATION, FL_BUCKETS_MIN, 1);
	struct chance chance = {service->id};
	struct flow flow = random_flow(&chance, vip);
	struct reason why = {{0}};
	struct sent sent;
	uint32_t found;

	if (!service_ring(service) && tables_load(tables, service, &snapshot, NULL, &why))
		fail_msg("%s", why.text);
	sent = steered(tables, &flow, &found);
	assert_int_equal(sent.list.service, service->id);
	assert_true(fl_address_equal(&sent.to, &snapshot.backends[0].address));
	image_free(&snapshot);
}

static void as_many_services_as_are_allowed_and_no_more(void **state)
{
	struct tables *tables = tables_new(1, &image_hops);
	struct told told = {0};
	const struct vip_listener listener = {&told, tell};
	struct service *first = NULL, *last = NULL, *out = NULL;
	struct service_config config;
	const struct lookup *lookup;
	struct reason why = {{0}};

	(void)state;
	for (uint16_t id = 1; id <= REGISTRY_SERVICES_MAX; id++) {
		config = named(id, FL_BUCKETS_MIN);
		config.vips[0] = vip_at(id);
		last = must_add(tables, &config);
		first = first ? first : last;
	}
	tables_listen(tables, &listener);
	assert_serves(tables, first, &first->config.vips[0]);
	assert_serves(tables, last, &last->config.vips[0]);
	config = named(REGISTRY_SERVICES_MAX + 1, FL_BUCKETS_MIN);
	config.vips[0] = vip_at(REGISTRY_SERVICES_MAX + 1);
	lookup = tables_lookup(tables);
	assert_int_equal(tables_add(tables, &config, &out, &why), -ENOSPC);
	assert_string_equal(why.text, "service service4097: this mux has 4096 services; at most 4096 are allowed");
	assert_null(out);
	assert_ptr_equal(tables_lookup(tables), lookup);
	assert_null(registry_find(&tables->registry, config.name));
	assert_int_equal(told.count, REGISTRY_SERVICES_MAX);
	/* a removed one leaves room */
	tables_remove(tables, first);
	out = must_add(tables, &config);
	assert_serves(tables, out, &config.vips[0]);
	assert_serves(tables, last, &last->config.vips[0]);
	tables_free(tables);
	free(told.vips);
}

/* Fills a map as large as the XDP program's with all VIPs and the mux's own address, and empties it again. */
static void assert_map_holds(const struct told *told)
{
	LIBBPF_OPTS(bpf_map_create_opts, options, .map_flags = BPF_F_NO_PREALLOC);
	const struct fl_address self = image_address("10.1.0.11"), none = {{0}};
	int object = xdp_object(&(struct reason){{0}}), map;
	struct bpf_object *program;
	char path[64];
	uint8_t value;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", object);
	program = bpf_object__open(path);
	assert_non_null(program);
	map = bpf_map_create(BPF_MAP_TYPE_HASH, "vips", 4, 1,
			     bpf_map__max_entries(bpf_object__find_map_by_name(program, "vips4")), &options);
	assert_true(map >= 0);
	assert_int_equal(xdp_sync(map, true, told->vips, told->count, &self), 0);
	for (uint32_t i = 0; i < told->count; i++)
		assert_int_equal(bpf_map_lookup_elem(map, told->vips[i].bytes + 12, &value), 0);
	assert_int_equal(bpf_map_lookup_elem(map, self.bytes + 12, &value), 0);
	assert_int_equal(xdp_sync(map, true, told->vips, 1, &none), 0);
	for (uint32_t i = 0; i < told->count; i++)
		assert_int_equal(bpf_map_lookup_elem(map, told->vips[i].bytes + 12, &value), i ? -ENOENT : 0);
	assert_int_equal(bpf_map_lookup_elem(map, self.bytes + 12, &value), -ENOENT);
	bpf_object__close(program);
	close(object);
	close(map);
}

static void as_many_vips_as_are_allowed_and_no_more(void **state)
{
	struct tables *tables = tables_new(1, &image_hops);
	struct told told = {0};
	const struct vip_listener listener = {&told, tell};
	struct service *last = NULL, *out = NULL;
	struct service_config config;
	const struct lookup *lookup;
	struct reason why = {{0}};
	uint32_t vips = 0;
	uint16_t id = 0;

	(void)state;
	while (vips < REGISTRY_VIPS_MAX) {
		config = named(++id, FL_BUCKETS_MIN);
		for (config.vips_count = 0; config.vips_count < SERVICE_VIPS_MAX && vips < REGISTRY_VIPS_MAX;)
			config.vips[config.vips_count++] = vip_at(vips++);
		last = must_add(tables, &config);
	}
	assert_serves(tables, last, &config.vips[config.vips_count - 1]);
	tables_listen(tables, &listener);
	assert_int_equal(told.count, REGISTRY_VIPS_MAX);
	assert_map_holds(&told);
	lookup = tables_lookup(tables);
	/* one more, of another service or of the same one */
	config = named(++id, FL_BUCKETS_MIN);
	config.vips[0] = vip_at(vips);
	assert_int_equal(tables_add(tables, &config, &out, &why), -ENOSPC);
	assert_string_equal(why.text, "vips: service service1025 has 1, the other services of this mux have 65535; at "
				      "most 65535 in all are allowed");
	assert_null(out);
	config = last->config;
	assert_int_equal(config.vips_count, SERVICE_VIPS_MAX - 1);
	config.vips[config.vips_count++] = vip_at(vips);
	assert_int_equal(tables_change(tables, last, &config, &why), -ENOSPC);
	assert_int_equal(last->config.vips_count, SERVICE_VIPS_MAX - 1);
	assert_ptr_equal(tables_lookup(tables), lookup);
	assert_int_equal(told.count, REGISTRY_VIPS_MAX);
	assert_serves(tables, last, &last->config.vips[SERVICE_VIPS_MAX - 2]);
	/* another one in place of a removed one */
	config.vips_count--;
	config.vips[0] = vip_at(vips);
	assert_int_equal(tables_change(tables, last, &config, &why), 0);
	assert_serves(tables, last, &config.vips[0]);
	tables_free(tables);
	free(told.vips);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(the_largest_ring_with_all_backends_steers_to_each),
	    cmocka_unit_test(a_ring_twice_the_largest_is_rejected),
	    cmocka_unit_test(one_backend_or_bucket_more_is_rejected),
	    cmocka_unit_test(as_many_services_as_are_allowed_and_no_more),
	    cmocka_unit_test(as_many_vips_as_are_allowed_and_no_more),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
