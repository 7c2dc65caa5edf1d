/* SPDX-License-Identifier: Apache-2.0 */
#include "world.h"

#include <string.h>

#include <fairlead/ring.h>
#include <fairlead/verdict.h>

enum { NOW = 1000 * WORLD_TICK, WINDOW = WORLD_WINDOW * WORLD_TICK, FIRST_GENERATION = 1, SETTLE_PACKETS = 8 };

static struct fl_address address(uint8_t server)
{
	const uint8_t ipv4[4] = {10, 0, 0, (uint8_t)(server + 1)};

	return server == WORLD_NONE ? (struct fl_address){{0}} : fl_address_from_ipv4(ipv4);
}

static uint8_t server_at(const struct fl_address *at)
{
	return fl_address_is_none(at) ? WORLD_NONE : (uint8_t)(at->bytes[15] - 1);
}

static uint32_t since(uint8_t age)
{
	return NOW - age * WORLD_TICK;
}

static uint8_t age_of(uint32_t since)
{
	return (uint8_t)((NOW - since) / WORLD_TICK);
}

struct world world_first(void)
{
	struct world world;

	memset(&world, 0, sizeof(world));
	world.home = WORLD_NONE;
	for (unsigned s = 0; s < WORLD_SERVERS; s++)
		world.server[s].previous = WORLD_NONE;
	return world;
}

static uint8_t generation_at(const struct world *world, uint8_t mux)
{
	return mux == WORLD_LATE ? world->late : world->moves;
}

unsigned world_steps(const struct world_setting *setting, const struct world *world,
		     struct world_step steps[WORLD_STEPS_MAX])
{
	bool is_late = world->late < world->moves;
	uint8_t used = 0;
	unsigned n = 0;

	for (unsigned g = 0; g <= world->moves; g++)
		if (world->owner[g] > used)
			used = world->owner[g];
	steps[n++] = (struct world_step){WORLD_TIME, 0};
	/* servers that never owned the bucket are alike: only the first of them is tried */
	for (uint8_t s = 0; world->moves < setting->moves && s < WORLD_SERVERS && s <= used + 1; s++)
		if (s != world->owner[world->moves])
			steps[n++] = (struct world_step){WORLD_MOVE, s};
	if (is_late)
		steps[n++] = (struct world_step){WORLD_CATCH_UP, 0};
	for (uint8_t mux = WORLD_CURRENT; mux <= (is_late ? WORLD_LATE : WORLD_CURRENT); mux++) {
		steps[n++] = (struct world_step){WORLD_PACKET, mux};
		steps[n++] = (struct world_step){WORLD_OTHER, mux};
	}
	for (uint8_t s = 0; s <= used; s++)
		if (world->server[s].seen < world->moves + FIRST_GENERATION)
			steps[n++] = (struct world_step){WORLD_NEWS, s};
	if (world->home != WORLD_NONE)
		steps[n++] = (struct world_step){WORLD_SETTLE, 0};
	return n;
}

/* The header that a mux writes, by its row of the bucket. */
static struct fl_steer header(const struct world *world, uint8_t generation)
{
	struct fl_steer steer = {.service = 1, .generation = generation + FIRST_GENERATION};
	fl_row row = generation
			 ? fl_row_make((uint16_t)(world->owner[generation] + 1),
				       (uint16_t)(world->owner[generation - 1] + 1), since(world->age[generation]))
			 : fl_row_make((uint16_t)(world->owner[0] + 1), FL_BACKEND_NONE, 0);

	if (fl_row_is_moved(row, NOW, WINDOW)) {
		steer.flags = FL_STEER_MOVED;
		steer.since = fl_row_since(row);
		steer.previous = address((uint8_t)(fl_row_previous(row) - 1));
	}
	return steer;
}

/* One packet at one server: the real verdict, and what the server learns by it. */
static enum fl_verdict decide(const struct world_setting *setting, struct world *world, uint8_t at,
			      enum fl_packet_class packet, const struct fl_steer *steer, uint8_t *next)
{
	struct world_server *server = &world->server[at];
	struct fl_verdict_in in = {
	    .packet = packet,
	    .trusted = true,
	    .chaining = true,
	    .malformed = FL_STEER_OK,
	    .steer = *steer,
	    .generation_seen = server->seen,
	    .now = (fl_u32)(NOW + setting->clock_ticks[at] * WORLD_TICK),
	    .window = WINDOW,
	    .self = address(at),
	};
	struct fl_verdict_out out;

	if (server->previous != WORLD_NONE) {
		in.memory.since = since(server->age);
		in.memory.generation = server->generation;
		in.memory.previous = address(server->previous);
	}
	fl_verdict_decide(&in, &out);
	server->seen = (uint8_t)out.generation_seen;
	if (out.learned) {
		server->previous = server_at(&out.memory.previous);
		server->age = age_of(out.memory.since);
		server->generation = (uint8_t)out.memory.generation;
	}
	*next = server_at(&out.next);
	return out.verdict;
}

/* A packet from a mux to the server where it ends. Returns that server's verdict: anything but CHAIN. */
static enum fl_verdict walk(const struct world_setting *setting, struct world *world, uint8_t generation, bool is_syn,
			    bool is_ours, uint8_t *end)
{
	struct fl_steer steer = header(world, generation);
	uint8_t at = world->owner[generation], next;

	for (;;) {
		bool has_socket = is_ours && setting->traffic == WORLD_TCP && at == world->home;
		enum fl_packet_class packet = is_syn       ? FL_PACKET_SYN
					      : has_socket ? FL_PACKET_LOCAL_SOCKET
							   : FL_PACKET_UNKNOWN;
		enum fl_verdict verdict = decide(setting, world, at, packet, &steer, &next);

		*end = at;
		if (verdict != FL_VERDICT_CHAIN)
			return verdict;
		at = next;
		steer.hops++;
		steer.flags = 0;
	}
}

static enum world_result packet(const struct world_setting *setting, struct world *world, uint8_t mux)
{
	bool opens = world->home == WORLD_NONE;
	uint8_t end;
	enum fl_verdict verdict =
	    walk(setting, world, generation_at(world, mux), opens && setting->traffic == WORLD_TCP, true, &end);

	if (verdict != FL_VERDICT_DELIVER)
		return WORLD_DROPPED;
	if (opens) {
		world->home = end;
		world->by_late = mux == WORLD_LATE;
	}
	return end == world->home ? WORLD_DELIVERED : WORLD_BROKEN;
}

/* Only a connection that is never delivered counts here; one that is reset does so by WORLD_PACKET as well. */
static enum world_result settle(const struct world_setting *setting, struct world *world)
{
	world->late = world->moves;
	for (int i = 0; i < SETTLE_PACKETS; i++)
		if (packet(setting, world, WORLD_CURRENT) != WORLD_DROPPED)
			return WORLD_IDLE;
	return WORLD_BROKEN;
}

static void grow(uint8_t *age)
{
	if (*age < WORLD_AGE_MAX)
		++*age;
}

static void pass_time(struct world *world)
{
	for (unsigned g = 1; g <= world->moves; g++)
		grow(&world->age[g]);
	for (unsigned s = 0; s < WORLD_SERVERS; s++)
		if (world->server[s].previous != WORLD_NONE)
			grow(&world->server[s].age);
}

enum world_result world_take(const struct world_setting *setting, struct world *world, struct world_step step)
{
	uint8_t end;

	switch ((enum world_action)step.action) {
	case WORLD_TIME:
		pass_time(world);
		return WORLD_IDLE;
	case WORLD_MOVE:
		world->owner[++world->moves] = step.subject;
		if (!setting->behind)
			world->late = world->moves;
		return WORLD_IDLE;
	case WORLD_CATCH_UP:
		world->late++;
		return WORLD_IDLE;
	case WORLD_PACKET:
		return packet(setting, world, step.subject);
	case WORLD_OTHER:
		walk(setting, world, generation_at(world, step.subject), true, false, &end);
		return WORLD_IDLE;
	case WORLD_NEWS:
		world->server[step.subject].seen = (uint8_t)(world->moves + FIRST_GENERATION);
		return WORLD_IDLE;
	case WORLD_SETTLE:
		return settle(setting, world);
	}
	return WORLD_IDLE;
}

int world_left(const struct world *world)
{
	for (int g = world->moves; g >= 0; g--)
		if (world->owner[g] == world->home)
			return g == world->moves ? -1 : world->age[g + 1];
	return WORLD_AGE_MAX;
}
