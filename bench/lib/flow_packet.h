/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Packets as a port would hand them to a worker: 64 bytes long (IPv6: 78), of numbered flows, in buffers of a NIC's
 * distance.
 */
#ifndef FAIRLEAD_BENCH_FLOW_PACKET_H
#define FAIRLEAD_BENCH_FLOW_PACKET_H

#include <stdbool.h>
#include <stdint.h>

#include <rte_mbuf.h>

enum { FLOW_PACKET_BYTES = 64, FLOW_PACKET6_BYTES = 78 };

struct flow_packets {
	struct rte_mbuf *mbufs;
	uint8_t *buffers;
};

/* Room for so many; never freed. false: no memory. */
bool flow_packets_new(struct flow_packets *packets, uint32_t count);

/*
 * A TCP ACK, or a datagram, to port 80 of 10.99.x.x, the flow's number modulo services. Packets of flows are distinct by
 * construction: the number is spread over source address and port by a bijection.
 */
void flow_packet_write(struct flow_packets *packets, uint32_t slot, uint32_t flow, uint32_t services, bool udp);

/* The same to port 80 of [2001:db8:99::], TCP. */
void flow_packet_write6(struct flow_packets *packets, uint32_t slot, uint32_t flow);

/* Makes a packet of either family a SYN. */
void flow_packet_set_syn(struct flow_packets *packets, uint32_t slot);

#endif
