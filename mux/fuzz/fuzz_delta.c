/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any bytes as a delta or snapshot. The first byte selects which, and whether the rest is the whole (raw) or a body
 * that is compressed and given a valid header, checksum and sum of the image here, since chance finds none of them.
 * If it decodes, encoding it must give the same body, and folding it into an image must leave a valid one. If it does
 * not decode, there is a reason and nothing has changed.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../tests/delta_bytes.h"
#include "ring/delta_decode.h"
#include "ring/fold.h"

enum { SNAPSHOT = 1, RAW = 2, BUCKETS = 256, SERVICE = 7, GENERATION = 9, FULL = 40 };

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

static const struct fl_delta_backend known[] = {
    {.id = 1, .address.bytes = {1}},   {.id = 2, .address.bytes = {2}, .flags = FL_BACKEND_REMOVED},
    {.id = 3, .address.bytes = {3}},   {.id = 4, .address.bytes = {4}},
    {.id = 5, .address.bytes = {5}},   {.id = 6, .address.bytes = {6}},
    {.id = 300, .address.bytes = {7}},
};

enum { KNOWN = sizeof(known) / sizeof(known[0]) };

static void check_bucket(const struct image *image, uint32_t bucket, const uint8_t *state)
{
	const struct history *history = histories_get(&image->histories, image->history[bucket]);

	require(history->count <= HISTORY_MAX && !history_has(history, image->current[bucket]));
	for (uint32_t i = 0; i < history->count; i++) {
		require(state[history->owner[i]]);
		for (uint32_t j = 0; j < i; j++)
			require(history->owner[i] != history->owner[j]);
	}
}

/* Every owner that a history names is one of the backends, whose ids ascend; the sum is that of the buckets. */
static void check_image(struct delta *image)
{
	uint8_t state[FL_BACKEND_MAX + 1] = {0};
	uint64_t sum = image->image.sum;

	for (uint32_t i = 0; i < image->backends_count; i++) {
		require(i == 0 || image->backends[i].id > image->backends[i - 1].id);
		state[image->backends[i].id] = 1;
	}
	for (uint32_t i = 0; i < image->buckets; i++)
		check_bucket(&image->image, i, state);
	image_sum_up(&image->image);
	require(image->image.sum == sum);
}

/* No bucket has an owner except twenty of backend 300, and one with a full history. */
static struct delta base_image(void)
{
	struct delta image = {.snapshot = true, .service = SERVICE, .generation = GENERATION - 1, .buckets = BUCKETS};
	struct history history = {.count = 0};
	uint32_t number;

	image.backends = must(malloc(sizeof(known)));
	memcpy(image.backends, known, sizeof(known));
	image.backends_count = KNOWN;
	require(image_init(&image.image, BUCKETS));
	for (uint32_t i = 0; i < 20; i++)
		image_put(&image.image, i * 7, 300, 0);
	for (uint32_t i = 0; i < HISTORY_MAX; i++)
		history_append(&history, known[i].id, 1000 - i);
	require(!histories_add(&image.image.histories, &history, &number));
	image_put(&image.image, FULL, 300, number);
	return image;
}

static void fold_into_base(const struct delta *delta)
{
	struct delta image = base_image();

	require(delta_fold(&image, delta) == 0);
	require(image.generation == GENERATION);
	check_image(&image);
	delta_prune(&image);
	check_image(&image);
	delta_free(&image);
}

/* Writes the sum that the body should have into it. */
static void write_sum(uint8_t *body, size_t len, const char *why)
{
	const size_t at = 8;
	uint64_t sum;

	require(at + 8 <= len && sscanf(strstr(why, "allowed: "), "allowed: %" SCNx64, &sum) == 1);
	for (int i = 0; i < 8; i++)
		body[at + i] = (uint8_t)(sum >> 8 * i);
}

static enum fl_delta_error decode_body(uint8_t *body, size_t body_len, const struct delta_expected *expected,
				       struct delta *out, struct reason *why)
{
	struct delta named = {.snapshot = expected->snapshot, .service = SERVICE, .generation = GENERATION};
	enum fl_delta_error error = FL_DELTA_BASE;

	named.buckets = BUCKETS;
	named.base = named.snapshot ? 0 : GENERATION - 1;
	for (int tries = 0; error == FL_DELTA_BASE && tries < 2; tries++) {
		size_t len;
		uint8_t *whole = delta_bytes_wrap(&named, body, body_len, &len);

		error = delta_decode(whole, len, expected, out, why);
		free(whole);
		if (error == FL_DELTA_BASE)
			write_sum(body, body_len, why->text);
	}
	require(error != FL_DELTA_BASE);
	return error;
}

static void check_decoded(struct delta *out, const uint8_t *body, size_t body_len)
{
	size_t len;
	uint8_t *again;

	require(out->service == SERVICE && out->generation == GENERATION && out->buckets == BUCKETS);
	again = delta_bytes_body(out, &len);
	require(!body || (len == body_len && !memcmp(again, body, len)));
	free(again);
	if (out->snapshot)
		check_image(out);
	else
		fold_into_base(out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct delta base = base_image(), out, untouched;
	struct delta_expected expected = delta_expected_by(&base);
	enum fl_delta_error error;
	struct reason why = {""};
	uint8_t *bytes;

	if (!size) {
		delta_free(&base);
		return 0;
	}
	expected.snapshot = data[0] & SNAPSHOT;
	expected.generation = GENERATION;
	bytes = must(malloc(size));
	memcpy(bytes, data + 1, size - 1);
	memset(&out, 0xa5, sizeof(out));
	memcpy(&untouched, &out, sizeof(out));
	error = data[0] & RAW ? delta_decode(bytes, size - 1, &expected, &out, &why)
			      : decode_body(bytes, size - 1, &expected, &out, &why);
	if (error) {
		require(error < FL_DELTA_ERRORS && why.text[0] && !memcmp(&out, &untouched, sizeof(out)));
	} else {
		check_decoded(&out, data[0] & RAW ? NULL : bytes, size - 1);
		delta_free(&out);
	}
	free(bytes);
	delta_free(&base);
	return 0;
}
