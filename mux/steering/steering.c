/* SPDX-License-Identifier: Apache-2.0 */
#include "steering/steering.h"

#include <stddef.h>

#include "flow/rows.h"
#include "flow/service.h"

#define METHOD_DECLARATION(name) extern const struct steering steering_##name;
#define METHOD_ENTRY(name)       &steering_##name,

STEERING_METHODS(METHOD_DECLARATION)

const struct steering *const steerings[STEERINGS_MAX + 1] = {STEERING_METHODS(METHOD_ENTRY)};

unsigned steering_number(const struct steering *steering)
{
	unsigned number = 0;

	while (steerings[number] != steering)
		number++;
	return number;
}

bool steering_fall_back(struct packet *packet)
{
	packet->ring = service_ring(packet->service);
	packet->flags &= (uint8_t) ~(PACKET_BY_ID | PACKET_ELSE_BUCKET);
	packet->generation = ring_generation(packet->ring);
	packet->bucket = steerings[packet->service->steering]->bucket(packet->service, packet->ring, packet->hash);
	rows_read(packet);
	return rows_have_backend(packet);
}
