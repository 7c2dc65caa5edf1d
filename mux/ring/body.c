/* SPDX-License-Identifier: Apache-2.0 */
#include "ring/body.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include <rte_hash_crc.h>
#include <zstd.h>
#include <zstd_errors.h>

#include <fairlead/hash.h>

static enum fl_delta_error check_header(const uint8_t *data, size_t len, const struct body_expected *expected,
					struct fl_delta_header *header, struct reason *why)
{
	if (len < FL_DELTA_HEADER_LEN)
		return reason_set(why, FL_DELTA_TRUNCATED, "length %zu; allowed: %d and more", len,
				  FL_DELTA_HEADER_LEN);
	if (memcmp(data, expected->magic, 4) != 0)
		return reason_set(why, FL_DELTA_MAGIC, "magic %02x%02x%02x%02x; allowed: %s", data[0], data[1], data[2],
				  data[3], expected->magic);
	*header = fl_delta_header_load(data);
	if (header->service != expected->service)
		return reason_set(why, FL_DELTA_SERVICE, "service %u; allowed: %u", header->service, expected->service);
	if (header->generation != expected->generation)
		return reason_set(why, FL_DELTA_GENERATION, "generation %u; allowed: %u", header->generation,
				  expected->generation);
	if (header->base != expected->base)
		return reason_set(why, FL_DELTA_GENERATION, "base %u; allowed: %u", header->base, expected->base);
	if (header->buckets != expected->buckets)
		return reason_set(why, FL_DELTA_BUCKETS, "buckets %u; allowed: %u", header->buckets, expected->buckets);
	if (header->buckets < FL_BUCKETS_MIN || header->buckets > expected->buckets_max ||
	    (header->buckets & (header->buckets - 1)))
		return reason_set(why, FL_DELTA_BUCKETS, "buckets %u; allowed: powers of two in %d..%u",
				  header->buckets, FL_BUCKETS_MIN, expected->buckets_max);
	if (header->body_len < expected->len_min || header->body_len > expected->len_max)
		return reason_set(why, FL_DELTA_LENGTH, "body length %" PRIu64 "; allowed: %" PRIu64 "..%" PRIu64,
				  header->body_len, expected->len_min, expected->len_max);
	return FL_DELTA_OK;
}

/* Unpacks one zstd frame that fills src into exactly body_len bytes at body. */
static enum fl_delta_error unpack(const uint8_t *src, size_t len, uint8_t *body, uint64_t body_len, struct reason *why)
{
	size_t frame = ZSTD_findFrameCompressedSize(src, len);
	size_t got;

	if (ZSTD_isError(frame))
		return reason_set(why, FL_DELTA_COMPRESSION, "zstd frame: %s", ZSTD_getErrorName(frame));
	if (frame != len)
		return reason_set(why, FL_DELTA_COMPRESSION, "zstd frame of %zu bytes; allowed: %zu, to the end", frame,
				  len);
	got = ZSTD_decompress(body, body_len, src, len);
	if (ZSTD_isError(got) && ZSTD_getErrorCode(got) == ZSTD_error_dstSize_tooSmall)
		return reason_set(why, FL_DELTA_LENGTH, "more than %" PRIu64 " bytes unpacked; allowed: body length",
				  body_len);
	if (ZSTD_isError(got))
		return reason_set(why, FL_DELTA_COMPRESSION, "zstd frame: %s", ZSTD_getErrorName(got));
	if (got != body_len)
		return reason_set(why, FL_DELTA_LENGTH, "%zu bytes unpacked; allowed: body length, %" PRIu64, got,
				  body_len);
	return FL_DELTA_OK;
}

/* Uses the CPU's CRC-32C instruction if it has one: 64 MB in about 10 ms. */
static uint32_t checksum(const uint8_t *header, const uint8_t *body, uint64_t body_len)
{
	uint32_t crc = ~fl_crc32c(0, header, FL_DELTA_CRC_AT); /* it may not be aligned */

	return ~rte_hash_crc(body, (uint32_t)body_len, crc);
}

/* Unpacks the frame behind the header into body, which has room for it. */
static enum fl_delta_error fill(const uint8_t *data, size_t len, const struct fl_delta_header *header, uint8_t *body,
				struct reason *why)
{
	enum fl_delta_error error =
	    unpack(data + FL_DELTA_HEADER_LEN, len - FL_DELTA_HEADER_LEN, body, header->body_len, why);
	uint32_t found;

	if (error)
		return error;
	found = checksum(data, body, header->body_len);
	if (found != header->checksum)
		return reason_set(why, FL_DELTA_CHECKSUM, "checksum %08x; allowed: %08x, that of the bytes",
				  header->checksum, found);
	return FL_DELTA_OK;
}

enum fl_delta_error body_open(const uint8_t *data, size_t len, const struct body_expected *expected, struct body *out,
			      struct reason *why)
{
	struct fl_delta_header header = {0};
	enum fl_delta_error error = check_header(data, len, expected, &header, why);
	uint8_t *body;

	if (error)
		return error;
	body = malloc(header.body_len);
	if (!body)
		return reason_set(why, FL_DELTA_LENGTH, "body length %" PRIu64 "; no memory", header.body_len);
	error = fill(data, len, &header, body, why);
	if (error)
		free(body);
	else
		*out = (struct body){body, header.body_len};
	return error;
}
