/* SPDX-License-Identifier: Apache-2.0 */
/* config_node.h: the example of the protocol, and each key missing, of another type and out of range. */
#include <errno.h>
#include <netinet/in.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>
#include <jansson.h>

#include "config/address.h"
#include "control/service/config_node.h"
#include "encap/gue.h"
#include "steering/hunt/hunt.h"
#include "steering/othello/othello.h"
#include "steering/ring/steering_ring.h"

static const char example[] =
    "{\"format\": 1, \"id\": 1, \"name\": \"web\", \"vips\": [\"10.99.0.1\", \"2001:db8::1\"],"
    " \"ports\": [{\"protocol\": \"tcp\", \"port\": 80}, {\"protocol\": \"udp\", \"port\": 80}], \"steering\": "
    "\"ring\","
    " \"buckets\": 65536, \"hash\": \"siphash\", \"hashKey\": \"000102030405060708090a0b0c0d0e0f\","
    " \"affinity\": \"connection\", \"encap\": \"gue\", \"windowSeconds\": 240}";

static int parse(const char *json, struct service_config *out, struct reason *why)
{
	why->text[0] = 0;
	return config_node_parse(json, strlen(json), "web", out, why);
}

static void reads_every_field(void **state)
{
	struct service_config config;
	struct reason why;
	char text[ADDRESS_TEXT_MAX];

	(void)state;
	assert_int_equal(parse(example, &config, &why), 0);
	assert_int_equal(config.id, 1);
	assert_string_equal(config.name, "web");
	assert_int_equal(config.vips_count, 2);
	assert_string_equal(address_print(&config.vips[0], text), "10.99.0.1");
	assert_string_equal(address_print(&config.vips[1], text), "2001:db8::1");
	assert_int_equal(config.ports_count, 2);
	assert_int_equal(config.ports[0].protocol, IPPROTO_TCP);
	assert_int_equal(config.ports[1].protocol, IPPROTO_UDP);
	assert_int_equal(config.ports[1].port, 80);
	assert_int_equal(config.buckets, 65536);
	assert_ptr_equal(config.steering, &steering_ring);
	assert_int_equal(config.hash, FL_HASH_SIPHASH);
	assert_true(config.key.k0 == 0x0706050403020100ULL && config.key.k1 == 0x0f0e0d0c0b0a0908ULL);
	assert_int_equal(config.affinity, AFFINITY_CONNECTION);
	assert_int_equal(config.window, 240);
	assert_int_equal(config.mptcp.first, 0);
	assert_int_equal(config.mptcp.last, 0);
}

static char *changed(const char *key, const char *value);

static void reads_ports_of_ids(void **state)
{
	char *text = changed("mptcpPorts", "{\"first\": 20000, \"last\": 20999}");
	struct service_config config;
	struct reason why;

	(void)state;
	assert_int_equal(parse(text, &config, &why), 0);
	assert_int_equal(config.mptcp.first, 20000);
	assert_int_equal(config.mptcp.last, 20999);
	free(text);
}

static void reads_optional_fields(void **state)
{
	char *text = changed("quicServerId", "{\"offset\": 1, \"length\": 2}");
	struct service_config config;
	struct reason why;

	(void)state;
	assert_int_equal(parse(text, &config, &why), 0);
	assert_int_equal(config.quic.offset, 1);
	assert_int_equal(config.quic.length, 2);
	assert_int_equal(config.mss, 0);
	assert_ptr_equal(config.encap, &encap_gue);
	free(text);
	text = changed("maxSegmentSize", "1400");
	assert_int_equal(parse(text, &config, &why), 0);
	assert_int_equal(config.mss, 1400);
	assert_int_equal(config.quic.length, 0);
	free(text);
	assert_false(config.stateless_udp);
	text = changed("statelessUdp", "true");
	assert_int_equal(parse(text, &config, &why), 0);
	assert_true(config.stateless_udp);
	free(text);
	text = changed("statelessUdp", "false");
	assert_int_equal(parse(text, &config, &why), 0);
	assert_false(config.stateless_udp);
	assert_int_equal(config.hold, 0);
	free(text);
	text = changed("holdSeconds", "604800");
	assert_int_equal(parse(text, &config, &why), 0);
	assert_int_equal(config.hold, 604800);
	free(text);
	text = config_node_print(&config);
	memset(&config, 0, sizeof(config));
	assert_int_equal(parse(text, &config, &why), 0);
	assert_int_equal(config.hold, 604800);
	free(text);
	assert_int_equal(config.packets_per_second, 0);
	text = changed("packetsPerSecond", "1000000000");
	assert_int_equal(parse(text, &config, &why), 0);
	assert_int_equal(config.packets_per_second, 1000000000);
	assert_true(config.bytes_per_second == 0);
	free(text);
	text = changed("bytesPerSecond", "1000000000000");
	assert_int_equal(parse(text, &config, &why), 0);
	assert_true(config.bytes_per_second == 1000000000000);
	free(text);
	text = config_node_print(&config);
	memset(&config, 0, sizeof(config));
	assert_int_equal(parse(text, &config, &why), 0);
	assert_true(config.bytes_per_second == 1000000000000);
	free(text);
	text = changed("steering", "\"othello\"");
	assert_int_equal(parse(text, &config, &why), 0);
	assert_ptr_equal(config.steering, &steering_othello);
	free(text);
	text = changed("steering", "\"hunt\"");
	assert_int_equal(parse(text, &config, &why), 0);
	assert_ptr_equal(config.steering, &steering_hunt);
	free(text);
}

static const struct maat_row {
	const char *maat; /* NULL: absent */
	const char *why;  /* NULL: it is allowed */
} maat_rows[] = {
    {"{\"load\":\"bytes\",\"deltaThousandths\":0,\"halfLifeMillis\":10,\"filterBytes\":1024,\"filterHashes\":1}", NULL},
    {"{\"load\":\"agents\",\"deltaThousandths\":1000,\"halfLifeMillis\":60000,\"filterBytes\":16777216,"
     "\"filterHashes\":8}",
     NULL},
    {NULL, "maat is missing; allowed with steering maat: an object"},
    {"7", "maat is not an object; allowed with steering maat: an object"},
    {"{}", "maat.load is missing; allowed: a string"},
    {"{\"load\":\"cpu\"}", "maat.load is 'cpu'; allowed: packets, bytes, connections, agents"},
    {"{\"load\":\"packets\",\"deltaThousandths\":1001}", "maat.deltaThousandths is 1001; allowed: 0..1000"},
    {"{\"load\":\"packets\",\"deltaThousandths\":10,\"halfLifeMillis\":9}",
     "maat.halfLifeMillis is 9; allowed: 10..60000"},
    {"{\"load\":\"packets\",\"deltaThousandths\":10,\"halfLifeMillis\":10,\"filterBytes\":33554432}",
     "maat.filterBytes is 33554432; allowed: 1024..16777216"},
    {"{\"load\":\"packets\",\"deltaThousandths\":10,\"halfLifeMillis\":10,\"filterBytes\":1025}",
     "maat.filterBytes is 1025; allowed: a power of two"},
    {"{\"load\":\"packets\",\"deltaThousandths\":10,\"halfLifeMillis\":10,\"filterBytes\":1024,\"filterHashes\":9}",
     "maat.filterHashes is 9; allowed: 1..8"},
};

/* Settings of maat are read and written, and refused by name; a service with another method ignores them. */
static void settings_of_maat(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(maat_rows) / sizeof(maat_rows[0]); i++) {
		json_t *root = json_loads(example, 0, NULL);
		struct service_config config, again;
		struct reason why = {""};
		char *text;

		json_object_set_new(root, "steering", json_string("maat"));
		if (maat_rows[i].maat)
			json_object_set_new(root, "maat", json_loads(maat_rows[i].maat, JSON_DECODE_ANY, NULL));
		text = json_dumps(root, 0);
		assert_int_equal(parse(text, &config, &why), maat_rows[i].why ? -EINVAL : 0);
		assert_string_equal(why.text, maat_rows[i].why ? maat_rows[i].why : "");
		free(text);
		if (!maat_rows[i].why) {
			text = config_node_print(&config);
			assert_int_equal(parse(text, &again, &why), 0);
			assert_memory_equal(&config, &again, sizeof(config));
			free(text);
		}
		json_object_set_new(root, "steering", json_string("ring"));
		text = json_dumps(root, 0);
		assert_int_equal(parse(text, &config, &why), 0);
		assert_int_equal(config.maat.filter_bytes, 0);
		free(text);
		json_decref(root);
	}
}

/* The example with one key (first, last: of mptcpPorts) set to a JSON value, or without it (value NULL). */
static char *changed(const char *key, const char *value)
{
	json_t *root = json_loads(example, 0, NULL);
	char *text;

	assert_non_null(root);
	if (value) {
		json_t *to = json_loads(value, JSON_DECODE_ANY, NULL);

		assert_non_null(to);
		if (!strcmp(key, "first") || !strcmp(key, "last")) {
			json_object_set_new(root, "mptcpPorts", json_pack("{s:i, s:i}", "first", 20000, "last", 20999));
			assert_int_equal(json_object_set_new(json_object_get(root, "mptcpPorts"), key, to), 0);
		} else {
			assert_int_equal(json_object_set_new(root, key, to), 0);
		}
	} else {
		assert_int_equal(json_object_del(root, key), 0);
	}
	text = json_dumps(root, 0);
	json_decref(root);
	return text;
}

static void refuses(void **state)
{
	static const struct {
		const char *key, *value, *named; /* named: what the reason must contain besides the key */
	} rows[] = {
	    {"format", "2", "allowed: 1..1"},
	    {"format", "0", "is 0"},
	    {"format", "\"1\"", "not an integer"},
	    {"id", "0", "1..65535"},
	    {"id", "65536", "is 65536"},
	    {"id", "1.5", "not an integer"},
	    {"name", "\"other\"", "'other'"},
	    {"name", "7", "not a string"},
	    {"vips", "[]", "1..64"},
	    {"vips", "\"10.99.0.1\"", "not a list"},
	    {"vips", "[\"10.99.0.1\", \"10.99.0.1\"]", "each once"},
	    {"vips", "[\"10.99.0.300\"]", "10.99.0.300"},
	    {"vips", "[\"::\"]", "'::'"},
	    {"vips", "[7]", "not a string"},
	    {"ports", "[]", "1..64"},
	    {"ports", "[{\"protocol\": \"sctp\", \"port\": 80}]", "sctp"},
	    {"ports", "[{\"protocol\": \"tcp\", \"port\": 0}]", "1..65535"},
	    {"ports", "[{\"protocol\": \"tcp\", \"port\": 65536}]", "65536"},
	    {"ports", "[{\"protocol\": \"tcp\"}]", "missing"},
	    {"ports", "[{\"port\": 80}]", "missing"},
	    {"ports", "[7]", "missing"},
	    {"ports", "[{\"protocol\": \"tcp\", \"port\": 80}, {\"protocol\": \"tcp\", \"port\": 80}]", "each once"},
	    {"buckets", "255", "256..8388608"},
	    {"buckets", "65535", "power of two"},
	    {"buckets", "16777216", "16777216"},
	    {"buckets", "-65536", "-65536"},
	    {"hash", "\"md5\"", "siphash, crc32"},
	    {"hashKey", "\"00\"", "32 hex digits"},
	    {"hashKey", "\"000102030405060708090a0b0c0d0e0g\"", "32 hex digits"},
	    {"hashKey", "\"000102030405060708090a0b0c0d0e0f00\"", "32 hex digits"},
	    {"affinity", "\"server\"", "connection, client"},
	    {"windowSeconds", "-1", "-1"},
	    {"windowSeconds", "99999999999", "99999999999"},
	    {"encap", "\"gre\"", "allowed: gue, srv6, ipip"},
	    {"encap", "\"ipip\"", "vips[1] is '2001:db8::1'; allowed with encap ipip"},
	    {"quicServerId", "[1, 2]", "offset and length"},
	    {"quicServerId", "{\"offset\": 1}", "quicServerId.length is missing"},
	    {"quicServerId", "{\"offset\": 20, \"length\": 1}", "0..19"},
	    {"quicServerId", "{\"offset\": 1, \"length\": 3}", "1..2"},
	    {"maxSegmentSize", "535", "536..65535"},
	    {"maxSegmentSize", "\"1400\"", "an integer 536..65535"},
	    {"statelessUdp", "1", "statelessUdp is not a boolean; allowed: true, false"},
	    {"packetsPerSecond", "0", "packetsPerSecond is 0; allowed: 1..1000000000"},
	    {"packetsPerSecond", "1000000001", "1000000001"},
	    {"bytesPerSecond", "\"1\"", "an integer 1..1000000000000"},
	    {"bytesPerSecond", "1000000000001", "1000000000001"},
	    {"holdSeconds", "0", "holdSeconds is 0; allowed: 1..604800"},
	    {"holdSeconds", "604801", "604801"},
	    {"holdSeconds", "true", "an integer 1..604800"},
	    {"mptcpPorts", "[20000, 20999]", "first and last"},
	    {"mptcpPorts", "{\"first\": 70, \"last\": 90}", "tcp:80"},
	    {"mptcpPorts", "{\"first\": 80, \"last\": 81}", "tcp:80"},
	    {"first", "0", "mptcpPorts.first is 0; allowed: 1..65534"},
	    {"first", "\"a\"", "not an integer"},
	    {"last", "20000", "20001..65535"},
	    {"last", "65536", "65536"},
	};
	struct service_config config, untouched;
	struct reason why;

	(void)state;
	memset(&config, 0xa5, sizeof(config));
	memcpy(&untouched, &config, sizeof(config));
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		char *text = changed(rows[i].key, rows[i].value);
		/* within a list the entry's own key is named */
		bool in_list = !strcmp(rows[i].key, "ports");

		if (parse(text, &config, &why) != -EINVAL)
			fail_msg("%s %s is taken", rows[i].key, rows[i].value);
		if (!strstr(why.text, rows[i].named) || (!in_list && !strstr(why.text, rows[i].key)))
			fail_msg("%s %s: \"%s\"", rows[i].key, rows[i].value, why.text);
		assert_memory_equal(&config, &untouched, sizeof(config));
		free(text);
	}
}

static void rejects_each_missing_key(void **state)
{
	json_t *root = json_loads(example, 0, NULL);
	struct service_config config;
	struct reason why;
	const char *key;
	json_t *value;

	(void)state;
	json_object_foreach(root, key, value)
	{
		char *text = changed(key, NULL);

		if (parse(text, &config, &why) != -EINVAL || !strstr(why.text, key) || !strstr(why.text, "missing"))
			fail_msg("without %s: \"%s\"", key, why.text);
		free(text);
	}
	assert_int_equal(json_object_size(root), 12);
	json_decref(root);
}

static void rejects_what_is_not_an_object(void **state)
{
	static const char *const rows[] = {"", "{", "[]", "7", "null", "{\"format\": 1, \"format\": 1}", "\xff\xfe"};
	struct service_config config;
	struct reason why;

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (parse(rows[i], &config, &why) != -EINVAL || !why.text[0])
			fail_msg("'%s' is taken", rows[i]);
}

static void ignores_unknown_keys(void **state)
{
	char *text = changed("colour", "{\"red\": [1, 2, 3]}");
	struct service_config config, plain;
	struct reason why;

	(void)state;
	assert_int_equal(parse(text, &config, &why), 0);
	assert_int_equal(parse(example, &plain, &why), 0);
	assert_memory_equal(&config, &plain, sizeof(config)); /* equal configurations are equal bytes */
	free(text);
}

static void detects_that_rings_differ(void **state)
{
	static const struct {
		const char *key, *value;
		bool is_same;
	} rows[] = {
	    {"id", "2", false},
	    {"buckets", "256", false},
	    {"hash", "\"crc32\"", false},
	    {"hashKey", "\"ff0102030405060708090a0b0c0d0e0f\"", false},
	    {"hashKey", "\"000102030405060708090a0b0c0d0eff\"", false},
	    {"affinity", "\"client\"", false},
	    {"vips", "[\"10.99.0.9\"]", true},
	    {"ports", "[{\"protocol\": \"tcp\", \"port\": 443}]", true},
	    {"windowSeconds", "60", true},
	};
	struct service_config config, other;
	struct reason why;

	(void)state;
	assert_int_equal(parse(example, &config, &why), 0);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		char *text = changed(rows[i].key, rows[i].value);

		assert_int_equal(parse(text, &other, &why), 0);
		if (service_config_same_ring(&config, &other) != rows[i].is_same)
			fail_msg("%s", rows[i].key);
		free(text);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(reads_every_field),
	    cmocka_unit_test(settings_of_maat),
	    cmocka_unit_test(reads_ports_of_ids),
	    cmocka_unit_test(reads_optional_fields),
	    cmocka_unit_test(refuses),
	    cmocka_unit_test(rejects_each_missing_key),
	    cmocka_unit_test(rejects_what_is_not_an_object),
	    cmocka_unit_test(ignores_unknown_keys),
	    cmocka_unit_test(detects_that_rings_differ),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
