/* SPDX-License-Identifier: Apache-2.0 */
/* Classification of IPv6 packets (classify.h). */
#ifndef FAIRLEAD_MUX_IPV6_H
#define FAIRLEAD_MUX_IPV6_H

#include "flow/packet.h"

struct lookup;

/* The verdict of a packet with IPv6 type and our MAC, at_ip bytes into the frame. */
enum verdict ipv6_classify(const struct lookup *lookup, const uint8_t *data, uint32_t at_ip, uint32_t len,
			   uint32_t frame_len, struct packet *out);

#endif
