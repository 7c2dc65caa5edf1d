// SPDX-License-Identifier: Apache-2.0
#include "parts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "aging.h"
#include "clock.h"
#include "shared.h"

static bool hashes_add(struct hashes *hashes, fl_u64 hash)
{
	if (hashes->count == hashes->room) {
		size_t room = hashes->room ? 2 * hashes->room : 64;
		fl_u8 *grown = realloc(hashes->bytes, 8 * room);

		if (!grown)
			return false;
		hashes->bytes = grown;
		hashes->room = room;
	}
	fl_store_le64(hashes->bytes + 8 * hashes->count++, hash);
	return true;
}

/* The connection counts as not told. False: its slot has another entry now, or none. */
static bool untell(struct census *census, struct connection *connection)
{
	connection->told = 0;
	if (connection->state == CONNECTION_LIVE)
		return true;
	census->tallies[census->services->endpoints[connection->endpoint].service].told.closed--;
	if (census->dumping)
		return true; /* which removes it at its end */
	connections_remove(census->table, connection);
	return false;
}

/* Begins a whole set: none of the service's connections counts as told. */
static void begin(struct census *census, size_t service)
{
	const struct endpoint *endpoints = census->services->endpoints;
	struct told *told = &census->tallies[service].told;
	struct connection *slots = census->table->slots;
	size_t i = 0;

	while (i <= census->table->mask)
		i += !slots[i].told || endpoints[slots[i].endpoint].service != service || untell(census, &slots[i]);
	told_end_part(told);
	told->is_whole = told->has_more = true;
	told->is_begun = told->is_over = false;
}

static bool is_shared(const struct service *service)
{
	return service->by_client || service->hash == FL_HASH_CRC32;
}

static fl_u64 hash_of(const struct census *census, const struct connection *connection)
{
	const struct services *services = census->services;

	return services_flow_hash(services, &services->endpoints[connection->endpoint], &connection->remote,
				  connection->remote_port, connection->local_port);
}

/*
 * Takes out of the part what it tells as closed and a live connection still has. Without memory nothing can be said
 * about the closed ones, but by a whole set.
 */
static void take_over(struct census *census, size_t service)
{
	const struct endpoint *endpoints = census->services->endpoints;
	struct told *told = &census->tallies[service].told;
	struct shared *closed = shared_new(told->part.closed.bytes, told->part.closed.count);
	struct connection *slots = census->table->slots;

	if (!closed) {
		told->part.closed.count = 0;
		told->is_over = true;
		told->part.last = false;
		return;
	}
	for (size_t i = 0; i <= census->table->mask; i++)
		if (slots[i].state == CONNECTION_LIVE && endpoints[slots[i].endpoint].service == service &&
		    endpoints[slots[i].endpoint].has_bucket && shared_may_have(closed, slots[i].flow_hash) &&
		    shared_take(closed, hash_of(census, &slots[i])))
			slots[i].told = 1;
	told->part.closed.count = shared_end(closed, told->part.closed.bytes);
}

/* The part's list that the connection belongs to; NULL: nothing is to be told of it. */
static struct hashes *list_of(struct part *part, const struct connection *connection, const struct endpoint *endpoint)
{
	if (connection->state == CONNECTION_LIVE && !connection->told && connection->age == AGING_OLD &&
	    endpoint->has_bucket)
		return &part->opened;
	if (connection->state == CONNECTION_CLOSED && connection->told && !part->whole)
		return &part->closed;
	return NULL;
}

/* Puts the connection into the part if it belongs there and there is room. False: its slot has another entry now. */
static bool draw_one(struct census *census, struct connection *connection, size_t *room)
{
	const struct endpoint *endpoint = &census->services->endpoints[connection->endpoint];
	struct told *told = &census->tallies[endpoint->service].told;
	struct hashes *list = told->is_drawn ? list_of(&told->part, connection, endpoint) : NULL;

	if (!list)
		return true;
	if (!*room || list->count == TOLD_PART_MAX || !hashes_add(list, hash_of(census, connection))) {
		told->part.last = false;
		return true;
	}
	--*room;
	if (connection->state == CONNECTION_CLOSED)
		return untell(census, connection);
	connection->told = 1;
	return true;
}

static bool is_due(struct census *census, size_t service, fl_u64 now_ns)
{
	const struct told *told = &census->tallies[service].told;

	return told->memory[0] && !told->has_part && now_ns >= told->retry_ns && census_knows(census, service);
}

static void part_begin(struct census *census, size_t service)
{
	struct told *told = &census->tallies[service].told;

	if (told->is_over) {
		told->overs++;
		fprintf(stderr,
			"fairlead-server: agent: service %s: more than %u connections closed before a controller heard "
			"of it: all are reported again (%llu times by now)\n",
			census->services->list[service].name, TOLD_CLOSED_MAX, (unsigned long long)told->overs);
		begin(census, service);
	}
	told->part = (struct part){.whole = told->is_whole, .first = told->is_whole && !told->is_begun, .last = true};
	memcpy(told->part.mark, told->mark, sizeof(told->part.mark));
}

void parts_draw(struct census *census, fl_u64 now_ns)
{
	const struct services *services = census->services;
	struct connection *slots = census->table->slots;
	size_t room = TOLD_REPORT_MAX, i;
	bool any = false;

	for (i = 0; i < services->count; i++) {
		struct told *told = &census->tallies[i].told;

		room -= told->part.opened.count + told->part.closed.count;
		told->is_sent = false;
		told->is_drawn = is_due(census, i, now_ns);
		any |= told->is_drawn;
		if (told->is_drawn)
			part_begin(census, i);
	}
	for (i = 0; any && i <= census->table->mask;)
		i += slots[i].state == CONNECTION_NONE || draw_one(census, &slots[i], &room);
	for (i = 0; any && i < services->count; i++) {
		struct told *told = &census->tallies[i].told;

		if (!told->is_drawn)
			continue;
		if (told->part.closed.count && is_shared(&services->list[i]))
			take_over(census, i);
		told->has_part = told->is_begun = true;
	}
}

static void refuse(struct told *told, const char *name, const char *why, fl_u64 now_ns, fl_u32 random)
{
	told->refusals++;
	told->pace.controllers = 1;
	told->retry_ns = now_ns + pace_failed(&told->pace, random) * MS_NS;
	if (strcmp(told->why, why))
		fprintf(
		    stderr,
		    "fairlead-server: agent: service %s: a controller refuses its connections: %s; tried again, from "
		    "1 s to every 30 s (refusal %llu)\n",
		    name, why, (unsigned long long)told->refusals);
	snprintf(told->why, sizeof(told->why), "%s", why);
}

static void accept(struct told *told, const char *name)
{
	if (told->why[0])
		fprintf(
		    stderr,
		    "fairlead-server: agent: service %s: its connections are accepted again (after %llu refusals)\n",
		    name, (unsigned long long)told->refusals);
	told->why[0] = '\0';
	told->pace.failures = 0;
}

static void part_answered(struct told *told, const char *name)
{
	if (!told->has_part || !told->is_sent)
		return;
	told->has_more = !told->part.last;
	if (told->part.last)
		told->is_whole = false;
	told_end_part(told);
	if (!told->is_whole)
		accept(told, name);
}

void parts_answered(struct census *census, size_t service, const struct told_answer *answer, fl_u64 now_ns,
		    fl_u32 random)
{
	const char *name = census->services->list[service].name;
	struct told *told = &census->tallies[service].told;
	bool is_other = strcmp(told->memory, answer ? answer->memory : "") != 0;
	bool is_refused = answer && answer->refused[0];

	snprintf(told->memory, sizeof(told->memory), "%s", answer ? answer->memory : "");
	snprintf(told->mark, sizeof(told->mark), "%s", answer ? answer->mark : "");
	if (is_refused)
		refuse(told, name, answer->refused, now_ns, random);
	if (is_other || is_refused)
		begin(census, service);
	else
		part_answered(told, name);
}

bool parts_hurry(const struct census *census, fl_u64 now_ns)
{
	const struct services *services = census->services;

	for (size_t i = 0; services && i < services->count; i++) {
		const struct told *told = &census->tallies[i].told;

		if (told->memory[0] && now_ns >= told->retry_ns && census_knows(census, i) &&
		    (told->has_more || told->is_over || told->closed >= TOLD_HURRY))
			return true;
	}
	return false;
}
