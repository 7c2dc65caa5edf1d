/* SPDX-License-Identifier: Apache-2.0 */
#include "steering/othello/arrays.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "ring/body.h"

enum { HUGE_PAGE = 2 * 1024 * 1024, CELL_ALIGN = 64 };

/* What a patch's bytes say, before they are applied: the varints and the words that they place. */
struct changes {
	const uint8_t *varints;
	const uint8_t *values;
	uint32_t count;
};

void *othello_cells_reserve(size_t bytes)
{
	void *cells;

	if (posix_memalign(&cells, bytes >= HUGE_PAGE ? HUGE_PAGE : CELL_ALIGN, bytes))
		return NULL;
	if (bytes >= HUGE_PAGE)
		madvise(cells, bytes, MADV_HUGEPAGE);
	return cells;
}

/* Allocates arrays like these, and their cells for the caller to fill. NULL: no memory. */
static struct othello_arrays *reserve(const struct othello_arrays *like, uint8_t **cells)
{
	struct othello_arrays *arrays = malloc(sizeof(*arrays));

	*cells = othello_cells_reserve(othello_arrays_memory(like));
	if (!arrays || !*cells) {
		free(arrays);
		free(*cells);
		return NULL;
	}
	*arrays = *like;
	arrays->cells = *cells;
	arrays->references = 1;
	return arrays;
}

static struct body_expected body_of(const struct othello_expected *expected, const char *magic, uint32_t base)
{
	return (struct body_expected){
	    .magic = magic,
	    .service = expected->service,
	    .generation = expected->generation,
	    .base = base,
	    .buckets = expected->buckets,
	    .buckets_max = FL_OTHELLO_BUCKETS_MAX,
	};
}

static enum fl_delta_error check_size(const char *name, uint32_t cells, enum fl_hash_kind hash, struct reason *why)
{
	if (!cells || cells > FL_OTHELLO_CELLS_MAX)
		return reason_set(why, FL_DELTA_SIZE, "%s %u; allowed: 1..%d", name, cells, FL_OTHELLO_CELLS_MAX);
	if (hash == FL_HASH_CRC32 && (cells & (cells - 1)))
		return reason_set(why, FL_DELTA_SIZE, "%s %u; allowed with crc32: powers of two", name, cells);
	return FL_DELTA_OK;
}

/* Seed, sizes and length of a whole body; arrays get the first two. */
static enum fl_delta_error check_whole(const struct body *body, struct othello_arrays *arrays, struct reason *why)
{
	enum fl_delta_error error;
	uint64_t len;

	arrays->seed = fl_load_le64(body->data);
	arrays->na = fl_load_le32(body->data + 8);
	arrays->nb = fl_load_le32(body->data + 12);
	if (arrays->hash == FL_HASH_SIPHASH && !(arrays->seed & 1))
		return reason_set(why, FL_DELTA_SEED, "seed %016" PRIx64 "; allowed: odd numbers", arrays->seed);
	error = check_size("na", arrays->na, arrays->hash, why);
	if (!error)
		error = check_size("nb", arrays->nb, arrays->hash, why);
	if (error)
		return error;
	len = FL_OTHELLO_WHOLE_LEN + othello_arrays_words(arrays) * FL_OTHELLO_WORD_LEN;
	if (body->len != len)
		return reason_set(why, FL_DELTA_LENGTH,
				  "%u and %u cells take %" PRIu64 " bytes; allowed: %" PRIu64 ", the body length",
				  arrays->na, arrays->nb, len, body->len);
	return FL_DELTA_OK;
}

/* The last word of the arrays has no bit behind the last cell. */
static enum fl_delta_error check_padding(const struct othello_arrays *arrays, uint64_t last, struct reason *why)
{
	uint64_t used = othello_arrays_count(arrays) * arrays->bits % 64;

	if (used && last >> used)
		return reason_set(why, FL_DELTA_PADDING,
				  "last word %016" PRIx64 "; allowed: its lowest %" PRIu64 " bits", last, used);
	return FL_DELTA_OK;
}

static enum fl_delta_error read_whole(const struct body *body, const struct othello_arrays *arrays,
				      struct othello_arrays **out, struct reason *why)
{
	const uint8_t *words = body->data + FL_OTHELLO_WHOLE_LEN;
	size_t bytes = othello_arrays_words(arrays) * FL_OTHELLO_WORD_LEN;
	enum fl_delta_error error = check_padding(arrays, fl_load_le64(words + bytes - FL_OTHELLO_WORD_LEN), why);
	uint8_t *cells;

	if (error)
		return error;
	*out = reserve(arrays, &cells);
	if (!*out)
		return reason_set(why, FL_DELTA_LENGTH, "%" PRIu64 " cells; no memory", othello_arrays_count(arrays));
	memcpy(cells, words, bytes);
	return FL_DELTA_OK;
}

enum fl_delta_error othello_arrays_parse(const uint8_t *data, size_t len, const struct othello_expected *expected,
					 struct othello_arrays **out, struct reason *why)
{
	struct body_expected of_body = body_of(expected, "FLO1", 0);
	struct othello_arrays arrays = {
	    .hash = expected->hash,
	    .bits = fl_othello_bits(expected->buckets),
	    .generation = expected->generation,
	    .na = FL_OTHELLO_CELLS_MAX,
	    .nb = FL_OTHELLO_CELLS_MAX,
	};
	struct body body = {NULL, 0};
	enum fl_delta_error error;

	of_body.len_min = FL_OTHELLO_WHOLE_LEN + FL_OTHELLO_WORD_LEN;
	of_body.len_max = FL_OTHELLO_WHOLE_LEN + othello_arrays_words(&arrays) * FL_OTHELLO_WORD_LEN;
	error = body_open(data, len, &of_body, &body, why);
	if (error)
		return error;
	error = check_whole(&body, &arrays, why);
	if (!error)
		error = read_whole(&body, &arrays, out, why);
	free(body.data);
	return error;
}

/* Reads the varint at *at, which ends before end, and moves *at behind it. */
static enum fl_delta_error read_skip(const uint8_t **at, const uint8_t *end, uint32_t *skip, struct reason *why)
{
	uint8_t byte;
	int len = 0;

	*skip = 0;
	do {
		if (len == FL_OTHELLO_VARINT_MAX)
			return reason_set(why, FL_DELTA_WORD, "skip of more than %d bytes; allowed: 1..%d",
					  FL_OTHELLO_VARINT_MAX, FL_OTHELLO_VARINT_MAX);
		if (*at == end)
			return reason_set(why, FL_DELTA_LENGTH, "skips end among the words; allowed: before them");
		byte = *(*at)++;
		*skip |= (uint32_t)(byte & 0x7f) << (7 * len++);
	} while (byte & 0x80);
	if (!byte && len > 1)
		return reason_set(why, FL_DELTA_WORD, "skip %u in %d bytes; allowed: as few as it takes", *skip, len);
	return FL_DELTA_OK;
}

/* Finds the parts of a patch's body and checks them. */
static enum fl_delta_error read_changes(const struct body *body, const struct othello_arrays *arrays,
					struct changes *out, struct reason *why)
{
	uint32_t count = fl_load_le32(body->data);
	uint64_t words = othello_arrays_words(arrays), next = 0;
	const uint8_t *at = body->data + FL_OTHELLO_PATCH_LEN, *values;

	if (body->len < FL_OTHELLO_PATCH_LEN + (uint64_t)count * (FL_OTHELLO_WORD_LEN + 1))
		return reason_set(why, FL_DELTA_LENGTH, "%u changed words; allowed: what fits %" PRIu64 " bytes", count,
				  body->len);
	values = body->data + body->len - (uint64_t)count * FL_OTHELLO_WORD_LEN;
	*out = (struct changes){at, values, count};
	for (uint32_t i = 0; i < count; i++) {
		uint32_t skip;
		enum fl_delta_error error = read_skip(&at, values, &skip, why);

		if (error)
			return error;
		next += skip + 1ULL;
	}
	if (next > words)
		return reason_set(why, FL_DELTA_WORD, "changed word %" PRIu64 "; allowed: below %" PRIu64, next - 1,
				  words);
	if (at != values)
		return reason_set(why, FL_DELTA_LENGTH, "%td bytes between skips and words; allowed: none",
				  values - at);
	if (next == words && count)
		return check_padding(arrays, fl_load_le64(values + (uint64_t)(count - 1) * FL_OTHELLO_WORD_LEN), why);
	return FL_DELTA_OK;
}

static void apply(const struct changes *changes, uint8_t *cells)
{
	const uint8_t *at = changes->varints;
	uint64_t next = 0;

	for (uint32_t i = 0; i < changes->count; i++, next++) {
		struct reason why;
		uint32_t skip;

		read_skip(&at, changes->values, &skip, &why); /* read before, without an error */
		next += skip;
		memcpy(cells + next * FL_OTHELLO_WORD_LEN, changes->values + (size_t)i * FL_OTHELLO_WORD_LEN,
		       FL_OTHELLO_WORD_LEN);
	}
}

enum fl_delta_error othello_arrays_patch(const struct othello_arrays *base, const uint8_t *data, size_t len,
					 const struct othello_expected *expected, struct othello_arrays **out,
					 struct reason *why)
{
	struct body_expected of_body = body_of(expected, "FLP1", base->generation);
	struct body body = {NULL, 0};
	struct changes changes = {NULL, NULL, 0};
	enum fl_delta_error error;
	uint8_t *cells;

	of_body.len_min = FL_OTHELLO_PATCH_LEN;
	of_body.len_max =
	    FL_OTHELLO_PATCH_LEN + othello_arrays_words(base) * (FL_OTHELLO_VARINT_MAX + FL_OTHELLO_WORD_LEN);
	error = body_open(data, len, &of_body, &body, why);
	if (error)
		return error;
	error = read_changes(&body, base, &changes, why);
	if (!error) {
		*out = reserve(base, &cells);
		if (!*out)
			error = reason_set(why, FL_DELTA_LENGTH, "%" PRIu64 " cells; no memory",
					   othello_arrays_count(base));
	}
	if (!error) {
		(*out)->generation = expected->generation;
		memcpy(cells, base->cells, othello_arrays_words(base) * FL_OTHELLO_WORD_LEN);
		apply(&changes, cells);
	}
	free(body.data);
	return error;
}

struct othello_arrays *othello_arrays_keep(struct othello_arrays *arrays)
{
	__atomic_fetch_add(&arrays->references, 1, __ATOMIC_RELAXED);
	return arrays;
}

void othello_arrays_free(struct othello_arrays *arrays)
{
	if (!arrays || __atomic_sub_fetch(&arrays->references, 1, __ATOMIC_ACQ_REL))
		return;
	free((void *)(uintptr_t)arrays->cells);
	free(arrays);
}
