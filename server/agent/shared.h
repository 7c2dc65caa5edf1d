/* SPDX-License-Identifier: Apache-2.0 */
/* Flow hashes that were closed, to be searched for those that a live connection still has. */
#ifndef FAIRLEAD_AGENT_SHARED_H
#define FAIRLEAD_AGENT_SHARED_H

#include <stddef.h>

#include <fairlead/types.h>

struct shared;

/* The hashes are 8 bytes each, little-endian, and must outlive it; a hash may be there twice. NULL: no memory. */
struct shared *shared_new(const fl_u8 *bytes, size_t count);

/* False: no hash with this low half is there. */
bool shared_may_have(const struct shared *shared, fl_u32 low);

/* Takes the hash out; false: it is not there, or was taken out before. */
bool shared_take(struct shared *shared, fl_u64 hash);

/* Frees it, and packs what was not taken out, each once, into the same bytes. Returns how many those are. */
size_t shared_end(struct shared *shared, fl_u8 *bytes);

#endif
