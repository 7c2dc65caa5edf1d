/* SPDX-License-Identifier: Apache-2.0 */
/* Memory for rings and tables: zeroed, aligned, apart, whatever is taken and given back in whatever order. */
#include <stdint.h>
#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "image.h"
#include "ring/huge.h"

enum { HELD = 400, STEPS = 8000, LINE = 64 };

struct held {
	uint8_t *memory;
	size_t bytes;
	uint8_t mark;
};

static size_t random_size(struct chance *chance)
{
	static const size_t sizes[] = {64, 4096, 8 * 4096 + 64, 16384, 8 * 65536 + 64};

	if (!chance_below(chance, 200))
		return HUGE_PAGE / 2 + chance_below(chance, HUGE_PAGE);
	return chance_below(chance, 4) ? sizes[chance_below(chance, 5)] : 1 + chance_below(chance, 20000);
}

static bool is_filled(const uint8_t *memory, size_t bytes, uint8_t with)
{
	return memory[0] == with && !memcmp(memory, memory + 1, bytes - 1);
}

static void objects_are_apart(void **state)
{
	static struct held held[HELD];
	struct chance chance = {7};

	(void)state;
	for (int step = 0; step < STEPS; step++) {
		struct held *at = &held[chance_below(&chance, HELD)];

		if (at->memory) {
			assert_true(is_filled(at->memory, at->bytes, at->mark));
			huge_free(at->memory, at->bytes);
			at->memory = NULL;
			continue;
		}
		at->bytes = random_size(&chance);
		at->memory = huge_alloc(at->bytes);
		at->mark = (uint8_t)chance_next(&chance);
		assert_non_null(at->memory);
		assert_int_equal((uintptr_t)at->memory % LINE, 0);
		assert_true(is_filled(at->memory, at->bytes, 0));
		memset(at->memory, at->mark, at->bytes);
	}
	for (int i = 0; i < HELD; i++) {
		assert_true(!held[i].memory || is_filled(held[i].memory, held[i].bytes, held[i].mark));
		huge_free(held[i].memory, held[i].bytes);
	}
	huge_free(NULL, 64);
	assert_int_equal(huge_bytes(), 0);
}

/* Rings of a power of two of buckets: their heads must not share the sets of a cache. */
static void neighbours_are_an_odd_number_of_lines_apart(void **state)
{
	static const size_t sizes[] = {4096, 16384, 8 * 4096 + 64, 8 * 1024 + 64};

	(void)state;
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		uint8_t *a = huge_alloc(sizes[i]), *b = huge_alloc(sizes[i]);
		size_t apart = (size_t)(a < b ? b - a : a - b);

		assert_true(apart >= sizes[i] && apart / LINE % 2 == 1);
		huge_free(a, sizes[i]);
		huge_free(b, sizes[i]);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(objects_are_apart),
	    cmocka_unit_test(neighbours_are_an_odd_number_of_lines_apart),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
