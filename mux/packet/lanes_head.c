/* SPDX-License-Identifier: Apache-2.0 */
#include "packet/lanes_stages.h"

#include <netinet/in.h>
#include <string.h>

#include <rte_branch_prediction.h>
#include <rte_prefetch.h>

#include "flow/lanes_frames.h"
#include "packet/transport.h"
#include "service/lookup.h"
#include "flow/service.h"

enum {
	AT_L4 = AT_IP + FL_IPV4_LEN,
	SYN_SHIFT = 45,
	SEEN = 48, /* what is read of each frame: up to TCP's flags */
};

_Static_assert((uint64_t)TRANSPORT_TCP_SYN << 56 >> SYN_SHIFT == PACKET_SYN << 8, "flags of TCP, and of struct packet");
_Static_assert(AT_L4 + TRANSPORT_AT_TCP_FLAGS == SEEN - 1, "TCP's flags are the last byte that look reads");

/* The frames' first bytes, as words of eight bytes: word i of packet j is lane j of the i-th. */
struct head {
	vec word[6];
	vec differs; /* bits from those of a common packet: MAC, type, version and header length */
};

VEC_INLINE void load_heads(uint64_t mac, const uint8_t *const data[LANES], struct head *out)
{
	vec_load_words(data, 0, &out->word[0], &out->word[1]);
	vec_load_words(data, 16, &out->word[2], &out->word[3]);
	vec_load_words(data, 32, &out->word[4], &out->word[5]);
	out->differs = vec_or(vec_differ(out->word[0], vec_all(mac), vec_all(0x0000ffffffffffff)),
			      vec_differ(out->word[1], vec_all(0x0045000800000000), vec_all(0x00ffffff00000000)));
}

/* Those of the lanes whose address, as loaded, is a VIP or one of this mux. */
static inline uint8_t find_loops(const struct lookup *lookup, uint8_t lanes, const uint64_t key[LANES])
{
	const vec address = swap32(vec_and(vec_load(key), vec_all(0xffffffff)));
	uint8_t loops = 0;

	/* lookup_may_have_ipv4() */
	lanes &= (uint8_t)~vec_bits(vec_less(address, vec_all(lookup->ipv4_first)));
	lanes &= (uint8_t)~vec_bits(vec_less(vec_all(lookup->ipv4_last), address));
	for (; unlikely(lanes); lanes &= (uint8_t)(lanes - 1)) {
		uint32_t i = (uint32_t)__builtin_ctz(lanes);

		loops |= (uint8_t)(!!lookup_vip(lookup, 0, lookup_low_of_ipv4((uint32_t)key[i])) << i);
	}
	return loops;
}

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

void lanes_look(struct burst *burst, uint32_t first, struct lanes *lanes, const struct lanes *before)
{
	const uint8_t *data[LANES];
	const vec low16 = vec_all(0xffff), low32 = vec_all(0xffffffff), one = vec_all(1);
	vec frame_len, wrong, key, ports, protocol, total, l4_len, sum, source, destination, is_syn;
	vec own_len, least_len, short_by; /* of TCP's or UDP's header; what is too little is negative there */
	struct head head;
	uint8_t in, udp, syns;
	vec_mask is_udp;

	lanes->is_ipv6 = is_ipv6(burst->mbufs[first]);
	if (unlikely(lanes->is_ipv6)) {
		lanes_look_ipv6(burst, first, lanes);
		return;
	}
	in = (uint8_t)lanes_find_frames(burst, first, SEEN, data, &frame_len);
	lanes->destination = first_destination(data[0]);
	if (likely(before && before->destination == lanes->destination))
		lanes->service[0] = before->service[0];
	else
		lanes->service[0] = lookup_common(burst->lookup, lanes->destination);
	load_heads(burst->mac, data, &head);

	protocol = vec_right(head.word[2], 56);
	is_udp = vec_equal(protocol, vec_all(IPPROTO_UDP));
	udp = vec_bits(is_udp);
	/* TCP, as UDP in this sum: no other protocol */
	wrong = vec_xor(vec_sub(protocol, vec_some(is_udp, vec_all(IPPROTO_UDP - IPPROTO_TCP))), vec_all(IPPROTO_TCP));
	/* no fragment */
	wrong = vec_or3(wrong, head.differs, vec_and(head.word[2], vec_all(0xff3fULL << 32)));
	sum = vec_add(vec_right(head.word[1], 48), vec_and(head.word[4], low16));
	sum = vec_add(sum, vec_add(halves_sum(head.word[2]), halves_sum(head.word[3])));
	wrong = vec_or(wrong, vec_xor(fold(sum), low16));

	/* source 4 | destination 4, and the ports behind them */
	key = vec_or(vec_right(head.word[3], 16), vec_left(head.word[4], 48));
	ports = vec_and(vec_right(head.word[4], 16), low32);
	total = swap16(head.word[2]);
	l4_len = vec_sub(total, vec_all(FL_IPV4_LEN));
	own_len = vec_and(vec_right(head.word[5], 50), vec_all(0x3c));
	own_len = vec_select(is_udp, swap16(vec_right(head.word[4], 48)), own_len);
	least_len = vec_select(is_udp, vec_all(FL_UDP_LEN), vec_all(FL_TCP_LEN));
	short_by = vec_or3(vec_sub(vec_sub(frame_len, vec_all(AT_IP)), total), vec_sub(own_len, least_len),
			   vec_sub(l4_len, own_len));
	/* TTL; TCP's source port */
	short_by = vec_or3(short_by, vec_sub(vec_and(head.word[2], vec_all(0xffULL << 48)), one),
			   vec_select(is_udp, one, vec_sub(vec_and(ports, low16), one)));
	/* the source's first byte: neither 0 nor 127 nor from 224 on; and another address than the destination */
	source = vec_and(key, vec_all(0xff));
	short_by = vec_or3(short_by, vec_sub(source, one), vec_sub(vec_all(223), source));
	short_by = vec_or3(short_by, vec_sub(vec_xor(source, vec_all(127)), one),
			   vec_sub(vec_and(vec_xor(key, vec_right(key, 32)), low32), one));
	in = in & (uint8_t) ~(vec_test(wrong, wrong) | vec_signs(short_by));
	is_syn = vec_select(is_udp, vec_all(0), vec_and(vec_right(head.word[5], SYN_SHIFT), vec_all(PACKET_SYN << 8)));
	syns = vec_test(is_syn, is_syn);
	vec_store(lanes->key[0], key);
	if (udp & in)
		in &= (uint8_t)~find_loops(burst->lookup, udp & in, lanes->key[0]);

	/* destination 4 | port 2 | protocol 1 */
	destination = vec_or3(vec_right(key, 32), vec_left(vec_right(ports, 16), 32), vec_left(protocol, 48));
	lanes->is_one = !(in & vec_unequal(destination, vec_all(lanes->destination)));
	if (likely(lanes->is_one)) {
		in = lanes->service[0] ? in : 0;
	} else {
		vec_store(lanes->destinations, destination);
	}
	lanes->in = in;
	lanes->udp = udp & in;
	lanes->syns = syns & in;
	vec_store(lanes->key[1], vec_or(ports, vec_left(protocol, 32)));
	vec_store(lanes->frame_len, frame_len);
	/* verdict 1 | flags 1 | at_ip 1 | tos 1 | at_l4 2 | ip_len 2 */
	vec_store(lanes->word, vec_or3(vec_or3(vec_all((uint64_t)AT_L4 << 32 | AT_IP << 16 | VERDICT_SERVICE),
					       vec_left(total, 48), vec_left(vec_right(head.word[1], 56), 24)),
				       is_syn, vec_all(0)));
}

void lanes_find(const struct lookup *lookup, struct lanes *lanes)
{
	vec services;
	uint8_t in;

#define SERVICE(i) (uint64_t)(uintptr_t) lookup_common(lookup, lanes->destinations[i])
	services = VEC_OF(SERVICE);
#undef SERVICE
	vec_store(lanes->service, services);
	in = lanes->in & vec_test(services, services);
	lanes->in = in;
	lanes->udp &= in;
	lanes->syns &= in;
}
