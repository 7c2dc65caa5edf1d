/* SPDX-License-Identifier: Apache-2.0 */
/* What a P4 mux serves is what its node says, and what it can't serve it refuses by name. */
#include <errno.h>
#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "encap/encap.h"
#include "layout.h"
#include "mirror.h"
#include "steering/maat/maat.h"
#include "steering/steering.h"
#include "world.h"

enum { BUCKETS = 1024 };

static void refuse(struct world *world, const struct service_config *config, int error, const char *text)
{
	struct reason why = {{0}};
	struct service *service;

	assert_int_equal(tables_add(world->tables, config, &service, &why), error);
	assert_non_null(strstr(why.text, text));
	assert_null(registry_find(&world->tables->registry, config->name));
}

static bool has(const char *const *words, const char *word)
{
	while (*words && strcmp(*words, word))
		words++;
	return *words;
}

/* What a mux's node says beforehand is what it then takes. */
static void it_serves_what_its_node_says(void **state)
{
	struct service_config config = image_config(1, "10.99.0.1", 2 * mirror_serves.buckets);
	struct reason why = {{0}};
	struct service *service;
	struct world world;

	(void)state;
	world_open(&world, 1);
	assert_true(has(mirror_serves.encap, config.encap->name));
	assert_true(has(mirror_serves.steering, config.steering->name));
	assert_false(has(mirror_serves.encap, encap_srv6.name));
	refuse(&world, &config, -ENOSPC, "buckets is ");
	config.buckets = mirror_serves.buckets;
	assert_int_equal(tables_add(world.tables, &config, &service, &why), 0);
	tables_remove(world.tables, service);
	config = image_config(1, "10.99.0.1", BUCKETS);
	config.steering = &steering_maat;
	config.maat = (struct maat_settings){MAAT_PACKETS, 10, 1000, 2 * P4_NOTED, 3};
	refuse(&world, &config, -ENOSPC, "maat.filterBytes is 2097152; allowed with a mux of kind p4: 1048576 ");
	config.maat.filter_bytes = P4_NOTED;
	assert_int_equal(tables_add(world.tables, &config, &service, &why), 0);
	config.id = 2;
	config.vips[0] = image_address("10.99.0.2");
	strcpy(config.name, "second");
	config.maat.filter_bytes = 1024;
	refuse(&world, &config, -ENOSPC, "at most 0 for one more now");
	tables_remove(world.tables, service);
	assert_int_equal(tables_add(world.tables, &config, &service, &why), 0);
	tables_remove(world.tables, service);
	world_close(&world);
}

static void what_it_cannot_serve_is_refused_by_name(void **state)
{
	struct service_config config = image_config(1, "10.99.0.1", BUCKETS);
	struct world world;

	(void)state;
	world_open(&world, 1);
	config.encap = &encap_srv6;
	refuse(&world, &config, -EAFNOSUPPORT, "encap is 'srv6'; allowed with a mux of kind p4: gue, ipip");
	config.encap = &encap_gue;
	for (unsigned i = 0; steerings[i]; i++) {
		assert_int_equal(has(mirror_serves.steering, steerings[i]->name), p4_has_steering(steerings[i]));
		config.steering = steerings[i];
		if (!has(mirror_serves.steering, config.steering->name))
			refuse(&world, &config, -EAFNOSUPPORT, "steering is '");
	}
	config = image_config(1, "10.99.0.1", FL_BUCKETS_MAX);
	refuse(&world, &config, -ENOSPC, "buckets is 8388608");
	world_close(&world);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(it_serves_what_its_node_says),
	    cmocka_unit_test(what_it_cannot_serve_is_refused_by_name),
	};

	world_environment();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
