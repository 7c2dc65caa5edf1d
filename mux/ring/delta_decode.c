/* SPDX-License-Identifier: Apache-2.0 */
#include "ring/delta_decode.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "ring/backend_list.h"
#include "ring/body.h"
#include "ring/fold.h"

enum {
	LOOKUPS_PAY = 16, /* noting this many entries takes as long as finding one */
	AT_BACKENDS = 16, /* of a body */
};

/*
 * Which ids exist, and which of them may own buckets: a bit each. If a delta needs many lookups, the bits of its base
 * are filled in first. If it needs few, ids that the delta does not list are looked up in the base's list: reading all
 * of that (1.5 MB for 64 K backends) would cost more than the rest of a small delta.
 */
struct ids {
	uint64_t known[(FL_BACKEND_MAX + 1) / 64];
	uint64_t live[(FL_BACKEND_MAX + 1) / 64];
	const struct fl_delta_backend *base; /* NULL: filled in */
	uint32_t base_count;
};

static void set_bit(uint64_t *bits, uint16_t id, bool value)
{
	if (value)
		bits[id / 64] |= 1ULL << (id % 64);
	else
		bits[id / 64] &= ~(1ULL << (id % 64));
}

static bool has_bit(const uint64_t *bits, uint16_t id)
{
	return bits[id / 64] >> (id % 64) & 1;
}

static void ids_add(struct ids *ids, const struct fl_delta_backend *backend)
{
	set_bit(ids->known, backend->id, true);
	set_bit(ids->live, backend->id, !(backend->flags & FL_BACKEND_REMOVED));
}

/* The delta's entry for an id overrides the base's. */
static bool is_live(const struct ids *ids, uint16_t id)
{
	const struct fl_delta_backend *found = NULL;

	if (ids->base && !has_bit(ids->known, id))
		found = backend_list_find(ids->base, ids->base_count, id);
	return has_bit(ids->live, id) || (found && !(found->flags & FL_BACKEND_REMOVED));
}

/* Where the parts of a body are; its counts and its length agree. */
struct layout {
	const uint8_t *backends;
	uint32_t backends_count;
	const uint8_t *runs; /* from here on of a delta */
	uint32_t runs_count;
	enum fl_delta_order order;
	const uint8_t *releases;
	uint32_t releases_count;
	const uint8_t *current; /* from here on of a snapshot */
	const uint8_t *histories;
	uint32_t histories_count, entries_count;
	const uint8_t *numbers;
};

/* What the header must have, as the reader expects it. */
static struct body_expected body_of(const struct delta_expected *expected)
{
	struct body_expected body = {
	    .magic = expected->snapshot ? "FLS3" : "FLD3",
	    .service = expected->service,
	    .generation = expected->generation,
	    .base = expected->snapshot ? 0 : expected->generation - 1,
	    .buckets = expected->buckets,
	    .buckets_max = FL_BUCKETS_MAX,
	    .len_min = expected->snapshot ? SNAPSHOT_BODY_MIN + (uint64_t)expected->buckets * SNAPSHOT_BUCKET_MIN
					  : DELTA_BODY_MIN,
	};
	uint32_t of_bucket = expected->snapshot ? HISTORY_LEN_MAX : FL_DELTA_OWNER_RUN_LEN + FL_DELTA_RUN_LEN;

	body.len_max = body.len_min + DELTA_BACKENDS_LEN_MAX + (uint64_t)expected->buckets * of_bucket;
	return body;
}

static enum fl_delta_error refuse_length(struct reason *why, const char *what, uint32_t count, uint64_t body_len)
{
	return reason_set(why, FL_DELTA_LENGTH, "%u %s; allowed: what fits %" PRIu64 " bytes", count, what, body_len);
}

static enum fl_delta_error refuse_rest(struct reason *why, uint64_t len, uint64_t body_len)
{
	return reason_set(why, FL_DELTA_LENGTH, "what the body counts takes %" PRIu64 " bytes; allowed: %" PRIu64, len,
			  body_len);
}

/* Behind times and sum. Returns the offset behind them. */
static uint64_t lay_out_backends(const uint8_t *body, struct layout *out)
{
	out->backends_count = fl_load_le32(body + AT_BACKENDS);
	out->backends = body + AT_BACKENDS + 4;
	return AT_BACKENDS + 4 + (uint64_t)out->backends_count * FL_DELTA_BACKEND_LEN;
}

static enum fl_delta_error lay_out_delta(const uint8_t *body, uint64_t len, struct layout *out, struct reason *why)
{
	uint64_t at = lay_out_backends(body, out);
	uint32_t order;

	if (at + 8 > len)
		return refuse_length(why, "backends", out->backends_count, len);
	out->runs_count = fl_load_le32(body + at);
	order = fl_load_le32(body + at + 4);
	if (order >= FL_DELTA_ORDERS)
		return reason_set(why, FL_DELTA_RUN, "order %u; allowed: 0, by number, or 1, by owner", order);
	out->order = (enum fl_delta_order)order;
	out->runs = body + at + 8;
	at += 8 + (uint64_t)out->runs_count * (order == FL_DELTA_BY_OWNER ? FL_DELTA_OWNER_RUN_LEN : FL_DELTA_RUN_LEN);
	if (at + 4 > len)
		return refuse_length(why, "runs", out->runs_count, len);
	out->releases_count = fl_load_le32(body + at);
	out->releases = body + at + 4;
	at += 4 + (uint64_t)out->releases_count * FL_DELTA_RUN_LEN;
	return at == len ? FL_DELTA_OK : refuse_rest(why, at, len);
}

static enum fl_delta_error lay_out_snapshot(const uint8_t *body, uint64_t len, uint32_t buckets, struct layout *out,
					    struct reason *why)
{
	uint64_t at = lay_out_backends(body, out);

	if (at + 2 * (uint64_t)buckets + 8 > len)
		return refuse_length(why, "backends", out->backends_count, len);
	out->current = body + at;
	at += 2 * (uint64_t)buckets;
	out->histories_count = fl_load_le32(body + at);
	out->entries_count = fl_load_le32(body + at + 4);
	out->histories = body + at + 8;
	at += 8 + out->histories_count + 6 * (uint64_t)out->entries_count + 4 * (uint64_t)buckets;
	out->numbers = body + len - 4 * (uint64_t)buckets;
	return at == len ? FL_DELTA_OK : refuse_rest(why, at, len);
}

/* Reads backends into out, and notes which ids exist and which may own buckets. */
static enum fl_delta_error read_backends(const struct layout *layout, struct delta *out, struct ids *ids,
					 struct reason *why)
{
	uint32_t last = 0, allowed = FL_BACKEND_REMOVED | FL_BACKEND_FOREIGN | (out->snapshot ? 0 : FL_BACKEND_DEAD);

	for (uint32_t i = 0; i < layout->backends_count; i++) {
		struct fl_delta_backend b = fl_delta_backend_load(layout->backends + (size_t)i * FL_DELTA_BACKEND_LEN);

		if (b.id <= last)
			return reason_set(why, FL_DELTA_BACKEND, "backend id %u after %u; allowed: ascending, 1..%d",
					  b.id, last, FL_BACKEND_MAX);
		if (b.flags & ~allowed || (b.flags & (FL_BACKEND_DEAD | FL_BACKEND_REMOVED)) == FL_BACKEND_DEAD)
			return reason_set(why, FL_DELTA_BACKEND, "backend %u flags 0x%04x; allowed: REMOVED, FOREIGN%s",
					  b.id, b.flags, out->snapshot ? "" : ", DEAD with REMOVED");
		if (fl_address_is_none(&b.address))
			return reason_set(why, FL_DELTA_BACKEND, "backend %u has no address", b.id);
		last = b.id;
		ids_add(ids, &b);
		out->backends[out->backends_count++] = b;
	}
	return FL_DELTA_OK;
}

static enum fl_delta_error check_current(uint32_t bucket, uint16_t current, const struct ids *ids, struct reason *why)
{
	if (current != FL_BACKEND_NONE && !is_live(ids, current))
		return reason_set(why, FL_DELTA_RUN, "bucket %u current %u; allowed: 0 or a backend in service", bucket,
				  current);
	return FL_DELTA_OK;
}

/* A run behind `end`, among `most` buckets; count is not 0, and *start becomes its place among them. */
static enum fl_delta_error place_run(uint32_t *start, uint32_t count, uint64_t *end, uint64_t most, const char *of,
				     struct reason *why)
{
	if (!count)
		return reason_set(why, FL_DELTA_RUN, "run at %" PRIu64 " is empty", *end + *start);
	if (*end + *start + count > most)
		return reason_set(why, FL_DELTA_RUN, "run of %u at %" PRIu64 "; allowed: within %" PRIu64 " buckets%s",
				  count, *end + *start, most, of);
	*start += (uint32_t)*end;
	*end = (uint64_t)*start + count;
	return FL_DELTA_OK;
}

/*
 * Reads runs into out. owned: for a delta by owner, how many buckets each id owns in the base; a run's start then
 * counts among its owner's buckets.
 */
static enum fl_delta_error read_runs(const struct layout *layout, struct delta *out, const struct ids *ids,
				     const uint32_t *owned, struct reason *why)
{
	uint64_t end = 0, most = out->buckets;

	for (uint32_t i = 0; i < layout->runs_count; i++) {
		struct fl_delta_run run = fl_delta_run_load(layout->runs, layout->runs_count, layout->order, i);
		enum fl_delta_error error;

		if (owned && (!i || run.owner != out->runs[i - 1].owner)) {
			if (i && run.owner < out->runs[i - 1].owner)
				return reason_set(why, FL_DELTA_RUN, "run of owner %u after %u; allowed: ascending",
						  run.owner, out->runs[i - 1].owner);
			end = 0;
			most = owned[run.owner];
		}
		error = place_run(&run.start, run.count, &end, most, owned ? ", those of its owner" : "", why);
		if (!error)
			error = check_current(run.start, run.current, ids, why);
		if (error)
			return error;
		out->runs[out->runs_count++] = run;
	}
	return FL_DELTA_OK;
}

/* As read_runs(), with the base's counts. */
static enum fl_delta_error read_runs_by_owner(const struct layout *layout, struct delta *out, const struct ids *ids,
					      const struct image *base, struct reason *why)
{
	uint32_t *owned = calloc(FL_BACKEND_MAX + 1, sizeof(*owned));
	enum fl_delta_error error;

	if (!owned)
		return reason_set(why, FL_DELTA_LENGTH, "%u runs by owner; no memory", layout->runs_count);
	image_count(base, owned);
	error = read_runs(layout, out, ids, owned, why);
	free(owned);
	return error;
}

static enum fl_delta_error read_releases(const struct layout *layout, struct delta *out, struct reason *why)
{
	uint64_t end = 0;

	for (uint32_t i = 0; i < layout->releases_count; i++) {
		struct fl_delta_release release = fl_delta_release_load(layout->releases, layout->releases_count, i);
		enum fl_delta_error error = place_run(&release.start, release.count, &end, out->buckets, "", why);

		if (error)
			return error;
		out->releases[out->releases_count++] = release;
	}
	return FL_DELTA_OK;
}

static void *array(size_t count, size_t size)
{
	return malloc(count ? count * size : 1);
}

static enum fl_delta_error read_delta(const struct layout *layout, const struct delta_expected *expected,
				      struct delta *out, struct reason *why)
{
	struct ids ids = {.base = NULL};
	enum fl_delta_error error;

	if (out->base_sum != expected->sum)
		return reason_set(why, FL_DELTA_BASE,
				  "sum of generation %u %016" PRIx64 "; allowed: %016" PRIx64 ", that of this ring",
				  out->base, out->base_sum, expected->sum);
	out->runs = array(layout->runs_count, sizeof(*out->runs));
	out->releases = array(layout->releases_count, sizeof(*out->releases));
	if (!out->runs || !out->releases)
		return reason_set(why, FL_DELTA_LENGTH, "%u runs and %u releases; no memory", layout->runs_count,
				  layout->releases_count);
	if (layout->runs_count < expected->backends_count / LOOKUPS_PAY) {
		ids.base = expected->backends;
		ids.base_count = expected->backends_count;
	}
	for (uint32_t i = 0; !ids.base && i < expected->backends_count; i++)
		ids_add(&ids, &expected->backends[i]);
	error = read_backends(layout, out, &ids, why);
	out->order = layout->order;
	if (!error)
		error = out->order == FL_DELTA_BY_OWNER ? read_runs_by_owner(layout, out, &ids, expected->image, why)
							: read_runs(layout, out, &ids, NULL, why);
	if (!error)
		error = read_releases(layout, out, why);
	return error ? error : fold_check(expected->image, out, why);
}

/* One history, of `count` entries from the at-th on. */
static enum fl_delta_error read_history(const struct layout *layout, uint32_t at, uint32_t count, const struct ids *ids,
					struct history *out, struct reason *why)
{
	const uint8_t *owners = layout->histories + layout->histories_count;
	const uint8_t *since = owners + 2 * (size_t)layout->entries_count;

	*out = (struct history){.count = 0};
	if (!count || fl_list_is_too_long(count) || count > layout->entries_count - at)
		return reason_set(why, FL_DELTA_RUN, "history of %u entries; allowed: 1 to %zu, of %u that are left",
				  count, sizeof(out->owner) / sizeof(out->owner[0]), layout->entries_count - at);
	for (uint32_t i = at; i < at + count; i++) {
		uint16_t owner = fl_load_le16(owners + 2 * (size_t)i);

		if (!has_bit(ids->known, owner) || history_has(out, owner))
			return reason_set(why, FL_DELTA_RUN,
					  "entry %u owner %u; allowed: a backend that is known, once in a history", i,
					  owner);
		history_append(out, owner, fl_load_le32(since + 4 * (size_t)i));
	}
	return FL_DELTA_OK;
}

static enum fl_delta_error read_histories(const struct layout *layout, struct delta *out, const struct ids *ids,
					  struct reason *why)
{
	uint32_t at = 0;

	if (layout->histories_count > out->buckets)
		return reason_set(why, FL_DELTA_RUN, "%u histories; allowed: one for each of %u buckets",
				  layout->histories_count, out->buckets);
	for (uint32_t i = 0; i < layout->histories_count; i++) {
		struct history history;
		uint32_t number;
		enum fl_delta_error error = read_history(layout, at, layout->histories[i], ids, &history, why);

		if (error)
			return error;
		if (histories_add(&out->image.histories, &history, &number))
			return reason_set(why, FL_DELTA_LENGTH, "%u histories; no memory", layout->histories_count);
		if (number != i + 1)
			return reason_set(why, FL_DELTA_RUN, "history %u is history %u; allowed: each once", i + 1,
					  number);
		at += history.count;
	}
	if (at != layout->entries_count)
		return reason_set(why, FL_DELTA_RUN, "histories of %u entries; allowed: %u", at, layout->entries_count);
	return FL_DELTA_OK;
}

static enum fl_delta_error read_buckets(const struct layout *layout, struct delta *out, const struct ids *ids,
					struct reason *why)
{
	uint32_t seen = 0, count = layout->histories_count;

	for (uint32_t i = 0; i < out->buckets; i++) {
		uint16_t current = fl_load_le16(layout->current + 2 * (size_t)i);
		uint32_t number = fl_load_le32(layout->numbers + 4 * (size_t)i);
		enum fl_delta_error error = check_current(i, current, ids, why);

		if (error)
			return error;
		if (number > seen + (seen < count))
			return reason_set(why, FL_DELTA_RUN, "bucket %u history %u; allowed: 0..%u", i, number,
					  seen + (seen < count));
		if (number > seen)
			seen = number;
		if (history_has(histories_get(&out->image.histories, number), current))
			return reason_set(why, FL_DELTA_RUN, "bucket %u current %u, in its history; allowed: another",
					  i, current);
		out->image.current[i] = current;
		out->image.history[i] = number;
	}
	if (seen != count)
		return reason_set(why, FL_DELTA_RUN, "history %u is of no bucket", seen + 1);
	return FL_DELTA_OK;
}

static enum fl_delta_error read_snapshot(const struct layout *layout, uint64_t said, struct delta *out,
					 struct reason *why)
{
	struct ids ids = {.base = NULL};
	enum fl_delta_error error = read_backends(layout, out, &ids, why);
	uint64_t sum;

	if (!error && !image_init(&out->image, out->buckets))
		error = reason_set(why, FL_DELTA_LENGTH, "%u buckets; no memory", out->buckets);
	if (!error)
		error = read_histories(layout, out, &ids, why);
	if (!error)
		error = read_buckets(layout, out, &ids, why);
	if (error)
		return error;
	image_sum_up(&out->image);
	out->image.kept = out->image.histories.count;
	sum = out->image.sum + backend_list_sum(out->backends, out->backends_count);
	if (said != sum)
		return reason_set(why, FL_DELTA_BASE, "sum %016" PRIx64 "; allowed: %016" PRIx64 ", that of the ring",
				  said, sum);
	return FL_DELTA_OK;
}

static enum fl_delta_error read_body(const struct body *body, const struct delta_expected *expected, struct delta *out,
				     struct reason *why)
{
	struct layout layout = {0};
	enum fl_delta_error error = out->snapshot ? lay_out_snapshot(body->data, body->len, out->buckets, &layout, why)
						  : lay_out_delta(body->data, body->len, &layout, why);

	if (error)
		return error;
	out->backends = array(layout.backends_count, sizeof(*out->backends));
	if (!out->backends)
		return reason_set(why, FL_DELTA_LENGTH, "%u backends; no memory", layout.backends_count);
	if (out->snapshot) {
		error = read_snapshot(&layout, fl_load_le64(body->data + 8), out, why);
		out->image.committed = fl_load_le32(body->data);
		out->image.closed_until = fl_load_le32(body->data + 4);
		return error;
	}
	out->committed = fl_load_le32(body->data);
	out->closed_until = fl_load_le32(body->data + 4);
	out->base_sum = fl_load_le64(body->data + 8);
	return read_delta(&layout, expected, out, why);
}

enum fl_delta_error delta_decode(const uint8_t *data, size_t len, const struct delta_expected *expected,
				 struct delta *out, struct reason *why)
{
	struct body_expected of_body = body_of(expected);
	struct delta decoded = {
	    .snapshot = expected->snapshot,
	    .service = expected->service,
	    .generation = expected->generation,
	    .base = of_body.base,
	    .buckets = expected->buckets,
	};
	struct body body = {NULL, 0};
	enum fl_delta_error error = body_open(data, len, &of_body, &body, why);

	if (error)
		return error;
	error = read_body(&body, expected, &decoded, why);
	free(body.data);
	if (error)
		delta_free(&decoded);
	else
		*out = decoded;
	return error;
}
