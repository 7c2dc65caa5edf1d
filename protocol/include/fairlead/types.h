/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/*
 * Fixed-width types and byte order for three worlds: the Linux kernel, eBPF and userspace.
 * Every other header here includes this one and nothing else.
 */
#ifndef FAIRLEAD_TYPES_H
#define FAIRLEAD_TYPES_H

#if defined(__KERNEL__) || defined(__bpf__)
#include <linux/types.h>
#ifdef __bpf__
#include <linux/stddef.h>
#include <stdbool.h>
#endif
typedef __u8 fl_u8;
typedef __u16 fl_u16;
typedef __u32 fl_u32;
typedef __u64 fl_u64;
#else
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
typedef uint8_t fl_u8;
typedef uint16_t fl_u16;
typedef uint32_t fl_u32;
typedef uint64_t fl_u64;
#endif

#define FL_INLINE static inline __attribute__((always_inline, unused))

/*
 * Words at any alignment, in the machine's byte order. Clang for eBPF takes what it does not know to be aligned from
 * single bytes, ten instructions a word. So it is told that these are aligned: kernels for x86-64 and arm64 allow them at
 * any address, but on the stack, where bytes that are loaded as words must be aligned.
 */
#ifdef __bpf__
#define FL_UNALIGNED __attribute__((may_alias))
#else
#define FL_UNALIGNED __attribute__((may_alias, aligned(1)))
#endif
typedef fl_u16 FL_UNALIGNED fl_u16_at;
typedef fl_u32 FL_UNALIGNED fl_u32_at;
typedef fl_u64 FL_UNALIGNED fl_u64_at;

#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#define FL_SWAP_be(bits, v) __builtin_bswap##bits(v)
#define FL_SWAP_le(bits, v) (v)
#else
#define FL_SWAP_be(bits, v) (v)
#define FL_SWAP_le(bits, v) __builtin_bswap##bits(v)
#endif

/* fl_load_be16() and the like: loads and stores in a given byte order; compilers turn each into one instruction. */
#define FL_LOAD_AND_STORE(order, bits)                                                                                 \
	FL_INLINE fl_u##bits fl_load_##order##bits(const fl_u8 *p)                                                     \
	{                                                                                                              \
		return FL_SWAP_##order(bits, *(const fl_u##bits##_at *)p);                                             \
	}                                                                                                              \
	FL_INLINE void fl_store_##order##bits(fl_u8 *p, fl_u##bits v)                                                  \
	{                                                                                                              \
		*(fl_u##bits##_at *)p = FL_SWAP_##order(bits, v);                                                      \
	}
FL_LOAD_AND_STORE(be, 16)
FL_LOAD_AND_STORE(be, 32)
FL_LOAD_AND_STORE(le, 16)
FL_LOAD_AND_STORE(le, 32)
FL_LOAD_AND_STORE(le, 64)

/* For len, a constant multiple of 4 in eBPF: copies. */
FL_INLINE void fl_copy(void *to, const void *from, fl_u32 len)
{
#ifdef __bpf__
	fl_u32 i;

#pragma unroll
	for (i = 0; i < len; i += 4)
		*(fl_u32_at *)((fl_u8 *)to + i) = *(const fl_u32_at *)((const fl_u8 *)from + i);
#else
	__builtin_memcpy(to, from, len);
#endif
}

/* By halves, as eBPF's stack is not always aligned for 64 bits. */
FL_INLINE fl_u64 fl_load_be64(const fl_u8 *p)
{
	return (fl_u64)fl_load_be32(p) << 32 | fl_load_be32(p + 4);
}

FL_INLINE void fl_store_be64(fl_u8 *p, fl_u64 v)
{
	fl_store_be32(p, (fl_u32)(v >> 32));
	fl_store_be32(p + 4, (fl_u32)v);
}

/*
 * An address of either family, 16 bytes as on the wire; IPv4 as ::ffff:a.b.c.d. All zero is "none". Aligned so that
 * eBPF, which loads nothing unaligned, compares 4 words: 32 single bytes do not fit its registers, and fill its stack.
 */
struct fl_address {
	fl_u8 bytes[16];
} __attribute__((aligned(4)));

_Static_assert(sizeof(struct fl_address) == 16, "an address is 16 bytes");

/* Its word of this index, 0 to 3, in the machine's byte order. */
FL_INLINE fl_u32 fl_address_word(const struct fl_address *a, int index)
{
	return ((const fl_u32_at *)a)[index]; /* of a copy of bytes clang forgets that they are aligned */
}

FL_INLINE struct fl_address fl_address_from_ipv4(const fl_u8 ipv4[4])
{
	struct fl_address a = {{0}};

	fl_store_be16(a.bytes + 10, 0xffff);
	fl_copy(a.bytes + 12, ipv4, 4);
	return a;
}

FL_INLINE bool fl_address_is_ipv4(const struct fl_address *a)
{
	return !(fl_address_word(a, 0) | fl_address_word(a, 1)) && !a->bytes[8] && !a->bytes[9] &&
	       a->bytes[10] == 0xff && a->bytes[11] == 0xff;
}

FL_INLINE bool fl_address_is_none(const struct fl_address *a)
{
	return !(fl_address_word(a, 0) | fl_address_word(a, 1) | fl_address_word(a, 2) | fl_address_word(a, 3));
}

/* Whether it is 0.0.0.0 or ::, which a header may contain but no server has. */
FL_INLINE bool fl_address_is_unspecified(const struct fl_address *a)
{
	return fl_address_is_none(a) || (fl_address_is_ipv4(a) && !fl_address_word(a, 3));
}

FL_INLINE bool fl_address_equal(const struct fl_address *a, const struct fl_address *b)
{
	fl_u32 differ = 0;
	int i;

	for (i = 0; i < 4; i++)
		differ |= fl_address_word(a, i) ^ fl_address_word(b, i);
	return !differ;
}

#endif
