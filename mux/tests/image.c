/* SPDX-License-Identifier: Apache-2.0 */
#include "image.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "config/address.h"
#include "encap/gue.h"
#include "ring/backend.h"
#include "ring/backend_list.h"
#include "ring/lists.h"
#include "ring/ring.h"
#include "steering/othello/arrays.h"
#include "steering/ring/steering_ring.h"

enum { HUGE_PAGE = 2 << 20 };

uint64_t chance_next(struct chance *chance)
{
	chance->state ^= chance->state >> 12;
	chance->state ^= chance->state << 25;
	chance->state ^= chance->state >> 27;
	return chance->state * 0x2545f4914f6cdd1dULL;
}

uint32_t chance_below(struct chance *chance, uint32_t bound)
{
	return (uint32_t)((chance_next(chance) >> 32) * bound >> 32);
}

struct fl_address image_address(const char *text)
{
	struct fl_address address;

	if (!address_parse(text, &address))
		abort();
	return address;
}

struct service_config image_config(uint16_t id, const char *vip, uint32_t buckets)
{
	struct service_config config = {
	    .id = id,
	    .name = "web",
	    .vips_count = 1,
	    .vips = {image_address(vip)},
	    .ports_count = 1,
	    .ports = {{.protocol = IPPROTO_TCP, .port = 80}},
	    .steering = &steering_ring,
	    .buckets = buckets,
	    .hash = FL_HASH_SIPHASH,
	    .key = {0x0706050403020100ULL, 0x0f0e0d0c0b0a0908ULL},
	    .affinity = AFFINITY_CONNECTION,
	    .encap = &encap_gue,
	    .window = 240,
	};

	return config;
}

static void *must(void *memory)
{
	if (!memory)
		abort();
	return memory;
}

struct delta image_snapshot(uint16_t service, uint32_t generation, uint32_t buckets, uint16_t backends)
{
	struct delta d = {.snapshot = true, .service = service, .generation = generation, .buckets = buckets};
	uint32_t first = 10U << 24 | 1U << 16 | 21;

	d.backends_count = backends;
	d.backends = must(calloc(backends ? backends : 1U, sizeof(*d.backends)));
	if (!image_init(&d.image, buckets))
		abort();
	for (uint16_t i = 0; i < backends; i++) {
		uint8_t address[4];

		fl_store_be32(address, first + i);
		d.backends[i].id = (uint16_t)(i + 1);
		d.backends[i].address = fl_address_from_ipv4(address);
	}
	for (uint32_t i = 0; backends && i < buckets; i++)
		d.image.current[i] = (uint16_t)(1 + i % backends);
	image_sum_up(&d.image);
	return d;
}

void image_own(struct delta *snapshot, uint32_t bucket, uint16_t owner)
{
	image_put(&snapshot->image, bucket, owner, snapshot->image.history[bucket]);
}

void image_was(struct delta *snapshot, uint32_t bucket, uint16_t previous, uint32_t since)
{
	struct history history = {.count = 0};
	uint32_t number;

	if (previous)
		history_append(&history, previous, since);
	if (histories_add(&snapshot->image.histories, &history, &number))
		abort();
	image_put(&snapshot->image, bucket, snapshot->image.current[bucket], number);
}

bool image_has_full_history(const struct delta *snapshot)
{
	for (uint32_t i = 0; i < snapshot->image.histories.count; i++)
		if (snapshot->image.histories.list[i].count == HISTORY_MAX)
			return true;
	return false;
}

uint16_t image_previous(const struct delta *snapshot, uint32_t bucket)
{
	return histories_get(&snapshot->image.histories, snapshot->image.history[bucket])->owner[0];
}

uint32_t image_since(const struct delta *snapshot, uint32_t bucket)
{
	return histories_get(&snapshot->image.histories, snapshot->image.history[bucket])->since[0];
}

struct delta image_move(const struct delta *snapshot, uint32_t generation, uint32_t start, uint32_t count,
			uint16_t current, uint32_t committed)
{
	struct delta d = {.service = snapshot->service,
			  .generation = generation,
			  .base = generation - 1,
			  .buckets = snapshot->buckets,
			  .committed = committed,
			  .base_sum =
			      snapshot->image.sum + backend_list_sum(snapshot->backends, snapshot->backends_count),
			  .runs_count = 1,
			  .releases_count = count > 0};

	d.runs = must(calloc(1, sizeof(*d.runs)));
	d.runs[0] = (struct fl_delta_run){start, count, current, 0};
	d.releases = must(calloc(1, sizeof(*d.releases)));
	d.releases[0] = (struct fl_delta_release){start, count, 0};
	return d;
}

void image_set_cell(struct othello_arrays *arrays, uint32_t place, uint32_t cell)
{
	const uint32_t bits = arrays->bits;
	uint8_t *cells = (uint8_t *)(uintptr_t)arrays->cells;

	for (uint32_t i = 0; i < bits; i++) {
		const uint64_t at = (uint64_t)place * bits + i;

		cells[at / 8] = (uint8_t)((cells[at / 8] & ~(1U << at % 8)) | (cell >> i & 1) << at % 8);
	}
}

struct othello_arrays *image_arrays(struct chance *chance, uint32_t generation, uint32_t na, uint32_t nb,
				    enum fl_hash_kind hash, uint32_t buckets)
{
	struct othello_arrays *arrays = must(calloc(1, sizeof(*arrays)));
	size_t bytes;

	*arrays = (struct othello_arrays){.seed = chance_next(chance) | 1,
					  .na = na,
					  .nb = nb,
					  .hash = hash,
					  .bits = fl_othello_bits(buckets),
					  .generation = generation,
					  .references = 1};
	bytes = othello_arrays_memory(arrays);
	arrays->cells = memset(must(othello_cells_reserve(bytes)), 0, bytes);
	for (uint32_t i = 0; i < na + nb; i++)
		image_set_cell(arrays, i, chance_below(chance, buckets));
	return arrays;
}

struct ring *image_ring(const struct delta *snapshot)
{
	static const struct ring_rule rule = {.window = UINT32_MAX, .most = FL_LIST_MAX};
	static struct lists *lists; /* of all these rings */
	struct ring *ring;
	struct reason why;

	if (!lists)
		lists = must(lists_new(LISTS_MAX));
	ring = must(ring_new(snapshot->buckets, lists, &rule));
	ring->backends = must(backends_new(&encap_gue, NULL, snapshot, &image_hops, &why));
	if (ring_load(ring, snapshot, &why))
		abort();
	return ring;
}

void image_free(struct delta *d)
{
	delta_free(d);
}

void image_hop(void *context, const struct fl_address *address, struct next_hop *out)
{
	*out = *(const struct next_hop *)context;
	out->mac[0] = 2;
	out->mac[1] = 0;
	memcpy(out->mac + 2, address->bytes + 12, 4);
	if (!fl_address_is_ipv4(address))
		out->source = image_address("2001:db8:1::11");
}

struct next_hop image_wire = {.resolved = true,
			      .port = 2,
			      .mtu = 1600,
			      .source_mac = {2, 0, 0, 0, 0, 1},
			      .source = {{[10] = 0xff, 0xff, 10, 1, 0, 11}}};
const struct next_hops image_hops = {.context = &image_wire, .lookup = image_hop};
