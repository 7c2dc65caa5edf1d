/* SPDX-License-Identifier: Apache-2.0 */
/* Flags and variables: '|' separates arguments, and variables. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "config/address.h"
#include "options.h"

#define BASE "--id|mux1|--zookeeper|[::1]:2181|--address|10.1.0.11"

static void split(char *text, char **out)
{
	char *one;

	while ((one = strsep(&text, "|")))
		if (*one)
			*out++ = one;
	*out = NULL;
}

static int parse(struct probe_options *options, const char *flags, const char *variables, struct reason *why)
{
	static char texts[2][1024];
	static char *arguments[64], *environment[64];
	int count = 0;

	snprintf(texts[0], sizeof(texts[0]), "%s", flags);
	snprintf(texts[1], sizeof(texts[1]), "%s", variables);
	split(texts[0], arguments);
	split(texts[1], environment);
	while (arguments[count])
		count++;
	return probe_options_parse(options, count, arguments, environment, why);
}

static void defaults_and_what_is_given(void **state)
{
	struct probe_options options;
	struct reason why = {""};
	char text[ADDRESS_TEXT_MAX];

	(void)state;
	assert_int_equal(parse(&options, BASE, "", &why), 0);
	assert_string_equal(options.root, "/fairlead");
	assert_int_equal(options.first_port, 16384);
	assert_int_equal(options.last_port, 32767);
	assert_string_equal(options.http.host, "127.0.0.1");
	assert_int_equal(options.http.port, 9109);
	assert_null(options.commands);
	assert_string_equal(address_print(&options.inner[0], text), "10.1.0.11");
	assert_true(fl_address_is_none(&options.inner[1]));
	assert_int_equal(
	    parse(&options,
		  BASE "|--address|2001:db8::11|--source|10.1.0.12|--ports|100-200|--http|[::1]:80|--root|/a|"
		       "--commands|/etc/x|--ca-file|/ca|--zookeeper|127.0.0.1:1,zk2:2|--zookeeper-clear-text|on",
		  "FAIRLEAD_PROBE_ID=other|FAIRLEAD_PROBE_ROOT=/b|UNRELATED=1", &why),
	    0);
	assert_string_equal(options.id, "mux1");
	assert_string_equal(options.root, "/a");
	assert_string_equal(address_print(&options.outer[1], text), "2001:db8::11");
	assert_string_equal(address_print(&options.inner[0], text), "10.1.0.12");
	assert_string_equal(address_print(&options.inner[1], text), "2001:db8::11");
	assert_string_equal(options.http.host, "::1");
	assert_int_equal(parse(&options, "",
			       "FAIRLEAD_PROBE_ID=mux1|FAIRLEAD_PROBE_ZOOKEEPER=[::1]:2181|"
			       "FAIRLEAD_PROBE_ADDRESS=10.1.0.11 2001:db8::11",
			       &why),
			 0);
	assert_string_equal(address_print(&options.outer[1], text), "2001:db8::11");
	assert_int_equal(parse(&options, "--help|--nonsense", "", &why), 0);
	assert_true(options.help);
	assert_int_equal(parse(&options, "--version|--nonsense", "", &why), 0);
	assert_true(options.version);
}

static void refusals(void **state)
{
	static const struct {
		const char *flags, *variables, *text;
	} rows[] = {
	    {"", "", "--id is missing"},
	    {"--id|mux1", "", "--zookeeper is missing"},
	    {"--id|mux1|--zookeeper|[::1]:2181", "", "--address is missing"},
	    {"--id|mux1|--zookeeper|tree:2181|--address|10.1.0.11", "",
	     "--zookeeper: 'tree:2181' is not a loopback address, and nothing encrypts the connection; allowed: a "
	     "loopback "
	     "address"},
	    {BASE "|--zookeeper-clear-text|yes", "", "--zookeeper-clear-text: 'yes'"},
	    {"--id|a b", "", "--id: 'a b'"},
	    {"--id|-a", "", "--id: '-a'"},
	    {BASE "|--address|10.1.0.12", "", "--address: '10.1.0.12' is a second one"},
	    {BASE "|--source|host", "", "--source: 'host'"},
	    {BASE "|--ports|1-63", "", "--ports: '1-63' is not allowed; allowed: FIRST-LAST, at least 64 ports"},
	    {BASE "|--ports|0-64", "", "--ports: '0-64'"},
	    {BASE "|--ports|65500-65536", "", "--ports: '65500-65536'"},
	    {BASE "|--ports|100", "", "--ports: '100'"},
	    {BASE "|--ports|100-200x", "", "--ports: '100-200x'"},
	    {BASE "|--http|9109", "", "--http: '9109'"},
	    {BASE "|--http|h:0", "", "--http: 'h:0'"},
	    {BASE "|--root|fairlead", "", "--root: 'fairlead'"},
	    {BASE "|--root|/fairlead/", "", "--root: '/fairlead/'"},
	    {BASE "|--commands|here", "", "--commands: 'here'"},
	    {BASE "|--tag-key|/nowhere", "", "--tag-key"},
	    {BASE "|--zookeeper-auth|/nowhere", "", "--zookeeper-auth"},
	    {BASE "|--loud", "", "--loud: unknown argument"},
	    {BASE "|loud", "", "loud: unknown argument"},
	    {BASE "|--root", "", "--root: it has no value"},
	    {BASE, "FAIRLEAD_PROBE_LOUD=1", "FAIRLEAD_PROBE_LOUD: unknown variable"},
	    {BASE, "FAIRLEAD_PROBE_PORTS=x", "FAIRLEAD_PROBE_PORTS: 'x'"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct probe_options options;
		struct reason why = {""};

		if (!parse(&options, rows[i].flags, rows[i].variables, &why) || !strstr(why.text, rows[i].text))
			fail_msg("%s %s: '%s'; expected '%s'", rows[i].flags, rows[i].variables, why.text,
				 rows[i].text);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(defaults_and_what_is_given),
	    cmocka_unit_test(refusals),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
