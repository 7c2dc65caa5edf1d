/* SPDX-License-Identifier: Apache-2.0 */
#include "delta_bytes.h"

#include <stdlib.h>
#include <string.h>

#include <zstd.h>

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
	return delta_bytes_frame(delta->snapshot ? "FLS2" : "FLD2", delta, body, body_len, len);
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
		store(at + 10 * n + 2 * i, run->previous, 2);
		if (by_owner)
			store(at + 12 * n + 2 * i, run->owner, 2);
		end = run->start + run->count;
	}
	return at + n * (by_owner ? FL_DELTA_OWNER_RUN_LEN : FL_DELTA_RUN_LEN);
}

uint8_t *delta_bytes_body(const struct delta *d, size_t *len)
{
	size_t room = 16 + (size_t)d->backends_count * FL_DELTA_BACKEND_LEN +
		      (size_t)d->runs_count * FL_DELTA_OWNER_RUN_LEN + (d->snapshot ? (size_t)d->buckets * 8 : 0);
	uint8_t *body = must(malloc(room)), *at = body;

	store(at, d->committed, 4);
	store(at + 4, d->backends_count, 4);
	at += 8;
	for (uint32_t i = 0; i < d->backends_count; i++, at += FL_DELTA_BACKEND_LEN) {
		store(at, d->backends[i].id, 2);
		store(at + 2, d->backends[i].flags, 2);
		store(at + 4, d->backends[i].weight, 2);
		memcpy(at + 6, d->backends[i].address.bytes, 16);
	}
	if (!d->snapshot)
		at = write_runs(d, at);
	for (uint32_t i = 0; d->snapshot && i < d->buckets; i++) {
		store(at + (size_t)i * 2, d->current[i], 2);
		store(at + (size_t)(d->buckets + i) * 2, d->previous[i], 2);
		store(at + (size_t)(d->buckets + i) * 4, d->since[i], 4);
	}
	*len = (size_t)(at - body) + (d->snapshot ? (size_t)d->buckets * 8 : 0);
	return body;
}
