/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The last move of each bucket: (service, bucket) -> struct fl_bucket_memory. Readers hold no lock but RCU. Writers
 * replace the whole entry under a lock: a reader sees the old entry or the new one, never a mix, and if two CPUs learn
 * two moves at once, the later move is kept.
 *
 * An entry costs 56 bytes and its slot in the table; a bucket that never moved has none. It is removed when its window
 * is over and a mux that is not late sends a packet of its bucket without MOVED. If the bucket moved on before, no such
 * packet arrives and the entry stays: held connections of its former owner may need it. Beyond
 * FL_SERVER_MEMORY_CAPACITY nothing more is learned. That costs little, as a packet's own MOVED is still followed, and
 * is counted. What a command restores is charged to its cgroup; a packet has none.
 */
#ifndef FAIRLEAD_MEMORY_H
#define FAIRLEAD_MEMORY_H

#include <linux/rhashtable.h>
#include <linux/spinlock.h>

#include <server.h>

struct fl_memory {
	struct rhashtable table;
	spinlock_t lock; /* for writers */
};

/* Public only for dumps. */
struct fl_memory_entry {
	struct rhash_head node;
	struct fl_memory_key key;
	struct fl_bucket_memory value;
	struct rcu_head rcu;
};

int fl_memory_register(void);
/* All memories must have been destroyed. */
void fl_memory_unregister(void);

int fl_memory_init(struct fl_memory *memory);

/* There are no readers or writers left. */
void fl_memory_destroy(struct fl_memory *memory);

/* Fills *value and returns true if the bucket is remembered. Called under rcu_read_lock(). */
bool fl_memory_read(struct fl_memory *memory, const struct fl_memory_key *key, struct fl_bucket_memory *value);

/* Which generation removed this server of the service, which is dead; 0: none did. Called under rcu_read_lock(). */
u32 fl_memory_find_removed(struct fl_memory *memory, u16 service, const struct fl_address *server);

/* Remembers a move, unless a later one is already remembered. Returns 0, -ENOSPC if the memory is full, or -ENOMEM. */
int fl_memory_store(struct fl_memory *memory, const struct fl_memory_key *key, const struct fl_bucket_memory *value);

/* Forgets the bucket's move if it is still *value. */
void fl_memory_forget(struct fl_memory *memory, const struct fl_memory_key *key, const struct fl_bucket_memory *value);

/* Forgets the moves of all buckets and the removed servers of a service; those that are learned meanwhile may stay. May sleep. */
void fl_memory_forget_service(struct fl_memory *memory, u32 service);

/* The memory that entries and table take up now. */
u64 fl_memory_bytes(struct fl_memory *memory);

static inline u32 fl_memory_entries(const struct fl_memory *memory)
{
	return atomic_read(&memory->table.nelems);
}

#endif
