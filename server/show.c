// SPDX-License-Identifier: Apache-2.0
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>

#include "config.h"
#include "quiet.h"
#include "show.h"

#ifndef FAIRLEAD_VERSION
#error "FAIRLEAD_VERSION comes from meson"
#endif

static struct document_peers peers_read(const struct running *running)
{
	struct document_peers peers = document_peers_begin();
	struct fl_peer_key *previous = NULL;
	struct fl_peer peer;

	while (!bpf_map_get_next_key(running->peers, previous, &peer.prefix)) {
		if (!bpf_map_lookup_elem(running->peers, &peer.prefix, &peer.roles))
			document_peers_add(&peers, &peer);
		previous = &peer.prefix;
	}
	return peers;
}

static json_t *counters_read(const struct running *running)
{
	int cpus = libbpf_num_possible_cpus();
	fl_u64 *values = cpus > 0 ? calloc((size_t)cpus, sizeof(*values)) : NULL;
	fl_u64 sums[FL_COUNTERS] = {0};
	__u32 slot;
	int cpu;

	for (slot = 0; values && slot < FL_COUNTERS; slot++) {
		if (bpf_map_lookup_elem(running->counters, &slot, values)) {
			free(values);
			return NULL;
		}
		for (cpu = 0; cpu < cpus; cpu++)
			sums[slot] += values[cpu];
	}
	free(values);
	return cpus > 0 ? document_counters(sums) : NULL;
}

/* Adds the load of one service. */
static void load_read_into(const struct running *running, json_t *services, __u32 slot)
{
	struct fl_load_setting setting;
	struct fl_load_state state;

	if (!bpf_map_lookup_elem(running->load_settings, &slot, &setting) &&
	    !bpf_map_lookup_elem(running->load_states, &slot, &state))
		document_load_add(services, slot, &setting, &state, document_clock());
}

/* Services whose generation has been seen. */
static json_t *services_read(const struct running *running)
{
	static __u32 slots[RUNNING_BATCH], generations[RUNNING_BATCH];
	json_t *services = json_object();
	__u32 *cursor = NULL, position, n, i;
	bool last = false;

	while (!last) {
		n = running_batch(running->generations, &cursor, &position, slots, generations, &last);
		for (i = 0; i < n; i++) {
			if (!generations[i])
				continue;
			document_service_add(services, slots[i], generations[i]);
			load_read_into(running, services, slots[i]);
		}
	}
	return services;
}

int show_print(const struct running *running, enum document_format format)
{
	struct document_parts parts = {
	    .form = "bpf",
	    .version = FAIRLEAD_VERSION,
	    .interface = running->interface,
	    .config = document_config(&running->config, peers_read(running), running->mode),
	    .counters = counters_read(running),
	    .services = services_read(running),
	    .quiet_left = quiet_left(running->quiet),
	    .flows = -1,
	};
	json_t *document = document_make(&parts);

	if (!document) {
		fprintf(stderr, "fairlead-server: %s: cannot read the program's maps\n", running->interface);
		return -EIO;
	}
	document_print(document, format);
	json_decref(document);
	return 0;
}
