/* SPDX-License-Identifier: Apache-2.0 */
#include "peer_tables.h"

#include <arpa/inet.h>
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* A map that is used, and what its keys and values must be; entries: as many instead of its own, 0: its own. */
struct table {
	const char *name;
	uint32_t key, value, entries;
	bool is_optional;
};

static const struct table tables[] = {
    {"vip_map", sizeof(struct peer_vip), sizeof(struct peer_service), 0, false},
    {"ch_rings", sizeof(uint32_t), sizeof(uint32_t), PEER_RING, false},
    {"reals", sizeof(uint32_t), sizeof(struct peer_server), 0, false},
    {"ctl_array", sizeof(uint32_t), sizeof(struct peer_control), 0, false},
    {"stats", sizeof(uint32_t), sizeof(struct peer_count), 0, false},
    {"lru_mapping", sizeof(uint32_t), sizeof(uint32_t), 0, false},
    {"pckt_srcs", sizeof(uint32_t), sizeof(struct peer_server), 0, true}, /* of GUE alone */
    {"server_id_map", sizeof(uint32_t), sizeof(uint32_t), 1, true},       /* 64 MB that nothing here uses */
};

/* The program's own counters, behind those of services. */
enum { COUNT_PACKETS = 0, COUNT_NEW_FLOWS = 2, MANY = 1000000 };

enum { TABLES = sizeof(tables) / sizeof(tables[0]) };

void peer_die(const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	fputs("peer_packet: ", stderr);
	vfprintf(stderr, format, arguments);
	fputc('\n', stderr);
	va_end(arguments);
	exit(1);
}

void peer_vip_address(uint8_t out[4])
{
	memcpy(out, (const uint8_t[]){10, 99, 0, 0}, 4);
}

void peer_server_address(uint8_t out[4], uint32_t server)
{
	memcpy(out, (const uint8_t[]){10, 1, (uint8_t)(server >> 8), (uint8_t)server}, 4);
}

static void table_check(const struct peer *peer, const struct table *table, const char *file)
{
	struct bpf_map *map = bpf_object__find_map_by_name(peer->object, table->name);

	if (!map && table->is_optional)
		return;
	if (!map)
		peer_die("%s has no map '%s': this revision of the program is not known here", file, table->name);
	if (bpf_map__key_size(map) != table->key || bpf_map__value_size(map) != table->value)
		peer_die("%s: map '%s' has keys of %u and values of %u bytes; known are %u and %u", file, table->name,
			 bpf_map__key_size(map), bpf_map__value_size(map), table->key, table->value);
	if (table->entries && bpf_map__set_max_entries(map, table->entries))
		peer_die("%s: map '%s' can't have %u entries", file, table->name, table->entries);
}

static int map_of(const struct peer *peer, const char *name)
{
	return bpf_object__find_map_fd_by_name(peer->object, name);
}

static void put(const struct peer *peer, const char *name, const void *key, const void *value)
{
	if (bpf_map_update_elem(map_of(peer, name), key, value, BPF_ANY))
		peer_die("map '%s' can't be written: %s", name, strerror(errno));
}

static void fill(const struct peer *peer)
{
	const struct peer_control router = {.mac = {2, 0, 0, 0, 0, 3}};
	const uint32_t first = 0;

	put(peer, "ctl_array", &first, &router);
	for (uint32_t server = 1; server <= PEER_SERVERS; server++) {
		struct peer_server value = {.flags = 0};

		peer_server_address(value.address, server);
		put(peer, "reals", &server, &value);
	}
	for (uint32_t entry = 0; entry < PEER_RING; entry++) {
		uint32_t server = 1 + (entry * 2654435761U >> 8) % PEER_SERVERS;

		put(peer, "ch_rings", &entry, &server);
	}
	if (map_of(peer, "pckt_srcs") >= 0) {
		const struct peer_server source = {.address = {10, 1, 255, 11}};

		put(peer, "pckt_srcs", &first, &source);
	}
}

static int quiet(enum libbpf_print_level level, const char *format, va_list arguments)
{
	return level == LIBBPF_WARN ? vfprintf(stderr, format, arguments) : 0;
}

void peer_open(struct peer *peer, const char *file)
{
	struct bpf_program *program;

	libbpf_set_print(quiet);
	peer->object = bpf_object__open_file(file, NULL);
	if (!peer->object)
		peer_die("%s can't be opened: %s", file, strerror(errno));
	for (int i = 0; i < TABLES; i++)
		table_check(peer, &tables[i], file);
	program = bpf_object__next_program(peer->object, NULL);
	if (!program || bpf_program__type(program) != BPF_PROG_TYPE_XDP)
		peer_die("%s has no XDP program", file);
	if (bpf_object__load(peer->object))
		peer_die("%s can't be loaded: %s", file, strerror(errno));
	peer->program = bpf_program__fd(program);
	peer->vips = map_of(peer, "vip_map");
	peer->stats = map_of(peer, "stats");
	peer->services = bpf_map__max_entries(bpf_object__find_map_by_name(peer->object, "stats")) / 2;
	fill(peer);
}

void peer_close(struct peer *peer)
{
	bpf_object__close(peer->object);
}

int peer_cache_new(uint32_t entries)
{
	int map = bpf_map_create(BPF_MAP_TYPE_LRU_HASH, "peer_cache", sizeof(struct peer_flow),
				 sizeof(struct peer_choice), entries, NULL);

	if (map < 0)
		peer_die("no cache of %u flows: %s", entries, strerror(errno));
	return map;
}

void peer_cache_set(const struct peer *peer, uint32_t processor, int cache)
{
	put(peer, "lru_mapping", &processor, &cache);
}

void peer_service_set(const struct peer *peer, bool is_cached)
{
	const struct peer_service service = {.flags = is_cached ? 0 : PEER_NO_CACHE, .number = 0};
	struct peer_vip vip = {.port = htons(PEER_PORT), .protocol = IPPROTO_TCP};

	peer_vip_address(vip.address);
	if (bpf_map_update_elem(peer->vips, &vip, &service, BPF_ANY))
		peer_die("the service can't be written: %s", strerror(errno));
}

/* A counter of the program itself, summed over processors. */
static struct peer_count count_get(const struct peer *peer, uint32_t which)
{
	int processors = libbpf_num_possible_cpus();
	struct peer_count sum = {0, 0}, *counts = calloc((size_t)(processors > 0 ? processors : 1), sizeof(*counts));
	uint32_t key = peer->services + which;

	if (processors < 1 || !counts || bpf_map_lookup_elem(peer->stats, &key, counts))
		peer_die("the program's counters can't be read: %s", strerror(errno));
	for (int i = 0; i < processors; i++) {
		sum.first += counts[i].first;
		sum.second += counts[i].second;
	}
	free(counts);
	return sum;
}

struct peer_count peer_packets(const struct peer *peer)
{
	return count_get(peer, COUNT_PACKETS);
}

void peer_guard_set(const struct peer *peer)
{
	int processors = libbpf_num_possible_cpus();
	struct peer_count *counts = calloc((size_t)(processors > 0 ? processors : 1), sizeof(*counts));
	uint32_t key = peer->services + COUNT_NEW_FLOWS;
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now); /* the program's clock */
	for (int i = 0; counts && i < processors; i++)
		counts[i] = (struct peer_count){MANY, (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec};
	if (!counts || processors < 1 || bpf_map_update_elem(peer->stats, &key, counts, BPF_ANY))
		peer_die("the program's counters can't be written: %s", strerror(errno));
	free(counts);
}

/* The program sets its processor's count to 1 when a second ends. */
bool peer_guard_is_on(const struct peer *peer)
{
	return count_get(peer, COUNT_NEW_FLOWS).first >= (uint64_t)MANY * (uint64_t)libbpf_num_possible_cpus();
}
