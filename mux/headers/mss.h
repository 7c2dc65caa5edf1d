/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lowers the MSS in a client's SYN to the service's limit. That bounds the segments that servers send to the client;
 * those that the client sends are bounded by the server's own SYN-ACK, which does not pass through the mux.
 */
#ifndef FAIRLEAD_MUX_MSS_H
#define FAIRLEAD_MUX_MSS_H

#include <fairlead/types.h>

/*
 * tcp: a whole TCP header, with all options that its data offset covers. Lowers a SYN's MSS option to limit and updates
 * the checksum; a malformed option ends the search.
 */
void mss_clamp(uint8_t *tcp, uint16_t limit);

#endif
