/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a packet that a pipeline has steered does to a service with steering `maat`, as steering/maat/maat_path.h has it for the
 * usual path: it counts for its backend's load, and its filter notes or forgets the connection, so that both paths, and
 * explanations, order alike.
 */
#ifndef FAIRLEAD_P4_TALLY_H
#define FAIRLEAD_P4_TALLY_H

#include "service/lookup.h"

/* A steered packet: the inner one, and the server that it goes to. */
struct tally_packet {
	const uint8_t *inner;
	uint32_t len;
	struct fl_address destination;
};

/* The worker, between two quiescent states. Nothing for other services, and ports that have just gone. */
void tally_order(const struct lookup *lookup, unsigned worker, const struct tally_packet *packet);

#endif
