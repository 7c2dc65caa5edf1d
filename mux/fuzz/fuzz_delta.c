/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any bytes as a delta or snapshot. The first byte selects which, and whether the rest is the whole (raw) or a body
 * that is compressed and given a valid header and checksum here, since chance finds neither.
 * If it decodes, encoding it must give the same body, and folding it into an image must leave a valid one. If it does
 * not decode, there is a reason and nothing has changed.
 */
#include <stdlib.h>
#include <string.h>

#include "../tests/delta_bytes.h"
#include "ring/fold.h"

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

/* A base in which no bucket has an owner except the twenty of backend 300. */
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
	struct delta out, untouched, named = {.service = SERVICE, .generation = GENERATION, .buckets = BUCKETS};
	enum fl_delta_error error;
	struct reason why = {""};
	uint8_t *whole, *body;
	size_t len, body_len;
	bool is_raw;

	if (!size)
		return 0;
	expected.snapshot = data[0] & SNAPSHOT;
	named.snapshot = expected.snapshot;
	named.base = named.snapshot ? 0 : GENERATION - 1;
	is_raw = data[0] & RAW;
	whole = is_raw ? must(malloc(size)) : delta_bytes_wrap(&named, data + 1, size - 1, &len);
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
	body = delta_bytes_body(&out, &body_len);
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
