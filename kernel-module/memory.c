// SPDX-License-Identifier: GPL-2.0-only
#include "memory.h"

#include <linux/sched.h>
#include <linux/slab.h>

static const struct rhashtable_params parameters = {
    .key_len = sizeof(struct fl_memory_key),
    .key_offset = offsetof(struct fl_memory_entry, key),
    .head_offset = offsetof(struct fl_memory_entry, node),
    .automatic_shrinking = true,
};

static struct kmem_cache *entries;

int fl_memory_register(void)
{
	entries = KMEM_CACHE(fl_memory_entry, SLAB_ACCOUNT);
	return entries ? 0 : -ENOMEM;
}

void fl_memory_unregister(void)
{
	rcu_barrier(); /* for entry_free_rcu() */
	kmem_cache_destroy(entries);
}

static void entry_free(void *entry, void *unused)
{
	kmem_cache_free(entries, entry);
}

static void entry_free_rcu(struct rcu_head *rcu)
{
	kmem_cache_free(entries, container_of(rcu, struct fl_memory_entry, rcu));
}

int fl_memory_init(struct fl_memory *memory)
{
	spin_lock_init(&memory->lock);
	return rhashtable_init(&memory->table, &parameters);
}

void fl_memory_destroy(struct fl_memory *memory)
{
	rhashtable_free_and_destroy(&memory->table, entry_free, NULL);
}

bool fl_memory_read(struct fl_memory *memory, const struct fl_memory_key *key, struct fl_bucket_memory *value)
{
	const struct fl_memory_entry *entry = rhashtable_lookup(&memory->table, key, parameters);

	if (entry)
		*value = entry->value;
	return entry;
}

u32 fl_memory_find_removed(struct fl_memory *memory, u16 service, const struct fl_address *server)
{
	struct fl_memory_key key = fl_memory_key_of_removed(service, server);
	struct fl_bucket_memory entry;

	return fl_memory_read(memory, &key, &entry) ? fl_memory_removed_by(&entry, server) : 0;
}

/* Whether a takes b's place: a later move of the bucket, or a removal by a later generation. */
static bool is_later(const struct fl_memory_key *key, const struct fl_bucket_memory *a,
		     const struct fl_bucket_memory *b)
{
	if (fl_memory_is_of_removed(key))
		return a->generation > b->generation;
	return a->since != b->since ? a->since > b->since : a->generation > b->generation;
}

static int insert(struct fl_memory *memory, struct fl_memory_entry *entry)
{
	if (fl_memory_entries(memory) >= FL_SERVER_MEMORY_CAPACITY)
		return -ENOSPC;
	return rhashtable_insert_fast(&memory->table, &entry->node, parameters);
}

/* Replaces old by entry, or adds it if old is NULL. Takes ownership of entry only if it returns 0. */
static int replace(struct fl_memory *memory, struct fl_memory_entry *old, struct fl_memory_entry *entry)
{
	int err;

	if (!old)
		return insert(memory, entry);
	err = rhashtable_replace_fast(&memory->table, &old->node, &entry->node, parameters);
	if (!err)
		call_rcu(&old->rcu, entry_free_rcu);
	return err;
}

int fl_memory_store(struct fl_memory *memory, const struct fl_memory_key *key, const struct fl_bucket_memory *value)
{
	struct fl_memory_entry *entry = kmem_cache_alloc(entries, GFP_ATOMIC | __GFP_NOWARN), *old;
	int err = 0;

	if (!entry)
		return -ENOMEM;
	entry->key = *key;
	entry->value = *value;
	spin_lock_bh(&memory->lock);
	old = rhashtable_lookup_fast(&memory->table, key, parameters);
	if (!old || is_later(key, value, &old->value)) {
		err = replace(memory, old, entry);
		if (!err)
			entry = NULL;
	}
	spin_unlock_bh(&memory->lock);
	if (entry)
		kmem_cache_free(entries, entry);
	return err;
}

void fl_memory_forget(struct fl_memory *memory, const struct fl_memory_key *key, const struct fl_bucket_memory *value)
{
	struct fl_memory_entry *entry;

	spin_lock_bh(&memory->lock);
	entry = rhashtable_lookup_fast(&memory->table, key, parameters);
	if (entry && !memcmp(&entry->value, value, sizeof(*value)) &&
	    !rhashtable_remove_fast(&memory->table, &entry->node, parameters))
		call_rcu(&entry->rcu, entry_free_rcu);
	spin_unlock_bh(&memory->lock);
}

void fl_memory_forget_service(struct fl_memory *memory, u32 service)
{
	struct fl_memory_entry *entry;
	struct rhashtable_iter iter;

	rhashtable_walk_enter(&memory->table, &iter);
	rhashtable_walk_start(&iter);
	while ((entry = rhashtable_walk_next(&iter))) {
		if (PTR_ERR(entry) == -EAGAIN) /* the table is being resized, and the walk begins again */
			continue;
		if ((entry->key.service & ~FL_MEMORY_REMOVED) == service)
			fl_memory_forget(memory, &entry->key, &entry->value);
		if (need_resched()) {
			rhashtable_walk_stop(&iter);
			cond_resched();
			rhashtable_walk_start(&iter);
		}
	}
	rhashtable_walk_stop(&iter);
	rhashtable_walk_exit(&iter);
}

u64 fl_memory_bytes(struct fl_memory *memory)
{
	const struct bucket_table *table;
	u64 bytes;

	rcu_read_lock();
	table = rht_dereference_rcu(memory->table.tbl, &memory->table);
	bytes = struct_size(table, buckets, table->size);
	rcu_read_unlock();
	return bytes + (u64)fl_memory_entries(memory) * kmem_cache_size(entries);
}
