// SPDX-License-Identifier: Apache-2.0
/*
 * Which SYNs the module refuses, by load and by what sockets the host has: the rows of the XDP form's test, and what the
 * control interface accepts. The policies themselves have their tests in server/tests/test_load.c.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include <linux/genetlink.h>

#include <fairlead/module.h>

#include "form.h"
#include "refuse_row.h"
#include "stand.h"
#include "vectors.h"

enum {
	WINDOW = 50,
	MINUTE = 60,
	NANOSECONDS = 1000000000,
};

static void set_anew(const struct config *config)
{
	stand_detach();
	stand_set(config);
}

/* A setting that counts until the test's end. */
static void setting_put(fl_u16 service, const struct fl_load_setting *setting)
{
	struct fl_load_setting counting = *setting;

	counting.until_ns = UINT64_MAX;
	assert_int_equal(module_set_load(stand_client(), service, &counting), 0);
}

static struct fl_load_state state_get(fl_u16 service)
{
	struct module_load load;

	assert_int_equal(module_get_load(stand_client(), service, &load), 0);
	return load.state;
}

static void check_counts(fl_u16 service, const struct refuse_counts *expected)
{
	struct fl_load_state state = state_get(service);

	refuse_check_counts(&state, expected);
}

static void check_row(const struct refuse_row *row, enum rig_family family)
{
	struct fl_list list = refuse_row_list(row, family);
	struct packet_tcp tcp = refuse_row_inner(row, family);
	struct packet packet = refuse_packet(&list, &tcp), onward;
	struct config config = rig_config_both();

	set_anew(&config);
	assert_int_equal(module_restore_service(stand_client(), RIG_SERVICE, RIG_GENERATION), 0);
	if (row->setting)
		setting_put(RIG_SERVICE, row->setting);
	assert_int_equal(stand_send(&packet), row->counter);
	if (row->counter == FL_COUNTER_CHAIN) {
		stand_expect_chained(&onward);
		refuse_row_check_sent_on(row, &packet, &onward);
	} else if (row->counter == FL_COUNTER_DELIVER_SYN || row->counter == FL_COUNTER_DELIVER_LOCAL_SOCKET) {
		size_t inner_at = packet.len - (family == RIG_IPV4 ? 40 : 60);

		stand_expect_delivered(packet.data + inner_at, packet.len - inner_at);
	}
	check_counts(RIG_SERVICE, &row->counts);
}

static void run(void **state)
{
	check_row(*state, RIG_IPV4);
	check_row(*state, RIG_IPV6);
}

static enum fl_counter offer_of(const struct refuse_row *row, fl_u16 service)
{
	struct fl_list list = refuse_row_list(row, RIG_IPV4);
	struct packet packet;

	list.service = service;
	packet = refuse_packet(&list, &rig_packets(RIG_IPV4)->syn);
	return stand_send(&packet);
}

static enum fl_counter offer_to(fl_u16 service)
{
	return offer_of(&refuse_offer, service);
}

/* One more SYN that another server would take, too. Returns whether it was passed on. */
static bool offer(void)
{
	enum fl_counter counter = offer_to(RIG_SERVICE);

	assert_true(counter == FL_COUNTER_CHAIN || counter == FL_COUNTER_DELIVER_SYN);
	return counter == FL_COUNTER_CHAIN;
}

/* If the agent stops, the server takes everything: by the clock of ticks, which the host of a machine may delay. */
static void expires(void **state)
{
	struct config config = rig_config_both();
	struct fl_load_setting setting = refuse_full;
	struct timespec now;

	(void)state;
	set_anew(&config);
	clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
	setting.until_ns = (fl_u64)(now.tv_sec + MINUTE) * NANOSECONDS + (fl_u64)now.tv_nsec;
	assert_int_equal(module_set_load(stand_client(), RIG_SERVICE, &setting), 0);
	assert_true(offer());
	setting.until_ns -= (fl_u64)MINUTE * NANOSECONDS;
	assert_int_equal(module_set_load(stand_client(), RIG_SERVICE, &setting), 0);
	assert_false(offer());
	check_counts(RIG_SERVICE, &(struct refuse_counts){.passed = 1});
}

/* What was taken since the reading counts as work, until the next reading. */
static void counts_since_reading(void **state)
{
	struct fl_load_setting setting = {.busy = 2, .threshold = 4, .window = WINDOW, .policy = FL_LOAD_STATIC};
	struct config config = rig_config_both();

	(void)state;
	set_anew(&config);
	setting_put(RIG_SERVICE, &setting);
	assert_false(offer());
	assert_false(offer());
	assert_true(offer());
	setting.sequence++;
	setting.busy = 3;
	setting_put(RIG_SERVICE, &setting);
	assert_false(offer());
	assert_true(offer());
	check_counts(RIG_SERVICE, &(struct refuse_counts){.taken = 3, .passed = 2});
}

static void dynamic_adapts(void **state)
{
	struct fl_load_setting setting = {
	    .busy = 2, .threshold = 1, .window = WINDOW, .epsilon = 100, .policy = FL_LOAD_DYNAMIC};
	struct config config = rig_config_both();
	int i;

	(void)state;
	set_anew(&config);
	setting_put(RIG_SERVICE, &setting);
	for (i = 1; i < 2 * WINDOW; i++)
		assert_true(offer());
	assert_int_equal(state_get(RIG_SERVICE).threshold, 2);
	assert_false(offer()); /* the second window's last: now the threshold is 3 */
	assert_int_equal(state_get(RIG_SERVICE).threshold, 3);
	check_counts(RIG_SERVICE, &(struct refuse_counts){.taken = 1, .passed = 2 * WINDOW - 1});
}

/* Ids at both ends; what one service is told says nothing of another. */
static void services_apart(void **state)
{
	struct config config = rig_config_both();

	(void)state;
	set_anew(&config);
	setting_put(0, &refuse_full);
	setting_put(65535, &refuse_full);
	assert_int_equal(offer_to(0), FL_COUNTER_CHAIN);
	assert_int_equal(offer_to(1), FL_COUNTER_DELIVER_SYN);
	assert_int_equal(offer_to(65535), FL_COUNTER_CHAIN);
	check_counts(0, &(struct refuse_counts){.passed = 1});
	check_counts(1, &(struct refuse_counts){0});
	check_counts(65535, &(struct refuse_counts){.passed = 1});
}

/* Where packets are not passed on, nothing is refused. */
static void without_chaining(void **state)
{
	struct config config = rig_config_both();

	(void)state;
	config.program.chaining = 0;
	set_anew(&config);
	setting_put(RIG_SERVICE, &refuse_full);
	assert_false(offer());
	check_counts(RIG_SERVICE, &(struct refuse_counts){.unasked = 1});
}

/* A server of a family of which this one has no address takes nothing. */
static void other_family(void **state)
{
	struct config config = rig_config();

	(void)state;
	assert_int_equal(config_set(&config, "peers", "10.1.0.0/24,2001:db8:1::/64"), 0);
	set_anew(&config);
	setting_put(RIG_SERVICE, &refuse_full);
	assert_int_equal(offer_of(&refuse_offer6, RIG_SERVICE), FL_COUNTER_DELIVER_SYN);
	assert_int_equal(stand_counter(FL_COUNTER_SKIPPED), 1);
	check_counts(RIG_SERVICE, &(struct refuse_counts){.taken = 1});
	assert_true(offer());
	check_counts(RIG_SERVICE, &(struct refuse_counts){.taken = 1, .passed = 1});
}

/* One SYN waits for a neighbour; the others are taken until it answers. */
static void silent_neighbour(void **state)
{
	const struct refuse_row *silent[] = {&refuse_silent, &refuse_silent6};
	struct config config = rig_config_both();
	size_t i;

	(void)state;
	for (i = 0; i < 2; i++) {
		set_anew(&config);
		setting_put(RIG_SERVICE, &refuse_full);
		assert_int_equal(offer_of(silent[i], RIG_SERVICE), FL_COUNTER_CHAIN);
		assert_int_equal(offer_of(silent[i], RIG_SERVICE), FL_COUNTER_DELIVER_SYN);
		assert_int_equal(offer_of(silent[i], RIG_SERVICE), FL_COUNTER_DELIVER_SYN);
		check_counts(RIG_SERVICE, &(struct refuse_counts){.taken = 2, .passed = 1});
	}
}

static void kept_until_detached(void **state)
{
	struct config config = rig_config_both();
	struct module_load load;

	(void)state;
	set_anew(&config);
	setting_put(RIG_SERVICE, &refuse_full);
	assert_true(offer());
	config.program.quiet++;
	stand_set(&config);
	assert_true(offer());
	check_counts(RIG_SERVICE, &(struct refuse_counts){.passed = 2});
	assert_int_equal(module_get_load(stand_client(), RIG_SERVICE, &load), 0);
	assert_int_equal(load.setting.until_ns, UINT64_MAX);
	assert_int_equal(load.setting.busy, refuse_full.busy);
	set_anew(&config);
	assert_false(offer());
	check_counts(RIG_SERVICE, &(struct refuse_counts){0});
}

/* What the kernel says to a setting that it refuses. */
static void bad_settings(void **state)
{
	static const struct {
		struct fl_load_setting setting;
		const char *field;
		fl_u32 value;
		const char *allowed;
	} cases[] = {
	    {{.policy = FL_LOAD_POLICIES}, "policy", FL_LOAD_POLICIES, "0 always, 1 static, 2 dynamic"},
	    {{.policy = UINT32_MAX}, "policy", UINT32_MAX, "0 always, 1 static, 2 dynamic"},
	    {{.policy = FL_LOAD_ALWAYS, .epsilon = FL_LOAD_HALF}, "epsilon", FL_LOAD_HALF, "0..499"},
	    {{.policy = FL_LOAD_STATIC, .window = 50}, "threshold", 0, "1..65535"},
	    {{.policy = FL_LOAD_DYNAMIC, .window = 50, .threshold = 65536}, "threshold", 65536, "1..65535"},
	    {{.policy = FL_LOAD_STATIC, .threshold = 4, .window = 9}, "window", 9, "10..1000"},
	    {{.policy = FL_LOAD_DYNAMIC, .threshold = 4, .window = 1001}, "window", 1001, "10..1000"},
	};
	static const struct fl_load_setting good[] = {
	    {.policy = FL_LOAD_ALWAYS},
	    {.policy = FL_LOAD_STATIC, .threshold = 1, .window = 10},
	    {.policy = FL_LOAD_DYNAMIC, .threshold = 65535, .window = 1000, .epsilon = 499},
	};
	char old[100], new[100];
	struct config config = rig_config_both();
	size_t i;

	(void)state;
	set_anew(&config);
	setting_put(RIG_SERVICE, &refuse_full);
	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		assert_int_equal(module_set_load(stand_client(), RIG_SERVICE, &cases[i].setting), -EINVAL);
		/* kernels before 6.2 name no value */
		snprintf(old, sizeof(old), "%s must be %s", cases[i].field, cases[i].allowed);
		snprintf(new, sizeof(new), "%s %u is not allowed; allowed: %s", cases[i].field, cases[i].value,
			 cases[i].allowed);
		if (strcmp(stand_client()->error, old))
			assert_string_equal(stand_client()->error, new);
	}
	assert_true(offer());
	for (i = 0; i < sizeof(good) / sizeof(good[0]); i++)
		assert_int_equal(module_set_load(stand_client(), RIG_SERVICE, &good[i]), 0);
}

/* Sends a command with these attributes; returns what became of it. */
static int command(fl_u8 number, bool has_service, size_t setting_len)
{
	static const fl_u8 bytes[2 * sizeof(struct fl_load_setting)];
	struct genetlink *client = stand_client();
	char buffer[256], answer[4096];
	struct nlmsghdr *header = mnl_nlmsg_put_header(buffer);
	struct genlmsghdr *generic = mnl_nlmsg_put_extra_header(header, sizeof(*generic));

	header->nlmsg_type = client->family;
	header->nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK;
	header->nlmsg_seq = ++client->sequence;
	generic->cmd = number;
	generic->version = FAIRLEAD_GENL_VERSION;
	if (has_service)
		mnl_attr_put_u16(header, FAIRLEAD_A_SERVICE, RIG_SERVICE);
	if (setting_len)
		mnl_attr_put(header, FAIRLEAD_A_LOAD_SETTING, setting_len, bytes);
	assert_int_equal(mnl_socket_sendto(client->socket, header, header->nlmsg_len), header->nlmsg_len);
	assert_true(mnl_socket_recvfrom(client->socket, answer, sizeof(answer)) > 0);
	assert_int_equal(((struct nlmsghdr *)answer)->nlmsg_type, NLMSG_ERROR);
	return ((struct nlmsgerr *)mnl_nlmsg_get_payload((struct nlmsghdr *)answer))->error;
}

static void bad_messages(void **state)
{
	const size_t len = sizeof(struct fl_load_setting);
	struct config config = rig_config_both();

	(void)state;
	set_anew(&config);
	assert_int_equal(command(FAIRLEAD_CMD_SET_LOAD, true, len), 0);
	assert_int_equal(command(FAIRLEAD_CMD_SET_LOAD, false, len), -EINVAL);
	assert_int_equal(command(FAIRLEAD_CMD_SET_LOAD, true, 0), -EINVAL);
	assert_int_equal(command(FAIRLEAD_CMD_SET_LOAD, true, len - 1), -ERANGE);
	assert_int_equal(command(FAIRLEAD_CMD_SET_LOAD, true, len + 1), -ERANGE);
	assert_int_equal(command(FAIRLEAD_CMD_GET_LOAD, false, 0), -EINVAL);
}

/* As the agent does it (server/load_form.h): a module that is attached later is found by the next call. */
static void by_the_form(void **state)
{
	struct load *load = load_module.open(NULL);
	struct fl_load_setting setting = refuse_full;
	struct config config = rig_config_both();
	struct fl_load_state counted;

	(void)state;
	assert_non_null(load);
	setting.until_ns = UINT64_MAX;
	stand_detach();
	assert_int_equal(load_module.set(load, RIG_SERVICE, &setting), -ENOENT);
	assert_int_equal(load_module.read(load, RIG_SERVICE, &counted), -ENOENT);
	stand_set(&config);
	assert_int_equal(load_module.set(load, RIG_SERVICE, &setting), 0);
	assert_true(offer());
	assert_int_equal(load_module.read(load, RIG_SERVICE, &counted), 0);
	refuse_check_counts(&counted, &(struct refuse_counts){.passed = 1});
	load_module.close(load);
}

int main(void)
{
	static const struct {
		const char *name;
		CMUnitTestFunction run;
	} cases[] = {
	    {"a setting expires", expires},
	    {"what was taken since the reading counts", counts_since_reading},
	    {"dynamic adapts", dynamic_adapts},
	    {"services are apart", services_apart},
	    {"without chaining nothing is refused", without_chaining},
	    {"a server of another family takes nothing", other_family},
	    {"a neighbour that does not answer", silent_neighbour},
	    {"a setting is kept until the server is detached", kept_until_detached},
	    {"bad settings", bad_settings},
	    {"bad messages", bad_messages},
	    {"by the form", by_the_form},
	};
	struct config config = rig_config_both();
	struct vectors_tests tests = {NULL, 0};
	size_t i;

	stand_open();
	stand_set(&config);
	for (i = 0; refuse_rows[i].name; i++)
		vectors_add_plain(&tests, refuse_rows[i].name, run, (void *)(uintptr_t)&refuse_rows[i]);
	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		vectors_add_plain(&tests, cases[i].name, cases[i].run, NULL);
	return vectors_run("refusing by the module", &tests);
}
