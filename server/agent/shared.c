// SPDX-License-Identifier: Apache-2.0
#include "shared.h"

#include <stdlib.h>
#include <sys/random.h>

enum {
	SLOTS_MIN = 64,
};

/* Open addressing with linear probing, at most half full. */
struct shared {
	const fl_u8 *bytes;
	size_t count;
	fl_u64 factor; /* odd and drawn: clients can choose what crc32 makes of their addresses */
	unsigned shift;
	fl_u32 *slots; /* the place of a hash among the bytes, plus 1; 0: free */
	bool *is_gone; /* by place: taken out, or there twice */
};

static fl_u64 hash_at(const struct shared *shared, size_t place)
{
	return fl_load_le64(shared->bytes + 8 * place);
}

static size_t slot_of(const struct shared *shared, fl_u32 low)
{
	return (size_t)((low + 1ULL) * shared->factor >> shared->shift);
}

static size_t next(const struct shared *shared, size_t slot)
{
	return (slot + 1) & (((size_t)1 << (64 - shared->shift)) - 1);
}

/* The slot of the hash, or the free one where it would be. */
static size_t find(const struct shared *shared, fl_u64 hash)
{
	size_t slot = slot_of(shared, (fl_u32)hash);

	while (shared->slots[slot] && hash_at(shared, shared->slots[slot] - 1) != hash)
		slot = next(shared, slot);
	return slot;
}

static void shared_free(struct shared *shared)
{
	free(shared->slots);
	free(shared->is_gone);
	free(shared);
}

struct shared *shared_new(const fl_u8 *bytes, size_t count)
{
	struct shared *shared = calloc(1, sizeof(*shared));
	size_t slots = SLOTS_MIN, i;

	if (!shared)
		return NULL;
	for (shared->shift = 64 - 6; slots < 2 * count; slots *= 2)
		shared->shift--;
	shared->bytes = bytes;
	shared->count = count;
	shared->slots = calloc(slots, sizeof(*shared->slots));
	shared->is_gone = calloc(count + 1, sizeof(*shared->is_gone));
	if (!shared->slots || !shared->is_gone ||
	    getrandom(&shared->factor, sizeof(shared->factor), 0) != sizeof(shared->factor)) {
		shared_free(shared);
		return NULL;
	}
	shared->factor |= 1;
	for (i = 0; i < count; i++) {
		size_t slot = find(shared, hash_at(shared, i));

		if (shared->slots[slot])
			shared->is_gone[i] = true;
		else
			shared->slots[slot] = (fl_u32)i + 1;
	}
	return shared;
}

bool shared_may_have(const struct shared *shared, fl_u32 low)
{
	size_t slot = slot_of(shared, low);

	while (shared->slots[slot] && (fl_u32)hash_at(shared, shared->slots[slot] - 1) != low)
		slot = next(shared, slot);
	return shared->slots[slot] != 0;
}

bool shared_take(struct shared *shared, fl_u64 hash)
{
	fl_u32 found = shared->slots[find(shared, hash)];

	if (!found || shared->is_gone[found - 1])
		return false;
	shared->is_gone[found - 1] = true;
	return true;
}

size_t shared_end(struct shared *shared, fl_u8 *bytes)
{
	size_t kept = 0;

	for (size_t i = 0; i < shared->count; i++)
		if (!shared->is_gone[i])
			fl_store_le64(bytes + 8 * kept++, hash_at(shared, i));
	shared_free(shared);
	return kept;
}
