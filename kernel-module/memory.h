/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The last move of each bucket: (service, bucket) -> struct fl_bucket_memory. Read without a lock under RCU; a change
 * replaces the whole entry under one lock, so that a reader sees the old or the new one, never half, and of two moves
 * that two CPUs learn at once the later one stays.
 *
 * An entry costs 56 bytes and its place in the table, and there is none for a bucket that never moved. It leaves when
 * its window is over and a packet of its bucket passes by without MOVED; one whose bucket moved on within its window
 * stays, as no such packet comes. Beyond FL_SERVER_MEMORY_CAPACITY nothing more is learned, which costs little (a
 * packet's own MOVED is still obeyed) and is counted.
 */
#ifndef FAIRLEAD_MEMORY_H
#define FAIRLEAD_MEMORY_H

#include <linux/rhashtable.h>
#include <linux/spinlock.h>

#include <server.h>

struct fl_memory {
	struct rhashtable table;
	spinlock_t lock; /* of writers */
};

/* Public for dumps alone. */
struct fl_memory_entry {
	struct rhash_head node;
	struct fl_memory_key key;
	struct fl_bucket_memory value;
	struct rcu_head rcu;
};

int fl_memory_register(void);
/* No memory may be left. */
void fl_memory_unregister(void);

int fl_memory_init(struct fl_memory *memory);

/* Nobody may read or write any more. */
void fl_memory_destroy(struct fl_memory *memory);

/* Fills *value and returns true if the bucket is remembered. Called under rcu_read_lock(). */
bool fl_memory_read(struct fl_memory *memory, const struct fl_memory_key *key, struct fl_bucket_memory *value);

/* Remembers a move unless a later one is remembered. Returns 0, -ENOSPC if the memory is full, or -ENOMEM. */
int fl_memory_store(struct fl_memory *memory, const struct fl_memory_key *key, const struct fl_bucket_memory *value);

/* Forgets the bucket's move if it is still this one. */
void fl_memory_forget(struct fl_memory *memory, const struct fl_memory_key *key, const struct fl_bucket_memory *value);

/* What it takes up now: its entries and its table. */
u64 fl_memory_bytes(struct fl_memory *memory);

static inline u32 fl_memory_entries(const struct fl_memory *memory)
{
	return atomic_read(&memory->table.nelems);
}

#endif
