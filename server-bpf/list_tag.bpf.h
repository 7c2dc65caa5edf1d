/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The check of a list's tag. A service's key is made from the cluster's by two SipHashes of 16 bytes; each CPU keeps the
 * keys that it made last, at a place by the service's id. A server of more than LIST_KEYS services makes some again.
 */
#ifndef FAIRLEAD_LIST_TAG_BPF_H
#define FAIRLEAD_LIST_TAG_BPF_H

#include <fairlead/list_tag.h>
#include "memory.bpf.h"

enum list_tag_places {
	LIST_KEYS = 64,
	LIST_KEY_IS = 1 << 16, /* beside the id, so that a place of all zero is no service's */
};

struct list_key {
	struct fl_siphash_key key;
	__u64 service; /* and LIST_KEY_IS */
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, LIST_KEYS);
	__type(key, __u32);
	__type(value, struct list_key);
} list_keys SEC(".maps");

/* NULL: never, each slot exists. */
static __always_inline const struct fl_siphash_key *list_key_of(__u16 service)
{
	__u32 slot = service % LIST_KEYS;
	struct list_key *made = bpf_map_lookup_elem(&list_keys, &slot);
	struct fl_siphash_key cluster;

	if (!made)
		return NULL;
	if (made->service != (service | LIST_KEY_IS)) {
		cluster = tag_key_read();
		made->key = fl_list_key(&cluster, service);
		made->service = service | LIST_KEY_IS;
	}
	return &made->key;
}

/*
 * The drop counter of a missing or wrong tag, or of an inner packet without a whole IP header; 0 if the tag is right.
 * Leaves the tag's message in *message.
 */
static __always_inline enum fl_counter list_tag_check(const __u8 *inner, const void *end, const struct fl_list *list,
						      const struct fl_address *self, struct fl_list_message *message)
{
	const struct fl_siphash_key *key;

	if (!(list->flags & FL_LIST_TAG))
		return FL_COUNTER_DROP_UNTRUSTED_TAG_MISSING;
	if (!fl_list_tag_message(list, self, inner, end, message))
		return FL_COUNTER_DROP_MALFORMED_INNER;
	key = list_key_of(list->service);
	if (!key || !fl_list_tag_is_right(key, list, message))
		return FL_COUNTER_DROP_UNTRUSTED_TAG_WRONG;
	return (enum fl_counter)0;
}

#endif
