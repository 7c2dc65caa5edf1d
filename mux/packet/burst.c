/* SPDX-License-Identifier: Apache-2.0 */
#include "packet/burst.h"

#include <rte_branch_prediction.h>
#include <rte_prefetch.h>

#include "packet/classify.h"
#include "packet/codes.h"
#include "packet/flow_hash.h"
#include "packet/flow_hash_batch.h"
#include "packet/halves.h"
#include "ring/backend.h"
#include "service/service.h"
#include "packet/order.h"
#include "steering/steering.h"

enum { AHEAD = 4 }; /* packets whose headers are fetched while earlier ones are classified */

_Static_assert((int)BURST_GROUP == (int)FLOW_HASH_BATCH_MAX, "a group's hashes are computed at once");

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

void burst_classify(struct burst *burst, uint32_t first, uint32_t end)
{
	if (!first)
		for (uint32_t i = 0; i < AHEAD && i < burst->count; i++)
			fetch(burst->mbufs[i]);
	for (uint32_t i = first; i < end; i++) {
		const struct rte_mbuf *mbuf = burst->mbufs[i];

		if (i + AHEAD < burst->count)
			fetch(burst->mbufs[i + AHEAD]);
		classify(burst->lookup, burst->mac, bytes_of(mbuf), mbuf->data_len, mbuf->pkt_len, &burst->packets[i]);
	}
}

static inline bool is_by_id(const struct packet *packet)
{
	return packet->flags & PACKET_BY_ID;
}

enum verdict burst_absent(const struct packet *packet)
{
	return is_by_id(packet) ? VERDICT_NO_BACKEND_ID : VERDICT_NO_BACKEND;
}

/* Other ways than by the hash alone; true: there is no data yet, so that it is the low half after all. */
static __attribute__((always_inline)) inline bool find_cells(struct burst *burst, uint32_t i)
{
	struct packet *packet = &burst->packets[i];

	if (packet->service->way == STEERING_CHOICE) {
		burst->choosing |= 1U << i;
		burst->methods |= 1U << packet->service->steering;
		return false;
	}
	if (unlikely(!codes_fetch(packet)))
		return true;
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
 * codes or the method give another one later. That may be by data which is published with generations, so the generation
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
static inline void take_halves(struct burst *burst, const struct flow_hash_batch *batch,
			       const uint8_t at[FLOW_HASH_BATCH_MAX])
{
	const struct packet *first = &burst->packets[at[0]];
	const struct maat *maat = service_steering_data(first->service);
	const struct ring *ring = first->ring;
	const uint32_t mask = ring->mask, generation = ring_generation(ring);
	uint32_t seconds = 0, ordered = 0, plain = 0;

	rte_prefetch0(ring_backends(ring));
	for (uint32_t i = 0; i < batch->count; i++) {
		struct packet *packet = &burst->packets[at[i]];
		const uint64_t hash = batch->hash[i];
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
		take_halves(burst, batch, at);
		return;
	}
	for (uint32_t i = 0; i < batch->count; i++) {
		burst->packets[at[i]].hash = batch->hash[i];
		seconds |= find_row(burst, at[i]);
	}
	burst->seconds |= seconds;
}

void burst_hash(struct burst *burst, uint32_t first, uint32_t end)
{
	struct flow_hash_batch siphash, crc32;
	uint8_t siphash_at[FLOW_HASH_BATCH_MAX], crc32_at[FLOW_HASH_BATCH_MAX];

	siphash.count = crc32.count = 0;
	for (uint32_t i = first; i < end; i++) {
		struct packet *packet = &burst->packets[i];

		if (packet->verdict != VERDICT_SERVICE)
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

/* Those of the packets that choose whose method has this number. A single method needs no search. */
static uint32_t of_method(const struct burst *burst, unsigned number)
{
	uint32_t which = 0;

	if (likely(!(burst->methods & (burst->methods - 1))))
		return burst->choosing;
	for (uint32_t left = burst->choosing; left; left &= left - 1) {
		uint32_t i = (uint32_t)__builtin_ctz(left);

		which |= (uint32_t)(burst->packets[i].service->steering == number) << i;
	}
	return which;
}

/* Calls each method once. */
void burst_choose(struct burst *burst)
{
	for (uint32_t methods = burst->methods; methods; methods &= methods - 1) {
		unsigned number = (unsigned)__builtin_ctz(methods);

		steerings[number]->choose(burst->steering->state[number], burst->packets, of_method(burst, number),
					  burst->now);
	}
}

/* Loads row and backends of the packet's ring, in this order (ring.h); its generation was loaded before. */
static inline void read_row(struct packet *packet)
{
	const struct ring *ring = packet->ring;

	if (packet->flags & (PACKET_BY_ID | PACKET_STATELESS)) {
		uint32_t id = is_by_id(packet) ? packet->bucket : fl_row_current(ring_row(ring, packet->bucket));

		packet->row = fl_row_make((uint16_t)id, FL_BACKEND_NONE, 0);
		packet->bucket = FL_STEER_BUCKET_NONE;
	} else {
		packet->row = ring_row(ring, packet->bucket);
	}
	packet->backends = ring_backends(ring);
}

static inline bool has_backend(const struct packet *packet)
{
	return fl_row_current(packet->row) != FL_BACKEND_NONE && fl_row_current(packet->row) < packet->backends->size;
}

bool burst_fall_back(struct packet *packet)
{
	packet->ring = service_ring(packet->service);
	packet->flags &= (uint8_t) ~(PACKET_BY_ID | PACKET_ELSE_BUCKET);
	packet->generation = ring_generation(packet->ring);
	packet->bucket = steerings[packet->service->steering]->bucket(packet->service, packet->ring, packet->hash);
	read_row(packet);
	return has_backend(packet);
}

/* The same for both buckets of a packet; false: the second has no backend in the table. */
static inline bool read_rows(struct packet *packet)
{
	/* one ring, and backends at least as new as either row */
	fl_row row = ring_row(packet->ring, packet->second);

	read_row(packet);
	packet->second_row = row;
	if (unlikely(fl_row_current(row) >= packet->backends->size))
		return false;
	rte_prefetch0(&packet->backends->rows[fl_row_current(row)]);
	return true;
}

/* The line of a packet's backend, or the verdict that says why it has none. */
static inline void find_backend(struct packet *packet)
{
	if (unlikely(!has_backend(packet)) && !(packet->flags & PACKET_ELSE_BUCKET && burst_fall_back(packet)))
		packet->verdict = (uint8_t)burst_absent(packet);
	else
		rte_prefetch0(&packet->backends->rows[fl_row_current(packet->row)]);
}

/* Of packets some of which are coded. */
static inline void find_coded_rows(struct burst *burst, uint32_t first, uint32_t end)
{
	uint32_t seconds = burst->seconds;

	for (uint32_t i = first; i < end; i++) {
		struct packet *packet = &burst->packets[i];

		if (packet->verdict != VERDICT_SERVICE)
			continue;
		if (burst->coded >> i & 1 && codes_choose(packet))
			seconds |= 1U << i;
		if (seconds >> i & 1 && !read_rows(packet))
			seconds &= ~(1U << i);
		else if (!(seconds >> i & 1))
			read_row(packet);
		find_backend(packet);
	}
	burst->seconds = seconds;
}

/* Of packets some of which have a second bucket. */
static inline void find_rows(struct burst *burst, uint32_t first, uint32_t end)
{
	const uint32_t seconds = burst->seconds;

	for (uint32_t i = first; i < end; i++) {
		struct packet *packet = &burst->packets[i];

		if (packet->verdict != VERDICT_SERVICE)
			continue;
		if (likely(seconds >> i & 1)) {
			if (unlikely(!read_rows(packet)))
				burst->seconds &= ~(1U << i);
		} else {
			read_row(packet);
		}
		find_backend(packet);
	}
}

/*
 * The same for a group whose packets have two buckets of one ring: what they share is read once. maat: orders them and
 * counts for its loads; NULL: none does.
 */
static __attribute__((always_inline)) inline void find_alike_rows(struct burst *burst, uint32_t first,
								  const struct maat *maat)
{
	struct packet *packets = &burst->packets[first];
	const struct ring *ring = packets[0].ring;
	const struct backends *backends;
	uint32_t asked = 0;

	for (uint32_t i = 0; i < BURST_GROUP; i++) {
		struct packet *packet = &packets[i];

		if (maat) /* before the second row takes the place of the cell's address */
			asked |= (uint32_t)(order_may_be_noted(packet) || packet->flags & PACKET_SYN) << i;
		packet->row = ring_row(ring, packet->bucket);
		packet->second_row = ring_row(ring, packet->second);
	}
	backends = ring_backends(ring); /* at least as new as all rows */
	for (uint32_t i = 0; i < BURST_GROUP; i++) {
		struct packet *packet = &packets[i];

		packet->backends = backends;
		if (unlikely(fl_row_current(packet->second_row) >= backends->size))
			burst->seconds &= ~(1U << (first + i));
		else if (maat && unlikely(asked >> i & 1))
			order_rows(burst, first + i, packet);
		rte_prefetch0(&backends->rows[fl_row_current(packet->second_row)]);
		find_backend(packet);
		if (maat)
			order_count(burst, maat, packet);
	}
}

/* Sets the buckets of coded packets beside ordered ones. */
static __attribute__((noinline)) void choose_codes(struct burst *burst, uint32_t coded)
{
	for (; coded; coded &= coded - 1) {
		uint32_t i = (uint32_t)__builtin_ctz(coded);

		burst->seconds |= (uint32_t)codes_choose(&burst->packets[i]) << i;
	}
}

/* Of packets some of which are of services whose loads count. */
static __attribute__((noinline)) void find_ordered_rows(struct burst *burst, uint32_t first, uint32_t end)
{
	const uint32_t coded = burst->coded & (uint32_t)GROUP_BITS << first, ordered = burst->ordered;
	uint32_t seconds;

	if (unlikely(coded))
		choose_codes(burst, coded);
	seconds = burst->seconds;
	for (uint32_t i = first; i < end && i < BURST_MAX; i++) { /* the second condition is for the compiler */
		struct packet *packet = &burst->packets[i];
		const bool is_ordered = ordered >> i & 1;
		bool may_be_noted;

		if (packet->verdict != VERDICT_SERVICE)
			continue;
		if (likely(seconds >> i & 1)) {
			may_be_noted = is_ordered && order_may_be_noted(packet);
			if (unlikely(!read_rows(packet)))
				burst->seconds &= ~(1U << i);
			else if (unlikely(may_be_noted || packet->flags & PACKET_SYN) && is_ordered)
				order_rows(burst, i, packet);
		} else {
			read_row(packet);
		}
		find_backend(packet);
		if (likely(is_ordered))
			order_count(burst, service_steering_data(packet->service), packet);
	}
}

void burst_rows(struct burst *burst, uint32_t first, uint32_t end)
{
	if (burst->alike >> first & 1) {
		const struct maat *maat = maat_of(burst->packets[first].service);

		if (maat)
			find_alike_rows(burst, first, maat);
		else
			find_alike_rows(burst, first, NULL);
		return;
	}
	if (unlikely(burst->ordered >> first & GROUP_BITS)) {
		find_ordered_rows(burst, first, end);
		return;
	}
	if (burst->coded >> first & GROUP_BITS) {
		find_coded_rows(burst, first, end);
		return;
	}
	if (burst->seconds >> first & GROUP_BITS) {
		find_rows(burst, first, end);
		return;
	}
	for (uint32_t i = first; i < end; i++) {
		struct packet *packet = &burst->packets[i];

		if (packet->verdict != VERDICT_SERVICE)
			continue;
		read_row(packet);
		find_backend(packet);
	}
}

static inline uint32_t end_of(const struct burst *burst, uint32_t first)
{
	return first + BURST_GROUP < burst->count ? first + BURST_GROUP : burst->count;
}

/* Reads a group's rows before the headers of the previous group are written. */
static inline void finish(struct burst *burst)
{
	burst->moved = burst->second = burst->second_first = burst->second_syns = 0;
	burst->bytes = 0;
	if (unlikely(burst->choosing))
		burst_choose(burst);
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
	burst->coded = burst->choosing = burst->methods = burst->seconds = burst->ordered = burst->alike = 0;
	for (uint32_t first = 0; first < burst->count; first += BURST_GROUP)
		burst_hash(burst, first, end_of(burst, first));
	finish(burst);
}

void burst_steer(struct burst *burst)
{
	burst->coded = burst->choosing = burst->methods = burst->seconds = burst->ordered = burst->alike = 0;
	for (uint32_t first = 0; first < burst->count; first += BURST_GROUP) {
		burst_classify(burst, first, end_of(burst, first));
		burst_hash(burst, first, end_of(burst, first));
	}
	finish(burst);
}
