// SPDX-License-Identifier: Apache-2.0
/* The table against a list, with few keys and short hashes' worth of clusters, while it grows and shrinks. */
#include <stdlib.h>
#include <string.h>

#include "agent/connections.h"

#include "vectors.h"

enum {
	KEYS = 6000,
	STEPS = 200000,
};

static struct connection_key key_of(unsigned number)
{
	struct connection_key key = {
	    .remote_port = (fl_u16)(number % 97), .local_port = (fl_u16)(number % 3), .endpoint = (fl_u16)(number % 2)};

	memcpy(key.remote.bytes, &number, sizeof(number));
	return key;
}

static void check_all(struct connections *table, const bool *present, const fl_u32 *values)
{
	size_t count = 0, seen = 0;

	for (unsigned i = 0; i < KEYS; i++) {
		struct connection_key key = key_of(i);
		const struct connection *found = connections_find(table, &key);

		assert_int_equal(found != NULL, present[i]);
		count += present[i];
		if (found)
			assert_int_equal(found->flow_hash, values[i]);
	}
	for (size_t i = 0; i <= table->mask; i++)
		seen += table->slots[i].state != CONNECTION_NONE;
	assert_int_equal(table->used, count);
	assert_int_equal(seen, count);
	assert_true(4 * count <= 3 * (table->mask + 1));
}

static void random_steps(void **state)
{
	static bool present[KEYS];
	static fl_u32 values[KEYS];
	struct fl_siphash_key seed = {1, 2};
	struct connections *table = connections_new(&seed);

	(void)state;
	srand(1);
	print_message("# seed 1\n");
	for (unsigned i = 0; i < STEPS; i++) {
		/* fills up, then empties, in turns */
		bool adds = rand() % 100 < (i / 20000 % 2 ? 30 : 70);
		unsigned number = (unsigned)rand() % KEYS;
		struct connection_key key = key_of(number);
		struct connection *found = connections_find(table, &key);

		assert_int_equal(found != NULL, present[number]);
		if (adds && !found) {
			values[number] = (fl_u32)rand();
			connections_add(table, &key)->flow_hash = values[number];
		} else if (!adds && found) {
			connections_remove(table, found);
		}
		present[number] = adds;
		if (i % 10000 == 0)
			check_all(table, present, values);
	}
	check_all(table, present, values);
	connections_free(table);
}

/* A walk that removes, and looks at the same slot again, misses none. */
static void removing_walk(void **state)
{
	struct fl_siphash_key seed = {3, 4};
	struct connections *table = connections_new(&seed);
	size_t i;

	(void)state;
	for (unsigned number = 0; number < KEYS; number++) {
		struct connection_key key = key_of(number);

		if (number % 2)
			connections_add(table, &key)->state = CONNECTION_CLOSED;
		else
			connections_add(table, &key);
	}
	for (i = 0; i <= table->mask;) {
		if (table->slots[i].state == CONNECTION_CLOSED)
			connections_remove(table, &table->slots[i]);
		else
			i++;
	}
	assert_int_equal(table->used, KEYS / 2);
	for (unsigned number = 0; number < KEYS; number++) {
		struct connection_key key = key_of(number);

		assert_int_equal(connections_find(table, &key) != NULL, number % 2 == 0);
	}
	connections_free(table);
}

int main(void)
{
	struct vectors_tests tests = {NULL, 0};

	vectors_add_plain(&tests, "random steps", random_steps, NULL);
	vectors_add_plain(&tests, "a walk that removes", removing_walk, NULL);
	return vectors_run("connections", &tests);
}
