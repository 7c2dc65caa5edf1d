/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A received frame through all stages of the packet path. Input: one byte for how much of the frame is in the first
 * buffer, one for the headroom, then the frame; its destination MAC is set to ours, since any other frame is rejected
 * at once. For any input, the verdict must exist, nothing may be read or written outside the buffer, a steered packet
 * must carry a header that servers accept, followed by the unchanged inner packet, and an answer must be a whole
 * packet.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <rte_ring.h>

#include "packet/answer.h"
#include "host/mac.h"
#include "packet/burst.h"
#include "encap/gue.h"
#include "fragment/fragments.h"
#include "service/lookup.h"
#include "service/tables.h"
#include "steering/hunt/hunt.h"
#include "steering/maat/maat.h"
#include "steering/othello/othello.h"
#include "steering/othello/pair.h"
#include "../tests/image.h"
#include "../tests/sent.h"

enum { HEADROOM_MAX = 128, FRAME_MAX = 4096 };

static const uint8_t mac[6] = {2, 0, 0, 0, 0, 1};
static const struct fl_siphash_key tag_key = {1, 2};
static struct tables *tables;
static struct fragments *fragments;

/* The same pool and ring; packets have two buckets, and each other one of them has the second one first. */
static void serve_maat(const struct delta *snapshot)
{
	struct service_config config = image_config(3, "10.99.0.3", 256);
	struct service *service;
	struct delta own = *snapshot;
	struct reason why;

	own.service = 3;
	strcpy(config.name, "maat");
	config.vips_count = 2;
	config.vips[1] = image_address("2001:db8:99::3");
	config.steering = &steering_maat;
	config.maat = (struct maat_settings){MAAT_CONNECTIONS, 0, 1000, 1024, 2};
	if (tables_add(tables, &config, &service, &why) || tables_load(tables, service, &own, NULL, &why))
		__builtin_trap();
	maat_set_mode(service, MAAT_FILTER_RANDOM);
}

/* The same ring, by segment routing to IPv6 servers: the longest headers. */
static void serve_srv6(const struct delta *snapshot)
{
	struct service_config config = image_config(4, "10.99.0.4", 256);
	struct delta own = *snapshot;
	struct fl_delta_backend backends[6];
	struct service *service;
	struct reason why;

	own.service = 4;
	own.backends = backends;
	memcpy(backends, snapshot->backends, sizeof(backends));
	for (int i = 0; i < 6; i++)
		backends[i].address.bytes[0] = 0x20;
	strcpy(config.name, "srv6");
	config.vips_count = 2;
	config.vips[1] = image_address("2001:db8:99::4");
	config.steering = &steering_hunt;
	config.encap = &encap_srv6;
	if (tables_add(tables, &config, &service, &why) || tables_load(tables, service, &own, NULL, &why))
		__builtin_trap();
}

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* The only worker of one of two muxes. */
static void make_fragments(void)
{
	static struct rte_ring *ring;
	const struct fl_address self = image_address("10.1.0.11"), self6 = image_address("2001:db8:1::11");
	const struct fl_address all[2] = {self, image_address("10.1.0.12")};

	ring = aligned_alloc(64, (size_t)rte_ring_get_memsize(FRAGMENTS_RING));
	if (!ring || rte_ring_init(ring, "fuzz", FRAGMENTS_RING, RING_F_SC_DEQ))
		__builtin_trap();
	fragments = fragments_new(0, 1, &ring);
	if (!fragments || tables_set_self(tables, &self, &self6, &(struct tag_keys){tag_key, {tag_key, tag_key}}) ||
	    tables_set_peers(tables, all, 2))
		__builtin_trap();
}

/* A fragment, or a packet that may contain one: it is returned once, at the latest when all waits have expired. */
static void check_fragment(struct burst *burst)
{
	static uint64_t now_ms;
	struct rte_mbuf *mbuf = burst->mbufs[0];
	uint32_t out;

	fragments_take(fragments, burst->lookup, mbuf, &burst->packets[0], ++now_ms);
	now_ms += FRAGMENTS_WAIT_MS;
	fragments_run(fragments, burst->lookup, now_ms);
	out = fragments_ready(fragments, burst) ? burst->count : 0;
	if (out != 1 || burst->mbufs[0] != mbuf || burst->packets[0].verdict >= VERDICTS)
		__builtin_trap();
	burst_steer_classified(burst);
	if (mbuf->data_off + mbuf->data_len > mbuf->buf_len)
		__builtin_trap();
}

/* The same pool and ring; nearly all packets have two buckets. */
static void serve_othello(const struct delta *snapshot)
{
	struct service_config config = image_config(2, "10.99.0.2", 256);
	struct chance chance = {1};
	struct othello_arrays *arrays[2];
	struct service *service;
	struct delta own = *snapshot;
	struct reason why;

	own.service = 2;
	strcpy(config.name, "othello");
	config.vips_count = 2;
	config.vips[1] = image_address("2001:db8:99::2");
	config.steering = &steering_othello;
	for (int i = 0; i < 2; i++)
		arrays[i] = image_arrays(&chance, 2, 50, 40, FL_HASH_SIPHASH, 256);
	if (tables_add(tables, &config, &service, &why) ||
	    tables_load(tables, service, &own, othello_pair_new(arrays[0], arrays[1], false), &why))
		__builtin_trap();
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	static struct next_hop hop = {.resolved = true, .mtu = 300, .source = {{[10] = 0xff, 0xff, 10, 1, 0, 11}}};
	static const struct next_hops hops = {.context = &hop, .lookup = image_hop};
	const struct fl_address self = image_address("10.1.0.1"), none = {{0}}; /* before there are services */
	struct service_config config = image_config(1, "10.99.0.1", 256);
	struct delta snapshot = image_snapshot(1, 3, 256, 6);
	struct service *service;
	struct reason why;

	(void)argc;
	(void)argv;
	config.vips_count = 2;
	config.vips[1] = image_address("2001:db8:99::1");
	for (int i = 0; i < 6; i += 2)
		snapshot.backends[i].address.bytes[0] = 0x20; /* no longer a mapped address: IPv6 */
	config.ports_count = 2;
	config.ports[1] = (struct service_port){17, 443};
	config.mptcp = (struct mptcp_ports){20000, 20010};
	config.quic = (struct quic_server_id){.offset = 1, .length = 1};
	for (uint32_t i = 0; i < 256; i += 2) {
		image_was(&snapshot, i, (uint16_t)(i % 32 ? 7 : 1 + (i + 1) % 6), 1700000000);
	}
	image_own(&snapshot, 1, 0);
	tables = tables_new(1, &hops);
	if (!tables || tables_set_self(tables, &self, &none, &(struct tag_keys){tag_key, {tag_key, tag_key}}) ||
	    tables_add(tables, &config, &service, &why) || tables_load(tables, service, &snapshot, NULL, &why))
		__builtin_trap();
	serve_othello(&snapshot);
	serve_maat(&snapshot);
	serve_srv6(&snapshot);
	image_free(&snapshot);
	make_fragments();
	return 0;
}

static void check_steered(const struct rte_mbuf *mbuf, const struct packet *packet, const uint8_t *frame, size_t len,
			  bool is_tagged)
{
	struct sent sent;

	if (!sent_read(mbuf, &sent) || !sent_is_tagged(&sent, is_tagged ? &tag_key : NULL))
		__builtin_trap();
	if (packet->ip_len > len - packet->at_ip || packet->ip_len != sent.end - sent.inner)
		__builtin_trap();
	if (memcmp(sent.inner, frame + packet->at_ip, packet->ip_len))
		__builtin_trap();
}

/* An answer is no longer than the packet or the least MTU that every path has, and lies inside the buffer. */
static void check_answered(struct rte_mbuf *mbuf, const struct packet *packet)
{
	bool echo = packet->verdict == VERDICT_ECHO;

	if (!(echo ? answer_echo(mbuf, packet) : answer_too_big(mbuf, packet)))
		return;
	if (mbuf->data_len > packet->at_ip + (echo ? packet->ip_len : ANSWER_IPV6_MAX) ||
	    mbuf->data_off + mbuf->data_len > mbuf->buf_len)
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
	burst.worker = 0;
	burst.tag_flags = data[0] & 2 ? tag_key_flags(&tag_key) : 0;
	burst.mac = mac_word(mac);
	burst.now = 1700000100;
	burst.count = 1;
	burst.mbufs[0] = &mbuf;
	burst_steer(&burst);
	if (burst.packets[0].verdict >= VERDICTS_ALL)
		__builtin_trap();
	if (burst.packets[0].verdict >= VERDICTS) {
		check_fragment(&burst);
		free(frame);
		free(buffer);
		return 0;
	}
	if (burst.packets[0].verdict == VERDICT_SERVICE && visible < len)
		__builtin_trap();
	if (burst.packets[0].verdict == VERDICT_ECHO || burst.packets[0].verdict == VERDICT_TOO_BIG)
		check_answered(&mbuf, &burst.packets[0]);
	if (burst.packets[0].verdict == VERDICT_SERVICE)
		check_steered(&mbuf, &burst.packets[0], frame, len, data[0] & 2);
	free(frame);
	free(buffer);
	return 0;
}
