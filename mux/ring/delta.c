/* SPDX-License-Identifier: Apache-2.0 */
#include "ring/delta.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "ring/backend_list.h"
#include "ring/body.h"

static const char *const names[FL_DELTA_ERRORS] = {
    [FL_DELTA_OK] = "ok",
    [FL_DELTA_TRUNCATED] = "truncated",
    [FL_DELTA_MAGIC] = "magic",
    [FL_DELTA_SERVICE] = "service",
    [FL_DELTA_GENERATION] = "generation",
    [FL_DELTA_BUCKETS] = "buckets",
    [FL_DELTA_LENGTH] = "length",
    [FL_DELTA_COMPRESSION] = "compression",
    [FL_DELTA_CHECKSUM] = "checksum",
    [FL_DELTA_BACKEND] = "backend",
    [FL_DELTA_RUN] = "run",
    [FL_DELTA_SEED] = "seed",
    [FL_DELTA_SIZE] = "size",
    [FL_DELTA_WORD] = "word",
    [FL_DELTA_PADDING] = "padding",
};

enum { LOOKUPS_PAY = 16 }; /* noting this many entries takes as long as finding one */

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

static bool is_known(const struct ids *ids, uint16_t id)
{
	return has_bit(ids->known, id) || (ids->base && backend_list_find(ids->base, ids->base_count, id));
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
	const uint8_t *runs; /* of a delta */
	uint32_t runs_count;
	enum fl_delta_order order;
	const uint8_t *columns; /* of a snapshot */
};

const char *delta_error_name(enum fl_delta_error error)
{
	return names[error];
}

/* What the header must have, as the reader expects it. */
static struct body_expected body_of(const struct delta_expected *expected)
{
	struct body_expected body = {
	    .magic = expected->snapshot ? "FLS2" : "FLD2",
	    .service = expected->service,
	    .generation = expected->generation,
	    .base = expected->snapshot ? 0 : expected->generation - 1,
	    .buckets = expected->buckets,
	    .buckets_max = FL_BUCKETS_MAX,
	    .len_min = expected->snapshot ? 8 + (uint64_t)expected->buckets * 8 : DELTA_BODY_MIN,
	};

	body.len_max = body.len_min + DELTA_BACKENDS_LEN_MAX;
	if (!expected->snapshot)
		body.len_max += (uint64_t)expected->buckets * FL_DELTA_OWNER_RUN_LEN;
	return body;
}

static enum fl_delta_error lay_out(const uint8_t *body, uint64_t body_len, const struct delta_expected *expected,
				   struct layout *out, struct reason *why)
{
	uint64_t at = 8, rest = expected->snapshot ? (uint64_t)expected->buckets * 8 : 8;

	out->backends_count = fl_load_le32(body + 4);
	out->backends = body + at;
	at += (uint64_t)out->backends_count * FL_DELTA_BACKEND_LEN;
	if (at + rest > body_len)
		return reason_set(why, FL_DELTA_LENGTH, "backends %u; allowed: what fits %" PRIu64 " bytes",
				  out->backends_count, body_len);
	if (expected->snapshot) {
		out->columns = body + at;
	} else {
		uint32_t order = fl_load_le32(body + at + 4);

		if (order >= FL_DELTA_ORDERS)
			return reason_set(why, FL_DELTA_RUN, "order %u; allowed: 0, by number, or 1, by owner", order);
		out->runs_count = fl_load_le32(body + at);
		out->order = (enum fl_delta_order)order;
		out->runs = body + at + 8;
		rest += (uint64_t)out->runs_count *
			(out->order == FL_DELTA_BY_OWNER ? FL_DELTA_OWNER_RUN_LEN : FL_DELTA_RUN_LEN);
	}
	if (at + rest != body_len)
		return reason_set(why, FL_DELTA_LENGTH,
				  "%u backends and %u runs take %" PRIu64 " bytes; allowed: %" PRIu64,
				  out->backends_count, out->runs_count, at + rest, body_len);
	return FL_DELTA_OK;
}

/* Reads backends into out, and notes which ids exist and which may own buckets. */
static enum fl_delta_error read_backends(const struct layout *layout, struct delta *out, struct ids *ids,
					 struct reason *why)
{
	uint32_t last = 0;

	for (uint32_t i = 0; i < layout->backends_count; i++) {
		struct fl_delta_backend b = fl_delta_backend_load(layout->backends + (size_t)i * FL_DELTA_BACKEND_LEN);

		if (b.id <= last)
			return reason_set(why, FL_DELTA_BACKEND, "backend id %u after %u; allowed: ascending, 1..%d",
					  b.id, last, FL_BACKEND_MAX);
		if (b.flags & ~FL_BACKEND_REMOVED)
			return reason_set(why, FL_DELTA_BACKEND, "backend %u flags 0x%04x; allowed: 0x%04x", b.id,
					  b.flags, FL_BACKEND_REMOVED);
		if (fl_address_is_none(&b.address))
			return reason_set(why, FL_DELTA_BACKEND, "backend %u has no address", b.id);
		last = b.id;
		ids_add(ids, &b);
		out->backends[out->backends_count++] = b;
	}
	return FL_DELTA_OK;
}

/* A bucket's owner must be none or live; its previous owner none or known, perhaps removed. */
static enum fl_delta_error check_owners(uint32_t bucket, uint16_t current, uint16_t previous, const struct ids *ids,
					struct reason *why)
{
	if (current != FL_BACKEND_NONE && !is_live(ids, current))
		return reason_set(why, FL_DELTA_RUN, "bucket %u current %u; allowed: 0 or a backend in service", bucket,
				  current);
	if (previous != FL_BACKEND_NONE && !is_known(ids, previous))
		return reason_set(why, FL_DELTA_RUN, "bucket %u previous %u; allowed: 0 or a backend that is known",
				  bucket, previous);
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
		if (!run.count)
			return reason_set(why, FL_DELTA_RUN, "run at %" PRIu64 " is empty", end + run.start);
		if (end + run.start + run.count > most)
			return reason_set(why, FL_DELTA_RUN,
					  "run of %u at %" PRIu64 "; allowed: within %" PRIu64 " buckets%s", run.count,
					  end + run.start, most, owned ? ", those of its owner" : "");
		error = check_owners(run.start, run.current, run.previous, ids, why);
		if (error)
			return error;
		run.start += (uint32_t)end;
		end = (uint64_t)run.start + run.count;
		out->runs[out->runs_count++] = run;
	}
	return FL_DELTA_OK;
}

/* As read_runs(), with the base's counts. */
static enum fl_delta_error read_runs_by_owner(const struct layout *layout, struct delta *out, const struct ids *ids,
					      const struct delta_expected *expected, struct reason *why)
{
	uint32_t *owned = calloc(FL_BACKEND_MAX + 1, sizeof(*owned));
	enum fl_delta_error error;

	if (!owned)
		return reason_set(why, FL_DELTA_LENGTH, "%u runs by owner; no memory", layout->runs_count);
	expected->count(expected->base, owned);
	error = read_runs(layout, out, ids, owned, why);
	free(owned);
	return error;
}

static enum fl_delta_error read_columns(const struct layout *layout, struct delta *out, const struct ids *ids,
					struct reason *why)
{
	const uint8_t *current = layout->columns;
	const uint8_t *previous = current + (size_t)out->buckets * 2;
	const uint8_t *since = previous + (size_t)out->buckets * 2;

	for (uint32_t i = 0; i < out->buckets; i++) {
		enum fl_delta_error error;

		out->current[i] = fl_load_le16(current + (size_t)i * 2);
		out->previous[i] = fl_load_le16(previous + (size_t)i * 2);
		out->since[i] = fl_load_le32(since + (size_t)i * 4);
		error = check_owners(i, out->current[i], out->previous[i], ids, why);
		if (error)
			return error;
	}
	return FL_DELTA_OK;
}

static void *array(size_t count, size_t size)
{
	return malloc(count ? count * size : 1);
}

/* Allocates what the layout announces; all of it or nothing. */
static bool reserve(const struct layout *layout, struct delta *out)
{
	out->backends = array(layout->backends_count, sizeof(*out->backends));
	if (!out->snapshot) {
		out->runs = array(layout->runs_count, sizeof(*out->runs));
		return out->backends && out->runs;
	}
	out->current = array(out->buckets, sizeof(*out->current));
	out->previous = array(out->buckets, sizeof(*out->previous));
	out->since = array(out->buckets, sizeof(*out->since));
	return out->backends && out->current && out->previous && out->since;
}

static enum fl_delta_error read_body(const struct layout *layout, const struct delta_expected *expected,
				     struct delta *out, struct reason *why)
{
	struct ids ids = {.base = NULL};
	enum fl_delta_error error;

	if (!reserve(layout, out))
		return reason_set(why, FL_DELTA_LENGTH, "%u backends and %u runs; no memory", layout->backends_count,
				  layout->runs_count);
	if (!out->snapshot && layout->runs_count < expected->backends_count / LOOKUPS_PAY) {
		ids.base = expected->backends;
		ids.base_count = expected->backends_count;
	}
	for (uint32_t i = 0; !out->snapshot && !ids.base && i < expected->backends_count; i++)
		ids_add(&ids, &expected->backends[i]);
	error = read_backends(layout, out, &ids, why);
	if (error)
		return error;
	if (out->snapshot)
		return read_columns(layout, out, &ids, why);
	out->order = layout->order;
	return out->order == FL_DELTA_BY_OWNER ? read_runs_by_owner(layout, out, &ids, expected, why)
					       : read_runs(layout, out, &ids, NULL, why);
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
	struct layout layout = {0};

	if (error)
		return error;
	error = lay_out(body.data, body.len, expected, &layout, why);
	if (!error)
		error = read_body(&layout, expected, &decoded, why);
	if (!error)
		decoded.committed = fl_load_le32(body.data);
	free(body.data);
	if (error)
		delta_free(&decoded);
	else
		*out = decoded;
	return error;
}

void delta_free(struct delta *delta)
{
	free(delta->backends);
	free(delta->runs);
	free(delta->current);
	free(delta->previous);
	free(delta->since);
	*delta = (struct delta){0};
}
