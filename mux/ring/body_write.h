/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes what body_open() reads: a header, and a body in one zstd frame. The body is walked twice, once for the checksum
 * and once to compress it, and passes in blocks of 64 KB, so no part of it is kept.
 */
#ifndef FAIRLEAD_MUX_BODY_WRITE_H
#define FAIRLEAD_MUX_BODY_WRITE_H

#include <stddef.h>
#include <stdint.h>

/* Gets the bytes block by block, in order. A negative errno ends the writing. */
typedef int (*body_sink)(void *context, const void *bytes, size_t len);

struct body_block;

/* For the function that walks a body: the next bytes of it, at most 16 at a time. */
uint8_t *body_reserve(struct body_block *block, size_t len);
void body_put16(struct body_block *block, uint16_t value);
void body_put32(struct body_block *block, uint32_t value);
void body_put64(struct body_block *block, uint64_t value);

struct body_source {
	const char *magic; /* 4 characters */
	uint32_t service;
	uint32_t generation; /* base is 0 */
	uint32_t buckets;
	uint64_t len; /* that walk() puts */
	void (*walk)(const void *subject, struct body_block *block);
	const void *subject;
};

/* 0, -ENOMEM, or the sink's error. */
int body_write(const struct body_source *source, body_sink sink, void *context);

#endif
