/* SPDX-License-Identifier: Apache-2.0 */
#include "frame.h"

#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>

#include "image.h"

const uint8_t frame_mac[6] = {2, 0, 0, 0, 0, 1};

void frame_fix_checksum(struct frame *frame)
{
	uint8_t *ip = frame->bytes + FRAME_AT_IP;
	uint32_t sum = 0;

	fl_store_be16(ip + 10, 0);
	for (int i = 0; i < (ip[0] & 15) * 4; i += 2)
		sum += fl_load_be16(ip + i);
	while (sum >> 16)
		sum = (sum & 0xffff) + (sum >> 16);
	fl_store_be16(ip + 10, (uint16_t)~sum);
}

struct frame frame_new(const struct flow *flow, uint32_t payload)
{
	uint32_t l4 = flow->protocol == IPPROTO_TCP ? 20 : 8;
	struct frame frame = {.len = FRAME_AT_L4 + l4 + payload};
	uint8_t *ip = frame.bytes + FRAME_AT_IP, *at = frame.bytes + FRAME_AT_L4;

	memcpy(frame.bytes, frame_mac, 6);
	memcpy(frame.bytes + 6, "\x02\x00\x00\x00\x00\x02", 6);
	fl_store_be16(frame.bytes + 12, 0x0800);
	ip[0] = 0x45;
	fl_store_be16(ip + 2, (uint16_t)(20 + l4 + payload));
	ip[6] = 0x40;
	ip[8] = 64;
	ip[9] = flow->protocol;
	memcpy(ip + 12, flow->source.bytes + 12, 4);
	memcpy(ip + 16, flow->destination.bytes + 12, 4);
	fl_store_be16(at, flow->source_port);
	fl_store_be16(at + 2, flow->destination_port);
	if (flow->protocol == IPPROTO_TCP) {
		at[12] = 0x50;
		at[13] = 0x10;
	} else {
		fl_store_be16(at + 4, (uint16_t)(8 + payload));
	}
	for (uint32_t i = 0; i < payload; i++)
		at[l4 + i] = (uint8_t)(i * 7 + 1);
	frame_fix_checksum(&frame);
	return frame;
}

struct flow frame_flow(uint8_t protocol)
{
	struct flow flow = {.source = image_ipv4("203.0.113.7"),
			    .destination = image_ipv4("10.99.0.1"),
			    .source_port = 40000,
			    .destination_port = 80,
			    .protocol = protocol};

	return flow;
}

struct rte_mbuf *frame_wrap(const struct frame *frame)
{
	struct rte_mbuf *mbuf = aligned_alloc(64, sizeof(*mbuf));
	uint8_t *buffer = malloc(FRAME_HEADROOM + frame->len);

	if (!mbuf || !buffer)
		abort();
	memset(mbuf, 0, sizeof(*mbuf));
	memcpy(buffer + FRAME_HEADROOM, frame->bytes, frame->len);
	mbuf->buf_addr = buffer;
	mbuf->buf_len = (uint16_t)(FRAME_HEADROOM + frame->len);
	mbuf->data_off = FRAME_HEADROOM;
	mbuf->data_len = (uint16_t)frame->len;
	mbuf->pkt_len = frame->len;
	mbuf->nb_segs = 1;
	return mbuf;
}

void frame_unwrap(struct rte_mbuf *mbuf)
{
	free(mbuf->buf_addr);
	free(mbuf);
}
