/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A received frame beside common ones in a burst, by each path of a packet (burst.h): all must end as by the reference.
 * Input: one byte whose bits ask for a tag, a repaired checksum, IPv6 neighbours, neighbours of other services,
 * neighbours of two services alike, and neighbours by SRv6; one byte for the frame's lane (three bits) and the length of
 * the burst; then the frame, whose destination MAC is set to ours. On a machine each path that the processor has.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "encap/encap.h"
#include "host/mac.h"
#include "packet/burst.h"
#include "flow/lanes.h"
#include "service/tables.h"
#include "steering/steering.h"
#include "../tests/frame.h"
#include "../tests/image.h"

enum {
	LEAST = 2,
	HEADROOM = 128,
	NOW = 1700000100,
	TAG = 1, /* bits of the first byte */
	REPAIR = 2,
	IPV6 = 4,
	MIXED = 8,
	TWO = 16,
	SRV6 = 32,
	FRAMES_MAX = 20, /* two groups and a part of one */
};

static const struct fl_siphash_key tag_key = {1, 2};
static struct tables *tables;

struct run {
	struct burst burst;
	struct rte_mbuf mbufs[FRAMES_MAX];
	uint8_t *buffers[FRAMES_MAX];
};

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void serve(uint16_t id, enum fl_hash_kind hash, const struct encap *encap)
{
	struct service_config config = image_config(id, "10.99.0.0", 256);
	struct delta snapshot = image_snapshot(id, 3, 256, 6);
	struct service *service;
	struct reason why;

	config.name[0] = (char)('a' + id);
	config.name[1] = 0;
	config.vips[0].bytes[15] = (uint8_t)id;
	config.ports_count = 2;
	config.ports[1] = (struct service_port){17, 443};
	config.hash = hash;
	config.encap = encap;
	if (encap != &encap_ipip) {
		config.vips_count = 2;
		config.vips[1] = image_address("2001:db8:99::");
		config.vips[1].bytes[15] = (uint8_t)id;
	}
	for (uint8_t i = 0; encap == &encap_srv6 && i < 6; i++) {
		snapshot.backends[i].address = image_address("2001:db8:1::");
		snapshot.backends[i].address.bytes[15] = (uint8_t)(i + 1);
	}
	for (uint32_t i = 0; i < 256; i += 16) {
		image_was(&snapshot, i, (uint16_t)(i % 32 ? 7 : 1 + (i + 1) % 6), NOW - 10);
	}
	image_own(&snapshot, 1, 0);
	if (tables_add(tables, &config, &service, &why) || tables_load(tables, service, &snapshot, NULL, &why))
		__builtin_trap();
	image_free(&snapshot);
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	static struct next_hop hop = {.resolved = true, .mtu = 300, .source = {{[10] = 0xff, 0xff, 10, 1, 0, 11}}};
	static const struct next_hops hops = {.context = &hop, .lookup = image_hop};

	(void)argc;
	(void)argv;
	tables = tables_new(1, &hops);
	if (!tables)
		__builtin_trap();
	serve(1, FL_HASH_SIPHASH, &encap_gue);
	serve(2, FL_HASH_CRC32, &encap_gue);
	serve(3, FL_HASH_SIPHASH, &encap_ipip);
	serve(4, FL_HASH_SIPHASH, &encap_gue);
	serve(5, FL_HASH_SIPHASH, &encap_srv6);
	return 0;
}

/* One of the common frames beside the input. */
static struct frame neighbour(uint8_t bits, uint32_t lane)
{
	struct flow flow = bits & IPV6 ? frame_flow6(6) : frame_flow(6);

	flow.source_port = (uint16_t)(1000 + lane);
	if (bits & MIXED && !(bits & IPV6))
		flow.destination.bytes[15] = (uint8_t)(1 + lane % 3);
	else if (bits & TWO)
		flow.destination.bytes[15] = lane % 2 ? 1 : 4;
	else if (bits & SRV6)
		flow.destination.bytes[15] = 5;
	return frame_new(&flow, 4);
}

static void put(struct run *run, uint32_t lane, const struct frame *frame)
{
	struct rte_mbuf *mbuf = &run->mbufs[lane];

	run->buffers[lane] = malloc(HEADROOM + frame->len);
	if (!run->buffers[lane])
		__builtin_trap();
	memcpy(run->buffers[lane] + HEADROOM, frame->bytes, frame->len);
	*mbuf = (struct rte_mbuf){.nb_segs = 1,
				  .buf_addr = run->buffers[lane],
				  .buf_len = (uint16_t)(HEADROOM + frame->len),
				  .data_off = HEADROOM,
				  .data_len = (uint16_t)frame->len,
				  .pkt_len = frame->len};
	run->burst.mbufs[lane] = mbuf;
}

static void steer(struct run *run, enum burst_path path, uint8_t bits, const struct frame *frame, uint8_t place)
{
	uint32_t count = 1 + place / LANES % FRAMES_MAX, at = place % LANES % count;

	memset(&run->burst, 0, sizeof(run->burst));
	for (uint32_t lane = 0; lane < count; lane++) {
		struct frame common = neighbour(bits, lane);

		put(run, lane, lane == at ? frame : &common);
	}
	run->burst.lookup = tables_lookup(tables);
	run->burst.tag_flags = bits & TAG ? tag_key_flags(&tag_key) : 0;
	run->burst.mac = mac_word(frame_mac);
	run->burst.now = NOW;
	run->burst.count = count;
	burst_steer_by(&run->burst, path);
}

static void compare(const struct run *wanted, const struct run *found)
{
	for (uint32_t i = 0; i < wanted->burst.count; i++) {
		const struct packet *a = &wanted->burst.packets[i], *b = &found->burst.packets[i];
		const struct rte_mbuf *x = &wanted->mbufs[i], *y = &found->mbufs[i];

		if (a->verdict != b->verdict || x->data_off != y->data_off || x->data_len != y->data_len ||
		    x->pkt_len != y->pkt_len ||
		    memcmp((uint8_t *)x->buf_addr + x->data_off, (uint8_t *)y->buf_addr + y->data_off, x->data_len))
			__builtin_trap();
		if (a->verdict == VERDICT_SERVICE &&
		    (a->service != b->service || a->port != b->port || a->ip_len != b->ip_len || a->hash != b->hash ||
		     a->bucket != b->bucket || a->flags != b->flags))
			__builtin_trap();
	}
	if (wanted->burst.bytes != found->burst.bytes || wanted->burst.moved != found->burst.moved)
		__builtin_trap();
}

static void end(struct run *run)
{
	for (uint32_t i = 0; i < run->burst.count; i++)
		free(run->buffers[i]);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct run wanted, found;
	static struct frame frame;

	if (size < LEAST + 1 || size > FRAME_MAX)
		return 0;
	frame.len = (uint32_t)(size - LEAST);
	memcpy(frame.bytes, data + LEAST, frame.len);
	memcpy(frame.bytes, frame_mac, frame.len < sizeof(frame_mac) ? frame.len : sizeof(frame_mac));
	if (data[0] & REPAIR && frame.len >= FRAME_AT_L4 && (frame.bytes[FRAME_AT_IP] & 15) == 5)
		frame_fix_checksum(&frame);
	steer(&wanted, BURST_REFERENCE, data[0], &frame, data[1]);
	for (int path = BURST_REFERENCE + 1; path < BURST_PATHS; path++) {
		if (!burst_paths[path].has_cpu())
			continue;
		steer(&found, path, data[0], &frame, data[1]);
		compare(&wanted, &found);
		end(&found);
	}
	end(&wanted);
	return 0;
}
