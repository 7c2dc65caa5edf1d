/* SPDX-License-Identifier: Apache-2.0 */
#include "packet/lanes.h"

#ifdef LANES_X86
#include <netinet/in.h>
#include <string.h>

#include <rte_branch_prediction.h>
#include <rte_prefetch.h>

#include "flow/simd.h"
#include "packet/transport.h"
#include "service/lookup.h"
#include "flow/service.h"

enum {
	AT_L4 = AT_IP + ENCAP_IPV4_LEN,
	SEEN = 48, /* what is read of each frame: up to TCP's flags */
};

_Static_assert(AT_L4 + TRANSPORT_AT_TCP_FLAGS == SEEN - 1, "TCP's flags are the last byte that look reads");

/* 32 bytes of each of two packets. */
static inline ISA __m512i two_of(const uint8_t *a, const uint8_t *b)
{
	return _mm512_mask_broadcast_i64x4(_mm512_castsi256_si512(_mm256_loadu_si256((const __m256i *)(const void *)a)),
					   0xf0, _mm256_loadu_si256((const __m256i *)(const void *)b));
}

/* The frames' first bytes, as words of eight bytes: word i of packet j is lane j of the i-th. */
struct head {
	__m512i word0;   /* bit differences from the template: MAC, type, version and header length */
	__m512i word[6]; /* [0] is not set */
};

static inline ISA void load_heads(uint64_t mac, const uint8_t *const data[LANES], struct head *out)
{
	const __m512i low = _mm512_set_epi64(13, 12, 5, 4, 9, 8, 1, 0),
		      high = _mm512_set_epi64(15, 14, 7, 6, 11, 10, 3, 2);
	const __m512i template = _mm512_broadcast_i32x4(_mm_set_epi64x(0x0045000800000000, (long long)mac));
	const __m512i counts = _mm512_broadcast_i32x4(_mm_set_epi64x(0x00ffffff00000000, 0x0000ffffffffffff));
	__m512i even = four_of(data[0], data[2], data[4], data[6]), odd = four_of(data[1], data[3], data[5], data[7]);
	__m512i a = two_of(data[0] + 16, data[4] + 16), b = two_of(data[1] + 16, data[5] + 16);
	__m512i c = two_of(data[2] + 16, data[6] + 16), d = two_of(data[3] + 16, data[7] + 16);
	__m512i ab = _mm512_unpacklo_epi64(a, b), ab1 = _mm512_unpackhi_epi64(a, b);
	__m512i cd = _mm512_unpacklo_epi64(c, d), cd1 = _mm512_unpackhi_epi64(c, d);
	__m512i even_differs = differ(even, template, counts), odd_differs = differ(odd, template, counts);

	out->word0 = _mm512_or_si512(_mm512_unpacklo_epi64(even_differs, odd_differs),
				     _mm512_unpackhi_epi64(even_differs, odd_differs));
	out->word[1] = _mm512_unpackhi_epi64(even, odd);
	out->word[2] = _mm512_permutex2var_epi64(ab, low, cd);
	out->word[4] = _mm512_permutex2var_epi64(ab, high, cd);
	out->word[3] = _mm512_permutex2var_epi64(ab1, low, cd1);
	out->word[5] = _mm512_permutex2var_epi64(ab1, high, cd1);
}

/* Those of the lanes whose address, as loaded, may be a VIP or one of this mux: the table has its low word. */
static inline ISA __mmask8 may_loop(const struct lookup *lookup, __mmask8 lanes, __m512i addresses)
{
	const __m512i factor = all(0x9e3779b97f4a7c15), mask = all(lookup->mask);
	__m512i low = _mm512_or_si512(_mm512_slli_epi64(addresses, 32), all(0xffff0000)), slot, word;
	__m512i in_order = swap32(addresses);
	__mmask8 may = 0;

	/* lookup_may_have_ipv4() */
	lanes = _mm512_mask_cmpge_epu64_mask(lanes, in_order, all(lookup->ipv4_first));
	lanes = _mm512_mask_cmple_epu64_mask(lanes, in_order, all(lookup->ipv4_last));
	if (likely(!lanes))
		return 0;
	slot = _mm512_xor_si512(low, _mm512_srli_epi64(low, 32));
	slot = _mm512_and_si512(_mm512_srli_epi64(_mm512_mullo_epi64(slot, factor), 32), mask);
	for (;;) {
		const uint8_t *slots = (const uint8_t *)lookup->slots;
		__m512i at = _mm512_slli_epi64(slot, 5);

		word = _mm512_mask_i64gather_epi64(_mm512_setzero_si512(), lanes, at,
						   slots + offsetof(struct lookup_vip, first), 1);
		lanes = _mm512_test_epi64_mask(word, all(0xffffffff00000000));
		if (likely(!lanes))
			return may;
		word = _mm512_mask_i64gather_epi64(_mm512_setzero_si512(), lanes, at,
						   slots + offsetof(struct lookup_vip, low), 1);
		may |= _mm512_mask_cmpeq_epi64_mask(lanes, word, low);
		lanes &= (__mmask8)~may;
		slot = _mm512_and_si512(_mm512_add_epi64(slot, all(1)), mask);
	}
}

_Static_assert(sizeof(struct lookup_vip) == 32 &&
		   offsetof(struct lookup_vip, count) == offsetof(struct lookup_vip, first) + 4,
	       "may_loop() reads slots");

/* The destination of lane 0, as in a register, and read on its own, so that its service is known early. */
static inline uint64_t first_destination(const uint8_t *frame)
{
	uint32_t address = transport_load32(frame + AT_IP + 16);
	uint16_t port;

	memcpy(&port, frame + AT_L4 + 2, sizeof(port));
	return address | (uint64_t)port << 32 | (uint64_t)frame[AT_IP + 9] << 48;
}

static inline bool is_ipv6(const struct rte_mbuf *mbuf)
{
	const uint8_t *frame = rte_pktmbuf_mtod(mbuf, const uint8_t *);

	return mbuf->data_len >= AT_IP && frame[12] == 0x86 && frame[13] == 0xdd;
}

ISA void lanes_look(struct burst *burst, uint32_t first, struct lanes *lanes, const struct lanes *before)
{
	const uint8_t *data[LANES];
	const __m512i low16 = all(0xffff), low32 = all(0xffffffff), one = all(1);
	__m512i frame_len, wrong, key, ports, protocol, total, l4_len, sum, source, destination;
	__m512i own_len, least_len, short_by; /* of TCP's or UDP's header; what is too little is negative there */
	struct head head;
	__mmask8 in, udp, syns;

	lanes->is_ipv6 = is_ipv6(burst->mbufs[first]);
	if (unlikely(lanes->is_ipv6)) {
		lanes_look_ipv6(burst, first, lanes);
		return;
	}
	in = (__mmask8)lanes_find_frames(burst, first, SEEN, data, &frame_len);
	lanes->destination = first_destination(data[0]);
	if (likely(before && before->destination == lanes->destination))
		lanes->service[0] = before->service[0];
	else
		lanes->service[0] = lookup_common(burst->lookup, lanes->destination);
	load_heads(burst->mac, data, &head);

	protocol = _mm512_srli_epi64(head.word[2], 56);
	udp = _mm512_cmpeq_epi64_mask(protocol, all(IPPROTO_UDP));
	/* TCP, as UDP in this sum: no other protocol */
	wrong = _mm512_xor_si512(_mm512_mask_sub_epi64(protocol, udp, protocol, all(IPPROTO_UDP - IPPROTO_TCP)),
				 all(IPPROTO_TCP));
	/* no fragment */
	wrong = any(wrong, head.word0, _mm512_and_si512(head.word[2], all(0xff3fULL << 32)));
	sum = _mm512_add_epi64(_mm512_srli_epi64(head.word[1], 48), _mm512_and_si512(head.word[4], low16));
	sum = _mm512_add_epi64(sum, _mm512_add_epi64(halves_sum(head.word[2]), halves_sum(head.word[3])));
	wrong = _mm512_or_si512(wrong, _mm512_xor_si512(fold(sum), low16));

	/* source 4 | destination 4, and the ports behind them */
	key = _mm512_shrdi_epi64(head.word[3], head.word[4], 16);
	ports = _mm512_and_si512(_mm512_srli_epi64(head.word[4], 16), low32);
	total = swap16(head.word[2]);
	l4_len = _mm512_sub_epi64(total, all(ENCAP_IPV4_LEN));
	own_len = _mm512_and_si512(_mm512_srli_epi64(head.word[5], 50), all(0x3c));
	own_len = _mm512_mask_mov_epi64(own_len, udp, swap16(_mm512_srli_epi64(head.word[4], 48)));
	least_len = _mm512_mask_mov_epi64(all(TRANSPORT_TCP_LEN), udp, all(TRANSPORT_UDP_LEN));
	short_by = any(_mm512_sub_epi64(_mm512_sub_epi64(frame_len, all(AT_IP)), total),
		       _mm512_sub_epi64(own_len, least_len), _mm512_sub_epi64(l4_len, own_len));
	/* TTL; TCP's source port */
	short_by = any(short_by, _mm512_sub_epi64(_mm512_and_si512(head.word[2], all(0xffULL << 48)), one),
		       _mm512_maskz_sub_epi64((__mmask8)~udp, _mm512_and_si512(ports, low16), one));
	/* the source's first byte: neither 0 nor 127 nor from 224 on; and another address than the destination */
	source = _mm512_and_si512(key, all(0xff));
	short_by = any(short_by, _mm512_sub_epi64(source, one), _mm512_sub_epi64(all(223), source));
	short_by =
	    any(short_by, _mm512_sub_epi64(_mm512_xor_si512(source, all(127)), one),
		_mm512_sub_epi64(_mm512_and_si512(_mm512_xor_si512(key, _mm512_srli_epi64(key, 32)), low32), one));
	in = _mm512_mask_testn_epi64_mask(in, wrong, wrong) & (__mmask8)~_mm512_movepi64_mask(short_by);
	syns = _mm512_mask_test_epi64_mask((__mmask8)~udp, head.word[5], all((uint64_t)TRANSPORT_TCP_SYN << 56));
	if (udp & in)
		in &= (__mmask8)~may_loop(burst->lookup, udp & in, _mm512_and_si512(key, low32));

	/* destination 4 | port 2 | protocol 1 */
	destination = any(_mm512_srli_epi64(key, 32), _mm512_slli_epi64(_mm512_srli_epi64(ports, 16), 32),
			  _mm512_slli_epi64(protocol, 48));
	lanes->is_one = !(in & _mm512_cmpneq_epi64_mask(destination, all(lanes->destination)));
	if (likely(lanes->is_one)) {
		in = lanes->service[0] ? in : 0;
	} else {
		_mm512_store_si512(lanes->destinations, destination);
		for (uint32_t i = 0; i < LANES; i++)
			rte_prefetch0(lookup_line(burst->lookup, lanes->destinations[i]));
	}
	lanes->in = in;
	lanes->udp = udp & in;
	lanes->syns = syns & in;
	_mm512_store_si512(lanes->key[0], key);
	_mm512_store_si512(lanes->key[1], _mm512_or_si512(ports, _mm512_slli_epi64(protocol, 32)));
	_mm512_store_si512(lanes->frame_len, frame_len);
	/* verdict 1 | flags 1 | at_ip 1 | tos 1 | at_l4 2 | ip_len 2 */
	_mm512_store_si512(
	    lanes->word,
	    any(any(all((uint64_t)AT_L4 << 32 | AT_IP << 16 | VERDICT_SERVICE), _mm512_slli_epi64(total, 48),
		    _mm512_slli_epi64(_mm512_srli_epi64(head.word[1], 56), 24)),
		_mm512_maskz_mov_epi64(syns, all(PACKET_SYN << 8)), _mm512_setzero_si512()));
}

/* lookup_common() by one comparison. */
static inline ISA struct service *service_of(const struct lookup *lookup, uint64_t destination)
{
	const struct lookup_line *line = lookup_line(lookup, destination);
	const __m256i destinations = _mm256_load_si256((const __m256i *)(const void *)line->destinations);
	uint32_t at = _mm256_cmpeq_epi64_mask(destinations, _mm256_set1_epi64x((long long)destination));
	uintptr_t service = (uintptr_t)line->services[__builtin_ctz(at | 1U << (LOOKUP_LINE - 1))];

	service = at ? service : 0;
	rte_prefetch0((const void *)service);
	return (struct service *)service;
}

ISA void lanes_find(const struct lookup *lookup, struct lanes *lanes)
{
	__mmask8 in;

	for (uint32_t i = 0; i < LANES; i++)
		lanes->service[i] = service_of(lookup, lanes->destinations[i]);
	in = _mm512_mask_test_epi64_mask(lanes->in, _mm512_load_si512(lanes->service), all(UINT64_MAX));
	lanes->in = in;
	lanes->udp &= in;
	lanes->syns &= in;
}

bool lanes_has_cpu(void)
{
	__builtin_cpu_init();
	return __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2") && __builtin_cpu_supports("avx512f") &&
	       __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") &&
	       __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512vbmi") &&
	       __builtin_cpu_supports("avx512vbmi2");
}
#else
bool lanes_has_cpu(void)
{
	return false;
}
#endif
