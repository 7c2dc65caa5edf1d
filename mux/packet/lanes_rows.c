/* SPDX-License-Identifier: Apache-2.0 */
#include "packet/lanes_stages.h"

#include <string.h>

#include <rte_branch_prediction.h>
#include <rte_prefetch.h>

#include "headers/lanes_lines.h"
#include "ring/backend.h"
#include "service/lookup.h"
#include "flow/service.h"
#include "steering/methods/inline.h"
#include "steering/methods.h"

enum { LINES_FEW = 1024 };

/* What rows say is read from. */
struct pools {
	vec sizes, lines;
	bool are_many; /* lines, more than near caches have: to prefetch those costs more than to wait */
};

/* Rows of lanes with one service, then its backends. */
VEC_INLINE vec read_one(struct lanes *lanes, struct pools *pools)
{
	const struct ring *ring = lanes->ring[0];
	const struct backends *backends;
	vec rows;

#define ROW(i) ring_row(ring, (uint32_t)lanes->place[i])
	rows = VEC_OF(ROW);
#undef ROW
	lanes->backends[0] = backends = ring_backends(ring);
	pools->sizes = vec_all(backends->size);
	pools->are_many = backends->size > LINES_FEW;
	pools->lines = vec_all((uint64_t)(uintptr_t)backends->rows);
	return rows;
}

/* The same for lanes with several. */
VEC_INLINE vec read_each(struct lanes *lanes, struct pools *pools)
{
	vec rows;

#define ROW(i) __atomic_load_n((const fl_row *)(uintptr_t)lanes->row_at[i], __ATOMIC_ACQUIRE)
	rows = VEC_OF(ROW);
#undef ROW
	for (uint32_t i = 0; i < LANES; i++)
		lanes->backends[i] = ring_backends(lanes->ring[i]);
#define SIZE(i) lanes->backends[i]->size
#define LINE(i) (uint64_t)(uintptr_t) lanes->backends[i]->rows
	pools->are_many = true;
	pools->sizes = VEC_OF(SIZE);
	pools->lines = VEC_OF(LINE);
#undef LINE
#undef SIZE
	return rows;
}

/* The second buckets' rows, read after the first ones' and before the table of backends. */
VEC_INLINE vec read_seconds(const struct lanes *lanes)
{
	const struct ring *ring = lanes->ring[0];

#define ROW(i) ring_row(ring, (uint32_t)lanes->second[i])
	return VEC_OF(ROW);
#undef ROW
}

/* Lines of owners: of those whom the table does not have, the line of id 0, which is absent. Returns those that it has. */
VEC_INLINE uint8_t find_lines(const struct pools *pools, vec rows, uint64_t lines[LANES])
{
	const vec current = vec_and(rows, vec_all(0xffff));
	/* of id 0, too, whose line is the first, and is absent */
	const vec_mask known = vec_less(current, pools->sizes);

	vec_store(lines, vec_add(pools->lines, vec_some(known, vec_left(current, 6))));
	for (uint32_t i = 0; pools->are_many && i < LANES; i++)
		rte_prefetch0((const void *)(uintptr_t)lines[i]); /* no address can fault */
	return vec_bits(known) & vec_test(current, current);
}

/* Those second owners whom a list may name by an IPv4 address: backend_is_steady_owner(). */
static __attribute__((noinline)) uint8_t find_steady_owners(const struct lanes *lanes, uint8_t known)
{
	for (uint32_t i = 0; i < LANES; i++)
		if (!backend_is_steady_owner((const struct backend *)(uintptr_t)lanes->second_line[i]))
			known &= (uint8_t) ~(1U << i);
	return known;
}

/* Lanes whose row has a list, or LATE. */
VEC_INLINE uint8_t find_moved(const struct lanes *lanes, vec rows)
{
	return vec_test(rows, vec_all(0xffff0000)) & (uint8_t)~lanes->syns; /* which name no list */
}

/* Rows with a list of IPv6 addresses: also if the table, which is newer, has none of these any more. */
VEC_INLINE uint8_t find_ipv6(vec rows)
{
	return vec_test(rows, vec_all((uint64_t)FL_LIST_IPV6 << 24));
}

/* Lanes one of whose two rows names what lanes do not merge: more owners, or IPv6 addresses. */
static __attribute__((noinline)) uint8_t find_unmerged(const struct lanes *lanes)
{
	const vec counts = vec_all(0xff0000), most = vec_all(LANES_MERGED_MAX << 16);
	const vec rows = vec_load(lanes->rows), second_rows = vec_load(lanes->second_rows);

	return vec_bits(vec_less(most, vec_and(rows, counts))) |
	       vec_bits(vec_less(most, vec_and(second_rows, counts))) | find_ipv6(vec_or(rows, second_rows));
}

/* Second buckets: those whose owner or list lanes cannot name leave. Returns who has a list. */
static inline uint8_t find_seconds(struct lanes *lanes, const struct pools *pools, uint8_t *steady, uint8_t moved)
{
	const vec rows = vec_load(lanes->second_rows);
	const uint8_t seconds = lanes->seconds;
	uint8_t known = find_lines(pools, rows, lanes->second_line);

	if (unlikely(backends_narrowest(lanes->backends[0]) & (BACKENDS_IPV6 | BACKENDS_UNREADY)))
		known = find_steady_owners(lanes, known);
	lanes->merged = seconds & (moved | find_moved(lanes, rows));
	if (unlikely(lanes->merged))
		known &= (uint8_t) ~(lanes->merged & find_unmerged(lanes));
	*steady &= (uint8_t)~seconds | known;
	lanes->merged &= *steady;
	lanes->with_second = seconds & *steady & vec_unequal(vec_load(lanes->line), vec_load(lanes->second_line));
	return moved | lanes->merged | lanes->with_second;
}

VEC_INLINE void rows_by(struct burst *burst, uint32_t first, struct lanes *lanes, const struct lanes_method *method)
{
	uint8_t moved, known, steady;
	struct pools pools;
	vec rows;

	if (method->has_second) /* one ring, and backends at least as new as either row */
		vec_store(lanes->second_rows, read_seconds(lanes));
	rows = method->has_second || likely(lanes->is_one) ? read_one(lanes, &pools) : read_each(lanes, &pools);
	lanes->has_rows = true;
	vec_store(lanes->rows, rows);
	if (method->order) {
		method->order(burst, first, lanes);
		rows = vec_load(lanes->rows);
	}
	known = find_lines(&pools, rows, lanes->line);
	moved = find_moved(lanes, rows);
	steady = known & (uint8_t)~lanes->clamped;
	if (moved)
		steady &= (uint8_t)~find_ipv6(rows);
	if (method->has_second)
		moved = find_seconds(lanes, &pools, &steady, moved);
	if (unlikely(known != LANES_ALL || !burst->is_brief))
		lanes_unpack(burst, first, lanes);
	for (uint32_t none = (uint8_t)~known; unlikely(none); none &= none - 1)
		burst->packets[first + (uint32_t)__builtin_ctz(none)].verdict = VERDICT_NO_BACKEND;
	lanes->steady = (uint8_t)steady;
	lanes->listed = (uint8_t)(moved & steady);
	if (unlikely(lanes_need_lists(lanes)))
		lanes_fetch_lists(burst, lanes);
}

#define ROWS_BY(name)                                                                                                  \
	static __attribute__((noinline)) void rows_by_##name(struct burst *burst, uint32_t first, struct lanes *lanes) \
	{                                                                                                              \
		rows_by(burst, first, lanes, &name##_lanes);                                                           \
	}

STEERING_METHODS(ROWS_BY)

#define ROWS(name)                                                                                                     \
	case STEERING_##name:                                                                                          \
		(name##_lanes.order || lanes->seconds ? rows_by_##name : rows_by_ring)(burst, first, lanes);           \
		return;

void lanes_rows(struct burst *burst, uint32_t first, struct lanes *lanes)
{
	if (unlikely(!lanes->is_one)) { /* by rows alone */
		rows_by_ring(burst, first, lanes);
		return;
	}
	switch (lanes->method) {
		STEERING_METHODS(ROWS)
	}
}

_Static_assert(sizeof(struct backend) == 1 << 6, "lanes_rows() computes addresses of lines");

void lanes_tell(struct burst *burst, uint32_t first, const struct lanes *lanes)
{
	for (uint32_t i = 0; i < LANES; i++) {
		struct packet *packet = &burst->packets[first + i];

		memcpy(packet, &lanes->word[i], sizeof(lanes->word[i]));
		packet->service = lanes->service[lanes->is_one ? 0 : i];
		packet->port = line_of(lanes, i)->port;
	}
}

uint32_t lanes_ip_bytes(const struct lanes *lanes)
{
	return (uint32_t)vec_sum(vec_right(vec_load(lanes->word), 48));
}
