/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A server of every model: its address, its clock, and what it remembers of a bucket, for fl_verdict_decide(). Servers
 * are numbers; times are ages in ticks.
 */
#ifndef FAIRLEAD_MODEL_SERVER_H
#define FAIRLEAD_MODEL_SERVER_H

#include <stdbool.h>
#include <stdint.h>

#include <fairlead/verdict.h>

enum server_numbers {
	WORLD_TICK = 10, /* seconds */
	WORLD_NONE = 15, /* no server */
	SERVER_NOW = 1000 * WORLD_TICK,
	FIRST_GENERATION = 1, /* on the wire, of the models' generation 0 */
};

/* What a server remembers of a bucket; previous WORLD_NONE: nothing. */
struct server_memory {
	uint8_t previous;
	uint8_t age; /* of the move, by the true clock */
	uint8_t generation;
};

struct fl_address server_address(uint8_t server);
uint8_t server_at(const struct fl_address *address);

/* The second that is so many ticks ago. */
uint32_t server_since(uint8_t age);

/*
 * Whether a mux writes the move of a row into headers, by a clock that is so many ticks off; then its second and the owner
 * before. previous WORLD_NONE: the row names none.
 */
bool server_row_moved(uint8_t previous, uint8_t age, int clock_ticks, fl_u32 window, fl_u32 *since,
		      struct fl_address *address);

/* What the verdict of a server is given, whose clock is so many ticks off. */
struct fl_verdict_in server_input(uint8_t at, uint8_t seen, const struct server_memory *memory, int clock_ticks,
				  fl_u32 window, enum fl_packet_class packet, const struct fl_steer *steer);

/* What the server remembers after the verdict. */
void server_store(uint8_t *seen, struct server_memory *memory, const struct fl_verdict_out *out);

/* The header of a packet that the server chains. */
struct fl_steer server_chain(const struct fl_verdict_in *in);

/* A server reads what one header of a notice teaches. */
void server_read(uint8_t *seen, struct server_memory *memory, const struct fl_verdict_in *in);

#endif
