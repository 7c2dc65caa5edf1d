/* SPDX-License-Identifier: Apache-2.0 */
#include "ring/body_write.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <zstd.h>

#include <fairlead/delta.h>

enum { BLOCK = 1 << 16, LEVEL = 1 };

struct body_block {
	body_sink fn;
	void *context;
	int error;
	size_t len;
	uint8_t bytes[BLOCK];
};

static void flush(struct body_block *block)
{
	if (block->len && !block->error)
		block->error = block->fn(block->context, block->bytes, block->len);
	block->len = 0;
}

uint8_t *body_reserve(struct body_block *block, size_t len)
{
	if (block->len + len > BLOCK)
		flush(block);
	block->len += len;
	return block->bytes + block->len - len;
}

void body_put16(struct body_block *block, uint16_t value)
{
	fl_store_le16(body_reserve(block, sizeof(value)), value);
}

void body_put32(struct body_block *block, uint32_t value)
{
	fl_store_le32(body_reserve(block, sizeof(value)), value);
}

void body_put64(struct body_block *block, uint64_t value)
{
	fl_store_le64(body_reserve(block, sizeof(value)), value);
}

/* Gives the whole body to fn. */
static int walk(const struct body_source *source, struct body_block *block, body_sink fn, void *context)
{
	block->fn = fn;
	block->context = context;
	block->error = 0;
	block->len = 0;
	source->walk(source->subject, block);
	flush(block);
	return block->error;
}

static int add_checksum(void *context, const void *bytes, size_t len)
{
	uint32_t *crc = context;

	*crc = fl_crc32c(*crc, bytes, len);
	return 0;
}

struct compression {
	ZSTD_CCtx *zstd;
	body_sink sink;
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

static void write_header(const struct body_source *source, uint8_t header[FL_DELTA_HEADER_LEN])
{
	memcpy(header, source->magic, 4);
	fl_store_le32(header + 4, source->service);
	fl_store_le32(header + 8, source->generation);
	fl_store_le32(header + 12, 0);
	fl_store_le32(header + 16, source->buckets);
	fl_store_le64(header + 20, source->len);
}

int body_write(const struct body_source *source, body_sink sink, void *context)
{
	struct compression *to = malloc(sizeof(*to));
	struct body_block *block = malloc(sizeof(*block));
	uint8_t header[FL_DELTA_HEADER_LEN];
	uint32_t crc;
	int error = -ENOMEM;

	if (!to || !block)
		goto done;
	to->sink = sink;
	to->context = context;
	to->zstd = ZSTD_createCCtx();
	if (!to->zstd)
		goto done;
	write_header(source, header);
	crc = fl_crc32c(0, header, FL_DELTA_CRC_AT);
	walk(source, block, add_checksum, &crc);
	fl_store_le32(header + FL_DELTA_CRC_AT, crc);
	if (!ZSTD_isError(ZSTD_CCtx_setParameter(to->zstd, ZSTD_c_compressionLevel, LEVEL)) &&
	    !ZSTD_isError(ZSTD_CCtx_setPledgedSrcSize(to->zstd, source->len)))
		error = sink(context, header, sizeof(header));
	if (!error)
		error = walk(source, block, add_compressed, to);
	if (!error)
		error = compress(to, NULL, 0, ZSTD_e_end);
	ZSTD_freeCCtx(to->zstd);
done:
	free(block);
	free(to);
	return error;
}
