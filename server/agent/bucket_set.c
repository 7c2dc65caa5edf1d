// SPDX-License-Identifier: Apache-2.0
#include "bucket_set.h"

#include <stdlib.h>
#include <string.h>

enum numbers {
	VARINT_MAX = 4, /* bytes of 8,388,608 */
	NONE = 0xff,
};

static const char alphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

struct bucket_set *bucket_set_new(fl_u32 buckets)
{
	struct bucket_set *set = calloc(1, sizeof(*set) + (buckets + 63) / 64 * sizeof(set->words[0]));

	if (set)
		set->buckets = buckets;
	return set;
}

/* Values of base64's characters; NONE for all others. */
static const fl_u8 *values(void)
{
	static fl_u8 table[256];

	if (!table[0]) {
		memset(table, NONE, sizeof(table));
		for (fl_u8 i = 0; alphabet[i]; i++)
			table[(fl_u8)alphabet[i]] = i;
	}
	return table;
}

/* Decodes into out, which has 3 bytes for 4 of text; -1: it is no base64 with padding, or has bits behind the last byte. */
static long base64_read(const char *text, size_t len, fl_u8 *out)
{
	const fl_u8 *value = values();
	size_t padding = 0, n = 0, i;

	if (len % 4)
		return -1;
	while (padding < 2 && padding < len && text[len - 1 - padding] == '=')
		padding++;
	for (i = 0; i < len; i += 4) {
		size_t digits = i + 4 == len ? 4 - padding : 4, j;
		fl_u32 bits = 0;

		for (j = 0; j < digits; j++) {
			if (value[(fl_u8)text[i + j]] == NONE)
				return -1;
			bits |= (fl_u32)value[(fl_u8)text[i + j]] << (18 - 6 * j);
		}
		out[n++] = (fl_u8)(bits >> 16);
		if (digits > 2)
			out[n++] = (fl_u8)(bits >> 8);
		if (digits > 3)
			out[n++] = (fl_u8)bits;
		if (digits < 4 && bits & (digits == 2 ? 0xffff : 0xff))
			return -1;
	}
	return (long)n;
}

static char *base64_write(const fl_u8 *data, size_t len)
{
	char *text = malloc((len + 2) / 3 * 4 + 1), *at = text;

	for (size_t i = 0; text && i < len; i += 3) {
		size_t left = len - i;
		fl_u32 bits =
		    (fl_u32)data[i] << 16 | (left > 1 ? (fl_u32)data[i + 1] << 8 : 0) | (left > 2 ? data[i + 2] : 0);

		*at++ = alphabet[bits >> 18];
		*at++ = alphabet[bits >> 12 & 63];
		*at++ = left > 1 ? alphabet[bits >> 6 & 63] : '=';
		*at++ = left > 2 ? alphabet[bits & 63] : '=';
	}
	if (text)
		*at = '\0';
	return text;
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
