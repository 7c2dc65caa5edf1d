/* SPDX-License-Identifier: Apache-2.0 */
#include "state/state_file.h"

#include <inttypes.h>
#include <string.h>

#include <fairlead/delta.h>

enum {
	AT_FORMAT = 8,
	AT_KIND = 12,
	AT_CLUSTER = 16,
	AT_SAVED = 80,
	AT_LENGTHS = 88,
	AT_CRC = 112,
};

static const char magic[8] = {'F', 'L', 'S', 'T', 'A', 'T', 'E', '\n'};

const char *state_error_name(enum state_error error)
{
	static const char *const names[STATE_ERRORS] = {
	    [STATE_OK] = "ok",
	    [STATE_UNREADABLE] = "unreadable",
	    [STATE_TRUNCATED] = "truncated",
	    [STATE_MAGIC] = "magic",
	    [STATE_FORMAT] = "format",
	    [STATE_LENGTH] = "length",
	    [STATE_CHECKSUM] = "checksum",
	    [STATE_KIND] = "kind",
	    [STATE_FOREIGN] = "foreign",
	    [STATE_CONTENT] = "content",
	};

	return names[error];
}

uint32_t state_file_sum(uint32_t crc, const void *bytes, size_t len)
{
	return fl_crc32c(crc, bytes, len);
}

/* The parts come first in the sum, since their bytes are known before the header is. */
static uint32_t sum_header(uint32_t crc, const uint8_t *header)
{
	return fl_crc32c(crc, header, AT_CRC);
}

uint32_t state_file_header(const struct state_file *file, uint32_t crc, uint8_t header[STATE_FILE_HEADER_LEN])
{
	uint32_t checksum;

	memset(header, 0, STATE_FILE_HEADER_LEN);
	memcpy(header, magic, sizeof(magic));
	fl_store_le32(header + AT_FORMAT, STATE_FILE_FORMAT);
	fl_store_le32(header + AT_KIND, file->kind);
	memcpy(header + AT_CLUSTER, file->cluster, strnlen(file->cluster, STATE_FILE_CLUSTER_MAX));
	fl_store_le64(header + AT_SAVED, file->saved);
	for (int i = 0; i < STATE_FILE_PARTS; i++)
		fl_store_le64(header + AT_LENGTHS + 8 * i, file->parts[i].len);
	checksum = sum_header(crc, header);
	fl_store_le32(header + AT_CRC, checksum);
	return checksum;
}

/* Whether the parts' lengths add up to the rest; none of them can wrap the sum around. */
static bool read_parts(const uint8_t *data, size_t len, struct state_file *out)
{
	size_t at = STATE_FILE_HEADER_LEN;

	for (int i = 0; i < STATE_FILE_PARTS; i++) {
		uint64_t part = fl_load_le64(data + AT_LENGTHS + 8 * i);

		if (part > len - at)
			return false;
		out->parts[i] = (struct state_part){data + at, (size_t)part};
		at += (size_t)part;
	}
	return at == len;
}

/* A name of 1 to 64 printable characters without spaces, quotes and backslashes, so that it can be logged. */
static bool read_cluster(const uint8_t *data, char out[STATE_FILE_CLUSTER_MAX + 1])
{
	size_t len = strnlen((const char *)data, STATE_FILE_CLUSTER_MAX);

	for (size_t i = 0; i < STATE_FILE_CLUSTER_MAX; i++)
		if (i < len ? data[i] <= ' ' || data[i] >= 0x7f || data[i] == '"' || data[i] == '\\' : data[i])
			return false;
	memcpy(out, data, len);
	out[len] = 0;
	return len;
}

static enum state_error check_header(const uint8_t *data, size_t len, struct state_file *out, struct reason *why)
{
	uint32_t format, crc;

	if (len < STATE_FILE_HEADER_LEN)
		return reason_set(why, STATE_TRUNCATED, "length %zu; allowed: %d and more", len, STATE_FILE_HEADER_LEN);
	if (memcmp(data, magic, sizeof(magic)) != 0)
		return reason_set(why, STATE_MAGIC, "magic %02x%02x%02x%02x; allowed: FLSTATE", data[0], data[1],
				  data[2], data[3]);
	format = fl_load_le32(data + AT_FORMAT);
	if (format != STATE_FILE_FORMAT)
		return reason_set(why, STATE_FORMAT, "format %u; allowed: %d", format, STATE_FILE_FORMAT);
	if (!read_parts(data, len, out))
		return reason_set(why, STATE_LENGTH,
				  "length %zu; allowed: %d and its parts, %" PRIu64 ", %" PRIu64 " and %" PRIu64, len,
				  STATE_FILE_HEADER_LEN, fl_load_le64(data + AT_LENGTHS),
				  fl_load_le64(data + AT_LENGTHS + 8), fl_load_le64(data + AT_LENGTHS + 16));
	crc = sum_header(state_file_sum(0, data + STATE_FILE_HEADER_LEN, len - STATE_FILE_HEADER_LEN), data);
	if (crc != fl_load_le32(data + AT_CRC))
		return reason_set(why, STATE_CHECKSUM, "checksum %08x; allowed: %08x, that of the bytes",
				  fl_load_le32(data + AT_CRC), crc);
	return STATE_OK;
}

enum state_error state_file_parse(const uint8_t *data, size_t len, enum state_kind kind, const char *cluster,
				  struct state_file *out, struct reason *why)
{
	struct state_file file = {.kind = kind};
	enum state_error error = check_header(data, len, &file, why);

	if (error)
		return error;
	if (fl_load_le32(data + AT_KIND) != (uint32_t)kind)
		return reason_set(why, STATE_KIND, "kind %u; allowed: %d", fl_load_le32(data + AT_KIND), kind);
	if (!read_cluster(data + AT_CLUSTER, file.cluster))
		return reason_set(why, STATE_FOREIGN, "cluster has no valid name; allowed: 1..%d printable characters",
				  STATE_FILE_CLUSTER_MAX);
	if (cluster && strcmp(cluster, file.cluster) != 0)
		return reason_set(why, STATE_FOREIGN, "cluster is '%s'; allowed: '%s'", file.cluster, cluster);
	file.saved = fl_load_le64(data + AT_SAVED);
	file.checksum = fl_load_le32(data + AT_CRC);
	memcpy(out, &file, sizeof(*out));
	return STATE_OK;
}
