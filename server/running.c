// SPDX-License-Identifier: Apache-2.0
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <linux/if_link.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "refusal.h"
#include "running.h"

enum {
	MAPS_MAX = 24, /* the program has 15 */
};

static int fail(const struct running *running, const char *what, int err)
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

static int refuse_layout(const struct running *running)
{
	fprintf(
	    stderr,
	    "fairlead-server: %s: the running program was attached by another version of fairlead-server, whose maps "
	    "cannot be read; allowed: layout %d; detach first\n",
	    running->interface, FL_SERVER_LAYOUT);
	return -EPROTO;
}

static bool ends_with(const char *name, const char *end)
{
	size_t len = strlen(name), end_len = strlen(end);

	return len >= end_len && !strcmp(name + len - end_len, end);
}

/* Keeps the descriptor of one of the program's maps, or closes it. */
static int map_take(struct running *running, int fd)
{
	struct bpf_map_info info = {0};
	__u32 len = sizeof(info), zero = 0;
	int err = 0;

	if (bpf_obj_get_info_by_fd(fd, &info, &len))
		err = -errno;
	else if (!strcmp(info.name, "generations") && info.value_size == sizeof(fl_u32) &&
		 info.max_entries == FL_SERVER_SERVICES)
		running->generations = fd;
	else if (!strcmp(info.name, "counters") && info.value_size == sizeof(fl_u64) &&
		 info.max_entries == FL_SERVER_COUNTERS_MAX)
		running->counters = fd;
	else if (!strcmp(info.name, "quiet") && info.value_size == sizeof(fl_u64) && info.max_entries == 1)
		running->quiet = fd;
	else if (!strcmp(info.name, "peers") && info.key_size == sizeof(struct fl_peer_key) &&
		 info.value_size == sizeof(fl_u32))
		running->peers = fd;
	else if (!strcmp(info.name, "load_settings") && info.value_size == sizeof(struct fl_load_setting) &&
		 info.max_entries == FL_SERVER_SERVICES)
		running->load_settings = fd;
	else if (!strcmp(info.name, "load_states") && info.value_size == sizeof(struct fl_load_state) &&
		 info.max_entries == FL_SERVER_SERVICES)
		running->load_states = fd;
	else if (ends_with(info.name, ".rodata") && info.value_size == sizeof(running->config)) {
		err = bpf_map_lookup_elem(fd, &zero, &running->config);
		close(fd);
	} else
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
	return (struct running){.program = -1,
				.generations = -1,
				.counters = -1,
				.quiet = -1,
				.peers = -1,
				.load_settings = -1,
				.load_states = -1};
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
		return fail(running, "cannot query its XDP program", err);
	if (query.attach_mode == XDP_ATTACHED_NONE)
		return 0;
	if (!program_id(&query)) /* several at once, or in hardware */
		return refuse_foreign(running);
	running->mode = mode_name(query.attach_mode);
	running->program = bpf_prog_get_fd_by_id(program_id(&query));
	if (running->program < 0)
		return fail(running, "cannot open its XDP program; fairlead-server must run as root", running->program);
	err = maps_take(running);
	if (err == -EBUSY)
		return refuse_foreign(running);
	if (err)
		return fail(running, "cannot open the program's maps", err);
	return 0;
}

int running_check(const struct running *running)
{
	if (!running->mode) {
		fprintf(stderr, "fairlead-server: %s: not attached\n", running->interface);
		return -ENOENT;
	}
	if (running->config.layout != FL_SERVER_LAYOUT || running->generations < 0 || running->counters < 0 ||
	    running->quiet < 0 || running->peers < 0 || running->load_settings < 0 || running->load_states < 0)
		return refuse_layout(running);
	return 0;
}

static void descriptor_close(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

void running_close(struct running *running)
{
	descriptor_close(&running->program);
	descriptor_close(&running->generations);
	descriptor_close(&running->counters);
	descriptor_close(&running->quiet);
	descriptor_close(&running->peers);
	descriptor_close(&running->load_settings);
	descriptor_close(&running->load_states);
}

__u32 running_batch(int map, __u32 **cursor, __u32 *position, void *keys, void *values, bool *last)
{
	__u32 n = RUNNING_BATCH;

	*last = bpf_map_lookup_batch(map, *cursor, position, keys, values, &n, NULL) != 0;
	*cursor = position;
	return *last && errno != ENOENT ? 0 : n;
}
