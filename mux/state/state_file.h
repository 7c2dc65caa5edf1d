/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A file of the mux's state on disk: what it needs to serve without ZooKeeper. Each file is replaced as a whole. All have
 * to agree on the cluster, and a service's on its arrays (state_arrays.h).
 *
 *	cluster		the cluster's name, the muxes' addresses, 16 bytes each, the settled generations (control/cluster/settled.h),
 *			and the seed by which muxes deal fragments out
 *	NAME.service	config and last ring of a service, and which arrays belong to it
 *	NAME.GENERATION-CHECKSUM.arrays
 *			a service's arrays of that generation, in a file with that checksum, 8 hexadecimal digits
 *
 * All fields little-endian:
 *
 *	  0 magic 8 "FLSTATE\n" | format u32 = 1 | kind u32
 *	 16 cluster 64			zeros behind it
 *	 80 saved u64			Unix seconds; 0 in kind 3, so that the same arrays have the same checksum
 *	 88 length u64 of each of three parts
 *	112 CRC-32C u32			of the bytes before it and of all parts
 *	116 the parts, to the end
 *
 *	kind 1, cluster	addresses | settled generations | seed 16, or empty: zero
 *	kind 2, service	config, JSON as in protocol/README.md section 4 | snapshot, section 5 | which arrays, as in
 *			state_arrays.h
 *	kind 3, arrays	whole arrays, as the method writes them | empty | empty
 */
#ifndef FAIRLEAD_MUX_STATE_FILE_H
#define FAIRLEAD_MUX_STATE_FILE_H

#include <stddef.h>
#include <stdint.h>

#include "config/reason.h"

enum state_file_numbers {
	STATE_FILE_FORMAT = 1,
	STATE_FILE_HEADER_LEN = 116,
	STATE_FILE_CLUSTER_MAX = 64,
	STATE_FILE_PARTS = 3,
};

enum state_kind {
	STATE_CLUSTER = 1,
	STATE_SERVICE = 2,
	STATE_ARRAYS = 3,
};

/* Why a file is refused, in the order of the checks. */
enum state_error {
	STATE_OK = 0,
	STATE_UNREADABLE, /* by the system */
	STATE_TRUNCATED,  /* shorter than its header */
	STATE_MAGIC,
	STATE_FORMAT, /* of another version of Fairlead */
	STATE_LENGTH, /* not that of its parts */
	STATE_CHECKSUM,
	STATE_KIND,    /* a service's in the place of the cluster's, for example */
	STATE_FOREIGN, /* another cluster's */
	STATE_CONTENT, /* sound, but this mux can't serve it */
	STATE_ERRORS,
};

struct state_part {
	const uint8_t *data;
	size_t len;
};

struct state_file {
	enum state_kind kind;
	char cluster[STATE_FILE_CLUSTER_MAX + 1];
	uint64_t saved;
	uint32_t checksum;
	struct state_part parts[STATE_FILE_PARTS]; /* within the bytes that were parsed */
};

/*
 * Checks len bytes. cluster: the expected name, NULL: any but an empty one. STATE_OK: *out is filled. Otherwise says
 * why.
 */
enum state_error state_file_parse(const uint8_t *data, size_t len, enum state_kind kind, const char *cluster,
				  struct state_file *out, struct reason *why);

/*
 * The header of a file; its parts give only their lengths. crc: of the parts' bytes, state_file_sum() of each. Returns
 * the file's checksum.
 */
uint32_t state_file_header(const struct state_file *file, uint32_t crc, uint8_t header[STATE_FILE_HEADER_LEN]);

/* Sums the parts' bytes in order, beginning with crc 0. */
uint32_t state_file_sum(uint32_t crc, const void *bytes, size_t len);

const char *state_error_name(enum state_error error);

#endif
