/* SPDX-License-Identifier: Apache-2.0 */
#include "packet/lanes.h"

#ifdef LANES_X86
#include <string.h>

#include <rte_branch_prediction.h>
#include <rte_prefetch.h>

#include "encap/gue.h"
#include "packet/lanes_simd.h"
#include "ring/backend.h"
#include "service/service.h"

_Static_assert(offsetof(struct packet, service) == 24 && offsetof(struct packet, hash) == 32, "words of struct packet");
_Static_assert(offsetof(struct packet, bucket) == 40 && offsetof(struct packet, ring) == 48, "words of struct packet");

ISA __attribute__((noinline)) void lanes_unpack(struct burst *burst, uint32_t first, struct lanes *lanes)
{
	__m512i v[8];

	lanes->is_unpacked = true;
	v[0] = _mm512_load_si512(lanes->word);
	v[1] = _mm512_load_si512(lanes->key[0]);
	v[2] = _mm512_load_si512(lanes->key[1]);
	v[3] = lanes->is_one ? all((uint64_t)(uintptr_t)lanes->service[0]) : _mm512_load_si512(lanes->service);
	v[4] = _mm512_load_si512(lanes->hash);
	v[5] = _mm512_load_si512(lanes->place);
	v[6] = lanes->is_one ? all((uint64_t)(uintptr_t)lanes->ring[0]) : _mm512_load_si512(lanes->ring);
	v[6] = lanes->has_rows ? _mm512_load_si512(lanes->rows) : v[6];
	v[7] = lanes->has_rows ? all((uint64_t)(uintptr_t)lanes->backends) : _mm512_setzero_si512();
	transpose(v);
	for (uint32_t i = 0; i < LANES; i++)
		if (lanes->in >> i & 1)
			_mm512_store_si512(&burst->packets[first + i], v[i]);
}

ISA void lanes_rows(struct burst *burst, uint32_t first, struct lanes *lanes)
{
	const struct service *service = lanes->service[0];
	const struct ring *ring = lanes->ring[0];
	__m512i rows, current, since;
	const struct backends *backends;
	__mmask8 moved, steady;
	uint32_t seconds;

#define ROW(i) (long long)ring_row(ring, (uint32_t)lanes->place[i])
	rows = _mm512_set_epi64(ROW(7), ROW(6), ROW(5), ROW(4), ROW(3), ROW(2), ROW(1), ROW(0));
#undef ROW
	lanes->backends = backends = ring_backends(ring);
	lanes->has_rows = true;
	_mm512_store_si512(lanes->rows, rows);
	seconds = __atomic_load_n(&service->moved_seconds, __ATOMIC_RELAXED);
	current = _mm512_and_si512(rows, all(0xffff));
	since = _mm512_srli_epi64(rows, 32);
	moved = _mm512_mask_cmplt_epu64_mask(_mm512_test_epi64_mask(rows, all(0xffff0000)), all(burst->now),
					     _mm512_add_epi64(since, all(seconds)));
	steady = _mm512_test_epi64_mask(current, current) & _mm512_cmplt_epu64_mask(current, all(backends->size));
	_mm512_store_si512(lanes->line,
			   _mm512_add_epi64(all((uint64_t)(uintptr_t)backends->rows), _mm512_slli_epi64(current, 6)));
	for (uint32_t i = 0; i < LANES; i++)
		rte_prefetch0((const void *)(uintptr_t)lanes->line[i]); /* no address can fault */
	if (unlikely(steady != LANES_ALL || !burst->is_brief))
		lanes_unpack(burst, first, lanes);
	for (uint32_t none = (uint8_t)~steady; unlikely(none); none &= none - 1)
		burst->packets[first + (uint32_t)__builtin_ctz(none)].verdict = VERDICT_NO_BACKEND;
	lanes->steady = (uint8_t)(steady & ~moved & ~lanes->syns);
}

_Static_assert(sizeof(struct backend) == 1 << 6, "lanes_rows() computes addresses of lines");

/* Where the fields of lanes stand in a header: bytes in order, as many as lanes give. */
enum {
	AT_TOS = AT_IP + 1,
	AT_LEN = AT_IP + 2,
	AT_CHECKSUM = AT_IP + 10,
	AT_PORT = GUE_AT_UDP,
	AT_UDP_LEN = GUE_AT_UDP + 4,
	AT_PROTOCOL = GUE_AT_GUE + 1,
	AT_BUCKET = GUE_AT_GUE + FL_STEER_AT_BUCKET,
};

#define GUE_WHERE                                                                                                      \
	(1ULL << AT_TOS | 3ULL << AT_LEN | 3ULL << AT_CHECKSUM | 3ULL << AT_PORT | 3ULL << AT_UDP_LEN |                \
	 1ULL << AT_PROTOCOL)

/* Whether a lane's backend gives packets the plain header, and there is room for it. */
static inline bool may_write(const struct lanes *lanes, uint32_t i, const struct rte_mbuf *mbuf)
{
	const struct backend *line = (const struct backend *)(uintptr_t)lanes->line[i];

	return backend_is_steady(line) && (lanes->word[i] >> 48) + GUE_PLAIN_LEN - AT_IP <= line->mtu &&
	       mbuf->data_off >= GUE_PLAIN_LEN - AT_IP;
}

/* Fields of the plain header, but for bucket and generation, in the order of GUE_WHERE: of packets 0 2 4 6 1 3 5 7. */
static inline ISA void make_fields(const struct lanes *lanes, __m512i total, __m128i sums, __m128i fields[LANES])
{
	__m512i word = _mm512_load_si512(lanes->word), hash = _mm512_load_si512(lanes->hash);
	__m512i tos = _mm512_and_si512(_mm512_srli_epi64(word, 24), all(0xff)), port, sum, left, right;
	__m512i ip_len = _mm512_add_epi64(total, all(GUE_PLAIN_LEN - AT_IP));

	sum = fold(_mm512_add_epi64(_mm512_add_epi64(_mm512_cvtepu16_epi64(sums), tos), ip_len));
	sum = swap16(_mm512_xor_si512(sum, all(0xffff)));
	/* fl_outer_source_port() */
	port = _mm512_ternarylogic_epi64(all(0xc000), _mm512_srli_epi64(hash, 18), all(0x3fff), 0xf8);
	right = swap16(_mm512_sub_epi64(ip_len, all(ENCAP_IPV4_LEN)));
	/* traffic class 1 | length 2 | checksum 2 | source port 2 | length of UDP 2, in two words | inner protocol 1 */
	left = any(tos, _mm512_slli_epi64(swap16(ip_len), 8), _mm512_slli_epi64(sum, 24));
	left = any(left, _mm512_slli_epi64(swap16(port), 40), _mm512_slli_epi64(right, 56));
	right = _mm512_or_si512(_mm512_srli_epi64(right, 8), all(FL_GUE_PROTO_IPV4 << 8));
	_mm512_store_si512(fields, _mm512_unpacklo_epi64(left, right));
	_mm512_store_si512(fields + 4, _mm512_unpackhi_epi64(left, right));
}

static inline __attribute__((always_inline)) ISA uint32_t encap_some(struct burst *burst, uint32_t first,
								     struct lanes *lanes, uint32_t written)
{
	const __mmask64 whole = (1ULL << ENCAP_HEAD_LEN) - 1, where = GUE_WHERE;
	__m512i total = _mm512_srli_epi64(_mm512_load_si512(lanes->word), 48);
	uint64_t place[LANES] __attribute__((aligned(64)));
	__m128i fields[LANES] __attribute__((aligned(64))), sums = _mm_setzero_si128();
	uint16_t lens[LANES] __attribute__((aligned(16)));
	uint8_t port = written ? ((const struct backend *)(uintptr_t)lanes->line[__builtin_ctz(written)])->port : 0;
	uint8_t differs = 0;

#define SUM(i)                                                                                                         \
	do {                                                                                                           \
		const struct backend *line = (const struct backend *)(uintptr_t)lanes->line[i];                        \
                                                                                                                       \
		if (!(written >> (i)&1))                                                                               \
			break;                                                                                         \
		sums = _mm_insert_epi16(sums, line->outer.sum, i);                                                     \
	} while (0)
	SUM(0);
	SUM(1);
	SUM(2);
	SUM(3);
	SUM(4);
	SUM(5);
	SUM(6);
	SUM(7);
#undef SUM
	make_fields(lanes, total, sums, fields);
	_mm_store_si128((__m128i *)(void *)lens, _mm512_cvtepi64_epi16(_mm512_add_epi64(total, all(GUE_PLAIN_LEN))));
	_mm512_store_si512(place, swap32(_mm512_load_si512(lanes->place)));
	for (uint32_t i = 0; i < LANES; i++) {
		const struct backend *line = (const struct backend *)(uintptr_t)lanes->line[i];
		struct rte_mbuf *mbuf = burst->mbufs[first + i];
		__m512i header;
		uint8_t *out;

		if (!(written >> i & 1))
			continue;
		header = _mm512_mask_expand_epi8(_mm512_load_si512(line), where,
						 _mm512_castsi128_si512(fields[(i & 1) * 4 + i / 2]));
		mbuf->data_off = (uint16_t)(mbuf->data_off - (GUE_PLAIN_LEN - AT_IP));
		mbuf->data_len = lens[i];
		mbuf->pkt_len = lens[i];
		out = rte_pktmbuf_mtod(mbuf, uint8_t *);
		_mm512_mask_storeu_epi8(out, whole, header);
		memcpy(out + AT_BUCKET, &place[i], sizeof(place[i]));
		if (lanes->is_unpacked)
			burst->packets[first + i].port = line->port; /* overwrites the table of backends (union) */
		differs |= line->port ^ port;
	}
	lanes->port = differs ? (uint8_t)PORTS_DIFFER : port;
	burst->bytes += (uint64_t)_mm512_reduce_add_epi64(
	    _mm512_maskz_mov_epi64((__mmask8)written, _mm512_load_si512(lanes->frame_len)));
	return written;
}

ISA uint32_t lanes_encap(struct burst *burst, uint32_t first, struct lanes *lanes)
{
	uint32_t written = 0;

	for (uint32_t i = 0; i < LANES; i++)
		if (lanes->steady >> i & 1)
			written |= (uint32_t)may_write(lanes, i, burst->mbufs[first + i]) << i;
	if (unlikely(written != LANES_ALL && !lanes->is_unpacked))
		lanes_unpack(burst, first, lanes);
	return likely(written == LANES_ALL) ? encap_some(burst, first, lanes, LANES_ALL)
					    : encap_some(burst, first, lanes, written);
}

void lanes_tell(struct burst *burst, uint32_t first, const struct lanes *lanes)
{
	for (uint32_t i = 0; i < LANES; i++) {
		struct packet *packet = &burst->packets[first + i];

		memcpy(packet, &lanes->word[i], sizeof(lanes->word[i]));
		packet->service = lanes->service[lanes->is_one ? 0 : i];
		packet->port = ((const struct backend *)(uintptr_t)lanes->line[i])->port;
	}
}

ISA uint32_t lanes_ip_bytes(const struct lanes *lanes)
{
	return (uint32_t)_mm512_reduce_add_epi64(_mm512_srli_epi64(_mm512_load_si512(lanes->word), 48));
}
#endif
