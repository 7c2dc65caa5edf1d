/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The largest segment that a client asks for in its SYN, lowered to what its service says. That bounds what servers
 * send to the client; what the client sends is bounded by the server's own SYN-ACK, which does not pass here.
 */
#ifndef FAIRLEAD_MUX_MSS_H
#define FAIRLEAD_MUX_MSS_H

#include <fairlead/types.h>

/*
 * tcp: a TCP header that is whole, options included, as data offset says. A SYN's MSS option above limit is lowered,
 * and the checksum with it; options that are malformed end the search.
 */
void mss_clamp(uint8_t *tcp, uint16_t limit);

#endif
