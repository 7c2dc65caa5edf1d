/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which arrays belong to a service's ring: the third part of its file (state_file.h). They are megabytes, and change more
 * rarely than the ring, so each are in a file of their own that is written once. Nothing if there are none; otherwise,
 * little-endian:
 *
 *	newest u32 | has previous u32, 0 or 1 | previous u32 | 0 u32
 *	length u64 | checksum u32 | 0 u32	of the newest, and of the file that they are in
 *	length u64 | checksum u32 | 0 u32	of those before; absent if previous is 0
 *
 * Generations are those of struct arrays_version. A file's name has its generation and checksum, so arrays never replace
 * others that a ring on disk still needs. The order is: new arrays; the ring; then arrays are removed that it does not
 * name. After a crash at any point, a ring is thus beside the arrays that it was served with. If a disk loses or mixes
 * up files nevertheless, both are refused.
 */
#ifndef FAIRLEAD_MUX_STATE_ARRAYS_H
#define FAIRLEAD_MUX_STATE_ARRAYS_H

#include "state/state_file.h"
#include "steering/arrays_set.h"

enum {
	STATE_ARRAYS_VERSION_LEN = 16,
	STATE_ARRAYS_FILE_LEN = 16,
	STATE_ARRAYS_PART_MAX = STATE_ARRAYS_VERSION_LEN + 2 * STATE_ARRAYS_FILE_LEN,
};

/* Writes the part for arrays whose files are known; returns its length, 0: there are none. */
size_t state_arrays_store(const struct arrays_set *set, uint8_t out[STATE_ARRAYS_PART_MAX]);

/* Reads the part: version and files, without the arrays. 0, or -EINVAL and why. */
int state_arrays_load(const struct state_part *part, struct arrays_set *out, struct reason *why);

/* Reads and parses a file of arrays into malloc'ed *data. False: it is refused by its name. */
typedef bool (*state_arrays_reader)(void *context, const char *name, uint8_t **data, struct state_file *file);

/*
 * The arrays that the part names. expected: of the service, without generations. 0 and a set of its own references, or
 * -EINVAL and why.
 */
int state_arrays_read(const struct state_part *part, const struct steering_arrays *method,
		      const struct steering_arrays_expected *expected, state_arrays_reader reader, void *context,
		      struct arrays_set *out, struct reason *why);

#endif
