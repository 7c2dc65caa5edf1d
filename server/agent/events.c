// SPDX-License-Identifier: Apache-2.0
#include "events.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "events.bpf.h"

/* the program is one string of its bytes */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Woverlength-strings"
#include "agent_events.skel.h"
#pragma GCC diagnostic pop

struct events {
	struct agent_events *program;
	struct ring_buffer *ring;
	struct census *census; /* of the read under way */
};

static int take(void *context, void *data, size_t size)
{
	const struct agent_event *event = data;
	struct events *events = context;
	struct socket_name name;

	if (size < sizeof(*event))
		return 0;
	memcpy(name.local.bytes, &event->local, sizeof(name.local.bytes));
	memcpy(name.remote.bytes, &event->remote, sizeof(name.remote.bytes));
	name.local_port = event->local_port;
	name.remote_port = event->remote_port;
	if (event->closed)
		census_close(events->census, &name);
	else
		census_open(events->census, &name, event->ns);
	return 0;
}

static const char *load(struct events *events)
{
	struct stat netns;

	if (access("/sys/kernel/btf/vmlinux", R_OK))
		return "the kernel has no BTF";
	if (stat("/proc/self/ns/net", &netns))
		return "/proc does not name the network namespace";
	events->program = agent_events__open();
	if (!events->program)
		return "the program cannot be read";
	events->program->rodata->netns = (__u32)netns.st_ino;
	if (agent_events__load(events->program))
		return errno == EPERM ? "CAP_BPF and CAP_PERFMON are missing" : "the kernel does not load the program";
	events->ring = ring_buffer__new(bpf_map__fd(events->program->maps.ring), take, events, NULL);
	if (!events->ring)
		return "the ring buffer cannot be mapped";
	if (agent_events__attach(events->program))
		return "the kernel has no tracepoint sock/inet_sock_set_state, or does not attach to it";
	return NULL;
}

struct events *events_open(const char **why)
{
	struct events *events = calloc(1, sizeof(*events));
	libbpf_print_fn_t loud;

	*why = "there is no memory";
	if (!events)
		return NULL;
	loud = libbpf_set_print(NULL);
	*why = load(events);
	libbpf_set_print(loud);
	if (*why) {
		events_close(events);
		return NULL;
	}
	return events;
}

void events_close(struct events *events)
{
	if (!events)
		return;
	ring_buffer__free(events->ring);
	agent_events__destroy(events->program);
	free(events);
}

static bool is_served(const struct services *services, const struct agent_address *address)
{
	for (size_t i = 0; i < services->endpoint_count; i++)
		if (!memcmp(&services->endpoints[i].local, address, sizeof(*address)))
			return true;
	return false;
}

static void remove_others(int map, const struct services *services)
{
	struct agent_address address, next;
	bool has_next = !bpf_map_get_next_key(map, NULL, &next);

	while (has_next) {
		address = next;
		has_next = !bpf_map_get_next_key(map, &address, &next);
		if (!is_served(services, &address))
			bpf_map_delete_elem(map, &address);
	}
}

int events_serve(struct events *events, const struct services *services)
{
	int addresses = events_addresses(events), ports = events_ports(events);
	fl_u64 bits[65536 / 64] = {0};
	__u8 one = 1;
	__u32 word;

	for (size_t i = 0; i < services->endpoint_count; i++) {
		const struct endpoint *endpoint = &services->endpoints[i];
		struct agent_address address;

		memcpy(&address, endpoint->local.bytes, sizeof(address));
		if (bpf_map_update_elem(addresses, &address, &one, BPF_ANY))
			return -errno;
		for (unsigned port = endpoint->first; port <= endpoint->last; port++)
			bits[port / 64] |= 1ULL << port % 64;
	}
	for (word = 0; word < 65536 / 64; word++)
		if (bpf_map_update_elem(ports, &word, &bits[word], BPF_ANY))
			return -errno;
	remove_others(addresses, services);
	return 0;
}

int events_addresses(const struct events *events)
{
	return bpf_map__fd(events->program->maps.addresses);
}

int events_ports(const struct events *events)
{
	return bpf_map__fd(events->program->maps.ports);
}

int events_fd(const struct events *events)
{
	return ring_buffer__epoll_fd(events->ring);
}

int events_read(struct events *events, struct census *census)
{
	events->census = census;
	return ring_buffer__consume(events->ring);
}

fl_u64 events_lost(const struct events *events)
{
	return __atomic_load_n(&events->program->bss->lost, __ATOMIC_RELAXED);
}
