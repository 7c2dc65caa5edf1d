/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A frame from outside through all stages of the packet path. Input: one byte of how much of the frame stands in the
 * first buffer, one of the headroom, then the frame; its destination MAC is made ours, since anything else ends at
 * once. Whatever it is, the verdict must be one that exists, nothing may be read or written outside the buffer, and a
 * steered packet must carry a header that servers accept, in front of the inner packet as it came.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "../burst.h"
#include "../encap.h"
#include "../lookup.h"
#include "../tables.h"
#include "../tests/image.h"

enum { HEADROOM_MAX = 128, FRAME_MAX = 4096 };

static const uint8_t mac[6] = {2, 0, 0, 0, 0, 1};
static struct tables *tables;

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	static struct next_hop hop = {.resolved = true, .mtu = 1600, .source = {10, 1, 0, 11}};
	static const struct next_hops hops = {.context = &hop, .lookup = image_hop};
	struct service_config config = image_config(1, "10.99.0.1", 256);
	struct delta snapshot = image_snapshot(1, 3, 256, 5);
	struct service *service;
	struct why why;

	(void)argc;
	(void)argv;
	config.ports_count = 2;
	config.ports[1] = (struct service_port){17, 443};
	for (uint32_t i = 0; i < 256; i += 2) {
		snapshot.previous[i] = (uint16_t)(1 + i % 7);
		snapshot.since[i] = 1700000000;
	}
	snapshot.current[1] = 0;
	tables = tables_new(1, &hops);
	if (!tables || tables_add(tables, &config, &service, &why) || tables_load(tables, service, &snapshot, &why))
		__builtin_trap();
	image_free(&snapshot);
	return 0;
}

static void check_steered(const struct rte_mbuf *mbuf, const struct packet *packet, const uint8_t *frame, size_t len)
{
	const uint8_t *out = rte_pktmbuf_mtod(mbuf, const uint8_t *);
	struct fl_steer header;

	if (fl_steer_parse(out + ENCAP_AT_GUE, out + mbuf->data_len, &header) != FL_STEER_OK)
		__builtin_trap();
	if (packet->ip_len > len - ENCAP_AT_IP || packet->ip_len + ENCAP_AT_GUE + header.header_len != mbuf->data_len)
		__builtin_trap();
	if (memcmp(out + ENCAP_AT_GUE + header.header_len, frame + ENCAP_AT_IP, packet->ip_len))
		__builtin_trap();
}

static void fix_checksum(uint8_t *frame, size_t len)
{
	uint8_t *ip = frame + ENCAP_AT_IP;
	size_t header = len > ENCAP_AT_IP ? (ip[0] & 15) * 4U : 0;
	uint32_t sum = 0;

	if (header < 20 || len < ENCAP_AT_IP + header)
		return;
	fl_store_be16(ip + 10, 0);
	for (size_t i = 0; i < header; i += 2)
		sum += fl_load_be16(ip + i);
	while (sum >> 16)
		sum = (sum & 0xffff) + (sum >> 16);
	fl_store_be16(ip + 10, (uint16_t)~sum);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct rte_mbuf mbuf = {.nb_segs = 1};
	struct burst burst;
	size_t len, visible, headroom;
	uint8_t *buffer, *frame;

	if (size < 3 || size > FRAME_MAX)
		return 0;
	len = size - 2;
	visible = data[0] < 200 ? len : len * (data[0] - 199U) / 57;
	headroom = data[1] < 128 ? HEADROOM_MAX : data[1] - 128U;
	buffer = malloc(headroom + visible + !(headroom + visible));
	frame = malloc(len);
	if (!buffer || !frame)
		__builtin_trap();
	memcpy(frame, data + 2, len);
	memcpy(frame, mac, len < sizeof(mac) ? len : sizeof(mac));
	if (data[0] & 1)
		fix_checksum(frame, len);
	memcpy(buffer + headroom, frame, visible);
	mbuf.buf_addr = buffer;
	mbuf.buf_len = (uint16_t)(headroom + visible);
	mbuf.data_off = (uint16_t)headroom;
	mbuf.data_len = (uint16_t)visible;
	mbuf.pkt_len = (uint32_t)len;

	burst.lookup = tables_lookup(tables);
	burst.mac = mac_word(mac);
	burst.now = 1700000100;
	burst.count = 1;
	burst.mbufs[0] = &mbuf;
	burst_steer(&burst);
	if (burst.packets[0].verdict >= VERDICTS)
		__builtin_trap();
	if (burst.packets[0].verdict == VERDICT_SERVICE && visible < len)
		__builtin_trap();
	if (burst.packets[0].verdict == VERDICT_SERVICE)
		check_steered(&mbuf, &burst.packets[0], frame, len);
	free(frame);
	free(buffer);
	return 0;
}
