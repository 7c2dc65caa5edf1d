/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/*
 * Deltas and snapshots as stored in ZooKeeper (protocol/README.md, 5): a header of 32 bytes, then the body as one zstd
 * frame. All fields are little-endian.
 *
 * Chunks of at most 512 KiB of this string of bytes are the ZooKeeper nodes .../delta/0000, 0001, ...
 */
#ifndef FAIRLEAD_DELTA_H
#define FAIRLEAD_DELTA_H

#include "types.h"

enum fl_delta_numbers {
	FL_DELTA_HEADER_LEN = 32,
	FL_DELTA_CRC_AT = 28,
	FL_DELTA_BACKEND_LEN = 22,
	FL_DELTA_RUN_LEN = 10,       /* by number, and of a release */
	FL_DELTA_OWNER_RUN_LEN = 12, /* by owner */
	FL_BACKEND_REMOVED = 0x0001, /* flags of a backend */
	FL_BACKEND_DEAD = 0x0002,    /* beside REMOVED: its machine is gone, so no history names it */
	FL_BACKEND_FOREIGN = 0x0004, /* an SRv6 end-point of others: it takes everything, and passes nothing on */
};

enum fl_delta_order { FL_DELTA_BY_NUMBER = 0, FL_DELTA_BY_OWNER = 1, FL_DELTA_ORDERS };

/* Why a delta, a snapshot or arrays (othello.h) are rejected, in the order of protocol/README.md, 5 and 12. */
enum fl_delta_error {
	FL_DELTA_OK = 0,
	FL_DELTA_TRUNCATED,
	FL_DELTA_MAGIC,      /* not the expected kind, delta or snapshot, or an unknown version */
	FL_DELTA_SERVICE,    /* of another service */
	FL_DELTA_GENERATION, /* not the one asked for, or base is not generation - 1 */
	FL_DELTA_BUCKETS,    /* not the ring's number */
	FL_DELTA_LENGTH,     /* body length impossible, or not the unpacked length, or excess bytes */
	FL_DELTA_COMPRESSION,
	FL_DELTA_CHECKSUM,
	FL_DELTA_BASE,    /* the sum is another than that of the reader's image */
	FL_DELTA_BACKEND, /* id 0, not ascending, unknown flag, no address */
	FL_DELTA_RUN,     /* a run, an owner or a history that cannot be */
	FL_DELTA_SEED,    /* of arrays: even with siphash */
	FL_DELTA_SIZE,    /* of arrays: no cells, too many, or no power of two with crc32 */
	FL_DELTA_WORD,    /* of a patch: beyond the arrays, or a varint longer than necessary */
	FL_DELTA_PADDING, /* of arrays: bits behind the last cell */
	FL_DELTA_ERRORS,
};

struct fl_delta_header {
	bool snapshot;
	fl_u32 service;
	fl_u32 generation;
	fl_u32 base;
	fl_u32 buckets;
	fl_u64 body_len;
	fl_u32 checksum;
};

struct fl_delta_backend {
	fl_u16 id;
	fl_u16 flags;
	fl_u16 weight; /* for the controller; muxes ignore it */
	struct fl_address address;
};

struct fl_delta_run {
	fl_u32 start; /* among all buckets, or among those of owner */
	fl_u32 count;
	fl_u16 current;
	fl_u16 owner; /* by owner only */
};

struct fl_delta_release {
	fl_u32 start;
	fl_u32 count;
	fl_u16 owner; /* 0: all */
};

/* All fields but the magic of a header of FL_DELTA_HEADER_LEN bytes. */
FL_INLINE struct fl_delta_header fl_delta_header_load(const fl_u8 *data)
{
	struct fl_delta_header header = {
	    .service = fl_load_le32(data + 4),
	    .generation = fl_load_le32(data + 8),
	    .base = fl_load_le32(data + 12),
	    .buckets = fl_load_le32(data + 16),
	    .body_len = fl_load_le64(data + 20),
	    .checksum = fl_load_le32(data + FL_DELTA_CRC_AT),
	};

	return header;
}

/* Reads the header only; the caller compares service, generation, base and buckets with what it expects. */
FL_INLINE enum fl_delta_error fl_delta_header_parse(const fl_u8 *data, fl_u64 len, struct fl_delta_header *out)
{
	if (len < FL_DELTA_HEADER_LEN)
		return FL_DELTA_TRUNCATED;
	if (data[0] != 'F' || data[1] != 'L' || (data[2] != 'D' && data[2] != 'S') || data[3] != '3')
		return FL_DELTA_MAGIC;
	*out = fl_delta_header_load(data);
	out->snapshot = data[2] == 'S';
	return FL_DELTA_OK;
}

FL_INLINE struct fl_delta_backend fl_delta_backend_load(const fl_u8 *p)
{
	struct fl_delta_backend b = {fl_load_le16(p), fl_load_le16(p + 2), fl_load_le16(p + 4), {{0}}};

	__builtin_memcpy(b.address.bytes, p + 6, 16);
	return b;
}

/* Run i of n, whose columns begin at p. Its start is what it skips: the caller adds the end of the previous run. */
FL_INLINE struct fl_delta_run fl_delta_run_load(const fl_u8 *p, fl_u64 n, enum fl_delta_order order, fl_u64 i)
{
	struct fl_delta_run r = {
	    .start = fl_load_le32(p + 4 * i),
	    .count = fl_load_le32(p + 4 * (n + i)),
	    .current = fl_load_le16(p + 8 * n + 2 * i),
	    .owner = order == FL_DELTA_BY_OWNER ? fl_load_le16(p + 10 * n + 2 * i) : 0,
	};

	return r;
}

/* The same of releases. */
FL_INLINE struct fl_delta_release fl_delta_release_load(const fl_u8 *p, fl_u64 n, fl_u64 i)
{
	struct fl_delta_release r = {
	    .start = fl_load_le32(p + 4 * i),
	    .count = fl_load_le32(p + 4 * (n + i)),
	    .owner = fl_load_le16(p + 8 * n + 2 * i),
	};

	return r;
}

/*
 * The sum of an image: over all buckets, fl_sum_bucket() with each entry of the history added, newest first, by
 * fl_sum_entry(), and fl_sum_backend() of each backend that is not removed. It wraps, and may be kept up to date by what
 * changes.
 */
FL_INLINE fl_u64 fl_sum_mix(fl_u64 x)
{
	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ULL;
	x = (x ^ x >> 27) * 0x94d049bb133111ebULL;
	return x ^ x >> 31;
}

FL_INLINE fl_u64 fl_sum_bucket(fl_u32 bucket, fl_u16 current)
{
	return fl_sum_mix((fl_u64)bucket << 16 | current);
}

FL_INLINE fl_u64 fl_sum_entry(fl_u64 sum, fl_u16 owner, fl_u32 since)
{
	return fl_sum_mix(sum ^ ((fl_u64)since << 16 | owner));
}

FL_INLINE fl_u64 fl_sum_backend(const struct fl_delta_backend *backend)
{
	fl_u32 foreign = backend->flags & FL_BACKEND_FOREIGN ? 1U << 16 : 0;
	fl_u64 sum = fl_sum_mix(fl_sum_mix(foreign | backend->id) ^ fl_load_le64(backend->address.bytes));

	return fl_sum_mix(sum ^ fl_load_le64(backend->address.bytes + 8));
}

/*
 * CRC-32C (Castagnoli, reflected 0x82F63B78); start with crc = 0 and feed the parts in order. A snapshot of 6.4 M
 * buckets is 51 MB, so the processor's instruction is worth its lines: 8 bytes per step where the build has SSE4.2, as
 * DPDK's has, otherwise four bits per step.
 */
FL_INLINE fl_u32 fl_crc32c(fl_u32 crc, const fl_u8 *data, fl_u64 len)
{
	static const fl_u32 nibble[16] = {
	    0x00000000, 0x105ec76f, 0x20bd8ede, 0x30e349b1, 0x417b1dbc, 0x5125dad3, 0x61c69362, 0x7198540d,
	    0x82f63b78, 0x92a8fc17, 0xa24bb5a6, 0xb21572c9, 0xc38d26c4, 0xd3d3e1ab, 0xe330a81a, 0xf36e6f75,
	};
	fl_u64 i = 0;

	crc = ~crc;
#if defined(__SSE4_2__) && defined(__x86_64__)
	for (; i + 8 <= len; i += 8)
		crc = (fl_u32)__builtin_ia32_crc32di(crc, fl_load_le64(data + i));
#endif
	for (; i < len; i++) {
		crc = (crc >> 4) ^ nibble[(crc ^ data[i]) & 15];
		crc = (crc >> 4) ^ nibble[(crc ^ (data[i] >> 4)) & 15];
	}
	return ~crc;
}

#endif
