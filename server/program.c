// SPDX-License-Identifier: Apache-2.0
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <linux/if_link.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "program.h"
#include "refusal.h"
#include "skeleton.h"

/* Of libbpf's messages only warnings are printed: they contain the verifier's log. */
static int libbpf_print(enum libbpf_print_level level, const char *format, va_list arguments)
{
	return level == LIBBPF_WARN ? vfprintf(stderr, format, arguments) : 0;
}

static int peers_fill(struct fl_server *program, const struct config *config)
{
	int fd = bpf_map__fd(program->maps.peers);
	unsigned int i;
	int err = 0;

	for (i = 0; !err && i < config->peer_count; i++)
		err = bpf_map_update_elem(fd, &config->peers[i].prefix, &config->peers[i].roles, BPF_ANY);
	return err;
}

/* The keys of many services at once: with the cluster's key there are all. */
static int service_keys_fill(int fd, const struct fl_server_keys *keys)
{
	struct fl_key_pair *pairs = calloc(FL_SERVER_SERVICES, sizeof(*pairs));
	__u32 *slots = calloc(FL_SERVER_SERVICES, sizeof(*slots)), i, count = FL_SERVER_SERVICES;
	int err = pairs && slots ? 0 : -ENOMEM;

	for (i = 0; !err && i < FL_SERVER_SERVICES; i++)
		slots[i] = i;
	for (i = 0; !err && i < keys->count; i++)
		pairs[keys->services[i].service] = keys->services[i].keys;
	if (!err)
		err = bpf_map_update_batch(fd, slots, pairs, &count, NULL);
	if (pairs)
		explicit_bzero(pairs, FL_SERVER_SERVICES * sizeof(*pairs));
	free(pairs);
	free(slots);
	return err;
}

static int keys_fill(struct fl_server *program, const struct config *config)
{
	int fd = bpf_map__fd(program->maps.notice_keys), err = 0;
	__u32 i;

	if (!config->program.tagged)
		return 0;
	for (i = 0; !err && i < 2; i++)
		err = bpf_map_update_elem(fd, &i, &config->keys.notice[i], BPF_ANY);
	return err ? err : service_keys_fill(bpf_map__fd(program->maps.service_keys), &config->keys);
}

/* Without keys nothing of tags is kept. */
static int maps_size(struct fl_server *program, const struct config *config)
{
	int err = 0;

	if (config->program.tagged)
		return 0;
	err = bpf_map__set_max_entries(program->maps.service_keys, 1);
	return err ? err : bpf_map__set_max_entries(program->maps.tags, 1);
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
	err = maps_size(program, config);
	if (!err && running->mode)
		err = running_hand_over(running, program->obj);
	if (!err)
		err = fl_server__load(program);
	if (!err)
		err = peers_fill(program, config);
	if (!err)
		err = keys_fill(program, config);
	if (!err)
		err = running_quiet_begin(bpf_map__fd(program->maps.quiet), config->program.quiet);
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
	program_close(program);
	if (err == -EOPNOTSUPP)
		return running_fail(
		    running, "cannot attach with --mode native: the driver has no XDP; --mode generic works with any",
		    err);
	return err ? running_fail(running, "cannot attach", err) : 0;
}

int program_detach(const struct running *running)
{
	int err = running_is_there(running);

	if (err)
		return err;
	err = replace(running, -1, mode_flag(running->mode));
	return err ? running_fail(running, "cannot detach", err) : 0;
}
