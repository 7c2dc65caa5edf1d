/* SPDX-License-Identifier: Apache-2.0 */
#include "packet_floor.h"

#include <rte_prefetch.h>

#include "encap/gue.h"
#include "flow/lanes.h"
#include "flow/lanes_siphash.h"
#include "flow/service.h"
#include "ring/backend.h"
#include "ring/ring.h"

static inline void fetch(const struct burst *burst, uint32_t first)
{
	for (uint32_t i = first; i < first + LANES && i < burst->count; i++) {
		const uint8_t *data = rte_pktmbuf_mtod(burst->mbufs[i], const uint8_t *);

		rte_prefetch0(data);
		rte_prefetch0(data - RTE_CACHE_LINE_SIZE);
	}
}

/* The words that are hashed; all of the frames' first 48 bytes are read. */
VEC_INLINE void read_frames(const struct burst *burst, uint32_t first, vec key[2])
{
	const uint8_t *data[LANES];
	vec word[6];

#pragma GCC unroll 8
	for (uint32_t i = 0; i < LANES; i++)
		data[i] = rte_pktmbuf_mtod(burst->mbufs[first + i], const uint8_t *);
	for (size_t i = 0; i < 6; i += 2)
		vec_load_words(data, i * sizeof(uint64_t), &word[i], &word[i + 1]);
	key[0] = vec_or3(vec_right(word[3], 16), vec_left(word[4], 48), vec_and(word[0], vec_and(word[1], vec_all(0))));
	key[1] = vec_or3(vec_right(word[4], 16), word[2], word[5]);
}

/* Two groups: lanes_hash_two(). */
VEC_INLINE void hash_frames(const struct service *service, vec x_key[2], vec y_key[2], vec *x_hash, vec *y_hash)
{
	struct lanes_siphash x = lanes_siphash_begin(vec_all(service->key.k0), vec_all(service->key.k1)), y = x;

	lanes_siphash_add_two(&x, x_key[0], &y, y_key[0]);
	lanes_siphash_add_two(&x, x_key[1], &y, y_key[1]);
	lanes_siphash_end_two(&x, &y);
	*x_hash = lanes_siphash_result(&x);
	*y_hash = lanes_siphash_result(&y);
}

static inline void store_header(struct rte_mbuf *mbuf, const struct backend *backend)
{
	const __m512i header = _mm512_load_si512(backend);
	const uint32_t more = GUE_PLAIN_LEN - ENCAP_AT_IP;
	uint8_t *data = rte_pktmbuf_mtod(mbuf, uint8_t *);

	mbuf->data_off = (uint16_t)(mbuf->data_off - more);
	mbuf->pkt_len += more;
	mbuf->data_len = (uint16_t)mbuf->pkt_len;
	_mm512_mask_storeu_epi8(data - more, (1ULL << GUE_PLAIN_LEN) - 1, header);
}

void packet_floor_steer(enum packet_floor floor, struct burst *burst, struct service *service)
{
	const struct ring *ring = service_ring(service);
	const struct backends *backends = ring_backends(ring);
	uint64_t buckets[BURST_MAX] __attribute__((aligned(64)));
	const struct backend *lines[BURST_MAX];

	fetch(burst, 0);
	for (uint32_t first = 0; first < burst->count; first += LANES * 2) {
		vec x_key[2], y_key[2], x, y;

		fetch(burst, first + LANES);
		read_frames(burst, first, x_key);
		fetch(burst, first + 2 * LANES);
		read_frames(burst, first + LANES, y_key);
		x = vec_xor(x_key[0], x_key[1]);
		y = vec_xor(y_key[0], y_key[1]);
		if (floor >= FLOOR_HASHES)
			hash_frames(service, x_key, y_key, &x, &y);
		vec_store(buckets + first, vec_and(x, vec_all(ring->mask)));
		vec_store(buckets + first + LANES, vec_and(y, vec_all(ring->mask)));
		for (uint32_t i = first; floor >= FLOOR_ROWS && i < first + 2 * LANES; i++)
			rte_prefetch0(&ring->rows[(uint32_t)buckets[i]]);
	}
	for (uint32_t i = 0; i < burst->count; i++)
		lines[i] = &backends->rows[floor < FLOOR_ROWS ? 1 + (buckets[i] & 1)
							      : fl_row_current(ring_row(ring, (uint32_t)buckets[i]))];
	for (uint32_t i = 0; i < burst->count; i++)
		store_header(burst->mbufs[i], lines[i]);
	burst->one = service;
}
