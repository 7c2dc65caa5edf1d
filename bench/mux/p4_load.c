/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which server each of many connections reaches through the P4 mux's pipeline, interpreted (p4_load, a script): the
 * packets that leave it are counted by their outer destination. Each is compared with what the C mux's hash and ring
 * say; one that differs ends the program.
 *
 *	p4_load MUX.SPEC siphash|crc32 FLOWS < OWNERS
 *
 * OWNERS: the number of buckets, then the id of each one's owner. Clients have addresses one after another from
 * 100.64.0.0 on, and each has 4,096 ports one after another. Prints a JSON list: connections of the servers 1, 2, ...
 */
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "encap/encap.h"
#include "frame.h"
#include "image.h"
#include "rack.h"

enum {
	SERVICE = 7,
	GENERATION = 5,
	BATCH = 512,
	CLIENT_PORTS = 4096,
	FIRST_PORT = 1024,
	FIRST_CLIENT = 100 << 24 | 64 << 16,
	FLOWS_MAX = 1 << 28,
	AT_DESTINATION = ENCAP_AT_IP + 16, /* of an outer IPv4 header */
};

static struct rack rack;

static void __attribute__((noreturn, format(printf, 1, 2))) die(const char *format, ...)
{
	va_list list;

	va_start(list, format);
	fputs("p4_load: ", stderr);
	vfprintf(stderr, format, list);
	fputc('\n', stderr);
	exit(1);
}

static uint32_t number(const char *what, uint32_t least, uint32_t most)
{
	unsigned long value;

	if (scanf("%lu", &value) != 1 || value < least || value > most)
		die("%s: not a number from %u to %u", what, least, most);
	return (uint32_t)value;
}

/* A ring as it is given, of which no bucket has moved. */
static struct delta read_ring(uint16_t *servers)
{
	uint32_t buckets = number("buckets", FL_BUCKETS_MIN, P4_RING_WORDS / 4);
	uint16_t *owners = malloc(buckets * sizeof(*owners));
	struct delta snapshot;

	if (!owners || buckets & (buckets - 1))
		die("buckets: %u is not allowed; allowed: a power of two", buckets);
	*servers = 1;
	for (uint32_t i = 0; i < buckets; i++) {
		owners[i] = (uint16_t)number("owner", 1, FL_BACKEND_MAX);
		*servers = owners[i] > *servers ? owners[i] : *servers;
	}
	snapshot = image_snapshot(SERVICE, GENERATION, buckets, *servers);
	for (uint32_t i = 0; i < buckets; i++)
		image_own(&snapshot, i, owners[i]);
	free(owners);
	return snapshot;
}

static struct flow flow_of(uint32_t number)
{
	struct flow flow = frame_flow(IPPROTO_TCP);

	fl_store_be32(flow.source.bytes + 12, FIRST_CLIENT + number / CLIENT_PORTS);
	flow.source_port = (uint16_t)(FIRST_PORT + number % CLIENT_PORTS);
	return flow;
}

static void put(const struct flow *flow)
{
	struct frame frame = frame_new(flow, 0);
	struct rte_mbuf *mbuf = rte_pktmbuf_alloc(rack.pool);

	if (!mbuf)
		die("no buffer");
	memcpy(rte_pktmbuf_append(mbuf, (uint16_t)frame.len), frame.bytes, frame.len);
	rack_put(&rack, 0, mbuf);
}

/* The id of the server that the next packet goes to; they leave in the order in which they came. */
static uint16_t take(const struct delta *snapshot)
{
	struct rte_mbuf *mbuf = rack_take(&rack, 0);
	uint32_t first = fl_load_be32(snapshot->backends[0].address.bytes + 12), id;

	if (!mbuf)
		die("a packet was not steered");
	id = fl_load_be32(rte_pktmbuf_mtod(mbuf, const uint8_t *) + AT_DESTINATION) - first + 1;
	rte_pktmbuf_free(mbuf);
	if (!id || id > snapshot->backends_count)
		die("a packet goes to no server");
	return (uint16_t)id;
}

static void count(const struct service *service, const struct delta *snapshot, uint32_t flows, uint32_t *counts)
{
	for (uint32_t at = 0; at < flows; at += BATCH) {
		uint32_t end = flows - at < BATCH ? flows : at + BATCH;

		for (uint32_t i = at; i < end; i++) {
			struct flow flow = flow_of(i);

			put(&flow);
		}
		rack_run(&rack);
		for (uint32_t i = at; i < end; i++) {
			struct flow flow = flow_of(i);
			uint32_t bucket = fl_bucket(service_flow_hash(service, &flow), snapshot->buckets);
			uint16_t id = take(snapshot);

			if (id != snapshot->image.current[bucket])
				die("connection %u goes to server %u, by the C mux to %u", i, id,
				    snapshot->image.current[bucket]);
			counts[id]++;
		}
	}
}

int main(int argc, char **argv)
{
	struct service_config config;
	struct service *service;
	struct tables *tables;
	struct delta snapshot;
	struct reason why = {{0}};
	uint16_t servers;
	uint32_t *counts;
	long flows;

	if (argc != 4 || (strcmp(argv[2], "siphash") && strcmp(argv[2], "crc32")))
		die("usage: p4_load MUX.SPEC siphash|crc32 FLOWS < OWNERS");
	flows = strtol(argv[3], NULL, 10);
	if (flows < 1 || flows > FLOWS_MAX)
		die("flows: %s is not allowed; allowed: 1 to %d", argv[3], FLOWS_MAX);
	snapshot = read_ring(&servers);
	counts = calloc(servers + 1U, sizeof(*counts));
	tables = tables_new(1, &image_hops);
	if (!counts || !tables)
		die("no memory");
	config = image_config(SERVICE, "10.99.0.1", snapshot.buckets);
	config.hash = strcmp(argv[2], "crc32") ? FL_HASH_SIPHASH : FL_HASH_CRC32;
	if (tables_add(tables, &config, &service, &why) || tables_load(tables, service, &snapshot, NULL, &why))
		die("%s", why.text);
	rack_environment();
	rack_open(&rack, argv[1]);
	rack_fill(&rack, tables, NULL, 0);
	count(service, &snapshot, (uint32_t)flows, counts);
	for (uint16_t id = 1; id <= servers; id++)
		printf("%s%u", id == 1 ? "[" : ", ", counts[id]);
	puts("]");
	rack_close(&rack);
	tables_free(tables);
	image_free(&snapshot);
	free(counts);
	return 0;
}
