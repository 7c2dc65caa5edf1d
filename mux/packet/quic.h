/* SPDX-License-Identifier: Apache-2.0 */
/*
 * QUIC by its connection id (protocol/README.md, 7): the server has put its backend id where the service says, as the
 * plaintext form of QUIC-LB has it, so that a client which changes its address stays on its server.
 *
 *	short header	0xxxxxxx | connection id: first byte, ..., backend id 1 or 2 at `offset`, ...
 *	long header	1xxxxxxx ...				of a handshake: by its bucket
 *
 * Only what holds for every version of QUIC is read (RFC 8999).
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
