/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lists: random bursts of services with one bucket and with two, whose buckets have up to six former
 * owners, against an oracle that handles each packet by itself and writes its bytes from scratch.
 */
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "packet/burst.h"
#include "ring/backend.h"
#include "ring/lists.h"
#include "service/tables.h"
#include "steering/hunt/hunt.h"
#include "steering/othello/arrays.h"
#include "steering/othello/othello.h"
#include "steering/othello/pair.h"
#include "steering/ring/steering_ring.h"
#include "frame.h"
#include "gue_bytes.h"
#include "image.h"

enum {
	BUCKETS = 1024,
	BACKENDS = 40,
	NOW = 1700000100,
	RING = 0, /* numbers of services */
	IPV4,     /* the same, of a pool without IPv6 */
	HUNT,
	OTHELLO,
	SERVICES,
	BURSTS = 20000,
	TAILROOM = 128, /* as real buffers have: the longest header takes more than the headroom */
	CUT = 7,        /* in place of a number of former owners: there was no room for them */
};

static const struct fl_siphash_key tag_key = {11, 12};

/* By the last digit of a backend's address: 7 has no next hop, 8 is a loop, 5 is in a VLAN, 3 has a small MTU. */
static void hop_of(void *context, const struct fl_address *address, struct next_hop *out)
{
	uint8_t digit = address->bytes[15] % 10;

	image_hop(context, address, out);
	out->resolved = digit != 7;
	out->loop = digit == 8;
	out->vlan = digit == 5 ? 100 : 0;
	out->mtu = digit == 3 ? 300 : out->mtu;
}

static const struct next_hops hops = {.context = &image_wire, .lookup = hop_of};

/* Who had a bucket before, newest first. */
struct former {
	uint8_t count;
	uint16_t id[FL_LIST_MAX];
};

struct world {
	struct tables *tables;
	struct service *services[SERVICES];
	struct delta snapshots[SERVICES];
	struct former former[SERVICES][BUCKETS];
	uint32_t narrowest[SERVICES];
};

static struct service_config config_of(unsigned i)
{
	struct service_config config = image_config((uint16_t)(i + 1), "10.99.0.1", BUCKETS);

	snprintf(config.name, sizeof(config.name), "service%u", i);
	config.steering = i == HUNT ? &steering_hunt : i == OTHELLO ? &steering_othello : &steering_ring;
	if (i != OTHELLO) /* which is for TCP alone */
		config.ports[config.ports_count++] = (struct service_port){IPPROTO_UDP, 80};
	config.vips[0].bytes[15] = (uint8_t)(i + 1);
	config.vips_count = 2;
	config.vips[1] = image_address("2001:db8:99::1");
	config.vips[1].bytes[15] = (uint8_t)(i + 1);
	config.mptcp = (struct mptcp_ports){20000, 20000 + BACKENDS};
	return config;
}

/* Some buckets have no backend; half of most pools is IPv6. */
static struct delta random_snapshot(struct chance *chance, unsigned i)
{
	struct delta snapshot = image_snapshot((uint16_t)(i + 1), 9, BUCKETS, BACKENDS);

	for (uint32_t b = 0; b < BACKENDS && i != IPV4; b += 2) {
		snapshot.backends[b].address = image_address("2001:db8:1::");
		snapshot.backends[b].address.bytes[15] = (uint8_t)(b + 21);
	}
	snapshot.backends[30].flags = FL_BACKEND_REMOVED;
	for (uint32_t b = 0; b < BUCKETS; b++) {
		image_own(&snapshot, b, (uint16_t)chance_below(chance, BACKENDS + 1));
		if (chance_below(chance, 2))
			image_own(&snapshot, b, (uint16_t)(2 + 2 * chance_below(chance, 3))); /* IPv4, and usable */
	}
	return snapshot;
}

static const struct fl_address *address_of(const struct world *world, unsigned i, uint16_t id)
{
	return &world->snapshots[i].backends[id - 1].address;
}

static bool is_known(uint16_t id)
{
	return id >= 1 && id <= BACKENDS;
}

/* Another than the first n and the owner. */
static uint16_t random_former(struct chance *chance, const struct former *former, uint32_t n, uint16_t owner)
{
	uint16_t id = (uint16_t)(1 + chance_below(chance, BACKENDS));

	for (uint32_t i = 0; i < n; i++)
		if (former->id[i] == id)
			return random_former(chance, former, n, owner);
	return id == owner ? random_former(chance, former, n, owner) : id;
}

/* Gives each bucket of a snapshot a history. */
static void list_former(struct delta *snapshot, struct former *list, struct chance *chance)
{
	for (uint32_t b = 0; b < BUCKETS; b++) {
		struct former *former = &list[b];
		struct history history = {.count = 0};
		const uint16_t owner = snapshot->image.current[b];
		uint32_t number;

		former->count = (uint8_t)(chance_below(chance, 2) ? 0 : chance_below(chance, FL_LIST_MAX + 2));
		for (uint32_t n = 0; former->count != CUT && n < former->count; n++) {
			former->id[n] = random_former(chance, former, n, owner);
			history_append(&history, former->id[n], NOW - n);
		}
		assert_int_equal(histories_add(&snapshot->image.histories, &history, &number), 0);
		image_put(&snapshot->image, b, owner, number);
	}
}

/* As if the table of lists had had no room for some. */
static void cut(struct ring *ring, const struct former *list)
{
	for (uint32_t b = 0; b < BUCKETS; b++)
		if (list[b].count == CUT)
			ring->rows[b] |= (fl_row)FL_LIST_LATE << 24;
}

static struct next_hop hop_to(const struct delta *snapshot, uint16_t id)
{
	struct next_hop hop = {0};

	if (!(snapshot->backends[id - 1].flags & FL_BACKEND_REMOVED))
		hop_of(&image_wire, &snapshot->backends[id - 1].address, &hop);
	return hop;
}

static void world_new(struct world *world, struct chance *chance)
{
	const struct fl_address self = image_address("10.1.0.1"), none = {{0}};
	struct reason why = {{0}};

	*world = (struct world){.tables = tables_new(1, &hops)};
	assert_non_null(world->tables);
	assert_int_equal(tables_set_self(world->tables, &self, &none, &(struct tag_keys){tag_key, {tag_key, tag_key}}),
			 0);
	for (unsigned i = 0; i < SERVICES; i++) {
		struct service_config config = config_of(i);
		struct othello_pair *pair = NULL;

		if (i == OTHELLO)
			pair = othello_pair_new(image_arrays(chance, 9, 50, 40, config.hash, BUCKETS),
						image_arrays(chance, 5, 40, 50, config.hash, BUCKETS), false);
		world->snapshots[i] = random_snapshot(chance, i);
		list_former(&world->snapshots[i], world->former[i], chance);
		if (tables_add(world->tables, &config, &world->services[i], &why) ||
		    tables_load(world->tables, world->services[i], &world->snapshots[i], pair, &why))
			fail_msg("%s", why.text);
		cut(service_ring(world->services[i]), world->former[i]);
		world->narrowest[i] = 0xffff;
		for (uint16_t id = 1; id <= BACKENDS; id++) {
			struct next_hop hop = hop_to(&world->snapshots[i], id);

			if (hop.mtu && hop.mtu < world->narrowest[i])
				world->narrowest[i] = hop.mtu;
		}
	}
}

static void world_free(struct world *world)
{
	tables_free(world->tables);
	for (unsigned i = 0; i < SERVICES; i++)
		image_free(&world->snapshots[i]);
}

/* The definition of protocol/README.md, 12. */
static uint32_t code(const struct othello_arrays *arrays, uint64_t hash)
{
	struct fl_othello_key key = fl_othello_key_make(arrays->hash, hash, arrays->seed);
	uint64_t a = (uint64_t)key.low * arrays->na / 0x100000000ULL,
		 b = (uint64_t)key.high * arrays->nb / 0x100000000ULL;

	return othello_arrays_cell(arrays, (uint32_t)a) ^ othello_arrays_cell(arrays, arrays->na + (uint32_t)b);
}

struct wanted {
	enum verdict verdict;
	uint32_t second, moved, mtu;
	uint32_t len;
	uint8_t bytes[GUE_BYTES_MAX];
};

struct sent {
	struct flow flow;
	struct frame frame;
	bool is_syn;
};

static bool has(const struct fl_list *list, const struct fl_address *to, const struct fl_address *address)
{
	for (uint32_t n = 0; n < list->count; n++)
		if (fl_address_equal(address, &list->candidate[n]))
			return true;
	return fl_address_equal(address, to);
}

static void name(struct fl_list *list, const struct fl_address *to, const struct fl_address *address)
{
	if (has(list, to, address))
		return;
	if (list->count == FL_LIST_MAX) {
		list->flags |= FL_LIST_LATE;
		return;
	}
	list->candidate[list->count++] = *address;
	list->left = list->count;
}

static void name_former(const struct world *world, unsigned i, uint32_t bucket, const struct fl_address *to,
			struct fl_list *list)
{
	const struct former *former = &world->former[i][bucket];

	if (former->count == CUT)
		list->flags |= FL_LIST_LATE;
	for (uint32_t n = 0; former->count != CUT && n < former->count; n++)
		name(list, to, address_of(world, i, former->id[n]));
}

/* Both buckets of a packet; the same, if it has one, as a SYN by arrays has. */
static void buckets_of(const struct world *world, unsigned i, const struct sent *sent, uint32_t bucket[2])
{
	const struct flow *flow = &sent->flow;
	uint64_t hash = service_flow_hash(world->services[i], flow);
	const struct othello_pair *pair = i == OTHELLO ? othello_pair_of(world->services[i]) : NULL;

	bucket[0] = pair ? code(pair->newest, hash) : (uint32_t)hash % BUCKETS;
	bucket[1] = bucket[0];
	if (flow->protocol == IPPROTO_TCP && i == OTHELLO && !sent->is_syn)
		bucket[1] = code(pair->previous, hash);
	if (flow->protocol == IPPROTO_TCP && i == HUNT)
		bucket[1] = (uint32_t)(hash >> 32) % BUCKETS;
}

/* The whole list; present: how many owners of second buckets it names. */
static struct fl_list list_of(const struct world *world, unsigned i, const struct sent *sent,
			      const struct fl_address *to, uint32_t *present)
{
	const struct delta *snapshot = &world->snapshots[i];
	struct fl_list list = {.inner_protocol =
				   fl_address_is_ipv4(&sent->flow.source) ? FL_LIST_GUE_IPV4 : FL_LIST_GUE_IPV6,
			       .service = (uint16_t)(i + 1),
			       .generation = 9};
	uint32_t bucket[2];
	bool has_second;

	*present = 0;
	if (sent->flow.destination_port != 80)
		return list;
	buckets_of(world, i, sent, bucket);
	has_second = bucket[0] != bucket[1] && is_known(snapshot->image.current[bucket[1]]) &&
		     !hop_to(snapshot, snapshot->image.current[bucket[1]]).loop;
	if (has_second)
		name(&list, to, address_of(world, i, snapshot->image.current[bucket[1]]));
	*present = list.count;
	if (sent->is_syn)
		return list;
	name_former(world, i, bucket[0], to, &list);
	if (bucket[0] != bucket[1])
		name_former(world, i, bucket[1], to, &list);
	return list;
}

static enum verdict verdict_of(const struct next_hop *hop)
{
	if (hop->loop)
		return VERDICT_BACKEND_LOOP;
	return hop->resolved ? VERDICT_SERVICE : VERDICT_NO_NEIGHBOUR;
}

/* By the packet's port or its bucket. */
static uint16_t backend_of(const struct world *world, unsigned i, const struct sent *sent)
{
	const struct flow *flow = &sent->flow;
	const struct delta *snapshot = &world->snapshots[i];
	uint16_t id = (uint16_t)(flow->destination_port - 20000);
	uint32_t bucket[2];

	if (flow->destination_port != 80)
		return is_known(id) && !(snapshot->backends[id - 1].flags & FL_BACKEND_REMOVED) ? id : 0;
	buckets_of(world, i, sent, bucket);
	return snapshot->image.current[bucket[0]];
}

static struct wanted want(const struct world *world, unsigned i, const struct sent *sent,
			  const struct fl_siphash_key *key)
{
	const struct delta *snapshot = &world->snapshots[i];
	struct gue_bytes bytes = {.mac = {2, 0},
				  .hash = (uint32_t)service_flow_hash(world->services[i], &sent->flow),
				  .tag_key = key,
				  .inner = sent->frame.bytes + FRAME_AT_IP,
				  .inner_len = (uint16_t)(sent->frame.len - FRAME_AT_IP)};
	struct wanted wanted = {.verdict = VERDICT_NO_BACKEND};
	uint16_t id = backend_of(world, i, sent);
	struct next_hop hop;
	struct fl_list list;
	uint32_t len;

	if (sent->flow.destination_port != 80)
		wanted.verdict = VERDICT_NO_BACKEND_ID;
	if (!is_known(id))
		return wanted;
	hop = hop_to(snapshot, id);
	wanted.verdict = verdict_of(&hop);
	if (wanted.verdict != VERDICT_SERVICE)
		return wanted;
	bytes.to = *address_of(world, i, id);
	list = list_of(world, i, sent, &bytes.to, &wanted.second);
	wanted.moved = list.count > wanted.second;
	list.flags |= tag_key_flags(key);
	list.flags |= fl_address_is_ipv4(&bytes.to) ? 0 : FL_LIST_IPV6;
	for (uint32_t n = 0; n < list.count; n++)
		list.flags |= fl_address_is_ipv4(&list.candidate[n]) ? 0 : FL_LIST_IPV6;
	bytes.source = hop.source;
	bytes.vlan = hop.vlan;
	bytes.list = &list;
	memcpy(bytes.mac + 2, bytes.to.bytes + 12, 4);
	wanted.len = gue_bytes_build(&bytes, wanted.bytes);
	len = 28 + 12 + list.count * (list.flags & FL_LIST_IPV6 ? 16U : 4U) + (key ? 8 : 0);
	if (bytes.inner_len + len + (fl_address_is_ipv4(&bytes.to) ? 0 : 20) > hop.mtu ||
	    (list.count && bytes.inner_len + len + (list.flags & FL_LIST_IPV6 ? 20 : 0) > world->narrowest[i])) {
		wanted.verdict = VERDICT_TOO_BIG;
		wanted.second = wanted.moved = 0;
		/* one report is enough, whatever moves do later */
		wanted.mtu = world->narrowest[i] - (i == IPV4 ? 64 : 156) - (key ? 8 : 0);
	}
	return wanted;
}

static struct flow random_flow(struct chance *chance, unsigned service)
{
	uint8_t protocol = chance_below(chance, 4) || service == OTHELLO ? IPPROTO_TCP : IPPROTO_UDP;
	struct flow flow = chance_below(chance, 3) ? frame_flow(protocol) : frame_flow6(protocol);

	flow.source_port = (uint16_t)(1 + chance_below(chance, 65535));
	flow.destination_port = (uint16_t)(20001 + chance_below(chance, BACKENDS));
	if (protocol == IPPROTO_UDP || chance_below(chance, 10))
		flow.destination_port = 80;
	flow.source.bytes[15] = (uint8_t)chance_below(chance, 250);
	flow.destination.bytes[15] = (uint8_t)(service + 1);
	return flow;
}

/* Makes a packet of the service an ICMP error about one to its client; over IPv4. */
static void quote(struct sent *sent)
{
	uint8_t *ip = sent->frame.bytes + FRAME_AT_IP, *icmp = sent->frame.bytes + FRAME_AT_L4, *inner = icmp + 8;

	sent->frame = frame_new(&sent->flow, 32); /* room for an IP header and 8 bytes more, behind UDP too */
	memset(icmp, 0, sent->frame.len - FRAME_AT_L4);
	icmp[0] = 3;
	memcpy(inner, ip, 20);
	memcpy(inner + 12, ip + 16, 4);
	memcpy(inner + 16, ip + 12, 4);
	fl_store_be16(inner + 20, sent->flow.destination_port);
	fl_store_be16(inner + 22, sent->flow.source_port);
	ip[9] = IPPROTO_ICMP;
	frame_fix_checksum(&sent->frame);
}

static void random_sent(struct chance *chance, unsigned service, struct sent *sent)
{
	bool ipv6;

	*sent = (struct sent){.flow = random_flow(chance, service)};
	ipv6 = !fl_address_is_ipv4(&sent->flow.source);
	sent->frame = frame_new(&sent->flow, chance_below(chance, 8) ? chance_below(chance, 100) : 200);
	if (!ipv6 && !chance_below(chance, 8)) {
		quote(sent);
	} else if (sent->flow.protocol == IPPROTO_TCP && !chance_below(chance, 8)) {
		sent->is_syn = true;
		sent->frame.bytes[(ipv6 ? FRAME_AT_L46 : FRAME_AT_L4) + 13] |= 2;
	}
}

static void check_packet(const struct burst *burst, uint32_t i, const struct sent *sent, const struct wanted *wanted)
{
	const struct rte_mbuf *mbuf = burst->mbufs[i];
	const uint8_t *out = rte_pktmbuf_mtod(mbuf, const uint8_t *), *inner = sent->frame.bytes + FRAME_AT_IP;
	uint32_t inner_len = sent->frame.len - FRAME_AT_IP;
	uint8_t verdict = burst->packets[i].verdict;

	if (wanted->verdict == VERDICT_TOO_BIG && verdict == VERDICT_TOO_BIG_SILENT)
		verdict = VERDICT_TOO_BIG; /* of an ICMP error */
	assert_int_equal(verdict, wanted->verdict);
	if (verdict == VERDICT_TOO_BIG)
		assert_int_equal(burst->packets[i].mtu, wanted->mtu);
	if (verdict != VERDICT_SERVICE)
		return;
	assert_int_equal(mbuf->data_len, wanted->len + inner_len);
	assert_memory_equal(out, wanted->bytes, wanted->len);
	assert_memory_equal(out + wanted->len, inner, inner_len);
}

/* What was met. */
struct tally {
	uint32_t lengths[FL_LIST_MAX + 1], verdicts[VERDICTS_ALL], late, tagged, seconds;
};

static void count(struct tally *tally, const struct wanted *wanted)
{
	const uint8_t *gue = wanted->bytes + FRAME_AT_IP + (wanted->bytes[12] == 0x86 ? 48 : 28);

	tally->verdicts[wanted->verdict]++;
	if (wanted->verdict != VERDICT_SERVICE || wanted->bytes[12] == 0x81)
		return;
	tally->lengths[gue[FL_LIST_AT_FLAGS] >> 4]++;
	tally->late += gue[FL_LIST_AT_FLAGS] / FL_LIST_LATE & 1;
	tally->tagged += gue[FL_LIST_AT_FLAGS] & FL_LIST_TAG;
	tally->seconds += wanted->second;
}

static void check_burst(struct chance *chance, const struct world *world, struct burst *burst, struct tally *tally)
{
	static struct sent sent[BURST_MAX];
	static struct wanted wanted[BURST_MAX];
	unsigned only = chance_below(chance, 2 * SERVICES);
	uint32_t seconds = 0, moved = 0;

	burst->count = 1 + chance_below(chance, BURST_MAX);
	burst->tag_flags = chance_below(chance, 3) ? 0 : tag_key_flags(&tag_key);
	for (uint32_t i = 0; i < burst->count; i++) {
		unsigned service = only < SERVICES ? only : chance_below(chance, SERVICES);

		random_sent(chance, service, &sent[i]);
		wanted[i] = want(world, service, &sent[i], burst->tag_flags ? &tag_key : NULL);
		burst->mbufs[i] = frame_wrap_with(&sent[i].frame, TAILROOM);
		count(tally, &wanted[i]);
	}
	burst_steer(burst);
	for (uint32_t i = 0; i < burst->count; i++) {
		check_packet(burst, i, &sent[i], &wanted[i]);
		seconds += wanted[i].second;
		moved += wanted[i].moved;
		frame_unwrap(burst->mbufs[i]);
	}
	assert_int_equal(burst->second, seconds);
	assert_int_equal(burst->moved, moved);
}

static void bursts_equal_single_packets(void **state)
{
	static const uint64_t seeds[] = {1, 20261129, 77, 4711};
	static struct world world;
	struct tally tally = {.late = 0};

	(void)state;
	for (size_t s = 0; s < sizeof(seeds) / sizeof(seeds[0]); s++) {
		struct chance chance = {seeds[s]};
		struct burst burst = {
		    .mac = mac_word(frame_mac),
		    .now = NOW,
		};

		world_new(&world, &chance);
		burst.lookup = tables_lookup(world.tables);
		for (int i = 0; i < BURSTS / 4; i++)
			check_burst(&chance, &world, &burst, &tally);
		world_free(&world);
	}
	for (int n = 0; n <= FL_LIST_MAX; n++)
		assert_true(tally.lengths[n] > 1000);
	assert_true(tally.late > 1000 && tally.tagged > 1000 && tally.seconds > 1000);
	assert_true(tally.verdicts[VERDICT_TOO_BIG] > 1000 && tally.verdicts[VERDICT_NO_NEIGHBOUR] > 1000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(bursts_equal_single_packets)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
