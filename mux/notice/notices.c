/* SPDX-License-Identifier: Apache-2.0 */
#include "notice/notices.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "notice/batch.h"
#include "ring/backend.h"
#include "service/lookup.h"
#include "service/peers.h"
#include "service/tables.h"

enum { WORDS = (FL_BACKEND_MAX + 1) / 64 };

/* A service with owners that have lost buckets. */
struct losing {
	struct losing *next;
	uint16_t service;
	struct losses losses;
	struct removals removals;
	uint64_t refresh_ms;
};

struct notices {
	struct notices_options options;
	struct batch *first; /* by age */
	struct losing *losing;
	uint64_t tokens;    /* thousandths of a packet */
	uint64_t filled_ms; /* when tokens were last added */
	uint64_t results[NOTICE_RESULTS];
	uint64_t errors[NOTICE_ERRORS];
	uint64_t moves;
};

static uint64_t now_ms(const struct notices *notices)
{
	return notices->options.now_ms(notices->options.clock);
}

static uint32_t now(const struct notices *notices)
{
	return notices->options.now(notices->options.clock);
}

struct notices *notices_new(const struct notices_options *options)
{
	struct notices *notices = calloc(1, sizeof(*notices));

	if (!notices)
		return NULL;
	notices->options = *options;
	notices->tokens = NOTICES_BURST * 1000ULL;
	notices->filled_ms = now_ms(notices);
	return notices;
}

void notices_free(struct notices *notices)
{
	if (!notices)
		return;
	while (notices->first)
		notices_forget(notices, notices->first->service);
	while (notices->losing)
		notices_forget(notices, notices->losing->service);
	free(notices);
}

void notices_forget(struct notices *notices, uint16_t service)
{
	for (struct batch **at = &notices->first, *batch; (batch = *at);) {
		if (batch->service == service) {
			*at = batch->next;
			batch_free(batch);
		} else {
			at = &batch->next;
		}
	}
	for (struct losing **at = &notices->losing, *losing; (losing = *at);) {
		if (losing->service == service) {
			*at = losing->next;
			losses_free(&losing->losses);
			removals_free(&losing->removals);
			free(losing);
		} else {
			at = &losing->next;
		}
	}
}

/* --- sending ------------------------------------------------------------------------------------------------- */

static void fill_tokens(struct notices *notices, uint64_t at_ms)
{
	uint64_t most = NOTICES_BURST * 1000ULL, added = (at_ms - notices->filled_ms) * NOTICES_RATE;

	notices->tokens = added > most || notices->tokens + added > most ? most : notices->tokens + added;
	notices->filled_ms = at_ms;
}

static enum notice_result result_of(const struct batch *batch)
{
	return batch->pass ? NOTICE_REPEATED : batch->passes == 1 ? NOTICE_REFRESHED : NOTICE_SENT;
}

/* Sends from the cursor on until less than this is left of the tokens. Returns false if something is left to send. */
static bool send_batch(struct notices *notices, struct batch *batch, uint64_t reserved)
{
	uint8_t bytes[FL_NOTICE_MAX_LEN];
	struct fl_address to;

	while (!batch_is_over(batch)) {
		uint32_t count, len;
		int error;

		if (notices->tokens < (reserved + 1) * 1000)
			return false;
		len = batch_write(batch, notices->options.tag_key, bytes, &to, &count);
		error = notices->options.sink.send(notices->options.sink.context, &to, bytes, len);
		if (error == -EAGAIN)
			return false;
		notices->tokens -= 1000;
		if (error) {
			notices->errors[notice_error_of(error)]++;
		} else {
			notices->results[result_of(batch)]++;
			notices->moves += count;
		}
		batch_advance(batch);
	}
	return true;
}

/* After a whole pass: prepares the next one; false: there is none. */
static bool repeat(struct batch *batch, uint64_t at_ms)
{
	if (++batch->pass == batch->passes)
		return false;
	batch->at = 0;
	batch->offset = 0;
	batch->due_ms = at_ms + NOTICES_REPEAT_MS;
	return true;
}

static void send_due(struct notices *notices, uint64_t at_ms)
{
	for (struct batch **at = &notices->first, *batch; (batch = *at);) {
		if (batch->due_ms <= at_ms) {
			if (!send_batch(notices, batch, NOTICES_RESERVED))
				return;
			if (!repeat(batch, at_ms)) {
				*at = batch->next;
				batch_free(batch);
				continue;
			}
		}
		at = &batch->next;
	}
}

/* --- what to tell whom --------------------------------------------------------------------------------------- */

bool notices_tells(const struct notices *notices, const struct ring *ring, uint16_t id)
{
	const struct backends *backends = ring_backends(ring);
	const struct backend *line = backends_get(backends, id);
	struct fl_address address;

	/* A VIP or a mux is no server. */
	return line && backend_state(line) != BACKEND_LOOP && backends_address(backends, id, &address) &&
	       peers_tells(tables_lookup(notices->options.tables)->peers, &address, NOTICES_SENDERS);
}

/* Sets the bits of the backends that this mux tells. */
static void choose_told(const struct notices *notices, const struct ring *ring, uint64_t told[WORDS])
{
	const struct backends *backends = ring_backends(ring);

	memset(told, 0, WORDS * sizeof(*told));
	for (uint32_t i = 0; i < backends->count; i++)
		if (notices_tells(notices, ring, backends->list[i].id))
			told[backends->list[i].id / 64] |= 1ULL << backends->list[i].id % 64;
}

static void append(struct notices *notices, struct batch *batch)
{
	struct batch **at = &notices->first;

	while (*at)
		at = &(*at)->next;
	*at = batch;
}

static uint64_t held_buckets(const struct notices *notices)
{
	uint64_t sum = 0;

	for (const struct batch *batch = notices->first; batch; batch = batch->next)
		sum += batch->plan.buckets_count;
	return sum;
}

/* Makes room for so many buckets: repetitions go first. Returns false if there is none. */
static bool make_room(struct notices *notices, uint32_t buckets)
{
	for (struct batch *batch = notices->first; batch; batch = batch->next) {
		if (held_buckets(notices) + buckets <= NOTICES_HELD_BUCKETS)
			return true;
		if (batch->pass)
			notices->results[NOTICE_LIMITED] += batch_drop_moves(batch);
	}
	return held_buckets(notices) + buckets <= NOTICES_HELD_BUCKETS;
}

/* Takes over the plan; sends what the burst allows. */
static void start(struct notices *notices, uint16_t service, struct notice_plan *plan, const struct backends *backends,
		  uint32_t passes, uint64_t reserved)
{
	struct batch *batch;
	uint64_t at_ms = now_ms(notices);

	if (!plan->losers_count && !(plan->removals.count && plan->told_count)) {
		notice_plan_free(plan);
		return;
	}
	batch = batch_new(service, plan, backends);
	if (!batch) {
		notices->errors[NOTICE_NO_MEMORY]++;
		return;
	}
	batch->passes = passes;
	if (!make_room(notices, batch->plan.buckets_count))
		notices->results[NOTICE_LIMITED] += batch_drop_moves(batch);
	fill_tokens(notices, at_ms);
	if (send_batch(notices, batch, reserved) && !repeat(batch, at_ms))
		batch_free(batch);
	else
		append(notices, batch);
}

static struct losing *find_losing(const struct notices *notices, uint16_t service)
{
	struct losing *losing = notices->losing;

	while (losing && losing->service != service)
		losing = losing->next;
	return losing;
}

/* All losses and removals, this change's included; NULL: no memory. */
static const struct losing *note_change(struct notices *notices, const struct service *service,
					const struct losses_change *change)
{
	struct losing *losing = find_losing(notices, service->id);
	bool is_noted = true;

	if (!losing) {
		losing = calloc(1, sizeof(*losing));
		if (losing) {
			*losing = (struct losing){.next = notices->losing, .service = service->id};
			/* A mux that has just loaded its first ring tells the generation at once. */
			losing->refresh_ms = now_ms(notices) + (service_ring(service) ? NOTICES_REFRESH_MS : 0);
			notices->losing = losing;
		}
	}
	if (losing) {
		is_noted = !losses_note(&losing->losses, change, now(notices), service_owner_seconds(service));
		is_noted &=
		    !removals_note(&losing->removals, change->delta, now(notices), service_owner_seconds(service));
	}
	if (!losing || !is_noted)
		notices->errors[NOTICE_NO_MEMORY]++;
	return losing;
}

/* Clears the bits of the dead: they are told nothing. */
static void leave_out_dead(uint64_t told[WORDS], const struct fl_delta_backend *list, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++)
		if (removal_is_of(&list[i]))
			told[list[i].id / 64] &= ~(1ULL << list[i].id % 64);
}

void notices_before(struct notices *notices, const struct service *service, const struct delta *change, bool all_lose)
{
	const struct losses_change losing_change = {change, all_lose || service->encap->has_lists,
						    service_ring(service)};
	const struct ring *ring = losing_change.ring;
	struct notice_scope scope = {
	    .has_moves = service->encap->has_bucket,
	    .now = now(notices),
	    .moved_seconds = service->moved_seconds,
	    .owner_seconds = service_owner_seconds(service),
	};
	const struct losing *losing = note_change(notices, service, &losing_change);
	uint64_t told[WORDS];
	struct notice_plan plan;

	if (!ring)
		return;
	if (losing)
		scope.losses = losing->losses;
	choose_told(notices, ring, told);
	leave_out_dead(told, ring_backends(ring)->list, ring_backends(ring)->count);
	leave_out_dead(told, change->backends, change->backends_count);
	scope.told = told;
	if (notice_plan_make(&plan, ring, change, &scope)) {
		notices->errors[NOTICE_NO_MEMORY]++;
		return;
	}
	if (losing && scope.has_moves && notice_plan_add_removals(&plan, &losing->removals, change->generation, told))
		notices->errors[NOTICE_NO_MEMORY]++;
	start(notices, service->id, &plan, ring_backends(ring), 2, 0);
}

static bool waits_for_refresh(const struct notices *notices, uint16_t service)
{
	for (const struct batch *batch = notices->first; batch; batch = batch->next)
		if (batch->service == service && batch->passes == 1)
			return true;
	return false;
}

/* Tells the generation, and the removals that are not over, to the owners whose loss is within window and hold. */
static void refresh(struct notices *notices, struct losing *losing)
{
	const struct service *service = tables_find_id(notices->options.tables, losing->service);
	const struct ring *ring = service ? service_ring(service) : NULL;
	struct notice_plan plan = {.generation = ring ? ring_generation(ring) : 0};
	static const struct delta nothing;
	uint64_t told[WORDS] = {0};

	if (!ring || waits_for_refresh(notices, losing->service))
		return;
	plan.losers = malloc((losing->losses.count + !losing->losses.count) * sizeof(*plan.losers));
	if (!plan.losers) {
		notices->errors[NOTICE_NO_MEMORY]++;
		return;
	}
	for (uint32_t i = 0; i < losing->losses.count; i++) {
		const struct notice_owner *owner = &losing->losses.list[i];

		if (losses_is_open(owner, now(notices), service_owner_seconds(service)) &&
		    notices_tells(notices, ring, owner->id)) {
			plan.losers[plan.losers_count++] = owner->id;
			told[owner->id / 64] |= 1ULL << owner->id % 64;
		}
	}
	leave_out_dead(told, ring_backends(ring)->list, ring_backends(ring)->count);
	if (removals_note(&losing->removals, &nothing, now(notices), service_owner_seconds(service)) ||
	    (service->encap->has_bucket && notice_plan_add_removals(&plan, &losing->removals, 0, told)))
		notices->errors[NOTICE_NO_MEMORY]++;
	start(notices, losing->service, &plan, ring_backends(ring), 1, NOTICES_RESERVED);
}

void notices_run(struct notices *notices)
{
	uint64_t at_ms = now_ms(notices);

	fill_tokens(notices, at_ms);
	send_due(notices, at_ms);
	for (struct losing *losing = notices->losing; losing; losing = losing->next) {
		if (losing->refresh_ms > at_ms)
			continue;
		losing->refresh_ms = at_ms + NOTICES_REFRESH_MS;
		refresh(notices, losing);
	}
}

/* --- the present state --------------------------------------------------------------------------------------- */

uint64_t notices_deadline(const struct notices *notices)
{
	uint64_t at = UINT64_MAX, soon = notices->filled_ms + NOTICES_PAUSE_MS;

	for (const struct batch *batch = notices->first; batch; batch = batch->next) {
		uint64_t due = batch->due_ms > soon ? batch->due_ms : soon;

		if (due < at)
			at = due;
	}
	for (const struct losing *losing = notices->losing; losing; losing = losing->next)
		if (losing->refresh_ms < at)
			at = losing->refresh_ms;
	return at;
}

uint64_t notices_count(const struct notices *notices, enum notice_result result)
{
	return notices->results[result];
}

uint64_t notices_errors(const struct notices *notices, enum notice_error error)
{
	return notices->errors[error];
}

uint64_t notices_moves(const struct notices *notices)
{
	return notices->moves;
}

uint64_t notices_waiting(const struct notices *notices, uint16_t service)
{
	uint64_t sum = 0;

	for (const struct batch *batch = notices->first; batch; batch = batch->next)
		if (!service || batch->service == service)
			sum += batch_left(batch);
	return sum;
}

const struct notice_owner *notices_owners(const struct notices *notices, uint16_t service, uint32_t *count)
{
	const struct losing *losing = find_losing(notices, service);

	*count = losing ? losing->losses.count : 0;
	return losing ? losing->losses.list : NULL;
}
