/* SPDX-License-Identifier: Apache-2.0 */
/* A change for which there is no memory changes nothing: not even what a packet path with tables of its own copies. */
#include <errno.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "service/lookup.h"
#include "service/tables.h"
#include "steering/maat/maat.h"
#include "image.h"

enum { BUCKETS = 256 };

static bool is_full;
static unsigned configured;

/* In place of lookup_new() (meson.build). */
struct lookup *__real_lookup_new(struct service *const *services, uint32_t count, const struct fl_address *selves,
				 uint32_t selves_count);
struct lookup *__wrap_lookup_new(struct service *const *services, uint32_t count, const struct fl_address *selves,
				 uint32_t selves_count);

struct lookup *__wrap_lookup_new(struct service *const *services, uint32_t count, const struct fl_address *selves,
				 uint32_t selves_count)
{
	return is_full ? NULL : __real_lookup_new(services, count, selves, selves_count);
}

static void note(void *context, const struct service *service)
{
	(void)context;
	(void)service;
	configured++;
}

static void a_change_without_memory_is_undone(void **state)
{
	const struct service_listener listener = {.configured = note};
	struct tables *tables = tables_new(1, &image_hops);
	struct service_config config = image_config(1, "10.99.0.1", BUCKETS), next;
	struct reason why = {{0}};
	const struct lookup *lookup;
	struct service *service;
	struct maat *before;

	(void)state;
	tables->services = listener;
	config.steering = &steering_maat;
	config.maat = (struct maat_settings){MAAT_PACKETS, 10, 1000, 65536, 3};
	assert_int_equal(tables_add(tables, &config, &service, &why), 0);
	assert_int_equal(configured, 1);
	before = maat_of(service);
	lookup = tables_lookup(tables);
	next = config;
	next.window = 7;
	next.maat.filter_bytes = 1024;
	next.vips[0] = image_address("10.99.0.2");
	is_full = true;
	assert_int_equal(tables_change(tables, service, &next, &why), -ENOMEM);
	assert_string_equal(why.text, "service web: no memory for the lookup");
	assert_int_equal(configured, 1);
	assert_ptr_equal(maat_of(service), before);
	assert_int_equal(before->filter->mask, 65535);
	assert_ptr_equal(tables_lookup(tables), lookup);
	assert_int_equal(service->config.maat.filter_bytes, 65536);
	assert_int_equal(service->config.window, config.window);
	is_full = false;
	assert_int_equal(tables_change(tables, service, &next, &why), 0);
	assert_int_equal(configured, 2);
	assert_int_equal(maat_of(service)->filter->mask, 1023);
	tables_free(tables);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(a_change_without_memory_is_undone),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
