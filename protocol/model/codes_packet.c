/* SPDX-License-Identifier: Apache-2.0 */
#include "codes_packet.h"

static uint32_t window_seconds(const struct codes_setting *setting)
{
	return (uint32_t)setting->window * WORLD_TICK;
}

static bool moved(const struct codes_setting *setting, const struct codes_generation *g, uint8_t mux, uint8_t bucket,
		  uint32_t *since, struct fl_address *previous)
{
	return server_row_moved(g->previous[bucket], g->age[bucket], setting->mux_ticks[mux], window_seconds(setting),
				since, previous);
}

/* The header that a mux writes for a bucket, and for a second one, which may be the same: then it names one only. */
static struct fl_steer header(const struct codes_setting *setting, const struct codes *codes, uint8_t mux, uint8_t b1,
			      uint8_t b2)
{
	const struct codes_generation *g = codes_applied(codes, mux);
	struct fl_steer steer = {
	    .service = 1, .bucket = b1, .generation = (fl_u32)(g - codes->generation) + FIRST_GENERATION};

	if (moved(setting, g, mux, b1, &steer.since, &steer.previous))
		steer.flags |= FL_STEER_MOVED;
	if (!codes_has_rule(setting, CODES_RULE_SECOND) || b1 == b2)
		return steer;
	steer.flags |= FL_STEER_SECOND;
	steer.second.bucket = b2;
	steer.second.owner = server_address(g->owner[b2]);
	if (moved(setting, g, mux, b2, &steer.second.since, &steer.second.previous))
		steer.flags |= FL_STEER_MOVED2;
	return steer;
}

static struct fl_verdict_in input(const struct codes_setting *setting, const struct codes *codes, uint8_t at,
				  enum fl_packet_class packet, const struct fl_steer *steer)
{
	const struct codes_server *server = &codes->server[at];

	return server_input(at, server->seen, &server->memory[steer->bucket], setting->server_ticks[at],
			    window_seconds(setting), packet, steer);
}

static void store(struct codes *codes, uint8_t at, const struct fl_verdict_in *in, const struct fl_verdict_out *out)
{
	struct codes_server *server = &codes->server[at];
	struct server_memory *memory = &server->memory[in->steer.bucket];

	server_store(&server->seen, memory, out);
	if (!out->learned && memory->previous != WORLD_NONE && fl_verdict_forgets(in))
		*memory = (struct server_memory){WORLD_NONE, 0, 0};
}

void codes_read(const struct codes_setting *setting, struct codes *codes, uint8_t g, uint8_t server)
{
	const struct codes_generation *now = &codes->generation[g], *before = now - 1;
	struct codes_server *reader = &codes->server[server];

	for (uint8_t b = 0; b < CODES_BUCKETS; b++) {
		struct fl_steer steer = {.service = 1, .bucket = b, .generation = g + FIRST_GENERATION};
		struct fl_verdict_in in;

		if (now->told_move >> b & 1 && before->owner[b] == server) {
			steer.flags = FL_STEER_MOVED;
			steer.since = server_since(before->age[b]);
			steer.previous = server_address(before->previous[b]);
		}
		in = input(setting, codes, server, FL_PACKET_LOCAL_SOCKET, &steer);
		server_read(&reader->seen, &reader->memory[b], &in);
	}
}

void codes_tell_of(const struct codes_setting *setting, struct codes *codes, uint8_t g)
{
	for (uint8_t s = 0; s < CODES_SERVERS; s++)
		if (codes->generation[g].told >> s & 1)
			codes_read(setting, codes, g, s);
}

void codes_tell(const struct codes_setting *setting, struct codes *codes)
{
	for (uint8_t g = 1; g <= codes->newest; g++)
		codes_tell_of(setting, codes, g);
}

bool codes_is_told(const struct codes *codes, uint8_t g, uint8_t server)
{
	const struct codes_generation *now = &codes->generation[g], *before = now - 1;

	for (uint8_t b = 0; b < CODES_BUCKETS; b++) {
		const struct server_memory *memory = &codes->server[server].memory[b];

		if (now->told_move >> b & 1 && before->owner[b] == server &&
		    (memory->previous == WORLD_NONE || memory->generation < g - 1 + FIRST_GENERATION))
			return false;
	}
	return codes->server[server].seen >= g + FIRST_GENERATION;
}

/* What a packet is, and where it ended. */
struct way {
	bool is_syn;
	bool is_ours;
	enum fl_verdict verdict; /* the last server's: neither CHAIN nor PASS; a dead one drops */
	uint8_t end;
};

/* Takes a packet from a mux to the server where it ends. */
static void walk(const struct codes_setting *setting, struct codes *codes, struct fl_steer steer, uint8_t at,
		 struct way *way)
{
	while (at != codes->dead) {
		enum fl_packet_class packet = way->is_syn                         ? FL_PACKET_SYN
					      : way->is_ours && at == codes->home ? FL_PACKET_LOCAL_SOCKET
										  : FL_PACKET_UNKNOWN;
		struct fl_verdict_in in = input(setting, codes, at, packet, &steer);
		struct fl_verdict_out out;

		fl_verdict_decide(&in, &out);
		store(codes, at, &in, &out);
		way->verdict = out.verdict;
		way->end = at;
		if (out.verdict == FL_VERDICT_PASS) {
			fl_verdict_promote(&in);
			steer = in.steer;
		} else if (out.verdict == FL_VERDICT_CHAIN) {
			steer.hops++;
			steer.flags &= FL_STEER_SECOND | FL_STEER_MOVED2;
		} else {
			return;
		}
		at = server_at(&out.next);
	}
	way->verdict = FL_VERDICT_DROP_STALE;
	way->end = at;
}

/* The connection opens at a server: since when that does not own each bucket any more. */
static void open(const struct codes_setting *setting, struct codes *codes, uint8_t mux, uint8_t home)
{
	codes->home = home;
	codes->opened = codes_applied(codes, mux)->arrays;
	codes->opened_ago = 0;
	for (uint8_t b = 0; b < CODES_BUCKETS; b++) {
		unsigned last = codes->newest;

		codes->away[b] = WORLD_NONE;
		while (last > codes->late && codes->generation[last].owner[b] != home)
			last--;
		if (codes->generation[last].owner[b] == home)
			codes->away[b] = last == codes->newest ? 0 : codes->generation[last + 1].age[b];
		/* its server may have reported between the move and this */
		if (last < codes->newest && !codes_has_rule(setting, CODES_RULE_MUXES))
			codes->unawaited |= (uint8_t)(1U << b);
	}
}

enum world_result codes_packet(const struct codes_setting *setting, struct codes *codes, uint8_t mux)
{
	struct way way = {.is_ours = true, .is_syn = codes->home == WORLD_NONE};
	uint8_t b1, b2;

	codes_buckets(codes, mux, &b1, &b2);
	walk(setting, codes, header(setting, codes, mux, b1, b2), codes_applied(codes, mux)->owner[b1], &way);
	if (way.verdict != FL_VERDICT_DELIVER)
		return WORLD_DROPPED;
	if (way.is_syn)
		open(setting, codes, mux, way.end);
	return way.end == codes->home ? WORLD_DELIVERED : WORLD_BROKEN;
}

void codes_other(const struct codes_setting *setting, struct codes *codes, uint8_t bucket, uint8_t mux)
{
	struct way way = {.is_syn = true};

	walk(setting, codes, header(setting, codes, mux, bucket, bucket), codes_applied(codes, mux)->owner[bucket],
	     &way);
}
