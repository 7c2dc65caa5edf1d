/* SPDX-License-Identifier: Apache-2.0 */
#include "world.h"

#include <string.h>

#include <fairlead/ring.h>

enum { WINDOW = WORLD_WINDOW * WORLD_TICK, SETTLE_PACKETS = 8 };

struct world world_first(void)
{
	struct world world;

	memset(&world, 0, sizeof(world));
	memset(world.previous, WORLD_NONE, sizeof(world.previous));
	world.home = WORLD_NONE;
	world.dead = WORLD_NONE;
	world.empty = WORLD_NONE;
	for (unsigned s = 0; s < WORLD_SERVERS; s++)
		world.server[s].memory.previous = WORLD_NONE;
	return world;
}

static uint8_t generation_at(const struct world *world, uint8_t mux)
{
	return mux == WORLD_LATE ? world->late : world->moves;
}

/* Whether generation g's move had an open window when a later generation was committed. */
static bool is_open_at(const struct world *world, unsigned g, unsigned later)
{
	return world->age[g] - world->age[later] < WORLD_WINDOW;
}

/* Whether the generation is a release: nothing moves, and the ring names no previous owner any more. */
static bool is_release(const struct world *world, unsigned g)
{
	return g && world->owner[g] == world->owner[g - 1] && world->previous[g] == WORLD_NONE;
}

bool world_is_followed(const struct world_setting *setting, const struct world *world, unsigned g)
{
	if (world->age[g] < WORLD_WINDOW)
		return true;
	for (unsigned later = g + 1; later <= world->moves; later++)
		if (is_release(world, later))
			return false;
	return setting->hold && setting->traffic == WORLD_TCP;
}

/* Whether the ring named the server as previous owner when generation g was committed, or had within the window before. */
static bool is_held_at(const struct world_setting *setting, const struct world *world, unsigned g, uint8_t server)
{
	for (unsigned named = 1; setting->hold && named < g; named++)
		if (world->previous[named] == server && (named + 1 == g || is_open_at(world, named + 1, g)))
			return true;
	return false;
}

/* Whether generation g's notice to the server tells of the bucket's last move: the server loses it, in its window. */
static bool notice_has_move(const struct world_setting *setting, const struct world *world, unsigned g, uint8_t server)
{
	return world->owner[g - 1] == server && world->owner[g] != server && world->previous[g - 1] != WORLD_NONE &&
	       world->previous[g - 1] != server && (setting->hold || is_open_at(world, g - 1, g));
}

/*
 * Whether muxes send the server a notice of generation g: it loses the bucket now, has lost it within the window, or
 * was held.
 */
static bool notice_is_sent(const struct world_setting *setting, const struct world *world, unsigned g, uint8_t server)
{
	if (server == world->dead)
		return false;
	for (unsigned lost = 1; lost <= g; lost++)
		if (world->owner[lost - 1] == server && world->owner[lost] != server && is_open_at(world, lost, g))
			return true;
	return is_held_at(setting, world, g, server);
}

/* Whether the server knows what the notice tells. */
static bool notice_is_known(const struct world_setting *setting, const struct world *world, unsigned g, uint8_t server)
{
	const struct world_server *s = &world->server[server];
	bool has_move = s->memory.previous != WORLD_NONE && s->memory.generation >= g - 1 + FIRST_GENERATION;

	return s->seen >= g + FIRST_GENERATION && (has_move || !notice_has_move(setting, world, g, server));
}

/* Whether the ring names the dead server. */
static bool is_removal_due(const struct world *world)
{
	return world->dead != WORLD_NONE &&
	       (world->owner[world->moves] == world->dead || world->previous[world->moves] == world->dead);
}

/* Whether the bucket has a previous owner although its window is over. */
static bool is_held(const struct world_setting *setting, const struct world *world)
{
	return setting->hold && world->previous[world->moves] != WORLD_NONE && world->age[world->moves] >= WORLD_WINDOW;
}

/* Whether the late mux has withdrawn: it gets no new connection. */
static bool is_quiet(const struct world_setting *setting, const struct world *world)
{
	return (setting->hold || setting->drain) && setting->absence == WORLD_ABSENT && world->late < world->moves &&
	       world->age[world->late + 1] >= WORLD_QUIET;
}

/* Whether a report about the last move may count as far as muxes go. */
static bool is_everywhere(const struct world_setting *setting, const struct world *world)
{
	return setting->hasty || world->late == world->moves ||
	       (setting->absence != WORLD_PRESENT && world->age[world->moves] >= WORLD_QUIET);
}

/* The last generation by which the server lost the bucket; 0: it has it, or never had. */
static unsigned lost_by(const struct world *world, uint8_t server)
{
	for (unsigned g = world->moves; g > 0 && world->owner[g] != server; g--)
		if (world->owner[g - 1] == server)
			return g;
	return 0;
}

/* Whether packets are chained through a server that lost the bucket to an owner before it. */
static bool is_link(const struct world_setting *setting, const struct world *world, uint8_t server)
{
	unsigned lost = lost_by(world, server);

	for (unsigned g = lost; g > 0; g--)
		if (world->owner[g - 1] != server && world->owner[g] == server)
			return world_is_followed(setting, world, g) && world_is_followed(setting, world, lost);
	return false;
}

/* Whether a mux that may still open connections at a server that lost the bucket counts as one. */
static bool has_none_opened(const struct world_setting *setting, const struct world *world, uint8_t server)
{
	unsigned lost = lost_by(world, server);

	if (setting->hasty || world->late >= lost)
		return true;
	return setting->absence != WORLD_PRESENT && world->age[lost] >= WORLD_QUIET;
}

/* Whether the connection is at one of the owners that the controller asks: all before today's since the last release. */
static bool is_at_earlier_owner(const struct world *world)
{
	for (unsigned g = world->moves; g > 0 && !is_release(world, g); g--)
		if (world->owner[g - 1] == world->home && world->home != world->owner[world->moves])
			return true;
	return false;
}

static unsigned steps_of_servers(const struct world_setting *setting, const struct world *world, uint8_t used,
				 struct world_step *steps)
{
	unsigned n = 0;

	for (uint8_t s = 0; s <= used; s++)
		if (world->server[s].seen < world->moves + FIRST_GENERATION && s != world->dead)
			steps[n++] = (struct world_step){WORLD_NEWS, s};
	for (uint8_t g = 1; setting->notices == WORLD_NOTICES_LOSSY && g <= world->moves; g++)
		for (uint8_t s = 0; s <= used; s++)
			if (notice_is_sent(setting, world, g, s) && !notice_is_known(setting, world, g, s))
				steps[n++] = (struct world_step){WORLD_NOTICE, world_notice(g, s)};
	for (uint8_t s = 0; setting->death && world->dead == WORLD_NONE && s <= used; s++)
		steps[n++] = (struct world_step){WORLD_DEATH, s};
	return n;
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
		if (s != world->owner[world->moves] && s != world->dead && s != world->empty)
			steps[n++] = (struct world_step){WORLD_MOVE, s};
	if (is_late)
		steps[n++] = (struct world_step){WORLD_CATCH_UP, 0};
	if (setting->notices == WORLD_NOTICES_LATE && world->late + 1 < world->moves)
		steps[n++] = (struct world_step){WORLD_JUMP, 0};
	for (uint8_t mux = WORLD_CURRENT; mux <= (is_late ? WORLD_LATE : WORLD_CURRENT); mux++) {
		bool opens = world->home == WORLD_NONE;

		if (!opens || mux != WORLD_LATE || !is_quiet(setting, world))
			steps[n++] = (struct world_step){WORLD_PACKET, mux};
		steps[n++] = (struct world_step){WORLD_OTHER, mux};
	}
	n += steps_of_servers(setting, world, used, steps + n);
	if (is_removal_due(world) && world->moves < WORLD_MOVES_MAX)
		steps[n++] = (struct world_step){WORLD_REMOVE, 0};
	if (is_held(setting, world) && !world->reported && is_everywhere(setting, world) && !is_at_earlier_owner(world))
		steps[n++] = (struct world_step){WORLD_REPORT, 0};
	if (is_held(setting, world) && world->moves < WORLD_MOVES_MAX &&
	    (world->reported || world->age[world->moves] >= WORLD_AGE_MAX))
		steps[n++] = (struct world_step){WORLD_RELEASE, 0};
	for (uint8_t s = 0; setting->drain && world->empty == WORLD_NONE && s <= used; s++)
		if (lost_by(world, s) && s != world->home && s != world->dead && !is_link(setting, world, s) &&
		    has_none_opened(setting, world, s))
			steps[n++] = (struct world_step){WORLD_EMPTY, s};
	if (world->empty != WORLD_NONE && world->dead == WORLD_NONE && lost_by(world, world->empty))
		steps[n++] = (struct world_step){WORLD_OFF, 0};
	if (!is_removal_due(world) || world->moves < WORLD_MOVES_MAX)
		steps[n++] = (struct world_step){WORLD_SETTLE, 0};
	return n;
}

/* The header that a mux writes, by its row of the bucket. */
static struct fl_steer header(const struct world_setting *setting, const struct world *world, uint8_t generation)
{
	struct fl_steer steer = {.service = 1, .generation = generation + FIRST_GENERATION};

	if (server_row_moved(world->previous[generation], world->age[generation], 0,
			     setting->hold ? FL_ROW_HELD : WINDOW, &steer.since, &steer.previous))
		steer.flags = FL_STEER_MOVED;
	return steer;
}

static struct fl_verdict_in input(const struct world_setting *setting, const struct world *world, uint8_t at,
				  enum fl_packet_class packet, const struct fl_steer *steer)
{
	const struct world_server *server = &world->server[at];

	return server_input(at, server->seen, &server->memory, setting->clock_ticks[at], WINDOW, packet, steer);
}

/*
 * A server reads a notice: as it would learn from a packet of the bucket. told: the generation that gave the server the
 * bucket, or WORLD_NONE: the notice tells of no move.
 */
static void notice_read(const struct world_setting *setting, struct world *world, uint8_t g, uint8_t at, uint8_t told)
{
	struct fl_steer steer = {.service = 1, .generation = g + FIRST_GENERATION};
	struct fl_verdict_in in;

	if (told != WORLD_NONE) {
		steer.flags = FL_STEER_MOVED;
		steer.since = server_since(world->age[told]);
		steer.previous = server_address(world->previous[told]);
	}
	in = input(setting, world, at, FL_PACKET_UNKNOWN, &steer);
	server_read(&world->server[at].seen, &world->server[at].memory, &in);
}

/* A notice of the current mux. */
static void notice_arrive(const struct world_setting *setting, struct world *world, uint8_t g, uint8_t at)
{
	notice_read(setting, world, g, at, notice_has_move(setting, world, g, at) ? (uint8_t)(g - 1) : WORLD_NONE);
}

void world_tell(const struct world_setting *setting, struct world *world)
{
	for (uint8_t g = 1; g <= world->moves; g++)
		for (uint8_t s = 0; s < WORLD_SERVERS; s++)
			if (notice_is_sent(setting, world, g, s) && !notice_is_known(setting, world, g, s))
				notice_arrive(setting, world, g, s);
}

/* Whether the late mux has seen the server lose the bucket within the window. */
static bool late_mux_saw_loss(const struct world *world, uint8_t server)
{
	for (unsigned g = 1; g <= world->late; g++)
		if (world->owner[g - 1] == server && world->owner[g] != server && !(world->skipped >> g & 1) &&
		    world->age[g] < WORLD_WINDOW)
			return true;
	return false;
}

/*
 * The late mux applies everything up to a generation at once. If it sends the notices, it compares its ring with the new
 * one: moves in between that neither of the two names are told to nobody.
 */
static void catch_up(const struct world_setting *setting, struct world *world, uint8_t g)
{
	uint8_t from = world->late;

	for (uint8_t s = 0; setting->notices == WORLD_NOTICES_LATE && s < WORLD_SERVERS; s++) {
		bool loses = world->owner[from] == s && world->owner[g] != s;
		bool is_named = world->previous[g] == s && (setting->hold || world->age[g] < WORLD_WINDOW);
		bool has_move =
		    loses && world->previous[from] != WORLD_NONE && (setting->hold || world->age[from] < WORLD_WINDOW);

		if (s != world->dead &&
		    (loses || is_named || late_mux_saw_loss(world, s) || is_held_at(setting, world, from + 1U, s)))
			notice_read(setting, world, g, s, has_move ? from : WORLD_NONE);
	}
	for (uint8_t over = (uint8_t)(from + 1); setting->notices == WORLD_NOTICES_LATE && over < g; over++)
		world->skipped |= (uint8_t)(1U << over);
	world->late = g;
}

/* What a packet is, and where it ended. */
struct way {
	bool is_syn;
	bool is_ours;
	bool is_later;      /* a later fragment */
	uint8_t generation; /* of the mux */
	uint8_t first;      /* the server that the mux sends it to */
	bool has_bucket;
	enum fl_verdict verdict; /* the last server's: anything but CHAIN; a dead one drops */
	uint8_t end;
};

static enum fl_packet_class class_at(const struct world_setting *setting, const struct world *world,
				     const struct way *way, uint8_t at)
{
	bool is_home = way->is_ours && at == world->home;

	if (way->is_syn)
		return FL_PACKET_SYN;
	if (setting->traffic == WORLD_TCP)
		return is_home ? FL_PACKET_LOCAL_SOCKET : FL_PACKET_UNKNOWN;
	if (setting->traffic <= WORLD_FRAGMENTS && is_home && !way->is_later)
		return FL_PACKET_LOCAL_SOCKET;
	return FL_PACKET_NO_RESET;
}

/* Takes a packet from a mux to the server where it ends. */
static void walk(const struct world_setting *setting, struct world *world, struct way *way)
{
	struct fl_steer steer = header(setting, world, way->generation);
	uint8_t at = way->first;

	if (!way->has_bucket) {
		steer.bucket = FL_STEER_BUCKET_NONE;
		steer.flags = 0;
	}
	while (at != world->dead) {
		struct fl_verdict_in in = input(setting, world, at, class_at(setting, world, way, at), &steer);
		struct fl_verdict_out out;

		fl_verdict_decide(&in, &out);
		server_store(&world->server[at].seen, &world->server[at].memory, &out);
		way->verdict = out.verdict;
		way->end = at;
		if (out.verdict != FL_VERDICT_CHAIN)
			return;
		at = server_at(&out.next);
		steer = server_chain(&in);
	}
	way->verdict = FL_VERDICT_DROP_STALE;
	way->end = at;
}

/* Where a mux sends a packet of the bucket. */
static struct way by_bucket(const struct world *world, uint8_t mux)
{
	uint8_t generation = generation_at(world, mux);

	return (struct way){.generation = generation, .first = world->owner[generation], .has_bucket = true};
}

static enum world_result packet(const struct world_setting *setting, struct world *world, uint8_t mux)
{
	bool opens = world->home == WORLD_NONE;
	struct way way = by_bucket(world, mux), later;

	way.is_ours = true;
	way.is_syn = opens && setting->traffic == WORLD_TCP;
	if (!opens && setting->traffic == WORLD_BY_ID) {
		way.first = world->home;
		way.has_bucket = false;
	}
	way.has_bucket &= setting->traffic != WORLD_STATELESS;
	later = way;
	later.is_later = true;
	walk(setting, world, &way);
	opens |= setting->traffic == WORLD_STATELESS;
	if (!opens && world->home == world->dead)
		return WORLD_ENDED;
	if (way.verdict != FL_VERDICT_DELIVER)
		return WORLD_DROPPED;
	if (opens) {
		world->home = way.end;
		world->by_late = mux == WORLD_LATE;
	}
	if (way.end != world->home || setting->traffic != WORLD_FRAGMENTS)
		return way.end == world->home ? WORLD_DELIVERED : WORLD_BROKEN;
	walk(setting, world, &later);
	if (later.verdict != FL_VERDICT_DELIVER)
		return WORLD_DROPPED;
	return later.end == world->home ? WORLD_DELIVERED : WORLD_BROKEN;
}

/* The bucket gets a new owner, and the ring names one before it. */
static void move(const struct world_setting *setting, struct world *world, uint8_t owner, uint8_t previous)
{
	world->owner[++world->moves] = owner;
	world->previous[world->moves] = previous;
	world->reported = false;
	if (setting->notices == WORLD_NOTICES_AT_ONCE)
		world_tell(setting, world);
	if (!setting->behind)
		catch_up(setting, world, world->moves);
}

/* The latest owner before that is neither dead nor this one, and that packets are still sent back to. */
static uint8_t owner_before(const struct world_setting *setting, const struct world *world, uint8_t owner)
{
	for (unsigned g = world->moves; g > 0 && !is_release(world, g); g--) {
		if (!setting->hold && world->age[g] >= WORLD_WINDOW)
			break;
		if (world->owner[g - 1] != world->dead && world->owner[g - 1] != owner)
			return world->owner[g - 1];
	}
	return WORLD_NONE;
}

/*
 * `backend remove --dead`. A bucket that the dead server owned goes back to the owner before it; where there is none, any
 * server takes it. The ring then names the owner before the dead one.
 */
static void remove_dead(const struct world_setting *setting, struct world *world)
{
	uint8_t owner = world->owner[world->moves];

	if (owner == world->dead)
		owner = owner_before(setting, world, owner);
	if (owner == WORLD_NONE)
		owner = world->dead == 0;
	move(setting, world, owner, owner_before(setting, world, owner));
}

/* Only a connection that is never delivered counts here; one that is reset does so by WORLD_PACKET as well. */
static enum world_result settle(const struct world_setting *setting, struct world *world)
{
	if (is_removal_due(world))
		remove_dead(setting, world);
	catch_up(setting, world, world->moves);
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
		if (world->server[s].memory.previous != WORLD_NONE)
			grow(&world->server[s].memory.age);
}

enum world_result world_take(const struct world_setting *setting, struct world *world, struct world_step step)
{
	struct way other;

	switch ((enum world_action)step.action) {
	case WORLD_TIME:
		pass_time(world);
		return WORLD_IDLE;
	case WORLD_MOVE:
		move(setting, world, step.subject, world->owner[world->moves]);
		return WORLD_IDLE;
	case WORLD_CATCH_UP:
		catch_up(setting, world, world->late + 1);
		return WORLD_IDLE;
	case WORLD_JUMP:
		catch_up(setting, world, world->moves);
		return WORLD_IDLE;
	case WORLD_PACKET:
		return packet(setting, world, step.subject);
	case WORLD_OTHER:
		other = by_bucket(world, step.subject);
		other.is_syn = true;
		walk(setting, world, &other);
		return WORLD_IDLE;
	case WORLD_NEWS:
		world->server[step.subject].seen = (uint8_t)(world->moves + FIRST_GENERATION);
		return WORLD_IDLE;
	case WORLD_NOTICE:
		notice_arrive(setting, world, step.subject / WORLD_SERVERS, step.subject % WORLD_SERVERS);
		return WORLD_IDLE;
	case WORLD_DEATH:
		world->dead = step.subject;
		return WORLD_IDLE;
	case WORLD_REMOVE:
		remove_dead(setting, world);
		return WORLD_IDLE;
	case WORLD_REPORT:
		world->reported = true;
		return WORLD_IDLE;
	case WORLD_RELEASE:
		world->overtaken |= world->reported && is_at_earlier_owner(world);
		move(setting, world, world->owner[world->moves], WORLD_NONE);
		return WORLD_IDLE;
	case WORLD_EMPTY:
		world->empty = step.subject;
		return WORLD_IDLE;
	case WORLD_OFF:
		world->dead = world->empty;
		return world->home == world->dead ? WORLD_BROKEN : WORLD_IDLE;
	case WORLD_SETTLE:
		return settle(setting, world);
	}
	return WORLD_IDLE;
}
