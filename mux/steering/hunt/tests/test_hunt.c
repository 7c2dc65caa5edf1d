/* SPDX-License-Identifier: Apache-2.0 */
/* Steering hunt: what it refuses. Its packets: tests/test_seconds.c. */
#include <errno.h>
#include <netinet/in.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "encap/encap.h"
#include "service/tables.h"
#include "steering/hunt/hunt.h"
#include "tests/image.h"

static void use_ipip(struct service_config *config)
{
	config->encap = &encap_ipip;
}

static void use_wide_crc32(struct service_config *config)
{
	config->hash = FL_HASH_CRC32;
	config->buckets = 131072;
}

static void use_crc32(struct service_config *config)
{
	config->hash = FL_HASH_CRC32;
	config->buckets = 65536;
}

static void use_many(struct service_config *config)
{
	config->buckets = FL_BUCKETS_MAX;
}

static void use_all(struct service_config *config)
{
	config->ports[config->ports_count++] = (struct service_port){IPPROTO_UDP, 443};
	config->mptcp = (struct mptcp_ports){20000, 20010};
	config->quic = (struct quic_server_id){1, 2};
	config->hold = 3600;
}

static void use_client(struct service_config *config)
{
	config->affinity = AFFINITY_CLIENT;
}

static const struct refusal_row {
	void (*use)(struct service_config *config);
	const char *why; /* NULL: it is served */
} rows[] = {
    {use_ipip,
     "encap: service web has 'ipip'; allowed with steering hunt: one that names several servers, such as gue"},
    {use_wide_crc32, "buckets: service web has 131072; allowed with steering hunt and hash crc32: 256..65536"},
    {use_client, "affinity: service web has 'client'; allowed with steering hunt: connection"},
    {use_crc32, NULL},
    {use_many, NULL},
    {use_all, NULL},
};

static void what_it_cannot_serve_is_refused(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct tables *tables = tables_new(1, &image_hops);
		struct service_config config = image_config(3, "10.99.0.1", 256);
		struct service *service;
		struct reason why = {{0}};

		config.steering = &steering_hunt;
		rows[i].use(&config);
		assert_int_equal(tables_add(tables, &config, &service, &why), rows[i].why ? -EINVAL : 0);
		assert_string_equal(why.text, rows[i].why ? rows[i].why : "");
		tables_free(tables);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(what_it_cannot_serve_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
