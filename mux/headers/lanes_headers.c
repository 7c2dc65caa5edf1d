/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lanes' headers over IPv4, with lists of former owners (ring/lists.h). The whole list is stored in front of the inner
 * packet, and then the header over what does not belong to it, so that length makes no difference to either. The row says
 * how many owners there are: that makes lengths arithmetic of rows, and a packet without a list needs none. Packets with a
 * list leave if their pool has an IPv6 address.
 */
#include "headers/lanes_headers.h"

#ifdef LANES_X86
#include <fairlead/ipip.h>
#include <fairlead/list_tag.h>

#include "headers/lanes_lines.h"
#include "ring/lists.h"
#include "service/lookup.h"

enum {
	LIST_BYTES = 7 * LISTS_IPV4_LEN, /* of a row shifted by 14: those of its list */
	AT_VERSION = AT_GUE + FL_LIST_AT_VERSION,
	AT_GENERATION = AT_GUE + FL_LIST_AT_GENERATION,
	AT_OPTION_GENERATION = AT_IP + FL_IPIP_AT_GENERATION,
	PLAIN_MORE = GUE_PLAIN_LEN - AT_IP,                         /* of a header without addresses and tag */
	ADDRESS_WORDS = 4,                                          /* of a tag's message, at most */
	NAMED_ONE = 1 << 16 | 1 << 28,                              /* what a row says of a list of one */
	AT_OWN = offsetof(struct backend, outer.head) + AT_IP + 16, /* a backend's IPv4 address in its line */
	AT_OWN_CELL = AT_OWN + LISTS_IPV4_LEN - (int)sizeof(struct list_cell), /* whose end is a list of it alone */
};

_Static_assert((int)AT_VERSION + 1 == (int)AT_GUE + (int)FL_LIST_AT_FLAGS, "left, then count, in fields");
_Static_assert((int)LIST_BYTES >= (int)FL_LIST_SHORT_BYTES, "a row's count has bits enough");
_Static_assert(ADDRESS_WORDS * 8 >= LISTS_IPV4_LEN + FL_LIST_SHORT_BYTES, "a message has words enough");
_Static_assert((int)AT_GENERATION == (int)ENCAP_HEAD_LEN, "templates end before it");
_Static_assert((int)AT_OPTION_GENERATION + 4 == (int)ENCAP_HEAD_LEN, "templates hold all of ipip");

/* The headers that lanes write. */
enum form {
	FORM_PLAIN,  /* GUE without a list */
	FORM_LISTS,  /* of some lanes with one */
	FORM_SECOND, /* of all lanes with one: the second bucket's owner */
	FORM_TAGGED, /* FORM_PLAIN with a tag */
	FORM_BOTH,   /* FORM_LISTS with a tag */
	FORM_IPIP,   /* without a former owner */
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
	return form == FORM_SECOND ? PLAIN_MORE + LISTS_IPV4_LEN : PLAIN_MORE;
}

/* Bytes of a header in which packets differ, and of it without addresses. */
#define LISTS_WHERE                                                                                                    \
	(IP_WHERE | 3ULL << GUE_AT_UDP | 3ULL << (GUE_AT_UDP + 4) | 1ULL << AT_GUE | 3ULL << AT_VERSION |              \
	 15ULL << AT_GENERATION)
#define LISTS_WHOLE ((1ULL << GUE_PLAIN_LEN) - 1)
#define IPIP_WHERE  (IP_WHERE | 15ULL << AT_OPTION_GENERATION)
#define IPIP_WHOLE  ((1ULL << ENCAP_HEAD_LEN) - 1)

/* What mbufs have of frames whose headers are so long in front of the IP packet: pkt_len 4, data_len 2 and no VLAN 2. */
static inline ISA __m512i frames_of(const struct lanes *lanes, __m512i more)
{
	__m512i ip_len = _mm512_srli_epi64(_mm512_load_si512(lanes->word), 48);
	__m512i len = _mm512_add_epi64(_mm512_add_epi64(ip_len, all(AT_IP)), more);

	return _mm512_or_si512(len, _mm512_slli_epi64(len, 32));
}

/*
 * Lengths are known long before they are needed: an address to store to that waits for the header's other parts holds up
 * what follows (0.6 ns a packet).
 */
ISA void lanes_measure(const struct lists *lists, struct lanes *lanes)
{
	const __m512i rows = _mm512_maskz_load_epi64(lanes->listed, lanes->rows), one = all(NAMED_ONE);
	__m512i named, cell, more;

	named = _mm512_mask_mov_epi64(rows, lanes->with_second, one);
	cell =
	    _mm512_add_epi64(_mm512_slli_epi64(_mm512_srli_epi64(rows, 32), 3), all((uint64_t)(uintptr_t)lists->cells));
	cell = _mm512_mask_add_epi64(cell, lanes->with_second, _mm512_load_si512(lanes->second_line), all(AT_OWN_CELL));
	more = _mm512_add_epi64(all(PLAIN_MORE), _mm512_and_si512(_mm512_srli_epi64(named, 14), all(LIST_BYTES)));
	_mm512_store_si512(lanes->named, named);
	_mm512_store_si512(lanes->cell, cell);
	_mm512_store_si512(lanes->more, more);
	_mm512_store_si512(lanes->frames, frames_of(lanes, more));
	if (likely(__atomic_load_n(&lists->used, __ATOMIC_RELAXED) <= LISTS_FEW))
		return;
	for (uint32_t left = lanes->listed & ~(uint32_t)lanes->with_second; left; left &= left - 1)
		rte_prefetch0((const void *)(uintptr_t)lanes->cell[__builtin_ctz(left)]);
}

/* The smallest MTU of each listed lane's pool; 0 if it has an IPv6 address, so that the packet leaves. */
static __attribute__((noinline)) ISA __m512i narrowest_of_each(const struct burst *burst, uint32_t first,
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
	return _mm512_load_si512(narrowest);
}

static inline ISA __m512i narrowest_of(const struct burst *burst, uint32_t first, const struct lanes *lanes)
{
	uint32_t narrowest;

	if (unlikely(!lanes->is_one || !lanes->has_rows))
		return narrowest_of_each(burst, first, lanes);
	narrowest = backends_narrowest(lanes->backends[0]);
	return all(unlikely(narrowest & BACKENDS_IPV6) ? 0 : (uint16_t)narrowest);
}

/* Those of `steady` whose headers lanes can write. */
static inline ISA __mmask8 find_written(const struct burst *burst, uint32_t first, const struct lanes *lanes,
					enum form form, const struct line_ends *lines, __m512i ip_len)
{
	const uint32_t kind = BACKEND_STEADY(form == FORM_IPIP ? ENCAP_PLAIN_IPIP : ENCAP_PLAIN_GUE);
	__m512i most = _mm512_and_si512(lines->second, all(0xffff));
	__mmask8 written = lanes->steady;

	if (form == FORM_IPIP)
		written &= (__mmask8)~lanes->listed;
	written = _mm512_mask_cmpeq_epu64_mask(written, _mm512_srli_epi64(lines->first, 32), all(kind));
	if (form == FORM_SECOND)
		most = all((uint16_t)backends_narrowest(lanes->backends[0]));
	if (has_lists(form))
		most = _mm512_mask_mov_epi64(most, lanes->listed, narrowest_of(burst, first, lanes));
	return _mm512_mask_cmple_epu64_mask(written, ip_len, most);
}

static inline ISA void store_fields(__m512i left, __m512i right, __m128i fields[LANES])
{
	_mm512_store_si512(fields, _mm512_unpacklo_epi64(left, right));
	_mm512_store_si512(fields + 4, _mm512_unpackhi_epi64(left, right));
}

/*
 * What packets differ in, in the order of the header's bytes: of packets 0 2 4 6 1 3 5 7. The inner protocol is the
 * template's.
 */
static inline ISA void make_fields(const struct lanes *lanes, enum form form, uint64_t tag_flags, __m512i named,
				   __m512i ip_len, __m512i sum, __m128i fields[LANES])
{
	/* a row's count in these places of a lane: GUE's length 1, left 2; and its byte of count and flags: 3 */
	const long long even = (long long)0xffffffff030202ff, odd = (long long)0xffffffff0b0a0aff;
	const uint64_t words = (GUE_PLAIN_LEN - AT_GUE - FL_LIST_GUE_LEN + (tag_flags ? FL_LIST_TAG_LEN : 0)) / 4;
	const uint64_t fixed = words << 8 | (uint64_t)FL_LIST_VERSION << 20 | tag_flags << 24;
	const __m512i high = all(0xffffffff00000000);
	__m512i word = _mm512_load_si512(lanes->word), left, right, port;
	__m512i tos = _mm512_and_si512(_mm512_srli_epi64(word, 24), all(0xff));
	__m512i place = _mm512_load_si512(lanes->place), generation = swap32(place);

	sum = _mm512_add_epi64(_mm512_add_epi64(sum, tos), ip_len);
	if (form == FORM_IPIP) /* the checksum covers the option */
		sum = _mm512_add_epi64(sum,
				       _mm512_add_epi64(_mm512_srli_epi64(place, 48),
							_mm512_and_si512(_mm512_srli_epi64(place, 32), all(0xffff))));
	sum = swap16(_mm512_xor_si512(fold(sum), all(0xffff)));
	left = any(tos, _mm512_slli_epi64(swap16(ip_len), 8), _mm512_slli_epi64(sum, 24));
	if (form == FORM_IPIP) {
		store_fields(left, _mm512_and_si512(generation, high), fields);
		return;
	}
	port = _mm512_srli_epi64(_mm512_load_si512(lanes->hash), 18);
	port = _mm512_ternarylogic_epi64(all(0xc000), port, all(0x3fff), 0xf8);
	right = swap16(_mm512_sub_epi64(ip_len, all(ENCAP_IPV4_LEN)));
	left = any(left, _mm512_slli_epi64(swap16(port), 40), _mm512_slli_epi64(right, 56));
	right = _mm512_or_si512(_mm512_srli_epi64(right, 8), all(fixed));
	if (has_lists(form) || form == FORM_SECOND)
		right = _mm512_add_epi64(right, _mm512_shuffle_epi8(named, _mm512_set4_epi64(odd, even, odd, even)));
	store_fields(left, _mm512_ternarylogic_epi64(generation, high, right, 0xea), fields);
}

_Static_assert(offsetof(struct rte_mbuf, data_len) == offsetof(struct rte_mbuf, pkt_len) + 4 &&
		   offsetof(struct rte_mbuf, vlan_tci) == offsetof(struct rte_mbuf, pkt_len) + 6,
	       "lengths are written as one word");

/* Where each byte of a header comes from that is not its template's: the fields in order. */
#define PLACES_OF_IP [AT_IP + 1] = 0, [AT_IP + 2] = 1, 2, [AT_IP + 10] = 3, 4

static inline ISA __m512i places_of_fields(enum form form)
{
	static const uint8_t of_gue[64] __attribute__((aligned(64))) = {PLACES_OF_IP,
									[GUE_AT_UDP] = 5,
									6,
									[GUE_AT_UDP + 4] = 7,
									8,
									[AT_GUE] = 9,
									[AT_VERSION] = 10,
									11,
									[AT_GENERATION] = 12,
									13,
									14,
									15};
	static const uint8_t of_ipip[64]
	    __attribute__((aligned(64))) = {PLACES_OF_IP, [AT_OPTION_GENERATION] = 12, 13, 14, 15};

	return _mm512_load_si512(form == FORM_IPIP ? of_ipip : of_gue);
}

/* By one store: for the processors that it is told to tune for, GCC would make two halves of it. */
static inline ISA void store_cell(uint8_t *to, uint64_t cell)
{
	__asm__("vmovdqu64 %1, %0"
		: "=m"(*(__m256i_u *)(void *)to)
		: "v"(_mm256_loadu_si256((const __m256i_u *)(const void *)(uintptr_t)cell)));
}

/* What is written, and how long it is. */
struct headers {
	const __m128i *fields;
	const uint64_t *more, *frames; /* for each lane */
};

static inline __attribute__((always_inline)) ISA void write_all(struct burst *burst, uint32_t first,
								const struct lanes *lanes, enum form form,
								const struct headers *headers, uint32_t written)
{
	const __mmask64 where = kept(form == FORM_IPIP ? IPIP_WHERE : LISTS_WHERE),
			whole = kept(form == FORM_IPIP ? IPIP_WHOLE : LISTS_WHOLE);
	const uint32_t tag_len = has_tags(form) ? FL_LIST_TAG_LEN : 0;
	const __m512i places = places_of_fields(form);
	const bool is_ipv6 = lanes->is_ipv6;

	for (uint32_t i = 0; i < LANES; i++) {
		struct rte_mbuf *mbuf = burst->mbufs[first + i];
		const uint64_t more = has_lists(form) || has_tags(form) ? headers->more[i] : least_more(form);
		const uint32_t at = (i & 1) * 4 + i / 2;
		__m512i header;
		uint8_t *data;

		if (!(written >> i & 1))
			continue;
		header = _mm512_mask_permutexvar_epi8(_mm512_load_si512(line_of(lanes, i)), where, places,
						      _mm512_castsi128_si512(headers->fields[at]));
		data = rte_pktmbuf_mtod(mbuf, uint8_t *);
		mbuf->data_off = (uint16_t)(mbuf->data_off - more);
		memcpy(&mbuf->pkt_len, &headers->frames[i], sizeof(headers->frames[i]));
		if (has_lists(form)) /* what is in front of the addresses is overwritten */
			store_cell(data + AT_IP - tag_len - sizeof(struct list_cell), lanes->cell[i]);
		_mm512_mask_storeu_epi8(data - more, whole, header);
		if (form == FORM_SECOND)
			memcpy(data + AT_IP - LISTS_IPV4_LEN, (const void *)(uintptr_t)(lanes->second_line[i] + AT_OWN),
			       LISTS_IPV4_LEN);
		if (has_tags(form))
			memcpy(data + AT_IP - tag_len, &lanes->tag[i], sizeof(lanes->tag[i]));
		if (form != FORM_IPIP && unlikely(is_ipv6))
			*(data - more + AT_GUE + 1) = FL_LIST_GUE_IPV6;
	}
}

static inline __attribute__((always_inline)) ISA uint32_t encap_by(struct burst *burst, uint32_t first,
								   struct lanes *lanes, enum form form)
{
	const struct line_ends lines = load_line_ends(lanes);
	const __m512i ports = _mm512_and_si512(_mm512_srli_epi64(lines.second, 32), all(0xff));
	__m512i ip_len = _mm512_srli_epi64(_mm512_load_si512(lanes->word), 48);
	__m512i named = all(form == FORM_SECOND ? NAMED_ONE : 0), more = all(least_more(form));
	__m128i fields[LANES] __attribute__((aligned(64)));
	uint64_t mores[LANES] __attribute__((aligned(64))), frames[LANES] __attribute__((aligned(64)));
	struct headers headers = {fields, lanes->more, lanes->frames};
	uint32_t written;
	uint8_t port;

	if (has_lists(form)) {
		named = _mm512_load_si512(lanes->named);
		more = _mm512_load_si512(lanes->more);
	}
	if (has_tags(form))
		more = _mm512_add_epi64(more, all(FL_LIST_TAG_LEN));
	if (form != FORM_LISTS) {
		_mm512_store_si512(mores, more);
		_mm512_store_si512(frames, frames_of(lanes, more));
		headers.more = mores;
		headers.frames = frames;
	}
	ip_len = _mm512_add_epi64(ip_len, more);
	written = find_written(burst, first, lanes, form, &lines, ip_len);
	if (unlikely(written != LANES_ALL)) {
		if (!lanes->is_unpacked)
			lanes_unpack(burst, first, lanes);
		if (!written)
			return 0;
	}
	port = line_of(lanes, (uint32_t)__builtin_ctz(written))->port;
	make_fields(lanes, form, has_tags(form) ? burst->tag_flags : 0, named, ip_len,
		    _mm512_and_si512(_mm512_srli_epi64(lines.first, 16), all(0xffff)), fields);
	if (likely(written == LANES_ALL))
		write_all(burst, first, lanes, form, &headers, LANES_ALL);
	else
		write_all(burst, first, lanes, form, &headers, written);
	for (uint32_t left = written; unlikely(lanes->is_unpacked) && left; left &= left - 1) {
		uint32_t i = (uint32_t)__builtin_ctz(left);

		burst->packets[first + i].port = line_of(lanes, i)->port; /* overwrites the table of backends (union) */
	}
	lanes->port = _mm512_mask_cmpneq_epu64_mask((__mmask8)written, ports, all(port)) ? (uint8_t)PORTS_DIFFER : port;
	burst->bytes += (uint64_t)_mm512_reduce_add_epi64(
	    _mm512_maskz_mov_epi64((__mmask8)written, _mm512_load_si512(lanes->frame_len)));
	if (has_lists(form))
		burst->moved += (uint32_t)__builtin_popcount(written & (uint8_t)~lanes->with_second &
							     _mm512_test_epi64_mask(named, all(0xff0000)));
	if (has_lists(form) || form == FORM_SECOND)
		burst->second += (uint32_t)__builtin_popcount(written & lanes->with_second);
	return written;
}

static __attribute__((noinline)) ISA uint32_t encap_tagged(struct burst *burst, uint32_t first, struct lanes *lanes)
{
	return lanes->listed ? encap_by(burst, first, lanes, FORM_BOTH) : encap_by(burst, first, lanes, FORM_TAGGED);
}

/* A group's first backend says by which form; lanes of other services may have another one. */
ISA uint32_t lanes_headers(struct burst *burst, uint32_t first, struct lanes *lanes)
{
	const struct backend *backend = line_of(lanes, (uint32_t)__builtin_ctz(lanes->steady));

	if (unlikely(backend->outer.plain == ENCAP_PLAIN_IPIP && !lanes->is_ipv6))
		return encap_by(burst, first, lanes, FORM_IPIP);
	if (unlikely(burst->tag_flags))
		return encap_tagged(burst, first, lanes);
	if (lanes->with_second == LANES_ALL)
		return encap_by(burst, first, lanes, FORM_SECOND);
	return lanes->listed ? encap_by(burst, first, lanes, FORM_LISTS) : encap_by(burst, first, lanes, FORM_PLAIN);
}

/* The same as lanes_siphash_add() for some lanes. */
static inline ISA void add_some(struct lanes_siphash *s, __mmask8 which, __m512i word)
{
	struct lanes_siphash next = *s;

	lanes_siphash_add(&next, word);
	s->v0 = (lanes_vector)_mm512_mask_mov_epi64((__m512i)s->v0, which, (__m512i)next.v0);
	s->v1 = (lanes_vector)_mm512_mask_mov_epi64((__m512i)s->v1, which, (__m512i)next.v1);
	s->v2 = (lanes_vector)_mm512_mask_mov_epi64((__m512i)s->v2, which, (__m512i)next.v2);
	s->v3 = (lanes_vector)_mm512_mask_mov_epi64((__m512i)s->v3, which, (__m512i)next.v3);
}

/* The words of addresses: the backend's, then those of the list, and zeros. */
static inline ISA void load_addresses(const struct list_cell *cells, const struct lanes *lanes,
				      uint64_t words[ADDRESS_WORDS][LANES])
{
	const __m256i order = _mm256_set_epi32(14, 13, 12, 11, 10, 9, 8, 7);

	for (uint32_t i = 0; i < LANES; i++) {
		const bool is_listed = lanes->listed >> i & 1;
		const uint32_t count = is_listed ? lists_count(lanes->named[i]) : 0;
		const void *at = is_listed ? (const void *)(uintptr_t)lanes->cell[i] : cells;
		const __m256i cell = _mm256_loadu_si256(at);
		const __m256i from =
		    _mm256_sub_epi32(order, _mm256_set1_epi32((int)count)); /* its list ends the cell */
		uint64_t own[ADDRESS_WORDS];
		__m256i addresses;
		int to;

		memcpy(&to, line_of(lanes, i)->outer.head + AT_IP + 16, sizeof(to));
		addresses = _mm256_maskz_permutexvar_epi32((__mmask8)((2U << count) - 1), from, cell);
		addresses = _mm256_mask_set1_epi32(addresses, 1, to);
		_mm256_storeu_si256((__m256i *)(void *)own, addresses);
		for (uint32_t n = 0; n < ADDRESS_WORDS; n++)
			words[n][i] = own[n];
	}
}

/* The key of each lane's service. */
static inline ISA struct lanes_siphash tag_begin(const struct lanes *lanes)
{
	static const struct fl_siphash_key none;
	uint64_t k0[LANES] __attribute__((aligned(64))), k1[LANES] __attribute__((aligned(64)));

	for (uint32_t i = 0; i < LANES; i++) {
		const struct service *service = lanes->service[lanes->is_one ? 0 : i];
		const struct fl_siphash_key *key = lanes->steady >> i & 1 ? &service->list_key : &none;

		k0[i] = key->k0;
		k1[i] = key->k1;
	}
	return lanes_siphash_begin(_mm512_load_si512(k0), _mm512_load_si512(k1));
}

ISA void lanes_tag(const struct burst *burst, struct lanes *lanes)
{
	const uint8_t protocol = lanes->is_ipv6 ? FL_LIST_GUE_IPV6 : FL_LIST_GUE_IPV4;
	const uint64_t connection = lanes->is_ipv6 ? FL_LIST_TAG_INNER_IPV6 : FL_LIST_TAG_INNER_IPV4;
	const __m512i rows = _mm512_maskz_load_epi64(lanes->listed, lanes->named);
	const __m512i place = swap32(_mm512_load_si512(lanes->place)), flags = all((uint64_t)burst->tag_flags << 8);
	uint64_t addresses[ADDRESS_WORDS][LANES] __attribute__((aligned(64)));
	struct lanes_siphash hash;
	__m512i list, words;

	if (!lanes->steady)
		return;
	hash = tag_begin(lanes);
	list = _mm512_or_si512(load_list_heads(lanes), _mm512_and_si512(place, all(0xffffffff00000000)));
	list = any(list, flags, _mm512_and_si512(_mm512_srli_epi64(rows, 16), all(0xf000))); /* without LATE */
	lanes_siphash_add(&hash, list);
	for (int i = 0; lanes->is_ipv6 && i < 4; i++)
		lanes_siphash_add(&hash, _mm512_load_si512(lanes->addresses6[i]));
	if (!lanes->is_ipv6)
		lanes_siphash_add(&hash, _mm512_load_si512(lanes->key[0]));
	lanes_siphash_add(&hash, _mm512_or_si512(_mm512_load_si512(lanes->key[1]), all((uint64_t)protocol << 40)));
	load_addresses(burst->lookup->lists->cells, lanes, addresses);
	/* two addresses a word, of which the first one is the backend's */
	words = _mm512_add_epi64(_mm512_and_si512(_mm512_srli_epi64(rows, 17), all(0x7f)), all(1));
	lanes_siphash_add(&hash, _mm512_load_si512(addresses[0]));
	for (uint64_t n = 1; n < ADDRESS_WORDS; n++) {
		__mmask8 which = _mm512_cmpgt_epu64_mask(words, all(n));

		if (which)
			add_some(&hash, which, _mm512_load_si512(addresses[n]));
	}
	words = _mm512_add_epi64(_mm512_slli_epi64(words, 3), all(FL_LIST_BASE_LEN + connection));
	lanes_siphash_add(&hash, _mm512_slli_epi64(words, 56));
	_mm512_store_si512(lanes->tag, swap64(lanes_siphash_end(&hash)));
}
#endif
