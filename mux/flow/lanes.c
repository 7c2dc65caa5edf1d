/* SPDX-License-Identifier: Apache-2.0 */
#include "flow/lanes.h"

#ifdef LANES_X86
#include "flow/simd.h"
#include "ring/backend.h"

_Static_assert(offsetof(struct packet, service) == 24 && offsetof(struct packet, hash) == 32, "words of struct packet");
_Static_assert(offsetof(struct packet, bucket) == 40 && offsetof(struct packet, ring) == 48, "words of struct packet");

/* rows_known() of second rows. */
static inline ISA __m512i known_seconds(const struct lanes *lanes)
{
	const __m512i rows = _mm512_load_si512(lanes->second_rows), low16 = all(0xffff);
	const __mmask8 unknown = _mm512_cmpge_epu64_mask(_mm512_and_si512(rows, low16), all(lanes->backends[0]->size));

	return _mm512_mask_andnot_epi64(rows, unknown, low16, rows);
}

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
	if (lanes->has_rows && lanes->seconds) {
		v[1] = _mm512_mask_mov_epi64(v[1], lanes->seconds, known_seconds(lanes));
		v[2] = _mm512_mask_mov_epi64(v[2], lanes->seconds, _mm512_load_si512(lanes->second));
		burst->seconds |= (uint32_t)lanes->seconds << first;
	}
	transpose(v);
	for (uint32_t i = 0; i < LANES; i++)
		if (lanes->in >> i & 1)
			_mm512_store_si512(&burst->packets[first + i], v[i]);
}
#endif
