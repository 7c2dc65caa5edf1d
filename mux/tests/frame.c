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

/* Writes the IP header of a packet with l4_len bytes behind it; returns its bytes. */
static uint32_t write_ip(uint8_t *ip, const struct flow *flow, uint32_t l4_len)
{
	if (fl_address_is_ipv4(&flow->destination)) {
		ip[0] = 0x45;
		fl_store_be16(ip + 2, (uint16_t)(20 + l4_len));
		ip[6] = 0x40;
		ip[8] = 64;
		ip[9] = flow->protocol;
		memcpy(ip + 12, flow->source.bytes + 12, 4);
		memcpy(ip + 16, flow->destination.bytes + 12, 4);
		return 20;
	}
	ip[0] = 0x60;
	fl_store_be16(ip + 4, (uint16_t)l4_len);
	ip[6] = flow->protocol;
	ip[7] = 64;
	memcpy(ip + 8, flow->source.bytes, 16);
	memcpy(ip + 24, flow->destination.bytes, 16);
	return 40;
}

struct frame frame_new(const struct flow *flow, uint32_t payload)
{
	uint32_t l4 = flow->protocol == IPPROTO_TCP ? 20 : 8, header;
	struct frame frame = {0};
	uint8_t *at = frame.bytes + FRAME_AT_IP;

	memcpy(frame.bytes, frame_mac, 6);
	memcpy(frame.bytes + 6, "\x02\x00\x00\x00\x00\x02", 6);
	fl_store_be16(frame.bytes + 12, fl_address_is_ipv4(&flow->destination) ? 0x0800 : 0x86dd);
	header = write_ip(at, flow, l4 + payload);
	at += header;
	frame.len = FRAME_AT_IP + header + l4 + payload;
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
	if (header == 20)
		frame_fix_checksum(&frame);
	return frame;
}

void frame_insert(struct frame *frame, uint32_t at, const void *bytes, uint32_t count)
{
	if (at > frame->len || frame->len + count > FRAME_MAX)
		abort();
	memmove(frame->bytes + at + count, frame->bytes + at, frame->len - at);
	memcpy(frame->bytes + at, bytes, count);
	frame->len += count;
}

static struct flow flow_between(const char *source, const char *destination, uint8_t protocol)
{
	return (struct flow){.source = image_address(source),
			     .destination = image_address(destination),
			     .source_port = 40000,
			     .destination_port = 80,
			     .protocol = protocol};
}

struct flow frame_flow(uint8_t protocol)
{
	return flow_between("203.0.113.7", "10.99.0.1", protocol);
}

struct flow frame_flow6(uint8_t protocol)
{
	return flow_between("2001:db8:7::7", "2001:db8:99::1", protocol);
}

struct packet frame_classify(const struct lookup *lookup, const struct frame *frame, uint32_t visible)
{
	uint8_t *bytes = malloc(visible ? visible : 1);
	struct packet packet;

	if (!bytes)
		abort();
	memset(&packet, 0xee, sizeof(packet));
	memcpy(bytes, frame->bytes, visible);
	classify(lookup, mac_word(frame_mac), bytes, visible, frame->len, &packet);
	free(bytes);
	return packet;
}

struct rte_mbuf *frame_wrap_with(const struct frame *frame, uint32_t tailroom)
{
	struct rte_mbuf *mbuf = aligned_alloc(64, sizeof(*mbuf));
	uint8_t *buffer = malloc(FRAME_HEADROOM + frame->len + tailroom);

	if (!mbuf || !buffer)
		abort();
	memset(mbuf, 0, sizeof(*mbuf));
	memcpy(buffer + FRAME_HEADROOM, frame->bytes, frame->len);
	mbuf->buf_addr = buffer;
	mbuf->buf_len = (uint16_t)(FRAME_HEADROOM + frame->len + tailroom);
	mbuf->data_off = FRAME_HEADROOM;
	mbuf->data_len = (uint16_t)frame->len;
	mbuf->pkt_len = frame->len;
	mbuf->nb_segs = 1;
	return mbuf;
}

struct rte_mbuf *frame_wrap(const struct frame *frame)
{
	return frame_wrap_with(frame, 0);
}

void frame_unwrap(struct rte_mbuf *mbuf)
{
	free(mbuf->buf_addr);
	free(mbuf);
}
