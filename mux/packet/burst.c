/* SPDX-License-Identifier: Apache-2.0 */
#include "packet/burst.h"

#include <rte_branch_prediction.h>
#include <rte_prefetch.h>

#include "packet/classify.h"
#include "packet/classify_common.h"
#include "packet/codes.h"
#include "packet/flow_hash.h"
#include "packet/flow_hash_batch.h"
#include "packet/halves.h"
#include "packet/lanes.h"
#include "ring/backend.h"
#include "service/service.h"
#include "packet/order.h"
#include "steering/steering.h"

enum {
	AHEAD = 4,  /* packets whose headers are fetched while earlier ones are classified */
	FEW = 3,    /* packets in lanes, below which */
	AVOID = 31, /* groups do not try */
};

_Static_assert((int)BURST_GROUP == (int)FLOW_HASH_BATCH_MAX, "a group's hashes are computed at once");

enum burst_path burst_path;
const char *const burst_path_names[] = {"reference", "scalar", "avx512"};

static __attribute__((constructor)) void choose_path(void)
{
	burst_path = lanes_has_cpu() ? BURST_LANES : BURST_SCALAR;
}

static inline const uint8_t *bytes_of(const struct rte_mbuf *mbuf)
{
	return rte_pktmbuf_mtod(mbuf, const uint8_t *);
}

/* The packet's first bytes, and the room in front where its outer header will be written. */
static inline void fetch(const struct rte_mbuf *mbuf)
{
	rte_prefetch0(bytes_of(mbuf));
	rte_prefetch0(bytes_of(mbuf) - RTE_CACHE_LINE_SIZE);
}

static inline void classify_one(struct burst *burst, uint32_t i, struct common_last *last)
{
	const struct rte_mbuf *mbuf = burst->mbufs[i];

	if (unlikely(
		burst->path == BURST_REFERENCE || mbuf->data_len != mbuf->pkt_len ||
		!classify_common(burst->lookup, burst->mac, bytes_of(mbuf), mbuf->data_len, last, &burst->packets[i])))
		classify(burst->lookup, burst->mac, bytes_of(mbuf), mbuf->data_len, mbuf->pkt_len, &burst->packets[i]);
}

void burst_classify(struct burst *burst, uint32_t first, uint32_t end)
{
	struct common_last last = {0, NULL};

	if (!first)
		for (uint32_t i = 0; i < AHEAD && i < burst->count; i++)
			fetch(burst->mbufs[i]);
	for (uint32_t i = first; i < end; i++) {
		if (i + AHEAD < burst->count)
			fetch(burst->mbufs[i + AHEAD]);
		classify_one(burst, i, &last);
	}
}

static inline bool is_by_id(const struct packet *packet)
{
	return packet->flags & PACKET_BY_ID;
}

/*
 * For services whose buckets need more than the hash. True: othello's arrays have not arrived, so the hash's low half
 * is the bucket.
 */
static __attribute__((always_inline)) inline bool find_cells(struct burst *burst, uint32_t i)
{
	struct packet *packet = &burst->packets[i];
	bool may_pass;

	may_pass = halves_may_pass(packet); /* before its key ends */
	if (unlikely(!codes_fetch(packet)))
		return true;
	burst->alone |= (uint32_t)!may_pass << i;
	burst->coded |= 1U << i;
	return false;
}

/* The second row, and what decides which is first; the packet's bit if it has a second bucket. */
static inline uint32_t find_second(struct burst *burst, uint32_t i, const struct ring *ring)
{
	struct packet *packet = &burst->packets[i];
	const struct maat *maat = service_steering_data(packet->service);
	uint32_t second = halves_fetch(packet, ring, packet->bucket);

	if (maat)
		burst->ordered |= 1U << i;
	if (maat && second)
		order_fetch(maat, packet);
	return second << i;
}

/*
 * Bucket and row of a packet whose hash is known: the bucket of the hash's low half, as most methods use it, unless
 * codes give another one later. That may be by data which is published with generations, so the generation
 * is loaded first (ring.h).
 */
static inline uint32_t find_row(struct burst *burst, uint32_t i)
{
	struct packet *packet = &burst->packets[i];
	const struct ring *ring = packet->ring;
	uint32_t bucket;

	packet->generation = ring_generation(ring);
	if (unlikely(is_by_id(packet))) {
		burst->ordered |= (uint32_t)(maat_of(packet->service) != NULL) << i;
		return 0;
	}
	bucket = (uint32_t)packet->hash & ring->mask;
	packet->bucket = bucket;
	rte_prefetch0(ring_backends(ring));
	if (unlikely(packet->service->way > STEERING_HALVES) && !find_cells(burst, i))
		return 0;
	rte_prefetch0(&ring->rows[bucket]);
	return packet->service->way == STEERING_HALVES ? find_second(burst, i, ring) : 0;
}

/* Whether all packets have one ring, and so one service, whose packets have two buckets by the halves of the hash. */
static inline bool are_halves(const struct burst *burst, uint32_t count, const uint8_t at[FLOW_HASH_BATCH_MAX])
{
	const struct packet *first = &burst->packets[at[0]];

	if (likely(first->service->way != STEERING_HALVES))
		return false;
	for (uint32_t i = 1; i < count; i++)
		if (burst->packets[at[i]].ring != first->ring)
			return false;
	return true;
}

/* The same as take_hashes() for them: what they share is read once. */
static inline void take_halves(struct burst *burst, const uint64_t *hashes, uint32_t count,
			       const uint8_t at[FLOW_HASH_BATCH_MAX])
{
	const struct packet *first = &burst->packets[at[0]];
	const struct maat *maat = service_steering_data(first->service);
	const struct ring *ring = first->ring;
	const uint32_t mask = ring->mask, generation = ring_generation(ring);
	uint32_t seconds = 0, ordered = 0, plain = 0;

	rte_prefetch0(ring_backends(ring));
	for (uint32_t i = 0; i < count; i++) {
		struct packet *packet = &burst->packets[at[i]];
		const uint64_t hash = hashes[i];
		const uint32_t bucket = (uint32_t)hash & mask, second = (uint32_t)(hash >> 32) & mask;

		packet->hash = hash;
		if (unlikely(packet->flags & (PACKET_BY_ID | PACKET_LATER) || !halves_may_pass(packet))) {
			seconds |= find_row(burst, at[i]);
			continue;
		}
		packet->generation = generation;
		packet->bucket = bucket;
		packet->second = second;
		rte_prefetch0(&ring->rows[bucket]);
		rte_prefetch0(&ring->rows[second]);
		seconds |= (uint32_t)(second != bucket) << at[i];
		plain++;
		if (maat) {
			order_fetch(maat, packet);
			ordered |= 1U << at[i];
		}
	}
	burst->seconds |= seconds;
	burst->ordered |= ordered;
	/* all lanes came through to the end: a group's packets are numbered in turn */
	if (likely(seconds == (uint32_t)GROUP_BITS << at[0] && plain == BURST_GROUP))
		burst->alike |= seconds;
}

/* Copies each lane's hash to its packet: at[lane] is the packet's number. */
static inline void take_hashes(struct burst *burst, const struct flow_hash_batch *batch,
			       const uint8_t at[FLOW_HASH_BATCH_MAX])
{
	uint32_t seconds = 0;

	if (are_halves(burst, batch->count, at)) {
		take_halves(burst, batch->hash, batch->count, at);
		return;
	}
	for (uint32_t i = 0; i < batch->count; i++) {
		burst->packets[at[i]].hash = batch->hash[i];
		seconds |= find_row(burst, at[i]);
	}
	burst->seconds |= seconds;
}

/* skip: a bit for each packet whose hash is known. */
static inline void hash_group(struct burst *burst, uint32_t first, uint32_t end, uint32_t skip)
{
	struct flow_hash_batch siphash, crc32;
	uint8_t siphash_at[FLOW_HASH_BATCH_MAX], crc32_at[FLOW_HASH_BATCH_MAX];

	siphash.count = crc32.count = 0;
	for (uint32_t i = first; i < end; i++) {
		struct packet *packet = &burst->packets[i];

		if (packet->verdict != VERDICT_SERVICE || skip >> (i - first) & 1)
			continue;
		packet->ring = service_ring(packet->service);
		rte_prefetch0(packet->ring); /* its mask is needed once the hash is known */
		if (unlikely(!packet->ring)) {
			packet->verdict = VERDICT_NO_RING;
		} else if (unlikely(packet->flags & (PACKET_IPV6 | PACKET_HASHED))) {
			if (!(packet->flags & PACKET_HASHED))
				packet->hash = flow_hash_ipv6(packet->service, packet->addresses6, packet->key[1]);
			burst->seconds |= find_row(burst, i);
		} else if (packet->service->hash == FL_HASH_SIPHASH) {
			siphash_at[siphash.count] = (uint8_t)i;
			flow_hash_batch_add(&siphash, packet->service, packet->key);
		} else {
			crc32_at[crc32.count] = (uint8_t)i;
			flow_hash_batch_add(&crc32, packet->service, packet->key);
		}
	}
	if (siphash.count) {
		flow_hash_batch_siphash(&siphash);
		take_hashes(burst, &siphash, siphash_at);
	}
	if (crc32.count) {
		flow_hash_batch_crc32(&crc32);
		take_hashes(burst, &crc32, crc32_at);
	}
}

void burst_hash(struct burst *burst, uint32_t first, uint32_t end)
{
	hash_group(burst, first, end, 0);
}

static inline uint32_t end_of(const struct burst *burst, uint32_t first)
{
	return first + BURST_GROUP < burst->count ? first + BURST_GROUP : burst->count;
}

/* Reads a group's rows before the headers of the previous group are written. */
static inline void finish(struct burst *burst)
{
	burst_rows(burst, 0, end_of(burst, 0));
	for (uint32_t first = 0; first < burst->count; first += BURST_GROUP) {
		uint32_t end = end_of(burst, first);

		if (end < burst->count)
			burst_rows(burst, end, end_of(burst, end));
		burst_encap(burst, first, end);
	}
}

void burst_steer_classified(struct burst *burst)
{
	burst_begin(burst);
	for (uint32_t first = 0; first < burst->count; first += BURST_GROUP)
		burst_hash(burst, first, end_of(burst, first));
	finish(burst);
}

static void steer_general(struct burst *burst)
{
	burst_begin(burst);
	for (uint32_t first = 0; first < burst->count; first += BURST_GROUP) {
		burst_classify(burst, first, end_of(burst, first));
		burst_hash(burst, first, end_of(burst, first));
	}
	finish(burst);
}

#ifdef LANES_X86
/*
 * Where hardly any packet stays in its lane, the next groups do not try: they are likely to be of the same kind, and
 * would pay for both ways.
 */
static inline void look(struct burst *burst, uint32_t first, struct lanes *lanes, const struct lanes *before)
{
	lanes->low = lanes->clamped = lanes->steady = lanes->moved = 0;
	lanes->has_rows = lanes->is_unpacked = false;
	if (unlikely(burst->avoid)) {
		burst->avoid--;
		lanes->in = lanes->udp = lanes->syns = 0;
		lanes->is_one = true;
		lanes->is_ipv6 = false;
		lanes->destination = 0;
		lanes->service[0] = NULL;
		return;
	}
	lanes_look(burst, first, lanes, before);
	if (unlikely(__builtin_popcount(lanes->in) < FEW))
		burst->avoid = AVOID;
}

/* Services of groups that have several, stage by stage. */
static __attribute__((noinline)) void find_several(struct burst *burst, struct lanes *lanes, uint32_t groups)
{
	for (uint32_t g = 0; g < groups; g++)
		if (!lanes[g].is_one && !lanes[g].is_ipv6)
			lanes_find(burst->lookup, &lanes[g]);
	for (uint32_t g = 0; g < groups; g++)
		if (!lanes[g].is_one)
			lanes_begin(&lanes[g]);
}

/* What is left of a group's head: packets that left their lanes, and buckets by other ways than the hash's low half. */
static __attribute__((noinline)) void complete_head(struct burst *burst, uint32_t first, struct lanes *lanes)
{
	struct common_last last = {0, NULL};
	uint8_t at[LANES];

	for (uint32_t i = 0; i < LANES; i++) {
		at[i] = (uint8_t)(first + i);
		if (!(lanes->in >> i & 1))
			classify_one(burst, first + i, &last);
	}
	if (lanes->in != LANES_ALL)
		hash_group(burst, first, first + LANES, lanes->in);
	if (lanes->in == LANES_ALL && are_halves(burst, LANES, at)) {
		take_halves(burst, lanes->hash, LANES, at);
		return;
	}
	for (uint32_t left = lanes->in & ~(uint32_t)lanes->low; left; left &= left - 1) {
		uint32_t i = first + (uint32_t)__builtin_ctz(left);

		burst->seconds |= find_row(burst, i);
	}
}

/* A group some of whose packets left, or have a bucket by another way: reads its rows, and says whose are steady. */
static __attribute__((noinline)) void rows_of_mixed(struct burst *burst, uint32_t first, struct lanes *lanes)
{
	static const struct backend no_backend;

	if (!lanes->is_unpacked)
		lanes_unpack(burst, first, lanes);
	burst_rows(burst, first, first + LANES);
	for (uint32_t i = 0; i < LANES; i++) {
		const struct packet *packet = &burst->packets[first + i];

		lanes->line[i] = (uintptr_t)&no_backend;
		lanes->rows[i] = 0;
		if (!((lanes->low & ~lanes->clamped) >> i & 1) || packet->verdict != VERDICT_SERVICE)
			continue;
		lanes->line[i] = (uintptr_t)&packet->backends->rows[fl_row_current(packet->row)];
		lanes->rows[i] = packet->row;
		lanes->steady |= (uint8_t)(1U << i);
		lanes->moved |= (uint8_t)((uint32_t)burst_is_moved(packet) << i);
	}
	lanes_measure(burst->lookup->lists, lanes);
}

static inline void rows_of(struct burst *burst, uint32_t first, struct lanes *lanes)
{
	if (likely(lanes->low == LANES_ALL))
		lanes_rows(burst, first, lanes);
	else
		rows_of_mixed(burst, first, lanes);
}

/* Tags of all groups' headers. */
static __attribute__((noinline)) void tag_all(const struct burst *burst, struct lanes *lanes, uint32_t groups)
{
	for (uint32_t g = 0; g < groups; g++)
		lanes_tag(burst, &lanes[g]);
}

static inline void encap_of(struct burst *burst, uint32_t first, struct lanes *lanes)
{
	uint32_t written = 0;

	if (likely(lanes->steady))
		written = lanes_encap(burst, first, lanes);
	else if (!lanes->is_unpacked)
		lanes_unpack(burst, first, lanes);
	if (unlikely(written != LANES_ALL))
		burst_encap_rest(burst, first, first + LANES, written);
}

/*
 * What the caller wants to know of packets that stayed in their lanes to the end: if all did, have one service and
 * leave by one port, no more than that.
 */
static inline void tell(struct burst *burst, const struct lanes *lanes, uint32_t groups)
{
	bool is_one = groups * LANES == burst->count;
	uint32_t ip_bytes = 0;

	for (uint32_t g = 0; g < groups; g++) {
		is_one &= !lanes[g].is_unpacked && lanes[g].is_one && lanes[g].port != PORTS_DIFFER &&
			  lanes[g].port == lanes[0].port && lanes[g].service[0] == lanes[0].service[0];
		ip_bytes += lanes_ip_bytes(&lanes[g]);
	}
	if (likely(is_one)) {
		burst->one = lanes[0].service[0];
		burst->one_port = lanes[0].port;
		burst->ip_bytes = ip_bytes;
		return;
	}
	for (uint32_t g = 0; g < groups; g++)
		if (!lanes[g].is_unpacked)
			lanes_tell(burst, g * LANES, &lanes[g]);
}

/* Whole groups by lanes; the rest of the burst as in steer_general(). */
static void steer_lanes(struct burst *burst)
{
	struct lanes lanes[BURST_MAX / LANES];
	const uint32_t groups = burst->count / LANES, whole = groups * LANES;
	bool are_several = false;

	burst_begin(burst);
	for (uint32_t i = 0; i < LANES; i++)
		fetch(burst->mbufs[i]);
	for (uint32_t g = 0; g < groups; g++) {
		for (uint32_t i = (g + 1) * LANES; i < (g + 2) * LANES && i < burst->count; i++)
			fetch(burst->mbufs[i]);
		look(burst, g * LANES, &lanes[g], g ? &lanes[g - 1] : NULL);
	}
	for (uint32_t g = 0; g < groups; g++)
		are_several |= !lanes[g].is_one;
	if (unlikely(are_several))
		find_several(burst, lanes, groups);
	for (uint32_t g = 0; g < groups; g += 2)
		lanes_hash_two(&lanes[g], &lanes[g + 1 < groups ? g + 1 : g]);
	for (uint32_t g = 0; g < groups; g++)
		if (unlikely(lanes[g].low != LANES_ALL)) {
			lanes_unpack(burst, g * LANES, &lanes[g]);
			complete_head(burst, g * LANES, &lanes[g]);
		}
	if (whole < burst->count) {
		burst_classify(burst, whole, burst->count);
		burst_hash(burst, whole, burst->count);
	}
	for (uint32_t g = 0; g < groups; g++)
		rows_of(burst, g * LANES, &lanes[g]);
	if (whole < burst->count)
		burst_rows(burst, whole, burst->count);
	if (unlikely(burst->tag_flags))
		tag_all(burst, lanes, groups);
	for (uint32_t g = 0; g < groups; g++)
		encap_of(burst, g * LANES, &lanes[g]);
	if (whole < burst->count)
		burst_encap(burst, whole, burst->count);
	tell(burst, lanes, groups);
}
#endif

void burst_steer_by(struct burst *burst, enum burst_path path)
{
	burst->path = path;
#ifdef LANES_X86
	if (likely(path == BURST_LANES && burst->count >= LANES)) {
		steer_lanes(burst);
		return;
	}
#endif
	steer_general(burst);
}

void burst_steer(struct burst *burst)
{
	burst_steer_by(burst, burst_path);
}
