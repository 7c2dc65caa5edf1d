/* SPDX-License-Identifier: Apache-2.0 */
#include "rack.h"

#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <rte_eal.h>
#include <rte_errno.h>
#include <rte_eth_ring.h>
#include <rte_ethdev.h>
#include <rte_malloc.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "cases.h"
#include "compiled/build.h"
#include "compiled/compiled.h"
#include "crc.h"
#include "frame.h"
#include "ring/ring.h"
#include "service/lookup.h"
#include "steering/maat/maat.h"
#include "steering/othello/arrays.h"
#include "steering/othello/pair.h"

enum {
	MBUFS = 2047,
	ROOM = 2304,
	INSTRUCTIONS = 1000, /* at once */
	DEADLINE_S = 60,
	NAME_MAX_LEN = 32,
};

/* DPDK never frees which of a table's actions are for its entries, and which for its default. */
const char *__lsan_default_suppressions(void);
const char *__lsan_default_suppressions(void)
{
	return "leak:rte_swx_pipeline_table_config\n";
}

void rack_environment(void)
{
	static char *arguments[] = {
	    "p4",          "--no-huge", "-m", "512", "--no-pci", "--no-shconf", "--no-telemetry",
	    "--log-level", "error",     "-l", "0"};
	cpu_set_t cpus;

	if (pthread_getaffinity_np(pthread_self(), sizeof(cpus), &cpus) ||
	    rte_eal_init(sizeof(arguments) / sizeof(arguments[0]), arguments) < 0) {
		fprintf(stderr, "DPDK: %s\n", rte_strerror(rte_errno));
		exit(1);
	}
	/* a test's own threads run beside the pipeline, not on its CPU alone */
	pthread_setaffinity_np(pthread_self(), sizeof(cpus), &cpus);
}

/* A DPDK port over one ring in and one out; either may be NULL. */
static uint16_t open_port(struct rack *rack, const char *name, struct rte_ring *in, struct rte_ring *out)
{
	const struct rte_eth_conf conf = {.rxmode.mq_mode = RTE_ETH_MQ_RX_NONE};
	int port = rte_eth_from_rings(name, &in, 1, &out, 1, 0);

	assert_true(port >= 0);
	assert_int_equal(rte_eth_dev_configure((uint16_t)port, 1, 1, &conf), 0);
	assert_int_equal(rte_eth_rx_queue_setup((uint16_t)port, 0, RACK_QUEUE, 0, NULL, rack->pool), 0);
	assert_int_equal(rte_eth_tx_queue_setup((uint16_t)port, 0, RACK_QUEUE, 0, NULL), 0);
	assert_int_equal(rte_eth_dev_start((uint16_t)port), 0);
	return (uint16_t)port;
}

static struct rte_ring *ring_of(const char *format, unsigned number)
{
	char name[NAME_MAX_LEN];
	struct rte_ring *ring;

	snprintf(name, sizeof(name), format, number);
	ring = rte_ring_create(name, RACK_QUEUE, SOCKET_ID_ANY, RING_F_SP_ENQ | RING_F_SC_DEQ);
	assert_non_null(ring);
	return ring;
}

/* What SWX copies of the ports' arguments. */
struct arguments {
	struct p4_port_in_params in[RACK_WIRES];
	struct p4_port_out_params out[RACK_OUTS];
};

/* A port for each wire, and one for each exception port, which receives nothing. */
static struct p4_ends open_ports(struct rack *rack, struct arguments *arguments)
{
	struct rte_ring *nothing = ring_of("nothing%u", 0);
	struct p4_ends ends = {.wires = RACK_WIRES};

	for (unsigned i = 0; i < P4_PORTS_OUT; i++)
		ends.out[i] = (struct p4_end_out){&p4_port_nowhere, &rack->dropped};
	for (unsigned i = 0; i < RACK_WIRES; i++) {
		struct p4_port_in_params *in = &arguments->in[i];
		struct p4_port_out_params *wire = &arguments->out[i], *exception = &arguments->out[RACK_WIRES + i];
		char name[NAME_MAX_LEN];

		*in = (struct p4_port_in_params){.counts = &rack->in[i]};
		*wire = (struct p4_port_out_params){.trim = true, .counts = &rack->out[i]};
		*exception = (struct p4_port_out_params){.counts = &rack->out[RACK_WIRES + i]};
		rack->to[i] = ring_of("to%u", i);
		rack->from[i] = ring_of("from%u", i);
		rack->from[RACK_WIRES + i] = ring_of("exception%u", i);
		snprintf(name, sizeof(name), "wire%u", i);
		wire->port = in->port = open_port(rack, name, rack->to[i], rack->from[i]);
		snprintf(name, sizeof(name), "kernel%u", i);
		exception->port = in->exception_port = open_port(rack, name, nothing, rack->from[RACK_WIRES + i]);
		ends.in[i] = (struct p4_end_in){&p4_port_in, in};
		ends.out[i] = (struct p4_end_out){&p4_port_out, wire};
		ends.out[P4_PORT_EXCEPTION + i] = (struct p4_end_out){&p4_port_out, exception};
	}
	return ends;
}

static void fill_crc(struct rack *rack)
{
	for (unsigned at = 0; at < P4_CRC_SOURCES + P4_CRC_PORTS; at++) {
		char name[NAME_MAX_LEN];

		if (at < P4_CRC_SOURCES)
			snprintf(name, sizeof(name), "crc_s%u", at);
		else
			snprintf(name, sizeof(name), "crc_p%u", at - P4_CRC_SOURCES);
		for (unsigned i = 0; i < P4_CRC_ENTRIES; i++)
			rack_write(rack, name, i, p4_crc_part(at, i / 256, (uint8_t)i));
	}
}

static int build(struct rack *rack, const char *spec, const struct p4_ends *ends, struct reason *why)
{
	FILE *file;
	int error;

	rack->is_compiled = !strcmp(spec, RACK_COMPILED);
	if (rack->is_compiled)
		return compiled_build(&rack->pipeline, "mux", ends, why);
	file = fopen(spec, "r");
	if (!file)
		fail_msg("cannot open %s", spec);
	error = p4_build_interpreted(&rack->pipeline, "mux", ends, file, why);
	fclose(file);
	return error;
}

void rack_open(struct rack *rack, const char *spec)
{
	struct arguments arguments;
	struct reason why = {{0}};
	struct p4_ends ends;

	*rack = (struct rack){0};
	rack->pool = rte_pktmbuf_pool_create("packets", MBUFS, 0, RACK_PRIVATE, ROOM, SOCKET_ID_ANY);
	assert_non_null(rack->pool);
	ends = open_ports(rack, &arguments);
	if (build(rack, spec, &ends, &why))
		fail_msg("%s: %s", spec, why.text);
	rack->control = rte_swx_ctl_pipeline_create(rack->pipeline);
	assert_non_null(rack->control);
	fill_crc(rack);
}

void rack_close(struct rack *rack)
{
	uint16_t port;

	rte_swx_ctl_pipeline_free(rack->control);
	rte_swx_pipeline_free(rack->pipeline);
	RTE_ETH_FOREACH_DEV(port)
	rte_eth_dev_stop(port);
	assert_int_equal(rte_mempool_in_use_count(rack->pool), 0);
	rte_mempool_free(rack->pool);
}

uint64_t rack_read(const struct rack *rack, const char *name, uint32_t at)
{
	uint64_t value = 0;

	if (rte_swx_ctl_pipeline_regarray_read(rack->pipeline, name, at, &value))
		fail_msg("no register %s[%u]", name, at);
	return value;
}

void rack_write(struct rack *rack, const char *name, uint32_t at, uint64_t value)
{
	if (rte_swx_ctl_pipeline_regarray_write(rack->pipeline, name, at, value))
		fail_msg("no register %s[%u]", name, at);
	cases_register(name, at, value);
}

void rack_now(struct rack *rack, uint32_t now)
{
	rack_write(rack, "clock", 0, now);
}

uint16_t rack_slot(const struct service *service)
{
	return (uint16_t)(service->slot + 1);
}

uint64_t rack_count(const struct rack *rack, uint16_t slot, unsigned verdict)
{
	return rack_read(rack, "packets", (uint32_t)slot << P4_PACKETS_SHIFT | verdict);
}

static void free_entry(struct rte_swx_table_entry *entry)
{
	free(entry->key);
	free(entry->key_mask);
	free(entry->action_data);
	free(entry);
}

/* Adds an entry from text, or removes it. */
static void change_entry(struct rack *rack, const struct rack_entry *which, bool add)
{
	struct rte_swx_table_entry *entry;
	int is_blank = 0, error;

	entry = rte_swx_ctl_pipeline_table_entry_read(rack->control, which->table, which->text, &is_blank);
	if (!entry)
		fail_msg("%s: %s", which->table, which->text);
	error = add ? rte_swx_ctl_pipeline_table_entry_add(rack->control, which->table, entry)
		    : rte_swx_ctl_pipeline_table_entry_delete(rack->control, which->table, entry);
	assert_int_equal(error, 0);
	free_entry(entry);
	cases_entry(add, which->table, which->text);
}

static void __attribute__((format(printf, 3, 4)))
add_entry(struct rack *rack, const char *table, const char *format, ...)
{
	struct rack_entry *entry = &rack->entries[rack->entries_count++];
	va_list list;

	assert_true(rack->entries_count <= RACK_ENTRIES);
	snprintf(entry->table, sizeof(entry->table), "%s", table);
	va_start(list, format);
	vsnprintf(entry->text, sizeof(entry->text), format, list);
	va_end(list);
	change_entry(rack, entry, true);
}

static void clear_entries(struct rack *rack)
{
	while (rack->entries_count)
		change_entry(rack, &rack->entries[--rack->entries_count], false);
}

static void write_line(struct rack *rack, const char *name, uint32_t at, const uint64_t line[P4_LINE_WORDS])
{
	for (uint32_t i = 0; i < P4_LINE_WORDS; i++)
		rack_write(rack, name, at * P4_LINE_WORDS + i, line[i]);
}

/* A region with the service's rows and backends. */
static void fill_region(struct rack *rack, const struct service *service, uint64_t line[P4_LINE_WORDS])
{
	const struct ring *ring = service_ring(service);
	const struct backends *backends = ring_backends(ring);
	uint32_t base = rack->words, buckets = ring_buckets(ring);

	rack->words += buckets + backends->size;
	assert_true(rack->words <= P4_RING_WORDS);
	for (uint32_t i = 0; i < buckets; i++) {
		fl_row row = ring_row(ring, i);

		for (uint32_t word = 0; word < p4_list_words(row) && word < P4_LISTS_WORDS - (row >> 32); word++)
			rack_write(rack, "lists", (uint32_t)(row >> 32) + word,
				   p4_list_word(ring->listed->lists, row, word));
		rack_write(rack, "ring", base + i, p4_row(row, backends->size));
	}
	for (uint32_t id = 0; id < backends->size; id++) {
		const struct backend *backend = &backends->rows[id];
		uint64_t words[P4_LINE_WORDS];

		if (backend_state(backend) == BACKEND_ABSENT) {
			rack_write(rack, "ring", base + buckets + id, 0);
			continue;
		}
		assert_true(rack->places < P4_PLACES);
		p4_template(backend, words);
		write_line(rack, "templates", rack->places, words);
		rack_write(rack, "tails", rack->places, p4_tail(backend));
		rack_write(
		    rack, "ring", base + buckets + id,
		    p4_backend_word(backends, backend, rack->places++, (uint8_t)(backend->port - RACK_FIRST_PORT)));
	}
	p4_service_line(service, backends, line);
	line[P4_LINE_REGION] = p4_region(base, buckets);
	line[P4_LINE_GENERATION] = ring_generation(ring);
}

void rack_score(struct rack *rack, const struct service *service)
{
	const struct ring *ring = service_ring(service);
	uint32_t line = rack_slot(service) * P4_LINE_WORDS;
	uint32_t words = (uint32_t)rack_read(rack, "services", line + P4_LINE_REGION) + ring_buckets(ring);

	for (uint32_t id = 0; id < ring_backends(ring)->size; id++) {
		uint64_t word = rack_read(rack, "ring", words + id);

		if (word)
			rack_write(rack, "templates", (uint32_t)word + P4_TEMPLATE_SCORE,
				   p4_score(service, (uint16_t)id));
	}
	rack_write(rack, "services", line + P4_LINE_LEAST, p4_least(service));
}

/* A set of cells; where it begins. */
static uint32_t fill_set(struct rack *rack, const struct othello_arrays *arrays)
{
	uint32_t base = rack->cells, words = (uint32_t)p4_set_words(arrays);

	rack->cells += words;
	assert_true(rack->cells <= P4_CELLS_WORDS);
	for (uint32_t i = 0; i < words; i++)
		rack_write(rack, "cells", base + i, p4_set_word(arrays, i));
	return base;
}

static uint64_t fill_sets(struct rack *rack, const struct service *service)
{
	const struct othello_pair *pair = service->steering == STEERING_othello ? othello_pair_of(service) : NULL;

	if (service->steering != STEERING_othello)
		return 0;
	if (!pair)
		return p4_sets(P4_SET_LOW_BITS, P4_SET_NONE);
	return p4_sets(fill_set(rack, pair->newest), pair->previous   ? fill_set(rack, pair->previous)
						     : pair->low_bits ? P4_SET_LOW_BITS
								      : P4_SET_NONE);
}

static uint64_t high_of(const struct fl_address *address)
{
	return fl_load_be64(address->bytes);
}

/* An IPv4 address: the address alone. */
static uint64_t low_of(const struct fl_address *address)
{
	uint64_t low = fl_load_be64(address->bytes + 8);

	return fl_address_is_ipv4(address) ? (uint32_t)low : low;
}

static void add_address(struct rack *rack, const char *table, const struct fl_address *address, const char *action)
{
	bool ipv4 = fl_address_is_ipv4(address);
	char name[NAME_MAX_LEN];

	snprintf(name, sizeof(name), "%s%c", table, ipv4 ? '4' : '6');
	if (ipv4)
		add_entry(rack, name, "match 0x%lx action %s4", low_of(address), action);
	else
		add_entry(rack, name, "match 0x%lx 0x%lx action %s6", high_of(address), low_of(address), action);
}

/* One entry of ports4 or ports6; id: the backend that the port names, with by_id. */
static void add_port(struct rack *rack, const struct service *service, const struct fl_address *vip, uint8_t protocol,
		     uint16_t port, bool by_id, uint16_t id)
{
	bool ipv4 = fl_address_is_ipv4(vip), client = service->affinity == AFFINITY_CLIENT;
	unsigned variant = (ipv4 ? 0U : P4_CRC_IPV6) | (client ? P4_CRC_CLIENT : 0U);
	uint32_t crc = service->hash == FL_HASH_CRC32 ? p4_crc_constant(variant, vip, protocol, port) : 0;
	char action[RACK_ENTRY_MAX / 2];

	snprintf(action, sizeof(action), "serve%c slot 0x%x service 0x%x kind 0x%x backend 0x%x crc 0x%x",
		 ipv4 ? '4' : '6', rack_slot(service), service->id, p4_kind(service, protocol, by_id, rack->tagged), id,
		 crc);
	if (ipv4)
		add_entry(rack, "ports4", "match 0x%lx 0x%x 0x%x action %s", low_of(vip), port, protocol, action);
	else
		add_entry(rack, "ports6", "match 0x%lx 0x%lx 0x%x 0x%x action %s", high_of(vip), low_of(vip), port,
			  protocol, action);
}

static void fill_service(struct rack *rack, const struct service *service)
{
	const struct service_config *config = &service->config;
	uint64_t line[P4_LINE_WORDS] = {0};

	assert_true(rack_slot(service) < RACK_SLOTS);
	if (service_ring(service))
		fill_region(rack, service, line);
	if (maat_of(service)) {
		line[P4_LINE_FILTER] = p4_filter(service, rack->noted);
		rack->noted += maat_of(service)->settings.filter_bytes;
		assert_true(rack->noted <= P4_NOTED);
	}
	line[P4_LINE_SETS] = fill_sets(rack, service);
	write_line(rack, "services", rack_slot(service), line);
	if (maat_of(service) && service_ring(service))
		rack_score(rack, service);
	for (unsigned v = 0; v < config->vips_count; v++) {
		const struct fl_address *vip = &config->vips[v];

		add_address(rack, "vips", vip, "is_vip");
		add_address(rack, "sources", vip, "is_source");
		for (unsigned p = 0; p < config->ports_count; p++)
			add_port(rack, service, vip, config->ports[p].protocol, config->ports[p].port, false, 0);
		for (uint32_t port = config->mptcp.first; config->mptcp.first && port <= config->mptcp.last; port++)
			add_port(rack, service, vip, IPPROTO_TCP, (uint16_t)port, true,
				 (uint16_t)(port - config->mptcp.first));
	}
}

/* Sets a counter, of which cases need no line each. */
static void clear_count(struct rack *rack, const char *name, uint32_t at)
{
	if (rte_swx_ctl_pipeline_regarray_write(rack->pipeline, name, at, 0))
		fail_msg("no counter %s[%u]", name, at);
}

static void clear_counts(struct rack *rack)
{
	for (uint32_t i = 0; i < RACK_SLOTS << P4_PACKETS_SHIFT; i++)
		clear_count(rack, "packets", i);
	for (uint32_t i = 0; i < RACK_SLOTS; i++)
		clear_count(rack, "bytes", i);
	clear_count(rack, "moved", 0);
	clear_count(rack, "second", 0);
	clear_count(rack, "second_first", 0);
	clear_count(rack, "second_syns", 0);
	cases_clear();
}

void rack_fill(struct rack *rack, const struct tables *tables, const struct fl_address *selves, uint32_t selves_count)
{
	clear_entries(rack);
	assert_int_equal(rte_swx_ctl_pipeline_commit(rack->control, 1), 0);
	clear_counts(rack);
	rack->words = rack->places = 0;
	rack->cells = P4_SET_FIRST;
	for (unsigned i = 0; i < P4_PORT_WIRES; i++)
		rack_write(rack, "macs", i, p4_mac(frame_mac));
	for (uint32_t i = 0; i < tables->registry.count; i++)
		fill_service(rack, tables->registry.services[i]);
	for (uint32_t i = 0; i < selves_count; i++)
		add_address(rack, "sources", &selves[i], "is_source");
	assert_int_equal(rte_swx_ctl_pipeline_commit(rack->control, 1), 0);
}

void rack_put(struct rack *rack, unsigned wire, struct rte_mbuf *mbuf)
{
	rack->put++;
	assert_int_equal(rte_ring_enqueue(rack->to[wire], mbuf), 0);
}

/* Frames that have left the pipeline, or never entered it. */
static uint64_t done(const struct rack *rack)
{
	uint64_t sum = rack->dropped.packets;

	for (unsigned i = 0; i < RACK_WIRES; i++)
		sum += rack->in[i].refused;
	for (unsigned i = 0; i < RACK_OUTS; i++)
		sum += rack->out[i].packets + rack->out[i].full;
	return sum;
}

void rack_run(struct rack *rack)
{
	time_t begin = time(NULL);

	while (done(rack) < rack->put) {
		if (rack->is_compiled)
			compiled_run(rack->pipeline);
		else
			rte_swx_pipeline_run(rack->pipeline, INSTRUCTIONS);
		rte_swx_pipeline_flush(rack->pipeline);
		if (time(NULL) - begin > DEADLINE_S)
			fail_msg("%lu of %lu frames have left the pipeline", (unsigned long)done(rack),
				 (unsigned long)rack->put);
	}
	assert_int_equal(done(rack), rack->put);
}

struct rte_mbuf *rack_take(struct rack *rack, unsigned out)
{
	void *mbuf = NULL;

	return rte_ring_dequeue(rack->from[out], &mbuf) ? NULL : mbuf;
}
