// SPDX-License-Identifier: Apache-2.0
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/timex.h>
#include <time.h>

#include "config.h"
#include "quiet.h"
#include "show.h"

#ifndef FAIRLEAD_VERSION
#error "FAIRLEAD_VERSION comes from meson"
#endif

static json_t *peers_read(const struct running *running)
{
	struct fl_peer_key key, *previous = NULL;
	json_t *peers = json_array();
	char text[CONFIG_TEXT_LEN];

	while (!bpf_map_get_next_key(running->peers, previous, &key)) {
		json_array_append_new(peers, json_string(config_peer_text(&key, text)));
		previous = &key;
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

/* The largest number of seconds that a move was ahead of the program's clock. */
static json_int_t ahead_read(const struct running *running)
{
	int cpus = libbpf_num_possible_cpus(), cpu;
	fl_u64 *values = cpus > 0 ? calloc((size_t)cpus, sizeof(*values)) : NULL, max = 0;
	__u32 slot = FL_SERVER_SLOT_AHEAD_MAX;

	if (values && !bpf_map_lookup_elem(running->counters, &slot, values))
		for (cpu = 0; cpu < cpus; cpu++)
			max = values[cpu] > max ? values[cpu] : max;
	free(values);
	return (json_int_t)max;
}

/* Adds the load of one service; a program of an earlier version has none. */
static void load_read_into(const struct running *running, json_t *services, __u32 slot)
{
	struct fl_load_setting setting;
	struct fl_load_state state;

	if (running->load_settings >= 0 && running->load_states >= 0 &&
	    !bpf_map_lookup_elem(running->load_settings, &slot, &setting) &&
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

/* The memory of a map as the kernel reports it: before Linux 6.4, that of a full map. */
static json_int_t map_bytes(int map)
{
	char path[64], line[128];
	json_int_t bytes = 0;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", map);
	file = fopen(path, "r");
	while (file && fgets(line, sizeof(line), file))
		if (sscanf(line, "memlock: %" JSON_INTEGER_FORMAT, &bytes) == 1)
			break;
	if (file)
		fclose(file);
	return bytes;
}

static struct document_memory memory_read(const struct running *running)
{
	static struct fl_memory_key keys[RUNNING_BATCH];
	static struct fl_bucket_memory values[RUNNING_BATCH];
	struct document_memory memory = {.bytes = map_bytes(running->memory)};
	fl_u64 now = (fl_u64)time(NULL);
	__u32 *cursor = NULL, position, n, i;
	bool last = false;

	while (!last) {
		n = running_batch(running->memory, &cursor, &position, keys, values, &last);
		for (i = 0; i < n; i++)
			if (!fl_memory_is_of_removed(&keys[i]))
				document_memory_add(&memory, &values[i], now, running->config.window);
	}
	return memory;
}

/* The error of the program's clock in seconds, after the kernel's TAI offset has changed since attaching. */
static json_int_t clock_error(const struct running *running)
{
	struct timex timex = {0};

	adjtimex(&timex);
	return timex.tai - (json_int_t)((long long)running->config.clock_offset / 1000000000LL);
}

int show_print(const struct running *running, enum document_format format)
{
	struct quiet_time quiet = quiet_read(running->quiet);
	struct document_parts parts = {
	    .form = "bpf",
	    .version = FAIRLEAD_VERSION,
	    .interface = running->interface,
	    .config = document_config(&running->config, quiet.seconds, peers_read(running), running->mode),
	    .counters = counters_read(running),
	    .services = services_read(running),
	    .memory = memory_read(running),
	    .clock_error = clock_error(running),
	    .ahead_max = ahead_read(running),
	    .quiet_left = quiet.left,
	};
	json_t *document = document_make(&parts);

	if (!document) {
		fprintf(stderr, "fairlead-server: %s: cannot read the program's maps\n", running->interface);
		return -EIO;
	}
	document_print(document, format);
	if (parts.clock_error)
		fprintf(stderr,
			"fairlead-server: %s: the program's clock is %" JSON_INTEGER_FORMAT
			" s ahead, by --clock-error or because the kernel's TAI offset has changed; attach again to "
			"correct it\n",
			running->interface, parts.clock_error);
	json_decref(document);
	return 0;
}
