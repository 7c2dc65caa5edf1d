/* SPDX-License-Identifier: Apache-2.0 */
/* The first stage of lanes.h for IPv6 without extension headers. */
#include "packet/lanes.h"

#ifdef LANES_X86
#include <netinet/in.h>
#include <string.h>

#include <rte_branch_prediction.h>

#include "flow/simd.h"
#include "packet/transport.h"
#include "service/lookup.h"
#include "flow/service.h"

enum {
	AT_L4 = AT_IP + ENCAP_IPV6_LEN,
	WORDS_AT = 6, /* of a frame: eight words of eight bytes begin here */
	SEEN = WORDS_AT + 64,
	TYPE_LOADED = 0xdd86, /* Ethernet's type, as loaded */
};

_Static_assert(AT_L4 + TRANSPORT_AT_TCP_FLAGS < SEEN, "TCP's flags are read");

/* Word i of each packet:
 *
 *	0   6	source MAC, type
 *	1  14	version, traffic class, flow label 4 | payload length 2 | next header 1 | hop limit 1
 *	2  22	source 16
 *	4  38	destination 16
 *	6  54	ports 4 | length of UDP, or half of TCP's sequence number 2 | 2
 *	7  62	acknowledged 4 | length of TCP's header, flags 2 | window 2
 */
static inline ISA void load_words(const uint8_t *const data[LANES], __m512i word[8])
{
	for (int i = 0; i < LANES; i++)
		word[i] = _mm512_loadu_si512(data[i] + WORDS_AT);
	transpose(word);
}

/* Those whose frames are for our MAC. */
static inline uint32_t are_ours(uint64_t mac, const uint8_t *const data[LANES])
{
	uint32_t ours = 0;

	for (uint32_t i = 0; i < LANES; i++)
		ours |= (uint32_t) !((transport_load64(data[i]) ^ mac) << 16) << i;
	return ours;
}

/* A lane's service, as lookup_service() has it. */
static inline struct service *service_at(const struct lookup *lookup, const struct lanes *lanes, uint32_t i)
{
	uint64_t ports = lanes->key[1][i];

	return lookup_service(lookup, lanes->addresses6[2][i], lanes->addresses6[3][i], (uint8_t)(ports >> 32),
			      __builtin_bswap16((uint16_t)(ports >> 16)));
}

static inline bool same_destination(const struct lanes *lanes, uint32_t i, uint32_t j)
{
	return lanes->addresses6[2][i] == lanes->addresses6[2][j] &&
	       lanes->addresses6[3][i] == lanes->addresses6[3][j] && lanes->key[1][i] >> 16 == lanes->key[1][j] >> 16;
}

/* Services of lanes with several destinations; those without leave. */
static uint32_t find_services(const struct lookup *lookup, struct lanes *lanes, uint32_t in)
{
	uint32_t last = LANES;

	for (uint32_t i = 0; i < LANES; i++) {
		if (!(in >> i & 1))
			continue;
		lanes->service[i] = last < LANES && same_destination(lanes, i, last) ? lanes->service[last]
										     : service_at(lookup, lanes, i);
		last = i;
		in &= ~((uint32_t)!lanes->service[i] << i);
	}
	return in;
}

/* Those of the lanes whose source is no VIP, and no address of this mux: transport_source_loops(). */
static uint32_t drop_loops(const struct lookup *lookup, const struct lanes *lanes, uint32_t in, uint32_t udp)
{
	for (uint32_t i = 0; i < LANES; i++)
		if ((in & udp) >> i & 1 && lookup_vip(lookup, lanes->addresses6[0][i], lanes->addresses6[1][i]))
			in &= ~(1U << i);
	return in;
}

ISA void lanes_look_ipv6(struct burst *burst, uint32_t first, struct lanes *lanes)
{
	const uint8_t *data[LANES];
	const __m512i low16 = all(0xffff), low32 = all(0xffffffff), one = all(1), byte = all(0xff);
	__m512i word[8], frame_len, wrong, short_by, protocol, total, l4_len, own_len, least_len, tos, ports,
	    destination;
	__mmask8 in, udp, syns;

	in = (__mmask8)lanes_find_frames(burst, first, SEEN, data, &frame_len);
	in &= (__mmask8)are_ours(burst->mac, data);
	load_words(data, word);
	protocol = _mm512_and_si512(_mm512_srli_epi64(word[1], 48), byte);
	udp = _mm512_cmpeq_epi64_mask(protocol, all(IPPROTO_UDP));
	/* TCP, as UDP in this sum: no extension header */
	wrong = _mm512_xor_si512(_mm512_mask_sub_epi64(protocol, udp, protocol, all(IPPROTO_UDP - IPPROTO_TCP)),
				 all(IPPROTO_TCP));
	wrong = any(wrong, _mm512_xor_si512(_mm512_srli_epi64(word[0], 48), all(TYPE_LOADED)),
		    differ(word[1], all(0x60), all(0xf0)));
	/* addresses whose first byte is 0, 0xfe or 0xff: the general path knows which of them are allowed */
	short_by = any(_mm512_sub_epi64(_mm512_and_si512(word[2], byte), one),
		       _mm512_sub_epi64(all(0xfd), _mm512_and_si512(word[2], byte)),
		       _mm512_sub_epi64(_mm512_and_si512(word[4], byte), one));
	in &= _mm512_cmpneq_epi64_mask(word[2], word[4]) | _mm512_cmpneq_epi64_mask(word[3], word[5]);

	total = _mm512_add_epi64(swap16(_mm512_srli_epi64(word[1], 32)), all(ENCAP_IPV6_LEN));
	l4_len = _mm512_sub_epi64(total, all(ENCAP_IPV6_LEN));
	own_len = _mm512_and_si512(_mm512_srli_epi64(word[7], 34), all(0x3c));
	own_len = _mm512_mask_mov_epi64(own_len, udp, swap16(_mm512_srli_epi64(word[6], 32)));
	least_len = _mm512_mask_mov_epi64(all(TRANSPORT_TCP_LEN), udp, all(TRANSPORT_UDP_LEN));
	short_by = any(short_by, _mm512_sub_epi64(_mm512_sub_epi64(frame_len, all(AT_IP)), total),
		       _mm512_sub_epi64(own_len, least_len));
	short_by = any(short_by, _mm512_sub_epi64(l4_len, own_len),
		       _mm512_sub_epi64(_mm512_srli_epi64(word[1], 56), one)); /* hop limit */
	ports = _mm512_and_si512(word[6], low32);
	short_by =
	    _mm512_or_si512(short_by, _mm512_maskz_sub_epi64((__mmask8)~udp, _mm512_and_si512(ports, low16), one));
	in = _mm512_mask_testn_epi64_mask(in, wrong, wrong) & (__mmask8)~_mm512_movepi64_mask(short_by);
	syns = _mm512_mask_test_epi64_mask((__mmask8)~udp, word[7], all((uint64_t)TRANSPORT_TCP_SYN << 40));

	for (int i = 0; i < 4; i++)
		_mm512_store_si512(lanes->addresses6[i], word[2 + i]);
	_mm512_store_si512(lanes->key[0], _mm512_add_epi64(_mm512_loadu_si512(data), all(AT_IP + 8)));
	_mm512_store_si512(lanes->key[1], _mm512_or_si512(ports, _mm512_slli_epi64(protocol, 32)));
	_mm512_store_si512(lanes->frame_len, frame_len);
	if (udp & in)
		in = (__mmask8)drop_loops(burst->lookup, lanes, in, udp);
	/* all that one destination has: compared with lane 0 */
	destination = any(_mm512_xor_si512(word[4], _mm512_broadcastq_epi64(_mm512_castsi512_si128(word[4]))),
			  _mm512_xor_si512(word[5], _mm512_broadcastq_epi64(_mm512_castsi512_si128(word[5]))),
			  _mm512_xor_si512(protocol, _mm512_broadcastq_epi64(_mm512_castsi512_si128(protocol))));
	ports = _mm512_srli_epi64(ports, 16);
	destination = _mm512_or_si512(destination,
				      _mm512_xor_si512(ports, _mm512_broadcastq_epi64(_mm512_castsi512_si128(ports))));
	lanes->is_one = !_mm512_mask_test_epi64_mask(in, destination, destination);
	lanes->destination = 0; /* of no IPv4 packet */
	if (likely(lanes->is_one)) {
		lanes->service[0] = in ? service_at(burst->lookup, lanes, 0) : NULL;
		in = lanes->service[0] ? in : 0;
	} else {
		in = (__mmask8)find_services(burst->lookup, lanes, in);
	}
	lanes->in = in;
	lanes->udp = udp & in;
	lanes->syns = syns & in;
	/* bytes 14 and 15 of the frame hold the class in their middle */
	tos = _mm512_and_si512(_mm512_srli_epi64(swap16(word[1]), 4), byte);
	_mm512_store_si512(lanes->word,
			   any(any(all((uint64_t)AT_L4 << 32 | AT_IP << 16 | PACKET_IPV6 << 8 | VERDICT_SERVICE),
				   _mm512_slli_epi64(total, 48), _mm512_slli_epi64(tos, 24)),
			       _mm512_maskz_mov_epi64(syns, all(PACKET_SYN << 8)), _mm512_setzero_si512()));
}
#endif
