/* SPDX-License-Identifier: Apache-2.0 */
#include "ring/image.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <fairlead/delta.h>

enum { UNUSED_PAY = 4096 }; /* histories */

bool image_init(struct image *image, uint32_t buckets)
{
	*image = (struct image){.buckets = buckets};
	image->current = calloc(buckets, sizeof(*image->current));
	image->history = calloc(buckets, sizeof(*image->history));
	if (!image->current || !image->history) {
		image_clear(image);
		return false;
	}
	image_sum_up(image);
	return true;
}

bool image_copy(struct image *out, const struct image *from)
{
	struct image copy = *from;

	copy.current = malloc(from->buckets * sizeof(*copy.current));
	copy.history = malloc(from->buckets * sizeof(*copy.history));
	if (!histories_copy(&copy.histories, &from->histories) || !copy.current || !copy.history) {
		image_clear(&copy);
		return false;
	}
	memcpy(copy.current, from->current, from->buckets * sizeof(*copy.current));
	memcpy(copy.history, from->history, from->buckets * sizeof(*copy.history));
	*out = copy;
	return true;
}

void image_clear(struct image *image)
{
	free(image->current);
	free(image->history);
	histories_clear(&image->histories);
	*image = (struct image){0};
}

static uint64_t sum_of(const struct image *image, uint32_t bucket)
{
	const struct history *history = histories_get(&image->histories, image->history[bucket]);
	uint64_t sum = fl_sum_bucket(bucket, image->current[bucket]);

	for (uint32_t i = 0; i < history->count; i++)
		sum = fl_sum_entry(sum, history->owner[i], history->since[i]);
	return sum;
}

void image_put(struct image *image, uint32_t bucket, uint16_t current, uint32_t history)
{
	image->sum -= sum_of(image, bucket);
	image->current[bucket] = current;
	image->history[bucket] = history;
	image->sum += sum_of(image, bucket);
}

void image_sum_up(struct image *image)
{
	image->sum = 0;
	for (uint32_t bucket = 0; bucket < image->buckets; bucket++)
		image->sum += sum_of(image, bucket);
}

int image_compact(struct image *image)
{
	uint32_t *renumbered = calloc(image->histories.count + 1, sizeof(*renumbered));
	struct histories kept = {0};

	if (!renumbered)
		return -ENOMEM;
	for (uint32_t bucket = 0; bucket < image->buckets; bucket++) {
		uint32_t number = image->history[bucket];

		if (number && !renumbered[number] &&
		    histories_add(&kept, histories_get(&image->histories, number), &renumbered[number])) {
			histories_clear(&kept);
			free(renumbered);
			return -ENOMEM;
		}
	}
	for (uint32_t bucket = 0; bucket < image->buckets; bucket++)
		image->history[bucket] = renumbered[image->history[bucket]];
	free(renumbered);
	histories_clear(&image->histories);
	image->histories = kept;
	image->kept = kept.count;
	return 0;
}

void image_compact_at_times(struct image *image)
{
	if (image->histories.count > 2 * image->kept + UNUSED_PAY)
		image_compact(image);
}

void image_note_named(const struct image *image, uint64_t named[(FL_BACKEND_MAX + 1) / 64])
{
	uint32_t last = 0;

	for (uint32_t bucket = 0; bucket < image->buckets; bucket++) {
		const struct history *history;

		if (image->history[bucket] == last)
			continue;
		last = image->history[bucket];
		history = histories_get(&image->histories, last);
		for (uint32_t i = 0; i < history->count; i++)
			named[history->owner[i] / 64] |= 1ULL << history->owner[i] % 64;
	}
}

void image_count(const struct image *image, uint32_t *counts)
{
	for (uint32_t bucket = 0; bucket < image->buckets; bucket++)
		counts[image->current[bucket]]++;
}
