// SPDX-License-Identifier: Apache-2.0
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <linux/if_link.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/timex.h>
#include <time.h>
#include <unistd.h>

#include <fairlead/generation_notice.h>

#include "program.h"
#include "quiet.h"
#include "refusal.h"
#include "skeleton.h"

static int fail(const char *interface, const char *what, int err)
{
	fprintf(stderr, "fairlead-server: %s: %s: %s\n", interface, what, strerror(-err));
	return err;
}

/* Of libbpf's messages only warnings are printed: they contain the verifier's log. */
static int libbpf_print(enum libbpf_print_level level, const char *format, va_list arguments)
{
	return level == LIBBPF_WARN ? vfprintf(stderr, format, arguments) : 0;
}

/* Nanoseconds from CLOCK_REALTIME to CLOCK_TAI; whole seconds, as the kernel keeps them. */
static fl_u64 clock_offset(void)
{
	struct timex timex = {0};

	adjtimex(&timex);
	return (fl_u64)((long long)timex.tai * 1000000000LL);
}

static int peers_fill(struct fl_server *program, const struct config *config)
{
	int fd = bpf_map__fd(program->maps.peers);
	unsigned int i;
	int err = 0;

	for (i = 0; !err && i < config->peer_count; i++) {
		__u8 unused = 0;

		err = bpf_map_update_elem(fd, &config->peers[i], &unused, BPF_ANY);
	}
	return err;
}

/* Those of notices of version 2: one for each of our addresses (generation_notice.bpf.h). */
static int keys_fill(struct fl_server *program, const struct fl_server_config *config)
{
	const struct fl_address *selves[] = {&config->self, &config->self6};
	int fd = bpf_map__fd(program->maps.notice_keys), err = 0;
	__u32 i;

	for (i = 0; !err && i < 2; i++) {
		struct fl_siphash_key key = fl_generation_key(&config->tag_key, selves[i]);

		err = bpf_map_update_elem(fd, &i, &key, BPF_ANY);
	}
	return err;
}

static int memory_take_over(struct fl_server *program, const struct running *running)
{
	int err = bpf_map__reuse_fd(program->maps.memory, running->memory);

	if (!err && running->memory_version >= 0)
		err = bpf_map__reuse_fd(program->maps.memory_version, running->memory_version);
	if (!err)
		err = bpf_map__reuse_fd(program->maps.generations, running->generations);
	if (!err)
		err = bpf_map__reuse_fd(program->maps.counters, running->counters);
	if (!err && running->load_settings >= 0 && running->load_states >= 0) {
		err = bpf_map__reuse_fd(program->maps.load_settings, running->load_settings);
		if (!err)
			err = bpf_map__reuse_fd(program->maps.load_states, running->load_states);
	}
	return err;
}

struct fl_server *program_load(const struct config *config, const struct running *running)
{
	struct fl_server *program;
	int err;

	libbpf_set_print(libbpf_print);
	program = fl_server__open();
	if (!program) {
		fprintf(stderr, "fairlead-server: cannot open the program: %s\n", strerror(errno));
		return NULL;
	}
	program->rodata->config = config->program;
	program->rodata->config.clock_offset += clock_offset();
	err = running->mode ? memory_take_over(program, running) : 0;
	if (!err)
		err = fl_server__load(program);
	if (!err)
		err = peers_fill(program, config);
	if (!err)
		err = keys_fill(program, &config->program);
	if (!err)
		err = quiet_begin(bpf_map__fd(program->maps.quiet), config->quiet * 1000000000ULL);
	if (!err)
		return program;
	fprintf(stderr, "fairlead-server: cannot load the program: %s\n", strerror(-err));
	fl_server__destroy(program);
	return NULL;
}

void program_close(struct fl_server *program)
{
	fl_server__destroy(program);
}

/* Replaces the attached program, if any; program -1 detaches it. Fails if another has been attached meanwhile. */
static int replace(const struct running *running, int program, __u32 mode)
{
	LIBBPF_OPTS(bpf_xdp_attach_opts, options, .old_prog_fd = running->mode ? running->program : 0);

	return bpf_xdp_attach((int)running->ifindex, program, running->mode ? mode : mode | XDP_FLAGS_UPDATE_IF_NOEXIST,
			      &options);
}

static __u32 mode_flag(const char *mode)
{
	return strcmp(mode, "generic") ? XDP_FLAGS_DRV_MODE : XDP_FLAGS_SKB_MODE;
}

static int attach_first(const struct running *running, int program, enum program_mode mode)
{
	int err = replace(running, program, mode == PROGRAM_GENERIC ? XDP_FLAGS_SKB_MODE : XDP_FLAGS_DRV_MODE);

	/* Drivers without XDP, or with an MTU or number of queues that XDP can't have, return different errors. */
	if (err && err != -EBUSY && err != -EEXIST && mode == PROGRAM_AUTO)
		err = replace(running, program, XDP_FLAGS_SKB_MODE);
	return err;
}

static int refuse_mode(const struct running *running, enum program_mode mode)
{
	const char *wanted = mode == PROGRAM_NATIVE ? "native" : "generic";
	char allowed[64];

	if (mode == PROGRAM_AUTO || !running->mode || !strcmp(running->mode, wanted))
		return 0;
	snprintf(allowed, sizeof(allowed), "%s, as it is attached; detach first", running->mode);
	return refusal_print("--mode", wanted, allowed);
}

/*
 * A program of before memory_version stored what its last packets taught without a word to this one. When they are
 * done, whatever this one knows to be absent from memory must be looked up again.
 */
static int look_again(const struct fl_server *program)
{
	static const struct timespec packets_are_done = {.tv_nsec = 50000000}; /* they take microseconds */
	fl_u64 version = 1ULL << 32;                                           /* far from any so far */
	fl_u32 slot = 0;

	nanosleep(&packets_are_done, NULL);
	return bpf_map_update_elem(bpf_map__fd(program->maps.memory_version), &slot, &version, BPF_ANY);
}

int program_attach(const struct running *running, const struct config *config, enum program_mode mode)
{
	struct fl_server *program;
	int fd, err = running->mode ? running_check(running) : 0;

	if (!err)
		err = refuse_mode(running, mode);
	if (err)
		return err;
	program = program_load(config, running);
	if (!program)
		return -EINVAL;
	fd = bpf_program__fd(program->progs.fairlead_server);
	if (running->mode)
		err = replace(running, fd, mode_flag(running->mode));
	else
		err = attach_first(running, fd, mode);
	if (!err && running->mode && running->memory_version < 0)
		err = look_again(program);
	program_close(program);
	if (err == -EOPNOTSUPP)
		return fail(running->interface,
			    "cannot attach with --mode native: the driver has no XDP; --mode generic works with any",
			    err);
	return err ? fail(running->interface, "cannot attach", err) : 0;
}

int program_detach(const struct running *running)
{
	int err;

	if (!running->mode) {
		fprintf(stderr, "fairlead-server: %s: not attached\n", running->interface);
		return -ENOENT;
	}
	err = replace(running, -1, mode_flag(running->mode));
	return err ? fail(running->interface, "cannot detach", err) : 0;
}
