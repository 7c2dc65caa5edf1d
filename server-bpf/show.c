// SPDX-License-Identifier: Apache-2.0
/*
 * The state is read into one JSON document, and the table is printed from that: what people and scripts see cannot
 * differ.
 */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/timex.h>
#include <time.h>

#include "config.h"
#include "counters.h"
#include "show.h"

enum {
	BATCH = 4096,
};

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

json_t *show_config(const struct fl_server_config *config, json_t *peers, const char *mode)
{
	char text[CONFIG_TEXT_LEN];

	return json_pack("{s:s, s:i, s:I, s:o, s:b, s:b, s:s}", "address", config_self_text(config, text), "port",
			 (int)config->port, "windowSeconds", (json_int_t)config->window, "peers", peers, "tagRequired",
			 (int)config->tagged, "chaining", (int)config->chaining, "mode", mode);
}

static json_t *counters_read(const struct running *running)
{
	int cpus = libbpf_num_possible_cpus();
	fl_u64 *values = cpus > 0 ? calloc((size_t)cpus, sizeof(*values)) : NULL;
	json_t *counters = values ? json_object() : NULL;
	__u32 slot;

	for (slot = 0; counters && slot < FL_COUNTERS; slot++) {
		json_int_t sum = 0;
		int cpu;

		if (bpf_map_lookup_elem(running->counters, &slot, values)) {
			json_decref(counters);
			counters = NULL;
			break;
		}
		for (cpu = 0; cpu < cpus; cpu++)
			sum += (json_int_t)values[cpu];
		json_object_set_new(counters, fl_counter_names[slot], json_integer(sum));
	}
	free(values);
	return counters;
}

/* Reads up to BATCH elements more; cursor begins as NULL. Returns how many, and sets *last at the end of the map. */
static __u32 batch_read(int map, __u32 **cursor, __u32 *position, void *keys, void *values, bool *last)
{
	__u32 n = BATCH;

	*last = bpf_map_lookup_batch(map, *cursor, position, keys, values, &n, NULL) != 0;
	*cursor = position;
	return *last && errno != ENOENT ? 0 : n;
}

/* Services whose generation has been seen. */
static json_t *services_read(const struct running *running)
{
	static __u32 slots[BATCH], generations[BATCH];
	json_t *services = json_object();
	__u32 *cursor = NULL, position, n, i;
	bool last = false;

	while (!last) {
		n = batch_read(running->generations, &cursor, &position, slots, generations, &last);
		for (i = 0; i < n; i++) {
			char id[16];

			if (!generations[i])
				continue;
			snprintf(id, sizeof(id), "%u", slots[i]);
			json_object_set_new(services, id, json_pack("{s:I}", "generation", (json_int_t)generations[i]));
		}
	}
	return services;
}

static json_t *memory_read(const struct running *running)
{
	static struct fl_memory_key keys[BATCH];
	static struct fl_bucket_memory values[BATCH];
	fl_u64 now = (fl_u64)time(NULL);
	json_int_t entries = 0, open = 0;
	__u32 *cursor = NULL, position, n, i;
	bool last = false;

	while (!last) {
		n = batch_read(running->memory, &cursor, &position, keys, values, &last);
		entries += n;
		for (i = 0; i < n; i++)
			open += now < (fl_u64)values[i].since + running->config.window;
	}
	return json_pack("{s:I, s:I, s:I}", "entries", entries, "open", open, "capacity",
			 (json_int_t)FL_SERVER_MEMORY_CAPACITY);
}

/* Seconds that the program's clock is off, because the kernel's TAI offset was changed after attaching. */
static json_int_t clock_error(const struct running *running)
{
	struct timex timex = {0};

	adjtimex(&timex);
	return timex.tai - (json_int_t)((long long)running->config.clock_offset / 1000000000LL);
}

static void table_print_object(const char *title, const json_t *object)
{
	const char *key;
	json_t *value;

	printf("%s\n", title);
	json_object_foreach((json_t *)object, key, value)
	{
		char *text =
		    json_is_string(value) ? strdup(json_string_value(value)) : json_dumps(value, JSON_ENCODE_ANY);

		printf("  %-34s %s\n", key, text ? text : "?");
		free(text);
	}
}

static void table_print(const json_t *document)
{
	const char *id;
	json_t *service;

	const json_t *interface = json_object_get(document, "interface");

	table_print_object(json_is_null(interface) ? "all interfaces" : json_string_value(interface),
			   json_object_get(document, "config"));
	table_print_object("packets", json_object_get(document, "counters"));
	table_print_object("buckets remembered", json_object_get(document, "memory"));
	printf("services\n");
	json_object_foreach(json_object_get(document, "services"), id, service)
	    printf("  %-34s generation %" JSON_INTEGER_FORMAT "\n", id,
		   json_integer_value(json_object_get(service, "generation")));
}

void show_document(const json_t *document, enum show_format format)
{
	if (format == SHOW_JSON) {
		json_dumpf(document, stdout, JSON_INDENT(2));
		printf("\n");
	} else {
		table_print(document);
	}
}

int show_print(const struct running *running, enum show_format format)
{
	json_int_t seconds = clock_error(running);
	json_t *document;

	document = json_pack("{s:s, s:o, s:o, s:o, s:o, s:I}", "interface", running->interface, "config",
			     show_config(&running->config, peers_read(running), running->mode), "counters",
			     counters_read(running), "services", services_read(running), "memory", memory_read(running),
			     "clockErrorSeconds", seconds);
	if (!document) {
		fprintf(stderr, "fairlead-server: %s: cannot read the program's maps\n", running->interface);
		return -EIO;
	}
	show_document(document, format);
	if (seconds)
		fprintf(stderr,
			"fairlead-server: %s: the kernel's TAI offset changed by %" JSON_INTEGER_FORMAT
			" s since the server was attached; attach again to correct its clock\n",
			running->interface, seconds);
	json_decref(document);
	return 0;
}
