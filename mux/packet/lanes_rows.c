/* SPDX-License-Identifier: Apache-2.0 */
#include "packet/lanes.h"

#ifdef LANES_X86
#include <string.h>

#include <rte_branch_prediction.h>
#include <rte_prefetch.h>

#include "headers/lanes_lines.h"
#include "ring/backend.h"
#include "service/lookup.h"
#include "flow/service.h"
#include "steering/methods/lanes.h"
#include "steering/methods.h"

enum { LINES_FEW = 1024 };

/* What rows say is read from. */
struct pools {
	__m512i sizes, lines;
	bool are_many; /* lines, more than near caches have: to prefetch those costs more than to wait */
};

/* Rows of lanes with one service, then its backends. */
static inline ISA __m512i read_one(struct lanes *lanes, struct pools *pools)
{
	const struct ring *ring = lanes->ring[0];
	const struct backends *backends;
	__m512i rows;

#define ROW(i) (long long)ring_row(ring, (uint32_t)lanes->place[i])
	rows = _mm512_set_epi64(ROW(7), ROW(6), ROW(5), ROW(4), ROW(3), ROW(2), ROW(1), ROW(0));
#undef ROW
	lanes->backends[0] = backends = ring_backends(ring);
	pools->sizes = all(backends->size);
	pools->are_many = backends->size > LINES_FEW;
	pools->lines = all((uint64_t)(uintptr_t)backends->rows);
	return rows;
}

/* The same for lanes with several. */
static inline ISA __m512i read_each(struct lanes *lanes, struct pools *pools)
{
	__m512i rows;

#define ROW(i) (long long)__atomic_load_n((const fl_row *)(uintptr_t)lanes->row_at[i], __ATOMIC_ACQUIRE)
	rows = _mm512_set_epi64(ROW(7), ROW(6), ROW(5), ROW(4), ROW(3), ROW(2), ROW(1), ROW(0));
#undef ROW
	for (uint32_t i = 0; i < LANES; i++)
		lanes->backends[i] = ring_backends(lanes->ring[i]);
#define SIZE(i) lanes->backends[i]->size
#define LINE(i) (long long)(uintptr_t)lanes->backends[i]->rows
	pools->are_many = true;
	pools->sizes = _mm512_set_epi64(SIZE(7), SIZE(6), SIZE(5), SIZE(4), SIZE(3), SIZE(2), SIZE(1), SIZE(0));
	pools->lines = _mm512_set_epi64(LINE(7), LINE(6), LINE(5), LINE(4), LINE(3), LINE(2), LINE(1), LINE(0));
#undef LINE
#undef SIZE
	return rows;
}

/* The second buckets' rows, read after the first ones' and before the table of backends. */
static inline ISA __m512i read_seconds(const struct lanes *lanes)
{
	const struct ring *ring = lanes->ring[0];

#define ROW(i) (long long)ring_row(ring, (uint32_t)lanes->second[i])
	return _mm512_set_epi64(ROW(7), ROW(6), ROW(5), ROW(4), ROW(3), ROW(2), ROW(1), ROW(0));
#undef ROW
}

/* Lines of owners: of those whom the table does not have, the line of id 0, which is absent. Returns those that it has. */
static inline ISA __mmask8 find_lines(const struct pools *pools, __m512i rows, uint64_t lines[LANES])
{
	const __m512i current = _mm512_and_si512(rows, all(0xffff));
	const __mmask8 known =
	    _mm512_test_epi64_mask(current, current) & _mm512_cmplt_epu64_mask(current, pools->sizes);

	_mm512_store_si512(lines, _mm512_add_epi64(pools->lines, _mm512_maskz_slli_epi64(known, current, 6)));
	for (uint32_t i = 0; pools->are_many && i < LANES; i++)
		rte_prefetch0((const void *)(uintptr_t)lines[i]); /* no address can fault */
	return known;
}

/* Those second owners whom a list may name by an IPv4 address: backend_is_steady_owner(). */
static __attribute__((noinline)) ISA __mmask8 find_steady_owners(const struct lanes *lanes, __mmask8 known)
{
	for (uint32_t i = 0; i < LANES; i++)
		if (!backend_is_steady_owner((const struct backend *)(uintptr_t)lanes->second_line[i]))
			known &= (__mmask8) ~(1U << i);
	return known;
}

/*
 * Second buckets' owners, in a list of their own: lanes one of whose buckets has a list leave. SYNs name no lists. Returns
 * those whose first bucket has one.
 */
static inline ISA __mmask8 find_seconds(struct lanes *lanes, const struct pools *pools, __mmask8 *steady,
					__mmask8 moved)
{
	const __m512i rows = _mm512_load_si512(lanes->second_rows);
	const __mmask8 seconds = lanes->seconds;
	__mmask8 known,
	    long_lists = _mm512_mask_test_epi64_mask(seconds & (__mmask8)~lanes->syns, rows, all(0xffff0000));

	long_lists |= moved & seconds;
	known = find_lines(pools, rows, lanes->second_line);
	if (unlikely(backends_narrowest(lanes->backends[0]) & (BACKENDS_IPV6 | BACKENDS_UNREADY)))
		known = find_steady_owners(lanes, known);
	*steady &= (__mmask8) ~(long_lists | (seconds & (__mmask8)~known));
	lanes->with_second = (uint8_t)_mm512_mask_cmpneq_epu64_mask(seconds & *steady, _mm512_load_si512(lanes->line),
								    _mm512_load_si512(lanes->second_line));
	return moved & (__mmask8)~seconds;
}

/* has_second and order: what is particular to the service's method (steering/methods/lanes.h). */
static inline ISA __attribute__((always_inline)) void rows_by(struct burst *burst, uint32_t first, struct lanes *lanes,
							      bool has_second, lanes_order *order)
{
	__mmask8 moved, known, steady;
	struct pools pools;
	__m512i rows;

	if (has_second) /* one ring, and backends at least as new as either row */
		_mm512_store_si512(lanes->second_rows, read_seconds(lanes));
	rows = has_second || likely(lanes->is_one) ? read_one(lanes, &pools) : read_each(lanes, &pools);
	lanes->has_rows = true;
	_mm512_store_si512(lanes->rows, rows);
	if (order) {
		order(burst, first, lanes);
		rows = _mm512_load_si512(lanes->rows);
	}
	known = find_lines(&pools, rows, lanes->line);
	moved = _mm512_test_epi64_mask(rows, all(0xffff0000)) & (__mmask8)~lanes->syns; /* which name no list */
	steady = known & (__mmask8)~lanes->clamped;
	if (has_second)
		moved = find_seconds(lanes, &pools, &steady, moved) | lanes->with_second;
	if (unlikely(known != LANES_ALL || !burst->is_brief))
		lanes_unpack(burst, first, lanes);
	for (uint32_t none = (uint8_t)~known; unlikely(none); none &= none - 1)
		burst->packets[first + (uint32_t)__builtin_ctz(none)].verdict = VERDICT_NO_BACKEND;
	lanes->steady = (uint8_t)steady;
	lanes->listed = (uint8_t)(moved & steady);
	if (unlikely(lanes->listed) && (lanes->with_second != LANES_ALL || burst->tag_flags))
		lanes_measure(burst->lookup->lists, lanes);
}

#define ROWS_BY(name)                                                                                                  \
	static ISA                                                                                                     \
	    __attribute__((noinline)) void rows_by_##name(struct burst *burst, uint32_t first, struct lanes *lanes)    \
	{                                                                                                              \
		rows_by(burst, first, lanes, name##_lanes_has_second, name##_lanes_order);                             \
	}

STEERING_METHODS(ROWS_BY)

#define ROWS(name)                                                                                                     \
	case STEERING_##name:                                                                                          \
		order = name##_lanes_order;                                                                            \
		(order || lanes->seconds ? rows_by_##name : rows_by_ring)(burst, first, lanes);                        \
		return;

ISA void lanes_rows(struct burst *burst, uint32_t first, struct lanes *lanes)
{
	lanes_order *order;

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

ISA uint32_t lanes_ip_bytes(const struct lanes *lanes)
{
	return (uint32_t)_mm512_reduce_add_epi64(_mm512_srli_epi64(_mm512_load_si512(lanes->word), 48));
}
#endif
