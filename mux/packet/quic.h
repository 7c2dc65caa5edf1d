/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Steers QUIC by connection id (protocol/README.md, 7): the server puts its backend id at the place that the service
 * configures, as in QUIC-LB's plaintext form, so that a client whose address changes stays on its server.
 *
 *	short header	0xxxxxxx | connection id: first byte, ..., backend id 1 or 2 at `offset`, ...
 *	long header	1xxxxxxx ...				of a handshake: steered by its bucket
 *
 * Only fields that are the same in every version of QUIC are read (RFC 8999).
 */
#ifndef FAIRLEAD_MUX_QUIC_H
#define FAIRLEAD_MUX_QUIC_H

#include <fairlead/types.h>

#include "config/service_config.h"

enum quic_numbers {
	QUIC_LONG_HEADER = 0x80,
	QUIC_AT_CONNECTION_ID = 1, /* in a short header */
	QUIC_UNROUTABLE = 7,       /* first three bits of a connection id without a server in it (QUIC-LB) */
};

/* The backend id in a UDP payload of len bytes; FL_BACKEND_NONE if there is none. */
static inline uint16_t quic_backend(const struct quic_server_id *where, const uint8_t *payload, uint32_t len)
{
	const uint8_t *id = payload + QUIC_AT_CONNECTION_ID;

	if (len < (uint32_t)QUIC_AT_CONNECTION_ID + where->offset + where->length || payload[0] & QUIC_LONG_HEADER)
		return 0;
	if (where->offset && id[0] >> 5 == QUIC_UNROUTABLE)
		return 0;
	return where->length == 1 ? id[where->offset] : fl_load_be16(id + where->offset);
}

#endif
