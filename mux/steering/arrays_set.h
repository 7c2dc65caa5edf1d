/* SPDX-License-Identifier: Apache-2.0 */
/* The arrays of one version: the newest and those before, each with a reference of the set's. Control thread. */
#ifndef FAIRLEAD_MUX_ARRAYS_SET_H
#define FAIRLEAD_MUX_ARRAYS_SET_H

#include "steering/steering.h"

/* The arrays by which packets are steered. All zero: none, by the hash's low bits. */
struct arrays_version {
	uint32_t newest;   /* generation */
	bool has_previous; /* false: settled */
	uint32_t previous; /* generation of those before, 0: the hash's low bits */
};

static inline bool arrays_version_equal(const struct arrays_version *a, const struct arrays_version *b)
{
	return a->newest == b->newest && a->has_previous == b->has_previous && a->previous == b->previous;
}

/* Where arrays are on disk (state_arrays.h): the file's checksum is part of its name. All zero: not there. */
struct arrays_file {
	uint64_t len; /* of the arrays in it */
	uint32_t checksum;
};

/* All zero: no arrays. */
struct arrays_set {
	const struct steering_arrays *method; /* NULL: no arrays */
	struct arrays_version version;
	void *newest;   /* NULL: no arrays */
	void *previous; /* NULL: settled, or the hash's low bits */
	struct arrays_file newest_file, previous_file;
};

/* A set of its own references. Both may be the same object: then nothing happens. */
void arrays_set_copy(struct arrays_set *to, const struct arrays_set *from);
void arrays_set_clear(struct arrays_set *set);

/* Takes over from another set of the same service where those arrays are on disk that are in both. */
void arrays_set_learn_files(struct arrays_set *set, const struct arrays_set *from);

/* The arrays of that generation, without a new reference; NULL: not in the set. */
void *arrays_set_find(const struct arrays_set *set, uint32_t generation);

/* What a service publishes of it; *out NULL: there are no arrays. -ENOMEM. */
int arrays_set_pair(const struct arrays_set *set, void **out, struct reason *why);

/* Bytes of memory of both, and of what a service publishes of them. */
uint64_t arrays_set_memory(const struct arrays_set *set);

#endif
