/* SPDX-License-Identifier: Apache-2.0 */
/* What muxes send in pair.h, and what servers make of it. */
#include "pair.h"

#include <fairlead/ring.h>

static uint32_t window_seconds(const struct pair_setting *setting)
{
	return (uint32_t)setting->window * WORLD_TICK;
}

static bool moved(const struct pair_setting *setting, const struct pair_generation *g, uint8_t mux, uint8_t bucket,
		  uint32_t *since, struct fl_address *previous)
{
	return server_row_moved(g->previous[bucket], g->age[bucket], setting->mux_ticks[mux],
				setting->hold ? FL_ROW_HELD : window_seconds(setting), since, previous);
}

struct fl_steer pair_header(const struct pair_setting *setting, const struct pair *pair, uint8_t mux, uint8_t b1,
			    uint8_t b2)
{
	const struct pair_generation *g = pair_applied(pair, mux);
	struct fl_steer steer = {
	    .service = 1, .bucket = b1, .generation = (fl_u32)(g - pair->generation) + FIRST_GENERATION};

	if (moved(setting, g, mux, b1, &steer.since, &steer.previous))
		steer.flags |= FL_STEER_MOVED;
	if (b1 == b2)
		return steer;
	steer.flags |= FL_STEER_SECOND;
	steer.second.bucket = b2;
	steer.second.owner = server_address(g->owner[b2]);
	if (moved(setting, g, mux, b2, &steer.second.since, &steer.second.previous))
		steer.flags |= FL_STEER_MOVED2;
	return steer;
}

static struct fl_verdict_in input(const struct pair_setting *setting, const struct pair *pair, uint8_t at,
				  enum fl_packet_class packet, const struct fl_steer *steer)
{
	const struct pair_server *server = &pair->server[at];
	const struct server_memory *memory = &server->memory[steer->bucket];
	struct fl_verdict_in in =
	    server_input(at, server->seen, memory, setting->server_ticks[at], window_seconds(setting), packet, steer);

	if (server->told_removed && memory->previous == pair->dead)
		in.removed = pair->removed + FIRST_GENERATION;
	return in;
}

static void store(struct pair *pair, uint8_t at, const struct fl_verdict_in *in, const struct fl_verdict_out *out)
{
	struct pair_server *server = &pair->server[at];
	struct server_memory *memory = &server->memory[in->steer.bucket];

	server_store(&server->seen, memory, out);
	if (!out->learned && memory->previous != WORLD_NONE && fl_verdict_forgets(in))
		*memory = (struct server_memory){WORLD_NONE, 0, 0};
}

void pair_read(const struct pair_setting *setting, struct pair *pair, uint8_t g, uint8_t server)
{
	const struct pair_generation *now = &pair->generation[g], *before = now - 1;
	struct pair_server *reader = &pair->server[server];

	for (uint8_t b = 0; b < PAIR_BUCKETS; b++) {
		struct fl_steer steer = {.service = 1, .bucket = b, .generation = g + FIRST_GENERATION};
		struct fl_verdict_in in;

		if (now->told_move >> b & 1 && before->owner[b] == server) {
			steer.flags = FL_STEER_MOVED;
			steer.since = server_since(before->age[b]);
			steer.previous = server_address(before->previous[b]);
		}
		in = input(setting, pair, server, FL_PACKET_LOCAL_SOCKET, &steer);
		server_read(&reader->seen, &reader->memory[b], &in);
	}
	reader->told_removed |= g == pair->removed && !setting->unnamed;
}

void pair_tell_of(const struct pair_setting *setting, struct pair *pair, uint8_t g)
{
	for (uint8_t s = 0; s < PAIR_SERVERS; s++)
		if (pair->generation[g].told >> s & 1)
			pair_read(setting, pair, g, s);
}

void pair_tell(const struct pair_setting *setting, struct pair *pair)
{
	for (uint8_t g = 1; g <= pair->newest; g++)
		pair_tell_of(setting, pair, g);
}

struct pair_way pair_way(bool is_syn, uint8_t home)
{
	struct pair_way way = {.end = WORLD_NONE};

	for (uint8_t s = 0; s < PAIR_SERVERS; s++)
		way.packet[s] = is_syn ? FL_PACKET_SYN : s == home ? FL_PACKET_LOCAL_SOCKET : FL_PACKET_UNKNOWN;
	return way;
}

void pair_walk(const struct pair_setting *setting, struct pair *pair, uint8_t mux, struct pair_way *way)
{
	uint8_t at = pair_applied(pair, mux)->owner[way->steer.bucket];

	while (at != pair->dead) {
		struct fl_verdict_in in = input(setting, pair, at, way->packet[at], &way->steer);
		struct fl_verdict_out out;

		fl_verdict_decide(&in, &out);
		store(pair, at, &in, &out);
		if (out.verdict == FL_VERDICT_DELIVER && in.packet == FL_PACKET_REFUSED && way->refuses)
			out.verdict = FL_VERDICT_DROP_STALE;
		if (out.verdict == FL_VERDICT_PASS && server_at(&out.next) == at && way->stops)
			out.verdict = FL_VERDICT_DELIVER;
		way->verdict = out.verdict;
		way->end = at;
		if (out.verdict == FL_VERDICT_PASS) {
			fl_verdict_promote(&in);
			way->steer = in.steer;
		} else if (out.verdict == FL_VERDICT_CHAIN) {
			way->steer = server_chain(&in);
		} else {
			return;
		}
		if (way->unmarked)
			way->steer.flags &= (fl_u8)~FL_STEER_LATE;
		at = server_at(&out.next);
	}
	way->verdict = FL_VERDICT_DROP_STALE;
	way->end = at;
}

void pair_other(const struct pair_setting *setting, struct pair *pair, uint8_t bucket, uint8_t mux)
{
	struct pair_way way = pair_way(true, WORLD_NONE);

	way.steer = pair_header(setting, pair, mux, bucket, bucket);
	pair_walk(setting, pair, mux, &way);
}
