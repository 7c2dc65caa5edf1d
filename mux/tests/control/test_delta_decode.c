/* SPDX-License-Identifier: Apache-2.0 */
/* delta.h against delta.json: what decodes gives the image there, what does not gives the error there. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <zstd.h>

#include "ring/backend.h"
#include "ring/delta_decode.h"
#include "ring/backend_list.h"
#include "ring/fold.h"
#include "ring/snapshot.h"
#include "vectors.h"

enum { PAD_FIRST = 30000, PAD_COUNT = 10000 }; /* ids that the vectors do not use */

static void *must(void *p)
{
	assert_non_null(p);
	return p;
}

static struct history history_of(const json_t *json)
{
	struct history history = {.count = 0};
	const json_t *one;
	size_t i;

	json_array_foreach(json, i, one) history_append(&history, (uint16_t)json_integer_value(json_array_get(one, 0)),
							(uint32_t)json_integer_value(json_array_get(one, 1)));
	return history;
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
	};
	size_t i;

	assert_true(image_init(&image.image, buckets));
	json_array_foreach(backends, i, one)
	{
		image.backends[image.backends_count++] = (struct fl_delta_backend){
		    .id = (uint16_t)vectors_number(one, "id"),
		    .flags = (uint16_t)((vectors_bool(one, "removed") ? FL_BACKEND_REMOVED : 0) |
					(vectors_bool(one, "foreign") ? FL_BACKEND_FOREIGN : 0)),
		    .weight = (uint16_t)vectors_number(one, "weight"),
		    .address = vectors_address(one, "address"),
		};
	}
	json_array_foreach(vectors_list(json, "runs"), i, one)
	{
		uint32_t start = (uint32_t)vectors_number(one, "start");
		uint32_t end = start + (uint32_t)vectors_number(one, "count"), number;
		struct history history = history_of(vectors_list(one, "history"));

		assert_int_equal(histories_add(&image.image.histories, &history, &number), 0);
		for (uint32_t bucket = start; bucket < end; bucket++) {
			image.image.current[bucket] = (uint16_t)vectors_number(one, "current");
			image.image.history[bucket] = number;
		}
	}
	image_sum_up(&image.image);
	assert_int_equal(delta_expected_by(&image).sum, strtoull(vectors_text(json, "sum"), NULL, 16));
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
	assert_int_equal(image->image.sum, expected->image.sum);
	assert_memory_equal(image->image.current, expected->image.current,
			    image->buckets * sizeof(*image->image.current));
	for (uint32_t i = 0; i < image->buckets; i++)
		assert_memory_equal(histories_get(&image->image.histories, image->image.history[i]),
				    histories_get(&expected->image.histories, expected->image.history[i]),
				    sizeof(struct history));
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
	struct delta_expected expected = delta_expected_by(image);
	struct reason why = {""};
	struct delta delta;
	enum fl_delta_error error;

	expected.generation = image->generation + 1;
	error = delta_decode(bytes->data, bytes->len, &expected, &delta, &why);
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
	assert_int_equal(image.image.committed, vectors_number(vectors_get(row, "delta"), "committed"));
	assert_int_equal(image.image.closed_until, vectors_number(vectors_get(row, "delta"), "closedUntil"));
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

	assert_int_equal(image.image.committed, vectors_number(row, "committed"));
	assert_int_equal(image.image.closed_until, vectors_number(row, "closedUntil"));
	check_equal(&image, &expected);
	delta_prune(&image); /* a snapshot lists only what is needed */
	check_equal(&image, &expected);
	vectors_free(&bytes);
	delta_free(&image);
	delta_free(&expected);
}

static int append(void *context, const void *data, size_t len)
{
	struct vectors_bytes *to = context;

	to->data = must(realloc(to->data, to->len + len));
	memcpy(to->data + to->len, data, len);
	to->len += len;
	return 0;
}

/* The snapshot that is written of the image has this body. */
static void check_body(struct delta *image, const struct vectors_bytes *body)
{
	struct vectors_bytes written = {NULL, 0};
	struct fl_delta_header header = {0};
	uint8_t *unpacked = must(malloc(body->len));

	assert_int_equal(snapshot_write(image, append, &written), 0);
	assert_int_equal(fl_delta_header_parse(written.data, written.len, &header), FL_DELTA_OK);
	assert_int_equal(header.body_len, body->len);
	assert_int_equal(
	    ZSTD_decompress(unpacked, body->len, written.data + FL_DELTA_HEADER_LEN, written.len - FL_DELTA_HEADER_LEN),
	    body->len);
	assert_memory_equal(unpacked, body->data, body->len);
	free(unpacked);
	free(written.data);
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
	struct delta_expected expected;
	struct reason why = {""};
	struct delta out, untouched;

	if (is_padded)
		pad(&image);
	expected = delta_expected_by(&image);
	expected.snapshot = is_snapshot;
	expected.generation =
	    (uint32_t)vectors_number(malformed_for, is_snapshot ? "snapshotGeneration" : "deltaGeneration");
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
	struct delta_expected expected = delta_expected_by(&image);
	struct reason why;
	struct delta out;

	expected.generation = image.generation + 1;
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
