/* SPDX-License-Identifier: Apache-2.0 */
#include "server.h"

#include <fairlead/ring.h>

struct fl_address server_address(uint8_t server)
{
	const uint8_t ipv4[4] = {10, 0, 0, (uint8_t)(server + 1)};

	return server == WORLD_NONE ? (struct fl_address){{0}} : fl_address_from_ipv4(ipv4);
}

uint8_t server_at(const struct fl_address *address)
{
	return fl_address_is_none(address) ? WORLD_NONE : (uint8_t)(address->bytes[15] - 1);
}

uint32_t server_since(uint8_t age)
{
	return SERVER_NOW - age * WORLD_TICK;
}

bool server_row_moved(uint8_t previous, uint8_t age, int clock_ticks, fl_u32 window, fl_u32 *since,
		      struct fl_address *address)
{
	fl_row row =
	    fl_row_make(1, previous == WORLD_NONE ? FL_BACKEND_NONE : (fl_u16)(previous + 1), server_since(age));

	if (!fl_row_is_moved(row, (fl_u32)(SERVER_NOW + clock_ticks * WORLD_TICK), window))
		return false;
	*since = fl_row_since(row);
	*address = server_address((uint8_t)(fl_row_previous(row) - 1));
	return true;
}

struct fl_verdict_in server_input(uint8_t at, uint8_t seen, const struct server_memory *memory, int clock_ticks,
				  fl_u32 window, enum fl_packet_class packet, const struct fl_steer *steer)
{
	struct fl_verdict_in in = {
	    .packet = packet,
	    .trusted = true,
	    .chaining = true,
	    .malformed = FL_STEER_OK,
	    .steer = *steer,
	    .generation_seen = seen,
	    .now = (fl_u32)(SERVER_NOW + clock_ticks * WORLD_TICK),
	    .window = window,
	    .self = server_address(at),
	};

	if (memory->previous != WORLD_NONE) {
		in.memory.since = server_since(memory->age);
		in.memory.generation = memory->generation;
		in.memory.previous = server_address(memory->previous);
	}
	return in;
}

struct fl_steer server_chain(const struct fl_verdict_in *in)
{
	struct fl_steer steer = in->steer;

	steer.hops++;
	steer.flags &= FL_STEER_SECOND | FL_STEER_MOVED2 | FL_STEER_LATE;
	if (fl_verdict_is_late(in))
		steer.flags |= FL_STEER_LATE;
	return steer;
}

void server_store(uint8_t *seen, struct server_memory *memory, const struct fl_verdict_out *out)
{
	*seen = (uint8_t)out->generation_seen;
	if (out->learned)
		*memory = (struct server_memory){server_at(&out->memory.previous),
						 (uint8_t)((SERVER_NOW - out->memory.since) / WORLD_TICK),
						 (uint8_t)out->memory.generation};
}

void server_read(uint8_t *seen, struct server_memory *memory, const struct fl_verdict_in *in)
{
	struct fl_verdict_out out = {.generation_seen = in->generation_seen, .memory = in->memory};

	fl_verdict_learn(in, &out);
	server_store(seen, memory, &out);
}
