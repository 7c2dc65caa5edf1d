/* SPDX-License-Identifier: Apache-2.0 */
/* The lanes' last stages with lists (lists.h), by what the mux's own share. */
#define lanes_unpack   lists_unpack
#define lanes_rows     lists_rows_before
#define lanes_encap    lists_encap_before
#define lanes_tag_two  lists_tag_two
#define lanes_tell     lists_tell
#define lanes_ip_bytes lists_ip_bytes
#include "packet/lanes_tail.c"
#include "lists.h"

#ifdef LANES_X86
enum { LISTS_BYTES = 7 * LISTS_ADDRESS_LEN }; /* of a row shifted by 14: those of its list */

_Static_assert((int)LISTS_AT_GENERATION == (int)AT_BUCKET, "templates end before it");

/* Bytes of a header in which packets differ, and of it without addresses. */
#define LISTS_WHERE                                                                                                    \
	(IP_WHERE | 3ULL << GUE_AT_UDP | 3ULL << (GUE_AT_UDP + 4) | 1ULL << AT_GUE | 3ULL << LISTS_AT_VERSION |        \
	 15ULL << LISTS_AT_GENERATION)
#define LISTS_WHOLE ((1ULL << LISTS_PLAIN_LEN) - 1)

/* What mbufs have of frames whose headers are so long in front of the IP packet: pkt_len 4, data_len 2 and no VLAN 2. */
static inline ISA __m512i lists_frames(const struct lanes *lanes, __m512i more)
{
	__m512i ip_len = _mm512_srli_epi64(_mm512_load_si512(lanes->word), 48);
	__m512i len = _mm512_add_epi64(_mm512_add_epi64(ip_len, all(AT_IP)), more);

	return _mm512_or_si512(len, _mm512_slli_epi64(len, 32));
}

/*
 * The same and the lengths themselves of a group with lists, in the place of moves and tags. They are known long before
 * they are needed: an address to store to that waits for the header's other parts holds up what follows (0.6 ns a packet).
 */
static inline ISA void lists_lengths(struct lanes *lanes, __m512i rows)
{
	const __m512i plain = all(LISTS_PLAIN_LEN - AT_IP), bytes = _mm512_srli_epi64(rows, 14);
	__m512i more = _mm512_mask_add_epi64(plain, lanes->moved, plain, _mm512_and_si512(bytes, all(LISTS_BYTES)));

	_mm512_store_si512(lanes->tag, more);
	_mm512_store_si512(lanes->move, lists_frames(lanes, more));
}

ISA void lists_rows(struct burst *burst, uint32_t first, struct lanes *lanes)
{
	__m512i rows, current;
	__mmask8 listed, steady, open;
	struct pools pools;

	rows = likely(lanes->is_one) ? read_one(lanes, &pools) : read_each(lanes, &pools);
	lanes->has_rows = true;
	_mm512_store_si512(lanes->rows, rows);
	current = _mm512_and_si512(rows, all(0xffff));
	listed = (__mmask8)(_mm512_test_epi64_mask(rows, all(0xffff0000)) & ~lanes->syns);
	open = _mm512_cmplt_epu64_mask(all(burst->now), pools.seconds);
	steady = _mm512_test_epi64_mask(current, current) & _mm512_cmplt_epu64_mask(current, pools.sizes);
	/* of others the line of id 0, which is absent */
	_mm512_store_si512(lanes->line, _mm512_add_epi64(pools.lines, _mm512_maskz_slli_epi64(steady, current, 6)));
	for (uint32_t i = 0; i < LANES; i++)
		rte_prefetch0((const void *)(uintptr_t)lanes->line[i]); /* no address can fault */
	if (unlikely(steady != LANES_ALL || !burst->is_brief))
		lanes_unpack(burst, first, lanes);
	for (uint32_t none = (uint8_t)~steady; unlikely(none); none &= none - 1)
		burst->packets[first + (uint32_t)__builtin_ctz(none)].verdict = VERDICT_NO_BACKEND;
	lanes->steady = (uint8_t)(steady & ~lanes->clamped & (open | ~listed));
	lanes->moved = (uint8_t)(listed & lanes->steady);
	if (!lanes->moved)
		return;
	lists_lengths(lanes, rows);
	if (likely(lists.are_few))
		return;
	for (uint32_t i = 0; i < LANES; i++)
		rte_prefetch0(lists_get(lists.list, lanes->rows[i]));
}

/* Rows of a group some of whose packets are not in lanes. */
static __attribute__((noinline)) ISA void lists_of_mixed(const struct burst *burst, uint32_t first, struct lanes *lanes)
{
	for (uint32_t i = 0; i < LANES; i++) {
		const struct packet *packet = &burst->packets[first + i];
		const uint8_t bit = (uint8_t)(1U << i);

		lanes->rows[i] = lanes->steady & bit ? packet->row : 0;
		if (lanes->moved & bit && burst->now >= lists_until(packet->service)) {
			lanes->steady &= (uint8_t)~bit;
			lanes->moved &= (uint8_t)~bit;
		}
	}
	lists_lengths(lanes, _mm512_load_si512(lanes->rows));
}

/* The smallest MTU of each moved lane's pool; 0 if it has an IPv6 address, so that the packet leaves. */
static __attribute__((noinline)) ISA __m512i narrowest_of_each(const struct burst *burst, uint32_t first,
							       const struct lanes *lanes)
{
	uint64_t narrowest[LANES] __attribute__((aligned(64))) = {0};

	for (uint32_t left = lanes->moved; left; left &= left - 1) {
		uint32_t i = (uint32_t)__builtin_ctz(left);
		const struct backends *backends =
		    lanes->has_rows ? lanes->backends[lanes->is_one ? 0 : i] : burst->packets[first + i].backends;

		narrowest[i] = backends_narrowest(backends);
		narrowest[i] = narrowest[i] & BACKENDS_IPV6 ? 0 : narrowest[i];
	}
	return _mm512_load_si512(narrowest);
}

static inline ISA __m512i narrowest_of(const struct burst *burst, uint32_t first, const struct lanes *lanes)
{
	uint32_t narrowest;

	if (unlikely(!lanes->is_one || !lanes->has_rows))
		return narrowest_of_each(burst, first, lanes);
	narrowest = backends_narrowest(lanes->backends[0]);
	return all(unlikely(narrowest & BACKENDS_IPV6) ? 0 : narrowest);
}

/* Those of `steady` whose headers lanes can write. */
static inline ISA __mmask8 lists_written(const struct burst *burst, uint32_t first, const struct lanes *lanes,
					 bool has_lists, const struct line_ends *lines, __m512i ip_len)
{
	__m512i most = _mm512_and_si512(lines->second, all(0xffff));
	__mmask8 written;

	written = _mm512_mask_cmpeq_epu64_mask(lanes->steady, _mm512_srli_epi64(lines->first, 32),
					       all(BACKEND_STEADY(ENCAP_PLAIN_GUE)));
	if (has_lists)
		most = _mm512_mask_mov_epi64(most, lanes->moved, narrowest_of(burst, first, lanes));
	return _mm512_mask_cmple_epu64_mask(written, ip_len, most);
}

/*
 * make_fields() with the generation instead of the inner protocol, which templates have, and version, left, flags and
 * count before it.
 */
static inline ISA void lists_fields(const struct lanes *lanes, bool has_lists, __m512i rows, __m512i ip_len,
				    __m512i sum, __m128i fields[LANES])
{
	/* a row's count in these places of a lane: GUE's length 1, left 2; and its byte of count and flags: 3 */
	const long long even = (long long)0xffffffff030202ff, odd = (long long)0xffffffff0b0a0aff;
	const uint64_t fixed =
	    (uint64_t)(LISTS_PLAIN_LEN - AT_GUE - FL_GUE_BASE_LEN) / 4 << 8 | (uint64_t)FL_LIST_VERSION << 20;
	const __m512i high = all(0xffffffff00000000);
	__m512i word = _mm512_load_si512(lanes->word), left, right, port;
	__m512i tos = _mm512_and_si512(_mm512_srli_epi64(word, 24), all(0xff));
	__m512i generation = swap32(_mm512_load_si512(lanes->place));

	sum = _mm512_add_epi64(_mm512_add_epi64(sum, tos), ip_len);
	sum = swap16(_mm512_xor_si512(fold(sum), all(0xffff)));
	left = any(tos, _mm512_slli_epi64(swap16(ip_len), 8), _mm512_slli_epi64(sum, 24));
	port = _mm512_srli_epi64(_mm512_load_si512(lanes->hash), 18);
	port = _mm512_ternarylogic_epi64(all(0xc000), port, all(0x3fff), 0xf8);
	right = swap16(_mm512_sub_epi64(ip_len, all(ENCAP_IPV4_LEN)));
	left = any(left, _mm512_slli_epi64(swap16(port), 40), _mm512_slli_epi64(right, 56));
	right = _mm512_or_si512(_mm512_srli_epi64(right, 8), all(fixed));
	if (has_lists)
		right = _mm512_add_epi64(right, _mm512_shuffle_epi8(rows, _mm512_set4_epi64(odd, even, odd, even)));
	right = _mm512_ternarylogic_epi64(generation, high, right, 0xea);
	_mm512_store_si512(fields, _mm512_unpacklo_epi64(left, right));
	_mm512_store_si512(fields + 4, _mm512_unpackhi_epi64(left, right));
}

_Static_assert(offsetof(struct rte_mbuf, data_len) == offsetof(struct rte_mbuf, pkt_len) + 4 &&
		   offsetof(struct rte_mbuf, vlan_tci) == offsetof(struct rte_mbuf, pkt_len) + 6,
	       "lengths are written as one word");

/* Where each byte of a header comes from that is not its template's: the fields in order. */
static inline ISA __m512i lists_places(void)
{
	static const uint8_t places[64] __attribute__((aligned(64))) = {[AT_IP + 1] = 0,
									[AT_IP + 2] = 1,
									2,
									[AT_IP + 10] = 3,
									4,
									[GUE_AT_UDP] = 5,
									6,
									[GUE_AT_UDP + 4] = 7,
									8,
									[AT_GUE] = 9,
									[LISTS_AT_VERSION] = 10,
									11,
									[LISTS_AT_GENERATION] = 12,
									13,
									14,
									15};

	return _mm512_load_si512(places);
}

static inline __attribute__((always_inline)) ISA void lists_write(struct burst *burst, uint32_t first,
								  const struct lanes *lanes, bool has_lists,
								  const __m128i fields[LANES],
								  const uint64_t frames[LANES], uint32_t written)
{
	const __mmask64 where = kept(LISTS_WHERE), whole = kept(LISTS_WHOLE);
	const struct list *const table = lists.list;
	const __m512i places = lists_places();
	const bool is_ipv6 = lanes->is_ipv6;

	for (uint32_t i = 0; i < LANES; i++) {
		struct rte_mbuf *mbuf = burst->mbufs[first + i];
		const uint64_t more = has_lists ? lanes->tag[i] : LISTS_PLAIN_LEN - AT_IP;
		const uint32_t at = (i & 1) * 4 + i / 2;
		__m512i header;
		uint8_t *data;

		if (!(written >> i & 1))
			continue;
		header = _mm512_mask_permutexvar_epi8(_mm512_load_si512(line_of(lanes, i)), where, places,
						      _mm512_castsi128_si512(fields[at]));
		data = rte_pktmbuf_mtod(mbuf, uint8_t *);
		mbuf->data_off = (uint16_t)(mbuf->data_off - more);
		memcpy(&mbuf->pkt_len, &frames[i], sizeof(frames[i]));
		if (has_lists) { /* what is in front of the addresses is overwritten */
			const struct list *list = lists_get(table, lanes->rows[i]);

			_mm256_storeu_epi64(data + AT_IP - sizeof(*list), _mm256_load_epi64(list));
		}
		_mm512_mask_storeu_epi8(data - more, whole, header);
		if (unlikely(is_ipv6))
			*(data - more + AT_GUE + 1) = FL_GUE_PROTO_IPV6;
	}
}

static inline __attribute__((always_inline)) ISA uint32_t lists_form(struct burst *burst, uint32_t first,
								     struct lanes *lanes, bool has_lists)
{
	const struct line_ends lines = load_line_ends(lanes);
	const __m512i ports = _mm512_and_si512(_mm512_srli_epi64(lines.second, 32), all(0xff));
	__m512i ip_len = _mm512_srli_epi64(_mm512_load_si512(lanes->word), 48);
	__m512i rows = _mm512_setzero_si512(), more = all(LISTS_PLAIN_LEN - AT_IP);
	__m128i fields[LANES] __attribute__((aligned(64)));
	uint64_t own[LANES] __attribute__((aligned(64)));
	const uint64_t *frames = has_lists ? lanes->move : own;
	uint32_t written;
	uint8_t port;

	if (has_lists) {
		rows = _mm512_maskz_load_epi64(lanes->moved, lanes->rows);
		more = _mm512_load_si512(lanes->tag);
	} else {
		_mm512_store_si512(own, lists_frames(lanes, more));
	}
	ip_len = _mm512_add_epi64(ip_len, more);
	written = lists_written(burst, first, lanes, has_lists, &lines, ip_len);
	if (unlikely(written != LANES_ALL)) {
		if (!lanes->is_unpacked)
			lanes_unpack(burst, first, lanes);
		if (!written)
			return 0;
	}
	port = line_of(lanes, (uint32_t)__builtin_ctz(written))->port;
	lists_fields(lanes, has_lists, rows, ip_len, _mm512_and_si512(_mm512_srli_epi64(lines.first, 16), all(0xffff)),
		     fields);
	if (likely(written == LANES_ALL))
		lists_write(burst, first, lanes, has_lists, fields, frames, LANES_ALL);
	else
		lists_write(burst, first, lanes, has_lists, fields, frames, written);
	for (uint32_t left = written; unlikely(lanes->is_unpacked) && left; left &= left - 1) {
		uint32_t i = (uint32_t)__builtin_ctz(left);

		burst->packets[first + i].port = line_of(lanes, i)->port; /* overwrites the table of backends (union) */
	}
	lanes->port = _mm512_mask_cmpneq_epu64_mask((__mmask8)written, ports, all(port)) ? (uint8_t)PORTS_DIFFER : port;
	burst->bytes += (uint64_t)_mm512_reduce_add_epi64(
	    _mm512_maskz_mov_epi64((__mmask8)written, _mm512_load_si512(lanes->frame_len)));
	return written;
}

ISA uint32_t lists_encap(struct burst *burst, uint32_t first, struct lanes *lanes)
{
	uint32_t written;

	if (unlikely(!lanes->has_rows))
		lists_of_mixed(burst, first, lanes);
	if (!lanes->moved)
		return lists_form(burst, first, lanes, false);
	written = lists_form(burst, first, lanes, true);
	burst->moved += (uint32_t)__builtin_popcount(written & lanes->moved);
	return written;
}
#endif
