/* SPDX-License-Identifier: Apache-2.0 */
#include "ring/snapshot.h"

#include <endian.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <zstd.h>

enum { BLOCK = 1 << 16, BODY_HEAD_LEN = 8, COLUMNS = 3 };

/* A body before compression, on its way to a function, a block at a time. */
struct body {
	snapshot_sink fn;
	void *context;
	int error;
	size_t len; /* of the block */
	uint8_t block[BLOCK];
};

static void flush(struct body *body)
{
	if (body->len && !body->error)
		body->error = body->fn(body->context, body->block, body->len);
	body->len = 0;
}

static uint8_t *reserve(struct body *body, size_t len)
{
	if (body->len + len > BLOCK)
		flush(body);
	body->len += len;
	return body->block + body->len - len;
}

static void put16(struct body *body, uint16_t value)
{
	value = htole16(value);
	memcpy(reserve(body, 2), &value, 2);
}

static void put32(struct body *body, uint32_t value)
{
	fl_store_le32(reserve(body, 4), value);
}

static void put_backend(struct body *body, const struct fl_delta_backend *backend)
{
	put16(body, backend->id);
	put16(body, backend->flags);
	put16(body, backend->weight);
	memcpy(reserve(body, 16), backend->address.bytes, 16);
}

static uint32_t last_move(const struct snapshot *snapshot)
{
	uint32_t last = 0;

	for (uint32_t i = 0; i < snapshot->buckets; i++)
		if (fl_row_since(snapshot->rows[i]) > last)
			last = fl_row_since(snapshot->rows[i]);
	return last;
}

/* Gives the whole body to fn. */
static int walk(const struct snapshot *snapshot, struct body *body, snapshot_sink fn, void *context)
{
	body->fn = fn;
	body->context = context;
	body->error = 0;
	body->len = 0;
	put32(body, last_move(snapshot));
	put32(body, snapshot->backends_count);
	for (uint32_t i = 0; i < snapshot->backends_count; i++)
		put_backend(body, &snapshot->backends[i]);
	for (uint32_t i = 0; i < snapshot->buckets; i++)
		put16(body, fl_row_current(snapshot->rows[i]));
	for (uint32_t i = 0; i < snapshot->buckets; i++)
		put16(body, fl_row_previous(snapshot->rows[i]));
	for (uint32_t i = 0; i < snapshot->buckets; i++)
		put32(body, fl_row_since(snapshot->rows[i]));
	flush(body);
	return body->error;
}

static int add_checksum(void *context, const void *bytes, size_t len)
{
	uint32_t *crc = context;

	*crc = fl_crc32c(*crc, bytes, len);
	return 0;
}

struct compression {
	ZSTD_CCtx *zstd;
	snapshot_sink sink;
	void *context;
	uint8_t out[BLOCK];
};

static int compress(struct compression *to, const void *bytes, size_t len, ZSTD_EndDirective end)
{
	ZSTD_inBuffer in = {bytes, len, 0};
	size_t left;
	int error = 0;

	do {
		ZSTD_outBuffer out = {to->out, sizeof(to->out), 0};

		left = ZSTD_compressStream2(to->zstd, &out, &in, end);
		if (ZSTD_isError(left))
			return -ENOMEM; /* the only error of a frame whose length was announced */
		if (out.pos)
			error = to->sink(to->context, to->out, out.pos);
	} while (!error && (end == ZSTD_e_end ? left > 0 : in.pos < in.size));
	return error;
}

static int add_compressed(void *context, const void *bytes, size_t len)
{
	return compress(context, bytes, len, ZSTD_e_continue);
}

static void write_header(const struct snapshot *snapshot, uint64_t body_len, uint8_t header[FL_DELTA_HEADER_LEN])
{
	memcpy(header, "FLS2", 4);
	fl_store_le32(header + 4, snapshot->service);
	fl_store_le32(header + 8, snapshot->generation);
	fl_store_le32(header + 12, 0);
	fl_store_le32(header + 16, snapshot->buckets);
	body_len = htole64(body_len);
	memcpy(header + 20, &body_len, 8);
}

int snapshot_write(const struct snapshot *snapshot, snapshot_sink sink, void *context)
{
	uint64_t body_len =
	    BODY_HEAD_LEN + (uint64_t)snapshot->backends_count * FL_DELTA_BACKEND_LEN + (uint64_t)snapshot->buckets * 8;
	struct compression *to = malloc(sizeof(*to));
	struct body *body = malloc(sizeof(*body));
	uint8_t header[FL_DELTA_HEADER_LEN];
	uint32_t crc;
	int error = -ENOMEM;

	if (!to || !body)
		goto done;
	to->sink = sink;
	to->context = context;
	to->zstd = ZSTD_createCCtx();
	if (!to->zstd)
		goto done;
	write_header(snapshot, body_len, header);
	crc = fl_crc32c(0, header, FL_DELTA_CRC_AT);
	walk(snapshot, body, add_checksum, &crc);
	fl_store_le32(header + FL_DELTA_CRC_AT, crc);
	if (!ZSTD_isError(ZSTD_CCtx_setParameter(to->zstd, ZSTD_c_compressionLevel, 1)) &&
	    !ZSTD_isError(ZSTD_CCtx_setPledgedSrcSize(to->zstd, body_len)))
		error = sink(context, header, sizeof(header));
	if (!error)
		error = walk(snapshot, body, add_compressed, to);
	if (!error)
		error = compress(to, NULL, 0, ZSTD_e_end);
	ZSTD_freeCCtx(to->zstd);
done:
	free(body);
	free(to);
	return error;
}
