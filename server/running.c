// SPDX-License-Identifier: Apache-2.0
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <linux/if_link.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "clock.h"
#include "refusal.h"
#include "running.h"

enum {
	MAPS_MAX = 24, /* the program has 15 */
};

static const struct {
	const char *name;
	__u32 key_size, value_size, entries;
	bool outlives; /* the program: the next one takes it over */
} maps[RUNNING_MAPS] = {
    [RUNNING_GENERATIONS] = {"generations", sizeof(__u32), sizeof(fl_u32), FL_SERVER_SERVICES, true},
    [RUNNING_COUNTERS] = {"counters", sizeof(__u32), sizeof(fl_u64), FL_SERVER_COUNTERS_MAX, true},
    [RUNNING_QUIET] = {"quiet", sizeof(__u32), sizeof(fl_u64), 1, false},
    [RUNNING_PEERS] = {"peers", sizeof(struct fl_peer_key), sizeof(fl_u32), FL_SERVER_PEERS_MAX, false},
    [RUNNING_LOAD_SETTINGS] = {"load_settings", sizeof(__u32), sizeof(struct fl_load_setting), FL_SERVER_SERVICES,
			       true},
    [RUNNING_LOAD_STATES] = {"load_states", sizeof(__u32), sizeof(struct fl_load_state), FL_SERVER_SERVICES, true},
};

int running_fail(const struct running *running, const char *what, int err)
{
	fprintf(stderr, "fairlead-server: %s: %s: %s\n", running->interface, what, strerror(-err));
	return err;
}

static int refuse_foreign(const struct running *running)
{
	fprintf(stderr, "fairlead-server: %s: another XDP program is attached there; detach that first\n",
		running->interface);
	return -EBUSY;
}

static bool is_map(int map, const struct bpf_map_info *info)
{
	return !strcmp(info->name, maps[map].name) && info->key_size == maps[map].key_size &&
	       info->value_size == maps[map].value_size && info->max_entries == maps[map].entries;
}

/* Keeps the descriptor of one of the program's maps, or closes it. */
static int map_take(struct running *running, int fd)
{
	struct bpf_map_info info = {0};
	__u32 len = sizeof(info), zero = 0;
	int i, err = bpf_obj_get_info_by_fd(fd, &info, &len) ? -errno : 0;
	const char *dot = strrchr(info.name, '.');

	for (i = 0; !err && i < RUNNING_MAPS; i++)
		if (is_map(i, &info)) {
			running->maps[i] = fd;
			return 0;
		}
	if (!err && dot && !strcmp(dot, ".rodata") && info.value_size == sizeof(running->config))
		err = bpf_map_lookup_elem(fd, &zero, &running->config);
	close(fd);
	return err;
}

/* Opens the program's maps; -EBUSY if it is another XDP program. */
static int maps_take(struct running *running)
{
	__u32 ids[MAPS_MAX];
	struct bpf_prog_info info = {.nr_map_ids = MAPS_MAX, .map_ids = (__u64)(unsigned long)ids};
	__u32 len = sizeof(info);
	__u32 i;
	int err = 0;

	if (bpf_obj_get_info_by_fd(running->program, &info, &len))
		return -errno;
	if (strcmp(info.name, FL_SERVER_PROGRAM))
		return -EBUSY;
	for (i = 0; !err && i < info.nr_map_ids && i < MAPS_MAX; i++) {
		int fd = bpf_map_get_fd_by_id(ids[i]);

		err = fd < 0 ? fd : map_take(running, fd);
	}
	return err;
}

static const char *mode_name(__u8 attached)
{
	return attached == XDP_ATTACHED_SKB ? "generic" : "native";
}

static __u32 program_id(const struct bpf_xdp_query_opts *query)
{
	return query->attach_mode == XDP_ATTACHED_SKB ? query->skb_prog_id : query->drv_prog_id;
}

struct running running_none(void)
{
	struct running running = {.program = -1};
	int i;

	for (i = 0; i < RUNNING_MAPS; i++)
		running.maps[i] = -1;
	return running;
}

int running_open(struct running *running, const char *interface)
{
	LIBBPF_OPTS(bpf_xdp_query_opts, query);
	int err;

	*running = running_none();
	running->ifindex = if_nametoindex(interface);
	if (!running->ifindex)
		return refusal_print("--interface", interface, "an interface of this network namespace");
	snprintf(running->interface, sizeof(running->interface), "%s", interface);
	err = bpf_xdp_query((int)running->ifindex, 0, &query);
	if (err)
		return running_fail(running, "cannot query its XDP program", err);
	if (query.attach_mode == XDP_ATTACHED_NONE)
		return 0;
	if (!program_id(&query)) /* several at once, or in hardware */
		return refuse_foreign(running);
	running->mode = mode_name(query.attach_mode);
	running->program = bpf_prog_get_fd_by_id(program_id(&query));
	if (running->program < 0)
		return running_fail(running, "cannot open its XDP program; fairlead-server must run as root",
				    running->program);
	err = maps_take(running);
	if (err == -EBUSY)
		return refuse_foreign(running);
	if (err)
		return running_fail(running, "cannot open the program's maps", err);
	return 0;
}

int running_is_there(const struct running *running)
{
	if (running->mode)
		return 0;
	fprintf(stderr, "fairlead-server: %s: not attached\n", running->interface);
	return -ENOENT;
}

int running_check(const struct running *running)
{
	bool is_right = running->config.layout == FL_SERVER_LAYOUT;
	int i, err = running_is_there(running);

	for (i = 0; i < RUNNING_MAPS; i++)
		is_right &= running->maps[i] >= 0;
	if (err || is_right)
		return err;
	fprintf(
	    stderr,
	    "fairlead-server: %s: the running program was attached by another version of fairlead-server, whose maps "
	    "cannot be read; allowed: layout %d; detach first\n",
	    running->interface, FL_SERVER_LAYOUT);
	return -EPROTO;
}

void running_close(struct running *running)
{
	int i;

	for (i = 0; i < RUNNING_MAPS; i++)
		if (running->maps[i] >= 0)
			close(running->maps[i]);
	if (running->program >= 0)
		close(running->program);
	*running = running_none();
}

int running_hand_over(const struct running *running, const struct bpf_object *program)
{
	int i, err = 0;

	for (i = 0; !err && i < RUNNING_MAPS; i++)
		if (maps[i].outlives)
			err = bpf_map__reuse_fd(bpf_object__find_map_by_name(program, maps[i].name), running->maps[i]);
	return err;
}

int running_quiet_begin(int map, fl_u32 seconds)
{
	fl_u64 until =
	    seconds ? clock_ns(CLOCK_MONOTONIC) + seconds * SECOND_NS : 0; /* 0: not even until the clock's next tick */
	fl_u32 slot = 0;

	return bpf_map_update_elem(map, &slot, &until, BPF_ANY) ? -errno : 0;
}

fl_u32 running_quiet_left(const struct running *running)
{
	fl_u64 until = 0, now = clock_ns(CLOCK_MONOTONIC);
	fl_u32 slot = 0;

	bpf_map_lookup_elem(running->maps[RUNNING_QUIET], &slot, &until);
	return (fl_u32)(now < until ? (until - now + SECOND_NS - 1) / SECOND_NS : 0);
}

int running_forget(const struct running *running, fl_u16 service, fl_u32 *generation)
{
	__u32 slot = service, none = 0;
	int err;

	if (bpf_map_lookup_elem(running->maps[RUNNING_GENERATIONS], &slot, generation))
		return -errno;
	err = running_quiet_begin(running->maps[RUNNING_QUIET], running->config.quiet); /* it knows no late mux then */
	if (!err && bpf_map_update_elem(running->maps[RUNNING_GENERATIONS], &slot, &none, BPF_ANY))
		err = -errno;
	return err;
}
