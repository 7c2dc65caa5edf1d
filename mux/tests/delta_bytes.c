/* SPDX-License-Identifier: Apache-2.0 */
#include "delta_bytes.h"

#include <stdlib.h>
#include <string.h>

#include <zstd.h>

#include "ring/backend_list.h"

static void *must(void *p)
{
	if (!p)
		abort();
	return p;
}

static void store(uint8_t *p, uint64_t value, int bytes)
{
	for (int i = 0; i < bytes; i++)
		p[i] = (uint8_t)(value >> (8 * i));
}

uint8_t *delta_bytes_frame(const char *magic, const struct delta *delta, const uint8_t *body, size_t body_len,
			   size_t *len)
{
	size_t room = ZSTD_compressBound(body_len);
	uint8_t *out = must(malloc(FL_DELTA_HEADER_LEN + room));
	size_t frame = ZSTD_compress(out + FL_DELTA_HEADER_LEN, room, body, body_len, 1);

	if (ZSTD_isError(frame))
		abort();
	memcpy(out, magic, 4);
	store(out + 4, delta->service, 4);
	store(out + 8, delta->generation, 4);
	store(out + 12, delta->base, 4);
	store(out + 16, delta->buckets, 4);
	store(out + 20, body_len, 8);
	store(out + FL_DELTA_CRC_AT, fl_crc32c(fl_crc32c(0, out, FL_DELTA_CRC_AT), body, body_len), 4);
	*len = FL_DELTA_HEADER_LEN + frame;
	return out;
}

uint8_t *delta_bytes_wrap(const struct delta *delta, const uint8_t *body, size_t body_len, size_t *len)
{
	return delta_bytes_frame(delta->snapshot ? "FLS3" : "FLD3", delta, body, body_len, len);
}

/* Writes the runs at `at`; returns the position behind them. */
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
		if (by_owner)
			store(at + 10 * n + 2 * i, run->owner, 2);
		end = run->start + run->count;
	}
	return at + n * (by_owner ? FL_DELTA_OWNER_RUN_LEN : FL_DELTA_RUN_LEN);
}

static uint8_t *write_releases(const struct delta *d, uint8_t *at)
{
	size_t n = d->releases_count;
	uint32_t end = 0;

	store(at, n, 4);
	at += 4;
	for (size_t i = 0; i < n; i++) {
		const struct fl_delta_release *release = &d->releases[i];

		store(at + 4 * i, release->start - end, 4);
		store(at + 4 * (n + i), release->count, 4);
		store(at + 8 * n + 2 * i, release->owner, 2);
		end = release->start + release->count;
	}
	return at + n * FL_DELTA_RUN_LEN;
}

static uint8_t *write_backends(const struct delta *d, uint8_t *at)
{
	store(at, d->backends_count, 4);
	at += 4;
	for (uint32_t i = 0; i < d->backends_count; i++, at += FL_DELTA_BACKEND_LEN) {
		store(at, d->backends[i].id, 2);
		store(at + 2, d->backends[i].flags, 2);
		store(at + 4, d->backends[i].weight, 2);
		memcpy(at + 6, d->backends[i].address.bytes, 16);
	}
	return at;
}

static uint8_t *write_histories(const struct histories *histories, uint8_t *at)
{
	size_t n = histories->count, entries = 0, entry = 0;

	for (size_t i = 0; i < n; i++)
		entries += histories->list[i].count;
	store(at, n, 4);
	store(at + 4, entries, 4);
	at += 8;
	for (size_t i = 0; i < n; i++) {
		const struct history *history = &histories->list[i];

		store(at + i, history->count, 1);
		for (size_t j = 0; j < history->count; j++, entry++) {
			store(at + n + 2 * entry, history->owner[j], 2);
			store(at + n + 2 * entries + 4 * entry, history->since[j], 4);
		}
	}
	return at + n + 6 * entries;
}

static size_t delta_room(const struct delta *d)
{
	return DELTA_BODY_MIN + (size_t)d->backends_count * FL_DELTA_BACKEND_LEN +
	       (size_t)d->runs_count * FL_DELTA_OWNER_RUN_LEN + (size_t)d->releases_count * FL_DELTA_RUN_LEN;
}

static uint8_t *write_delta(const struct delta *d, uint8_t *at)
{
	store(at, d->committed, 4);
	store(at + 4, d->closed_until, 4);
	store(at + 8, d->base_sum, 8);
	return write_releases(d, write_runs(d, write_backends(d, at + 16)));
}

/* Of an image whose histories are numbered as in a snapshot. */
static uint8_t *write_snapshot(const struct delta *d, const struct image *image, uint8_t *at)
{
	store(at, image->committed, 4);
	store(at + 4, image->closed_until, 4);
	store(at + 8, image->sum + backend_list_sum(d->backends, d->backends_count), 8);
	at = write_backends(d, at + 16);
	for (uint32_t i = 0; i < d->buckets; i++, at += 2)
		store(at, image->current[i], 2);
	at = write_histories(&image->histories, at);
	for (uint32_t i = 0; i < d->buckets; i++, at += 4)
		store(at, image->history[i], 4);
	return at;
}

uint8_t *delta_bytes_body(const struct delta *d, size_t *len)
{
	struct image image = {0};
	size_t room = delta_room(d);
	uint8_t *body;

	if (d->snapshot) {
		if (!image_copy(&image, &d->image) || image_compact(&image))
			abort();
		room += SNAPSHOT_BUCKET_MIN * (size_t)d->buckets + HISTORY_LEN_MAX * image.histories.count;
	}
	body = must(malloc(room));
	*len = (size_t)((d->snapshot ? write_snapshot(d, &image, body) : write_delta(d, body)) - body);
	image_clear(&image);
	return body;
}
