// SPDX-License-Identifier: Apache-2.0
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <string.h>

#include <linux/bpf.h>

#include "../skeleton.h"
#include "list_form_bpf.h"
#include "program.h"
#include "running.h"

enum {
	LOADED = 4, /* to load one takes the verifier a second */
};

static struct {
	struct config config;
	struct fl_server *program;
} loaded[LOADED];
static unsigned int present, next;
static struct packet last;
static int action;
static fl_u32 quiet_seconds; /* for which it was quiet the last time */

struct fl_server *list_form_bpf_program(void)
{
	return loaded[present].program;
}

int list_form_bpf_action(void)
{
	return action;
}

static bool is_loaded(unsigned int i, const struct config *config)
{
	return loaded[i].program && !memcmp(&loaded[i].config, config, sizeof(*config));
}

static void set(const struct config *config)
{
	for (present = 0; present < LOADED; present++)
		if (is_loaded(present, config))
			return;
	present = next++ % LOADED;
	if (loaded[present].program)
		program_close(loaded[present].program);
	loaded[present].config = *config;
	loaded[present].program = rig_load(config);
}

void list_form_bpf_close(void)
{
	for (present = 0; present < LOADED; present++)
		if (loaded[present].program)
			program_close(loaded[present].program);
}

static void routes_forget(void)
{
	rig_hops_forget(list_form_bpf_program());
}

/* A dropped packet is unchanged, and the counter fits the action. */
static enum fl_counter packet_send(const struct packet *packet)
{
	enum fl_counter counter;
	bool is_drop;

	last = *packet;
	action = rig_run(list_form_bpf_program(), &last);
	counter = rig_counter_bumped(list_form_bpf_program());
	if (counter == FL_COUNTERS)
		return counter;
	is_drop = !strncmp(fl_counter_names[counter], "drop_", 5);
	assert_int_equal(action == XDP_DROP, is_drop);
	assert_int_equal(action == XDP_TX || action == XDP_REDIRECT,
			 counter == FL_COUNTER_CHAIN || counter == FL_COUNTER_NOTICE);
	if (is_drop && counter != FL_COUNTER_DROP_CONGESTED)
		list_packet_check(&last, packet);
	return counter;
}

static void expect_delivered(const struct packet *expected)
{
	assert_int_equal(action, XDP_PASS);
	list_packet_check(&last, expected);
}

static void expect_onward(const struct packet *expected, bool is_by_kernel)
{
	assert_int_equal(action, is_by_kernel ? XDP_PASS : XDP_TX);
	list_packet_check(&last, expected);
}

static void expect_returned(const struct packet *expected)
{
	expect_onward(expected, false);
}

static fl_u64 counter_get(enum fl_counter counter)
{
	return rig_counter(list_form_bpf_program(), counter);
}

static void generation_set(fl_u32 generation)
{
	rig_generation_set(list_form_bpf_program(), generation);
}

static fl_u32 generation_get(void)
{
	return rig_generation_get(list_form_bpf_program());
}

static void forget(void)
{
	struct running running = running_none();
	fl_u32 generation;

	running.maps[RUNNING_GENERATIONS] = bpf_map__fd(list_form_bpf_program()->maps.generations);
	running.maps[RUNNING_QUIET] = bpf_map__fd(list_form_bpf_program()->maps.quiet);
	running.config.quiet = quiet_seconds;
	assert_int_equal(running_forget(&running, RIG_SERVICE, &generation), 0);
}

static void quiet(fl_u32 seconds)
{
	quiet_seconds = seconds;
	assert_int_equal(running_quiet_begin(bpf_map__fd(list_form_bpf_program()->maps.quiet), seconds), 0);
}

static void load_set(const struct fl_load_setting *setting)
{
	rig_load_set(list_form_bpf_program(), setting);
}

static struct fl_load_state load_get(void)
{
	return rig_load_get(list_form_bpf_program());
}

const struct list_form list_form_bpf = {
    .name = "the XDP program",
    .by_kernel = FL_COUNTER_CHAIN_BY_KERNEL,
    .not_ours = FL_COUNTER_PASS_NOT_OURS,
    .short_srh = FL_COUNTER_DROP_MALFORMED_OUTER_LENGTH,
    .random_packets = 5000,
    .udp_checksum = 0x1234,
    .set = set,
    .routes_forget = routes_forget,
    .send = packet_send,
    .expect_delivered = expect_delivered,
    .expect_onward = expect_onward,
    .expect_returned = expect_returned,
    .counter = counter_get,
    .generation_set = generation_set,
    .generation = generation_get,
    .forget = forget,
    .quiet = quiet,
    .load_set = load_set,
    .load = load_get,
};
