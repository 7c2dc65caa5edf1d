/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What remembered buckets cost: fills a server's memory, and compares what the kernel says that it uses before and
 * after. Run by server_module, in a virtual machine where nothing else happens.
 *
 *	server_memory module|bpf BUCKETS
 *
 * Prints one JSON object: bytes by /proc/meminfo (unreclaimable slab, vmalloc, per CPU), bytes by free pages, and what
 * the form itself says (`memory.bytes` of `fairlead-server show`).
 */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "client.h"
#include "program.h"
#include "skeleton.h"
#include "tests/rig.h"

enum {
	STILL = 20, /* readings in a row that are the same, so that tables have grown and the old ones are freed */
	READINGS_MAX = 600,
};

struct usage {
	long long kernel, free; /* bytes */
};

static void die(const char *what)
{
	fprintf(stderr, "server_memory: %s\n", what);
	exit(1);
}

static struct usage usage_now(void)
{
	struct usage usage = {0};
	char name[64], line[128];
	long long kilobytes;
	FILE *file = fopen("/proc/meminfo", "re");

	while (file && fgets(line, sizeof(line), file)) {
		if (sscanf(line, "%63[^:]: %lld kB", name, &kilobytes) != 2)
			continue;
		if (!strcmp(name, "SUnreclaim") || !strcmp(name, "VmallocUsed") || !strcmp(name, "Percpu"))
			usage.kernel += kilobytes * 1024;
		else if (!strcmp(name, "MemFree"))
			usage.free = kilobytes * 1024;
	}
	if (!file || !usage.free)
		die("/proc/meminfo cannot be read");
	fclose(file);
	return usage;
}

static struct usage usage_settled(void)
{
	const struct timespec pause = {.tv_nsec = 100000000};
	struct usage last = usage_now(), now;
	int still = 0, readings;

	for (readings = 0; readings < READINGS_MAX; readings++) {
		nanosleep(&pause, NULL);
		now = usage_now();
		still = llabs(now.kernel - last.kernel) < 65536 ? still + 1 : 0;
		last = now;
		if (still == STILL)
			return now;
	}
	die("the kernel's use of memory does not settle");
	return now;
}

static struct fl_bucket_memory moved(void)
{
	struct fl_bucket_memory memory = {
	    .since = (fl_u32)time(NULL), .generation = 1, .previous = packet_address("10.1.0.21")};

	return memory;
}

static long long module_fill(struct module_client *client, fl_u32 buckets)
{
	static struct module_state state;
	struct fl_bucket_memory value = moved();
	struct fl_memory_key key = {.service = 1};

	for (key.bucket = 0; key.bucket < buckets; key.bucket++)
		if (module_restore_memory(client, &key, &value))
			die(client->error);
	if (module_get(client, &state))
		die(client->error);
	return (long long)state.memory_bytes;
}

static long long bpf_fill(int map, fl_u32 buckets)
{
	struct fl_bucket_memory value = moved();
	struct fl_memory_key key = {.service = 1};
	char path[64], line[128];
	long long bytes = -1;
	FILE *file;

	for (key.bucket = 0; key.bucket < buckets; key.bucket++)
		if (bpf_map_update_elem(map, &key, &value, BPF_ANY))
			die("the map takes no bucket");
	snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", map);
	file = fopen(path, "re");
	while (file && fgets(line, sizeof(line), file))
		if (sscanf(line, "memlock: %lld", &bytes) == 1)
			break;
	if (bytes < 0)
		die("the kernel does not tell a map's memory");
	fclose(file);
	return bytes;
}

int main(int argc, char **argv)
{
	unsigned long buckets = argc == 3 ? strtoul(argv[2], NULL, 10) : 0;
	bool is_module = argc == 3 && !strcmp(argv[1], "module");
	struct config config = rig_config();
	struct running nothing = {.mode = NULL};
	struct fl_server *program = NULL;
	struct module_client client;
	struct usage before, after;
	long long says;

	if (argc != 3 || (!is_module && strcmp(argv[1], "bpf")) || buckets < 1 || buckets > FL_SERVER_MEMORY_CAPACITY) {
		fprintf(stderr, "usage: server_memory module|bpf BUCKETS, 1 to %d\n", FL_SERVER_MEMORY_CAPACITY);
		return 2;
	}
	if (is_module && module_open(&client))
		die(client.error);
	before = usage_settled();
	if (is_module) {
		/* An address that every host has: no packet comes. */
		if (config_set_address(&config, "address", "127.0.0.1") ||
		    module_set(&client, &config.program, config.peers, config.peer_count, config.quiet))
			die(client.error);
		says = module_fill(&client, (fl_u32)buckets);
	} else {
		program = program_load(&config, &nothing);
		if (!program)
			die("the program cannot be loaded");
		says = bpf_fill(bpf_map__fd(program->maps.memory), (fl_u32)buckets);
	}
	after = usage_settled();
	printf("{\"buckets\": %lu, \"bytes\": %lld, \"freePagesLess\": %lld, \"formSays\": %lld}\n", buckets,
	       after.kernel - before.kernel, before.free - after.free, says);
	if (program)
		program_close(program);
	else
		module_detach(&client);
	return 0;
}
