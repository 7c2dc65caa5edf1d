/* SPDX-License-Identifier: Apache-2.0 */
#include "packet/lanes.h"

#ifdef LANES_X86
#include <string.h>

#include <rte_branch_prediction.h>
#include <rte_prefetch.h>

#include "packet/lanes_lines.h"
#include "ring/backend.h"
#include "service/lookup.h"
#include "service/service.h"

_Static_assert(offsetof(struct packet, service) == 24 && offsetof(struct packet, hash) == 32, "words of struct packet");
_Static_assert(offsetof(struct packet, bucket) == 40 && offsetof(struct packet, ring) == 48, "words of struct packet");

ISA __attribute__((noinline)) void lanes_unpack(struct burst *burst, uint32_t first, struct lanes *lanes)
{
	__m512i v[8];

	lanes->is_unpacked = true;
	if (!lanes->in)
		return;
	v[0] = _mm512_load_si512(lanes->word);
	v[1] = _mm512_load_si512(lanes->key[0]);
	v[2] = _mm512_load_si512(lanes->key[1]);
	v[3] = lanes->is_one ? all((uint64_t)(uintptr_t)lanes->service[0]) : _mm512_load_si512(lanes->service);
	v[4] = _mm512_load_si512(lanes->hash);
	v[5] = _mm512_load_si512(lanes->place);
	v[6] = lanes->is_one ? all((uint64_t)(uintptr_t)lanes->ring[0]) : _mm512_load_si512(lanes->ring);
	v[6] = lanes->has_rows ? _mm512_load_si512(lanes->rows) : v[6];
	v[7] = lanes->is_one ? all((uint64_t)(uintptr_t)lanes->backends[0]) : _mm512_load_si512(lanes->backends);
	v[7] = lanes->has_rows ? v[7] : _mm512_setzero_si512();
	transpose(v);
	for (uint32_t i = 0; i < LANES; i++)
		if (lanes->in >> i & 1)
			_mm512_store_si512(&burst->packets[first + i], v[i]);
}

/* What rows say is read from. */
struct pools {
	__m512i sizes, lines;
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
	pools->sizes = _mm512_set_epi64(SIZE(7), SIZE(6), SIZE(5), SIZE(4), SIZE(3), SIZE(2), SIZE(1), SIZE(0));
	pools->lines = _mm512_set_epi64(LINE(7), LINE(6), LINE(5), LINE(4), LINE(3), LINE(2), LINE(1), LINE(0));
#undef LINE
#undef SIZE
	return rows;
}

ISA void lanes_rows(struct burst *burst, uint32_t first, struct lanes *lanes)
{
	__m512i rows, current;
	__mmask8 moved, steady;
	struct pools pools;

	rows = likely(lanes->is_one) ? read_one(lanes, &pools) : read_each(lanes, &pools);
	lanes->has_rows = true;
	_mm512_store_si512(lanes->rows, rows);
	current = _mm512_and_si512(rows, all(0xffff));
	moved = _mm512_test_epi64_mask(rows, all(0xffff0000)) & (__mmask8)~lanes->syns; /* which name no list */
	steady = _mm512_test_epi64_mask(current, current) & _mm512_cmplt_epu64_mask(current, pools.sizes);
	/* of others the line of id 0, which is absent */
	_mm512_store_si512(lanes->line, _mm512_add_epi64(pools.lines, _mm512_maskz_slli_epi64(steady, current, 6)));
	for (uint32_t i = 0; i < LANES; i++)
		rte_prefetch0((const void *)(uintptr_t)lanes->line[i]); /* no address can fault */
	if (unlikely(steady != LANES_ALL || !burst->is_brief))
		lanes_unpack(burst, first, lanes);
	for (uint32_t none = (uint8_t)~steady; unlikely(none); none &= none - 1)
		burst->packets[first + (uint32_t)__builtin_ctz(none)].verdict = VERDICT_NO_BACKEND;
	lanes->steady = (uint8_t)(steady & ~lanes->clamped);
	lanes->moved = (uint8_t)(moved & lanes->steady);
	lanes_measure(burst->lookup->lists, lanes);
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
