/* SPDX-License-Identifier: Apache-2.0 */
/* The table of flows against a plain list, under random additions, look-ups, deletions and sweeps. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rte_eal.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "config/options.h"
#include "host/port.h"
#include "flowtable/flow_cuckoo.h"
#include "tests/image.h"

enum { KEYS = 1500, WORDS_MAX = 5, STEPS = 400000, IDLE = 300, BULK = 32, FULL_FLOWS = 1 << 16 };

static uint64_t seed = 1;

/* Flows by number; what the table should know of each. */
struct oracle {
	uint64_t keys[KEYS][WORDS_MAX];
	uint64_t hashes[KEYS];
	bool known[KEYS];
	uint32_t values[KEYS];
	uint32_t last[KEYS];
	uint32_t count;
};

/* hash_bits: how many bits of the hash differ at all: few, and flows share tags and buckets. */
static void make_flows(struct oracle *oracle, struct chance *chance, uint64_t hash_bits)
{
	memset(oracle, 0, sizeof(*oracle));
	for (uint32_t i = 0; i < KEYS; i++) {
		for (int word = 0; word < WORDS_MAX; word++)
			oracle->keys[i][word] = chance_below(chance, 4);
		oracle->keys[i][1] = i;
		oracle->hashes[i] = chance_next(chance) & hash_bits;
	}
}

/* Every bucket's counters, filter and guests follow from the flows that are in the table. */
static void check_buckets(const struct flow_cuckoo *table)
{
	uint32_t buckets = table->mask + 1, count = 0;
	uint64_t *filters = calloc(buckets, sizeof(*filters));
	uint32_t *moved = calloc(buckets, sizeof(*moved));

	assert_true(filters && moved);
	for (uint32_t at = 0; at < buckets; at++)
		for (uint32_t slot = 0; slot < FLOW_CUCKOO_SLOTS; slot++) {
			uint16_t tag = table->buckets[at].tags[slot];

			count += tag != 0;
			if (!(table->buckets[at].guests >> slot & 1))
				continue;
			assert_int_not_equal(tag, 0);
			moved[flow_cuckoo_other(table, at, tag)]++;
			filters[flow_cuckoo_other(table, at, tag)] |= flow_cuckoo_filter_bits(tag);
		}
	for (uint32_t at = 0; at < buckets; at++) {
		assert_int_equal(table->buckets[at].moved, moved[at]);
		assert_true((table->buckets[at].filter & filters[at]) == filters[at]);
		assert_true(moved[at] || !table->buckets[at].filter);
	}
	assert_int_equal(count, table->count);
	free(filters);
	free(moved);
}

static void look_at(const struct flow_cuckoo *table, const struct oracle *oracle, uint32_t number)
{
	const struct flow_cuckoo_entry *entry =
	    flow_cuckoo_find(table, oracle->keys[number], oracle->hashes[number], table->key_words);

	assert_int_equal(entry != NULL, oracle->known[number]);
	if (!entry)
		return;
	assert_int_equal(entry->value, oracle->values[number]);
	assert_int_equal(entry->last, oracle->last[number]);
}

static void look_at_many(const struct flow_cuckoo *table, const struct oracle *oracle, struct chance *chance)
{
	struct flow_cuckoo_entry *entries[BULK];
	const uint64_t *keys[BULK];
	uint64_t hashes[BULK];
	uint32_t count = 1 + chance_below(chance, BULK), numbers[BULK];

	for (uint32_t i = 0; i < count; i++) {
		numbers[i] = chance_below(chance, KEYS);
		keys[i] = oracle->keys[numbers[i]];
		hashes[i] = oracle->hashes[numbers[i]];
	}
	flow_cuckoo_find_bulk(table, keys, hashes, count, table->key_words, entries);
	for (uint32_t i = 0; i < count; i++)
		assert_ptr_equal(entries[i], flow_cuckoo_find(table, keys[i], hashes[i], table->key_words));
}

/* Returns whether the table was full. */
static bool add(struct flow_cuckoo *table, struct oracle *oracle, uint32_t number, uint32_t value, uint32_t now)
{
	bool is_new;
	struct flow_cuckoo_entry *entry = flow_cuckoo_add(table, oracle->keys[number], oracle->hashes[number], &is_new);

	assert_int_equal(is_new, !oracle->known[number]);
	if (!entry) {
		assert_true(is_new);
		return true;
	}
	*entry = (struct flow_cuckoo_entry){value, now};
	oracle->count += is_new;
	oracle->known[number] = true;
	oracle->values[number] = value;
	oracle->last[number] = now;
	return false;
}

static void delete (struct flow_cuckoo *table, struct oracle *oracle, uint32_t number)
{
	assert_int_equal(flow_cuckoo_delete(table, oracle->keys[number], oracle->hashes[number]),
			 oracle->known[number]);
	oracle->count -= oracle->known[number];
	oracle->known[number] = false;
}

static void sweep_all(struct flow_cuckoo *table, struct oracle *oracle, uint32_t now)
{
	uint32_t gone = 0;

	for (uint32_t number = 0; number < KEYS; number++)
		if (oracle->known[number] && now - oracle->last[number] > IDLE) {
			oracle->known[number] = false;
			gone++;
		}
	oracle->count -= gone;
	assert_int_equal(flow_cuckoo_sweep(table, table->mask + 1, now, IDLE), gone);
}

/* limit below KEYS: often full. The clock begins short of its overflow. */
static void run(uint32_t limit, uint32_t key_words, uint64_t hash_bits)
{
	static struct oracle oracle;
	struct chance chance = {seed * 1000003 + limit + key_words + hash_bits};
	struct flow_cuckoo *table = flow_cuckoo_new(limit, key_words);
	uint32_t now = (uint32_t)-500, full = 0;

	assert_non_null(table);
	make_flows(&oracle, &chance, hash_bits);
	for (uint32_t step = 0; step < STEPS; step++) {
		uint32_t what = chance_below(&chance, 1000), number = chance_below(&chance, KEYS);

		if (what < 450)
			full += add(table, &oracle, number, chance_below(&chance, 1 << 16), now);
		else if (what < 700)
			look_at(table, &oracle, number);
		else if (what < 800)
			look_at_many(table, &oracle, &chance);
		else if (what < 998 - (step / 50000) * 20)
			delete (table, &oracle, number);
		else if (what < 999)
			now += chance_below(&chance, 40);
		else
			sweep_all(table, &oracle, now);
		assert_int_equal(table->count, oracle.count);
		if (!(step % 4096))
			check_buckets(table);
	}
	for (uint32_t number = 0; number < KEYS; number++)
		look_at(table, &oracle, number);
	if (limit < KEYS / 4)
		assert_true(full);
	flow_cuckoo_free(table);
}

static void it_knows_what_a_list_knows(void **state)
{
	static const uint32_t limits[] = {1, 8, 200, 512, 1024, 2048};

	(void)state;
	for (uint32_t i = 0; i < sizeof(limits) / sizeof(limits[0]); i++)
		for (uint32_t words = 2; words <= WORDS_MAX; words += 3)
			run(limits[i], words, ~0ULL);
}

static void flows_of_few_hashes_overfill_their_buckets_only(void **state)
{
	(void)state;
	run(2048, 2, 0x0000000f0000000fULL); /* few tags, few buckets */
	run(2048, 5, 0x0000ff0000000000ULL); /* one bucket */
	run(2048, 2, 0);                     /* one hash */
}

static void nearly_all_slots_can_be_used(void **state)
{
	struct chance chance = {seed};
	struct flow_cuckoo *table = flow_cuckoo_new(FULL_FLOWS, 2);
	bool is_new;
	uint64_t key[2] = {0, 0};

	(void)state;
	assert_non_null(table);
	while (flow_cuckoo_add(table, key, chance_next(&chance), &is_new))
		key[0]++;
	assert_in_range(table->count, FULL_FLOWS * 96ULL / 100, FULL_FLOWS);
	check_buckets(table);
	flow_cuckoo_free(table);
}

/* More flows with one first bucket than 2^16: whoever knows crc32 can make them. None is lost when some go. */
static void a_bucket_counts_beyond_16_bits(void **state)
{
	const uint32_t flows = (1 << 16) + 100;
	struct flow_cuckoo *table = flow_cuckoo_new(1 << 20, 2);
	bool is_new;

	(void)state;
	assert_non_null(table);
	for (uint64_t i = 0; i < flows; i++)
		assert_non_null(flow_cuckoo_add(table, (uint64_t[2]){i, 7}, i << 32 | 5, &is_new));
	check_buckets(table);
	for (uint64_t i = flows; i-- > flows / 2;)
		assert_true(flow_cuckoo_delete(table, (uint64_t[2]){i, 7}, i << 32 | 5));
	for (uint64_t i = 0; i < flows; i++)
		assert_int_equal(flow_cuckoo_find(table, (uint64_t[2]){i, 7}, i << 32 | 5, 2) != NULL, i < flows / 2);
	check_buckets(table);
	for (uint64_t i = 0; i < flows / 2; i++)
		assert_true(flow_cuckoo_delete(table, (uint64_t[2]){i, 7}, i << 32 | 5));
	check_buckets(table);
	flow_cuckoo_free(table);
}

static void more_memory_than_there_is_is_refused(void **state)
{
	(void)state;
	assert_null(flow_cuckoo_new(1U << 31, 5));
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(it_knows_what_a_list_knows),
	    cmocka_unit_test(flows_of_few_hashes_overfill_their_buckets_only),
	    cmocka_unit_test(nearly_all_slots_can_be_used),
	    cmocka_unit_test(a_bucket_counts_beyond_16_bits),
	    cmocka_unit_test(more_memory_than_there_is_is_refused),
	};
	static struct options options = {.memory = 128, .no_huge = true, .workers = 1};
	struct reason why = {{0}};
	int failed;

	if (argc == 3 && !strcmp(argv[1], "--seed"))
		seed = strtoull(argv[2], NULL, 10);
	fprintf(stderr, "seed %lu\n", (unsigned long)seed);
	if (!seed || ports_environment(&options, &why)) {
		fprintf(stderr, "%s\n", seed ? why.text : "--seed: 0 is not allowed; allowed: 1 and more");
		return 1;
	}
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	rte_eal_cleanup();
	return failed;
}
