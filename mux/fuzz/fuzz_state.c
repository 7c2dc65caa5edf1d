/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any bytes as a file of the state on disk. The first byte selects the kind, and whether the header that follows gets
 * the right checksum, so that the fuzzer passes it; the rest is the file. A file that is accepted is written again as
 * the same bytes, and so is a service's list of arrays.
 */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "state/state_arrays.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { SERVICE = 1, MEND = 2, NAMED = 4, ARRAYS = 8, AT_CRC = STATE_FILE_HEADER_LEN - 4 };

static void require(bool property)
{
	if (!property)
		__builtin_trap();
}

static void write_crc(uint8_t *file, size_t len)
{
	uint32_t crc = state_file_sum(0, file + STATE_FILE_HEADER_LEN, len - STATE_FILE_HEADER_LEN);

	crc = state_file_sum(crc, file, AT_CRC);
	for (int i = 0; i < 4; i++)
		file[AT_CRC + i] = (uint8_t)(crc >> 8 * i);
}

static void check(const uint8_t *bytes, size_t len, const struct state_file *file)
{
	uint8_t header[STATE_FILE_HEADER_LEN];
	const uint8_t *at = bytes + STATE_FILE_HEADER_LEN;

	require(file->cluster[0] && strlen(file->cluster) <= STATE_FILE_CLUSTER_MAX);
	for (int i = 0; i < STATE_FILE_PARTS; i++) {
		require(file->parts[i].data == at);
		at += file->parts[i].len;
	}
	require(at == bytes + len);
	require(file->checksum ==
		state_file_header(file, state_file_sum(0, bytes + STATE_FILE_HEADER_LEN, len - STATE_FILE_HEADER_LEN),
				  header));
	require(!memcmp(header, bytes, sizeof(header)));
}

static void check_list(const struct state_part *part)
{
	uint8_t again[STATE_ARRAYS_PART_MAX];
	struct reason why = {""};
	struct arrays_set set;
	int error = state_arrays_load(part, &set, &why);

	require(!set.newest && !set.previous && !error != !!why.text[0]);
	require(error || (state_arrays_store(&set, again) == part->len && !memcmp(again, part->data, part->len)));
	require(error || set.version.previous <= set.version.newest);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct state_file file, untouched;
	enum state_kind kind;
	enum state_error error;
	struct reason why = {""};
	uint8_t *bytes;

	if (!size)
		return 0;
	kind = data[0] & SERVICE ? STATE_SERVICE : data[0] & ARRAYS ? STATE_ARRAYS : STATE_CLUSTER;
	bytes = malloc(size); /* exactly, so that the sanitizer sees a read beyond */
	require(bytes);
	memcpy(bytes, data + 1, size - 1);
	if (data[0] & MEND && size - 1 >= STATE_FILE_HEADER_LEN)
		write_crc(bytes, size - 1);
	memset(&file, 0xa5, sizeof(file));
	memcpy(&untouched, &file, sizeof(file));
	error = state_file_parse(bytes, size - 1, kind, data[0] & NAMED ? "cluster" : NULL, &file, &why);
	if (error)
		require(error < STATE_ERRORS && why.text[0] && !memcmp(&file, &untouched, sizeof(file)));
	else
		check(bytes, size - 1, &file);
	if (!error && kind == STATE_SERVICE)
		check_list(&file.parts[2]);
	free(bytes);
	return 0;
}
