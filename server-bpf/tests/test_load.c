// SPDX-License-Identifier: Apache-2.0
/* load.h of the command against a program that is attached, replaced and detached: which maps its calls reach. */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <time.h>

#include <linux/bpf.h>

#include "form.h"
#include "program.h"
#include "rig.h"
#include "running.h"
#include "vectors.h"

enum {
	SECONDS = 60, /* that a setting holds */
	NANOSECONDS = 1000000000,
};

static struct config config;

static void attach(void)
{
	struct running running;

	assert_int_equal(running_open(&running, "rig0"), 0);
	assert_int_equal(program_attach(&running, &config, PROGRAM_AUTO), 0);
	running_close(&running);
}

static int detach(void **state)
{
	struct running running;

	(void)state;
	assert_int_equal(running_open(&running, "rig0"), 0);
	assert_int_equal(program_detach(&running), 0);
	running_close(&running);
	return 0;
}

static struct fl_load_setting setting_make(fl_u32 busy)
{
	struct fl_load_setting setting = {.busy = busy, .threshold = 1, .sequence = 1, .policy = FL_LOAD_STATIC};
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	setting.until_ns = (fl_u64)(now.tv_sec + SECONDS) * NANOSECONDS;
	return setting;
}

/* Hands a SYN of this service, which no other server would take, to the attached program. */
static void syn_run(fl_u16 service)
{
	struct fl_list list = {.inner_protocol = FL_LIST_GUE_IPV4, .service = service, .generation = 1};
	struct xdp_md context = {.ingress_ifindex = rig_interface()};
	struct running running;
	struct packet packet;
	LIBBPF_OPTS(bpf_test_run_opts, options, .ctx_in = &context, .ctx_size_in = sizeof(context), .repeat = 1);

	rig_begin(&packet, &list);
	packet_add_tcp(&packet, &rig_packets(RIG_IPV4)->syn);
	packet_finish_outer(&packet);
	context.data_end = (__u32)packet.len;
	options.data_in = packet.data;
	options.data_size_in = (__u32)packet.len;
	assert_int_equal(running_open(&running, "rig0"), 0);
	assert_int_equal(bpf_prog_test_run_opts(running.program, &options), 0);
	assert_int_equal(options.retval, XDP_PASS);
	running_close(&running);
}

/* As the agent does it. */
static int set_found(struct load *load, fl_u16 service, const struct fl_load_setting *setting)
{
	int err = load_bpf.find(load);

	return err ? err : load_bpf.set(load, service, setting);
}

static int read_found(struct load *load, fl_u16 service, struct fl_load_state *state)
{
	int err = load_bpf.find(load);

	return err ? err : load_bpf.read(load, service, state);
}

static void check_unasked(struct load *load, fl_u16 service, fl_u64 expected)
{
	struct fl_load_state state;

	assert_int_equal(read_found(load, service, &state), 0);
	assert_int_equal(state.unasked, expected);
	assert_int_equal(fl_load_offered(&state), 0);
}

static void set_and_read(void **state)
{
	struct load *load = load_bpf.open("rig0");
	struct fl_load_setting setting = setting_make(1);

	(void)state;
	attach();
	syn_run(65535);
	check_unasked(load, 65535, 0);
	assert_int_equal(set_found(load, 65535, &setting), 0);
	syn_run(65535);
	syn_run(RIG_SERVICE);
	check_unasked(load, 65535, 1);
	check_unasked(load, RIG_SERVICE, 0);
	load_bpf.close(load);
}

static void kept_when_replaced(void **state)
{
	struct load *load = load_bpf.open("rig0");
	struct fl_load_setting setting = setting_make(1);

	(void)state;
	attach();
	assert_int_equal(set_found(load, RIG_SERVICE, &setting), 0);
	syn_run(RIG_SERVICE);
	attach();
	syn_run(RIG_SERVICE);
	check_unasked(load, RIG_SERVICE, 2);
	load_bpf.close(load);
}

static void fresh_when_attached_again(void **state)
{
	struct load *load = load_bpf.open("rig0");
	struct fl_load_setting setting = setting_make(1);
	struct fl_load_state read;

	attach();
	assert_int_equal(set_found(load, RIG_SERVICE, &setting), 0);
	syn_run(RIG_SERVICE);
	detach(state);
	assert_int_equal(set_found(load, RIG_SERVICE, &setting), -ENOENT);
	assert_int_equal(read_found(load, RIG_SERVICE, &read), -ENOENT);
	attach();
	syn_run(RIG_SERVICE);
	check_unasked(load, RIG_SERVICE, 0);
	assert_int_equal(set_found(load, RIG_SERVICE, &setting), 0);
	syn_run(RIG_SERVICE);
	check_unasked(load, RIG_SERVICE, 1);
	load_bpf.close(load);
}

static void not_attached(void **state)
{
	struct load *none = load_bpf.open("rig0"), *absent = load_bpf.open("absent0");
	struct fl_load_setting setting = setting_make(1);

	(void)state;
	assert_int_equal(set_found(none, RIG_SERVICE, &setting), -ENOENT);
	assert_int_equal(set_found(absent, RIG_SERVICE, &setting), -ENODEV);
	load_bpf.close(none);
	load_bpf.close(absent);
}

/* A program that is no server's: a sentence the first time, and no more. */
static void another_program(void **state)
{
	const struct bpf_insn instructions[] = {
	    {.code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0, .imm = XDP_PASS},
	    {.code = BPF_JMP | BPF_EXIT},
	};
	int fd = bpf_prog_load(BPF_PROG_TYPE_XDP, "another", "GPL", instructions, 2, NULL);
	struct load *load = load_bpf.open("rig0");
	struct fl_load_setting setting = setting_make(1);

	(void)state;
	assert_true(fd >= 0);
	assert_int_equal(bpf_xdp_attach((int)rig_interface(), fd, 0, NULL), 0);
	assert_int_equal(set_found(load, RIG_SERVICE, &setting), -EBUSY);
	assert_int_equal(set_found(load, RIG_SERVICE, &setting), -EBUSY);
	assert_int_equal(bpf_xdp_detach((int)rig_interface(), 0, NULL), 0);
	load_bpf.close(load);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test_teardown(set_and_read, detach),
	    cmocka_unit_test_teardown(kept_when_replaced, detach),
	    cmocka_unit_test_teardown(fresh_when_attached_again, detach),
	    cmocka_unit_test(not_attached),
	    cmocka_unit_test(another_program),
	};

	rig_open();
	config = rig_config();
	return cmocka_run_group_tests_name("load of an attached program", tests, NULL, NULL);
}
