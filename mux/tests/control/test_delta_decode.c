/* SPDX-License-Identifier: Apache-2.0 */
/* delta.h against delta.json: what decodes gives the image there, what does not gives the error there. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "ring/backend.h"
#include "ring/delta.h"
#include "ring/backend_list.h"
#include "ring/fold.h"
#include "vectors.h"

enum { PAD_FIRST = 30000, PAD_COUNT = 10000 }; /* ids that the vectors do not use */

static void *must(void *p)
{
	assert_non_null(p);
	return p;
}

/* An image of the vectors, as a snapshot that was decoded. */
static struct delta image_of(const json_t *json)
{
	const json_t *backends = vectors_list(json, "backends"), *one;
	uint32_t buckets = (uint32_t)vectors_number(json, "buckets");
	struct delta image = {
	    .snapshot = true,
	    .service = (uint32_t)vectors_number(json, "service"),
	    .generation = (uint32_t)vectors_number(json, "generation"),
	    .buckets = buckets,
	    .backends = must(calloc(json_array_size(backends) + 1, sizeof(*image.backends))),
	    .current = must(calloc(buckets, sizeof(*image.current))),
	    .previous = must(calloc(buckets, sizeof(*image.previous))),
	    .since = must(calloc(buckets, sizeof(*image.since))),
	};
	size_t i;

	json_array_foreach(backends, i, one)
	{
		image.backends[image.backends_count++] = (struct fl_delta_backend){
		    .id = (uint16_t)vectors_number(one, "id"),
		    .flags = vectors_bool(one, "removed") ? FL_BACKEND_REMOVED : 0,
		    .weight = (uint16_t)vectors_number(one, "weight"),
		    .address = vectors_address(one, "address"),
		};
	}
	json_array_foreach(vectors_list(json, "runs"), i, one)
	{
		uint64_t start = vectors_number(one, "start"), end = start + vectors_number(one, "count");

		for (uint64_t bucket = start; bucket < end; bucket++) {
			image.current[bucket] = (uint16_t)vectors_number(one, "current");
			image.previous[bucket] = (uint16_t)vectors_number(one, "previous");
			image.since[bucket] = (uint32_t)vectors_number(one, "since");
		}
	}
	return image;
}

static void check_equal(const struct delta *image, const struct delta *expected)
{
	assert_true(image->snapshot);
	assert_int_equal(image->service, expected->service);
	assert_int_equal(image->generation, expected->generation);
	assert_int_equal(image->buckets, expected->buckets);
	assert_int_equal(image->backends_count, expected->backends_count);
	for (uint32_t i = 0; i < image->backends_count; i++) {
		assert_int_equal(image->backends[i].id, expected->backends[i].id);
		assert_int_equal(image->backends[i].flags, expected->backends[i].flags);
		assert_int_equal(image->backends[i].weight, expected->backends[i].weight);
		assert_memory_equal(&image->backends[i].address, &expected->backends[i].address, 16);
	}
	assert_memory_equal(image->current, expected->current, image->buckets * sizeof(*image->current));
	assert_memory_equal(image->previous, expected->previous, image->buckets * sizeof(*image->previous));
	assert_memory_equal(image->since, expected->since, image->buckets * sizeof(*image->since));
}

/*
 * The same image to whoever prunes it, with so many removed backends beside its own that a small delta's are looked up
 * in the list instead of noted one by one.
 */
static void pad(struct delta *image)
{
	uint32_t most = image->backends_count + PAD_COUNT;
	struct fl_delta_backend *padding = must(calloc(PAD_COUNT, sizeof(*padding)));
	struct fl_delta_backend *merged = must(calloc(most, sizeof(*merged)));

	for (uint32_t i = 0; i < PAD_COUNT; i++)
		padding[i] = (struct fl_delta_backend){.id = (uint16_t)(PAD_FIRST + i),
						       .flags = FL_BACKEND_REMOVED,
						       .address = {{10, (uint8_t)(i >> 8), (uint8_t)i}}};
	image->backends_count = backend_list_merge(image->backends, image->backends_count, padding, PAD_COUNT, merged);
	assert_int_equal(image->backends_count, most);
	free(image->backends);
	free(padding);
	image->backends = merged;
}

static struct delta decode_snapshot(const struct vectors_bytes *bytes, uint32_t service, uint32_t generation,
				    uint32_t buckets)
{
	struct delta_expected expected = {
	    .snapshot = true, .service = service, .generation = generation, .buckets = buckets};
	struct reason why = {""};
	struct delta out;
	enum fl_delta_error error = delta_decode(bytes->data, bytes->len, &expected, &out, &why);

	if (error)
		fail_msg("%s: %s", delta_error_name(error), why.text);
	return out;
}

/* Decodes the delta that follows the image, and folds it in. */
static void fold(struct delta *image, const struct vectors_bytes *bytes)
{
	struct delta_expected expected = {
	    .service = image->service,
	    .generation = image->generation + 1,
	    .buckets = image->buckets,
	    .backends = image->backends,
	    .backends_count = image->backends_count,
	    .count = delta_count,
	    .base = image,
	};
	struct reason why = {""};
	struct delta delta;
	enum fl_delta_error error = delta_decode(bytes->data, bytes->len, &expected, &delta, &why);

	if (error)
		fail_msg("%s: %s", delta_error_name(error), why.text);
	assert_int_equal(delta_fold(image, &delta), 0);
	delta_free(&delta);
}

static void apply_to(const json_t *row, bool is_padded)
{
	struct delta image = image_of(vectors_get(row, "image")), result = image_of(vectors_get(row, "result"));
	struct vectors_bytes bytes = vectors_bytes(row, "bytes");

	if (is_padded)
		pad(&image);
	fold(&image, &bytes);
	assert_int_equal(image.committed, vectors_number(vectors_get(row, "delta"), "committed"));
	delta_prune(&image);
	check_equal(&image, &result);
	vectors_free(&bytes);
	delta_free(&image);
	delta_free(&result);
}

static void apply(void **state)
{
	apply_to(*state, false);
	apply_to(*state, true);
}

static void snapshot(void **state)
{
	const json_t *row = *state;
	struct delta expected = image_of(vectors_get(row, "image"));
	struct vectors_bytes bytes = vectors_bytes(row, "bytes");
	struct delta image = decode_snapshot(&bytes, expected.service, expected.generation, expected.buckets);

	assert_int_equal(image.committed, vectors_number(row, "committed"));
	check_equal(&image, &expected);
	delta_prune(&image); /* a snapshot lists only what is needed */
	check_equal(&image, &expected);
	vectors_free(&bytes);
	delta_free(&image);
	delta_free(&expected);
}

/* The body of a snapshot, from the image's columns. */
static void check_body(const struct delta *image, const struct vectors_bytes *body)
{
	const uint8_t *at = body->data + 8 + (size_t)image->backends_count * FL_DELTA_BACKEND_LEN;

	assert_int_equal(body->len, (size_t)(at - body->data) + (size_t)image->buckets * 8);
	for (uint32_t i = 0; i < image->buckets; i++) {
		assert_int_equal(fl_load_le16(at + 2 * (size_t)i), image->current[i]);
		assert_int_equal(fl_load_le16(at + 2 * (size_t)(image->buckets + i)), image->previous[i]);
		assert_int_equal(fl_load_le32(at + 4 * (size_t)(image->buckets + i)), image->since[i]);
	}
}

static void chain(void **state)
{
	const json_t *row = *state, *one, *deltas = vectors_list(row, "deltas");
	struct delta result = image_of(vectors_get(row, "result"));
	struct vectors_bytes bytes = vectors_bytes(row, "snapshot"), body = vectors_bytes(row, "resultSnapshotBody");
	uint32_t first = result.generation - (uint32_t)json_array_size(deltas);
	struct delta image = decode_snapshot(&bytes, result.service, first, result.buckets);
	size_t i;

	vectors_free(&bytes);
	json_array_foreach(deltas, i, one)
	{
		json_t *wrapped = json_pack("{s:O}", "bytes", one);

		bytes = vectors_bytes(wrapped, "bytes");
		fold(&image, &bytes);
		vectors_free(&bytes);
		json_decref(wrapped);
	}
	delta_prune(&image);
	check_equal(&image, &result);
	check_body(&image, &body);
	vectors_free(&body);
	delta_free(&image);
	delta_free(&result);
}

static const json_t *malformed_for;

static void refuse(const json_t *row, bool is_padded)
{
	bool is_snapshot = !strcmp(vectors_text(row, "kind"), "snapshot");
	struct delta image = image_of(vectors_get(malformed_for, "image"));
	struct vectors_bytes bytes = vectors_bytes(row, "bytes");
	struct delta_expected expected = {
	    .snapshot = is_snapshot,
	    .service = (uint32_t)vectors_number(malformed_for, "service"),
	    .generation =
		(uint32_t)vectors_number(malformed_for, is_snapshot ? "snapshotGeneration" : "deltaGeneration"),
	    .buckets = (uint32_t)vectors_number(malformed_for, "buckets"),
	    .count = delta_count,
	    .base = &image,
	};
	struct reason why = {""};
	struct delta out, untouched;

	if (is_padded)
		pad(&image);
	expected.backends = image.backends;
	expected.backends_count = image.backends_count;
	memset(&out, 0xa5, sizeof(out));
	memcpy(&untouched, &out, sizeof(out));
	assert_string_equal(delta_error_name(delta_decode(bytes.data, bytes.len, &expected, &out, &why)),
			    vectors_text(row, "error"));
	assert_memory_equal(&out, &untouched, sizeof(out));
	assert_true(strlen(why.text) > 10);
	vectors_free(&bytes);
	delta_free(&image);
}

static void malformed(void **state)
{
	refuse(*state, false);
	refuse(*state, true);
}

/* Every prefix of a good delta and every flipped bit behind its header is refused, or was never looked at. */
static void damage(void **state)
{
	const json_t *row = json_array_get(vectors_list(*state, "apply"), 1);
	struct delta image = image_of(vectors_get(row, "image"));
	struct vectors_bytes good = vectors_bytes(row, "bytes");
	struct delta_expected expected = {
	    .service = image.service,
	    .generation = image.generation + 1,
	    .buckets = image.buckets,
	    .backends = image.backends,
	    .backends_count = image.backends_count,
	    .count = delta_count,
	    .base = &image,
	};
	struct reason why;
	struct delta out;

	for (size_t len = 0; len < good.len; len++) {
		uint8_t *cut = must(malloc(len + !len));

		memcpy(cut, good.data, len);
		if (delta_decode(cut, len, &expected, &out, &why) == FL_DELTA_OK)
			fail_msg("the first %zu of %zu bytes are accepted", len, good.len);
		free(cut);
	}
	for (size_t bit = 0; bit < FL_DELTA_HEADER_LEN * 8; bit++) {
		good.data[bit / 8] ^= (uint8_t)(1 << bit % 8);
		if (delta_decode(good.data, good.len, &expected, &out, &why) == FL_DELTA_OK)
			fail_msg("accepted with bit %zu of the header flipped", bit);
		good.data[bit / 8] ^= (uint8_t)(1 << bit % 8);
	}
	vectors_free(&good);
	delta_free(&image);
}

int main(int argc, char **argv)
{
	json_t *file = vectors_load(argc > 1 ? argv[1] : ".", "delta.json");
	struct vectors_tests tests = {NULL, 0};
	int failed;

	malformed_for = vectors_get(file, "malformedFor");
	vectors_add(&tests, file, "apply", apply);
	vectors_add(&tests, file, "snapshots", snapshot);
	vectors_add(&tests, file, "chains", chain);
	vectors_add(&tests, file, "malformed", malformed);
	vectors_add_plain(&tests, "cut anywhere, or with a flipped bit in the header: rejected", damage, file);
	failed = vectors_run("delta_decode", &tests);
	json_decref(file);
	return failed;
}
