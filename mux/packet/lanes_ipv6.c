/* SPDX-License-Identifier: Apache-2.0 */
/* The first stage of lanes_stages.h for IPv6 without extension headers. */
#include "packet/lanes_stages.h"

#include <netinet/in.h>
#include <string.h>

#include <rte_branch_prediction.h>

#include "flow/lanes_frames.h"
#include "packet/transport.h"
#include "service/lookup.h"
#include "flow/service.h"

enum {
	AT_L4 = AT_IP + FL_IPV6_LEN,
	WORDS_AT = 6, /* of a frame: eight words of eight bytes begin here */
	SEEN = WORDS_AT + 64,
	SYN_SHIFT = 29,
	TYPE_LOADED = 0xdd86, /* Ethernet's type, as loaded */
};

_Static_assert((uint64_t)TRANSPORT_TCP_SYN << 40 >> SYN_SHIFT == PACKET_SYN << 8, "flags of TCP, and of struct packet");
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
VEC_INLINE void load_words(const uint8_t *const data[LANES], vec word[8])
{
	for (size_t i = 0; i < 8; i += 2)
		vec_load_words(data, WORDS_AT + i * sizeof(uint64_t), &word[i], &word[i + 1]);
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

void lanes_look_ipv6(struct burst *burst, uint32_t first, struct lanes *lanes)
{
	const uint8_t *data[LANES] __attribute__((aligned(64)));
	const vec low16 = vec_all(0xffff), low32 = vec_all(0xffffffff), one = vec_all(1), byte = vec_all(0xff);
	vec word[8], frame_len, wrong, short_by, protocol, total, l4_len, own_len, least_len, tos, ports, destination,
	    is_syn;
	uint8_t in, udp, syns;
	vec_mask is_udp;

	in = (uint8_t)lanes_find_frames(burst, first, SEEN, data, &frame_len);
	in &= (uint8_t)are_ours(burst->mac, data);
	load_words(data, word);
	protocol = vec_and(vec_right(word[1], 48), byte);
	is_udp = vec_equal(protocol, vec_all(IPPROTO_UDP));
	udp = vec_bits(is_udp);
	/* TCP, as UDP in this sum: no extension header */
	wrong = vec_xor(vec_sub(protocol, vec_some(is_udp, vec_all(IPPROTO_UDP - IPPROTO_TCP))), vec_all(IPPROTO_TCP));
	wrong = vec_or3(wrong, vec_xor(vec_right(word[0], 48), vec_all(TYPE_LOADED)),
			vec_differ(word[1], vec_all(0x60), vec_all(0xf0)));
	/* addresses whose first byte is 0, 0xfe or 0xff: the general path knows which of them are allowed */
	short_by = vec_or3(vec_sub(vec_and(word[2], byte), one), vec_sub(vec_all(0xfd), vec_and(word[2], byte)),
			   vec_sub(vec_and(word[4], byte), one));
	in &= vec_unequal(word[2], word[4]) | vec_unequal(word[3], word[5]);

	total = vec_add(swap16(vec_right(word[1], 32)), vec_all(FL_IPV6_LEN));
	l4_len = vec_sub(total, vec_all(FL_IPV6_LEN));
	own_len = vec_and(vec_right(word[7], 34), vec_all(0x3c));
	own_len = vec_select(is_udp, swap16(vec_right(word[6], 32)), own_len);
	least_len = vec_select(is_udp, vec_all(FL_UDP_LEN), vec_all(FL_TCP_LEN));
	short_by = vec_or3(short_by, vec_sub(vec_sub(frame_len, vec_all(AT_IP)), total), vec_sub(own_len, least_len));
	short_by = vec_or3(short_by, vec_sub(l4_len, own_len), vec_sub(vec_right(word[1], 56), one)); /* hop limit */
	ports = vec_and(word[6], low32);
	short_by = vec_or(short_by, vec_select(is_udp, one, vec_sub(vec_and(ports, low16), one)));
	in = in & (uint8_t) ~(vec_test(wrong, wrong) | vec_signs(short_by));
	is_syn = vec_select(is_udp, vec_all(0), vec_and(vec_right(word[7], SYN_SHIFT), vec_all(PACKET_SYN << 8)));
	syns = vec_test(is_syn, is_syn);

	for (int i = 0; i < 4; i++)
		vec_store(lanes->addresses6[i], word[2 + i]);
	vec_store(lanes->key[0], vec_add(vec_load(data), vec_all(AT_IP + 8)));
	vec_store(lanes->key[1], vec_or(ports, vec_left(protocol, 32)));
	vec_store(lanes->frame_len, frame_len);
	if (udp & in)
		in = (uint8_t)drop_loops(burst->lookup, lanes, in, udp);
	/* all that one destination has: compared with lane 0 */
	destination =
	    vec_or3(vec_xor(word[4], vec_all(vec_first(word[4]))), vec_xor(word[5], vec_all(vec_first(word[5]))),
		    vec_xor(protocol, vec_all(vec_first(protocol))));
	ports = vec_right(ports, 16);
	destination = vec_or(destination, vec_xor(ports, vec_all(vec_first(ports))));
	lanes->is_one = !(in & vec_test(destination, destination));
	lanes->destination = 0; /* of no IPv4 packet */
	if (likely(lanes->is_one)) {
		lanes->service[0] = in ? service_at(burst->lookup, lanes, 0) : NULL;
		in = lanes->service[0] ? in : 0;
	} else {
		in = (uint8_t)find_services(burst->lookup, lanes, in);
	}
	lanes->in = in;
	lanes->udp = udp & in;
	lanes->syns = syns & in;
	/* bytes 14 and 15 of the frame hold the class in their middle */
	tos = vec_and(vec_right(swap16(word[1]), 4), byte);
	vec_store(lanes->word,
		  vec_or3(vec_or3(vec_all((uint64_t)AT_L4 << 32 | AT_IP << 16 | PACKET_IPV6 << 8 | VERDICT_SERVICE),
				  vec_left(total, 48), vec_left(tos, 24)),
			  is_syn, vec_all(0)));
}
