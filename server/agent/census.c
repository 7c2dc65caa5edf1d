// SPDX-License-Identifier: Apache-2.0
#include "census.h"

#include "aging.h"

#include <stdlib.h>
#include <string.h>

struct census *census_new(const struct fl_siphash_key *seed)
{
	struct census *census = calloc(1, sizeof(*census));

	if (!census)
		return NULL;
	census->seed = *seed;
	census->table = connections_new(seed);
	if (!census->table) {
		free(census);
		return NULL;
	}
	return census;
}

static void free_tallies(struct tally *tallies, size_t count)
{
	for (size_t i = 0; tallies && i < count; i++) {
		question_end(&tallies[i].question);
		told_end_part(&tallies[i].told);
	}
	free(tallies);
}

void census_free(struct census *census)
{
	if (!census)
		return;
	free_tallies(census->tallies, census->services ? census->services->count : 0);
	services_free(census->services);
	connections_free(census->table);
	free(census);
}

bool census_knows(const struct census *census, size_t service)
{
	return census->tallies[service].dumped && !census->lost && !census->out_of_memory &&
	       !census->services->list[service].ambiguous;
}

static fl_u16 service_of(const struct census *census, const struct connection_key *key)
{
	return census->services->endpoints[key->endpoint].service;
}

/* False: the socket is none of a service. */
static bool key_of(const struct census *census, const struct socket_name *name, struct connection_key *key)
{
	unsigned endpoint = census->services ? services_endpoint(census->services, &name->local, name->local_port)
					     : SERVICES_NO_ENDPOINT;

	*key = (struct connection_key){name->remote, name->remote_port, name->local_port, (fl_u16)endpoint};
	return endpoint != SERVICES_NO_ENDPOINT;
}

struct socket_name census_name(const struct census *census, const struct connection_key *key)
{
	return (struct socket_name){census->services->endpoints[key->endpoint].local, key->remote, key->local_port,
				    key->remote_port};
}

/* Without memory for a connection nothing is known, until a complete dump finds room. */
static struct connection *add(struct census *census, const struct connection_key *key)
{
	const struct endpoint *endpoint = &census->services->endpoints[key->endpoint];
	struct connection *added = connections_add(census->table, key);

	if (!added) {
		census->out_of_memory = true;
		census->dumped_ns = 0;
		return NULL;
	}
	added->mark = census->mark;
	added->flow_hash =
	    (fl_u32)services_flow_hash(census->services, endpoint, &key->remote, key->remote_port, key->local_port);
	return added;
}

static void count_open(struct tally *tally)
{
	tally->established++;
	tally->numbers[TALLY_OPENED].all++;
}

static void count_close(struct tally *tally)
{
	tally->established--;
	tally->numbers[TALLY_CLOSED].all++;
}

/* A closed connection's addresses and ports are in use again. If it was reported, it still is: no new report is needed. */
static void revive(const struct census *census, struct connection *found)
{
	fl_u16 service = census->services->endpoints[found->endpoint].service;

	found->state = CONNECTION_LIVE;
	if (found->told)
		census->tallies[service].told.closed--;
}

/* A connection that was told has closed: whether it stays in the table until its end is told. */
static bool keeps(struct told *told)
{
	if (told->closed < TOLD_CLOSED_MAX) {
		told->closed++;
		return true;
	}
	told->is_over = true;
	return false;
}

/* A live connection has closed. It stays while a dump may list it, or if its end is to be told. */
static void end(struct census *census, struct connection *found)
{
	struct tally *tally = &census->tallies[census->services->endpoints[found->endpoint].service];

	count_close(tally);
	found->state = CONNECTION_CLOSED;
	found->mark = census->mark;
	if (found->told)
		found->told = keeps(&tally->told);
	if (!census->dumping && !found->told)
		connections_remove(census->table, found);
}

/* A connection that is live from now on. NULL: it was before, or there is no memory. */
static struct connection *enliven(struct census *census, const struct connection_key *key, struct connection *found)
{
	if (!found)
		return add(census, key);
	found->mark = census->mark;
	if (found->state == CONNECTION_LIVE)
		return NULL;
	revive(census, found);
	return found;
}

static fl_u8 age_since(const struct census *census, fl_u16 service, fl_u64 ns)
{
	return aging_since(&census->services->list[service], census->tallies[service].step, ns);
}

void census_open(struct census *census, const struct socket_name *name, fl_u64 opened_ns)
{
	struct connection_key key;
	struct connection *found;

	if (!key_of(census, name, &key))
		return;
	found = enliven(census, &key, connections_find(census->table, &key));
	if (!found)
		return;
	if (!found->told)
		found->age = age_since(census, service_of(census, &key), opened_ns);
	count_open(&census->tallies[service_of(census, &key)]);
}

void census_close(struct census *census, const struct socket_name *name)
{
	struct connection_key key;
	struct connection *found;

	if (!key_of(census, name, &key))
		return;
	found = connections_find(census->table, &key);
	if (found && found->state == CONNECTION_LIVE) {
		end(census, found);
		return;
	}
	if (!census->dumping)
		return;
	if (!found)
		found = add(census, &key);
	if (found) {
		found->state = CONNECTION_CLOSED;
		found->mark = census->mark;
	}
}

void census_lose(struct census *census)
{
	census->lost = true;
	census->dumped_ns = 0;
}

/* Removes what was closed while the dump was under way, unless that is still to be told. */
static void forget_closed(struct census *census)
{
	struct connection *slots = census->table->slots;
	size_t i = 0;

	while (i <= census->table->mask) {
		if (slots[i].state == CONNECTION_CLOSED && !slots[i].told)
			connections_remove(census->table, &slots[i]);
		else
			i++;
	}
}

void census_dump_begin(struct census *census, fl_u64 now_ns)
{
	census->dumping = true;
	census->begun_ns = now_ns;
	census->mark++;
	census->out_of_memory = false;
}

bool census_needs_dump(const struct census *census)
{
	if (census->lost || census->out_of_memory)
		return true;
	for (size_t i = 0; census->services && i < census->services->count; i++)
		if (!census->tallies[i].dumped)
			return true;
	return false;
}

/* It opened since the last dump, or it is unknown when. */
static fl_u8 age_found(const struct census *census, fl_u16 service)
{
	if (!census->tallies[service].dumped || !census->dumped_ns)
		return AGING_OLD;
	return age_since(census, service, census->dumped_ns);
}

void census_record(struct census *census, const struct socket_name *name)
{
	struct connection_key key;
	struct connection *found;
	struct tally *tally;

	if (!key_of(census, name, &key))
		return;
	found = connections_find(census->table, &key);
	if (found && found->mark == census->mark)
		return; /* an event came first */
	tally = &census->tallies[service_of(census, &key)];
	found = enliven(census, &key, found); /* it may have closed before the dump */
	if (!found)
		return;
	if (!found->told)
		found->age = age_found(census, service_of(census, &key));
	tally->established++;
	if (tally->dumped) /* else it was there before the agent looked */
		tally->numbers[TALLY_OPENED].all++;
}

size_t census_missing(struct census *census, struct connection_key *keys, size_t max)
{
	const struct connection *slots = census->table->slots;
	size_t found = 0;

	for (size_t i = 0; i <= census->table->mask && found < max; i++)
		if (slots[i].state == CONNECTION_LIVE && slots[i].mark != census->mark)
			keys[found++] = connection_key(&slots[i]);
	return found;
}

void census_settle(struct census *census, const struct connection_key *key, bool exists)
{
	struct connection *found = connections_find(census->table, key);

	if (!found || found->state != CONNECTION_LIVE || found->mark == census->mark)
		return; /* an event came first */
	if (exists) {
		found->mark = census->mark;
		return;
	}
	end(census, found);
}

void census_dump_end(struct census *census, bool complete)
{
	census->dumping = false;
	forget_closed(census);
	if (!complete || census->out_of_memory)
		return;
	census->lost = false;
	census->dumped_ns = census->begun_ns;
	for (size_t i = 0; census->services && i < census->services->count; i++)
		census->tallies[i].dumped = true;
}

/* Makes connections older, each by what its service says. */
static void age(struct census *census)
{
	const struct endpoint *endpoints = census->services->endpoints;
	struct connection *slots = census->table->slots;

	for (size_t i = 0; i <= census->table->mask; i++) {
		fl_u8 steps, left;

		if (slots[i].state != CONNECTION_LIVE || slots[i].age == AGING_OLD)
			continue;
		steps = census->tallies[endpoints[slots[i].endpoint].service].steps_due;
		left = AGING_OLD - slots[i].age;
		slots[i].age += steps < left ? steps : left;
	}
}

void census_age(struct census *census, fl_u64 now_ns)
{
	const struct services *services = census->services;
	bool any = false;

	for (size_t i = 0; services && i < services->count; i++) {
		struct tally *tally = &census->tallies[i];
		fl_u64 step, due;

		tally->steps_due = 0;
		if (!services->list[i].age_seconds)
			continue;
		step = aging_step_at(&services->list[i], now_ns);
		due = tally->is_aging ? step - tally->step : 0;
		tally->steps_due = due < AGING_OLD ? (fl_u8)due : AGING_OLD;
		tally->step = step;
		tally->is_aging = true;
		any |= tally->steps_due != 0;
	}
	if (any)
		age(census);
}

void census_sweep_begin(struct census *census)
{
	for (size_t i = 0; census->services && i < census->services->count; i++) {
		struct tally *tally = &census->tallies[i];

		tally->was_full = tally->is_full;
		tally->is_full = false;
		tally->half_open = tally->listeners = tally->queue_length = tally->queue_limit = tally->drops = 0;
		question_sweep(&tally->question);
	}
}

void census_half_open(struct census *census, const struct socket_name *name)
{
	const struct endpoint *endpoint;
	struct connection_key key;
	struct tally *tally;

	if (!key_of(census, name, &key))
		return;
	endpoint = &census->services->endpoints[key.endpoint];
	tally = &census->tallies[endpoint->service];
	tally->half_open++;
	if (tally->question.buckets && endpoint->has_bucket)
		question_half_open(
		    &tally->question,
		    services_flow_hash(census->services, endpoint, &key.remote, key.remote_port, key.local_port),
		    census->services->list[endpoint->service].two_buckets);
}

void census_listener(struct census *census, const struct listener *listener)
{
	const struct services *services = census->services;

	census->listener++;
	for (size_t i = 0; services && i < services->endpoint_count; i++) {
		struct tally *tally = &census->tallies[services->endpoints[i].service];

		/* once for each service, which may have several VIPs */
		if (tally->last_listener == census->listener ||
		    !services_listens(&services->endpoints[i], &listener->local, listener->port, listener->ipv6_only))
			continue;
		tally->last_listener = census->listener;
		tally->listeners++;
		tally->queue_length += listener->length;
		tally->queue_limit += listener->limit;
		tally->drops += listener->drops;
		tally->is_full |= listener->length >= listener->limit;
	}
}

void census_sweep_end(struct census *census)
{
	for (size_t i = 0; census->services && i < census->services->count; i++) {
		struct tally *tally = &census->tallies[i];

		/* fewer than before: a listener has closed, and what the others dropped meanwhile is not known */
		if (tally->has_drops && (tally->is_full || tally->was_full) && tally->drops > tally->drops_before)
			tally->signals.counts[SIGNAL_REFUSED] += tally->drops - tally->drops_before;
		tally->drops_before = tally->drops;
		tally->has_drops = true;
	}
}

void census_signals(struct census *census, const struct fl_address *local, fl_u16 port,
		    const struct agent_counts *counts)
{
	unsigned endpoint = census->services ? services_endpoint(census->services, local, port) : SERVICES_NO_ENDPOINT;
	struct agent_counts *total;

	if (endpoint == SERVICES_NO_ENDPOINT)
		return;
	total = &census->tallies[census->services->endpoints[endpoint].service].signals;
	for (int signal = 0; signal < AGENT_SIGNALS; signal++)
		total->counts[signal] += counts->counts[signal];
}

/* The same service, so that what is known of it stays valid. */
static bool is_same(const struct service *one, const struct service *other)
{
	return one->id == other->id && !strcmp(one->name, other->name) && one->buckets == other->buckets &&
	       one->hash == other->hash && one->key.k0 == other->key.k0 && one->key.k1 == other->key.k1 &&
	       one->by_client == other->by_client && one->ambiguous == other->ambiguous &&
	       one->two_buckets == other->two_buckets;
}

/* All endpoints of the new service were the old one's. */
static bool had_all(const struct services *old, size_t old_service, const struct services *new, size_t new_service)
{
	for (size_t i = 0; i < new->endpoint_count; i++) {
		const struct endpoint *endpoint = &new->endpoints[i], *had;
		unsigned place;

		if (endpoint->service != new_service)
			continue;
		place = services_endpoint(old, &endpoint->local, endpoint->first);
		if (place == SERVICES_NO_ENDPOINT)
			return false;
		had = &old->endpoints[place];
		if (had->service != old_service || had->last < endpoint->last ||
		    had->has_bucket != endpoint->has_bucket || !fl_address_equal(&had->vip, &endpoint->vip))
			return false;
	}
	return true;
}

/* Ages, and what was told of the service's connections, stay valid. */
static bool is_told_on(const struct services *old, const struct services *new, size_t new_service)
{
	const struct service *found = old ? services_find(old, new->list[new_service].name) : NULL;
	size_t place = found ? (size_t)(found - old->list) : 0;

	return found && is_same(found, &new->list[new_service]) &&
	       found->age_seconds == new->list[new_service].age_seconds &&had_all(old, place, new, new_service) &&
	       had_all(new, new_service, old, place);
}

/* Moves what is known of the services that remain; tallies of the old ones that were moved are emptied. */
static void move_tallies(struct census *census, const struct services *new, struct tally *tallies)
{
	for (size_t i = 0; i < new->count; i++) {
		const struct services *old = census->services;
		const struct service *found = old ? services_find(old, new->list[i].name) : NULL;
		size_t place = found ? (size_t)(found - old->list) : 0;
		fl_u64 established;
		bool is_on;

		if (!found || !is_same(found, &new->list[i]))
			continue;
		established = tallies[i].established;
		is_on = tallies[i].is_aging;
		tallies[i] = census->tallies[place];
		tallies[i].established = established; /* counted with the new table */
		tallies[i].has_drops = false;         /* other listeners may be its own now */
		census->tallies[place].question = (struct question){0};
		if (is_on) {
			census->tallies[place].told = (struct told){0};
		} else {
			tallies[i].told = (struct told){0};
			tallies[i].is_aging = false;
		}
		tallies[i].dumped &= had_all(old, place, new, i);
	}
}

/*
 * Copies the live connections that are still a service's, and those whose end is to be told. is_aging is set where ages
 * and what was told stay valid.
 */
static bool move_table(const struct census *census, const struct services *new, struct tally *tallies,
		       struct connections *table)
{
	struct connection *slots = census->table->slots;

	for (size_t i = 0; i < new->count; i++)
		tallies[i].is_aging = is_told_on(census->services, new, i);
	for (size_t i = 0; i <= census->table->mask; i++) {
		struct socket_name name;
		struct connection *added;
		struct connection_key key;
		struct tally *tally;
		unsigned endpoint;

		if (slots[i].state != CONNECTION_LIVE && !slots[i].told)
			continue;
		key = connection_key(&slots[i]);
		name = census_name(census, &key);
		endpoint = services_endpoint(new, &name.local, name.local_port);
		if (endpoint == SERVICES_NO_ENDPOINT)
			continue;
		tally = &tallies[new->endpoints[endpoint].service];
		if (slots[i].state != CONNECTION_LIVE && !tally->is_aging)
			continue;
		key.endpoint = (fl_u16)endpoint;
		added = connections_add(table, &key);
		if (!added)
			return false;
		added->mark = slots[i].mark;
		added->state = slots[i].state;
		added->told = slots[i].told && tally->is_aging;
		added->age = tally->is_aging ? slots[i].age : AGING_OLD;
		added->flow_hash = (fl_u32)services_flow_hash(new, &new->endpoints[endpoint], &key.remote,
							      key.remote_port, key.local_port);
		tally->established += slots[i].state == CONNECTION_LIVE;
	}
	return true;
}

bool census_serve(struct census *census, struct services *services)
{
	struct tally *tallies = calloc(services->count + 1, sizeof(*tallies));
	struct connections *table = connections_new(&census->seed);

	if (!tallies || !table || !move_table(census, services, tallies, table)) {
		free(tallies);
		connections_free(table);
		services_free(services);
		return false;
	}
	move_tallies(census, services, tallies);
	free_tallies(census->tallies, census->services ? census->services->count : 0);
	services_free(census->services);
	connections_free(census->table);
	census->services = services;
	census->tallies = tallies;
	census->table = table;
	census->dumping = false;
	return true;
}
