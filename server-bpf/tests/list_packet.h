/* SPDX-License-Identifier: Apache-2.0 */
/* Packets for the rig, and what must become of them. */
#ifndef FAIRLEAD_TESTS_LIST_PACKET_H
#define FAIRLEAD_TESTS_LIST_PACKET_H

#include <fairlead/list_tag.h>

#include "rig.h"

/* Begins a packet of the mux of that server's family, up to UDP. */
void list_packet_begin(struct packet *packet, const struct fl_address *server);

/*
 * The packet that a server with these addresses sends on, written from scratch: `sent` with the bytes behind its UDP
 * header replaced by these. is_by_kernel: with the neighbour not resolved.
 */
struct packet list_packet_onward(const struct config *server, const struct packet *sent, const struct fl_address *next,
				 const fl_u8 *gue, size_t len, bool is_by_kernel);

/* The inner packet as it is delivered: what is so many bytes behind the GUE base of `sent`. */
struct packet list_packet_delivered(const struct packet *sent, size_t header_len);

/* Where the GUE base is. */
size_t list_packet_gue_at(const struct packet *packet);

void list_packet_check(const struct packet *packet, const struct packet *expected);

#endif
