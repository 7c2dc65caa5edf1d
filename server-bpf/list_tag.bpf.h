/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The check of a list's tag. A service's key is made from the cluster's by two SipHashes of 16 bytes; each CPU keeps the
 * keys that it made last, at a place by the service's id. A server of more than LIST_KEYS services makes some again.
 */
#ifndef FAIRLEAD_LIST_TAG_BPF_H
#define FAIRLEAD_LIST_TAG_BPF_H

#include "list_trust.h"
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

/* fl_list_trust_check() with the key of the list's service. */
static __always_inline enum fl_counter list_tag_check(const __u8 *inner, const void *end, const struct fl_list *list,
						      const struct fl_address *self, struct fl_list_message *message)
{
	const struct fl_siphash_key *key = list_key_of(list->service);

	return key ? fl_list_trust_check(key, list, self, inner, end, message) : FL_COUNTER_DROP_UNTRUSTED_TAG_WRONG;
}

#endif
