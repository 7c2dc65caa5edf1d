// SPDX-License-Identifier: Apache-2.0
#include "bucket_set.h"

#include <stdlib.h>
#include <string.h>

#include "base64.h"

enum numbers {
	VARINT_MAX = 4, /* bytes of 8,388,608 */
};

struct bucket_set *bucket_set_new(fl_u32 buckets)
{
	struct bucket_set *set = calloc(1, sizeof(*set) + (buckets + 63) / 64 * sizeof(set->words[0]));

	if (set)
		set->buckets = buckets;
	return set;
}

struct reader {
	const fl_u8 *at, *end;
	const char *word; /* why the last number was not read */
};

static bool varint_read(struct reader *reader, fl_u32 *number)
{
	*number = 0;
	for (unsigned i = 0; reader->at < reader->end; i++) {
		fl_u8 byte = *reader->at++;

		if (i == VARINT_MAX) {
			reader->word = "varint";
			return false;
		}
		*number |= (fl_u32)(byte & 0x7f) << 7 * i;
		if (*number > FL_BUCKETS_MAX) {
			reader->word = "varint";
			return false;
		}
		if (byte & 0x80)
			continue;
		reader->word = "varint";
		return !i || byte;
	}
	reader->word = "truncated";
	return false;
}

static void add_run(struct bucket_set *set, fl_u32 first, fl_u32 count)
{
	for (fl_u32 end = first + count; first < end;) {
		if (first % 64 == 0 && end - first >= 64) {
			set->words[first / 64] = ~0ULL;
			first += 64;
		} else {
			bucket_set_add(set, first++);
		}
	}
}

static const char *read_runs(struct bucket_set *set, struct reader reader)
{
	fl_u32 next = 0, skip, count;

	while (reader.at < reader.end) {
		if (!varint_read(&reader, &skip) || !varint_read(&reader, &count))
			return reader.word;
		if (!count)
			return "count";
		if (skip > set->buckets - next || count > set->buckets - next - skip)
			return "ring";
		add_run(set, next + skip, count);
		next += skip + count;
	}
	return NULL;
}

struct bucket_set *bucket_set_read(const char *text, fl_u32 buckets, const char **word)
{
	struct bucket_set *set = bucket_set_new(buckets);
	size_t len = strlen(text);
	fl_u8 *data = malloc(len / 4 * 3 + 1);
	long got = set && data ? base64_read(text, len, data) : 0;

	if (!set || !data)
		*word = "memory";
	else if (got < 0)
		*word = "base64";
	else
		*word = read_runs(set, (struct reader){data, data + got, NULL});
	free(data);
	if (*word) {
		free(set);
		set = NULL;
	}
	return set;
}

/* The first bucket from `from` on whose membership is `wanted`; buckets if there is none. */
static fl_u32 next_bucket(const struct bucket_set *set, fl_u32 from, bool wanted)
{
	while (from < set->buckets) {
		fl_u64 word = (wanted ? set->words[from / 64] : ~set->words[from / 64]) >> from % 64;

		if (word) {
			from += (fl_u32)__builtin_ctzll(word);
			break;
		}
		from = (from / 64 + 1) * 64;
	}
	return from < set->buckets ? from : set->buckets;
}

static fl_u8 *varint_write(fl_u8 *at, fl_u32 number)
{
	for (; number > 0x7f; number >>= 7)
		*at++ = (fl_u8)(number | 0x80);
	*at++ = (fl_u8)number;
	return at;
}

char *bucket_set_write(const struct bucket_set *set)
{
	fl_u32 first, end, runs = 0;
	fl_u8 *data, *at;
	char *text = NULL;

	for (end = 0; (first = next_bucket(set, end, true)) < set->buckets; runs++)
		end = next_bucket(set, first, false);
	data = at = malloc((size_t)runs * 2 * VARINT_MAX + 1);
	if (!data)
		return NULL;
	for (fl_u32 last = 0; (first = next_bucket(set, last, true)) < set->buckets; last = end) {
		end = next_bucket(set, first, false);
		at = varint_write(varint_write(at, first - last), end - first);
	}
	text = base64_write(data, (size_t)(at - data));
	free(data);
	return text;
}
