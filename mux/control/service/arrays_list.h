/* SPDX-License-Identifier: Apache-2.0 */
/* The node ring/latest_arrays (protocol/README.md section 12): which arrays count, and what they are made of. Pure. */
#ifndef FAIRLEAD_MUX_ARRAYS_LIST_H
#define FAIRLEAD_MUX_ARRAYS_LIST_H

#include "steering/arrays_set.h"

enum arrays_list_limits { ARRAYS_PATCHES_MAX = 256 };

/* The whole arrays of a generation, then patches, each of the arrays before it. */
struct arrays_source {
	uint32_t whole;
	uint32_t patches_count;
	uint32_t patches[ARRAYS_PATCHES_MAX]; /* ascending */
};

/* All zero but ahead: the service has no arrays. */
struct arrays_list {
	struct arrays_version version;
	struct arrays_source newest;
	struct arrays_source previous; /* whole 0: there are none to read */
	struct arrays_source ahead;    /* written ahead of the generation that names them; whole 0: there are none */
};

/* Checks a node's bytes; 0 and *out, or -EINVAL and why. */
int arrays_list_parse(const char *text, size_t len, struct arrays_list *out, struct reason *why);

/* Whether a service that has these arrays (0: none) lacks no others before the newest. */
bool arrays_list_follows(const struct arrays_list *list, uint32_t generation);

/* The arrays that come next in a source after those of a generation, 0: none. generation 0: the whole ones. */
uint32_t arrays_source_next(const struct arrays_source *source, uint32_t generation);
/* The generation that a source leads to, 0: none. */
uint32_t arrays_source_end(const struct arrays_source *source);
/* Whether the arrays of a generation are on the way to those of the source. */
bool arrays_source_has(const struct arrays_source *source, uint32_t generation);

#endif
