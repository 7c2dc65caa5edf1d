/* SPDX-License-Identifier: Apache-2.0 */
#include "copies.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "host/port.h"
#include "layout.h"
#include "port.h"
#include "ring/backend.h"
#include "ring/ring.h"
#include "ring/lists.h"

enum { IDS_MIN = 64 };

int copies_init(struct copies *copies, struct cores *cores, const struct ports *ports, struct reason *why)
{
	*copies = (struct copies){.cores = cores, .ports = ports};
	regions_init(&copies->rows, P4_RING_WORDS);
	copies->places = calloc(P4_PLACES, sizeof(*copies->places));
	copies->retired = calloc(P4_PLACES, sizeof(*copies->retired));
	copies->lists = calloc(P4_LISTS_WORDS, sizeof(*copies->lists));
	if (!copies->places || !copies->retired || !copies->lists) {
		copies_clear(copies);
		return reason_set(why, -ENOMEM, "no memory for the pipelines' copies of rings");
	}
	if (sets_init(&copies->sets, cores, why)) {
		copies_clear(copies);
		return -ENOMEM;
	}
	while (copies->free < P4_PLACES) {
		copies->places[copies->free] = P4_PLACES - 1 - copies->free;
		copies->free++;
	}
	return 0;
}

void copies_clear(struct copies *copies)
{
	regions_clear(&copies->rows);
	sets_clear(&copies->sets);
	free(copies->places);
	free(copies->retired);
	free(copies->lists);
	copies->places = copies->retired = NULL;
	copies->lists = NULL;
}

bool copies_has_room(const struct copies *copies, uint32_t buckets)
{
	return regions_largest(&copies->rows) >= (uint64_t)buckets + IDS_MIN;
}

/* --- templates ---------------------------------------------------------------------------------------------------- */

/* What was retired is free once no packet can be in a pipeline that read it. */
static void reclaim(struct copies *copies)
{
	if (!copies->retired_count)
		return;
	cores_settle(copies->cores);
	while (copies->retired_count)
		copies->places[copies->free++] = copies->retired[--copies->retired_count];
}

static void retire(struct copies *copies, uint32_t place)
{
	if (place != P4_PLACES)
		copies->retired[copies->retired_count++] = place;
}

static uint32_t take_place(struct copies *copies)
{
	if (!copies->free)
		reclaim(copies);
	return copies->free ? copies->places[--copies->free] : (uint32_t)P4_PLACES;
}

static void write_template(struct copies *copies, uint32_t place, const struct backend *backend)
{
	uint64_t line[P4_LINE_WORDS];

	p4_template(backend, line);
	for (uint32_t i = 0; i < P4_LINE_WORDS; i++)
		cores_write(copies->cores, "templates", place * P4_LINE_WORDS + i, line[i]);
	cores_write(copies->cores, "tails", place, p4_tail(backend));
}

/* --- backends ----------------------------------------------------------------------------------------------------- */

/* The wire that a port is; P4_PORT_WIRES: none. */
static uint8_t wire_of(const struct copies *copies, uint8_t port)
{
	unsigned wire = 0;

	while (wire < copies->ports->count && copies->ports->port[wire].id != port)
		wire++;
	return (uint8_t)(wire < copies->ports->count && wire < P4_PORT_WIRES ? wire : (unsigned)P4_PORT_WIRES);
}

/*
 * Writes a backend that has changed: a new template if that has, then its word. before and its place: as last written,
 * perhaps in another region, where the template stays in use until that is given back. False: no place is left.
 */
static bool write_backend(struct copies *copies, struct copy *copy, const struct backends *backends, uint16_t id,
			  const struct backend *before, uint32_t place)
{
	const struct backend *line = &backends->rows[id];
	uint32_t word = copy->region.base + copy->buckets + id;

	if (place == P4_PLACES || memcmp(&before->outer, &line->outer, sizeof(line->outer)) != 0) {
		place = take_place(copies);
		if (place == P4_PLACES)
			return false;
		write_template(copies, place, line);
	}
	cores_write(copies->cores, "ring", word, p4_backend_word(backends, line, place, wire_of(copies, line->port)));
	copy->places[id] = place;
	copy->lines[id] = *line;
	return true;
}

/* The same in the region that packets use: what the backend had before is then retired. */
static bool change_backend(struct copies *copies, struct copy *copy, const struct service *service, uint16_t id)
{
	const struct backends *backends = ring_backends(service_ring(service));
	const struct backend before = copy->lines[id];
	uint32_t place = copy->places[id];

	if (!memcmp(&before, &backends->rows[id], sizeof(before)))
		return true;
	if (!write_backend(copies, copy, backends, id, &before, place))
		return false;
	if (copy->places[id] != place)
		retire(copies, place);
	return true;
}

/* --- lines of services -------------------------------------------------------------------------------------------- */

void copies_configure(struct copies *copies, const struct service *service)
{
	cores_write_line(copies->cores, p4_slot(service), P4_LINE_KEY, service->key.k0);
	cores_write_line(copies->cores, p4_slot(service), P4_LINE_KEY + 1, service->key.k1);
	sets_configure(&copies->sets, service);
}

static void write_room(struct copies *copies, const struct service *service)
{
	uint64_t line[P4_LINE_WORDS];

	p4_service_line(service, ring_backends(service_ring(service)), line);
	cores_write_line(copies->cores, p4_slot(service), P4_LINE_ROOM, line[P4_LINE_ROOM]);
}

/* --- rows --------------------------------------------------------------------------------------------------------- */

static void write_list(struct copies *copies, const struct lists *lists, fl_row row)
{
	uint32_t first = (uint32_t)(row >> 32), words = p4_list_words(row);

	for (uint32_t i = 0; i < words && words <= P4_LISTS_WORDS - first; i++) {
		uint64_t word = p4_list_word(lists, row, i);

		if (copies->lists[first + i] == word)
			continue;
		copies->lists[first + i] = word;
		cores_write(copies->cores, "lists", first + i, word);
	}
}

static void write_row(struct copies *copies, struct copy *copy, const struct service *service, uint32_t bucket)
{
	const struct ring *ring = service_ring(service);
	fl_row row = ring_row(ring, bucket);

	if (lists_count(row) && row >> 32 < P4_LISTS_WORDS)
		write_list(copies, ring->listed->lists, row);
	cores_write(copies->cores, "ring", copy->region.base + bucket, p4_row(row, copy->ids));
	copy->rows[bucket] = row;
}

void copy_store(struct copies *copies, struct copy *copy, const struct service *service)
{
	const struct ring *ring = service_ring(service);

	if (copy->stored == ring->listed->stored)
		return;
	copy->stored = ring->listed->stored;
	for (uint32_t bucket = 0; bucket < copy->buckets; bucket++)
		if (copy->rows[bucket] != ring_row(ring, bucket))
			write_row(copies, copy, service, bucket);
}

/* --- the whole ---------------------------------------------------------------------------------------------------- */

static void forget(struct copy *copy)
{
	free(copy->lines);
	free(copy->places);
	free(copy->rows);
	*copy = (struct copy){0};
}

/* An empty copy of this shape, in a region of its own. */
static bool make(struct copies *copies, struct copy *out, uint32_t buckets, uint32_t ids)
{
	*out = (struct copy){.buckets = buckets, .ids = ids};
	out->lines = calloc(ids, sizeof(*out->lines));
	out->places = malloc(ids * sizeof(*out->places));
	out->rows = malloc(buckets * sizeof(*out->rows));
	if (!out->lines || !out->places || !out->rows || !regions_take(&copies->rows, buckets + ids, &out->region)) {
		forget(out);
		return false;
	}
	for (uint32_t id = 0; id < ids; id++)
		out->places[id] = P4_PLACES;
	return true;
}

/* Fills a region that no packet reads. Templates that the copy before has stay where they are. */
static bool fill(struct copies *copies, struct copy *copy, const struct copy *before, const struct service *service)
{
	const struct ring *ring = service_ring(service);
	const struct backends *backends = ring_backends(ring);

	for (uint32_t id = 0; id < copy->ids; id++) {
		const struct backend *line = &backends->rows[id];
		uint32_t place = id < before->ids ? before->places[id] : (uint32_t)P4_PLACES;

		if (backend_state(line) == BACKEND_ABSENT)
			cores_write(copies->cores, "ring", copy->region.base + copy->buckets + id, 0);
		else if (!write_backend(copies, copy, backends, (uint16_t)id,
					place == P4_PLACES ? NULL : &before->lines[id], place))
			return false;
	}
	for (uint32_t bucket = 0; bucket < copy->buckets; bucket++)
		write_row(copies, copy, service, bucket);
	copy->stored = ring->listed->stored;
	return true;
}

/* Gives back what the one has and the other does not use. No packet may be in its region. */
static void give_back(struct copies *copies, struct copy *copy, const struct copy *other)
{
	for (uint32_t id = 0; id < copy->ids; id++)
		if (copy->places[id] != P4_PLACES && (id >= other->ids || other->places[id] != copy->places[id]))
			retire(copies, copy->places[id]);
	regions_give(&copies->rows, &copy->region);
	forget(copy);
}

void copy_drop(struct copies *copies, struct copy *copy, const struct service *service)
{
	static const struct copy none;

	cores_write_line(copies->cores, p4_slot(service), P4_LINE_GENERATION, 0);
	sets_drop(&copies->sets, &copy->sets, service);
	give_back(copies, copy, &none);
	reclaim(copies);
}

/* Makes packets use the new copy, then frees the old one. False: there is no room for its arrays. */
static bool exchange(struct copies *copies, struct copy *copy, struct copy *fresh, const struct service *service)
{
	struct copy old = *copy;
	bool has_sets;

	fresh->sets = copy->sets;
	fresh->generation = ring_generation(service_ring(service));
	write_room(copies, service);
	cores_write_line(copies->cores, p4_slot(service), P4_LINE_REGION,
			 p4_region(fresh->region.base, fresh->buckets));
	has_sets = sets_put(&copies->sets, &fresh->sets, service);
	cores_write_line(copies->cores, p4_slot(service), P4_LINE_GENERATION, has_sets ? fresh->generation : 0);
	cores_settle(copies->cores);
	*copy = *fresh;
	give_back(copies, &old, copy);
	reclaim(copies);
	return has_sets;
}

bool copy_load(struct copies *copies, struct copy *copy, const struct service *service)
{
	static const struct copy none;
	const struct ring *ring = service_ring(service);
	uint32_t buckets = ring_buckets(ring), ids = ring_backends(ring)->size;
	bool goes_back = ring_generation(ring) < copy->generation, is_second = true, done;
	struct copy fresh;

	if (goes_back)
		cores_close(copies->cores);
	if (!make(copies, &fresh, buckets, ids)) {
		cores_close(copies->cores);
		copy_drop(copies, copy, service);
		is_second = false;
		done = make(copies, &fresh, buckets, ids);
	} else {
		done = true;
	}
	if (done && !fill(copies, &fresh, is_second ? copy : &none, service)) {
		done = false;
		give_back(copies, &fresh, copy);
	}
	if (done)
		done = exchange(copies, copy, &fresh, service);
	if (goes_back || !is_second)
		cores_open(copies->cores);
	return done;
}

bool copy_apply(struct copies *copies, struct copy *copy, const struct service *service, const struct delta *delta)
{
	const struct ring *ring = service_ring(service);

	if (ring_backends(ring)->size > copy->ids)
		return copy_load(copies, copy, service);
	for (uint32_t i = 0; i < delta->backends_count; i++)
		if (!change_backend(copies, copy, service, delta->backends[i].id))
			return false;
	write_room(copies, service);
	copy_store(copies, copy, service);
	if (!sets_put(&copies->sets, &copy->sets, service))
		return false;
	copy->generation = ring_generation(ring);
	cores_write_line(copies->cores, p4_slot(service), P4_LINE_GENERATION, copy->generation);
	reclaim(copies);
	return true;
}

bool copy_refresh(struct copies *copies, struct copy *copy, const struct service *service)
{
	const struct backends *backends = ring_backends(service_ring(service));

	if (backends->size > copy->ids)
		return copy_load(copies, copy, service);
	for (uint32_t i = 0; i < backends->count; i++)
		if (!change_backend(copies, copy, service, backends->list[i].id))
			return false;
	write_room(copies, service);
	copy_store(copies, copy, service);
	reclaim(copies);
	return true;
}
