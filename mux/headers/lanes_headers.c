/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lanes' headers: those of GUE over IPv4, with lists of former owners (ring/lists.h), and of other encapsulations that of
 * a packet without a list. The whole list is stored in front of the inner packet, and then the header over what does not
 * belong to it, so that length makes no difference to either. The row says how many owners there are: that makes lengths
 * arithmetic of rows, and a packet without a list needs none. Packets with a list leave if their pool has an IPv6 address.
 */
#include "headers/lanes_headers.h"

#include <fairlead/ipip.h>
#include <fairlead/list_tag.h>

#include "encap/srv6.h"
#include "flow/lanes_siphash.h"
#include "headers/lanes_lines.h"
#include "ring/lists.h"
#include "service/lookup.h"

enum {
	AT_VERSION = AT_GUE + FL_LIST_AT_VERSION,
	AT_GENERATION = AT_GUE + FL_LIST_AT_GENERATION,
	AT_OPTION_GENERATION = AT_IP + FL_IPIP_AT_GENERATION,
	ADDRESS_WORDS = 4, /* of a tag's message, at most */
};

_Static_assert((int)AT_VERSION + 1 == (int)AT_GUE + (int)FL_LIST_AT_FLAGS, "left, then count, in fields");
_Static_assert(ADDRESS_WORDS * 8 >= LISTS_IPV4_LEN + FL_LIST_SHORT_BYTES, "a message has words enough");
_Static_assert((int)AT_GENERATION == (int)ENCAP_HEAD_LEN, "templates end before it");
_Static_assert((int)SRV6_PLAIN_LEN - AT_IP <= (int)LANES_ROOM, "frames have room for it");
_Static_assert(offsetof(struct backend, outer.service) == AT_ENDS, "the first bytes of line_ends");
_Static_assert((int)AT_OPTION_GENERATION + 4 == (int)ENCAP_HEAD_LEN, "templates hold all of ipip");

/* The headers that lanes write. */
enum form {
	FORM_PLAIN,  /* GUE without a list */
	FORM_LISTS,  /* of some lanes with one */
	FORM_SECOND, /* of all lanes with one: the second bucket's owner */
	FORM_TAGGED, /* FORM_PLAIN with a tag */
	FORM_BOTH,   /* FORM_LISTS with a tag */
	FORM_IPIP,   /* without a former owner */
	FORM_SRV6,   /* the same */
};

static inline bool has_lists(enum form form)
{
	return form == FORM_LISTS || form == FORM_BOTH;
}

static inline bool has_tags(enum form form)
{
	return form == FORM_TAGGED || form == FORM_BOTH;
}

/* Bytes from the outer IP header on, without addresses and tag. */
static inline uint64_t least_more(enum form form)
{
	if (form == FORM_IPIP)
		return FL_IPIP_LEN;
	if (form == FORM_SRV6)
		return SRV6_PLAIN_LEN - AT_IP;
	return form == FORM_SECOND ? PLAIN_MORE + LISTS_IPV4_LEN : PLAIN_MORE;
}

/* The smallest MTU of each listed lane's pool; 0 if it has an IPv6 address, so that the packet leaves. */
static __attribute__((noinline)) vec narrowest_of_each(const struct burst *burst, uint32_t first,
						       const struct lanes *lanes)
{
	uint64_t narrowest[LANES] __attribute__((aligned(64))) = {0};

	for (uint32_t left = lanes->listed; left; left &= left - 1) {
		uint32_t i = (uint32_t)__builtin_ctz(left);
		const struct backends *backends =
		    lanes->has_rows ? lanes->backends[lanes->is_one ? 0 : i] : burst->packets[first + i].backends;

		narrowest[i] = backends_narrowest(backends);
		narrowest[i] = narrowest[i] & BACKENDS_IPV6 ? 0 : (uint16_t)narrowest[i];
	}
	return vec_load(narrowest);
}

VEC_INLINE vec narrowest_of(const struct burst *burst, uint32_t first, const struct lanes *lanes)
{
	uint32_t narrowest;

	if (unlikely(!lanes->is_one || !lanes->has_rows))
		return narrowest_of_each(burst, first, lanes);
	narrowest = backends_narrowest(lanes->backends[0]);
	return vec_all(unlikely(narrowest & BACKENDS_IPV6) ? 0 : (uint16_t)narrowest);
}

/* Those of `steady` whose headers lanes can write. */
VEC_INLINE uint8_t find_written(const struct burst *burst, uint32_t first, const struct lanes *lanes, enum form form,
				const struct line_ends *lines, vec ip_len)
{
	const enum encap_plain other = form == FORM_IPIP ? ENCAP_PLAIN_IPIP : ENCAP_PLAIN_SRV6;
	const bool is_gue = form != FORM_IPIP && form != FORM_SRV6;
	const uint32_t kind = BACKEND_STEADY(is_gue ? ENCAP_PLAIN_GUE : other);
	vec most = vec_and(lines->second, vec_all(0xffff));
	uint8_t written = lanes->steady;

	if (!is_gue)
		written &= (uint8_t)~lanes->listed;
	written &= vec_bits(vec_equal(vec_right(lines->first, 32), vec_all(kind)));
	if (form == FORM_SECOND)
		most = vec_all((uint16_t)backends_narrowest(lanes->backends[0]));
	if (has_lists(form))
		most = vec_select(vec_mask_of(lanes->listed), narrowest_of(burst, first, lanes), most);
	return written & (uint8_t)~vec_bits(vec_less(most, ip_len));
}

VEC_INLINE void store_fields(vec left, vec right, uint8_t fields[LANES][16])
{
	vec_store(fields, vec_evens(left, right));
	vec_store(fields[4], vec_odds(left, right));
}

/*
 * What packets differ in, in the order of the header's bytes: of packets 0 2 4 6 1 3 5 7. The inner protocol is the
 * template's.
 */
VEC_INLINE void make_fields(const struct lanes *lanes, enum form form, uint64_t tag_flags, vec named, vec ip_len,
			    vec sum, uint8_t fields[LANES][16])
{
	/* a row's count in these places of a lane: GUE's length 1, left 2; and its byte of count and flags: 3 */
	static const uint8_t counts[16] = {VEC_BYTES(VEC_ZERO, 2, 2, 3, VEC_ZERO, VEC_ZERO, VEC_ZERO, VEC_ZERO)};
	const uint64_t words = (GUE_PLAIN_LEN - AT_GUE - FL_LIST_GUE_LEN + (tag_flags ? FL_LIST_TAG_LEN : 0)) / 4;
	const uint64_t fixed = words << 8 | (uint64_t)FL_LIST_VERSION << 20 | tag_flags << 24;
	const vec high = vec_all(0xffffffff00000000);
	vec word = vec_load(lanes->word), left, right, port;
	vec tos = vec_and(vec_right(word, 24), vec_all(0xff));
	vec place = vec_load(lanes->place), generation = swap32(place);

	sum = vec_add(vec_add(sum, tos), ip_len);
	if (form == FORM_IPIP) /* the checksum covers the option */
		sum = vec_add(sum, vec_add(vec_right(place, 48), vec_and(vec_right(place, 32), vec_all(0xffff))));
	sum = swap16(vec_xor(fold(sum), vec_all(0xffff)));
	left = vec_or3(tos, vec_left(swap16(ip_len), 8), vec_left(sum, 24));
	if (form == FORM_IPIP) {
		store_fields(left, vec_and(generation, high), fields);
		return;
	}
	port = vec_right(vec_load(lanes->hash), 18);
	port = vec_or(vec_all(0xc000), vec_and(port, vec_all(0x3fff)));
	right = swap16(vec_sub(ip_len, vec_all(FL_IPV4_LEN)));
	left = vec_or3(left, vec_left(swap16(port), 40), vec_left(right, 56));
	right = vec_or(vec_right(right, 8), vec_all(fixed));
	if (has_lists(form) || form == FORM_SECOND)
		right = vec_add(right, vec_shuffle(named, counts));
	store_fields(left, vec_or(vec_and(generation, high), right), fields);
}

/* SRv6's words that are not addresses: IPv6's first, and those before and behind the segment. */
enum { SRV6_IP, SRV6_SRH, SRV6_TLV, SRV6_WORDS };

VEC_INLINE void make_srv6(const struct lanes *lanes, vec ip_len, vec services, uint64_t words[SRV6_WORDS][LANES])
{
	const uint64_t units = (SRV6_PLAIN_LEN - SRV6_AT_SRH) / FL_LIST_SRV6_UNIT - 1;
	const uint64_t next = lanes->is_ipv6 ? FL_LIST_GUE_IPV6 : FL_LIST_GUE_IPV4;
	const vec tos = vec_and(vec_right(vec_load(lanes->word), 24), vec_all(0xff));
	const vec label = vec_and(vec_right(vec_load(lanes->hash), 12), vec_all(0xfffff));
	const vec len = swap16(vec_sub(ip_len, vec_all(FL_IPV6_LEN)));
	const vec generation = vec_and(swap32(vec_load(lanes->place)), vec_all(0xffffffff00000000));
	vec word = swap32(vec_or3(vec_all(6U << 28), vec_left(tos, 20), label));

	word = vec_or3(word, vec_left(len, 32), vec_all((uint64_t)ENCAP_TTL << 56 | (uint64_t)SRV6_PROTOCOL << 48));
	vec_store(words[SRV6_IP], word);
	word = vec_all((uint64_t)FL_LIST_SRV6_ROUTING_TYPE << 16 | units << 8 | next);
	vec_store(words[SRV6_SRH], vec_or(word, vec_left(services, 48)));
	word = vec_all((uint64_t)FL_LIST_VERSION << 20 | (FL_LIST_SRV6_TLV_LEN - FL_LIST_SRV6_TLV_HEAD_LEN) << 8 |
		       FL_LIST_SRV6_TLV_TYPE);
	vec_store(words[SRV6_TLV], vec_or(word, generation));
}

VEC_INLINE void write_srv6(const struct backend *line, uint64_t words[SRV6_WORDS][LANES], uint32_t i, uint8_t *to)
{
	const uint8_t *addresses = line->outer.addresses;

	memcpy(to, line->outer.head, 16); /* Ethernet; a word follows it */
	memcpy(to + AT_IP, &words[SRV6_IP][i], 8);
	memcpy(to + AT_IP + 8, addresses, 32);
	memcpy(to + SRV6_AT_SRH, &words[SRV6_SRH][i], 8);
	memcpy(to + SRV6_AT_SEGMENT, addresses + 16, 16);
	memcpy(to + SRV6_AT_TLV, &words[SRV6_TLV][i], 8);
}

_Static_assert(offsetof(struct rte_mbuf, data_len) == offsetof(struct rte_mbuf, pkt_len) + 4 &&
		   offsetof(struct rte_mbuf, vlan_tci) == offsetof(struct rte_mbuf, pkt_len) + 6,
	       "lengths are written as one word");

/* Where each byte of a header comes from: one more than that of the fields in order, or 0 for the template's own. */
#define PLACES_OF_IP [AT_IP + 1] = 1, [AT_IP + 2] = 2, 3, [AT_IP + 10] = 4, 5

static const uint8_t places_of_gue[64] __attribute__((aligned(64))) = {PLACES_OF_IP,
								       [GUE_AT_UDP] = 6,
								       7,
								       [GUE_AT_UDP + 4] = 8,
								       9,
								       [AT_GUE] = 10,
								       [AT_VERSION] = 11,
								       12,
								       [AT_GENERATION] = 13,
								       14,
								       15,
								       16};
static const uint8_t places_of_ipip[64]
    __attribute__((aligned(64))) = {PLACES_OF_IP, [AT_OPTION_GENERATION] = 13, 14, 15, 16};

#if LANES_BYTES == 64
/* A constant that stays in its register: compilers would load it again wherever it is used. */
static inline __mmask64 kept(__mmask64 mask)
{
	__asm__("" : "+k"(mask));
	return mask;
}

struct header_shape {
	__m512i places;
	__mmask64 where, whole;
};

VEC_INLINE struct header_shape header_shape(const uint8_t places[64], int len)
{
	const __m512i at = _mm512_load_si512(places);

	return (struct header_shape){_mm512_sub_epi8(at, _mm512_set1_epi8(1)), kept(_mm512_test_epi8_mask(at, at)),
				     kept((1ULL << len) - 1)};
}

/* Writes as many bytes as the shape has: a template's, but the fields in their places. */
VEC_INLINE void header_write(const struct header_shape *shape, const struct backend *line, const uint8_t fields[16],
			     int len, uint8_t *to)
{
	__m512i header = _mm512_castsi128_si512(_mm_load_si128((const __m128i *)(const void *)fields));

	(void)len;
	header = _mm512_mask_permutexvar_epi8(_mm512_load_si512(line), shape->where, shape->places, header);
	_mm512_mask_storeu_epi8(to, shape->whole, header);
}
#else
/* Registers that cover a header, the last of which ends where it does. */
enum { HEADER_PARTS = (ENCAP_HEAD_LEN + LANES_BYTES - 1) / LANES_BYTES };

_Static_assert((GUE_PLAIN_LEN + LANES_BYTES - 1) / LANES_BYTES == (int)HEADER_PARTS, "both forms take as many");

static inline int header_part_at(int part, int len)
{
	return part < HEADER_PARTS - 1 ? part * LANES_BYTES : len - LANES_BYTES;
}

struct header_shape {
	vec_part8 places[HEADER_PARTS];
};

VEC_INLINE struct header_shape header_shape(const uint8_t places[64], int len)
{
	struct header_shape shape;

	for (int i = 0; i < HEADER_PARTS; i++) {
		memcpy(&shape.places[i], places + header_part_at(i, len), LANES_BYTES);
		shape.places[i] -= 1;
	}
	return shape;
}

VEC_INLINE void header_write(const struct header_shape *shape, const struct backend *line, const uint8_t fields[16],
			     int len, uint8_t *to)
{
	for (int i = 0; i < HEADER_PARTS; i++) {
		const int at = header_part_at(i, len);
		vec_part8 header;

		memcpy(&header, (const uint8_t *)line + at, LANES_BYTES);
		header = vec_part_pick(header, fields, shape->places[i]);
		memcpy(to + at, &header, LANES_BYTES);
	}
}
#endif

/* What is written, and how long it is. */
struct headers {
	uint8_t (*fields)[16];
	uint64_t (*words)[LANES];      /* of FORM_SRV6, in place of fields */
	const uint64_t *more, *frames; /* for each lane */
};

VEC_INLINE void write_all(struct burst *burst, uint32_t first, const struct lanes *lanes, enum form form,
			  const struct headers *headers, uint32_t written)
{
	const int len = form == FORM_IPIP ? ENCAP_HEAD_LEN : GUE_PLAIN_LEN;
	const struct header_shape shape = header_shape(form == FORM_IPIP ? places_of_ipip : places_of_gue, len);
	const uint32_t tag_len = has_tags(form) ? FL_LIST_TAG_LEN : 0;
	const bool is_ipv6 = lanes->is_ipv6;

	for (uint32_t i = 0; i < LANES; i++) {
		struct rte_mbuf *mbuf = burst->mbufs[first + i];
		const uint64_t more = has_lists(form) || has_tags(form) ? headers->more[i] : least_more(form);
		const uint32_t at = (i & 1) * 4 + i / 2;
		uint8_t *data;

		if (!(written >> i & 1))
			continue;
		data = rte_pktmbuf_mtod(mbuf, uint8_t *);
		mbuf->data_off = (uint16_t)(mbuf->data_off - more);
		memcpy(&mbuf->pkt_len, &headers->frames[i], sizeof(headers->frames[i]));
		if (has_lists(form)) /* what is in front of the addresses is overwritten */
			memcpy(data + AT_IP - tag_len - sizeof(struct list_cell),
			       (const void *)(uintptr_t)lanes->cell[i], sizeof(struct list_cell));
		if (form == FORM_SRV6)
			write_srv6(line_of(lanes, i), headers->words, i, data - more);
		else
			header_write(&shape, line_of(lanes, i), headers->fields[at], len, data - more);
		if (form == FORM_SECOND)
			memcpy(data + AT_IP - LISTS_IPV4_LEN, (const void *)(uintptr_t)(lanes->second_line[i] + AT_OWN),
			       LISTS_IPV4_LEN);
		if (has_tags(form))
			memcpy(data + AT_IP - tag_len, &lanes->tag[i], sizeof(lanes->tag[i]));
		if (form != FORM_IPIP && form != FORM_SRV6 && unlikely(is_ipv6))
			*(data - more + AT_GUE + 1) = FL_LIST_GUE_IPV6;
	}
}

VEC_INLINE uint32_t encap_by(struct burst *burst, uint32_t first, struct lanes *lanes, enum form form)
{
	const struct line_ends lines = load_line_ends(lanes);
	const vec ports = vec_and(vec_right(lines.second, 32), vec_all(0xff));
	vec ip_len = vec_right(vec_load(lanes->word), 48);
	vec named = vec_all(form == FORM_SECOND ? NAMED_ONE : 0), more = vec_all(least_more(form));
	uint8_t fields[LANES][16] __attribute__((aligned(64)));
	uint64_t words[SRV6_WORDS][LANES] __attribute__((aligned(64)));
	uint64_t mores[LANES] __attribute__((aligned(64))), frames[LANES] __attribute__((aligned(64)));
	struct headers headers = {fields, words, lanes->more, lanes->frames};
	uint32_t written;
	uint8_t port;

	if (has_lists(form)) {
		named = vec_load(lanes->named);
		more = vec_load(lanes->more);
	}
	if (has_tags(form))
		more = vec_add(more, vec_all(FL_LIST_TAG_LEN));
	if (form != FORM_LISTS) {
		vec_store(mores, more);
		vec_store(frames, frames_of(lanes, more));
		headers.more = mores;
		headers.frames = frames;
	}
	ip_len = vec_add(ip_len, more);
	written = find_written(burst, first, lanes, form, &lines, ip_len);
	if (unlikely(written != LANES_ALL)) {
		if (!lanes->is_unpacked)
			lanes_unpack(burst, first, lanes);
		if (!written)
			return 0;
	}
	port = line_of(lanes, (uint32_t)__builtin_ctz(written))->port;
	if (form == FORM_SRV6)
		make_srv6(lanes, ip_len, vec_and(lines.first, vec_all(0xffff)), words);
	else
		make_fields(lanes, form, has_tags(form) ? burst->tag_flags : 0, named, ip_len,
			    vec_and(vec_right(lines.first, 16), vec_all(0xffff)), fields);
	if (likely(written == LANES_ALL))
		write_all(burst, first, lanes, form, &headers, LANES_ALL);
	else
		write_all(burst, first, lanes, form, &headers, written);
	for (uint32_t left = written; unlikely(lanes->is_unpacked) && left; left &= left - 1) {
		uint32_t i = (uint32_t)__builtin_ctz(left);

		burst->packets[first + i].port = line_of(lanes, i)->port; /* overwrites the table of backends (union) */
	}
	lanes->port = written & vec_unequal(ports, vec_all(port)) ? (uint8_t)PORTS_DIFFER : port;
	burst->bytes += (uint64_t)vec_sum(vec_some(vec_mask_of((uint8_t)written), vec_load(lanes->frame_len)));
	if (has_lists(form)) {
		const vec second = vec_some(vec_mask_of(lanes->with_second), vec_all(1 << 16));

		burst->moved +=
		    (uint32_t)__builtin_popcount(written & vec_unequal(vec_and(named, vec_all(0xff0000)), second));
	}
	if (has_lists(form) || form == FORM_SECOND)
		burst->second += (uint32_t)__builtin_popcount(written & lanes->with_second);
	return written;
}

static __attribute__((noinline)) uint32_t encap_tagged(struct burst *burst, uint32_t first, struct lanes *lanes)
{
	return lanes->listed ? encap_by(burst, first, lanes, FORM_BOTH) : encap_by(burst, first, lanes, FORM_TAGGED);
}

/* A group's first backend says by which form; lanes of other services may have another one. */
uint32_t lanes_headers(struct burst *burst, uint32_t first, struct lanes *lanes)
{
	const struct backend *backend = line_of(lanes, (uint32_t)__builtin_ctz(lanes->steady));

	if (unlikely(backend->outer.plain == ENCAP_PLAIN_IPIP && !lanes->is_ipv6))
		return encap_by(burst, first, lanes, FORM_IPIP);
	if (unlikely(backend->outer.plain == ENCAP_PLAIN_SRV6 && !burst->tag_flags))
		return encap_by(burst, first, lanes, FORM_SRV6);
	if (unlikely(burst->tag_flags))
		return encap_tagged(burst, first, lanes);
	if (lanes->with_second == LANES_ALL && !lanes->merged)
		return encap_by(burst, first, lanes, FORM_SECOND);
	return lanes->listed ? encap_by(burst, first, lanes, FORM_LISTS) : encap_by(burst, first, lanes, FORM_PLAIN);
}

/* The same as lanes_siphash_add() for some lanes. */
VEC_INLINE void add_some(struct lanes_siphash *s, vec_mask which, vec word)
{
	struct lanes_siphash next = *s;

	lanes_siphash_add(&next, word);
	s->v0 = vec_select(which, next.v0, s->v0);
	s->v1 = vec_select(which, next.v1, s->v1);
	s->v2 = vec_select(which, next.v2, s->v2);
	s->v3 = vec_select(which, next.v3, s->v3);
}

/* The words of addresses: room for the backend's, then those of the list, and zeros. */
VEC_INLINE void load_addresses(const struct list_cell *cells, const struct lanes *lanes, vec words[ADDRESS_WORDS])
{
	typedef uint32_t own_words __attribute__((vector_size(ADDRESS_WORDS * 8)));
	static const uint32_t ones[] = {~0U, ~0U, ~0U, ~0U, ~0U, ~0U, ~0U, ~0U, 0, 0, 0, 0, 0, 0, 0, 0};
	own_words addresses[LANES];
	const uint8_t *at[LANES];

	for (uint32_t i = 0; i < LANES; i++) {
		const bool is_listed = lanes->listed >> i & 1;
		const uint32_t count = is_listed ? lists_count(lanes->named[i]) : 0;
		const uint8_t *cell = is_listed ? (const uint8_t *)(uintptr_t)lanes->cell[i] : (const uint8_t *)cells;
		own_words mask;

		/* from one before the first one on: the list ends the cell */
		memcpy(&addresses[i], cell + sizeof(struct list_cell) - (count + 1) * LISTS_IPV4_LEN, sizeof(mask));
		memcpy(&mask, ones + ADDRESS_WORDS * 2 - 1 - count, sizeof(mask));
		addresses[i] &= mask;
		at[i] = (const uint8_t *)&addresses[i];
	}
	for (size_t n = 0; n < ADDRESS_WORDS; n += 2)
		vec_load_words(at, n * sizeof(uint64_t), &words[n], &words[n + 1]);
	words[0] = vec_and(words[0], vec_all(0xffffffff00000000));
}

/* The key of each lane's service. */
VEC_INLINE struct lanes_siphash tag_begin(const struct lanes *lanes)
{
	static const struct service none;
	const uint8_t *keys[LANES];
	vec k0, k1;

	if (likely(lanes->is_one)) {
		const struct fl_siphash_key *key = &lanes->service[0]->list_key;

		return lanes_siphash_begin(vec_all(key->k0), vec_all(key->k1));
	}
	for (uint32_t i = 0; i < LANES; i++)
		keys[i] = (const uint8_t *)(lanes->steady >> i & 1 ? lanes->service[i] : &none);
	vec_load_words(keys, offsetof(struct service, list_key), &k0, &k1);
	return lanes_siphash_begin(k0, k1);
}

void lanes_tag(const struct burst *burst, struct lanes *lanes)
{
	const uint8_t protocol = lanes->is_ipv6 ? FL_LIST_GUE_IPV6 : FL_LIST_GUE_IPV4;
	const uint64_t connection = lanes->is_ipv6 ? FL_LIST_TAG_INNER_IPV6 : FL_LIST_TAG_INNER_IPV4;
	const vec rows = vec_some(vec_mask_of(lanes->listed), vec_load(lanes->named));
	const vec place = swap32(vec_load(lanes->place)), flags = vec_all((uint64_t)burst->tag_flags << 8);
	struct lanes_siphash hash;
	vec list, words, to, addresses[ADDRESS_WORDS];

	if (!lanes->steady)
		return;
	hash = tag_begin(lanes);
	list = vec_or(load_list_heads(lanes), vec_and(place, vec_all(0xffffffff00000000)));
	list = vec_or3(list, flags, vec_and(vec_right(rows, 16), vec_all(0xf000))); /* without LATE */
	lanes_siphash_add(&hash, list);
	for (int i = 0; lanes->is_ipv6 && i < 4; i++)
		lanes_siphash_add(&hash, vec_load(lanes->addresses6[i]));
	if (!lanes->is_ipv6)
		lanes_siphash_add(&hash, vec_load(lanes->key[0]));
	lanes_siphash_add(&hash, vec_or(vec_load(lanes->key[1]), vec_all((uint64_t)protocol << 40)));
	/* two addresses a word, of which the first one is the backend's */
	to = load_line_addresses(lanes->line);
	words = vec_add(vec_and(vec_right(rows, 17), vec_all(0x7f)), vec_all(1));
	if (unlikely(lanes->listed)) {
		load_addresses(burst->lookup->lists->cells, lanes, addresses);
		to = vec_or(to, addresses[0]);
	}
	lanes_siphash_add(&hash, to);
	for (uint64_t n = 1; unlikely(lanes->listed) && n < ADDRESS_WORDS; n++) {
		const vec_mask which = vec_less(vec_all(n), words);

		if (vec_bits(which))
			add_some(&hash, which, addresses[n]);
	}
	words = vec_add(vec_left(words, 3), vec_all(FL_LIST_BASE_LEN + connection));
	lanes_siphash_add(&hash, vec_left(words, 56));
	vec_store(lanes->tag, swap64(lanes_siphash_end(&hash)));
}
