/* SPDX-License-Identifier: Apache-2.0 */
#include "packet/lanes.h"

#ifdef LANES_X86
#include <string.h>

#include <rte_branch_prediction.h>
#include <rte_prefetch.h>

#include <fairlead/ipip.h>
#include <fairlead/tag.h>

#include "encap/gue.h"
#include "packet/lanes_lines.h"
#include "ring/backend.h"
#include "ring/lists.h"
#include "service/lookup.h"
#include "service/service.h"

_Static_assert(offsetof(struct packet, service) == 24 && offsetof(struct packet, hash) == 32, "words of struct packet");
_Static_assert(offsetof(struct packet, bucket) == 40 && offsetof(struct packet, ring) == 48, "words of struct packet");

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
	transpose(v);
	for (uint32_t i = 0; i < LANES; i++)
		if (lanes->in >> i & 1)
			_mm512_store_si512(&burst->packets[first + i], v[i]);
}

/* What rows say is read from. */
struct pools {
	__m512i sizes, lines, seconds;
};

/* Rows of lanes with one service, then its backends. */
static inline ISA __m512i read_one(struct lanes *lanes, struct pools *pools)
{
	const struct ring *ring = lanes->ring[0];
	const struct backends *backends;
	__m512i rows;

#define ROW(i) (long long)ring_row(ring, (uint32_t)lanes->place[i])
	rows = _mm512_set_epi64(ROW(7), ROW(6), ROW(5), ROW(4), ROW(3), ROW(2), ROW(1), ROW(0));
#undef ROW
	lanes->backends[0] = backends = ring_backends(ring);
	pools->sizes = all(backends->size);
	pools->lines = all((uint64_t)(uintptr_t)backends->rows);
	pools->seconds = all(__atomic_load_n(&lanes->service[0]->moved_seconds, __ATOMIC_RELAXED));
	return rows;
}

/* The same for lanes with several. */
static inline ISA __m512i read_each(struct lanes *lanes, struct pools *pools)
{
	__m512i rows;

#define ROW(i) (long long)__atomic_load_n((const fl_row *)(uintptr_t)lanes->row_at[i], __ATOMIC_ACQUIRE)
	rows = _mm512_set_epi64(ROW(7), ROW(6), ROW(5), ROW(4), ROW(3), ROW(2), ROW(1), ROW(0));
#undef ROW
	for (uint32_t i = 0; i < LANES; i++)
		lanes->backends[i] = ring_backends(lanes->ring[i]);
#define SIZE(i) lanes->backends[i]->size
#define LINE(i) (long long)(uintptr_t)lanes->backends[i]->rows
	pools->sizes = _mm512_set_epi64(SIZE(7), SIZE(6), SIZE(5), SIZE(4), SIZE(3), SIZE(2), SIZE(1), SIZE(0));
	pools->lines = _mm512_set_epi64(LINE(7), LINE(6), LINE(5), LINE(4), LINE(3), LINE(2), LINE(1), LINE(0));
#undef LINE
#undef SIZE
	pools->seconds = _mm512_load_si512(lanes->seconds);
	return rows;
}

/* The addresses of previous owners (backends_ipv4()), for lanes with several services: those of one lie in few lines. */
static inline ISA void fetch_previous(__m512i rows, const struct pools *pools)
{
	const __m512i previous = _mm512_and_si512(_mm512_srli_epi64(rows, 16), all(0xffff));
	const __m512i addresses = _mm512_add_epi64(pools->lines, _mm512_slli_epi64(pools->sizes, 6));
	uint64_t at[LANES] __attribute__((aligned(64)));

	_mm512_store_si512(at, _mm512_add_epi64(addresses, _mm512_slli_epi64(previous, 2)));
	for (uint32_t i = 0; i < LANES; i++)
		rte_prefetch0((const void *)(uintptr_t)at[i]); /* no address can fault */
}

ISA void lanes_rows(struct burst *burst, uint32_t first, struct lanes *lanes)
{
	__m512i rows, current, since;
	__mmask8 moved, steady, listed;
	struct pools pools;

	rows = likely(lanes->is_one) ? read_one(lanes, &pools) : read_each(lanes, &pools);
	lanes->has_rows = true;
	_mm512_store_si512(lanes->rows, rows);
	current = _mm512_and_si512(rows, all(0xffff));
	since = _mm512_srli_epi64(rows, 32);
	moved = _mm512_mask_cmplt_epu64_mask(_mm512_test_epi64_mask(rows, all(0xffff0000)), all(burst->now),
					     _mm512_add_epi64(since, pools.seconds));
	steady = _mm512_test_epi64_mask(current, current) & _mm512_cmplt_epu64_mask(current, pools.sizes);
	/* of others the line of id 0, which is absent */
	_mm512_store_si512(lanes->line, _mm512_add_epi64(pools.lines, _mm512_maskz_slli_epi64(steady, current, 6)));
	for (uint32_t i = 0; i < LANES; i++)
		rte_prefetch0((const void *)(uintptr_t)lanes->line[i]); /* no address can fault */
	if (unlikely(steady != LANES_ALL || !burst->is_brief))
		lanes_unpack(burst, first, lanes);
	for (uint32_t none = (uint8_t)~steady; unlikely(none); none &= none - 1)
		burst->packets[first + (uint32_t)__builtin_ctz(none)].verdict = VERDICT_NO_BACKEND;
	lanes->steady = (uint8_t)(steady & ~lanes->clamped);
	listed = _mm512_cmpeq_epi64_mask(pools.seconds, all(FL_ROW_LISTED));
	lanes->listed = listed;
	if (listed) {
		/* rows that name lists do not say when; SYNs carry none */
		moved |= _mm512_test_epi64_mask(rows, all(0xffff0000)) & listed;
		moved &= (__mmask8) ~(listed & lanes->syns);
	}
	lanes->moved = (uint8_t)(moved & lanes->steady);
	if (listed)
		lanes_list_rows(burst->lookup->lists, lanes);
	else if (unlikely(lanes->moved && !lanes->is_one))
		fetch_previous(rows, &pools);
}

_Static_assert(sizeof(struct backend) == 1 << 6, "lanes_rows() computes addresses of lines");

/* The headers that lanes write. */
enum form {
	FORM_GUE,
	FORM_TAGGED, /* the same with the cluster's tag */
	FORM_MIXED,  /* the same without, and of some lanes with the move of their bucket */
	FORM_MOVED,  /* of all lanes */
	FORM_IPIP,
};

enum {
	AT_BUCKET = AT_GUE + FL_STEER_AT_BUCKET,
	AT_OPTION_GENERATION = AT_IP + FL_IPIP_AT_GENERATION,
	TAGGED_LEN = GUE_PLAIN_LEN + FL_STEER_TAG_LEN,
	MOVED_MORE = GUE_MOVED_LEN - GUE_PLAIN_LEN,
	IPIP_LEN = AT_IP + FL_IPIP_LEN,
	TAG_WORDS = FL_TAG_MESSAGE_LEN / 8 + 1,
};

/* Bytes of a header in which packets differ, and of the templates that are none of these. */
#define GUE_WHERE                                                                                                      \
	(IP_WHERE | 3ULL << GUE_AT_UDP | 3ULL << (GUE_AT_UDP + 4) | 3ULL << AT_GUE |                                   \
	 1ULL << (AT_GUE + FL_STEER_AT_FLAGS))
#define IPIP_WHERE (IP_WHERE | 15ULL << AT_OPTION_GENERATION)
#define WHOLE      ((1ULL << ENCAP_HEAD_LEN) - 1)

_Static_assert((int)IPIP_LEN == (int)ENCAP_HEAD_LEN && (int)AT_BUCKET == (int)ENCAP_HEAD_LEN,
	       "templates hold all else");
_Static_assert(FL_STEER_AT_BUCKET + 4 == FL_STEER_AT_GENERATION, "they are written as one word");
_Static_assert((int)AT_BUCKET + 8 == (int)GUE_PLAIN_LEN && (int)MOVED_MORE == 8, "the last word of a header");

/* Mixed: of lanes without a move. */
static inline uint32_t form_len(enum form form)
{
	switch (form) {
	case FORM_IPIP:
		return IPIP_LEN;
	case FORM_TAGGED:
		return TAGGED_LEN;
	case FORM_MOVED:
		return GUE_MOVED_LEN;
	default:
		return GUE_PLAIN_LEN;
	}
}

/* Mixed: the same. */
static inline uint32_t form_flags(enum form form)
{
	return form == FORM_TAGGED ? FL_STEER_TAG : form == FORM_MOVED ? FL_STEER_MOVED : 0;
}

/* Whether a moved lane's header can name its bucket's previous owner; sets lanes->move. */
static inline bool find_move(const struct burst *burst, uint32_t first, struct lanes *lanes, uint32_t i)
{
	const struct backends *backends =
	    lanes->has_rows ? lanes->backends[lanes->is_one ? 0 : i] : burst->packets[first + i].backends;
	fl_row row = lanes->has_rows ? lanes->rows[i] : burst->packets[first + i].row;
	const uint32_t previous = fl_row_previous(row), narrowest = backends_narrowest(backends);
	const uint32_t owner =
	    previous < backends->size ? __atomic_load_n(&backends_ipv4(backends)[previous], __ATOMIC_RELAXED) : 0;

	/* what is too big for a chain, or may be (a pool with IPv6), leaves */
	if (unlikely(!owner || narrowest & BACKENDS_IPV6 || (lanes->word[i] >> 48) + GUE_MOVED_LEN - AT_IP > narrowest))
		return false;
	lanes->move[i] = (uint64_t)owner << 32 | __builtin_bswap32(fl_row_since(row));
	return true;
}

/* The same for all moved lanes of one service whose rows lanes_rows() has read: those that can. */
static inline ISA uint32_t find_moves(struct lanes *lanes)
{
	const struct backends *backends = lanes->backends[0];
	const uint32_t *addresses = backends_ipv4(backends); /* size is a power of two */
	const uint32_t narrowest = backends_narrowest(backends), last = backends->size - 1;
	const __m512i rows = _mm512_load_si512(lanes->rows),
		      previous = _mm512_and_si512(_mm512_srli_epi64(rows, 16), all(0xffff)),
		      ip_len = _mm512_srli_epi64(_mm512_load_si512(lanes->word), 48);
	__mmask8 named = _mm512_cmple_epu64_mask(previous, all(last));
	__m256i owners;

	if (unlikely(narrowest & BACKENDS_IPV6))
		return 0;
#define OWNER(i) (int)__atomic_load_n(&addresses[fl_row_previous(lanes->rows[i]) & last], __ATOMIC_RELAXED)
	owners = _mm256_set_epi32(OWNER(7), OWNER(6), OWNER(5), OWNER(4), OWNER(3), OWNER(2), OWNER(1), OWNER(0));
#undef OWNER
	named &= _mm256_test_epi32_mask(owners, owners);
	named &= _mm512_cmple_epu64_mask(_mm512_add_epi64(ip_len, all(GUE_MOVED_LEN - AT_IP)), all(narrowest));
	_mm512_store_si512(lanes->move, _mm512_or_si512(_mm512_slli_epi64(_mm512_cvtepu32_epi64(owners), 32),
							_mm512_srli_epi64(swap32(rows), 32)));
	return named & lanes->moved;
}

/* Those of `steady` that this form could write if their backends take it. */
static inline ISA uint32_t find_asked(const struct burst *burst, uint32_t first, struct lanes *lanes, enum form form)
{
	uint32_t asked = lanes->steady;

	if (form == FORM_MOVED || (form == FORM_MIXED && lanes->is_one && lanes->has_rows))
		return asked & (~(uint32_t)lanes->moved | find_moves(lanes));
	if (form != FORM_MIXED)
		return asked & ~(uint32_t)lanes->moved;
	for (uint32_t left = lanes->moved; left; left &= left - 1) {
		uint32_t i = (uint32_t)__builtin_ctz(left);

		if (!find_move(burst, first, lanes, i))
			asked &= ~(1U << i);
	}
	return asked;
}

/* Those of `asked` whose backends take this form. */
static inline ISA uint32_t find_written(const struct lanes *lanes, enum form form, const struct line_ends *lines,
					uint32_t asked)
{
	const uint32_t kind = BACKEND_STEADY(form == FORM_IPIP ? ENCAP_PLAIN_IPIP : ENCAP_PLAIN_GUE);
	const __m512i len =
	    _mm512_add_epi64(_mm512_srli_epi64(_mm512_load_si512(lanes->word), 48), all(form_len(form) - AT_IP));
	__mmask8 written =
	    _mm512_mask_cmpeq_epu64_mask((__mmask8)asked, _mm512_srli_epi64(lines->first, 32), all(kind));

	return _mm512_mask_cmple_epu64_mask(written, len, _mm512_and_si512(lines->second, all(0xffff)));
}

/* What packets differ in, in the order of the form's bytes: of packets 0 2 4 6 1 3 5 7. Not bucket and generation of GUE. */
static inline ISA void make_fields(const struct lanes *lanes, enum form form, __m512i total, __m512i sum,
				   __m128i fields[LANES])
{
	__m512i word = _mm512_load_si512(lanes->word), place = _mm512_load_si512(lanes->place), left, right;
	__m512i tos = _mm512_and_si512(_mm512_srli_epi64(word, 24), all(0xff));
	__m512i ip_len = _mm512_add_epi64(total, all(form_len(form) - AT_IP));

	if (form == FORM_MIXED)
		ip_len = _mm512_mask_add_epi64(ip_len, lanes->moved, ip_len, all(MOVED_MORE));
	sum = _mm512_add_epi64(_mm512_add_epi64(sum, tos), ip_len);
	if (form == FORM_IPIP)
		sum = _mm512_add_epi64(sum,
				       _mm512_add_epi64(_mm512_srli_epi64(place, 48),
							_mm512_and_si512(_mm512_srli_epi64(place, 32), all(0xffff))));
	sum = swap16(_mm512_xor_si512(fold(sum), all(0xffff)));
	/* traffic class 1 | length 2 | checksum 2 */
	left = any(tos, _mm512_slli_epi64(swap16(ip_len), 8), _mm512_slli_epi64(sum, 24));
	if (form == FORM_IPIP) {
		__m512i generation = _mm512_srli_epi64(swap32(place), 32);

		left = _mm512_or_si512(left, _mm512_slli_epi64(generation, 40));
		right = _mm512_srli_epi64(generation, 24);
	} else {
		/* fl_outer_source_port(); | length of UDP 2, in two words | GUE's length 1 | inner protocol 1 | flags 1 */
		__m512i port = _mm512_srli_epi64(_mm512_load_si512(lanes->hash), 18);
		uint64_t flags = form_flags(form);
		uint64_t protocol = lanes->is_ipv6 ? FL_GUE_PROTO_IPV6 : FL_GUE_PROTO_IPV4;
		uint64_t len = (form_len(form) - AT_GUE - FL_GUE_BASE_LEN) / 4;

		port = _mm512_ternarylogic_epi64(all(0xc000), port, all(0x3fff), 0xf8);
		right = swap16(_mm512_sub_epi64(ip_len, all(ENCAP_IPV4_LEN)));
		left = any(left, _mm512_slli_epi64(swap16(port), 40), _mm512_slli_epi64(right, 56));
		right = _mm512_or_si512(_mm512_srli_epi64(right, 8), all(len << 8 | protocol << 16 | flags << 24));
		if (form == FORM_MIXED)
			right = _mm512_mask_add_epi64(right, lanes->moved, right,
						      all((MOVED_MORE / 4) << 8 | (uint64_t)FL_STEER_MOVED << 24));
	}
	_mm512_store_si512(fields, _mm512_unpacklo_epi64(left, right));
	_mm512_store_si512(fields + 4, _mm512_unpackhi_epi64(left, right));
}

/* The message of fairlead/tag.h for headers without flags but TAG, in words, the last of which is its length. */
static inline ISA void make_message(const struct lanes *lanes, __m512i words[TAG_WORDS])
{
	const __m512i mapped = all(0xffff0000), zero = _mm512_setzero_si512();
	__m512i addresses = _mm512_load_si512(lanes->key[0]), place = swap32(_mm512_load_si512(lanes->place)), steer;

	steer = _mm512_or_si512(load_steers(lanes), all(FL_STEER_TAG << 8));
	words[0] = _mm512_or_si512(steer, _mm512_slli_epi64(place, 32));
	words[1] = _mm512_srli_epi64(place, 32); /* and no move */
	words[2] = words[3] = zero;
	if (lanes->is_ipv6) {
		for (int i = 0; i < 4; i++)
			words[4 + i] = _mm512_load_si512(lanes->addresses6[i]);
	} else {
		words[4] = words[6] = zero;
		words[5] = _mm512_or_si512(_mm512_slli_epi64(addresses, 32), mapped);
		words[7] = _mm512_ternarylogic_epi64(addresses, all(0xffffffff00000000), mapped, 0xea);
	}
	words[8] = _mm512_load_si512(lanes->key[1]);
	words[9] = all((uint64_t)FL_TAG_MESSAGE_LEN << 56);
}

ISA void lanes_tag_two(const struct fl_siphash_key *key, struct lanes *a, struct lanes *b)
{
	struct lanes_siphash x = lanes_siphash_begin(all(key->k0), all(key->k1)), y = x;
	__m512i of_a[TAG_WORDS], of_b[TAG_WORDS];

	make_message(a, of_a);
	make_message(b, of_b);
	for (int i = 0; i < TAG_WORDS; i++)
		lanes_siphash_add_two(&x, of_a[i], &y, of_b[i]);
	lanes_siphash_end_two(&x, &y);
	_mm512_store_si512(a->tag, swap64((__m512i)(x.v0 ^ x.v1 ^ x.v2 ^ x.v3)));
	_mm512_store_si512(b->tag, swap64((__m512i)(y.v0 ^ y.v1 ^ y.v2 ^ y.v3)));
}

/* What follows the template, bucket and generation, and the move of FORM_MOVED: of packets 0 2 4 6 1 3 5 7. */
static inline ISA void make_ends(const struct lanes *lanes, enum form form, __m128i ends[LANES])
{
	const __m512i place = swap32(_mm512_load_si512(lanes->place));
	const __m512i move = form == FORM_MOVED ? _mm512_load_si512(lanes->move) : place;

	_mm512_store_si512(ends, _mm512_unpacklo_epi64(place, move));
	_mm512_store_si512(ends + 4, _mm512_unpackhi_epi64(place, move));
}

static inline __attribute__((always_inline)) ISA uint32_t encap_form(struct burst *burst, uint32_t first,
								     struct lanes *lanes, enum form form,
								     const struct line_ends *lines, uint32_t written)
{
	const __mmask64 where = kept(form == FORM_IPIP ? IPIP_WHERE : GUE_WHERE), whole = kept(WHOLE);
	const uint32_t len = form_len(form);
	__m512i total = _mm512_srli_epi64(_mm512_load_si512(lanes->word), 48);
	__m128i fields[LANES] __attribute__((aligned(64))), ends[LANES] __attribute__((aligned(64)));
	/* if mixed: lengths of headers, and their last words, which are the move, or else bucket and generation */
	uint64_t lens[LANES] __attribute__((aligned(64))), last[LANES] __attribute__((aligned(64)));
	const __m512i ports = _mm512_and_si512(_mm512_srli_epi64(lines->second, 32), all(0xff));
	const uint8_t port = line_of(lanes, (uint32_t)__builtin_ctz(written))->port;

	make_fields(lanes, form, total, _mm512_and_si512(_mm512_srli_epi64(lines->first, 16), all(0xffff)), fields);
	if (form != FORM_IPIP)
		make_ends(lanes, form, ends);
	if (form == FORM_MIXED) {
		_mm512_store_si512(lens, _mm512_mask_mov_epi64(all(len), lanes->moved, all(len + MOVED_MORE)));
		_mm512_store_si512(last, _mm512_mask_mov_epi64(swap32(_mm512_load_si512(lanes->place)), lanes->moved,
							       _mm512_load_si512(lanes->move)));
	}
	for (uint32_t i = 0; i < LANES; i++) {
		const struct backend *line = line_of(lanes, i);
		struct rte_mbuf *mbuf = burst->mbufs[first + i];
		__m512i header;
		uint32_t own, at;
		uint8_t *out;

		if (!(written >> i & 1))
			continue;
		at = (i & 1) * 4 + i / 2;
		header = _mm512_mask_expand_epi8(_mm512_load_si512(line), where, _mm512_castsi128_si512(fields[at]));
		own = form == FORM_MIXED ? (uint32_t)lens[i] : len;
		mbuf->data_off = (uint16_t)(mbuf->data_off - (own - AT_IP));
		mbuf->data_len = (uint16_t)((lanes->word[i] >> 48) + own);
		mbuf->pkt_len = mbuf->data_len;
		out = rte_pktmbuf_mtod(mbuf, uint8_t *);
		_mm512_mask_storeu_epi8(out, whole, header);
		if (form == FORM_MOVED)
			_mm_storeu_si128((__m128i *)(void *)(out + AT_BUCKET), ends[at]);
		else if (form != FORM_IPIP)
			_mm_storel_epi64((__m128i *)(void *)(out + AT_BUCKET), ends[at]);
		if (form == FORM_TAGGED)
			memcpy(out + GUE_PLAIN_LEN, &lanes->tag[i], sizeof(lanes->tag[i]));
		if (form == FORM_MIXED)
			memcpy(out + own - sizeof(last[i]), &last[i], sizeof(last[i]));
	}
	for (uint32_t left = written; unlikely(lanes->is_unpacked) && left; left &= left - 1) {
		uint32_t i = (uint32_t)__builtin_ctz(left);

		burst->packets[first + i].port = line_of(lanes, i)->port; /* overwrites the table of backends (union) */
	}
	lanes->port = _mm512_mask_cmpneq_epu64_mask((__mmask8)written, ports, all(port)) ? (uint8_t)PORTS_DIFFER : port;
	burst->bytes += (uint64_t)_mm512_reduce_add_epi64(
	    _mm512_maskz_mov_epi64((__mmask8)written, _mm512_load_si512(lanes->frame_len)));
	return written;
}

static inline __attribute__((always_inline)) ISA uint32_t encap_by(struct burst *burst, uint32_t first,
								   struct lanes *lanes, enum form form)
{
	const struct line_ends lines = load_line_ends(lanes);
	uint32_t written = find_written(lanes, form, &lines, find_asked(burst, first, lanes, form));

	if (likely(written == LANES_ALL))
		return encap_form(burst, first, lanes, form, &lines, LANES_ALL);
	if (!lanes->is_unpacked)
		lanes_unpack(burst, first, lanes);
	return written ? encap_form(burst, first, lanes, form, &lines, written) : 0;
}

/* A group's first backend says by which form; lanes of other services may have another one. */
ISA uint32_t lanes_encap(struct burst *burst, uint32_t first, struct lanes *lanes)
{
	const uint8_t plain = line_of(lanes, (uint32_t)__builtin_ctz(lanes->steady))->outer.plain;

	if (plain == ENCAP_PLAIN_LIST)
		return lanes_encap_lists(burst, first, lanes);
	if (plain == ENCAP_PLAIN_IPIP && !lanes->is_ipv6)
		return encap_by(burst, first, lanes, FORM_IPIP);
	if (burst->tag_key)
		return encap_by(burst, first, lanes, FORM_TAGGED);
	if (unlikely(lanes->moved)) {
		bool are_all = lanes->moved == LANES_ALL && lanes->is_one; /* so lanes_rows() has read them */
		uint32_t written = likely(are_all) ? encap_by(burst, first, lanes, FORM_MOVED)
						   : encap_by(burst, first, lanes, FORM_MIXED);

		burst->moved += (uint32_t)__builtin_popcount(written & lanes->moved);
		return written;
	}
	return encap_by(burst, first, lanes, FORM_GUE);
}

void lanes_tell(struct burst *burst, uint32_t first, const struct lanes *lanes)
{
	for (uint32_t i = 0; i < LANES; i++) {
		struct packet *packet = &burst->packets[first + i];

		memcpy(packet, &lanes->word[i], sizeof(lanes->word[i]));
		packet->service = lanes->service[lanes->is_one ? 0 : i];
		packet->port = line_of(lanes, i)->port;
	}
}

ISA uint32_t lanes_ip_bytes(const struct lanes *lanes)
{
	return (uint32_t)_mm512_reduce_add_epi64(_mm512_srli_epi64(_mm512_load_si512(lanes->word), 48));
}
#endif
