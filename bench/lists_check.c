/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The header of lists.h, one packet and one byte after another, and lanes beside it: random bursts of random worlds must
 * end alike by both, to the last byte. In calm worlds all that may stay in lanes has to.
 */
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config/options.h"
#include "frame.h"
#include "image.h"
#include "lists.h"
#include "packet/lanes.h"
#include "ring/backend.h"
#include "service/tables.h"
#include "steering/steering.h"

enum {
	BUCKETS = 256,
	BACKENDS = 40,
	SERVICES = 3,
	LISTS = 100,
	BURSTS = 100, /* of a world */
	NOW = 1700000000,
	TYPE_AT = 12,
	SHORTEST = 20, /* payload, below which packets leave their lanes */
};

struct lists lists;
uint64_t lists_written_alone;

/* How many owners are listed: the row's, and of these, if the control thread is late, those within the window. */
static uint32_t count_of(const struct burst *burst, const struct packet *packet)
{
	const struct list_past *past = &lists.past[lists_get(lists.list, packet->row) - lists.list];
	uint32_t count = packet->flags & PACKET_SYN ? 0 : lists_count(packet->row);

	if (burst->now < lists_until(packet->service))
		return count;
	while (count && past->since[count - 1] + LISTS_WINDOW <= burst->now)
		count--;
	return count;
}

static bool is_too_big(const struct packet *packet, const struct backend *backend, uint32_t count, uint32_t len)
{
	uint32_t narrowest = backends_narrowest(packet->backends), more = 0;

	if (count && narrowest & BACKENDS_IPV6)
		more = ENCAP_IPV6_LEN - ENCAP_IPV4_LEN;
	return packet->ip_len + len - ENCAP_AT_IP + more > (count ? (uint16_t)narrowest : backend->mtu);
}

static enum verdict encap_one(const struct burst *burst, uint32_t i)
{
	struct rte_mbuf *mbuf = burst->mbufs[i];
	const struct packet *packet = &burst->packets[i];
	const struct backend *backend = &packet->backends->rows[fl_row_current(packet->row)];
	uint32_t count = count_of(burst, packet), len = LISTS_PLAIN_LEN + count * LISTS_ADDRESS_LEN;
	uint32_t ip_len = len - ENCAP_AT_IP + packet->ip_len;
	uint8_t head[GUE_AT_GUE + FL_LIST_MAX_LEN];
	struct fl_list list = {
	    .inner_protocol = packet->flags & PACKET_IPV6 ? FL_LIST_GUE_IPV6 : FL_LIST_GUE_IPV4,
	    .count = (uint8_t)count,
	    .left = (uint8_t)count,
	    .service = packet->service->id,
	    .generation = packet->generation,
	};

	if (backend_state(backend) != BACKEND_READY)
		return backend_state(backend) == BACKEND_ABSENT ? VERDICT_NO_BACKEND : VERDICT_NO_NEIGHBOUR;
	if (backend->outer.plain != ENCAP_PLAIN_GUE)
		lists_die("no backend of these worlds is reached by IPv6 or has a VLAN");
	if (count > FL_LIST_MAX)
		lists_die("a row's list is too long");
	if (is_too_big(packet, backend, count, len))
		return VERDICT_TOO_BIG;
	memcpy(head, backend->outer.head, ENCAP_AT_IP + ENCAP_IPV4_LEN);
	head[ENCAP_AT_IP + 1] = packet->tos;
	fl_store_be16(head + ENCAP_AT_IP + 2, (uint16_t)ip_len);
	fl_store_be16(head + ENCAP_AT_IP + 10, 0);
	fl_store_be16(head + ENCAP_AT_IP + 10, (uint16_t)~encap_sum(head + ENCAP_AT_IP, ENCAP_IPV4_LEN));
	fl_store_be16(head + GUE_AT_UDP, fl_outer_source_port((uint32_t)packet->hash));
	fl_store_be16(head + GUE_AT_UDP + 2, FL_GUE_PORT);
	fl_store_be16(head + GUE_AT_UDP + 4, (uint16_t)(ip_len - ENCAP_IPV4_LEN));
	fl_store_be16(head + GUE_AT_UDP + 6, 0);
	for (uint32_t n = 0; n < count; n++) {
		list.candidate[n] = (struct fl_address){{[10] = 0xff, 0xff}};
		memcpy(list.candidate[n].bytes + 12,
		       list_begin(lists_get(lists.list, packet->row), lists_count(packet->row)) + n, LISTS_ADDRESS_LEN);
	}
	fl_list_write(&list, head + GUE_AT_GUE);
	mbuf->data_off = (uint16_t)(mbuf->data_off - (len - packet->at_ip));
	mbuf->data_len = (uint16_t)(len + packet->ip_len);
	mbuf->pkt_len = mbuf->data_len;
	memcpy(rte_pktmbuf_mtod(mbuf, uint8_t *), head, len);
	return VERDICT_SERVICE;
}

void lists_encap_rest(struct burst *burst, uint32_t first, uint32_t end, uint32_t written)
{
	for (uint32_t i = first; i < end; i++) {
		struct packet *packet = &burst->packets[i];
		const struct backend *backend;
		uint32_t frame_len = burst->mbufs[i]->pkt_len;

		if (packet->verdict != VERDICT_SERVICE || written >> (i - first) & 1)
			continue;
		backend = &packet->backends->rows[fl_row_current(packet->row)];
		packet->verdict = (uint8_t)encap_one(burst, i);
		if (packet->verdict != VERDICT_SERVICE)
			continue;
		burst->moved += count_of(burst, packet) > 0;
		burst->bytes += frame_len;
		packet->port = backend->port; /* overwrites the table of backends (union) */
		lists_written_alone++;
	}
}

/* One set of services; both sides read it. */
struct world {
	struct chance chance;
	bool is_calm; /* nothing is amiss */
	struct tables *tables;
	struct steering_states steering;
	struct list *list;
	struct list_past *past;
};

static bool is_calm; /* for hop_of() */

/* By the last digit of a backend's address: 7 is unresolved, 3 has an MTU of 600, 1 another port. */
static void hop_of(void *context, const struct fl_address *address, struct next_hop *out)
{
	uint8_t last = address->bytes[15] % 10;

	image_hop(context, address, out);
	if (is_calm)
		return;
	if (last == 7)
		*out = (struct next_hop){.resolved = false};
	else if (last == 3)
		out->mtu = 600;
	else if (last == 1)
		out->port++;
}

static void make_lists(struct world *world)
{
	world->list = aligned_alloc(64, LISTS * sizeof(*world->list));
	world->past = calloc(LISTS, sizeof(*world->past));
	if (!world->list || !world->past)
		lists_die("no memory for lists");
	for (uint32_t i = 0; i < LISTS; i++) {
		uint32_t count = i % (FL_LIST_MAX + 1);

		memset(&world->list[i], 0xff, sizeof(*world->list)); /* which no packet may have */
		for (uint32_t n = 0, since = NOW; n < count; n++) {
			world->past[i].id[n] = (uint16_t)(1 + chance_below(&world->chance, BACKENDS));
			world->past[i].since[n] = since -= chance_below(&world->chance, 100);
			world->list[i].address[FL_LIST_MAX - count + n] = (uint32_t)chance_next(&world->chance);
		}
	}
}

static uint16_t random_owner(struct world *world)
{
	static const uint16_t odd[] = {FL_BACKEND_NONE, 50, 64, 65535}; /* absent within the table, and beyond it */

	if (world->is_calm || chance_below(&world->chance, 50))
		return (uint16_t)(1 + chance_below(&world->chance, BACKENDS - 1));
	return odd[chance_below(&world->chance, 4)];
}

static void serve(struct world *world, uint16_t id)
{
	struct service_config config = image_config(id, "10.98.0.0", BUCKETS);
	struct delta snapshot = image_snapshot(id, id + 10U + ((uint32_t)id << 24), BUCKETS, BACKENDS);
	uint32_t shares = chance_below(&world->chance, 4); /* how many buckets of four may have lists */
	struct service *service;
	struct reason why;
	struct ring *ring;

	snprintf(config.name, sizeof(config.name), "service%u", id);
	config.key.k0 += id;
	config.vips[0].bytes[15] = (uint8_t)id;
	config.vips[1] = image_address("2001:db8:99::");
	config.vips[1].bytes[15] = (uint8_t)id;
	config.vips_count = 2;
	config.ports[1] = (struct service_port){IPPROTO_UDP, 443};
	config.ports_count = 2;
	if (!world->is_calm && chance_below(&world->chance, 4) == 0) /* which owns nothing */
		snapshot.backends[BACKENDS - 1].address = image_address("2001:db8:1::1");
	if (tables_add(world->tables, &config, &service, &why) || tables_load(world->tables, service, &snapshot, &why))
		lists_die(why.text);
	image_free(&snapshot);
	ring = service_ring(service);
	for (uint32_t i = 0; i < BUCKETS; i++) {
		uint32_t list = chance_below(&world->chance, 4) < shares ? chance_below(&world->chance, LISTS) : 0;

		ring->rows[i] = lists_row(random_owner(world), list % (FL_LIST_MAX + 1), list);
	}
	service->moved_seconds = world->is_calm || chance_below(&world->chance, 4) ? NOW + 1 : NOW;
}

static struct world *world_new(uint64_t seed, bool calm)
{
	static const struct next_hops hops = {.context = &image_wire, .lookup = hop_of};
	static const struct options options;
	struct world *world = calloc(1, sizeof(*world));
	struct reason why;

	if (!world)
		lists_die("no memory for a world");
	*world = (struct world){.chance = {seed | 1}, .is_calm = calm, .tables = tables_new(1, &hops)};
	is_calm = calm;
	if (!world->tables || steering_start(&world->steering, 0, &options, &why))
		lists_die("no memory for tables");
	tables_set_options(world->tables, &options);
	make_lists(world);
	lists = (struct lists){world->list, world->past, chance_below(&world->chance, 2)};
	for (uint16_t id = 1; id <= SERVICES; id++)
		serve(world, id);
	return world;
}

static void world_free(struct world *world)
{
	steering_stop(&world->steering);
	tables_free(world->tables);
	free(world->list);
	free(world->past);
	free(world);
}

/* A packet of random size and class to a service. */
static struct frame random_frame(struct world *world, uint16_t service, uint8_t protocol, bool ipv6)
{
	struct flow flow = ipv6 ? frame_flow6(protocol) : frame_flow(protocol);
	struct chance *chance = &world->chance;
	struct frame frame;
	uint32_t payload, padding;

	flow.destination = ipv6 ? image_address("2001:db8:99::") : image_address("10.98.0.0");
	flow.destination.bytes[15] = (uint8_t)service;
	flow.destination_port = protocol == IPPROTO_TCP ? 80 : 443;
	flow.source_port = (uint16_t)(1 + chance_below(chance, 65535));
	flow.source.bytes[15] = (uint8_t)chance_next(chance);
	payload = chance_below(chance, 2) ? chance_below(chance, 1500) : chance_below(chance, 40);
	frame = frame_new(&flow, world->is_calm ? SHORTEST + payload : payload);
	if (protocol == IPPROTO_TCP && !chance_below(chance, 4))
		frame.bytes[(ipv6 ? FRAME_AT_L46 : FRAME_AT_L4) + 13] |= 2; /* SYN */
	if (ipv6) {
		frame.bytes[FRAME_AT_IP] = (uint8_t)(0x60 | chance_below(chance, 16));
	} else {
		frame.bytes[FRAME_AT_IP + 1] = (uint8_t)chance_next(chance);
		if (!world->is_calm && !chance_below(chance, 20))
			frame.bytes[FRAME_AT_IP + 8] = (uint8_t)chance_below(chance, 2); /* TTL */
		frame_fix_checksum(&frame);
	}
	if (!world->is_calm && !chance_below(chance, 50))
		frame.bytes[TYPE_AT] = 0; /* no IP packet */
	padding = chance_below(chance, 20);
	memset(frame.bytes + frame.len, 0, padding);
	frame.len += padding;
	return frame;
}

static void compare(const struct burst *wanted, const struct burst *found)
{
	if (found->bytes != wanted->bytes || found->moved != wanted->moved)
		lists_die("counts differ");
	for (uint32_t i = 0; i < wanted->count; i++) {
		const struct packet *a = &wanted->packets[i], *b = &found->packets[i];
		const struct rte_mbuf *a_out = wanted->mbufs[i], *b_out = found->mbufs[i];
		uint8_t port = found->one ? found->one_port : b->port;

		if (found->one ? a->verdict != VERDICT_SERVICE : a->verdict != b->verdict)
			lists_die("verdicts differ");
		if (a->verdict == VERDICT_SERVICE && a->port != port)
			lists_die("ports differ");
		if (a_out->data_off != b_out->data_off || a_out->data_len != b_out->data_len ||
		    a_out->pkt_len != b_out->pkt_len ||
		    memcmp(rte_pktmbuf_mtod(a_out, const uint8_t *), rte_pktmbuf_mtod(b_out, const uint8_t *),
			   a_out->data_len))
			lists_die("bytes differ");
	}
}

static void check_burst(struct world *world, struct burst *general, struct burst *lanes)
{
	struct chance *chance = &world->chance;
	uint32_t count = chance_below(chance, 4) ? BURST_MAX : 1 + chance_below(chance, BURST_MAX), alone;
	bool several = chance_below(chance, 2), ipv6 = chance_below(chance, 3) == 0;
	uint16_t service = (uint16_t)(1 + chance_below(chance, SERVICES));

	general->count = lanes->count = count;
	lanes->is_brief = chance_below(chance, 2);
	lanes->avoid = 0;
	for (uint32_t i = 0; i < count; i++) {
		uint8_t protocol = chance_below(chance, 3) ? IPPROTO_TCP : IPPROTO_UDP;
		struct frame frame;

		if (several)
			service = (uint16_t)(1 + chance_below(chance, SERVICES));
		frame = random_frame(world, service, protocol, ipv6 != (!world->is_calm && !chance_below(chance, 30)));
		general->mbufs[i] = frame_wrap(&frame);
		lanes->mbufs[i] = frame_wrap(&frame);
	}
	lists_steer_by(general, BURST_REFERENCE);
	alone = (uint32_t)lists_written_alone;
	lists_steer_by(lanes, BURST_LANES);
	alone = (uint32_t)lists_written_alone - alone;
	compare(general, lanes);
	if (world->is_calm && !(several && ipv6) && alone != count % LANES)
		lists_die("packets left their lanes");
	for (uint32_t i = 0; i < count; i++) {
		frame_unwrap(general->mbufs[i]);
		frame_unwrap(lanes->mbufs[i]);
	}
}

void lists_check(uint64_t seed, uint32_t worlds)
{
	static struct burst general, lanes;
	const uint16_t mtu = image_wire.mtu;

	for (uint32_t i = 0; i < worlds; i++) {
		struct world *world;

		image_wire.mtu = i % 2 ? 9000 : 1600;
		world = world_new((seed << 32) + i * 2 + 1, i % 2);
		general = lanes = (struct burst){.lookup = tables_lookup(world->tables),
						 .steering = &world->steering,
						 .mac = mac_word(frame_mac),
						 .now = NOW};
		for (int burst = 0; burst < BURSTS; burst++)
			check_burst(world, &general, &lanes);
		world_free(world);
	}
	image_wire.mtu = mtu;
}
