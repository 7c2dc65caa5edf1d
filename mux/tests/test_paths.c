/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The paths of a packet beside the reference (burst.h): the same bursts by each, through tables and workers' states of
 * their own, must end alike to the last byte, bit and counter. Bursts are of random frames (random_frame.h), of packets that
 * are all alike, and of these with one that differs or with single bits inverted, so that each check of a lane is met.
 * One side is told that brief results will do.
 *
 *	test_paths [--bursts N] [--seed N]
 */
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>

#include <rte_eal.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "config/options.h"
#include "encap/encap.h"
#include "host/port.h"
#include "packet/burst.h"
#include "flow/lanes.h"
#include "ring/backend.h"
#include "ring/lists.h"
#include "service/tables.h"
#include "steering/hunt/hunt.h"
#include "steering/maat/maat.h"
#include "steering/othello/arrays.h"
#include "steering/othello/othello.h"
#include "steering/othello/pair.h"
#include "random_frame.h"

enum {
	BUCKETS = 4096,
	BACKENDS = 30,
	TAILROOM = 64,
	IPIP = 3,               /* the service with this encapsulation */
	SRV6 = RANDOM_VIPS + 6, /* the same, with IPv6 neighbours alone, of which one is foreign */
	MORE = 6,               /* services beside those of random frames, whose packets all may stay in lanes */
	SERVICES = RANDOM_VIPS + MORE,
	SIDES = 2 * BURST_PATHS, /* each path, and each with brief results */
};

static uint32_t now; /* Unix seconds: sometimes the end of a window is beyond their wrap */
static uint64_t bursts = 60000, seed = 1;
static uint64_t brief[BURST_PATHS]; /* bursts whose result was brief */

static const struct fl_siphash_key tag_key = {1, 2};
static const struct options options;

struct side {
	struct tables *tables;
	struct burst burst;
};

static bool is_ready; /* no backend is unresolved, or absent, or was removed */

/* By the last digit of a backend's address: 7 may be unresolved, 5 has a VLAN, 3 an MTU of 600, 1 another port. */
static void hop_of(void *context, const struct fl_address *address, struct next_hop *out)
{
	uint8_t last = address->bytes[15] % 10;

	image_hop(context, address, out);
	if (last == 7 && !is_ready)
		*out = (struct next_hop){.resolved = false};
	else if (last == 5)
		out->vlan = 100;
	else if (last == 3)
		out->mtu = 600;
	else if (last == 1)
		out->port++;
}

/* Random former owners for some buckets, or all, in place of the snapshot's. */
static void list_former(const struct service *service, struct chance *chance)
{
	struct lists *lists = service_ring(service)->listed->lists;
	static const uint32_t ratios[] = {1, 2, 50};
	const uint32_t listed = ratios[chance_below(chance, 3)];
	struct ring *ring = service_ring(service);
	const bool has_ipv6 = backends_narrowest(ring->backends) & BACKENDS_IPV6;
	const bool is_srv6 = ring->backends->encap == &encap_srv6;

	for (uint32_t i = 0; i < ring_buckets(ring); i++) {
		const fl_row before = ring->rows[i];
		const struct backend *owner = backends_get(ring->backends, fl_row_current(before));
		struct fl_list former = {.count = (uint8_t)chance_below(chance, FL_LIST_MAX + 1),
					 .flags = owner && owner->outer.ipv6 ? FL_LIST_IPV6 : 0};

		if (chance_below(chance, listed))
			continue;
		for (uint32_t n = 0; n < former.count; n++) {
			const bool is_ipv6 = is_srv6 || (has_ipv6 && chance_below(chance, 2));

			former.candidate[n] = image_address(is_ipv6 ? "2001:db8:1::" : "10.1.0.0");
			former.candidate[n].bytes[15] =
			    (uint8_t)(100 + 9 * n + chance_below(chance, 9)); /* all differ */
			former.flags |= is_ipv6 ? FL_LIST_IPV6 : 0;
		}
		ring->rows[i] = lists_row(lists, fl_row_current(before), &former);
		lists_drop(lists, before);
		if (!chance_below(chance, 50)) { /* there was no room for it */
			lists_drop(lists, ring->rows[i]);
			ring->rows[i] = fl_row_current(before) | (fl_row)FL_LIST_LATE << 24;
		}
	}
}

/* None, one, or two: of the same places, of others, also with one seed, or after the hash's low bits. Of 7 to 12 bits. */
static struct othello_pair *random_pair(struct chance *chance, enum fl_hash_kind hash)
{
	const uint32_t kind = chance_below(chance, 6), na = 1U << chance_below(chance, 6),
		       nb = hash == FL_HASH_CRC32 ? na : 1 + chance_below(chance, 64);
	struct othello_arrays *newest, *previous = NULL;

	if (kind == 0)
		return NULL;
	newest = image_arrays(chance, 9, na, nb, hash, BUCKETS / na);
	if (kind > 2)
		previous =
		    image_arrays(chance, 5, kind == 4 ? 2 * na : na, kind == 5 ? 2 * nb : nb, hash, BUCKETS / na);
	if (kind == 3 || (kind > 3 && chance_below(chance, 2)))
		previous->seed = newest->seed;
	return othello_pair_new(newest, previous, kind == 2);
}

/* So that SYNs go to second buckets' owners, too. */
static void load_backends(struct maat *maat, struct chance *chance)
{
	for (uint32_t id = 1; id <= BACKENDS; id++) {
		const float score = (float)chance_below(chance, 4);

		memcpy(&maat->loads->scores[id], &score, sizeof(score));
	}
}

static void load(struct tables *tables, const struct service_config *config, struct chance *chance)
{
	struct delta snapshot = image_snapshot(config->id, config->id + 10U, config->buckets, BACKENDS);
	static const uint32_t ratios[] = {1, 2, 50};
	static const uint16_t unknown[] = {50, 64, 65535}; /* absent within the table, the first and last beyond it */
	uint32_t moved = ratios[chance_below(chance, 3)];  /* one bucket in so many; if all, lately */
	bool is_calm = chance_below(chance, 2);
	const bool is_srv6 = config->encap == &encap_srv6;
	struct service *service;
	struct reason why = {{0}};

	for (uint32_t i = 0; i < config->buckets; i++) {
		uint16_t previous = (uint16_t)(chance_below(chance, moved) ? 0 : 1 + chance_below(chance, BACKENDS));

		if (!chance_below(chance, 200))
			previous = unknown[chance_below(chance, 3)];
		image_was(&snapshot, i, previous, now - (moved == 1 || chance_below(chance, 2) ? 10 : 1000));
		if (is_calm) { /* all can be sent by one port */
			image_own(&snapshot, i, (uint16_t)(2 + 2 * chance_below(chance, 2)));
			continue;
		}
		if (!chance_below(chance, 100))
			image_own(&snapshot, i, FL_BACKEND_NONE);
		else if (!chance_below(chance, 300))
			image_own(&snapshot, i, unknown[is_ready + chance_below(chance, 3U - is_ready)]);
		else if (chance_below(chance, 3))
			image_own(&snapshot, i, 2); /* ready, by IPv4 */
	}
	for (uint32_t i = 0; i < config->buckets; i++) /* an owner is not in its bucket's history */
		if (image_previous(&snapshot, i) == snapshot.image.current[i])
			image_was(&snapshot, i, FL_BACKEND_NONE, 0);
	for (uint32_t i = 0; i < BACKENDS && config->id > RANDOM_VIPS; i++) /* each has backends of its own */
		snapshot.backends[i].address.bytes[14] = (uint8_t)config->id;
	if (!is_ready)
		snapshot.backends[20].flags = FL_BACKEND_REMOVED;
	snapshot.image.closed_until = chance_below(chance, 2); /* 0: a hold */
	for (uint32_t i = is_srv6 ? 0 : 10;
	     i < BACKENDS && config->encap != &encap_ipip && (is_srv6 || chance_below(chance, 2));
	     i += is_srv6 ? 1 : 2) {
		snapshot.backends[i].address = image_address("2001:db8:1::");
		snapshot.backends[i].address.bytes[15] = (uint8_t)(i + 21);
	}
	if (is_srv6)
		snapshot.backends[3].flags |= FL_BACKEND_FOREIGN;
	if (tables_add(tables, config, &service, &why) ||
	    tables_load(tables, service, &snapshot,
			config->steering == &steering_othello ? random_pair(chance, config->hash) : NULL, &why))
		fail_msg("%s", why.text);
	if (config->steering == &steering_maat)
		load_backends(maat_of(service), chance);
	image_free(&snapshot);
	if (chance_below(chance, 2))
		list_former(service, chance);
}

static struct fl_address vip_of(uint32_t id)
{
	static const struct fl_address more = {{[10] = 0xff, 0xff, 10, 98, 0, 0}};
	struct fl_address vip = more;

	if (id <= RANDOM_VIPS)
		return image_address(random_vips[id - 1]);
	vip.bytes[15] = (uint8_t)id;
	return vip;
}

/* The first one, and those beside random frames', are as most are except for a setting. */
static struct service_config config_of(uint16_t id)
{
	struct service_config config = image_config(id, "10.98.0.0", BUCKETS);

	snprintf(config.name, sizeof(config.name), "service%u", id);
	config.vips[0] = vip_of(id);
	config.key.k0 += id;
	config.ports_count = 3;
	config.ports[1] = (struct service_port){IPPROTO_UDP, 443};
	config.ports[2] = (struct service_port){IPPROTO_UDP, 53};
	if (id != IPIP) { /* which has IPv4 alone */
		config.vips_count = 2;
		config.vips[1] = image_address(random_vips6[0]);
		config.vips[1].bytes[15] = (uint8_t)id;
	}
	switch (id) {
	case 1:
		config.mss = 1200;
		break;
	case 2:
		config.hash = FL_HASH_CRC32;
		config.affinity = AFFINITY_CLIENT;
		config.stateless_udp = true;
		config.mptcp = (struct mptcp_ports){20000, 20060};
		break;
	case IPIP:
		config.encap = &encap_ipip;
		break;
	case 4:
		config.ports_count = 1;
		config.steering = &steering_othello;
		break;
	case 5:
		config.steering = &steering_maat;
		config.maat = (struct maat_settings){MAAT_PACKETS, 10, 1000, 1024, 2};
		break;
	case 6:
		config.steering = &steering_hunt;
		config.quic = (struct quic_server_id){.offset = 1, .length = 1};
		break;
	case 7:
		config.window = 5;
		break;
	case 8:
		config.affinity = AFFINITY_CLIENT;
		config.mss = 900;
		break;
	case 9:
		config.stateless_udp = true;
		break;
	case 10:
		config.quic = (struct quic_server_id){.offset = 1, .length = 1};
		break;
	case SRV6:
		config.encap = &encap_srv6;
		break;
	default:
		config.hash = FL_HASH_CRC32;
		config.window = 3600;
	}
	return config;
}

static void side_new(struct side *side, uint64_t chances, unsigned number)
{
	static const struct next_hops hops = {.context = &image_wire, .lookup = hop_of};
	const struct fl_address self = image_address(RANDOM_SELF), self6 = image_address(RANDOM_SELF6);
	struct chance chance = {chances};

	*side = (struct side){.tables = tables_new(1, &hops)};
	assert_non_null(side->tables);
	assert_int_equal(tables_set_self(side->tables, &self, &self6, &(struct tag_keys){tag_key, {tag_key, tag_key}}),
			 0);
	side->tables->options = &options;
	for (uint16_t id = 1; id <= SERVICES; id++) {
		struct service_config config = config_of(id);

		if (config.steering == &steering_othello && chance_below(&chance, 2))
			config.hash = FL_HASH_CRC32;
		load(side->tables, &config, &chance);
	}
	tables_close_windows(side->tables, now);
	side->burst = (struct burst){
	    .lookup = tables_lookup(side->tables), .mac = mac_word(frame_mac), .is_brief = number >= BURST_PATHS};
}

static void side_free(struct side *side)
{
	tables_free(side->tables);
}

/* A packet as most are: to one service, of random length. */
static struct frame plain(struct chance *chance, uint8_t protocol, uint32_t vip, bool ipv6)
{
	struct flow flow = ipv6 ? frame_flow6(protocol) : frame_flow(protocol);
	const bool is_of_few = chance_below(chance, 2); /* connections, so that a group has several packets of one */

	flow.destination = ipv6 ? image_address(random_vips6[0]) : vip_of(vip + 1);
	if (ipv6)
		flow.destination.bytes[15] = (uint8_t)(vip + 1);
	flow.destination_port = protocol == IPPROTO_TCP ? 80 : 443;
	flow.source_port = (uint16_t)(1 + chance_below(chance, is_of_few ? 3 : 65535));
	flow.source.bytes[14] = is_of_few ? 1 : (uint8_t)chance_next(chance);
	flow.source.bytes[15] = is_of_few ? 1 : (uint8_t)chance_next(chance);
	return frame_new(&flow, chance_below(chance, 4) ? 0 : chance_below(chance, 700));
}

/* A SYN with the option that a service's mss may change. */
static void make_syn(struct frame *frame)
{
	static const uint8_t mss[] = {2, 4, 0x05, 0xb4};
	uint32_t at = frame->bytes[12] == 0x86 ? FRAME_AT_L46 : FRAME_AT_L4;
	uint8_t *tcp = frame->bytes + at;

	tcp[13] |= 2;
	if (frame->len < at + 24)
		return;
	tcp[12] = 6 << 4;
	memcpy(tcp + 20, mss, sizeof(mss));
}

/* Padding behind the IP packet, as Ethernet has. */
static void pad(struct chance *chance, struct frame *frame)
{
	uint32_t bytes = chance_below(chance, 20);

	memset(frame->bytes + frame->len, 0, bytes);
	frame->len += bytes;
}

static uint32_t make_frames(struct chance *chance, struct frame frames[BURST_MAX])
{
	uint32_t count = chance_below(chance, 4) ? BURST_MAX : 1 + chance_below(chance, BURST_MAX);
	bool ipv6 = !chance_below(chance, 3);
	uint32_t kind = chance_below(chance, 9), vip = chance_below(chance, SERVICES);
	uint8_t protocol = chance_below(chance, 3) ? IPPROTO_TCP : IPPROTO_UDP;

	for (uint32_t i = 0; i < count; i++) {
		if (kind == 0) {
			random_frame(chance, &frames[i]);
			continue;
		}
		if (kind == 1) { /* several services and protocols */
			vip = chance_below(chance, SERVICES);
			protocol = chance_below(chance, 3) ? IPPROTO_TCP : IPPROTO_UDP;
		}
		if (kind == 8) /* of which all may stay in lanes */
			vip = chance_below(chance, 8) ? RANDOM_VIPS + chance_below(chance, MORE) : 0;
		if (kind == 5 && !chance_below(chance, 10))
			ipv6 = !ipv6;
		frames[i] = plain(chance, protocol, vip, ipv6);
		if (kind == 2 && !chance_below(chance, 10))
			random_frame(chance, &frames[i]);
		if (kind == 3 && !chance_below(chance, 8))
			random_damage(chance, ipv6, &frames[i]);
		if ((kind == 4 || kind == 8) && protocol == IPPROTO_TCP && !chance_below(chance, 8))
			make_syn(&frames[i]);
		if (!chance_below(chance, 4))
			pad(chance, &frames[i]);
	}
	return count;
}

/* An mbuf of the frame with so much headroom; some have their last bytes elsewhere. */
static struct rte_mbuf *wrap(const struct frame *frame, uint32_t headroom, uint32_t elsewhere, uint32_t tailroom)
{
	struct rte_mbuf *mbuf = frame_wrap_with(frame, tailroom);

	mbuf->buf_addr = (uint8_t *)mbuf->buf_addr + mbuf->data_off - headroom;
	mbuf->buf_len = (uint16_t)(mbuf->buf_len - mbuf->data_off + headroom);
	mbuf->data_off = (uint16_t)headroom;
	if (elsewhere && elsewhere < mbuf->data_len)
		mbuf->data_len = (uint16_t)(mbuf->data_len - elsewhere);
	return mbuf;
}

static void unwrap(struct rte_mbuf *mbuf, uint32_t headroom)
{
	mbuf->buf_addr = (uint8_t *)mbuf->buf_addr + headroom - FRAME_HEADROOM;
	frame_unwrap(mbuf);
}

/* Fields of a steered packet that are set afterwards; the others are of earlier stages or of the padding of a union. */
static bool same_packet(const struct packet *a, const struct packet *b, const struct side *of_a,
			const struct side *of_b)
{
	return a->flags == b->flags && a->at_ip == b->at_ip && a->tos == b->tos && a->at_l4 == b->at_l4 &&
	       a->hash == b->hash && a->bucket == b->bucket && a->generation == b->generation && a->row == b->row &&
	       of_a->tables->registry.count && of_b->tables->registry.count;
}

static void compare(const struct side *general, const struct side *other, uint32_t i)
{
	const struct burst *a = &general->burst, *b = &other->burst;
	const struct packet *wanted = &a->packets[i], *found = &b->packets[i];
	const struct rte_mbuf *wanted_out = a->mbufs[i], *found_out = b->mbufs[i];
	bool is_steered = wanted->verdict == VERDICT_SERVICE;

	if (b->one) {
		assert_int_equal(wanted->verdict, VERDICT_SERVICE);
		assert_int_equal(wanted->service->id, b->one->id);
		assert_int_equal(wanted->port, b->one_port);
	} else {
		assert_int_equal(found->verdict, wanted->verdict);
	}
	assert_int_equal(found_out->data_off, wanted_out->data_off);
	assert_int_equal(found_out->data_len, wanted_out->data_len);
	assert_int_equal(found_out->pkt_len, wanted_out->pkt_len);
	assert_memory_equal(rte_pktmbuf_mtod(found_out, const uint8_t *), rte_pktmbuf_mtod(wanted_out, const uint8_t *),
			    wanted_out->data_len);
	if (b->one || !is_steered)
		return;
	assert_int_equal(found->ip_len, wanted->ip_len);
	assert_int_equal(found->port, wanted->port);
	assert_int_equal(found->service->id, wanted->service->id);
	if (!b->is_brief)
		assert_true(same_packet(found, wanted, other, general));
}

static void compare_bursts(const struct side *general, const struct side *other)
{
	const struct burst *a = &general->burst, *b = &other->burst;
	uint32_t ip_bytes = 0;

	for (uint32_t i = 0; i < a->count; i++) {
		compare(general, other, i);
		ip_bytes += a->packets[i].ip_len;
	}
	assert_int_equal(b->bytes, a->bytes);
	assert_int_equal(b->moved, a->moved);
	assert_int_equal(b->second, a->second);
	assert_int_equal(b->second_first, a->second_first);
	assert_int_equal(b->second_syns, a->second_syns);
	assert_true(!b->one || (b->is_brief && b->ip_bytes == ip_bytes));
}

static void check(struct chance *chance, struct side sides[SIDES])
{
	static struct frame frames[BURST_MAX];
	uint32_t headrooms[BURST_MAX], count = make_frames(chance, frames);
	const uint8_t tag_flags = chance_below(chance, 4) ? 0 : tag_key_flags(&tag_key);
	bool has_odd_buffers = chance_below(chance, 2);
	uint32_t tailroom = chance_below(chance, 2) ? TAILROOM : 0; /* without: no byte behind a frame may be read */

	for (int s = 0; s < SIDES; s++) {
		sides[s].burst.count = count;
		sides[s].burst.tag_flags = tag_flags;
		sides[s].burst.avoid = chance_below(chance, 8) ? 0 : sides[s].burst.avoid;
		sides[s].burst.now = now;
	}
	for (uint32_t i = 0; i < count; i++) {
		bool is_odd = has_odd_buffers && !chance_below(chance, 40);
		uint32_t elsewhere = is_odd && chance_below(chance, 2) ? 1 + chance_below(chance, 60) : 0;

		headrooms[i] = is_odd ? chance_below(chance, FRAME_HEADROOM) : FRAME_HEADROOM;
		for (int s = 0; s < SIDES; s++)
			sides[s].burst.mbufs[i] = wrap(&frames[i], headrooms[i], elsewhere, tailroom);
	}
	for (int s = 0; s < SIDES; s++) {
		if (!burst_paths[s % BURST_PATHS].has_cpu() || s == BURST_PATHS + BURST_REFERENCE)
			continue;
		burst_steer_by(&sides[s].burst, (enum burst_path)(s % BURST_PATHS));
		if (s != BURST_REFERENCE)
			compare_bursts(&sides[BURST_REFERENCE], &sides[s]);
		brief[s % BURST_PATHS] += !!sides[s].burst.one;
	}
	for (uint32_t i = 0; i < count; i++)
		for (int s = 0; s < SIDES; s++)
			unwrap(sides[s].burst.mbufs[i], headrooms[i]);
}

static void all_paths_equal_the_reference(void **state)
{
	static struct side sides[SIDES];
	struct chance chance = {seed};
	uint64_t steered[VERDICTS_ALL] = {0};

	(void)state;
	for (uint64_t n = 0; n < bursts; n++) {
		if (n % 1000 == 0) {
			uint64_t chances = chance_next(&chance) | 1;

			now = n % 3000 ? 1700000000 : UINT32_MAX - 1;
			is_ready = chance_below(&chance, 2);
			for (unsigned s = 0; s < SIDES; s++) {
				if (n)
					side_free(&sides[s]);
				side_new(&sides[s], chances, s);
			}
		}
		check(&chance, sides);
		for (uint32_t i = 0; i < sides[BURST_REFERENCE].burst.count; i++)
			steered[sides[BURST_REFERENCE].burst.packets[i].verdict]++;
	}
	for (unsigned s = 0; s < SIDES; s++)
		side_free(&sides[s]);
	for (int path = 0; path < BURST_PATHS; path++)
		print_message("# %s: %s, %lu bursts of one service and port\n", burst_paths[path].name,
			      burst_paths[path].has_cpu() ? "compared" : "not compared, the processor can't",
			      (unsigned long)brief[path]);
	for (unsigned v = 0; v < VERDICTS; v++)
		print_message("# %-20s %lu\n", verdict_name(v), (unsigned long)steered[v]);
	assert_true(steered[VERDICT_SERVICE] > bursts);
}

/* By the test above. */
static void lanes_are_compared(void **state)
{
	(void)state;
#ifdef __x86_64__
	if (!__builtin_cpu_supports("avx2")) { /* the least processor that DPDK is built for */
		assert_int_equal(burst_path, BURST_REFERENCE);
		return;
	}
#endif
	assert_true(burst_path > BURST_REFERENCE);
	for (int path = BURST_REFERENCE + 1; path < BURST_PATHS; path++)
		assert_true(!burst_paths[path].has_cpu() || brief[path] > bursts / 300);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(all_paths_equal_the_reference),
	    cmocka_unit_test(lanes_are_compared),
	};
	static struct options environment = {.memory = 64, .no_huge = true, .workers = 1};
	struct reason why = {{0}};
	int failed;

	for (int i = 1; i + 1 < argc; i += 2)
		*(strcmp(argv[i], "--seed") ? &bursts : &seed) = strtoull(argv[i + 1], NULL, 10);
	if (!bursts || !seed || argc % 2 == 0) {
		fprintf(stderr, "usage: test_paths [--bursts N] [--seed N], neither 0\n");
		return 2;
	}
	if (ports_environment(&environment, &why)) {
		fprintf(stderr, "%s\n", why.text);
		return 1;
	}
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	rte_eal_cleanup();
	return failed;
}
