/* SPDX-License-Identifier: Apache-2.0 */
/* Rings and backend tables: snapshots, random deltas against plain arrays, rejected deltas that change nothing. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "ring/backend.h"
#include "encap/gue.h"
#include "ring/fold.h"
#include "ring/lists.h"
#include "ring/ring.h"
#include "image.h"

enum { BUCKETS = 1024, BACKENDS = 20, STEPS = 2000 };

static struct next_hop hop = {.resolved = true, .mtu = 1600, .source = {{[10] = 0xff, 0xff, 10, 1, 0, 11}}};
static const struct next_hops hops = {.context = &hop, .lookup = image_hop};

static int apply(struct ring *ring, const struct delta *delta, struct reason *why)
{
	struct fold fold;
	int error = ring_start(ring, delta, &fold, why);

	if (error)
		return error;
	ring_commit(ring, delta, &fold);
	fold_end(&fold);
	ring_set_generation(ring, delta->generation);
	return 0;
}

static void a_snapshot_is_copied_row_by_row(void **state)
{
	struct delta snapshot = image_snapshot(1, 5, BUCKETS, BACKENDS);
	struct ring *ring;

	(void)state;
	image_was(&snapshot, 7, 9, 1700000000);
	ring = image_ring(&snapshot);
	assert_int_equal(ring_generation(ring), 5);
	assert_int_equal(ring_buckets(ring), BUCKETS);
	for (uint32_t i = 0; i < BUCKETS; i++) {
		assert_int_equal(fl_row_current(ring_row(ring, i)), snapshot.image.current[i]);
		assert_int_equal(lists_count(ring_row(ring, i)), i == 7);
	}
	ring_free(ring);
	image_free(&snapshot);
}

/* Ascending runs with gaps, as a delta has them, and releases so that no history becomes too long. */
static struct delta random_delta(struct chance *chance, const struct delta *image)
{
	struct delta d = image_move(image, image->generation + 1, 0, BUCKETS, 0, 1700000000 + image->generation);
	uint32_t at = chance_below(chance, 50);

	d.releases[0].owner = (uint16_t)chance_below(chance, BACKENDS);
	d.closed_until = chance_below(chance, 3) ? 0 : d.committed - 1 - chance_below(chance, 3);
	if (image->image.histories.count > BUCKETS / 2)
		d.releases[0].owner = 0;
	free(d.runs);
	d.runs = calloc(BUCKETS, sizeof(*d.runs));
	assert_non_null(d.runs);
	d.runs_count = 0;
	while (at < BUCKETS) {
		uint32_t count = 1 + chance_below(chance, BUCKETS - at < 30 ? BUCKETS - at : 30);

		d.runs[d.runs_count++] =
		    (struct fl_delta_run){at, count, (uint16_t)chance_below(chance, BACKENDS + 1), 0};
		at += count + chance_below(chance, 100);
	}
	return d;
}

/* The run of a delta by number that has the bucket, NULL: none. */
static const struct fl_delta_run *run_of(const struct delta *delta, uint32_t bucket)
{
	for (uint32_t i = 0; i < delta->runs_count; i++)
		if (bucket - delta->runs[i].start < delta->runs[i].count)
			return &delta->runs[i];
	return NULL;
}

/* The same moves by owner: neighbours among an owner's buckets that move alike are one run. */
static void by_owner(struct delta *delta, const struct ring *base)
{
	struct fl_delta_run *runs = calloc(BUCKETS, sizeof(*runs)), *last = NULL;
	uint32_t n = 0;

	assert_non_null(runs);
	for (uint16_t owner = 0; owner <= BACKENDS; owner++) {
		uint32_t rank = 0;

		for (uint32_t bucket = 0; bucket < BUCKETS; bucket++) {
			const struct fl_delta_run *run;

			if (fl_row_current(ring_row(base, bucket)) != owner)
				continue;
			run = run_of(delta, bucket);
			last = n ? &runs[n - 1] : NULL;
			if (run && last && last->owner == owner && last->start + last->count == rank &&
			    last->current == run->current)
				last->count++;
			else if (run)
				runs[n++] = (struct fl_delta_run){rank, 1, run->current, owner};
			rank++;
		}
	}
	free(delta->runs);
	delta->order = FL_DELTA_BY_OWNER;
	delta->runs = runs;
	delta->runs_count = n;
}

/* The rows follow from the image, and its sum is that of all buckets. */
static void assert_whole(struct ring *ring)
{
	uint64_t sum = ring->image.sum;

	for (uint32_t i = 0; i < BUCKETS; i++) {
		const struct history *history = histories_get(&ring->image.histories, ring->image.history[i]);

		assert_int_equal(fl_row_current(ring_row(ring, i)), ring->image.current[i]);
		assert_int_equal(lists_count(ring_row(ring, i)), history->count);
	}
	image_sum_up(&ring->image);
	assert_int_equal(ring->image.sum, sum);
}

/* Empties all histories. */
static void release_all(struct delta *image, struct ring *ring)
{
	struct delta release = image_move(image, image->generation + 1, 0, BUCKETS, 0, 1700000000);
	struct reason why;

	release.runs_count = 0;
	assert_int_equal(delta_fold(image, &release), 0);
	assert_int_equal(apply(ring, &release, &why), 0);
	image_free(&release);
}

/* By number and by owner, to a ring and to an image aside. */
static void random_deltas_have_the_same_effect_on_rows_and_image(void **state)
{
	struct delta image = image_snapshot(1, 1, BUCKETS, BACKENDS);
	struct ring *ring = image_ring(&image), *again;
	struct chance chance = {20261120};
	struct reason why;
	int applied = 0;

	(void)state;
	for (int step = 0; applied < STEPS && step < 3 * STEPS; step++) {
		struct delta delta = random_delta(&chance, &image);
		int error = fold_check(&image.image, &delta, &why) ? -EINVAL : 0;

		assert_int_equal(delta_fold(&image, &delta), error);
		if (step % 2)
			by_owner(&delta, ring);
		assert_int_equal(apply(ring, &delta, &why), error);
		assert_whole(ring);
		image_free(&delta);
		applied += !error;
		if (error)
			release_all(&image, ring);
	}
	assert_int_equal(applied, STEPS);
	again = image_ring(&image);
	assert_int_equal(ring_generation(ring), ring_generation(again));
	assert_memory_equal(ring->rows, again->rows, BUCKETS * sizeof(fl_row));
	assert_int_equal(ring_sum(ring), ring_sum(again));
	ring_free(ring);
	ring_free(again);
	image_free(&image);
}

static void the_sum_covers_backends_that_are_not_removed(void **state)
{
	struct delta snapshot = image_snapshot(1, 5, 256, 2), change = image_move(&snapshot, 6, 0, 0, 0, 7);
	struct fl_delta_backend entry = {2, FL_BACKEND_REMOVED, 0, snapshot.backends[1].address};
	struct ring *ring = image_ring(&snapshot);
	struct reason why;

	(void)state;
	ring->backends = backends_new(&encap_gue, NULL, &snapshot, &hops, &why);
	assert_non_null(ring->backends);
	assert_int_equal(ring_sum(ring), delta_expected_by(&snapshot).sum);
	change.runs_count = 0;
	change.backends_count = 1;
	change.backends = &entry;
	assert_true(backends_change(ring->backends, &change, &hops));
	assert_int_equal(ring_sum(ring), ring->image.sum + fl_sum_backend(&snapshot.backends[0]));
	entry.flags |= FL_BACKEND_DEAD;
	assert_true(backends_change(ring->backends, &change, &hops));
	assert_int_equal(ring_sum(ring), ring->image.sum + fl_sum_backend(&snapshot.backends[0]));
	entry.flags = 0;
	assert_true(backends_change(ring->backends, &change, &hops));
	assert_int_equal(ring_sum(ring), delta_expected_by(&snapshot).sum);
	change.backends = NULL;
	image_free(&change);
	image_free(&snapshot);
	ring_free(ring);
}

/* Histories come and go, and the table of distinct ones stays in proportion to those that buckets have. */
static void histories_without_a_bucket_are_dropped(void **state)
{
	struct delta image = image_snapshot(1, 1, BUCKETS, 2);
	uint32_t most = 0;

	(void)state;
	for (uint32_t i = 0; i < 20000; i++) {
		struct delta move =
		    image_move(&image, image.generation + 1, i % 8, 1, (uint16_t)(1 + i / 8 % 2), 1700000000 + i);

		assert_int_equal(delta_fold(&image, &move), 0);
		most = image.image.histories.count > most ? image.image.histories.count : most;
		image_free(&move);
	}
	assert_in_range(most, 4096, 4200);
	assert_int_equal(image_compact(&image.image), 0);
	assert_in_range(image.image.histories.count, 1, 8);
	image_free(&image);
}

static void a_delta_that_does_not_follow_is_rejected_and_changes_nothing(void **state)
{
	struct delta snapshot = image_snapshot(1, 5, BUCKETS, BACKENDS);
	struct delta good = image_move(&snapshot, 6, 0, 10, 2, 1700000000);
	const struct {
		const char *word;
		int error;
		struct delta delta;
	} rows[] = {
	    {"base", -ESTALE, {.generation = 7, .base = 6, .buckets = BUCKETS}},
	    {"base", -ESTALE, {.generation = 5, .base = 4, .buckets = BUCKETS}},
	    {"buckets", -EINVAL, {.generation = 6, .base = 5, .buckets = 2 * BUCKETS}},
	    {"snapshot", -EINVAL, {.snapshot = true, .generation = 6, .buckets = BUCKETS}},
	};
	struct ring *ring = image_ring(&snapshot);
	uint64_t before = ring_sum(ring);
	struct reason why;

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct delta delta = rows[i].delta;

		delta.runs = good.runs;
		delta.runs_count = good.runs_count;
		assert_int_equal(apply(ring, &delta, &why), rows[i].error);
		assert_non_null(strstr(why.text, rows[i].word));
		assert_int_equal(ring_sum(ring), before);
		assert_int_equal(ring_generation(ring), 5);
	}
	assert_int_equal(ring_load(ring, &good, &why), -EINVAL);
	snapshot.buckets = 512;
	assert_int_equal(ring_load(ring, &snapshot, &why), -EINVAL);
	assert_int_equal(apply(ring, &good, &why), 0);
	assert_int_not_equal(ring_sum(ring), before);
	ring_free(ring);
	image_free(&good);
	image_free(&snapshot);
}

static void assert_destination(const struct backend *backend, const char *ipv4)
{
	struct fl_address to = encap_destination(&backend->outer);

	assert_memory_equal(to.bytes + 12, ipv4, 4);
}

static void backends_are_added_changed_and_kept_when_removed(void **state)
{
	struct delta snapshot = image_snapshot(1, 1, BUCKETS, 3);
	struct fl_delta_backend change[] = {
	    {.id = 2, .flags = FL_BACKEND_REMOVED, .address = image_address("10.1.0.22")},
	    {.id = 3, .address = image_address("10.1.0.33")},
	    {.id = 65535, .address = image_address("10.1.0.99")},
	};
	struct delta delta = {.service = 1, .backends_count = 3, .backends = change};
	struct backends *first, *second;
	struct fl_address address;
	struct reason why;

	(void)state;
	first = backends_new(&encap_gue, NULL, &snapshot, &hops, &why);
	assert_non_null(first);
	second = backends_new(&encap_gue, first, &delta, &hops, &why);
	assert_non_null(second);
	assert_int_equal(second->count, 4);
	assert_int_equal(second->size, 65536);
	assert_true(backends_address(second, 1, &address));
	assert_true(backends_address(second, 2, &address));
	assert_destination(backends_get(second, 2), "\x0a\x01\x00\x16");
	assert_destination(backends_get(second, 3), "\x0a\x01\x00\x21");
	assert_destination(backends_get(second, 65535), "\x0a\x01\x00\x63");
	assert_null(backends_get(second, 4));
	assert_false(backends_address(second, 4, &address));
	assert_null(backends_get(first, 65535));
	assert_destination(backends_get(first, 3), "\x0a\x01\x00\x17");
	backends_free(first);
	backends_free(second);
	image_free(&snapshot);
}

static void note_hop(void *context, const struct fl_address *address, struct next_hop *out)
{
	bool *asked = context;

	asked[address->bytes[15]] = true;
	image_hop(&hop, address, out);
}

static void a_removed_backend_s_next_hop_is_not_looked_up(void **state)
{
	struct delta snapshot = image_snapshot(1, 1, 256, 3);
	struct fl_delta_backend change[] = {
	    {.id = 2, .flags = FL_BACKEND_REMOVED, .address = image_address("10.1.0.22")},
	    {.id = 9, .flags = FL_BACKEND_REMOVED, .address = image_address("10.1.0.29")},
	};
	struct delta delta = {.service = 1, .backends_count = 2, .backends = change};
	bool asked[256] = {false};
	const struct next_hops noted = {.context = asked, .lookup = note_hop};
	struct backends *first, *second;
	struct backend kept;
	struct reason why;
	int error;

	(void)state;
	hop.resolved = true;
	first = backends_new(&encap_gue, NULL, &snapshot, &hops, &why);
	second = backends_new(&encap_gue, first, &delta, &noted, &why);
	assert_non_null(second);
	assert_false(asked[21] || asked[23]); /* their next hops are kept */
	assert_false(asked[22] || asked[29]);
	/* packets in flight are still sent by its old line */
	kept = *backends_get(first, 2);
	kept.removed = true;
	assert_memory_equal(&kept, backends_get(second, 2), sizeof(kept));
	assert_int_equal(backends_get(second, 9)->state, BACKEND_NO_NEIGHBOUR);
	assert_destination(backends_get(second, 9), "\x0a\x01\x00\x1d");
	memset(asked, 0, sizeof(asked));
	hop.mtu++;
	backends_free(first);
	first = backends_refresh(second, 1, &noted, &error);
	assert_non_null(first);
	assert_true(asked[21] && asked[23]);
	assert_false(asked[22] || asked[29]);
	assert_memory_equal(backends_get(first, 2), backends_get(second, 2), sizeof(struct backend));
	backends_free(first);
	backends_free(second);
	image_free(&snapshot);
}

static void one_table_has_both_families(void **state)
{
	struct fl_delta_backend list[] = {{.id = 8, .address = image_address("10.1.0.28")},
					  {.id = 9, .address = image_address("2001:db8:1::29")}};
	struct delta delta = {.service = 1, .backends_count = 2, .backends = list};
	struct backends *backends;
	struct reason why;

	(void)state;
	backends = backends_new(&encap_gue, NULL, &delta, &hops, &why);
	assert_non_null(backends);
	for (int i = 0; i < 2; i++) {
		const struct backend *row = backends_get(backends, list[i].id);
		struct fl_address to = encap_destination(&row->outer);

		assert_int_equal(row->outer.ipv6, i);
		assert_memory_equal(&to, &list[i].address, sizeof(to));
	}
	backends_free(backends);
}

static void templates_are_rebuilt_only_when_a_next_hop_changes(void **state)
{
	struct delta snapshot = image_snapshot(1, 1, BUCKETS, 3);
	struct backends *first, *second;
	struct reason why;
	int error;

	(void)state;
	hop.resolved = false;
	first = backends_new(&encap_gue, NULL, &snapshot, &hops, &why);
	assert_non_null(first);
	assert_int_equal(backends_get(first, 1)->state, BACKEND_NO_NEIGHBOUR);
	assert_null(backends_refresh(first, 1, &hops, &error));
	assert_int_equal(error, 0);
	hop.resolved = true;
	second = backends_refresh(first, 1, &hops, &error);
	assert_non_null(second);
	assert_int_equal(backends_get(second, 1)->state, BACKEND_READY);
	backends_free(first);
	backends_free(second);
	image_free(&snapshot);
}

/* A delta of a few ids: added, removed, back again, with another address. Ascending. */
static uint32_t random_changes(struct chance *chance, struct fl_delta_backend *out, uint32_t ids)
{
	uint32_t count = 0;

	for (uint32_t id = 1 + chance_below(chance, ids / 2); id < ids; id += 1 + chance_below(chance, ids / 2)) {
		out[count] = (struct fl_delta_backend){.id = (uint16_t)id,
						       .weight = (uint16_t)chance_below(chance, 200),
						       .flags = chance_below(chance, 3) ? 0 : FL_BACKEND_REMOVED,
						       .address = image_address("10.1.0.1")};
		fl_store_be16(out[count].address.bytes + 14, (uint16_t)id);
		if (!chance_below(chance, 8))
			out[count].address.bytes[13] = 2;
		count++;
	}
	return count;
}

static void assert_same_table(const struct backends *one, const struct backends *other)
{
	uint32_t size = one->size < other->size ? one->size : other->size;

	assert_int_equal(one->count, other->count);
	for (uint32_t i = 0; i < one->count; i++) {
		assert_int_equal(one->list[i].id, other->list[i].id);
		assert_int_equal(one->list[i].weight, other->list[i].weight);
		assert_int_equal(one->list[i].flags, other->list[i].flags);
		assert_true(fl_address_equal(&one->list[i].address, &other->list[i].address));
		assert_in_range(one->list[i].id, 1, size - 1);
	}
	assert_memory_equal(one->rows, other->rows, size * sizeof(*one->rows));
}

static void a_table_changed_in_place_equals_a_new_one(void **state)
{
	struct delta snapshot = image_snapshot(1, 1, BUCKETS, 30);
	struct fl_delta_backend list[200];
	struct chance chance = {20261122};
	struct backends *table;
	uint32_t in_place = 0, rounds = 3000, removed = 0;
	struct reason why;

	(void)state;
	hop.resolved = true;
	table = backends_new(&encap_gue, NULL, &snapshot, &hops, &why);
	for (uint32_t i = 0; i < rounds; i++) {
		struct delta delta = {.service = 1, .backends = list};
		struct backends *anew, *before = backends_new(&encap_gue, table, &delta, &hops, &why); /* a copy */

		delta.backends_count = random_changes(&chance, list, i < rounds / 2 ? 60 : 200);
		anew = backends_new(&encap_gue, before, &delta, &hops, &why);
		if (backends_change(table, &delta, &hops)) {
			assert_same_table(table, anew);
			in_place++;
			backends_free(anew);
		} else {
			assert_same_table(table, before);
			backends_free(table);
			table = anew;
		}
		backends_free(before);
	}
	assert_in_range(in_place, rounds / 4, rounds - 1);
	hop.mtu++; /* an existing line is not overwritten */
	while (!(table->list[removed].flags & FL_BACKEND_REMOVED))
		removed++;
	list[0] = table->list[removed];
	list[0].flags = 0;
	assert_false(
	    backends_change(table, &(struct delta){.service = 1, .backends = list, .backends_count = 1}, &hops));
	backends_free(table);
	image_free(&snapshot);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(a_snapshot_is_copied_row_by_row),
	    cmocka_unit_test(random_deltas_have_the_same_effect_on_rows_and_image),
	    cmocka_unit_test(histories_without_a_bucket_are_dropped),
	    cmocka_unit_test(the_sum_covers_backends_that_are_not_removed),
	    cmocka_unit_test(a_delta_that_does_not_follow_is_rejected_and_changes_nothing),
	    cmocka_unit_test(backends_are_added_changed_and_kept_when_removed),
	    cmocka_unit_test(a_table_changed_in_place_equals_a_new_one),
	    cmocka_unit_test(a_removed_backend_s_next_hop_is_not_looked_up),
	    cmocka_unit_test(one_table_has_both_families),
	    cmocka_unit_test(templates_are_rebuilt_only_when_a_next_hop_changes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
