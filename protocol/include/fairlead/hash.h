/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/*
 * From a connection to its bucket.
 *
 *	bucket = hash(key) & (buckets - 1)		buckets: a power of two, 256 .. 8 Mi
 *	key IPv4 (13 bytes)	src 4 | dst 4 | sport 2 | dport 2 | proto 1	bytes as in the packet
 *	key IPv6 (37 bytes)	src 16 | dst 16 | sport 2 | dport 2 | proto 1
 *	affinity "client"	src | dst only: 8 or 32 bytes
 *
 * SipHash-2-4 (Aumasson, Bernstein: SipHash, a fast short-input PRF, 2012) with a key of its own per service is the
 * default, so that a client cannot choose a bucket; the low 32 bits pick it. CRC-32 (IEEE 802.3, as zlib's) is for
 * switches that can compute nothing else.
 */
#ifndef FAIRLEAD_HASH_H
#define FAIRLEAD_HASH_H

#include "types.h"

enum fl_hash_kind {
	FL_HASH_SIPHASH = 1,
	FL_HASH_CRC32 = 2,
};

enum fl_hash_limits {
	FL_KEY_IPV4_LEN = 13,
	FL_KEY_IPV6_LEN = 37,
	FL_BUCKETS_MIN = 256,
	FL_BUCKETS_MAX = 8388608,
};

/* 128 bits; in text (JSON, command lines) 32 hex digits in the byte order of the SipHash paper's key array. */
struct fl_siphash_key {
	fl_u64 k0; /* bytes 0..7, little-endian */
	fl_u64 k1; /* bytes 8..15 */
};

FL_INLINE struct fl_siphash_key fl_siphash_key_load(const fl_u8 bytes[16])
{
	struct fl_siphash_key key = {fl_load_le64(bytes), fl_load_le64(bytes + 8)};

	return key;
}

#define FL_ROTL64(x, b) (((x) << (b)) | ((x) >> (64 - (b))))
#define FL_SIPROUND_BY(rotl, v0, v1, v2, v3)                                                                           \
	do {                                                                                                           \
		v0 += v1;                                                                                              \
		v1 = rotl(v1, 13) ^ v0;                                                                                \
		v0 = rotl(v0, 32);                                                                                     \
		v2 += v3;                                                                                              \
		v3 = rotl(v3, 16) ^ v2;                                                                                \
		v0 += v3;                                                                                              \
		v3 = rotl(v3, 21) ^ v0;                                                                                \
		v2 += v1;                                                                                              \
		v1 = rotl(v1, 17) ^ v2;                                                                                \
		v2 = rotl(v2, 32);                                                                                     \
	} while (0)
#define FL_SIPROUND(v0, v1, v2, v3) FL_SIPROUND_BY(FL_ROTL64, v0, v1, v2, v3)

/* SipHash-2-4 in steps, for callers that cannot give all bytes at once: begin, a word for each 8 bytes, end. */
struct fl_siphash_state {
	fl_u64 v0, v1, v2, v3;
};

FL_INLINE struct fl_siphash_state fl_siphash_begin(const struct fl_siphash_key *key)
{
	struct fl_siphash_state s = {key->k0 ^ 0x736f6d6570736575ULL, key->k1 ^ 0x646f72616e646f6dULL,
				     key->k0 ^ 0x6c7967656e657261ULL, key->k1 ^ 0x7465646279746573ULL};

	return s;
}

/* 8 bytes, little-endian. */
FL_INLINE void fl_siphash_word(struct fl_siphash_state *s, fl_u64 m)
{
	s->v3 ^= m;
	FL_SIPROUND(s->v0, s->v1, s->v2, s->v3);
	FL_SIPROUND(s->v0, s->v1, s->v2, s->v3);
	s->v0 ^= m;
}

/* rest: the last len % 8 bytes, little-endian; len counts all bytes. */
FL_INLINE fl_u64 fl_siphash_end(struct fl_siphash_state *s, fl_u64 rest, fl_u32 len)
{
	fl_siphash_word(s, (fl_u64)len << 56 | rest);
	s->v2 ^= 0xff;
	FL_SIPROUND(s->v0, s->v1, s->v2, s->v3);
	FL_SIPROUND(s->v0, s->v1, s->v2, s->v3);
	FL_SIPROUND(s->v0, s->v1, s->v2, s->v3);
	FL_SIPROUND(s->v0, s->v1, s->v2, s->v3);
	return s->v0 ^ s->v1 ^ s->v2 ^ s->v3;
}

/* SipHash-2-4 of len bytes. With a constant len the loops unroll (eBPF: len must be constant). */
FL_INLINE fl_u64 fl_siphash(const struct fl_siphash_key *key, const fl_u8 *data, fl_u32 len)
{
	struct fl_siphash_state s = fl_siphash_begin(key);
	fl_u64 rest = 0;
	fl_u32 i;

	for (i = 0; i + 8 <= len; i += 8)
		fl_siphash_word(&s, fl_load_le64(data + i));
	/* The last 0 to 7 bytes as at most three loads: a loop over them costs as much as the rounds. */
	data += len & ~7U;
	if (len & 1)
		rest |= (fl_u64)data[len & 6] << (8 * (len & 6));
	if (len & 2)
		rest |= (fl_u64)fl_load_le16(data + (len & 4)) << (8 * (len & 4));
	if (len & 4)
		rest |= fl_load_le32(data);
	return fl_siphash_end(&s, rest, len);
}

/* CRC-32 of IEEE 802.3 (reflected 0xEDB88320, initial and final inversion), four bits per step: no table to share. */
FL_INLINE fl_u32 fl_crc32(const fl_u8 *data, fl_u32 len)
{
	static const fl_u32 nibble[16] = {
	    0x00000000, 0x1db71064, 0x3b6e20c8, 0x26d930ac, 0x76dc4190, 0x6b6b51f4, 0x4db26158, 0x5005713c,
	    0xedb88320, 0xf00f9344, 0xd6d6a3e8, 0xcb61b38c, 0x9b64c2b0, 0x86d3d2d4, 0xa00ae278, 0xbdbdf21c,
	};
	fl_u32 crc = 0xffffffffU;
	fl_u32 i;

	for (i = 0; i < len; i++) {
		crc = (crc >> 4) ^ nibble[(crc ^ data[i]) & 15];
		crc = (crc >> 4) ^ nibble[(crc ^ (data[i] >> 4)) & 15];
	}
	return ~crc;
}

/*
 * A flow hash of 64 bits from one of 32: above it the same number with its 16-bit halves exchanged. So the two halves
 * name independent buckets of up to 65,536, and a switch can compute both.
 */
FL_INLINE fl_u64 fl_flow_hash_from_crc32(fl_u32 crc)
{
	return (fl_u64)(crc << 16 | crc >> 16) << 32 | crc;
}

/*
 * The flow hash. Its low half picks the bucket (low bits) and the outer UDP source port (high 14 bits); its high half is
 * for steering methods that choose between two buckets.
 */
FL_INLINE fl_u64 fl_flow_hash(enum fl_hash_kind kind, const struct fl_siphash_key *key, const fl_u8 *data, fl_u32 len)
{
	return kind == FL_HASH_CRC32 ? fl_flow_hash_from_crc32(fl_crc32(data, len)) : fl_siphash(key, data, len);
}

/* buckets must be a power of two. */
FL_INLINE fl_u32 fl_bucket(fl_u64 flow_hash, fl_u32 buckets)
{
	return (fl_u32)flow_hash & (buckets - 1);
}

FL_INLINE fl_u16 fl_outer_source_port(fl_u64 flow_hash)
{
	return (fl_u16)(0xc000U | (fl_u32)flow_hash >> 18);
}

#endif
