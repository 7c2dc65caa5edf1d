/* SPDX-License-Identifier: Apache-2.0 */
/* The registry and its lookup: many services against a plain search, rejections, VIPs reported in the right order. */
#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "packet/counters.h"
#include "service/lookup.h"
#include "service/tables.h"
#include "steering/steering.h"
#include "image.h"

enum { SERVICES = 1000, PROBES = 200000 };

static struct next_hop hop = {.resolved = true, .mtu = 1600, .source = {{[10] = 0xff, 0xff, 10, 1, 0, 11}}};
static const struct next_hops hops = {.context = &hop, .lookup = image_hop};

static struct tables *fresh(void)
{
	struct tables *tables = tables_new(4, &hops);

	assert_non_null(tables);
	return tables;
}

static struct service_config named(uint16_t id, const char *name, const char *vip, uint16_t port)
{
	struct service_config config = image_config(id, vip, 256);

	strcpy(config.name, name);
	config.ports[0].port = port;
	return config;
}

static struct service *add(struct tables *tables, struct service_config config)
{
	struct service *service;
	struct reason why = {{0}};

	if (tables_add(tables, &config, &service, &why))
		fail_msg("%s", why.text);
	return service;
}

static uint64_t destination_of(const struct fl_address *vip, uint8_t protocol, uint16_t port)
{
	uint32_t address;

	memcpy(&address, vip->bytes + 12, sizeof(address));
	return address | (uint64_t)htons(port) << 32 | (uint64_t)protocol << 48;
}

static uint32_t left_out; /* of lookup_common() */

/* What lookup_common() finds is right. */
static void check_common(const struct lookup *lookup, uint64_t destination, const struct lookup_port *at)
{
	struct service *expected = at && !lookup_is_by_id(at) ? at->service : NULL;
	struct service *found = lookup_common(lookup, destination);

	if (found)
		assert_ptr_equal(found, expected);
	else
		left_out += expected != NULL;
}

static struct service *find(const struct tables *tables, const struct fl_address *vip, uint8_t protocol, uint16_t port)
{
	const struct lookup *lookup = tables_lookup(tables);
	const struct lookup_port *at;
	const struct lookup_vip *slot;
	uint64_t high, low;

	lookup_words(vip, &high, &low);
	slot = lookup_vip(lookup, high, low);
	at = slot ? lookup_port(lookup, slot, protocol, port) : NULL;
	check_common(lookup, destination_of(vip, protocol, port), at);
	if (at && lookup_is_by_id(at) != mptcp_ports_has(&at->service->config.mptcp, protocol, port))
		fail_msg("port %u of service %s is mistaken for one of the other kind", port, at->service->config.name);
	return at ? at->service : NULL;
}

static struct fl_address random_vip(struct chance *chance)
{
	uint8_t bytes[4] = {10, 99, (uint8_t)chance_below(chance, 4), (uint8_t)chance_below(chance, 256)};

	return fl_address_from_ipv4(bytes);
}

static struct service_port random_port(struct chance *chance)
{
	struct service_port port = {chance_below(chance, 2) ? IPPROTO_TCP : IPPROTO_UDP,
				    (uint16_t)(1 + chance_below(chance, 12))};

	return port;
}

/* For one service in four; none where it would cover one of the service's own ports. */
static struct mptcp_ports random_mptcp(struct chance *chance, const struct service_config *config)
{
	struct mptcp_ports mptcp = {.first = (uint16_t)(1 + chance_below(chance, 10))};

	mptcp.last = (uint16_t)(mptcp.first + 1 + chance_below(chance, 4));
	for (uint32_t i = 0; i < config->ports_count; i++)
		if (mptcp_ports_has(&mptcp, config->ports[i].protocol, config->ports[i].port))
			return (struct mptcp_ports){0};
	return chance_below(chance, 4) ? (struct mptcp_ports){0} : mptcp;
}

/* Services with random VIPs and ports; the registry rejects those that clash. */
static void add_randomly(struct tables *tables, struct chance *chance)
{
	uint32_t added = 0, refused = 0;

	for (uint16_t id = 1; added < SERVICES; id++) {
		struct service_config config = named(id, "", "10.99.0.1", 80);
		struct service *service;
		struct reason why;

		snprintf(config.name, sizeof(config.name), "s%u", id);
		config.vips_count = 1 + chance_below(chance, 3);
		config.ports_count = 1 + chance_below(chance, 3);
		for (uint32_t i = 0; i < config.vips_count; i++)
			config.vips[i] = random_vip(chance);
		for (uint32_t i = 0; i < config.ports_count; i++)
			config.ports[i] = random_port(chance);
		config.mptcp = random_mptcp(chance, &config);
		if (tables_add(tables, &config, &service, &why))
			refused++;
		else
			added++;
		if (id > 20000)
			break;
	}
	assert_true(added > 500);
	assert_true(refused > 0);
}

static struct service *find_plainly(const struct tables *tables, const struct fl_address *vip, struct service_port port)
{
	for (uint32_t i = 0; i < tables->registry.count; i++) {
		struct service *s = tables->registry.services[i];

		for (uint32_t v = 0; v < s->config.vips_count; v++) {
			if (!fl_address_equal(&s->config.vips[v], vip))
				continue;
			for (uint32_t p = 0; p < s->config.ports_count; p++)
				if (s->config.ports[p].port == port.port &&
				    s->config.ports[p].protocol == port.protocol)
					return s;
			if (port.protocol == IPPROTO_TCP && port.port >= s->config.mptcp.first &&
			    port.port <= s->config.mptcp.last)
				return s;
		}
	}
	return NULL;
}

static void lookup_finds_what_a_plain_search_finds(void **state)
{
	struct tables *tables = fresh();
	struct chance chance = {20261120};
	uint32_t hits = 0;

	(void)state;
	left_out = 0;
	add_randomly(tables, &chance);
	for (int round = 0; round < 2; round++) {
		for (int i = 0; i < PROBES / 100; i++) {
			struct fl_address vip = random_vip(&chance);
			struct service_port port = random_port(&chance);
			struct service *service = find(tables, &vip, port.protocol, port.port);

			assert_ptr_equal(service, find_plainly(tables, &vip, port));
			hits += service != NULL;
		}
		/* and again with half of them removed */
		for (uint32_t i = 0; !round && i < tables->registry.count; i++)
			tables_remove(tables, tables->registry.services[i]);
	}
	assert_true(hits > 100);
	assert_true(left_out * 100 <= hits);
	tables_free(tables);
}

/* 64 ports whose destinations share a line however many lines there are: all are found, most by the slots alone. */
static void destinations_without_room_are_found_by_slots(void **state)
{
	struct service_config config = named(1, "web", "10.99.0.1", 80);
	struct tables *tables = fresh();
	const uint64_t same = 0x9e3779b97f4a7c15ULL; /* lookup_line()'s factor */
	uint64_t line = destination_of(&config.vips[0], IPPROTO_TCP, 80) * same >> (64 - 9);
	struct service *service;

	(void)state;
	config.ports_count = 0;
	for (uint32_t port = 1; config.ports_count < SERVICE_PORTS_MAX && port < 65536; port++)
		if (destination_of(&config.vips[0], IPPROTO_TCP, (uint16_t)port) * same >> (64 - 9) == line)
			config.ports[config.ports_count++] = (struct service_port){IPPROTO_TCP, (uint16_t)port};
	assert_int_equal(config.ports_count, SERVICE_PORTS_MAX);
	service = add(tables, config);
	left_out = 0;
	for (uint32_t i = 0; i < config.ports_count; i++)
		assert_ptr_equal(find(tables, &config.vips[0], IPPROTO_TCP, config.ports[i].port), service);
	assert_int_equal(left_out, SERVICE_PORTS_MAX - LOOKUP_LINE);
	tables_free(tables);
}

static struct service_config ranged(struct service_config config, uint16_t first, uint16_t last)
{
	config.mptcp = (struct mptcp_ports){first, last};
	return config;
}

/* Ports that name backends clash as any others do, on either side, by their first, last and middle one. */
static void ranges_clash_with_ports_and_ranges(void **state)
{
	const struct service_config web = ranged(named(1, "web", "10.99.0.1", 80), 20000, 20999);
	const struct {
		struct service_config other;
		const char *word; /* NULL: may stand beside web */
	} rows[] = {
	    {named(2, "other", "10.99.0.1", 19999), NULL},
	    {named(2, "other", "10.99.0.1", 20000), "port 20000"},
	    {named(2, "other", "10.99.0.1", 20500), "port 20500"},
	    {named(2, "other", "10.99.0.1", 20999), "port 20999"},
	    {named(2, "other", "10.99.0.1", 21000), NULL},
	    {named(2, "other", "10.99.0.2", 20500), NULL},
	    {ranged(named(2, "other", "10.99.0.1", 81), 79, 81), "port 80"},
	    {ranged(named(2, "other", "10.99.0.1", 81), 19000, 19999), NULL},
	    {ranged(named(2, "other", "10.99.0.1", 81), 19000, 20000), "port 20000"},
	    {ranged(named(2, "other", "10.99.0.1", 81), 20999, 30000), "port 20999"},
	    {ranged(named(2, "other", "10.99.0.1", 81), 20100, 20200), "port 20100"},
	    {ranged(named(2, "other", "10.99.0.1", 81), 10000, 30000), "port 20000"},
	    {ranged(named(2, "other", "10.99.0.1", 81), 21000, 30000), NULL},
	    {ranged(named(2, "other", "10.99.0.2", 81), 20000, 20999), NULL},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		for (int swapped = 0; swapped < 2; swapped++) {
			struct tables *tables = fresh();
			const struct service_config *second = swapped ? &web : &rows[i].other;
			struct service *out;
			struct reason why = {{0}};

			add(tables, swapped ? rows[i].other : web);
			assert_int_equal(tables_add(tables, second, &out, &why), rows[i].word ? -EEXIST : 0);
			if (rows[i].word && !strstr(why.text, rows[i].word))
				fail_msg("row %zu: \"%s\"", i, why.text);
			tables_free(tables);
		}
}

static void a_clash_names_both_services(void **state)
{
	struct tables *tables = fresh();
	struct service *web = add(tables, named(1, "web", "10.99.0.1", 80)), *out;
	struct service_config v6 = named(9, "six", "10.99.0.9", 80);
	const struct {
		struct service_config config;
		const char *word;
	} rows[] = {
	    {named(1, "other", "10.99.0.2", 80), "id: 1"},
	    {named(2, "web", "10.99.0.2", 80), "name: web"},
	    {named(2, "other", "10.99.0.1", 80), "10.99.0.1 port 80 of service other belongs to service web"},
	};
	struct reason why;

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		assert_int_equal(tables_add(tables, &rows[i].config, &out, &why), -EEXIST);
		assert_non_null(strstr(why.text, rows[i].word));
	}
	v6.vips[0] = image_address("2001:db8:99::1");
	assert_int_equal(tables_add(tables, &v6, &out, &why), 0);
	v6.id++;
	strcpy(v6.name, "seven");
	assert_int_equal(tables_add(tables, &v6, &out, &why), -EEXIST);
	assert_non_null(strstr(why.text, "2001:db8:99::1 port 80 of service seven belongs to service six"));
	assert_ptr_equal(registry_find(&tables->registry, "web"), web);
	assert_null(registry_find(&tables->registry, "other"));
	assert_ptr_equal(registry_find_id(&tables->registry, 1), web);
	tables_free(tables);
}

/* VIPs of one prefix that differ in the last or another byte, as is usual, spread over the slots. */
static void neighbouring_vips_are_found_in_few_steps(void **state)
{
	static const char *const firsts[] = {"10.99.0.0", "2001:db8:99::"};

	(void)state;
	for (int family = 0; family < 2; family++)
		for (int at = 12; at < 15; at++) {
			struct tables *tables = tables_new(1, &hops);
			const struct lookup *lookup;
			uint32_t run = 0, longest = 0;

			for (uint16_t i = 0; i < 1000; i++) {
				struct service_config config = image_config((uint16_t)(i + 1), firsts[family], 256);
				struct service *service;
				struct reason why;

				snprintf(config.name, sizeof(config.name), "service%u", i);
				fl_store_be16(config.vips[0].bytes + at, (uint16_t)(0x0100 + i));
				assert_int_equal(tables_add(tables, &config, &service, &why), 0);
			}
			lookup = tables_lookup(tables);
			for (uint32_t slot = 0; slot <= lookup->mask; slot++) {
				run = lookup->slots[slot].count ? run + 1 : 0;
				longest = run > longest ? run : longest;
			}
			assert_in_range(longest, 1, 64); /* with 2,048 slots half full; 1,000 if all collide */
			tables_free(tables);
		}
}

static void changes_keep_what_may_not_change(void **state)
{
	struct tables *tables = fresh();
	struct service *web = add(tables, named(1, "web", "10.99.0.1", 80));
	struct service_config config = named(1, "web", "10.99.0.2", 443), other;
	struct fl_address old = image_address("10.99.0.1"), new = image_address("10.99.0.2");
	struct reason why;

	(void)state;
	add(tables, named(2, "two", "10.99.0.3", 80));
	config.window = 7;
	assert_int_equal(tables_change(tables, web, &config, &why), 0);
	assert_null(find(tables, &old, IPPROTO_TCP, 80));
	assert_ptr_equal(find(tables, &new, IPPROTO_TCP, 443), web);
	assert_int_equal(service_ring_rule(web).window, 7);
	for (int field = 0; field < 5; field++) {
		other = config;
		switch (field) {
		case 0:
			other.id = 3;
			break;
		case 1:
			other.buckets = 512;
			break;
		case 2:
			other.hash = FL_HASH_CRC32;
			break;
		case 3:
			other.key.k1++;
			break;
		default:
			other.affinity = AFFINITY_CLIENT;
		}
		assert_int_equal(tables_change(tables, web, &other, &why), -EINVAL);
	}
	other = named(1, "web", "10.99.0.3", 80);
	assert_int_equal(tables_change(tables, web, &other, &why), -EEXIST);
	assert_ptr_equal(find(tables, &new, IPPROTO_TCP, 443), web);
	tables_free(tables);
}

static void only_what_fits_is_loaded_or_applied(void **state)
{
	struct tables *tables = fresh();
	struct service *web = add(tables, named(1, "web", "10.99.0.1", 80));
	struct delta snapshot = image_snapshot(1, 4, 256, 3), other = image_snapshot(2, 4, 256, 3);
	struct delta small = image_snapshot(1, 4, 512, 3);
	struct delta move = image_move(&snapshot, 5, 0, 100, 2, 1700000000), gap;
	struct reason why;

	(void)state;
	assert_int_equal(tables_apply(tables, web, &move, NULL, &why), -ENOENT);
	assert_int_equal(tables_load(tables, web, &other, NULL, &why), -EINVAL);
	assert_int_equal(tables_load(tables, web, &small, NULL, &why), -EINVAL);
	assert_int_equal(tables_load(tables, web, &move, NULL, &why), -EINVAL);
	assert_null(web->ring);
	assert_int_equal(tables_load(tables, web, &snapshot, NULL, &why), 0);
	gap = move;
	gap.base = 5;
	gap.generation = 6;
	assert_int_equal(tables_apply(tables, web, &gap, NULL, &why), -ESTALE);
	assert_int_equal(ring_generation(web->ring), 4);
	assert_int_equal(tables_apply(tables, web, &move, NULL, &why), 0);
	assert_int_equal(ring_generation(web->ring), 5);
	assert_int_equal(fl_row_current(ring_row(web->ring, 99)), 2);
	/* a snapshot may also replace a ring, forwards or backwards */
	assert_int_equal(tables_load(tables, web, &snapshot, NULL, &why), 0);
	assert_int_equal(ring_generation(web->ring), 4);
	image_free(&snapshot);
	image_free(&other);
	image_free(&small);
	image_free(&move);
	tables_free(tables);
}

static void count_drop(void *data)
{
	int *dropped = data;

	++*dropped;
}

/* A table: each step publishes a generation with some data, or none, or fails. */
static void a_steering_methods_data_is_published_with_its_generation(void **state)
{
	static const struct steering dropping = {.name = "dropping", .drop = count_drop};
	enum { SNAPSHOT = 1, NONE = 0, A = 1, B = 2, DATA = 3 };
	static const struct {
		uint32_t generation;
		int snapshot, data, error, has, drops;
	} steps[] = {
	    {3, SNAPSHOT, NONE, 0, NONE, NONE},
	    {4, 0, A, 0, A, NONE},
	    {5, 0, NONE, 0, A, NONE},
	    {7, 0, B, -ESTALE, A, NONE},
	    {6, 0, B, 0, B, A},
	    {8, SNAPSHOT, A, 0, A, B},
	    {9, SNAPSHOT, NONE, 0, NONE, A},
	    {10, SNAPSHOT, B, 0, B, NONE},
	    {11, 0, A, 0, A, B},
	};
	int dropped[DATA];
	struct tables *tables = fresh();
	struct service *web = add(tables, named(1, "web", "10.99.0.1", 80));
	struct delta snapshot = image_snapshot(1, 3, 256, 2), delta = {.service = 1, .buckets = 256};

	(void)state;
	web->config.steering = &dropping;
	for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
		void *given = steps[i].data ? &dropped[steps[i].data] : NULL;
		void *has = steps[i].has ? &dropped[steps[i].has] : NULL;
		struct delta *change = steps[i].snapshot ? &snapshot : &delta;
		struct reason why;
		int error;

		memset(dropped, 0, sizeof(dropped));
		change->generation = steps[i].generation;
		change->base = steps[i].generation - 1;
		error = steps[i].snapshot ? tables_load(tables, web, change, given, &why)
					  : tables_apply(tables, web, change, given, &why);
		assert_int_equal(error, steps[i].error);
		assert_ptr_equal(service_steering_data(web), has);
		for (int d = A; d < DATA; d++)
			assert_int_equal(dropped[d], steps[i].drops == d);
	}
	memset(dropped, 0, sizeof(dropped));
	tables_remove(tables, web);
	assert_int_equal(dropped[A], 1);
	assert_int_equal(dropped[B], 0);
	image_free(&snapshot);
	tables_free(tables);
}

struct told {
	uint32_t times, count;
	struct fl_address last[64];
	const struct tables *tables;
	struct fl_address watched;
	bool looked_up; /* whether the lookup had the watched VIP at the last report */
};

static void tell(void *context, const struct fl_address *vips, uint32_t count)
{
	struct told *told = context;

	told->times++;
	told->count = count;
	memcpy(told->last, vips, count * sizeof(*vips));
	told->looked_up = told->tables && find(told->tables, &told->watched, IPPROTO_TCP, 80);
}

static void added_and_removed_vips_are_reported(void **state)
{
	struct tables *tables = fresh();
	struct told told = {0};
	struct vip_listener listener = {&told, tell};
	struct service_config moved = named(1, "web", "10.99.0.7", 80);
	struct fl_address vip = image_address("10.99.0.7");
	struct service *web;
	struct reason why;

	(void)state;
	tables_listen(tables, &listener);
	assert_int_equal(told.times, 1);
	assert_int_equal(told.count, 0);
	web = add(tables, named(1, "web", "10.99.0.1", 80));
	assert_int_equal(told.count, 1);
	assert_int_equal(tables_change(tables, web, &moved, &why), 0);
	assert_int_equal(told.count, 1);
	assert_memory_equal(&told.last[0], &vip, sizeof(vip));
	/* redirection stops before the lookup drops the VIP */
	told.tables = tables;
	told.watched = vip;
	tables_remove(tables, web);
	assert_int_equal(told.count, 0);
	assert_true(told.looked_up);
	assert_null(find(tables, &vip, IPPROTO_TCP, 80));
	web = add(tables, named(1, "web", "10.99.0.7", 80));
	assert_int_equal(told.count, 1);
	assert_false(told.looked_up);
	tables_free(tables);
}

static void a_reused_slot_counts_from_zero(void **state)
{
	struct tables *tables = fresh();
	struct counters *counters = counters_new(2);
	struct service *web = add(tables, named(1, "web", "10.99.0.1", 80));

	(void)state;
	assert_non_null(counters);
	counters_service_start(counters, web);
	counter_add(&counters_of(counters, 0)->services[web->slot].packets, 5);
	counter_add(&counters_of(counters, 1)->services[web->slot].packets, 6);
	counter_add(&counters_of(counters, 0)->services[web->slot].bytes, 7);
	counter_add(&counters_of(counters, 1)->service_drops[web->slot][VERDICT_TOO_BIG - SERVICE_DROP_FIRST], 8);
	assert_int_equal(counters_service_bytes(counters, web), 7);
	assert_int_equal(counters_service_drops(counters, web, VERDICT_TOO_BIG), 8);
	assert_int_equal(counters_service_packets(counters, web), 11);
	tables_remove(tables, web);
	web = add(tables, named(2, "next", "10.99.0.1", 80));
	counters_service_start(counters, web);
	assert_int_equal(counters_service_packets(counters, web), 0);
	assert_int_equal(counters_service_bytes(counters, web), 0);
	assert_int_equal(counters_service_drops(counters, web, VERDICT_TOO_BIG), 0);
	counter_add(&counters_of(counters, 1)->services[web->slot].packets, 1);
	assert_int_equal(counters_service_packets(counters, web), 1);
	counters_free(counters);
	tables_free(tables);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(lookup_finds_what_a_plain_search_finds),
	    cmocka_unit_test(destinations_without_room_are_found_by_slots),
	    cmocka_unit_test(neighbouring_vips_are_found_in_few_steps),
	    cmocka_unit_test(a_clash_names_both_services),
	    cmocka_unit_test(ranges_clash_with_ports_and_ranges),
	    cmocka_unit_test(changes_keep_what_may_not_change),
	    cmocka_unit_test(only_what_fits_is_loaded_or_applied),
	    cmocka_unit_test(a_steering_methods_data_is_published_with_its_generation),
	    cmocka_unit_test(added_and_removed_vips_are_reported),
	    cmocka_unit_test(a_reused_slot_counts_from_zero),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
