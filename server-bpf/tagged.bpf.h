/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The check of a packet's tag, and the tags that were right lately: a connection's packets have the same message as long
 * as its bucket does not change, and to compare it takes a quarter of the time that its SipHash takes.
 *
 * Each CPU has its own, at a place by the message alone. So how long a wrong tag takes tells nothing of the right one,
 * only that the connection was here. A place that two connections share belongs to the one that came last. Messages with
 * a second bucket are longer, and always hashed. A program has one key, and begins without any.
 */
#ifndef FAIRLEAD_TAGGED_BPF_H
#define FAIRLEAD_TAGGED_BPF_H

#include "encap.bpf.h"
#include "memory.bpf.h"

enum tagged_numbers {
	TAGGED_SLOTS = 1024,
	TAGGED_SLOT_BITS = 10,
	TAGGED_WORDS = FL_TAG_MESSAGE_LEN / 4,
};

_Static_assert(TAGGED_SLOTS == 1 << TAGGED_SLOT_BITS, "a place is the first bits of a product");

struct tagged {
	__u32 message[TAGGED_WORDS]; /* never all zero, as its first bits are a version */
	__u64 tag;
};

_Static_assert(sizeof(struct tagged) == FL_TAG_MESSAGE_LEN + FL_STEER_TAG_LEN, "no padding");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, TAGGED_SLOTS);
	__type(key, __u32);
	__type(value, struct tagged);
} tags SEC(".maps");

static __always_inline __u32 tagged_word(const struct fl_tag_message *message, int index)
{
	return ((const fl_u32_at *)message->bytes)[index];
}

/* The place of a message on this CPU, by bucket, client and ports. NULL: never, each slot exists. */
static __always_inline struct tagged *tagged_at(const struct fl_tag_message *message)
{
	__u32 mixed = (tagged_word(message, 1) * FL_MEMORY_MIX ^ tagged_word(message, 11)) * FL_MEMORY_MIX;
	__u32 slot = ((mixed ^ tagged_word(message, FL_TAG_AT_PORTS / 4)) * FL_MEMORY_MIX) >> (32 - TAGGED_SLOT_BITS);

	return bpf_map_lookup_elem(&tags, &slot);
}

static __always_inline bool tagged_is(const struct tagged *tagged, const struct fl_tag_message *message)
{
	__u32 differ = 0;
	int i;

#pragma unroll
	for (i = 0; i < TAGGED_WORDS; i++)
		differ |= tagged->message[i] ^ tagged_word(message, i);
	return !differ;
}

static __always_inline bool tag_is_right(const struct fl_tag_message *message, __u64 tag)
{
	struct fl_siphash_key key = tag_key_read();
	struct tagged *tagged;
	int i;

	if (fl_tag_message_has_second(message))
		return fl_tag(&key, message) == tag;
	tagged = tagged_at(message);
	if (!tagged)
		return false; /* never: each slot exists */
	if (tagged_is(tagged, message))
		return tagged->tag == tag;
	if (fl_tag(&key, message) != tag)
		return false;
#pragma unroll
	for (i = 0; i < TAGGED_WORDS; i++)
		tagged->message[i] = tagged_word(message, i);
	tagged->tag = tag;
	return true;
}

/* The drop counter of a missing or wrong tag, 0 if the tag is right; leaves the tag's message in *message. */
static __always_inline enum fl_counter tag_check(struct xdp_md *ctx, const struct outer *outer,
						 const struct fl_steer *steer, struct fl_tag_message *message)
{
	if (!(steer->flags & FL_STEER_TAG))
		return FL_COUNTER_DROP_UNTRUSTED_TAG_MISSING;
	if (!encap_tag_message(outer, packet_end(ctx), steer, message) ||
	    !tag_is_right(message, fl_tag_load(steer->tag)))
		return FL_COUNTER_DROP_UNTRUSTED_TAG_WRONG;
	return (enum fl_counter)0;
}

#endif
