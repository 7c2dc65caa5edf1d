// SPDX-License-Identifier: Apache-2.0
/* The document of services: what is read, what is refused, and buckets as hash.json has them. */
#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>

#include "agent/services.h"

#include "vectors.h"

#define SERVICE_AS(name, id, vips, ports, more)                                                                        \
	"{\"name\": \"" name "\", \"id\": " id ", \"vips\": " vips ", \"ports\": " ports                               \
	", \"buckets\": 256, \"hash\": \"siphash\", \"hashKey\": \"000102030405060708090a0b0c0d0e0f\", "               \
	"\"affinity\": \"connection\", "                                                                               \
	"\"backends\": [{\"id\": 7, \"address\": \"10.2.0.7\"}]" more "}"
#define TCP_80             "[{\"protocol\": \"tcp\", \"port\": 80}]"
#define WEB                SERVICE_AS("web", "1", "[\"10.99.0.1\", \"fd99::1\"]", TCP_80, "")
#define DOCUMENT(services) "{\"format\": 1, \"later\": {}, \"version\": \"5f\", \"services\": [" services "]}"

static const struct services_mangle plain = {false, {{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 10, 2, 0, 7}}, {{0}}};

static struct services *read(const char *text, const struct services_mangle *mangle)
{
	return services_read(text, strlen(text), mangle);
}

static struct fl_address address(const char *text)
{
	struct fl_address out;
	fl_u8 ipv4[4];

	if (inet_pton(AF_INET, text, ipv4) == 1)
		return fl_address_from_ipv4(ipv4);
	assert_int_equal(inet_pton(AF_INET6, text, out.bytes), 1);
	return out;
}

static int service_at(const struct services *services, const char *local, fl_u16 port)
{
	struct fl_address at = address(local);
	unsigned endpoint = services_endpoint(services, &at, port);

	return endpoint == SERVICES_NO_ENDPOINT ? -1 : services->endpoints[endpoint].service;
}

static void endpoints(void **state)
{
	struct services *services =
	    read(DOCUMENT(WEB ", " SERVICE_AS(
		     "dns", "2", "[\"10.99.0.1\"]",
		     "[{\"protocol\": \"udp\", \"port\": 53}, {\"protocol\": \"tcp\", \"port\": 53}]",
		     ", \"mptcpPorts\": {\"first\": 20000, \"last\": 20999}")),
		 &plain);
	static const struct {
		const char *local;
		fl_u16 port;
		int service;
	} rows[] = {{"10.99.0.1", 80, 0},     {"fd99::1", 80, 0},      {"10.99.0.1", 53, 1},
		    {"fd99::1", 53, -1},      {"10.99.0.1", 81, -1},   {"10.99.0.2", 80, -1},
		    {"10.99.0.1", 20000, 1},  {"10.99.0.1", 20999, 1}, {"10.99.0.1", 21000, -1},
		    {"10.99.0.1", 19999, -1}, {"10.2.0.7", 80, -1}};

	(void)state;
	assert_non_null(services);
	assert_string_equal(services->version, "5f");
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		assert_int_equal(service_at(services, rows[i].local, rows[i].port), rows[i].service);
	assert_ptr_equal(services_find(services, "dns"), &services->list[1]);
	assert_null(services_find(services, "mail"));
	services_free(services);
}

/* Without tokens a controller lists all services: those of other servers are not this agent's. */
static void foreign(void **state)
{
	char text[] = DOCUMENT(SERVICE_AS("b", "2", "[\"10.99.0.1\"]", TCP_80, "") ", " WEB);
	struct services *services;

	(void)state;
	memcpy(strstr(text, "10.2.0.7"), "10.2.0.8", strlen("10.2.0.8")); /* the backend of b */
	services = read(text, &plain);
	assert_non_null(services);
	assert_int_equal(services->count, 1);
	assert_string_equal(services->list[0].name, "web");
	assert_int_equal(service_at(services, "10.99.0.1", 80), 0);
	services_free(services);
}

static void mangled(void **state)
{
	struct services_mangle mangle = {true, address("10.2.0.7"), {{0}}};
	struct services *services =
	    read(DOCUMENT(SERVICE_AS("web", "1", "[\"10.99.0.1\"]", TCP_80, "") ", " SERVICE_AS(
		     "a", "2", "[\"10.99.0.2\"]", "[{\"protocol\": \"tcp\", \"port\": 81}]",
		     "") ", " SERVICE_AS("b", "3", "[\"10.99.0.3\"]", "[{\"protocol\": \"tcp\", \"port\": 81}]",
					 "") ", " SERVICE_AS("six", "4", "[\"fd99::1\"]", TCP_80, "")),
		 &mangle);

	(void)state;
	assert_non_null(services);
	assert_int_equal(service_at(services, "10.2.0.7", 80), 0);
	assert_int_equal(service_at(services, "10.99.0.1", 80), -1);
	assert_int_equal(service_at(services, "10.2.0.7", 81), -1);
	assert_false(services->list[0].ambiguous);
	for (int i = 1; i < 4; i++)
		assert_true(services->list[i].ambiguous);
	services_free(services);
}

static void ages(void **state)
{
	struct services *services = read(
	    DOCUMENT(WEB ", " SERVICE_AS(
		"a", "2", "[]", "[]",
		", \"connections\": {\"ageSeconds\": 60, \"more\": 1}") ", " SERVICE_AS("b", "3", "[]", "[]",
											", \"connections\": null")),
	    &plain);
	static const fl_u32 expected[] = {0, 60, 0};

	(void)state;
	for (size_t i = 0; i < 3; i++)
		assert_int_equal(services->list[i].age_seconds, expected[i]);
	services_free(services);
}

static void two_buckets(void **state)
{
	struct services *services =
	    read(DOCUMENT(WEB ", " SERVICE_AS("a", "2", "[]", "[]", ", \"twoBuckets\": true") ", " SERVICE_AS(
		     "b", "3", "[]", "[]", ", \"twoBuckets\": false") ", " SERVICE_AS("c", "4", "[]", "[]",
										      ", \"twoBuckets\": null")),
		 &plain);
	static const bool expected[] = {false, true, false, false};

	(void)state;
	for (size_t i = 0; i < 4; i++)
		assert_int_equal(services->list[i].two_buckets, expected[i]);
	services_free(services);
}

#define HUNT(policy, threshold, window, epsilon)                                                                       \
	", \"hunt\": {\"policy\": " policy ", \"threshold\": " threshold ", \"window\": " window                       \
	", \"epsilonThousandths\": " epsilon ", \"more\": 1}"

static void hunts(void **state)
{
	static const struct fl_load_setting expected[] = {
	    {0},
	    {.policy = FL_LOAD_DYNAMIC, .threshold = 1, .window = 50, .epsilon = 100},
	    {.policy = FL_LOAD_STATIC, .threshold = 65535, .window = 10, .epsilon = 0},
	    {.policy = FL_LOAD_ALWAYS, .threshold = 1, .window = 1000, .epsilon = 499},
	};
	struct services *services = read(
	    DOCUMENT(WEB ", " SERVICE_AS("a", "2", "[]", "[]", HUNT("\"dynamic\"", "1", "50", "100")) ", " SERVICE_AS(
		"b", "3", "[]", "[]",
		HUNT("\"static\"", "65535", "10", "0")) ", " SERVICE_AS("c", "4", "[]", "[]",
									HUNT("\"always\"", "1", "1000", "499"))),
	    &plain);

	(void)state;
	for (size_t i = 0; i < 4; i++) {
		assert_int_equal(services->list[i].has_hunt, i != 0);
		assert_memory_equal(&services->list[i].hunt, &expected[i], sizeof(expected[i]));
	}
	services_free(services);
}

static void shared(void **state)
{
	struct services *services = read(DOCUMENT(WEB), &plain), *copy = services_share(services);

	(void)state;
	assert_int_equal(copy->endpoint_count, services->endpoint_count);
	services_free(services);
	assert_int_equal(service_at(copy, "fd99::1", 80), 0);
	assert_string_equal(copy->list[0].name, "web");
	services_free(copy);
}

static const struct malformed_row {
	const char *name, *text;
} malformed_rows[] = {
    {"no JSON", "{"},
    {"text behind the document", DOCUMENT(WEB) " 1"},
    {"a list", "[]"},
    {"a duplicate key", "{\"format\": 1, \"format\": 1, \"version\": \"a\", \"services\": []}"},
    {"another format", "{\"format\": 2, \"version\": \"a\", \"services\": []}"},
    {"no version", "{\"format\": 1, \"services\": []}"},
    {"an empty version", "{\"format\": 1, \"version\": \"\", \"services\": []}"},
    {"a service that is text", DOCUMENT("\"web\"")},
    {"id 0", DOCUMENT(SERVICE_AS("web", "0", "[]", "[]", ""))},
    {"id 65536", DOCUMENT(SERVICE_AS("web", "65536", "[]", "[]", ""))},
    {"a name twice", DOCUMENT(SERVICE_AS("a", "1", "[]", "[]", "") ", " SERVICE_AS("a", "2", "[]", "[]", ""))},
    {"an id twice", DOCUMENT(SERVICE_AS("a", "1", "[]", "[]", "") ", " SERVICE_AS("b", "1", "[]", "[]", ""))},
    {"a VIP that is no address", DOCUMENT(SERVICE_AS("a", "1", "[\"10.99.0\"]", "[]", ""))},
    {"a VIP that is a number", DOCUMENT(SERVICE_AS("a", "1", "[1]", "[]", ""))},
    {"another protocol", DOCUMENT(SERVICE_AS("a", "1", "[]", "[{\"protocol\": \"sctp\", \"port\": 1}]", ""))},
    {"port 0", DOCUMENT(SERVICE_AS("a", "1", "[]", "[{\"protocol\": \"tcp\", \"port\": 0}]", ""))},
    {"port 1.5", DOCUMENT(SERVICE_AS("a", "1", "[]", "[{\"protocol\": \"tcp\", \"port\": 1.5}]", ""))},
    {"connections that are a list", DOCUMENT(SERVICE_AS("a", "1", "[]", "[]", ", \"connections\": []"))},
    {"connections without an age", DOCUMENT(SERVICE_AS("a", "1", "[]", "[]", ", \"connections\": {}"))},
    {"an age of 0 seconds", DOCUMENT(SERVICE_AS("a", "1", "[]", "[]", ", \"connections\": {\"ageSeconds\": 0}"))},
    {"an age above a day", DOCUMENT(SERVICE_AS("a", "1", "[]", "[]", ", \"connections\": {\"ageSeconds\": 86401}"))},
    {"asksForm that is a number", "{\"format\": 1, \"version\": \"5\", \"asksForm\": 1, \"services\": []}"},
    {"asksSignals that is a word", "{\"format\": 1, \"version\": \"5\", \"asksSignals\": \"yes\", \"services\": []}"},
    {"twoBuckets that is a number", DOCUMENT(SERVICE_AS("a", "1", "[]", "[]", ", \"twoBuckets\": 2"))},
    {"hunt that is a word", DOCUMENT(SERVICE_AS("a", "1", "[]", "[]", ", \"hunt\": \"dynamic\""))},
    {"hunt without a policy",
     DOCUMENT(SERVICE_AS("a", "1", "[]", "[]",
			 ", \"hunt\": {\"threshold\": 1, \"window\": 50, \"epsilonThousandths\": 100}"))},
    {"another policy", DOCUMENT(SERVICE_AS("a", "1", "[]", "[]", HUNT("\"greedy\"", "1", "50", "100")))},
    {"threshold 0", DOCUMENT(SERVICE_AS("a", "1", "[]", "[]", HUNT("\"static\"", "0", "50", "100")))},
    {"threshold 65536", DOCUMENT(SERVICE_AS("a", "1", "[]", "[]", HUNT("\"static\"", "65536", "50", "100")))},
    {"window 9", DOCUMENT(SERVICE_AS("a", "1", "[]", "[]", HUNT("\"dynamic\"", "1", "9", "100")))},
    {"window 1001", DOCUMENT(SERVICE_AS("a", "1", "[]", "[]", HUNT("\"dynamic\"", "1", "1001", "100")))},
    {"epsilon of a half", DOCUMENT(SERVICE_AS("a", "1", "[]", "[]", HUNT("\"dynamic\"", "1", "50", "500")))},
    {"an epsilon with a fraction", DOCUMENT(SERVICE_AS("a", "1", "[]", "[]", HUNT("\"dynamic\"", "1", "50", "0.5")))},
    {"mptcpPorts that is a list", DOCUMENT(SERVICE_AS("a", "1", "[]", "[]", ", \"mptcpPorts\": []"))},
    {"mptcpPorts that end before they begin",
     DOCUMENT(SERVICE_AS("a", "1", "[]", "[]", ", \"mptcpPorts\": {\"first\": 9, \"last\": 8}"))},
    {"the same VIP and port of two services", DOCUMENT(WEB ", " SERVICE_AS("b", "2", "[\"10.99.0.1\"]", TCP_80, ""))},
    {"a port within another service's mptcpPorts",
     DOCUMENT(WEB
	      ", " SERVICE_AS("b", "2", "[\"10.99.0.1\"]", "[]", ", \"mptcpPorts\": {\"first\": 79, \"last\": 90}"))},
};

static void malformed(void **state)
{
	const struct malformed_row *row = *state;

	assert_null(read(row->text, &plain));
}

/* Each value of a service that is wrong, in place of the right one. */
static void malformed_values(void **state)
{
	static const struct {
		const char *right, *wrong;
	} rows[] = {{"256", "255"},
		    {"256", "128"},
		    {"256", "16777216"},
		    {"256", "\"256\""},
		    {"\"siphash\"", "\"md5\""},
		    {"0e0f", "0e0F"},
		    {"0e0f", "0e"},
		    {"\"connection\"", "\"port\""},
		    {"\"10.2.0.7\"", "\"server7\""},
		    {"\"id\": 7", "\"id\": 65536"},
		    {"\"backends\"", "\"servers\""}};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const char *text = DOCUMENT(WEB), *at = strstr(text, rows[i].right);
		char changed[1024];

		assert_non_null(at);
		snprintf(changed, sizeof(changed), "%.*s%s%s", (int)(at - text), text, rows[i].wrong,
			 at + strlen(rows[i].right));
		assert_null(read(changed, &plain));
	}
}

/* A row of hash.json about TCP: the connection from its source to its destination as the VIP. */
static void flow(void **state)
{
	const json_t *row = *state;
	json_t *service, *document;
	const struct endpoint *endpoint;
	struct services *services;
	struct fl_address remote;
	char *text;

	if (vectors_number(row, "protocol") != 6)
		return;
	service = json_pack("{s:s, s:i, s:[s], s:[{s:s, s:I}], s:i, s:s, s:s, s:s, s:[{s:i, s:s}]}", "name", "web",
			    "id", 1, "vips", vectors_text(row, "destination"), "ports", "protocol", "tcp", "port",
			    (json_int_t)vectors_number(row, "destinationPort"), "buckets", 65536, "hash",
			    vectors_text(row, "hash"), "hashKey", vectors_text(row, "hashKey"), "affinity",
			    vectors_text(row, "affinity"), "backends", "id", 7, "address", "10.2.0.7");
	document = json_pack("{s:i, s:s, s:[o]}", "format", 1, "version", "1", "services", service);
	text = json_dumps(document, 0);
	services = read(text, &plain);
	assert_non_null(services);
	endpoint = &services->endpoints[0];
	remote = vectors_address(row, "source");
	assert_int_equal(services_flow_hash(services, endpoint, &remote, (fl_u16)vectors_number(row, "sourcePort"),
					    (fl_u16)vectors_number(row, "destinationPort")),
			 strtoull(vectors_text(row, "flowHash64"), NULL, 16));
	services_free(services);
	free(text);
	json_decref(document);
}

int main(int argc, char **argv)
{
	json_t *hash = vectors_load(argc > 1 ? argv[1] : ".", "hash.json");
	struct vectors_tests tests = {NULL, 0};
	int failed;

	vectors_add_plain(&tests, "endpoints", endpoints, NULL);
	vectors_add_plain(&tests, "connections that are reported", ages, NULL);
	vectors_add_plain(&tests, "two buckets", two_buckets, NULL);
	vectors_add_plain(&tests, "hunt", hunts, NULL);
	vectors_add_plain(&tests, "shared", shared, NULL);
	vectors_add_plain(&tests, "services of other servers", foreign, NULL);
	vectors_add_plain(&tests, "with --mangle", mangled, NULL);
	for (size_t i = 0; i < sizeof(malformed_rows) / sizeof(malformed_rows[0]); i++)
		vectors_add_plain(&tests, malformed_rows[i].name, malformed, (void *)&malformed_rows[i]);
	vectors_add_plain(&tests, "wrong values", malformed_values, NULL);
	vectors_add(&tests, hash, "rows", flow);
	failed = vectors_run("services", &tests);
	json_decref(hash);
	return failed;
}
