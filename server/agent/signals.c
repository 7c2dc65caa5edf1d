// SPDX-License-Identifier: Apache-2.0
#include "signals.h"

#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "events.h"

/* the program is one string of its bytes */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Woverlength-strings"
#include "agent_signals.skel.h"
#pragma GCC diagnostic pop

enum {
	READ_MAX = 256, /* ends that are read at once */
};

struct signals {
	struct agent_signals *program;
	unsigned known;
};

/* Programs that tell nothing here are not loaded. False: the kernel's types cannot be read. */
static bool choose(const struct agent_signals *program)
{
	struct btf *kernel = btf__load_vmlinux_btf();
	bool tells;

	if (!kernel)
		return false;
	tells = btf__find_by_name_kind(kernel, "sk_rst_reason", BTF_KIND_ENUM) > 0;
	bpf_program__set_autoload(program->progs.no_socket,
				  !tells && btf__find_by_name_kind(kernel, "skb_drop_reason", BTF_KIND_ENUM) > 0);
	btf__free(kernel);
	return true;
}

static bool attach(struct bpf_link **link, const struct bpf_program *program)
{
	*link = bpf_program__attach(program);
	return *link != NULL;
}

/* Each program that cannot be attached leaves its signals unknown. */
static void attach_all(struct signals *signals)
{
	struct agent_signals *program = signals->program;
	bool is_told = !bpf_program__autoload(program->progs.no_socket) ||
		       attach(&program->links.no_socket, program->progs.no_socket);

	if (attach(&program->links.send_reset, program->progs.send_reset) && is_told)
		signals->known |= 1U << SIGNAL_REFUSED | 1U << SIGNAL_RESETS_SENT;
	if (attach(&program->links.receive_reset, program->progs.receive_reset))
		signals->known |= 1U << SIGNAL_RESETS_RECEIVED;
	if (!attach(&program->links.close, program->progs.close))
		return;
	signals->known |= 1U << SIGNAL_RTT_SAMPLES | 1U << SIGNAL_RTT_MICROSECONDS;
	if (attach(&program->links.retransmit, program->progs.retransmit) &&
	    attach(&program->links.retransmit_synack, program->progs.retransmit_synack))
		signals->known |= 1U << SIGNAL_SEGMENTS | 1U << SIGNAL_RETRANSMITTED;
}

static const char *load(struct signals *signals, const struct events *events)
{
	struct stat netns;

	signals->program = agent_signals__open();
	if (!signals->program)
		return "the program cannot be read";
	if (stat("/proc/self/ns/net", &netns))
		return "/proc does not name the network namespace";
	signals->program->rodata->netns = (__u32)netns.st_ino;
	if (bpf_map__reuse_fd(signals->program->maps.addresses, events_addresses(events)) ||
	    bpf_map__reuse_fd(signals->program->maps.ports, events_ports(events)))
		return "the program does not get the services' addresses";
	if (!choose(signals->program) || agent_signals__load(signals->program))
		return "the kernel does not load the program";
	attach_all(signals);
	return signals->known ? NULL : "the kernel has none of the tracepoints";
}

struct signals *signals_open(const struct events *events, const char **why)
{
	struct signals *signals = calloc(1, sizeof(*signals));
	libbpf_print_fn_t loud;

	*why = "there is no memory";
	if (!signals)
		return NULL;
	loud = libbpf_set_print(NULL);
	*why = load(signals, events);
	libbpf_set_print(loud);
	if (!*why)
		return signals;
	signals_close(signals);
	return NULL;
}

void signals_close(struct signals *signals)
{
	if (!signals)
		return;
	agent_signals__destroy(signals->program);
	free(signals);
}

unsigned signals_known(const struct signals *signals)
{
	return signals->known;
}

/* What is counted at the very moment in which an end is taken out of the map is lost. */
int signals_read(struct signals *signals, struct census *census)
{
	struct agent_end ends[READ_MAX];
	struct agent_counts counts[READ_MAX];
	int map = bpf_map__fd(signals->program->maps.ends), err;
	__u32 place, *from = NULL, count;

	do {
		count = READ_MAX;
		err = bpf_map_lookup_and_delete_batch(map, from, &place, ends, counts, &count, NULL);
		if (err && err != -ENOENT)
			return err;
		for (__u32 i = 0; i < count; i++) {
			struct fl_address local;

			memcpy(local.bytes, &ends[i].address, sizeof(local.bytes));
			census_signals(census, &local, (fl_u16)ends[i].port, &counts[i]);
		}
		from = &place;
	} while (!err);
	return 0;
}
