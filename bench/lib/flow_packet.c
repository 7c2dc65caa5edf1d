/* SPDX-License-Identifier: Apache-2.0 */
#include "flow_packet.h"

#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>

#include <fairlead/types.h>

enum {
	HEADROOM = 128,
	BUFFER = 2432, /* the distance of mbufs with 2 KB of room */
};

bool flow_packets_new(struct flow_packets *packets, uint32_t count)
{
	packets->mbufs = aligned_alloc(64, count * sizeof(*packets->mbufs));
	packets->buffers = aligned_alloc(64, (size_t)count * BUFFER);
	if (!packets->mbufs || !packets->buffers)
		return false;
	memset(packets->mbufs, 0, count * sizeof(*packets->mbufs));
	memset(packets->buffers, 0, (size_t)count * BUFFER);
	return true;
}

static uint16_t header_checksum(const uint8_t *ip)
{
	uint32_t sum = 0;

	for (int i = 0; i < 20; i += 2)
		sum += fl_load_be16(ip + i);
	sum = (sum & 0xffff) + (sum >> 16);
	return (uint16_t) ~((sum & 0xffff) + (sum >> 16));
}

static void set_buffer(struct rte_mbuf *mbuf, uint8_t *data, uint16_t len)
{
	mbuf->buf_addr = data - HEADROOM;
	mbuf->buf_len = BUFFER;
	mbuf->data_off = HEADROOM;
	mbuf->data_len = len;
	mbuf->pkt_len = len;
	mbuf->nb_segs = 1;
}

void flow_packet_write(struct flow_packets *packets, uint32_t slot, uint32_t flow, uint32_t services, bool udp)
{
	static const uint8_t head[FLOW_PACKET_BYTES] = {2,    0, 0, 0,  0, 1, 2,  0, 0,  0, 0, 2, 8, 0, /* Ethernet */
							0x45, 0, 0, 50, 0, 0, 64, 0, 64, 6, 0, 0, 0, 0, 0, 0,    10,
							99,   0, 0, 0,  0, 0, 80, 0, 0,  0, 0, 0, 0, 0, 0, 0x50, 0x10};
	struct rte_mbuf *mbuf = &packets->mbufs[slot];
	uint8_t *data = packets->buffers + (size_t)slot * BUFFER + HEADROOM;

	memcpy(data, head, FLOW_PACKET_BYTES);
	fl_store_be32(data + 26, 0x0b000000U | (flow * 2654435761U & 0x00ffffff));
	fl_store_be16(data + 34, (uint16_t)(1024 + (flow >> 24)));
	fl_store_be16(data + 32, (uint16_t)(flow % services));
	if (udp) {
		data[23] = IPPROTO_UDP;
		fl_store_be32(data + 38, (FLOW_PACKET_BYTES - 34U) << 16); /* its length; no checksum */
	}
	fl_store_be16(data + 24, header_checksum(data + 14));
	set_buffer(mbuf, data, FLOW_PACKET_BYTES);
}

void flow_packet_write6(struct flow_packets *packets, uint32_t slot, uint32_t flow)
{
	static const uint8_t head[FLOW_PACKET6_BYTES] = {
	    2,    0,    0,    0,    0, 1,  2, 0,  0, 0, 0, 2, 0x86, 0xdd, /* Ethernet */
	    0x60, 0,    0,    0,    0, 24, 6, 64,                         /* IPv6, TCP and 4 bytes more */
	    0x20, 0x01, 0x0d, 0xb8, 0, 7,  0, 0,  0, 0, 0, 0, 0,    0,    0, 0, 0x20, 0x01, 0x0d, 0xb8, 0, 0x99, 0,
	    0,    0,    0,    0,    0, 0,  0, 0,  0, 0, 0, 0, 80,   0,    0, 0, 0,    0,    0,    0,    0, 0x50, 0x10};
	struct rte_mbuf *mbuf = &packets->mbufs[slot];
	uint8_t *data = packets->buffers + (size_t)slot * BUFFER + HEADROOM;

	memcpy(data, head, sizeof(head));
	fl_store_be32(data + 34, flow * 2654435761U & 0x00ffffff);
	fl_store_be16(data + 54, (uint16_t)(1024 + (flow >> 24)));
	set_buffer(mbuf, data, FLOW_PACKET6_BYTES);
}

void flow_packet_set_syn(struct flow_packets *packets, uint32_t slot)
{
	uint8_t *data = packets->buffers + (size_t)slot * BUFFER + HEADROOM;

	data[(data[12] == 0x86 ? 54 : 34) + 13] = 0x02;
}
