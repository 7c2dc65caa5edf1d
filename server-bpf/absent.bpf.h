/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Buckets of which memory has lately been found to know nothing, which is most of them: a look into memory's hash is a
 * call into the kernel and a line of a large table, beside a line of a small one of this CPU's own here.
 *
 * What is stored into memory raises its version afterwards, and a place counts only while the version is the one that was
 * read before memory was looked into. So nothing stored is ever missed. Deletions from memory need no new version: a
 * place only states that memory has nothing. Each version ends all places; moves are learned in bursts, and few beside
 * packets.
 *
 * memory_version is taken over together with memory (program.c), as packets that the former program still processes may
 * store moves.
 */
#ifndef FAIRLEAD_ABSENT_BPF_H
#define FAIRLEAD_ABSENT_BPF_H

#include "memory.bpf.h"

enum absent_numbers {
	ABSENT_SLOTS = 4096,
	ABSENT_SLOT_BITS = 12,
};

_Static_assert(ABSENT_SLOTS == 1 << ABSENT_SLOT_BITS, "a place is the first bits of a product");

struct absent {
	struct fl_memory_key key;
	__u64 version; /* of memory, and 1; 0: nothing is known here */
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, ABSENT_SLOTS);
	__type(key, __u32);
	__type(value, struct absent);
} absents SEC(".maps");

/* The place of a bucket on this CPU, whatever is in it. NULL: never, each slot exists. */
static __always_inline struct absent *absent_at(const struct fl_memory_key *key)
{
	__u32 slot = ((key->bucket ^ key->service << 16) * FL_MEMORY_MIX) >> (32 - ABSENT_SLOT_BITS);

	return bpf_map_lookup_elem(&absents, &slot);
}

/* What memory knows of a bucket; NULL if nothing. */
static __always_inline const struct fl_bucket_memory *memory_find(const struct fl_memory_key *key)
{
	__u64 *version = memory_version_of();
	struct absent *absent = absent_at(key);
	const struct fl_bucket_memory *remembered;
	__u64 before;

	if (!version || !absent)
		return bpf_map_lookup_elem(&memory, key); /* never: the slots exist */
	if (absent->key.bucket == key->bucket && absent->key.service == key->service &&
	    absent->version == *(volatile __u64 *)version + 1)
		return NULL;
	remembered = bpf_map_lookup_elem(&memory, key);
	if (remembered)
		return remembered;
	before = __sync_fetch_and_add(version, 0); /* a barrier, which what is remembered need not pay for */
	remembered = bpf_map_lookup_elem(&memory, key);
	if (!remembered)
		*absent = (struct absent){.key = *key, .version = before + 1};
	return remembered;
}

#endif
