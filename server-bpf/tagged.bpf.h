/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The check of a packet's tag, and the tags that were right lately: a connection's packets have the same message as long
 * as its list and the generation do not change, and to compare it takes a quarter of the time that its SipHash takes.
 *
 * Each CPU has its own, at a place by the connection alone. So how long a wrong tag takes tells nothing of the right one,
 * only that the connection was here. A place that two connections share belongs to the one that came last. A place has the
 * whole message, so it counts for the very same header, except LATE and what is left, and the very same connection. A
 * program has its keys from the begin on, and begins without any tag.
 */
#ifndef FAIRLEAD_TAGGED_BPF_H
#define FAIRLEAD_TAGGED_BPF_H

#include "encap.bpf.h"

enum tagged_numbers {
	TAGGED_SLOTS = 1024,
	TAGGED_SLOT_BITS = 10,
	TAGGED_WORDS = FL_LIST_TAG_MESSAGE_MAX / 8,
	TAGGED_WORDS_LEAST = 4,  /* of IPv4 without candidates; each other message has more */
	TAGGED_MIX = 0x9e3779b1, /* a prime, at the golden ratio of 2^32 */
};

_Static_assert(TAGGED_SLOTS == 1 << TAGGED_SLOT_BITS, "a place is the first bits of a product");
_Static_assert(TAGGED_WORDS * 8 == FL_LIST_TAG_MESSAGE_MAX, "whole words");

struct tagged {
	__u64 message[TAGGED_WORDS]; /* so many as len says */
	__u64 len;                   /* of the message in bytes; 0: nothing is known here */
	__u64 tag;
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, TAGGED_SLOTS);
	__type(key, __u32);
	__type(value, struct tagged);
} tags SEC(".maps");

/* The place of a connection on this CPU. NULL: never, each slot exists. */
static __always_inline struct tagged *tagged_at(const struct fl_flow *flow)
{
	__u32 mixed = (fl_flow_ipv4(&flow->remote) ^ flow->remote_port) * TAGGED_MIX ^ flow->local_port;
	__u32 slot = (mixed * TAGGED_MIX) >> (32 - TAGGED_SLOT_BITS);

	return bpf_map_lookup_elem(&tags, &slot);
}

static __always_inline __u64 tagged_word(const struct fl_list_message *message, __u32 index)
{
	return ((const fl_u64_at *)message->bytes)[index];
}

static __always_inline bool tagged_is(const struct tagged *tagged, const struct fl_list_message *message)
{
	__u64 differ = tagged->len ^ message->len;
	__u32 i;

#pragma unroll
	for (i = 0; i < TAGGED_WORDS_LEAST; i++)
		differ |= tagged->message[i] ^ tagged_word(message, i);
	for (i = TAGGED_WORDS_LEAST; i < TAGGED_WORDS && i * 8 < message->len; i++)
		differ |= tagged->message[i] ^ tagged_word(message, i);
	return !differ;
}

static __always_inline void tagged_remember(struct tagged *tagged, const struct fl_list_message *message, __u64 tag)
{
	__u32 i;

#pragma unroll
	for (i = 0; i < TAGGED_WORDS_LEAST; i++)
		tagged->message[i] = tagged_word(message, i);
	for (i = TAGGED_WORDS_LEAST; i < TAGGED_WORDS && i * 8 < message->len; i++)
		tagged->message[i] = tagged_word(message, i);
	tagged->len = message->len;
	tagged->tag = tag;
}

/* The key of the packet's service; NULL: this server has none. */
static __always_inline const struct fl_siphash_key *service_key(const struct fl_list *list)
{
	__u32 slot = list->service;
	const struct fl_key_pair *pair = bpf_map_lookup_elem(&service_keys, &slot);
	const struct fl_siphash_key *key;

	if (!pair)
		return NULL; /* never: the array has a slot for each 16-bit id */
	key = list->flags & FL_LIST_KEY ? &pair->by_bit[1] : &pair->by_bit[0];
	return key->k0 | key->k1 ? key : NULL;
}

/* The drop counter of a missing or wrong tag, 0 if the tag is right. inner: as encap_read_rest() and inner_parse() left it. */
static __always_inline enum fl_counter tag_check(struct xdp_md *ctx, struct scratch *scratch,
						 const struct fl_address *self, const __u8 *inner)
{
	const struct fl_list *list = &scratch->in.list;
	struct fl_list_message *message = &scratch->message;
	struct tagged *tagged = tagged_at(&scratch->flow);
	const struct fl_siphash_key *key;
	__u64 tag = fl_load_be64(list->tag);

	if (!tagged || !fl_list_tag_message(list, self, inner, packet_end(ctx), message))
		return FL_COUNTER_DROP_MALFORMED_INNER;
	VERIFIER_FORGET();
	if (tagged_is(tagged, message))
		return tagged->tag == tag ? (enum fl_counter)0 : FL_COUNTER_DROP_UNTRUSTED_TAG_WRONG;
	VERIFIER_FORGET();
	key = service_key(list);
	if (!key)
		return FL_COUNTER_DROP_UNTRUSTED_KEY_MISSING;
	if (fl_list_tag(key, message) != tag)
		return FL_COUNTER_DROP_UNTRUSTED_TAG_WRONG;
	tagged_remember(tagged, message, tag);
	return (enum fl_counter)0;
}

#endif
