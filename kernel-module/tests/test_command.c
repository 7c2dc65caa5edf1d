// SPDX-License-Identifier: Apache-2.0
/* fairlead-server --form module: the module has the settings, and the command shows the module's counters. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "counters.h"
#include "vectors.h"
#include "stand.h"

#define COMMAND "/bin/fairlead-server"

static char output[65536];

/* Runs the command; returns its exit code, with what it printed in output. */
static int command(const char *line)
{
	char whole[512];
	FILE *pipe;
	size_t len;
	int status;

	snprintf(whole, sizeof(whole), COMMAND " %s 2>&1", line);
	pipe = popen(whole, "r");
	assert_non_null(pipe);
	len = fread(output, 1, sizeof(output) - 1, pipe);
	output[len] = '\0';
	status = pclose(pipe);
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status);
}

static void refused(const char *line, int code, const char *sentence)
{
	assert_int_equal(command(line), code);
	if (!strstr(output, sentence))
		fail_msg("'%s' does not contain '%s'", output, sentence);
}

static void refusals(void **state)
{
	(void)state;
	refused("show --form module", 1, "no server is attached");
	refused("detach --form module", 1, "no server is attached");
	refused("attach --form module --address 10.1.0.250 --peers 10.1.0.0/24 --untagged on", 1, "10.1.0.250");
	refused("attach --form module --address 10.1.0.22 --untagged on", 2, "--peers");
	refused("attach --form module --address 10.1.0.22 --peers 10.1.0.0/24", 2, "--untagged on");
	refused("attach --form module --interface rig0 --address 10.1.0.22 --peers 10.1.0.0/24", 2, "--interface");
	refused("attach --form module --mode native --address 10.1.0.22 --peers 10.1.0.0/24", 2, "--mode");
	refused("attach --form bpf --interface rig0 --ipip-service 3 --address 10.1.0.22 --peers 10.1.0.0/24 "
		"--untagged on",
		2, "--form module");
	refused("attach --form module --ipip-service 0 --address 10.1.0.22 --peers 10.1.0.0/24", 2, "1 to 65535");
	refused("attach --form module --ipip-service 3 --address 2001:db8::22 --peers 10.1.0.0/24 --untagged on", 2,
		"IPv4 address");
	refused("attach --form other --address 10.1.0.22 --peers 10.1.0.0/24", 2, "bpf, module");
	refused("attach --address 10.1.0.22 --peers 10.1.0.0/24", 2, "--interface");
}

static json_t *shown(void)
{
	json_error_t error;
	json_t *document;

	assert_int_equal(command("show --form module -o json"), 0);
	document = json_loads(output, 0, &error);
	if (!document)
		fail_msg("%s: %s", error.text, output);
	return document;
}

static void what_is_set_is_shown(void **state)
{
	struct fl_list list = {.inner_protocol = FL_LIST_GUE_IPV4, .service = 9, .generation = 12};
	const struct fl_load_setting load = {
	    .until_ns = 1, .busy = 5, .threshold = 4, .window = 50, .policy = FL_LOAD_STATIC};
	json_t *document, *config, *counters, *service;
	struct packet packet;
	fl_u64 sum = 0;
	int i;

	(void)state;
	rig_command("ip addr add " RIG_SELF " dev rig0");
	assert_int_equal(
	    command("attach --form module --address " RIG_SELF
		    " --peers 10.1.0.0/24,10.1.0.11,2001:db8::/32 --untagged on --quiet 600 --ipip-service 3"),
	    0);
	assert_string_equal(output, "");
	stand_list_add(&list, "10.1.0.23");
	stand_begin(&packet, RIG_SELF, &list);
	packet_add_tcp(&packet, &rig_packets(RIG_IPV4)->unknown);
	packet_finish_outer(&packet);
	assert_int_equal(stand_send(&packet), FL_COUNTER_CHAIN);
	assert_int_equal(module_set_load(stand_client(), 9, &load), 0);
	document = shown();
	config = json_object_get(document, "config");
	assert_true(json_is_null(json_object_get(document, "interface")));
	assert_string_equal(vectors_text(config, "address"), RIG_SELF);
	assert_string_equal(vectors_text(config, "mode"), "module");
	assert_int_equal(vectors_number(config, "quietSeconds"), 600);
	assert_in_range(vectors_number(document, "quietSecondsLeft"), 1, 600);
	assert_int_equal(vectors_number(config, "port"), 6080);
	assert_int_equal(vectors_number(config, "ipipService"), 3);
	assert_int_equal(json_array_size(json_object_get(config, "peers")), 2); /* one covers another */
	counters = json_object_get(document, "counters");
	for (i = 0; i < FL_COUNTERS; i++)
		sum += vectors_number(counters, fl_counter_names[i]);
	assert_int_equal(vectors_number(counters, "chain"), 1);
	assert_int_equal(sum, 1);
	service = json_object_get(json_object_get(document, "services"), "9");
	assert_int_equal(vectors_number(service, "generation"), 12);
	assert_int_equal(vectors_number(json_object_get(service, "load"), "busy"), 5);
	assert_string_equal(vectors_text(json_object_get(service, "load"), "policy"), "static");
	assert_string_equal(vectors_text(document, "form"), "module");
	assert_string_equal(vectors_text(document, "version"), FAIRLEAD_VERSION);
	json_decref(document);
	assert_int_equal(command("show --form module -o prometheus"), 0);
	assert_non_null(strstr(output, "\nfairlead_server_packets_total{interface=\"\",verdict=\"chain\"} 1\n"));
	assert_non_null(strstr(output, "\nfairlead_server_generation{interface=\"\",service=\"9\"} 12\n"));
	assert_null(strstr(output, "fairlead_server_flows")); /* without --mangle there are none */
	assert_int_equal(command("show --form module"), 0);
	assert_non_null(strstr(output, "all interfaces"));
	assert_int_equal(command("detach --form module"), 0);
	refused("show --form module", 1, "no server is attached");
}

static void mangled_flows_are_shown(void **state)
{
	struct fl_list list = {.inner_protocol = FL_LIST_GUE_IPV4, .service = 9, .generation = 12};
	struct packet_tcp syn = rig_packets(RIG_IPV4)->syn;
	json_t *document;
	struct packet packet;

	(void)state;
	assert_int_equal(
	    command("attach --form module --address " RIG_SELF " --peers 10.1.0.0/24 --untagged on --mangle"), 0);
	syn.flow.destination = packet_address("10.99.0.77"); /* a VIP that is nowhere on the host */
	stand_begin(&packet, RIG_SELF, &list);
	packet_add_tcp(&packet, &syn);
	packet_finish_outer(&packet);
	assert_int_equal(stand_send(&packet), FL_COUNTER_DELIVER_SYN);
	document = shown();
	assert_true(json_is_true(json_object_get(json_object_get(document, "config"), "mangle")));
	assert_int_equal(vectors_number(json_object_get(document, "config"), "quietSeconds"), FL_SERVER_QUIET_DEFAULT);
	assert_int_equal(vectors_number(document, "flows"), 1);
	json_decref(document);
	assert_int_equal(command("show --form module -o prometheus"), 0);
	assert_non_null(strstr(output, "\nfairlead_server_flows{interface=\"\"} 1\n"));
	assert_int_equal(command("detach --form module"), 0);
}

static void xdp_attach(const char *more)
{
	char line[256];

	snprintf(line, sizeof(line),
		 "attach --interface rig0 --mode generic --address " RIG_SELF " --peers 10.1.0.0/24 %s", more);
	if (command(line))
		fail_msg("the kernel refuses the XDP program: %.2000s", output);
}

/* The verifiers of different kernels accept different programs; `server` runs on this machine's kernel alone. */
static void xdp_program_is_accepted(void **state)
{
	(void)state;
	rig_command("ip addr replace " RIG_SELF " dev rig0");
	rig_command("sh -c 'echo 1 >/proc/sys/net/ipv4/conf/rig0/forwarding'");
	rig_command("umask 077; echo 000102030405060708090a0b0c0d0e0f >/tmp/tag.key");
	xdp_attach("--tag-key /tmp/tag.key"); /* the verifier looks at nothing behind a key that is not there */
	xdp_attach("--untagged on");
	assert_int_equal(command("show --interface rig0 -o prometheus"), 0);
	assert_non_null(strstr(output, "form=\"bpf\",mode=\"generic\""));
	assert_int_equal(command("detach --interface rig0"), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(refusals),
	    cmocka_unit_test(what_is_set_is_shown),
	    cmocka_unit_test(mangled_flows_are_shown),
	    cmocka_unit_test(xdp_program_is_accepted),
	};

	stand_open();
	return cmocka_run_group_tests_name("fairlead-server --form module", tests, NULL, NULL);
}
