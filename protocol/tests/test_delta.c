/* SPDX-License-Identifier: Apache-2.0 */
/*
 * delta.h and ring.h against delta.json: header, checksum, and the entries of a body, which stands in the vectors
 * before compression. Frames and the refusals behind the header are the mux's and the controller's to test.
 */
#include <stdlib.h>
#include <string.h>

#include <fairlead/delta.h>

#include "vectors.h"

static fl_u32 checksum_of(const struct vectors_bytes *bytes, const struct vectors_bytes *body)
{
	return fl_crc32c(fl_crc32c(0, bytes->data, FL_DELTA_CRC_AT), body->data, body->len);
}

static void check_header(const json_t *row, bool snapshot, fl_u32 generation, const json_t *image)
{
	struct vectors_bytes bytes = vectors_bytes(row, "bytes"), body = vectors_bytes(row, "body");
	struct fl_delta_header header = {0}; /* gcc does not see that a failed parse ends the test */

	assert_int_equal(fl_delta_header_parse(bytes.data, bytes.len, &header), FL_DELTA_OK);
	assert_int_equal(header.snapshot, snapshot);
	assert_int_equal(header.service, vectors_number(image, "service"));
	assert_int_equal(header.generation, generation);
	assert_int_equal(header.base, snapshot ? 0 : generation - 1);
	assert_int_equal(header.buckets, vectors_number(image, "buckets"));
	assert_int_equal(header.body_len, body.len);
	assert_int_equal(header.checksum, checksum_of(&bytes, &body));
	vectors_free(&bytes);
	vectors_free(&body);
}

/* Compares the backends that begin with their count at `at`; returns the offset behind them. */
static size_t check_backends(const struct vectors_bytes *body, size_t at, const json_t *expected)
{
	const json_t *one;
	size_t i;

	assert_int_equal(fl_load_le32(body->data + at), json_array_size(expected));
	at += 4;
	json_array_foreach(expected, i, one)
	{
		struct fl_delta_backend backend = fl_delta_backend_load(body->data + at);
		struct fl_address address = vectors_address(one, "address");

		assert_int_equal(backend.id, vectors_number(one, "id"));
		assert_int_equal(backend.flags, (vectors_bool(one, "removed") ? FL_BACKEND_REMOVED : 0) +
						    (vectors_bool(one, "dead") ? FL_BACKEND_DEAD : 0) +
						    (vectors_bool(one, "foreign") ? FL_BACKEND_FOREIGN : 0));
		assert_int_equal(backend.weight, vectors_number(one, "weight"));
		assert_memory_equal(backend.address.bytes, address.bytes, 16);
		at += FL_DELTA_BACKEND_LEN;
	}
	return at;
}

static fl_u64 sum_of(const json_t *json, const char *key)
{
	return strtoull(vectors_text(json, key), NULL, 16);
}

/* Compares the moves that begin with their count at `at`; returns the offset behind them. */
static size_t check_moves(const struct vectors_bytes *body, size_t at, const json_t *delta)
{
	const json_t *moves = vectors_list(delta, "moves"), *one;
	enum fl_delta_order order =
	    strcmp(vectors_text(delta, "order"), "owner") ? FL_DELTA_BY_NUMBER : FL_DELTA_BY_OWNER;
	size_t i, n = json_array_size(moves);
	fl_u32 owner = 0, end = 0;

	assert_int_equal(fl_load_le32(body->data + at), n);
	assert_int_equal(fl_load_le32(body->data + at + 4), order);
	at += 8;
	json_array_foreach(moves, i, one)
	{
		struct fl_delta_run run = fl_delta_run_load(body->data + at, n, order, i);

		if (order == FL_DELTA_BY_OWNER) {
			assert_int_equal(run.owner, vectors_number(one, "owner"));
			end = run.owner == owner ? end : 0;
			owner = run.owner;
		}
		end += run.start + run.count;
		assert_int_equal(end - run.count, vectors_number(one, "start"));
		assert_int_equal(run.count, vectors_number(one, "count"));
		assert_int_equal(run.current, vectors_number(one, "current"));
	}
	return at + n * (order == FL_DELTA_BY_OWNER ? FL_DELTA_OWNER_RUN_LEN : FL_DELTA_RUN_LEN);
}

static size_t check_releases(const struct vectors_bytes *body, size_t at, const json_t *releases)
{
	size_t i, n = json_array_size(releases);
	const json_t *one;
	fl_u32 end = 0;

	assert_int_equal(fl_load_le32(body->data + at), n);
	at += 4;
	json_array_foreach(releases, i, one)
	{
		struct fl_delta_release release = fl_delta_release_load(body->data + at, n, i);

		end += release.start + release.count;
		assert_int_equal(end - release.count, vectors_number(one, "start"));
		assert_int_equal(release.count, vectors_number(one, "count"));
		assert_int_equal(release.owner, vectors_number(one, "owner"));
	}
	return at + n * FL_DELTA_RUN_LEN;
}

static void apply(void **state)
{
	const json_t *row = *state, *delta = vectors_get(row, "delta");
	struct vectors_bytes body = vectors_bytes(row, "body");
	size_t at;

	check_header(row, false, (fl_u32)vectors_number(delta, "generation"), vectors_get(row, "image"));
	assert_int_equal(fl_load_le32(body.data), vectors_number(delta, "committed"));
	assert_int_equal(fl_load_le32(body.data + 4), vectors_number(delta, "closedUntil"));
	assert_int_equal(fl_load_le64(body.data + 8), sum_of(delta, "baseSum"));
	assert_int_equal(fl_load_le64(body.data + 8), sum_of(vectors_get(row, "image"), "sum"));
	at = check_backends(&body, 16, vectors_list(delta, "backends"));
	at = check_moves(&body, at, delta);
	at = check_releases(&body, at, vectors_list(delta, "releases"));
	assert_int_equal(at, body.len);
	vectors_free(&body);
}

/* The columns of a snapshot's body. */
struct columns {
	const fl_u8 *current, *count, *owner, *since, *index;
	fl_u32 histories, entries;
};

static struct columns columns_of(const struct vectors_bytes *body, size_t at, fl_u32 buckets)
{
	struct columns columns = {.current = body->data + at};

	at += 2 * (size_t)buckets;
	columns.histories = fl_load_le32(body->data + at);
	columns.entries = fl_load_le32(body->data + at + 4);
	columns.count = body->data + at + 8;
	columns.owner = columns.count + columns.histories;
	columns.since = columns.owner + 2 * (size_t)columns.entries;
	columns.index = columns.since + 4 * (size_t)columns.entries;
	assert_ptr_equal(columns.index + 4 * (size_t)buckets, body->data + body->len);
	return columns;
}

/* Compares a bucket's history, and returns its part of the sum. */
static fl_u64 check_bucket(const struct columns *columns, fl_u32 bucket, const json_t *run)
{
	const json_t *history = vectors_list(run, "history"), *one;
	fl_u32 number = fl_load_le32(columns->index + 4 * (size_t)bucket), at = 0;
	fl_u16 current = fl_load_le16(columns->current + 2 * (size_t)bucket);
	fl_u64 sum = fl_sum_bucket(bucket, current);
	size_t i;

	assert_int_equal(current, vectors_number(run, "current"));
	assert_int_equal(json_array_size(history), number ? columns->count[number - 1] : 0);
	for (i = 0; i + 1 < number; i++)
		at += columns->count[i];
	json_array_foreach(history, i, one)
	{
		fl_u16 owner = fl_load_le16(columns->owner + 2 * (at + i));
		fl_u32 since = fl_load_le32(columns->since + 4 * (at + i));

		assert_int_equal(owner, json_integer_value(json_array_get(one, 0)));
		assert_int_equal(since, json_integer_value(json_array_get(one, 1)));
		sum = fl_sum_entry(sum, owner, since);
	}
	return sum;
}

static void snapshot(void **state)
{
	const json_t *row = *state, *image = vectors_get(row, "image"), *run;
	struct vectors_bytes body = vectors_bytes(row, "body");
	fl_u32 buckets = (fl_u32)vectors_number(image, "buckets"), bucket = 0;
	const json_t *backends = vectors_list(image, "backends");
	struct columns columns;
	fl_u64 sum = 0;
	size_t i;

	check_header(row, true, (fl_u32)vectors_number(image, "generation"), image);
	assert_int_equal(fl_load_le32(body.data), vectors_number(row, "committed"));
	assert_int_equal(fl_load_le32(body.data + 4), vectors_number(row, "closedUntil"));
	columns = columns_of(&body, check_backends(&body, 16, backends), buckets);
	for (i = 0; i < json_array_size(backends); i++) {
		struct fl_delta_backend one = fl_delta_backend_load(body.data + 20 + i * FL_DELTA_BACKEND_LEN);

		if (!(one.flags & FL_BACKEND_REMOVED))
			sum += fl_sum_backend(&one);
	}
	json_array_foreach(vectors_list(image, "runs"), i, run)
	{
		fl_u64 end = bucket + vectors_number(run, "count");

		assert_int_equal(bucket, vectors_number(run, "start"));
		for (; bucket < end; bucket++)
			sum += check_bucket(&columns, bucket, run);
	}
	assert_int_equal(bucket, buckets);
	assert_int_equal(sum, fl_load_le64(body.data + 8));
	assert_int_equal(sum, sum_of(image, "sum"));
	vectors_free(&body);
}

/* What the header alone can tell: too short, or no magic. The rest of the reasons need more than the header. */
static void malformed(void **state)
{
	const json_t *row = *state;
	struct vectors_bytes bytes = vectors_bytes(row, "bytes");
	bool is_snapshot = !strcmp(vectors_text(row, "kind"), "snapshot");
	const char *error = vectors_text(row, "error");
	struct fl_delta_header header = {0};
	enum fl_delta_error found = fl_delta_header_parse(bytes.data, bytes.len, &header);

	if (found == FL_DELTA_OK && header.snapshot != is_snapshot)
		found = FL_DELTA_MAGIC;
	assert_int_equal(found == FL_DELTA_TRUNCATED, !strcmp(error, "truncated"));
	assert_int_equal(found == FL_DELTA_MAGIC, !strcmp(error, "magic"));
	vectors_free(&bytes);
}

/* The published check value, and the same sum however the bytes are cut: the eight-byte steps join the single ones. */
static void crc32c(void **state)
{
	const fl_u8 digits[] = "123456789";
	fl_u8 data[61];
	fl_u32 whole, cut;

	(void)state;
	assert_int_equal(fl_crc32c(0, digits, 9), 0xe3069283);
	assert_int_equal(fl_crc32c(0, digits, 0), 0);
	for (cut = 0; cut < sizeof(data); cut++)
		data[cut] = (fl_u8)(cut * 37 + 11);
	whole = fl_crc32c(0, data, sizeof(data));
	for (cut = 0; cut <= sizeof(data); cut++)
		assert_int_equal(fl_crc32c(fl_crc32c(0, data, cut), data + cut, sizeof(data) - cut), whole);
}

int main(int argc, char **argv)
{
	json_t *file = vectors_load(argc > 1 ? argv[1] : ".", "delta.json");
	struct vectors_tests tests = {NULL, 0};
	int failed;

	vectors_add(&tests, file, "apply", apply);
	vectors_add(&tests, file, "snapshots", snapshot);
	vectors_add(&tests, file, "malformed", malformed);
	vectors_add_plain(&tests, "CRC-32C: check value, and any cut", crc32c, NULL);
	failed = vectors_run("delta", &tests);
	json_decref(file);
	return failed;
}
