/* SPDX-License-Identifier: Apache-2.0 */
/* Health checks of config nodes: what each kind has, and the sentence for each wrong one. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "check.h"
#include "config/service_config.h"

#define TIMES "\"intervalMillis\":5000,\"timeoutMillis\":2000,\"rise\":2,\"fall\":3,\"jitterPercent\":10"
#define HTTP  "\"kind\":\"http\",\"path\":\"/\",\"expect\":{\"status\":\"200-299,401\"}," TIMES

struct row {
	const char *json;    /* inside healthCheck's braces; NULL: the key is missing */
	const char *refused; /* what the sentence has; NULL: it is right */
	enum check_kind kind;
};

static const struct row rows[] = {
    {NULL, NULL, CHECK_NONE},
    {"\"kind\":\"tcp\"," TIMES, NULL, CHECK_TCP},
    {"\"kind\":\"tcp\",\"port\":65535,\"of a later version\":1," TIMES, NULL, CHECK_TCP},
    {HTTP, NULL, CHECK_HTTP},
    {"\"kind\":\"https\",\"path\":\"/a?b=c\",\"host\":\"www.example.org\",\"verify\":true,"
     "\"expect\":{\"status\":\"200\",\"body\":\"ready\"}," TIMES,
     NULL, CHECK_HTTPS},
    {"\"kind\":\"udp\",\"send\":\"00ff\",\"expect\":{\"hex\":\"0a\"}," TIMES, NULL, CHECK_UDP},
    {"\"kind\":\"command\",\"command\":\"check-app\"," TIMES, NULL, CHECK_COMMAND},
    {"", "healthCheck.kind is 'missing'; allowed: tcp, http", 0},
    {"\"kind\":\"icmp\"," TIMES, "healthCheck.kind is 'icmp'", 0},
    {"\"kind\":\"none\"," TIMES, "healthCheck.kind is 'none'", 0},
    {"\"kind\":\"tcp\"", "healthCheck.intervalMillis is missing", 0},
    {"\"kind\":\"tcp\",\"port\":0," TIMES, "healthCheck.port is 0; allowed: 1..65535", 0},
    {"\"kind\":\"tcp\",\"port\":\"80\"," TIMES, "healthCheck.port is not an integer", 0},
    {"\"kind\":\"tcp\",\"intervalMillis\":499,\"timeoutMillis\":100,\"rise\":1,\"fall\":1,\"jitterPercent\":0",
     "healthCheck.intervalMillis is 499; allowed: 500..3600000", 0},
    {"\"kind\":\"tcp\",\"intervalMillis\":500,\"timeoutMillis\":501,\"rise\":1,\"fall\":1,\"jitterPercent\":0",
     "healthCheck.timeoutMillis is 501; allowed: 50..500", 0},
    {"\"kind\":\"tcp\",\"intervalMillis\":3600000,\"timeoutMillis\":60001,\"rise\":1,\"fall\":1,\"jitterPercent\":0",
     "healthCheck.timeoutMillis is 60001; allowed: 50..60000", 0},
    {"\"kind\":\"tcp\",\"intervalMillis\":500,\"timeoutMillis\":50,\"rise\":0,\"fall\":1,\"jitterPercent\":0",
     "healthCheck.rise is 0", 0},
    {"\"kind\":\"tcp\",\"intervalMillis\":500,\"timeoutMillis\":50,\"rise\":1,\"fall\":21,\"jitterPercent\":0",
     "healthCheck.fall is 21", 0},
    {"\"kind\":\"tcp\",\"intervalMillis\":500,\"timeoutMillis\":50,\"rise\":1,\"fall\":1,\"jitterPercent\":51",
     "healthCheck.jitterPercent is 51", 0},
    {"\"kind\":\"http\",\"expect\":{\"status\":\"200\"}," TIMES, "healthCheck.path is ''", 0},
    {"\"kind\":\"http\",\"path\":\"a\",\"expect\":{\"status\":\"200\"}," TIMES, "healthCheck.path is 'a'", 0},
    {"\"kind\":\"http\",\"path\":\"/\\r\\nHost: x\",\"expect\":{\"status\":\"200\"}," TIMES,
     "healthCheck.path is '/\r\nHost: x'; allowed: at most 255 bytes in one line", 0},
    {"\"kind\":\"http\",\"path\":\"/\",\"host\":\"a\\nb\",\"expect\":{\"status\":\"200\"}," TIMES,
     "healthCheck.host is 'a\nb'; allowed: at most 255", 0},
    {"\"kind\":\"http\",\"path\":\"/\"," TIMES, "healthCheck.expect.status is missing", 0},
    {"\"kind\":\"http\",\"path\":\"/\",\"expect\":[]," TIMES, "healthCheck.expect is not an object", 0},
    {"\"kind\":\"http\",\"path\":\"/\",\"verify\":1,\"expect\":{\"status\":\"200\"}," TIMES,
     "healthCheck.verify is not a boolean", 0},
    {"\"kind\":\"udp\",\"send\":\"0\"," TIMES, "healthCheck.send is '0'; allowed: at most 512 bytes as hex digits", 0},
    {"\"kind\":\"udp\",\"send\":\"AA\"," TIMES, "healthCheck.send is 'AA'; allowed: at most 512", 0},
    {"\"kind\":\"udp\",\"send\":\"00\",\"expect\":{\"hex\":7}," TIMES,
     "healthCheck.expect.hex is no text; allowed: at most 512", 0},
    {"\"kind\":\"command\"," TIMES, "healthCheck.command is ''", 0},
    {"\"kind\":\"command\",\"command\":\"../sh\"," TIMES, "healthCheck.command is '../sh'", 0},
    {"\"kind\":\"command\",\"command\":\"a/b\"," TIMES, "healthCheck.command is 'a/b'", 0},
    {"\"kind\":\"command\",\"command\":\"a b\"," TIMES, "healthCheck.command is 'a b'", 0},
};

static int parse(const char *inside, struct check *out, struct reason *why)
{
	char json[2048];

	snprintf(json, sizeof(json), inside ? "{\"format\":1,\"healthCheck\":{%s}}" : "{\"format\":1}", inside);
	return check_parse(json, strlen(json), out, why);
}

static void each_check_is_read_or_refused(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct check check;
		struct reason why = {""};
		int error;

		memset(&check, 0xee, sizeof(check));
		error = parse(rows[i].json, &check, &why);
		if (rows[i].refused ? !error || !strstr(why.text, rows[i].refused)
				    : error || check.kind != rows[i].kind)
			fail_msg("%s: %d, kind %d, \"%s\"; expected \"%s\"", rows[i].json, error, check.kind, why.text,
				 rows[i].refused ? rows[i].refused : "no refusal");
	}
}

static void lists_of_statuses(void **state)
{
	static const struct {
		const char *list;
		const char *has; /* ' '-separated; NULL: refused */
		const char *lacks;
	} lists[] = {
	    {"200", "200", "199 201 401"},
	    {"200-299,401", "200 299 401", "199 300 400 402"},
	    {"100-599", "100 599", "99 600"},
	    {"200,201,202,203,204,205,206,207", "207", "208"},
	    {"", NULL, NULL},
	    {"99", NULL, NULL},
	    {"600", NULL, NULL},
	    {"299-200", NULL, NULL},
	    {"200,", NULL, NULL},
	    {",200", NULL, NULL},
	    {"200-", NULL, NULL},
	    {"-200", NULL, NULL},
	    {"2000", NULL, NULL},
	    {" 200", NULL, NULL},
	    {"+20", NULL, NULL},
	    {"200-+29", NULL, NULL},
	    {"200,201,202,203,204,205,206,207,208", NULL, NULL},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(lists) / sizeof(lists[0]); i++) {
		struct reason why = {""};
		struct check check;
		char json[1024];
		unsigned status;
		int at, error;

		snprintf(json, sizeof(json), "\"kind\":\"http\",\"path\":\"/\",\"expect\":{\"status\":\"%s\"}," TIMES,
			 lists[i].list);
		error = parse(json, &check, &why);
		if (!error != !!lists[i].has)
			fail_msg("'%s': %s", lists[i].list, why.text);
		for (const char *p = lists[i].has; p && sscanf(p, "%u%n", &status, &at) == 1; p += at)
			assert_true(check_has_status(&check, status));
		for (const char *p = lists[i].lacks; p && sscanf(p, "%u%n", &status, &at) == 1; p += at)
			assert_false(check_has_status(&check, status));
	}
}

static void endpoints_are_vips_times_ports_of_the_kind(void **state)
{
	static const struct {
		const char *json;
		int count; /* below 0: refused */
		const char *first;
	} cases[] = {
	    {"\"kind\":\"tcp\"," TIMES, 4, "0 6 80"},
	    {"\"kind\":\"udp\",\"send\":\"00\"," TIMES, 2, "0 17 53"},
	    {"\"kind\":\"command\",\"command\":\"x\"," TIMES, 6, "0 6 80"},
	    {"\"kind\":\"tcp\",\"port\":9000," TIMES, 2, "0 6 9000"},
	    {"\"kind\":\"udp\",\"send\":\"00\",\"port\":9000," TIMES, 2, "0 17 9000"},
	};
	struct service_config config = {
	    .vips_count = 2, .ports_count = 3, .ports = {{IPPROTO_TCP, 80}, {IPPROTO_UDP, 53}, {IPPROTO_TCP, 443}}};
	struct check_endpoint endpoints[CHECK_ENDPOINTS_MAX];
	struct reason why = {""};
	struct check check;

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char first[32];

		assert_int_equal(parse(cases[i].json, &check, &why), 0);
		assert_int_equal(check_endpoints(&check, &config, endpoints, &why), cases[i].count);
		snprintf(first, sizeof(first), "%u %u %u", endpoints[0].vip, endpoints[0].protocol, endpoints[0].port);
		assert_string_equal(first, cases[i].first);
	}
	assert_int_equal(parse("\"kind\":\"udp\",\"send\":\"00\"," TIMES, &check, &why), 0);
	config.ports_count = 1;
	assert_true(check_endpoints(&check, &config, endpoints, &why) < 0);
	assert_non_null(strstr(why.text, "healthCheck.kind is 'udp', and the service has no port for it"));
	assert_int_equal(parse("\"kind\":\"tcp\"," TIMES, &check, &why), 0);
	config.vips_count = SERVICE_VIPS_MAX;
	config.ports_count = SERVICE_PORTS_MAX;
	for (uint32_t i = 0; i < SERVICE_PORTS_MAX; i++)
		config.ports[i] = (struct service_port){IPPROTO_TCP, (uint16_t)(1 + i)};
	assert_true(check_endpoints(&check, &config, endpoints, &why) < 0);
	assert_non_null(strstr(why.text, "more than 256 VIPs times ports"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(each_check_is_read_or_refused),
	    cmocka_unit_test(lists_of_statuses),
	    cmocka_unit_test(endpoints_are_vips_times_ports_of_the_kind),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
