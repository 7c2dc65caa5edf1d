/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any bytes as a delta or snapshot. The first byte says as which, and whether the rest is the whole (raw) or a body
 * that is compressed and given a good header and checksum here, since chance finds neither.
 * What decodes is written back and must be the same body; folded into an image, it must leave a good one. What does not
 * decode leaves no trace and has a reason.
 */
#include <stdlib.h>
#include <string.h>

#include <zstd.h>

#include "../delta.h"

enum { SNAPSHOT = 1, RAW = 2, BUCKETS = 256, SERVICE = 7, GENERATION = 9 };

static void require(bool property)
{
	if (!property)
		__builtin_trap();
}

static void *must(void *p)
{
	require(p != NULL);
	return p;
}

static struct fl_delta_backend known[] = {
    {.id = 1, .address.bytes = {1}},
    {.id = 2, .address.bytes = {2}, .flags = FL_BACKEND_REMOVED},
    {.id = 300, .address.bytes = {3}},
};

static void store(uint8_t *p, uint64_t value, int bytes)
{
	for (int i = 0; i < bytes; i++)
		p[i] = (uint8_t)(value >> (8 * i));
}

/* A good header and frame around a body. */
static uint8_t *wrap(const uint8_t *body, size_t body_len, bool is_snapshot, size_t *len)
{
	size_t room = ZSTD_compressBound(body_len);
	uint8_t *out = must(malloc(FL_DELTA_HEADER_LEN + room));
	size_t frame = ZSTD_compress(out + FL_DELTA_HEADER_LEN, room, body, body_len, 1);

	require(!ZSTD_isError(frame));
	memcpy(out, is_snapshot ? "FLS2" : "FLD2", 4);
	store(out + 4, SERVICE, 4);
	store(out + 8, GENERATION, 4);
	store(out + 12, is_snapshot ? 0 : GENERATION - 1, 4);
	store(out + 16, BUCKETS, 4);
	store(out + 20, body_len, 8);
	store(out + FL_DELTA_CRC_AT, fl_crc32c(fl_crc32c(0, out, FL_DELTA_CRC_AT), body, body_len), 4);
	*len = FL_DELTA_HEADER_LEN + frame;
	return out;
}

/* Returns the place behind the runs at `at`. */
static uint8_t *write_runs(const struct delta *d, uint8_t *at)
{
	size_t n = d->runs_count;
	bool by_owner = d->order == FL_DELTA_BY_OWNER;
	uint32_t end = 0;

	store(at, n, 4);
	store(at + 4, d->order, 4);
	at += 8;
	for (size_t i = 0; i < n; i++) {
		const struct fl_delta_run *run = &d->runs[i];

		if (by_owner && i && run->owner != run[-1].owner)
			end = 0;
		store(at + 4 * i, run->start - end, 4);
		store(at + 4 * (n + i), run->count, 4);
		store(at + 8 * n + 2 * i, run->current, 2);
		store(at + 10 * n + 2 * i, run->previous, 2);
		if (by_owner)
			store(at + 12 * n + 2 * i, run->owner, 2);
		end = run->start + run->count;
	}
	return at + n * (by_owner ? FL_DELTA_OWNER_RUN_LEN : FL_DELTA_RUN_LEN);
}

/* The body of what was decoded, as the protocol writes it. */
static uint8_t *write_body(const struct delta *d, size_t *len)
{
	size_t room = 16 + (size_t)d->backends_count * FL_DELTA_BACKEND_LEN +
		      (size_t)d->runs_count * FL_DELTA_OWNER_RUN_LEN + (d->snapshot ? (size_t)d->buckets * 8 : 0);
	uint8_t *body = must(malloc(room)), *at = body;

	store(at, d->committed, 4);
	store(at + 4, d->backends_count, 4);
	at += 8;
	for (uint32_t i = 0; i < d->backends_count; i++, at += FL_DELTA_BACKEND_LEN) {
		store(at, d->backends[i].id, 2);
		store(at + 2, d->backends[i].flags, 2);
		store(at + 4, d->backends[i].weight, 2);
		memcpy(at + 6, d->backends[i].address.bytes, 16);
	}
	if (!d->snapshot)
		at = write_runs(d, at);
	for (uint32_t i = 0; d->snapshot && i < d->buckets; i++) {
		store(at + (size_t)i * 2, d->current[i], 2);
		store(at + (size_t)(d->buckets + i) * 2, d->previous[i], 2);
		store(at + (size_t)(d->buckets + i) * 4, d->since[i], 4);
	}
	*len = (size_t)(at - body) + (d->snapshot ? (size_t)d->buckets * 8 : 0);
	return body;
}

/* Every owner in the image is one of its backends, and ids ascend. */
static void check_image(const struct delta *image)
{
	uint8_t state[FL_BACKEND_MAX + 1] = {0}; /* 1: known, 2: in service */

	for (uint32_t i = 0; i < image->backends_count; i++) {
		require(i == 0 || image->backends[i].id > image->backends[i - 1].id);
		state[image->backends[i].id] = image->backends[i].flags & FL_BACKEND_REMOVED ? 1 : 2;
	}
	for (uint32_t i = 0; i < image->buckets; i++)
		require(!image->previous[i] || state[image->previous[i]]);
}

/* A base of which everything but backend 300's twenty buckets is nobody's. */
enum { OWNED_BY_300 = 20 };

static void count(const void *base, uint32_t *counts)
{
	(void)base;
	counts[0] = BUCKETS - OWNED_BY_300;
	counts[300] = OWNED_BY_300;
}

static void fold_into_base(const struct delta *delta)
{
	struct delta image = {.snapshot = true, .service = SERVICE, .generation = GENERATION - 1, .buckets = BUCKETS};

	image.backends = must(malloc(sizeof(known)));
	memcpy(image.backends, known, sizeof(known));
	image.backends_count = sizeof(known) / sizeof(known[0]);
	image.current = must(calloc(BUCKETS, sizeof(*image.current)));
	image.previous = must(calloc(BUCKETS, sizeof(*image.previous)));
	image.since = must(calloc(BUCKETS, sizeof(*image.since)));
	for (uint32_t i = 0; i < OWNED_BY_300; i++)
		image.current[i * 7] = 300;
	require(delta_fold(&image, delta) == 0);
	require(image.generation == GENERATION);
	check_image(&image);
	delta_prune(&image);
	check_image(&image);
	delta_free(&image);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct delta_expected expected = {
	    .service = SERVICE,
	    .generation = GENERATION,
	    .buckets = BUCKETS,
	    .backends = known,
	    .backends_count = sizeof(known) / sizeof(known[0]),
	    .count = count,
	};
	struct delta out, untouched;
	enum fl_delta_error error;
	struct why why = {""};
	uint8_t *whole, *body;
	size_t len, body_len;
	bool is_raw;

	if (!size)
		return 0;
	expected.snapshot = data[0] & SNAPSHOT;
	is_raw = data[0] & RAW;
	whole = is_raw ? must(malloc(size)) : wrap(data + 1, size - 1, expected.snapshot, &len);
	if (is_raw) {
		len = size - 1;
		memcpy(whole, data + 1, len);
	}
	memset(&out, 0xa5, sizeof(out));
	memcpy(&untouched, &out, sizeof(out));
	error = delta_decode(whole, len, &expected, &out, &why);
	free(whole);
	if (error) {
		require(error < FL_DELTA_ERRORS && why.text[0] && !memcmp(&out, &untouched, sizeof(out)));
		return 0;
	}
	require(out.service == SERVICE && out.generation == GENERATION && out.buckets == BUCKETS);
	body = write_body(&out, &body_len);
	if (!is_raw)
		require(body_len == size - 1 && !memcmp(body, data + 1, body_len));
	free(body);
	if (out.snapshot) {
		check_image(&out);
		delta_prune(&out);
		check_image(&out);
	} else {
		fold_into_base(&out);
	}
	delta_free(&out);
	return 0;
}
